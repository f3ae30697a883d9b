/** Plots as SVG: axes with units, values on hover, and the same figures as a table. */
import { h, show, svg } from "./dom.js";
import { absolute, clock } from "./format.js";

const HEIGHT = 220;
const MARGIN = { top: 12, right: 16, bottom: 28, left: 60 };
const DASHES = ["", "6 3", "2 3", "10 3 2 3", "1 4", "12 4"];

/** @typedef {{name: string, points: Map<number, number>, tone?: string}} Series `tone` is a decision, and has its colour */

/**
 * Make a plot of series over time.
 * @param {{title: string, note?: string, unit: string, series: Series[], from: number, to: number, step: number, format: (value: number) => string, kind?: "line" | "bars", signal: AbortSignal}} options
 */
export function plot(options) {
  const place = h("div.plot-area", {});
  const tip = h("div.tip", { hidden: true });
  const figure = h(
    "figure.plot",
    {},
    h("figcaption", {}, h("h3", {}, options.title), options.note && h("span.dim", {}, options.note)),
    h("div.plot-wrap", {}, place, tip),
    legend(options),
    asTable(options),
  );
  const observer = new ResizeObserver(() => paint(place, tip, options));
  observer.observe(place);
  options.signal.addEventListener("abort", () => observer.disconnect());
  return figure;
}

function legend({ series, kind = "line" }) {
  const sample = (one, index) =>
    kind === "bars"
      ? svg("rect.fill", { x: 7, width: 10, height: 10, y: -1, rx: 2, ...look(one, index) })
      : svg("path.series", { d: "M0 4h24", "stroke-dasharray": DASHES[index % 6], ...look(one, index) });
  return h(
    "ul.plot-legend",
    {},
    series.map((one, index) =>
      h("li", {}, svg("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" }, sample(one, index)), one.name),
    ),
  );
}

function look(one, index) {
  return { "data-series": index % 6, "data-decision": one.tone };
}

function times({ from, to, step }) {
  const found = [];
  for (let at = Math.floor(from / step) * step; at < to; at += step) found.push(at);
  return found;
}

