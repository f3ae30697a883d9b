/** Tables that are cards on narrow screens. The roles are written down because `display` on narrow screens takes them away. */
import { h, show } from "./dom.js";

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: any) => import("./dom.js").Child} cell
 * @property {(row: any) => string | number} [sort]
 * @property {boolean} [number] a figure: aligned to the right
 * @property {boolean} [head] names the row
 * @property {string} [name] a class for its cells
 */

/** Make the head of a table. @param {Column[]} columns @param {(column: Column) => import("./dom.js").Child} [label] */
export function tableHead(columns, label = (column) => column.label) {
  const heads = columns.map((column) =>
    h("th", { scope: "col", role: "columnheader", class: classes(column) }, label(column)),
  );
  return h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads));
}

/** Make a row. @param {Column[]} columns @param {any} row @param {Record<string, unknown>} [attributes] */
export function tableRow(columns, row, attributes = {}) {
  return h(
    "tr",
    { role: "row", ...attributes },
    columns.map((column) =>
      h(
        column.head ? "th" : "td",
        {
          role: column.head ? "rowheader" : "cell",
          scope: column.head ? "row" : null,
          class: classes(column),
          "data-label": column.label,
        },
        column.cell(row),
      ),
    ),
  );
}

function classes(column) {
  return [column.number && "num", column.name].filter(Boolean).join(" ") || null;
}

/**
 * Make a table whose columns with `sort` can be sorted by their heads.
 * @param {Column[]} columns @param {any[]} rows
 * @param {{caption: string, by?: string, descending?: boolean, attributes?: (row: any) => object, remember?: (by: string, descending: boolean) => void}} options
 */
export function table(
  columns,
  rows,
  { caption, by = "", descending = false, attributes = () => ({}), remember = () => {} },
) {
  const body = h("tbody", { role: "rowgroup" });
  const head = tableHead(columns, (column) => (column.sort ? sorter(column) : column.label));
  const order = { by, descending };

  function sorter(column) {
    return h(
      "button.sort",
      {
        type: "button",
        onclick: () => {
          // figures begin with the largest, names with the first
          order.descending = order.by === column.label ? !order.descending : Boolean(column.number);
          order.by = column.label;
          remember(order.by, order.descending);
          paint();
        },
      },
      column.label,
    );
  }

  function paint() {
    const column = columns.find((one) => one.label === order.by);
    const sign = order.descending ? -1 : 1;
    const sorted = column?.sort ? [...rows].sort((a, b) => sign * rank(column.sort(a), column.sort(b))) : rows;
    columns.forEach((one, index) => {
      const cell = head.querySelectorAll("th")[index];
      if (one === column) cell.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    show(
      body,
      sorted.map((row) => tableRow(columns, row, attributes(row))),
    );
  }

  paint();
  return h("div.table", {}, h("table", { role: "table" }, h("caption.sr", {}, caption), head, body));
}

function rank(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}
