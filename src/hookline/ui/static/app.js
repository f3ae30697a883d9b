/** The frame of the page: views by hash, theme, keys, the panel of a call. */
import { ApiError, get } from "./api.js";
import * as doctor from "./doctor.js";
import { empty, h, icon, show } from "./dom.js";
import { count, refreshTimes, setClock, size } from "./format.js";
import * as hooks from "./hooks.js";
import * as live from "./live.js";
import * as matrix from "./matrix.js";
import * as metrics from "./metrics.js";
import * as queue from "./queue.js";
import * as sessions from "./sessions.js";
import { renderCall } from "./trace.js";

/**
 * What a view gets.
 * @typedef {object} Context
 * @property {object} status the answer of /api/status
 * @property {Record<string, string>} params the query of the hash
 * @property {string} id what follows the view's name in the hash
 * @property {AbortSignal} signal aborted when the view is left
 * @property {(params: Record<string, string>) => void} setParams keep filters in the hash without a new view
 * @property {(trace: string) => void} openCall
 * @property {(text: string) => void} say tell screen readers
 */

const VIEWS = { live, sessions, hooks, matrix, metrics, queue, doctor };
const KEYS = { l: "live", s: "sessions", h: "hooks", m: "matrix", t: "metrics", q: "queue", d: "doctor" };
const THEMES = { auto: "light", light: "dark", dark: "auto" };
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };
const REFRESH = 5000;

const main = document.getElementById("main");
const panel = document.getElementById("panel");
const help = document.getElementById("help");
let leave = new AbortController();
let panelLeave = new AbortController();
let opener = null;
let shown = "";
let openTrace = "";
let pendingG = false;

function parseHash() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return {
    name: name in VIEWS ? name : "live",
    id: decodeURIComponent(rest.join("/")),
    params: Object.fromEntries(new URLSearchParams(search)),
  };
}

function writeHash(name, id, params) {
  const kept = Object.entries(params).filter(([, value]) => value);
  return `#/${name}${id ? `/${encodeURIComponent(id)}` : ""}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

/** Change the hash without an entry in the history and without a new view. */
function setParams(params) {
  const route = parseHash();
  history.replaceState(null, "", writeHash(route.name, route.id, params));
}

function say(text) {
  document.getElementById("say").textContent = text;
}

async function route() {
  const { name, id, params } = parseHash();
  const { call = "", ...rest } = params;
  const place = writeHash(name, id, rest);
  if (place !== shown) {
    const isFirst = shown === "";
    shown = place;
    await showView(name, id, rest, isFirst);
  }
  if (call !== openTrace) await (call ? openPanel(call) : closePanel());
}

async function showView(name, id, params, isFirst) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[name].TITLE} · Hookline`;
  main.dataset.view = name;
  show(main, h("h1", { tabindex: -1 }, VIEWS[name].TITLE), h("p.loading", { role: "status" }, "Loading…"));
  try {
    const status = await get("/api/status", {}, signal);
    setClock(status.now);
    showFacts(status);
    await VIEWS[name].render(main, { status, params, id, signal, setParams: keepCall(setParams), openCall, say });
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof ApiError)) console.error(error);
    showError(error, name);
  }
  // after a change of view, reading goes on at its heading
  if (!isFirst && !signal.aborted) main.querySelector("h1")?.focus({ preventScroll: true });
  if (!isFirst) main.scrollTop = 0;
}

/** Filters and the open call live in the same query: keep the one when the other changes. */
function keepCall(set) {
  return (params) => {
    set(openTrace ? { ...params, call: openTrace } : params);
    const { name, id } = parseHash();
    shown = writeHash(name, id, params);
  };
}

function showError(error, name) {
  const box =
    error.status === 401
      ? empty("This browser is not signed in any more", "Run this command in a terminal; it opens the page again.", [
          "hookline ui",
        ])
      : empty(error.status === 404 ? "Not found" : "This did not work", error.message);
  if (![401, 404].includes(error.status))
    box.append(
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            shown = "-";
            route();
          },
        },
        "Try again",
      ),
    );
  show(main, h("h1", { tabindex: -1 }, VIEWS[name].TITLE), box);
}

function showFacts(status) {
  show(
    document.getElementById("facts"),
    h(
      "span",
      { title: `${size(status.file_size)} of at most ${size(status.file_limit)}` },
      `${count(status.records)} records, ${size(status.file_size)}`,
    ),
    h("span", {}, `version ${status.version}`),
  );
}

