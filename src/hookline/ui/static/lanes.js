/** The lanes: one row per agent and session, its calls as marks on a canvas. Labels are elements, marks are not. */
import { h, monogram, show } from "./dom.js";
import { clock, duration, folder, now, plural, relative } from "./format.js";

const ROW = 32;
const AXIS = 24;
const MOST_LANES = 80;
const MOST_MARKS = 3000;
const REACH = 9;
const SORT_EVERY = 2000;
// lanes whose last calls are this close together keep their places, so that busy lanes do not jump
const SORT_GRAIN = 15;
const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800];
const COLOURS = [
  "pass",
  "allow",
  "ask",
  "deny",
  "stop",
  "unfinished",
  "failed",
  "rewrote",
  "grid",
  "dim",
  "lane",
  "focus",
  "raised",
];
const WEIGHT = { pass: 0, unfinished: 1, allow: 2, ask: 3, deny: 4, stop: 5 };

/** @typedef {{key: string, agent: string, session: string, project: string, first: number, last: number, calls: object[], total: number, blocked: number, label: HTMLElement}} Lane */

export class Lanes {
  /**
   * @param {{open: (trace: string) => void, say: (text: string) => void, signal: AbortSignal}} options
   */
  constructor({ open, say, signal }) {
    this.range = 300;
    // calls before this moment were not loaded
    this.from = 0;
    this.end = 0;
    this.paused = false;
    /** @type {Map<string, Lane>} */
    this.byKey = new Map();
    /** @type {Lane[]} */
    this.order = [];
    this.open = open;
    this.say = say;
    this.dirty = true;
    this.lastSort = 0;
    this.lastEnd = 0;
    this.cursor = null;
    this.labels = h("ol.lane-labels", { "aria-label": "Agents and sessions, newest activity first" });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div.tip", { role: "presentation", hidden: true });
    this.scroller = h(
      "div.lanes-scroll",
      {},
      h("div.lane-side", {}, h("div.lane-axis", { "aria-hidden": "true" }, "Agent · project · session"), this.labels),
      this.canvas,
    );
    this.element = h("div.lanes", {}, this.scroller, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.showTip(null));
    this.canvas.addEventListener("click", (event) => {
      const hit = this.find(event);
      if (hit) this.open(hit.call.trace);
    });
    this.labels.addEventListener("keydown", (event) => this.onKey(event));
    this.labels.addEventListener("focusout", () => this.showTip(null));
    this.scroller.addEventListener("scroll", () => {
      this.dirty = true;
    });
    document.addEventListener("themechange", () => this.readColours(), { signal });
    const resize = new ResizeObserver(() => this.measure());
    resize.observe(this.scroller);
    signal.addEventListener("abort", () => resize.disconnect());
  }

  /** Add a call; drawing happens with the next frame. @param {object} call */
  add(call) {
    const key = `${call.agent}\n${call.session}`;
    let lane = this.byKey.get(key);
    if (!lane) {
      lane = {
        key,
        agent: call.agent,
        session: call.session,
        project: call.project,
        first: call.at,
        last: call.at,
        calls: [],
        total: 0,
        blocked: 0,
        label: this.makeLabel(call),
      };
      this.byKey.set(key, lane);
      this.order.unshift(lane);
      this.lastSort = 0;
    }
    lane.total += 1;
    if (call.decision === "deny" || call.decision === "stop") lane.blocked += 1;
    lane.first = Math.min(lane.first, call.at);
    lane.last = Math.max(lane.last, call.at);
    if (call.project) lane.project = call.project;
    insert(lane.calls, call);
    if (lane.calls.length > MOST_MARKS) lane.calls.splice(0, MOST_MARKS / 10);
    this.dirty = true;
  }

  /** Say how a call ended that was added before its end. @param {object} known @param {object} call */
  finish(known, call) {
    const lane = this.byKey.get(`${known.agent}\n${known.session}`);
    if (lane && (call.decision === "deny" || call.decision === "stop")) lane.blocked += 1;
    Object.assign(known, call);
    this.dirty = true;
  }

