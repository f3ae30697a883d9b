/** Building elements. Texts of hooks and agents only ever become text nodes, never markup. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * Make an element: `h("button.quiet", {type: "button", onclick}, "Text")`.
 * @param {string} name tag and classes
 * @param {Record<string, unknown>} [attributes] `on…` are listeners, false and null are left out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElement(tag), classes, attributes, children);
}

/** Make an SVG element, see `h`. @returns {SVGElement} */
export function svg(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElementNS(SVG, tag), classes, attributes, children);
}

function fill(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** @param {Node} element @param {Child[]} children */
export function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child || child === 0) element.append(child);
  }
}

/** Replace all children. @param {Element} element @param {...Child} children */
export function show(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const ICONS = {
  live: "M2 12h4l3-8 5 16 3-8h5",
  sessions: "M4 5h16M4 12h10M4 19h13",
  hooks: "M8 4v9a5 5 0 0 0 10 0v-2m-3 2.5 3-3 3 3",
  matrix: "M4 4h16v16H4zM4 10h16M4 15h16M10 4v16M15 4v16",
  metrics: "M4 4v16h16M8 15l4-5 3 3 5-7",
  queue: "M4 6h16v4H4zM4 14h10M4 18h6",
  doctor: "M12 4v16M4 12h16",
  close: "M6 6l12 12M18 6 6 18",
  pause: "M8 5v14M16 5v14",
  play: "M7 4l13 8-13 8z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  pencil: "M4 20l1-4L16 5l3 3L8 19z",
  warn: "M12 4 2.5 20h19zM12 10v4M12 17v.5",
  back: "M15 5l-7 7 7 7",
};

/** Make an icon; the text beside it says what it means. @param {keyof ICONS} name */
export function icon(name) {
  return svg("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** The shape of each decision, so that colour is never the only sign. */
const SHAPES = {
  pass: () => [svg("circle", { cx: 8, cy: 8, r: 3.5, class: "line" })],
  allow: () => [svg("circle", { cx: 8, cy: 8, r: 6.5 }), svg("path", { d: "M5 8.2l2.1 2.1L11 6.2", class: "cut" })],
  ask: () => [svg("path", { d: "M8 .8 15.2 8 8 15.2.8 8z" }), svg("path", { d: "M8 4.8v3.8M8 10.9v.3", class: "cut" })],
  deny: () => [
    svg("rect", { x: 1.5, y: 1.5, width: 13, height: 13, rx: 2.5 }),
    svg("path", { d: "M5.4 5.4l5.2 5.2m0-5.2-5.2 5.2", class: "cut" }),
  ],
  stop: () => [
    svg("path", { d: "M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z" }),
    svg("path", { d: "M4.6 8h6.8", class: "cut" }),
  ],
  unfinished: () => [svg("circle", { cx: 8, cy: 8, r: 5, class: "line dash" })],
  failed: () => [svg("path", { d: "M8 1.5 15.2 14.5H.8z" }), svg("path", { d: "M8 6v4M8 12v.3", class: "cut" })],
  skipped: () => [svg("path", { d: "M3 8h10", class: "line" })],
};

/** Make the mark of a decision. @param {string} decision */
export function shape(decision) {
  const paint = SHAPES[decision] ?? SHAPES.pass;
  return svg("svg.shape", { viewBox: "0 0 16 16", "aria-hidden": "true", "data-decision": decision }, ...paint());
}

/** Make mark and word of a decision. @param {string} decision @param {string} [word] */
export function badge(decision, word = decision) {
  return h("span.badge", { "data-decision": decision }, shape(decision), word);
}

// the letters that tell agents apart; an agent that is not here gets the first two of its name
const MONOGRAMS = {
  "claude-code": "CL",
  "codex-cli": "CX",
  "gemini-cli": "GE",
  "qwen-code": "QW",
  cursor: "CU",
  "copilot-cli": "CP",
  opencode: "OC",
  cline: "CN",
  kiro: "KI",
  windsurf: "WS",
  "factory-droid": "FD",
  antigravity: "AG",
};
const TINTS = 6;

/** Make the two letters of an agent, in a colour of its own. @param {string} agent */
export function monogram(agent) {
  const place = Object.keys(MONOGRAMS).indexOf(agent);
  const letters = MONOGRAMS[agent] ?? (agent || "–").slice(0, 2).toUpperCase();
  return h(
    "span.mono",
    { "aria-hidden": "true", "data-tint": place < 0 ? agent.length % TINTS : place % TINTS },
    letters,
  );
}

/** Make an agent's name with its letters. @param {string} agent */
export function agentName(agent) {
  return h("span.agent", {}, monogram(agent), agent || "no agent");
}

/** Make a link to a hook; `project` is the folder whose hooks it is one of. @param {string} id @param {string} [project] */
export function hookLink(id, project = "") {
  const query = project ? `?${new URLSearchParams({ project })}` : "";
  return h("a", { href: `#/hooks/${encodeURIComponent(id)}${query}` }, id);
}

/** Make the mark of a call whose arguments or output a hook changed. */
export function rewrittenBadge() {
  return h("span.badge", { "data-decision": "rewrote" }, icon("pencil"), "rewritten");
}

/**
 * Make the text that stands where there is nothing yet, with what to do next.
 * @param {string} title @param {string} text @param {string[]} [commands]
 */
export function empty(title, text, commands = []) {
  return h(
    "div.empty",
    {},
    h("h2", {}, title),
    h("p", {}, text),
    commands.map((line) => h("pre", { tabindex: 0 }, h("code", {}, line))),
  );
}

/** Make a labelled figure. @param {string} label @param {Child} value @param {string} [tone] @param {string} [note] */
export function tile(label, value, tone = "", note = "") {
  return h(
    "div.tile",
    { "data-tone": tone },
    h("dt", {}, tone && shape(tone), label),
    h("dd", {}, value),
    note && h("dd.note", {}, note),
  );
}

/** Make a labelled list to choose from. @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} change */
export function select(label, options, value, change) {
  const list = options.some(([key]) => key === value) ? options : [...options, [value, value]];
  const control = h(
    "select",
    { onchange: (event) => change(event.target.value) },
    list.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  return h("label.field", {}, h("span", {}, label), control);
}
