/** The server's JSON and its stream of calls. */

/** An answer of the server that is not a success. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Drop empty values and write the rest as a query. @param {Record<string, unknown>} params */
export function query(params) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

/** @param {string} path @param {Record<string, unknown>} [params] @param {AbortSignal} [signal] */
export function get(path, params = {}, signal = undefined) {
  return call(path + query(params), { signal });
}

/** @param {string} path @param {object} body @param {AbortSignal} [signal] */
export function post(path, body, signal = undefined) {
  return call(path, {
    method: "POST",
    signal,
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
  });
}

async function call(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer. Is `hookline ui` still running?");
  }
  let body = null;
  try {
    body = await answer.json();
  } catch (error) {
    // an error page without JSON: the status line has to do
    if (error.name === "AbortError" || answer.ok) throw error;
  }
  if (!answer.ok)
    throw new ApiError(answer.status, body?.error ?? `The server answered ${answer.status} ${answer.statusText}`);
  return body;
}

const FIRST_RETRY = 1000;
const LAST_RETRY = 15000;

/**
 * Listen to calls until the signal says stop. EventSource reconnects by itself after a lost connection; after an HTTP error
 * it gives up, so this one tries again, later each time. A stream that the server gave to another tab waits until this one
 * is looked at.
 * @param {Record<string, unknown>} params
 * @param {{call: (call: object) => void, dropped: (count: number) => void, state: (state: "live" | "lost" | "away") => void}} on
 * @param {AbortSignal} signal
 */
export function listen(params, on, signal) {
  let retry = FIRST_RETRY;
  let timer = 0;
  let source;
  let isAway = false;
  const open = () => {
    source = new EventSource(`/api/stream${query(params)}`);
    source.addEventListener("open", () => {
      retry = FIRST_RETRY;
      on.state("live");
    });
    source.addEventListener("call", (event) => on.call(JSON.parse(event.data)));
    source.addEventListener("dropped", (event) => on.dropped(JSON.parse(event.data).count));
    source.addEventListener("replaced", () => {
      source.close();
      isAway = true;
      on.state("away");
    });
    source.addEventListener("error", () => {
      on.state("lost");
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, retry);
      retry = Math.min(retry * 2, LAST_RETRY);
    });
  };
  const resume = () => {
    if (!isAway || document.hidden) return;
    isAway = false;
    open();
  };
  addEventListener("focus", resume, { signal });
  document.addEventListener("visibilitychange", resume, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    source.close();
  });
  open();
}