function paint(place, tip, options) {
  const { series, from, to, step, format, kind = "line", title, unit } = options;
  const width = place.clientWidth;
  if (!width) return;
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const all = times(options);
  const stack = new Map();
  if (kind === "bars")
    for (const one of series) for (const [at, value] of one.points) stack.set(at, (stack.get(at) ?? 0) + value);
  const top = nice(
    Math.max(0, ...(kind === "bars" ? [...stack.values()] : series.flatMap((one) => [...one.points.values()]))),
    kind === "bars",
  );
  const x = (at) => MARGIN.left + ((at - from) / (to - from)) * inner.width;
  const y = (value) => MARGIN.top + inner.height * (1 - value / top);
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`,
    width,
    height: HEIGHT,
    role: "img",
    "aria-label": `${title}. The figures are in the table below.`,
  });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const level = Math.round(y(top * part)) + 0.5;
    root.append(
      svg("line.grid", { x1: MARGIN.left, x2: width - MARGIN.right, y1: level, y2: level }),
      svg("text.tick", { x: MARGIN.left - 8, y: level + 4, "text-anchor": "end" }, format(top * part)),
    );
  }
  const ticks = Math.max(2, Math.floor(inner.width / 110));
  for (let index = 0; index <= ticks; index += 1) {
    const at = from + ((to - from) * index) / ticks;
    root.append(
      svg(
        "text.tick",
        { x: x(at), y: HEIGHT - 8, "text-anchor": index === 0 ? "start" : index === ticks ? "end" : "middle" },
        to - from > 172800
          ? new Date(at * 1000).toLocaleDateString(undefined, { weekday: "short", day: "numeric" })
          : clock(at, false),
      ),
    );
  }
  root.append(
    ...(kind === "bars"
      ? bars(series, all, x, y, inner.width / Math.max(1, (to - from) / step), from, to)
      : lines(series, all, x, y, step, from, to)),
  );
  const cross = svg("line.cross", { y1: MARGIN.top, y2: MARGIN.top + inner.height, visibility: "hidden" });
  root.append(cross);
  const move = (at) => {
    cross.setAttribute("x1", x(at + step / 2));
    cross.setAttribute("x2", x(at + step / 2));
    cross.setAttribute("visibility", "visible");
    tip.hidden = false;
    const values = series.map((one) => [one, one.points.get(at)]).filter(([, value]) => value !== undefined);
    show(
      tip,
      h("b", {}, absolute(at)),
      values.length
        ? values.map(([one, value]) =>
            h(
              "span.tip-row",
              {},
              svg(
                "svg",
                { viewBox: "0 0 10 10" },
                svg("circle", { cx: 5, cy: 5, r: 4, class: "dot", ...look(one, series.indexOf(one)) }),
              ),
              one.name,
              h("b", {}, `${format(value)}${unit}`),
            ),
          )
        : h("span.dim", {}, "nothing"),
    );
    tip.style.left = `${Math.max(0, Math.min(x(at) + 12, width - tip.offsetWidth - 4))}px`;
    tip.style.top = "8px";
  };
  const leave = () => {
    cross.setAttribute("visibility", "hidden");
    tip.hidden = true;
  };
  root.addEventListener("pointermove", (event) => {
    const at = from + ((event.clientX - root.getBoundingClientRect().left - MARGIN.left) / inner.width) * (to - from);
    if (at < from || at > to) leave();
    else move(Math.floor(at / step) * step);
  });
  root.addEventListener("pointerleave", leave);
  show(place, root);
}

function bars(series, all, x, y, width, from, to) {
  const made = [];
  for (const at of all) {
    let base = 0;
    series.forEach((one, index) => {
      const value = one.points.get(at) ?? 0;
      if (value) {
        const left = Math.max(x(at), x(from));
        made.push(
          svg("rect.fill", {
            x: left,
            y: y(base + value),
            width: Math.max(1, Math.min(x(to), x(at) + width) - left - 1),
            height: y(base) - y(base + value),
            ...look(one, index),
          }),
        );
      }
      base += value;
    });
  }
  return made;
}

/** A gap in the figures is a gap in the line; a single value is a dot. */
function lines(series, all, x, y, step, from, to) {
  return series.flatMap((one, index) => {
    let path = "";
    let isOpen = false;
    const dots = [];
    all.forEach((at, place) => {
      const value = one.points.get(at);
      if (value === undefined) {
        isOpen = false;
        return;
      }
      const middle = Math.min(Math.max(at + step / 2, from), to);
      path += `${isOpen ? "L" : "M"}${x(middle).toFixed(1)} ${y(value).toFixed(1)}`;
      if (!isOpen && one.points.get(all[place + 1]) === undefined)
        dots.push(svg("circle.dot", { cx: x(middle), cy: y(value), r: 2.5, "data-series": index % 6 }));
      isOpen = true;
    });
    return [
      svg("path.series", { d: path || "M0 0", "data-series": index % 6, "stroke-dasharray": DASHES[index % 6] }),
      ...dots,
    ];
  });
}

/** The next number that reads well as the top of an axis with four steps; of counts, these are whole numbers. */
function nice(value, isCount) {
  if (value <= 0) return isCount ? 4 : 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const tops = [1, 1.2, 2, 4, 6, 8, 12].map((step) => step * power);
  return tops.find((top) => top >= value && (!isCount || top % 4 === 0)) ?? Math.ceil(value / 4) * 4;
}

function asTable(options) {
  const { series, format, unit, title } = options;
  const box = h(
    "details",
    {
      ontoggle: () => {
        if (!box.open || box.querySelector("table")) return;
        const rows = times(options).filter((at) => series.some((one) => one.points.has(at)));
        box.append(
          h(
            "div.table.small",
            { tabindex: 0, role: "region", "aria-label": `${title}, as a table` },
            h(
              "table",
              {},
              h("caption.sr", {}, title),
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  h("th", { scope: "col" }, "From"),
                  series.map((one) => h("th.num", { scope: "col" }, one.name)),
                ),
              ),
              h(
                "tbody",
                {},
                rows.map((at) =>
                  h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, absolute(at)),
                    series.map((one) =>
                      h("td.num", {}, one.points.has(at) ? `${format(one.points.get(at))}${unit}` : "–"),
                    ),
                  ),
                ),
              ),
            ),
          ),
        );
      },
    },
    h("summary", {}, "As a table"),
  );
  return box;
}