  clear() {
    this.byKey.clear();
    this.order = [];
    this.cursor = null;
    show(this.labels);
    this.showTip(null);
    this.dirty = true;
  }

  makeLabel(call) {
    const counts = h("span.lane-count", { "aria-hidden": "true" });
    const button = h(
      "button.lane-label",
      {
        type: "button",
        tabindex: -1,
        onclick: () => {
          location.hash = `#/sessions/${encodeURIComponent(call.session)}`;
        },
      },
      monogram(call.agent),
      h(
        "span.lane-name",
        {},
        h("b", {}, call.agent || "no agent"),
        h("span.dim", {}, folder(call.project || "") || "–"),
        h("span.dim.lane-session", {}, call.session.slice(0, 8)),
      ),
      counts,
      h("span.sr", {}),
    );
    button.disabled = !call.session;
    return h("li", {}, button);
  }

  /** Bring order, labels and canvas up to date; called once per animation frame. @param {number} stamp */
  frame(stamp) {
    if (!this.paused) this.end = now();
    if (stamp - this.lastSort > SORT_EVERY || this.lastSort === 0) {
      this.lastSort = stamp || 1;
      this.sort();
    }
    const moved = ((this.end - this.lastEnd) / this.range) * this.width;
    const least = matchMedia("(prefers-reduced-motion: reduce)").matches ? 20 : 1;
    if (!this.dirty && moved < least) return;
    this.dirty = false;
    this.lastEnd = this.end;
    this.draw();
  }

  sort() {
    const hasFocus = this.labels.contains(document.activeElement);
    if (!hasFocus) {
      const grain = (lane) => Math.floor(lane.last / SORT_GRAIN);
      this.order = [...this.byKey.values()].sort((a, b) => grain(b) - grain(a) || b.first - a.first);
      for (const lane of this.order.splice(MOST_LANES)) this.byKey.delete(lane.key);
      const wanted = this.order.map((lane) => lane.label);
      if (
        wanted.length !== this.labels.children.length ||
        wanted.some((label, index) => this.labels.children[index] !== label)
      )
        this.labels.replaceChildren(...wanted);
      this.order.forEach((lane, index) => {
        lane.label.firstChild.tabIndex = index === 0 ? 0 : -1;
      });
    }
    for (const lane of this.order) {
      const text = lane.blocked ? `${lane.blocked} ✕` : "";
      const counts = lane.label.querySelector(".lane-count");
      if (counts.textContent !== text) counts.textContent = text;
      lane.label.querySelector(".sr").textContent =
        `, ${plural(lane.total, "call")}, ${lane.blocked} blocked, last ${relative(lane.last)}`;
    }
    this.measure();
  }

