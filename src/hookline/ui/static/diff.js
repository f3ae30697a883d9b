/** Differences: of two texts, and unified ones from the server. */
import { h } from "./dom.js";

// above this many cells the table of the comparison gets too large; both texts are then shown whole
const MOST_CELLS = 400_000;

/** @typedef {{kind: "same" | "add" | "del", text: string}} Piece */

/**
 * Compare two lists of tokens by their longest common subsequence.
 * @param {string[]} before @param {string[]} after @returns {Piece[]}
 */
export function compare(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  const pieces = before.slice(0, start).map((text) => ({ kind: "same", text }));
  pieces.push(...compareMiddle(left, right));
  pieces.push(...before.slice(before.length - end).map((text) => ({ kind: "same", text })));
  return pieces;
}

function compareMiddle(left, right) {
  const width = right.length + 1;
  const all = (kind) => (text) => ({ kind, text });
  if (!left.length || !right.length || left.length * right.length > MOST_CELLS)
    return [...left.map(all("del")), ...right.map(all("add"))];
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        left[i] === right[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pieces = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      pieces.push({ kind: "same", text: left[i] });
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      pieces.push({ kind: "del", text: left[i] });
      i += 1;
    } else {
      pieces.push({ kind: "add", text: right[j] });
      j += 1;
    }
  }
  return pieces;
}

const TAGS = { same: "span", add: "ins", del: "del" };
const SIGNS = { same: " ", add: "+", del: "−" };

/** Show what a rewrite changed: words where it is one line, else lines. @param {{name: string, before: string, after: string}} change */
export function renderChange(change) {
  const isOneLine = !change.before.includes("\n") && !change.after.includes("\n");
  const body = isOneLine
    ? renderWords(change)
    : renderLines(compare(change.before.split("\n"), change.after.split("\n")));
  return h("figure.diff", {}, h("figcaption", {}, "Rewritten: ", h("code", {}, change.name)), body);
}

function renderWords({ before, after }) {
  const split = (text) => text.match(/\s+|[\w.-]+|./gsu) ?? [];
  const pieces = join(compare(split(before), split(after)));
  const line = (kind) =>
    h(
      "div.line",
      { "data-kind": kind },
      h("span.sign", {}, SIGNS[kind]),
      pieces
        .filter((piece) => piece.kind === "same" || piece.kind === kind)
        .map((piece) => (piece.kind === "same" ? piece.text : h(TAGS[kind], {}, piece.text))),
    );
  return h("pre.by-word", { tabindex: 0 }, h("code", {}, line("del"), line("add")));
}

/** Make neighbours of one kind one piece. */
function join(pieces) {
  const joined = [];
  for (const piece of pieces) {
    if (joined.at(-1)?.kind === piece.kind) joined.at(-1).text += piece.text;
    else joined.push({ ...piece });
  }
  return joined;
}

function renderLines(pieces) {
  return h(
    "pre",
    { tabindex: 0 },
    h(
      "code",
      {},
      pieces.map(({ kind, text }) =>
        h(
          "div.line",
          { "data-kind": kind },
          h("span.sign", {}, SIGNS[kind]),
          kind === "same" ? text : h(TAGS[kind], {}, text),
        ),
      ),
    ),
  );
}

/** Show a unified diff with its lines marked. @param {{path: string, unified: string}} diff */
export function renderUnified({ path, unified }) {
  const lines = unified.split("\n").filter((line) => !line.startsWith("---") && !line.startsWith("+++"));
  if (lines.at(-1) === "") lines.pop();
  const kinds = { "+": "add", "-": "del" };
  return h(
    "figure.diff",
    {},
    h("figcaption", {}, h("code", {}, path)),
    h(
      "pre",
      { tabindex: 0 },
      h(
        "code",
        {},
        lines.map((line) => {
          if (line.startsWith("@@")) return h("div.line.hunk", {}, line);
          const kind = kinds[line[0]] ?? "same";
          const text = line.slice(1);
          return h(
            "div.line",
            { "data-kind": kind },
            h("span.sign", {}, SIGNS[kind]),
            kind === "same" ? text : h(TAGS[kind], {}, text),
          );
        }),
      ),
    ),
  );
}
