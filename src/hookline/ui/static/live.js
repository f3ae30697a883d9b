/** The live view: lanes, counters and the newest calls, as they come. */
import { get, listen } from "./api.js";
import { agentName, badge, empty, h, hookLink, icon, rewrittenBadge, select, show, tile } from "./dom.js";
import { filterBar } from "./filters.js";
import { clock, count, duration, folder, now, plural, when, words } from "./format.js";
import { Lanes } from "./lanes.js";
import { tableHead, tableRow } from "./table.js";

export const TITLE = "Live";

const RANGES = [
  [60, "1 minute"],
  [300, "5 minutes"],
  [900, "15 minutes"],
  [3600, "1 hour"],
  [86400, "24 hours"],
  [604800, "7 days"],
];
const LOADED = 500;
const MOST_PAGES = 8;
const MOST_ROWS = 200;
const OPENS_WITHIN = 3000;
const PAINT_EVERY = 250;
const SAY_EVERY = 10_000;
const STATES = {
  live: "Live",
  lost: "Reconnecting…",
  away: "Live in other tabs",
  paused: "Paused",
  wait: "Connecting…",
};

/** @type {import("./table.js").Column[]} */
const COLUMNS = [
  { label: "When", name: "when", cell: (call) => when(call.at) },
  { label: "Decision", name: "decision", cell: (call) => badge(call.decision) },
  {
    label: "Call",
    head: true,
    name: "subject",
    cell: (call) => [
      h(
        "button.link",
        { type: "button", "data-trace": call.trace },
        h("span.tool", {}, call.tool || words(call.event)),
        h("code", {}, call.subject),
      ),
      explain(call),
    ],
  },
  { label: "Agent", name: "who", cell: (call) => agentName(call.agent) },
  {
    label: "Project",
    name: "project",
    cell: (call) => h("span", { title: call.project }, folder(call.project) || "–"),
  },
  { label: "Hooks", number: true, name: "ran", cell: (call) => call.ran || h("span.dim", {}, "–") },
  { label: "Took", number: true, name: "took", cell: (call) => duration(call.duration) },
];

/** Which hooks decided, why, and what else happened: the second line of a call. */
function explain(call) {
  const reason = call.reasons.join(" ");
  if (!call.decided_by.length && !reason && !call.failed && !call.rewrote) return null;
  return h(
    "span.why",
    {},
    call.decided_by.map((id) => hookLink(id, call.project)),
    call.failed > 0 && badge("failed", `${plural(call.failed, "hook")} failed`),
    call.rewrote && rewrittenBadge(),
    reason && h("span.reason", { title: reason }, reason),
  );
}

/** Counts per second, so that counters over hours cost no list of calls. */
class Counters {
  constructor() {
    /** @type {Map<number, number[]>} */
    this.seconds = new Map();
  }

  add(call, calls = 1) {
    const second = Math.floor(call.at);
    const row = this.seconds.get(second) ?? [0, 0, 0, 0];
    row[0] += calls;
    if (call.decision === "deny" || call.decision === "stop") row[1] += 1;
    if (call.decision === "ask") row[2] += 1;
    if (call.failed) row[3] += 1;
    this.seconds.set(second, row);
  }

  /** Count how a call ended that was counted before. */
  finish(call) {
    this.add(call, 0);
  }

