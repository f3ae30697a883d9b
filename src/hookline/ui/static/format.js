/** How times, durations, numbers and paths are written. */
import { h } from "./dom.js";

const PARTS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];
// the same clock everywhere: 24 hours, and midnight is 00
const MINUTES = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const SECONDS = { ...MINUTES, second: "2-digit" };
let skew = 0;

/** Set the clock by the server's, which wrote the times. @param {number} serverNow */
export function setClock(serverNow) {
  skew = serverNow - Date.now() / 1000;
}

/** The server's time, in seconds. */
export function now() {
  return Date.now() / 1000 + skew;
}

/** @param {number} at @returns {string} "3 min ago" */
export function relative(at) {
  const seconds = now() - at;
  if (seconds < 1.5) return "now";
  const [unit, size] = PARTS.find(([, length]) => seconds >= length) ?? PARTS[3];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

/** @param {number} at @returns {string} "Nov 18, 2026, 14:03:22 GMT+1", in the browser's zone */
export function absolute(at) {
  return new Date(at * 1000).toLocaleString(undefined, {
    year: "numeric",
    month: "short",
    day: "numeric",
    ...SECONDS,
    timeZoneName: "short",
  });
}

/** @param {number} at @returns {string} "14:03:22" */
export function clock(at, withSeconds = true) {
  return new Date(at * 1000).toLocaleTimeString(undefined, withSeconds ? SECONDS : MINUTES);
}

/** Make a relative time that shows the absolute one on hover; `refreshTimes` keeps it right. @param {number} at */
export function when(at) {
  if (!at) return h("span.dim", {}, "never");
  return h("time", { datetime: new Date(at * 1000).toISOString(), title: absolute(at), "data-at": at }, relative(at));
}

/** Bring all relative times of the page up to date. */
export function refreshTimes() {
  for (const element of document.querySelectorAll("time[data-at]")) {
    const text = relative(Number(element.dataset.at));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** @param {number} seconds @returns {string} "4.2 ms" */
export function duration(seconds) {
  if (!seconds) return "–";
  if (seconds < 0.001) return `${Math.max(1, Math.round(seconds * 1e6))} µs`;
  if (seconds < 1) return `${digits(seconds * 1000)} ms`;
  if (seconds < 120) return `${digits(seconds)} s`;
  const [unit, size] = PARTS.find(([, length]) => seconds >= length) ?? PARTS[3];
  return `${digits(seconds / size)} ${unit}`;
}

function digits(value) {
  return value < 10 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}

/** @param {number} value @returns {string} "12,300" */
export function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** @param {number} value @returns {string} "12.3k" */
export function short(value) {
  if (value >= 1e6) return `${digits(value / 1e6)}M`;
  return value >= 1e4 ? `${digits(value / 1e3)}k` : Number.isInteger(value) ? count(value) : digits(value);
}

/** @param {number} amount @returns {string} "0.0042", with the digits that matter */
export function money(amount) {
  return amount >= 1 ? amount.toFixed(2) : String(Number(amount.toFixed(6)));
}

/** @param {number} bytes @returns {string} "4.2 MB" */
export function size(bytes) {
  return bytes < 1e6
    ? `${digits(bytes / 1e3)} kB`
    : bytes < 1e9
      ? `${digits(bytes / 1e6)} MB`
      : `${digits(bytes / 1e9)} GB`;
}

/** @param {string} path @returns {string} its last part */
export function folder(path) {
  return path.split("/").filter(Boolean).pop() ?? path;
}

/** @param {string} name @returns {string} "before tool" */
export function words(name) {
  return name.replaceAll("_", " ");
}

/** @param {number} number @param {string} noun @returns {string} "3 calls" */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