function openCall(trace) {
  opener = document.activeElement;
  const { name, id, params } = parseHash();
  location.hash = writeHash(name, id, { ...params, call: trace });
}

async function openPanel(trace) {
  panelLeave.abort();
  panelLeave = new AbortController();
  const { signal } = panelLeave;
  openTrace = trace;
  panel.hidden = false;
  document.body.classList.add("with-panel");
  const title = h("h2", { tabindex: -1 }, "Call");
  const body = h("div.panel-body", {}, h("p.loading", {}, "Loading…"));
  const close = h(
    "button.quiet",
    { type: "button", onclick: dismiss },
    icon("close"),
    h("span.sr", {}, "Close details"),
    h("kbd", { "aria-hidden": "true" }, "Esc"),
  );
  show(panel, h("div.panel-head", {}, title, close), body);
  title.focus({ preventScroll: true });
  try {
    const detail = await get(`/api/calls/${encodeURIComponent(trace)}`, {}, signal);
    show(body, renderCall(detail));
  } catch (error) {
    if (error.name !== "AbortError") show(body, empty("This call cannot be shown", error.message));
  }
}

/** Close the panel by going to the hash without it; `route` does the rest. */
function dismiss() {
  const { name, id, params } = parseHash();
  const { call: _, ...rest } = params;
  location.hash = writeHash(name, id, rest);
}

function closePanel() {
  panelLeave.abort();
  openTrace = "";
  panel.hidden = true;
  document.body.classList.remove("with-panel");
  if (opener?.isConnected) opener.focus({ preventScroll: true });
  else main.querySelector("h1")?.focus({ preventScroll: true });
  opener = null;
}

function buildNav() {
  const items = Object.entries(VIEWS).map(([name, view]) =>
    h("li", {}, h("a", { href: `#/${name}`, "data-view": name }, icon(name), h("span", {}, view.LABEL ?? view.TITLE))),
  );
  show(document.getElementById("nav"), items);
}

function buildTheme() {
  const button = document.getElementById("theme");
  const current = () => document.documentElement.dataset.theme ?? "auto";
  const paint = () => {
    show(
      button,
      icon(THEME_ICONS[current()]),
      h("span.word", {}, `${current()[0].toUpperCase()}${current().slice(1)}`),
    );
    button.setAttribute("aria-label", `Theme: ${current()}. Change to ${THEMES[current()]}`);
  };
  button.addEventListener("click", () => {
    const next = THEMES[current()];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("hookline-theme", next);
    } catch {
      // storage is blocked: the choice holds until the page is closed
    }
    paint();
    document.dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new Event("themechange")),
  );
  paint();
}

function buildHelp() {
  const rows = [
    ["/", "Go to the filter"],
    ["Esc", "Close the details or this list"],
    ["?", "Show this list"],
    ["Space", "Pause or resume (Live)"],
    ["← →", "Go from call to call in a lane"],
    ["↑ ↓", "Go from lane to lane"],
    ...Object.entries(KEYS).map(([key, name]) => [`g ${key}`, VIEWS[name].TITLE]),
  ];
  show(
    help,
    h("h2", { id: "help-title" }, "Keys"),
    h(
      "dl.keys",
      {},
      rows.map(([key, text]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            key.split(" ").map((part) => h("kbd", {}, part)),
          ),
          h("dd", {}, text),
        ),
      ),
    ),
    h("button", { type: "button", onclick: () => help.close() }, "Close"),
  );
  document.getElementById("keys").addEventListener("click", () => help.showModal());
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function goTo(name) {
  if (shown === `#/${name}`) main.querySelector("h1")?.focus();
  location.hash = `#/${name}`;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape" && !panel.hidden) {
    dismiss();
  } else if (isTyping(event.target)) {
    return;
  } else if (pendingG && KEYS[event.key]) {
    goTo(KEYS[event.key]);
  } else if (event.key === "/") {
    const filter = main.querySelector("[data-filter]");
    if (!filter) return;
    filter.focus();
  } else if (event.key === "?") {
    help.showModal();
  } else {
    pendingG = event.key === "g";
    return;
  }
  pendingG = false;
  event.preventDefault();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // the hash is the route, so the link must not change it
  event.preventDefault();
  main.focus();
});
buildNav();
buildTheme();
buildHelp();
addEventListener("hashchange", route);
addEventListener("keydown", onKey);
setInterval(refreshTimes, REFRESH);
route();