  sum(range, end) {
    const total = [0, 0, 0, 0];
    for (const [second, row] of this.seconds) {
      if (second < end - RANGES.at(-1)[0]) this.seconds.delete(second);
      if (second > end - range && second <= end)
        row.forEach((value, index) => {
          total[index] += value;
        });
    }
    return total;
  }
}

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export async function render(main, context) {
  const { status, signal, openCall, say } = context;
  let values = { ...context.params };
  let session = new AbortController();
  let state = "wait";
  let isPaused = false;
  let counters = new Counters();
  let seen = new Map();
  let waiting = [];
  let fresh = [];
  let dropped = 0;
  let lastPaint = 0;
  let lastSaid = performance.now();
  let oldest = 0;
  let loaded = { number: 0, at: 0, isAll: true };
  const unsaid = { calls: 0, blocked: 0 };

  const lanes = new Lanes({ open: openCall, say, signal });
  const chip = h("span.state", { role: "status" });
  const pause = h("button.pause", { type: "button", onclick: () => setPaused(!isPaused) });
  const tiles = h("dl.tiles", {});
  const figures = ["Calls", "Blocked", "Asked", "Hook failures"].map((label, index) =>
    tile(label, "0", ["", "deny", "ask", "failed"][index]),
  );
  const sinceNote = h("dd.note", {});
  const more = h("button.pill", { type: "button", hidden: true, onclick: () => flush(true) });
  const body = h("tbody", { role: "rowgroup" });
  const older = h("button", { type: "button", hidden: true, onclick: loadOlder }, "Load older calls");
  const dropNote = h("p.note.warn", { hidden: true });
  const table = h(
    "div.table.calls",
    {},
    h("table", { role: "table" }, h("caption.sr", {}, "Newest calls"), tableHead(COLUMNS), body),
  );
  const blank = h("div", { hidden: true });
  const list = h(
    "section",
    { "aria-labelledby": "calls-title" },
    h("div.section-head", {}, h("h2", { id: "calls-title" }, "Newest calls"), more),
    dropNote,
    table,
    h("p.center", {}, older),
  );
  const laneSection = h(
    "section",
    { "aria-labelledby": "lanes-title" },
    h("h2.sr", { id: "lanes-title" }, "Lanes"),
    lanes.element,
    legend(),
  );
  const rangeField = h("div.row", {});

  tiles.append(...figures);
  figures[0].append(sinceNote);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row && !event.target.closest("a")) openCall(row.dataset.trace);
  });
  addEventListener(
    "keydown",
    (event) => {
      if (
        event.key !== " " ||
        event.target.closest("button, input, select, textarea, summary, a, [tabindex='0'], dialog")
      )
        return;
      event.preventDefault();
      setPaused(!isPaused);
    },
    { signal },
  );
  show(
    main,
    h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE), chip, h("span.grow", {}), rangeField, pause),
    filterBar(status, values, (next) => {
      values = next;
      context.setParams(next);
      start();
    }),
    tiles,
    blank,
    laneSection,
    list,
  );
  setPaused(false);
  setRange(Number(values.range) || 300);
  signal.addEventListener("abort", () => session.abort());
  requestAnimationFrame(frame);
  await start();

  async function start() {
    session.abort();
    session = new AbortController();
    const mine = session.signal;
    counters = new Counters();
    seen = new Map();
    waiting = [];
    fresh = [];
    dropped = 0;
    lanes.clear();
    show(body);
    const { range: _, ...params } = values;
    // the stream first: what comes while the page of older calls is read is not lost, and `seen` removes doubles
    let isLoaded = false;
    const early = [];
    let wasLost = false;
    let setOpen;
    const isOpen = new Promise((resolve) => {
      setOpen = resolve;
    });
    listen(
      params,
      {
        call: (call) => (isLoaded ? take(call) : early.push(call)),
        dropped: (missed) => {
          dropped += missed;
        },
        state: (next) => {
          if (next === "live" && wasLost) reload(params, mine);
          wasLost = next !== "live";
          setOpen();
          state = next;
          paintState();
        },
      },
      mine,
    );
    await Promise.race([
      isOpen,
      new Promise((resolve) => {
        setTimeout(resolve, OPENS_WITHIN);
      }),
    ]);
    const answer = await get("/api/calls", { limit: LOADED, ...params }, mine).catch(ignoreAbort);
    if (!answer || mine.aborted) return;
    for (const call of [...answer.calls].reverse()) take(call, true);
    oldest = answer.calls.at(-1)?.number ?? 0;
    loaded = { number: oldest, at: answer.calls.at(-1)?.at ?? 0, isAll: !answer.more };
    older.hidden = !answer.more && answer.calls.length <= MOST_ROWS;
    isLoaded = true;
    early.forEach((call) => take(call));
    if (!values.range) setRange(fitRange(answer), true);
    loadBack(mine);
    flush(true);
    paintTiles();
    showBlank();
  }

  /** Read older calls for the lanes, until the range is full or they would be too many. */
  async function loadBack(mine) {
    const { range: _, ...params } = values;
    for (let page = 1; page < MOST_PAGES && !loaded.isAll && loaded.at > now() - lanes.range; page += 1) {
      const answer = await get("/api/calls", { limit: LOADED, before: loaded.number, ...params }, mine).catch(
        () => null,
      );
      if (!answer || mine.aborted) return;
      for (const call of answer.calls) {
        counters.add(call);
        lanes.add(call);
      }
      loaded = { number: answer.calls.at(-1)?.number ?? 0, at: answer.calls.at(-1)?.at ?? 0, isAll: !answer.more };
      lanes.from = loaded.isAll ? 0 : loaded.at;
    }
    lanes.from = loaded.isAll ? 0 : loaded.at;
    paintTiles();
  }

  /** After a lost connection: what the stream could not deliver is read as a page. */
  async function reload(params, mine) {
    const answer = await get("/api/calls", { limit: LOADED, ...params }, mine).catch(() => null);
    for (const call of [...(answer?.calls ?? [])].reverse()) take(call);
  }

  function take(call, isOld = false) {
    const known = seen.get(call.trace);
    if (known) {
      if (known.decision === "unfinished" && call.number > known.number) finish(known, call);
      return;
    }
    seen.set(call.trace, call);
    // the newest are the only ones that can come twice
    if (seen.size > 4 * LOADED) seen = new Map([...seen].slice(-2 * LOADED));
    if (isPaused) {
      waiting.push(call);
      if (waiting.length > 10 * LOADED) waiting.splice(0, LOADED);
      return;
    }
    counters.add(call);
    lanes.add(call);
    fresh.push(call);
    if (fresh.length > 2 * MOST_ROWS) fresh.splice(0, MOST_ROWS);
    if (isOld) return;
    unsaid.calls += 1;
    if (call.decision === "deny" || call.decision === "stop") unsaid.blocked += 1;
  }

  /** A call that was read before its end has come to it: the same row and the same mark say how. */
  function finish(known, call) {
    counters.finish(call);
    lanes.finish(known, call);
    body.querySelector(`tr[data-trace="${CSS.escape(call.trace)}"]`)?.replaceWith(makeRow(known));
  }

  function frame(stamp) {
    if (signal.aborted) return;
    requestAnimationFrame(frame);
    lanes.frame(stamp);
    if (stamp - lastPaint < PAINT_EVERY) return;
    lastPaint = stamp;
    if (fresh.length) flush(false);
    if (isPaused) paintPause();
    else paintTiles();
    if (unsaid.calls && performance.now() - lastSaid > SAY_EVERY) {
      say(`${plural(unsaid.calls, "new call")}, ${unsaid.blocked} blocked`);
      unsaid.calls = unsaid.blocked = 0;
      lastSaid = performance.now();
    }
  }

  /** Put new rows on top; rows stay where they are while a user points at them or has the focus in them. */
  function flush(isForced) {
    const isHeld =
      !isForced && body.children.length > 0 && (table.matches(":hover") || table.contains(document.activeElement));
    more.hidden = !isHeld || !fresh.length;
    if (isHeld) {
      const text = `${fresh.length >= MOST_ROWS ? `${MOST_ROWS}+` : fresh.length} new`;
      if (more.textContent !== text) more.textContent = text;
      return;
    }
    const rows = fresh.slice(-MOST_ROWS).reverse().map(makeRow);
    fresh = [];
    body.prepend(...rows);
    while (body.children.length > MOST_ROWS) body.lastChild.remove();
    if (rows.length) {
      oldest = Number(body.lastChild.dataset.number);
      showBlank();
    }
  }

  function makeRow(call) {
    return tableRow(COLUMNS, call, {
      "data-trace": call.trace,
      "data-number": call.number,
      "data-decision": call.decision,
    });
  }

  async function loadOlder() {
    older.disabled = true;
    const { range: _, ...params } = values;
    const answer = await get("/api/calls", { limit: 100, before: oldest, ...params }, session.signal).catch(
      ignoreAbort,
    );
    older.disabled = false;
    if (!answer) return;
    setPaused(true);
    body.append(...answer.calls.map(makeRow));
    oldest = answer.calls.at(-1)?.number ?? oldest;
    older.hidden = !answer.more;
    say(`${plural(answer.calls.length, "older call")} loaded`);
  }

  function setPaused(paused) {
    isPaused = paused;
    lanes.paused = paused;
    if (!paused) {
      const late = waiting;
      waiting = [];
      // what came meanwhile is not new to `seen`
      late.forEach((call) => {
        seen.delete(call.trace);
        take(call);
      });
    }
    pause.setAttribute("aria-pressed", String(paused));
    paintPause();
    paintState();
  }

  function paintPause() {
    const text = isPaused ? `Resume${waiting.length ? ` (${count(waiting.length)} new)` : ""}` : "Pause";
    if (pause.textContent !== text) show(pause, icon(isPaused ? "play" : "pause"), text);
  }

  function paintState() {
    chip.dataset.state = isPaused && state === "live" ? "paused" : state;
    show(chip, h("span.dot", { "aria-hidden": "true" }), STATES[chip.dataset.state]);
  }

  function setRange(range, isAutomatic = false) {
    lanes.range = range;
    lanes.dirty = true;
    show(
      rangeField,
      select(
        "Range",
        RANGES.map(([seconds, text]) => [String(seconds), text]),
        String(range),
        (value) => {
          values = { ...values, range: value };
          context.setParams(values);
          lanes.range = Number(value);
          lanes.dirty = true;
          paintTiles();
          loadBack(session.signal);
        },
      ),
    );
    if (isAutomatic) lanes.lastSort = 0;
  }

  function paintTiles() {
    const total = counters.sum(lanes.range, lanes.end || now());
    figures.forEach((figure, index) => {
      const text = count(total[index]);
      const place = figure.querySelector("dd");
      if (place.textContent !== text) place.textContent = text;
    });
    const isPartial = lanes.from > (lanes.end || now()) - lanes.range;
    const since = isPartial ? `since ${clock(lanes.from)}` : "";
    if (sinceNote.textContent !== since) sinceNote.textContent = since;
    dropNote.hidden = !dropped;
    if (dropped)
      dropNote.textContent = `${plural(dropped, "call")} came faster than this page could take; they are in the list of older calls.`;
    document.title = total[1] ? `(${total[1]} blocked) Live · Hookline` : "Live · Hookline";
  }

  function showBlank() {
    const isEmpty = body.children.length === 0;
    const isFiltered = ["agent", "project", "hook", "decision", "text", "session"].some((name) => values[name]);
    blank.hidden = !isEmpty;
    laneSection.hidden = isEmpty;
    list.hidden = isEmpty;
    tiles.hidden = isEmpty && !isFiltered;
    if (!isEmpty) return;
    if (isFiltered) show(blank, empty("No call fits these filters", "Calls that fit appear here as they come."));
    else if (status.agents.some((agent) => agent.installed))
      show(
        blank,
        empty(
          "Waiting for the first call",
          "Hookline is installed in an agent. Start the agent and give it something to do; every call it makes appears here.",
        ),
      );
    else
      show(
        blank,
        empty(
          "No agent calls Hookline yet",
          "Install Hookline into an agent; every call it makes appears here as it happens. For a try, raise an event by hand.",
          ["hookline install claude-code", 'hookline emit before_tool --tool shell --args \'{"command": "ls"}\''],
        ),
      );
  }
}

/** Choose a range that shows at least ten calls, and does not begin long before the first that was loaded. */
function fitRange({ calls, more }) {
  const span = now() - (calls.at(-1)?.at ?? 0);
  if (more && span < MOST_PAGES * 900) return (RANGES.findLast(([seconds]) => seconds <= 2 * span) ?? RANGES[0])[0];
  const wanted = calls[Math.min(calls.length, 10) - 1];
  if (!wanted) return 300;
  const age = now() - wanted.at;
  return (RANGES.slice(1).find(([seconds]) => age < seconds) ?? RANGES.at(-1))[0];
}

function ignoreAbort(error) {
  if (error.name !== "AbortError") throw error;
  return null;
}

function legend() {
  const items = ["pass", "allow", "ask", "deny", "stop"].map((name) => badge(name));
  return h(
    "div.legend",
    {},
    items,
    badge("failed", "hook failed"),
    h("span.badge", { "data-decision": "rewrote" }, h("span.underline", { "aria-hidden": "true" }), "rewritten"),
  );
}