  measure() {
    const ratio = devicePixelRatio || 1;
    const height = Math.min(this.scroller.clientHeight, AXIS + this.order.length * ROW);
    const width = this.canvas.clientWidth;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
      this.dirty = true;
    }
    this.width = width;
    this.height = height;
  }

  readColours() {
    const probe = h("span", { hidden: true });
    document.body.append(probe);
    this.colours = {};
    for (const name of COLOURS) {
      probe.style.color = `var(--${name})`;
      this.colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    this.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    this.dirty = true;
  }

  toX(at) {
    return this.width - 10 - ((this.end - at) / this.range) * (this.width - 20);
  }

  draw() {
    if (!this.colours) this.readColours();
    const ratio = devicePixelRatio || 1;
    const paint = this.canvas.getContext("2d");
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, this.width, this.height);
    const top = this.scroller.scrollTop;
    const firstRow = Math.max(0, Math.floor(top / ROW));
    const lastRow = Math.min(this.order.length, Math.ceil((top + this.height - AXIS) / ROW));
    paint.save();
    paint.beginPath();
    paint.rect(0, AXIS, this.width, this.height);
    paint.clip();
    const blind = this.toX(this.from);
    if (blind > 0) {
      paint.fillStyle = this.colours.raised;
      paint.fillRect(0, AXIS, blind - 4, this.height);
    }
    this.drawTicks(paint, false);
    for (let row = firstRow; row < lastRow; row += 1) this.drawLane(paint, this.order[row], AXIS + row * ROW - top);
    paint.restore();
    this.drawTicks(paint, true);
  }

  drawTicks(paint, isAxis) {
    const fit = Math.max(2, Math.floor(this.width / 110));
    const step = TICKS.find((size) => this.range / size <= fit) ?? TICKS.at(-1);
    const from = this.end - this.range;
    const offset = new Date(this.end * 1000).getTimezoneOffset() * 60;
    paint.font = this.font;
    paint.textAlign = "center";
    paint.strokeStyle = this.colours.grid;
    paint.fillStyle = this.colours.dim;
    for (let at = Math.ceil((from - offset) / step) * step + offset; at <= this.end; at += step) {
      const x = Math.round(this.toX(at)) + 0.5;
      if (isAxis) {
        if (x > 30 && x < this.width - 30)
          paint.fillText(
            step >= 86400
              ? new Date(at * 1000).toLocaleDateString(undefined, { month: "short", day: "numeric" })
              : clock(at, step < 60),
            x,
            15,
          );
      } else {
        paint.beginPath();
        paint.moveTo(x, AXIS);
        paint.lineTo(x, this.height);
        paint.stroke();
      }
    }
    if (!isAxis) return;
    paint.beginPath();
    paint.moveTo(0, AXIS - 0.5);
    paint.lineTo(this.width, AXIS - 0.5);
    paint.stroke();
  }

  /** Draw a lane from the newest call on; of calls in one column the gravest is drawn last and whole. */
  drawLane(paint, lane, y) {
    const middle = y + ROW / 2;
    const left = this.toX(Math.max(lane.first, this.end - this.range));
    const right = this.toX(Math.min(lane.last, this.end));
    paint.fillStyle = this.colours.lane;
    paint.fillRect(left, middle - 0.5, Math.max(0, right - left), 1.5);
    const grave = [];
    let column = Infinity;
    for (let index = lane.calls.length - 1; index >= 0; index -= 1) {
      const call = lane.calls[index];
      if (call.at > this.end) continue;
      const x = this.toX(call.at);
      if (x < 4) break;
      if (WEIGHT[call.decision] >= 3 || call.failed || call.rewrote) {
        grave.push([call, x]);
      } else if (column - x >= 2) {
        column = x;
        drawMark(paint, this.colours, call, x, middle);
      }
    }
    grave.sort(([a], [b]) => WEIGHT[a.decision] - WEIGHT[b.decision]);
    for (const [call, x] of grave) drawMark(paint, this.colours, call, x, middle);
    if (this.cursor && lane.calls.includes(this.cursor)) {
      paint.strokeStyle = this.colours.focus;
      paint.lineWidth = 2;
      paint.strokeRect(this.toX(this.cursor.at) - 8, middle - 10, 16, 20);
      paint.lineWidth = 1;
    }
  }

  find(event) {
    const box = this.canvas.getBoundingClientRect();
    const y = event.clientY - box.top;
    if (y < AXIS) return null;
    const lane = this.order[Math.floor((y - AXIS + this.scroller.scrollTop) / ROW)];
    const x = event.clientX - box.left;
    let best = null;
    let score = REACH;
    for (const call of lane?.calls ?? []) {
      // near is good, grave is better: a blocked call among many others can be hit
      const distance = Math.abs(this.toX(call.at) - x);
      const rated = distance - WEIGHT[call.decision];
      if (distance <= REACH && rated < score) [best, score] = [call, rated];
    }
    return best && { call: best, lane };
  }

  hover(event) {
    const hit = this.find(event);
    this.canvas.style.cursor = hit ? "pointer" : "default";
    this.showTip(hit);
  }

  /** @param {{call: object, lane: Lane} | null} hit */
  showTip(hit) {
    const next = hit?.call ?? null;
    if (next === this.cursor) return;
    this.cursor = next;
    this.dirty = true;
    this.tip.hidden = !hit;
    if (!hit) return;
    const { call, lane } = hit;
    show(
      this.tip,
      h("b", {}, `${call.decision}${call.failed ? ", a hook failed" : ""}${call.rewrote ? ", rewritten" : ""}`),
      h("span.dim", {}, ` ${clock(call.at)} · ${duration(call.duration)}`),
      h("code", {}, [call.tool || call.event, call.subject].filter(Boolean).join("  ")),
      call.decided_by.length > 0 && h("span.dim", {}, `by ${call.decided_by.join(", ")}`),
      call.reasons[0] && h("span.reason", {}, call.reasons[0]),
    );
    const x = this.canvas.offsetLeft + this.toX(call.at);
    const y = AXIS + this.order.indexOf(lane) * ROW - this.scroller.scrollTop;
    const width = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(8, Math.min(x - width / 2, this.element.clientWidth - width - 8))}px`;
    this.tip.style.top = `${y + ROW}px`;
  }

  /** Lanes by ↑ ↓, calls of a lane by ← →, Enter opens the call. */
  onKey(event) {
    const index = this.order.findIndex((lane) => lane.label.contains(event.target));
    const lane = this.order[index];
    if (!lane) return;
    const goTo = (other) => {
      if (!other) return;
      lane.label.firstChild.tabIndex = -1;
      other.label.firstChild.tabIndex = 0;
      other.label.firstChild.focus();
    };
    const step = (by) => {
      const at = this.cursor ? lane.calls.indexOf(this.cursor) : -1;
      const call = lane.calls[at < 0 ? lane.calls.length - 1 : Math.min(lane.calls.length - 1, Math.max(0, at + by))];
      this.showTip({ call, lane });
      this.say(`${call.decision}, ${call.tool || call.event} ${call.subject}, ${relative(call.at)}`);
    };
    const actions = {
      ArrowDown: () => goTo(this.order[index + 1]),
      ArrowUp: () => goTo(this.order[index - 1]),
      Home: () => goTo(this.order[0]),
      End: () => goTo(this.order.at(-1)),
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
    };
    if (event.key === "Enter" && this.cursor) this.open(this.cursor.trace);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }
}

/** Calls come nearly in order: look for the place from the end. */
function insert(calls, call) {
  let index = calls.length;
  while (index > 0 && calls[index - 1].at > call.at) index -= 1;
  if (index === calls.length) calls.push(call);
  else calls.splice(index, 0, call);
}

function drawMark(paint, colours, call, x, y) {
  paint.fillStyle = colours[call.decision] ?? colours.pass;
  paint.strokeStyle = paint.fillStyle;
  paint.beginPath();
  if (call.decision === "deny") {
    paint.roundRect(x - 5, y - 7, 10, 14, 2);
  } else if (call.decision === "stop") {
    polygon(paint, x, y, [
      [-3, -8],
      [3, -8],
      [7, -4],
      [7, 4],
      [3, 8],
      [-3, 8],
      [-7, 4],
      [-7, -4],
    ]);
  } else if (call.decision === "ask") {
    polygon(paint, x, y, [
      [0, -8],
      [7, 0],
      [0, 8],
      [-7, 0],
    ]);
  } else if (call.decision === "allow") {
    paint.arc(x, y, 4, 0, 7);
  } else if (call.decision === "unfinished") {
    paint.arc(x, y, 4, 0, 7);
    paint.stroke();
    return;
  } else {
    paint.roundRect(x - 1.25, y - 5, 2.5, 10, 1);
  }
  paint.fill();
  if (call.rewrote) {
    paint.fillStyle = colours.rewrote;
    paint.fillRect(x - 5, y + 9, 10, 2.5);
  }
  if (call.failed) {
    paint.fillStyle = colours.failed;
    paint.beginPath();
    polygon(paint, x, y - 9, [
      [0, -5],
      [5, 4],
      [-5, 4],
    ]);
    paint.fill();
  }
}

function polygon(paint, x, y, points) {
  points.forEach(([dx, dy], index) => (index ? paint.lineTo(x + dx, y + dy) : paint.moveTo(x + dx, y + dy)));
  paint.closePath();
}
