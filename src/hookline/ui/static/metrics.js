/** Metrics: rates, errors and durations over time, per agent and per hook. */
import { get } from "./api.js";
import { badge, empty, h, hookLink, show, tile } from "./dom.js";
import { count, duration, money, now, short, when } from "./format.js";
import { plot } from "./plot.js";
import { table } from "./table.js";

export const TITLE = "Metrics";

const RANGES = {
  "15m": [900, 15, "15 min"],
  "1h": [3600, 60, "1 h"],
  "24h": [86400, 1200, "24 h"],
  "7d": [604800, 7200, "7 d"],
};
const QUANTILES = ["p50", "p95", "p99"];
const MOST_SERIES = 6;

const figure = (label, name, format) => ({
  label,
  number: true,
  cell: (row) => format(row[name]),
  sort: (row) => row[name],
});
const COLUMNS = [
  {
    label: "Hook",
    head: true,
    cell: (row) => hookLink(row.hook),
    sort: (row) => row.hook,
  },
  figure("Runs", "runs", count),
  {
    label: "Failed",
    number: true,
    cell: (row) =>
      row.failed ? badge("failed", `${count(row.failed)} (${percent(1 - row.success_rate)})`) : h("span.dim", {}, "–"),
    sort: (row) => row.failed,
  },
  figure("Blocked", "denials", (value) => (value ? badge("deny", count(value)) : h("span.dim", {}, "–"))),
  figure("p50", "p50", duration),
  figure("p95", "p95", duration),
  figure("p99", "p99", duration),
  figure("Total", "total", duration),
  { label: "Last run", number: true, cell: (row) => when(row.last_run), sort: (row) => row.last_run },
];

// of hooks that ask a language model
const USAGE = [
  figure("Tokens", "tokens", (value) => (value ? count(value) : h("span.dim", {}, "–"))),
  figure("Cost", "cost", (value) => (value ? money(value) : h("span.dim", {}, "–"))),
];

function percent(part) {
  return `${part < 0.1 ? (part * 100).toFixed(1) : Math.round(part * 100)} %`;
}

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export async function render(main, { params, signal, setParams, say }) {
  const values = {
    range: params.range in RANGES ? params.range : "1h",
    quantile: QUANTILES.includes(params.quantile) ? params.quantile : "p95",
  };
  const place = h("div", {});
  let answer = null;
  show(
    main,
    h(
      "div.view-head",
      {},
      h("h1", { tabindex: -1 }, TITLE),
      h("span.grow", {}),
      radios(
        "Durations",
        "quantile",
        QUANTILES.map((name) => [name, name]),
        paint,
      ),
      radios(
        "Range",
        "range",
        Object.entries(RANGES).map(([key, [, , text]]) => [key, text]),
        load,
      ),
    ),
    place,
  );
  await load();

  function radios(legend, name, options, changed) {
    return h(
      "fieldset.segments",
      {},
      h("legend.sr", {}, legend),
      options.map(([value, text]) =>
        h(
          "label",
          {},
          h("input.sr", {
            type: "radio",
            name,
            value,
            checked: values[name] === value,
            onchange: () => {
              values[name] = value;
              setParams(values);
              changed();
            },
          }),
          text,
        ),
      ),
    );
  }

  async function load() {
    const [seconds, step] = RANGES[values.range];
    answer = await get("/api/metrics", { since: seconds, step }, signal);
    paint();
    say(`Metrics of the last ${RANGES[values.range][2]}`);
  }

  function paint() {
    const [seconds, asked, label] = RANGES[values.range];
    const step = answer.step || asked;
    const to = now();
    const common = { from: to - seconds, to, step, signal };
    const sum = (name) => answer.calls.reduce((total, row) => total + row[name], 0);
    const runs = answer.hooks.reduce((total, row) => total + row.runs, 0);
    const failed = answer.hooks.reduce((total, row) => total + row.failed, 0);
    if (!answer.calls.length && !answer.hooks.length) {
      show(
        place,
        empty(
          `No calls in the last ${label}`,
          "Choose a longer range, or let an agent work: every call is counted here.",
          ["hookline install claude-code"],
        ),
      );
      return;
    }
    const per =
      step >= 3600 ? [step / 3600, "per hour"] : step >= 60 ? [step / 60, "per minute"] : [step, "per second"];
    const rate = (value) => short(value);
    show(
      place,
      h(
        "dl.tiles",
        {},
        tile("Calls", count(sum("calls"))),
        tile("Blocked", count(sum("blocked")), "deny"),
        tile("Asked", count(sum("asked")), "ask"),
        tile("Hook runs", count(runs)),
        tile("Failed runs", count(failed), "failed", runs ? percent(failed / runs) : ""),
      ),
      h("h2.sr", {}, "Plots"),
      h(
        "div.plots",
        {},
        plot({
          ...common,
          title: "Calls by agent",
          note: per[1],
          unit: "",
          kind: "bars",
          format: rate,
          series: group(
            answer.calls,
            (row) => row.agent || "no agent",
            (row) => row.calls / per[0],
          ),
        }),
        plot({
          ...common,
          title: "Blocked and asked",
          note: `per ${spell(step)}`,
          unit: "",
          kind: "bars",
          format: rate,
          series: totals(answer.calls, ["blocked", "asked"]),
        }),
        plot({
          ...common,
          title: `Slowest hooks, ${values.quantile}`,
          note: "time of a run",
          unit: "",
          format: (value) => (value ? duration(value) : "0"),
          series: timed(answer.times_by_hook),
        }),
        plot({
          ...common,
          title: `Hooks by agent, ${values.quantile}`,
          note: "time of a run",
          unit: "",
          format: (value) => (value ? duration(value) : "0"),
          series: timed(answer.times_by_agent),
        }),
        plot({
          ...common,
          title: "Failed runs by hook",
          note: `per ${spell(step)}`,
          unit: "",
          kind: "bars",
          format: rate,
          series: group(
            answer.times_by_hook.filter((row) => row.failed),
            (row) => row.name,
            (row) => row.failed,
          ),
        }),
        plot({
          ...common,
          title: "Hook runs by agent",
          note: per[1],
          unit: "",
          kind: "bars",
          format: rate,
          series: group(
            answer.times_by_agent,
            (row) => row.name || "no agent",
            (row) => row.runs / per[0],
          ),
        }),
      ),
      h("h2", {}, "Hooks"),
      answer.hooks.length
        ? table(answer.hooks.some((row) => row.tokens) ? [...COLUMNS, ...USAGE] : COLUMNS, answer.hooks, { caption: `Figures of hooks, last ${label}`, by: "Total", descending: true })
        : h("p.dim", {}, "No hook ran."),
    );
  }

  /** The slowest series by the chosen quantile. */
  function timed(rows) {
    const worst = new Map();
    for (const row of rows) worst.set(row.name, Math.max(worst.get(row.name) ?? 0, row[values.quantile]));
    const chosen = new Set(
      [...worst]
        .sort((a, b) => b[1] - a[1])
        .slice(0, MOST_SERIES)
        .map(([name]) => name),
    );
    return group(
      rows.filter((row) => chosen.has(row.name) && row.runs),
      (row) => row.name || "no agent",
      (row) => row[values.quantile],
    );
  }
}

function spell(step) {
  if (step === 60) return "minute";
  return step < 60 ? `${step} s` : step < 3600 ? `${step / 60} min` : `${step / 3600} h`;
}

/** One series per name; beyond the sixth, the smallest are added up as "others". */
function group(rows, nameOf, valueOf) {
  const sizes = new Map();
  for (const row of rows) sizes.set(nameOf(row), (sizes.get(nameOf(row)) ?? 0) + valueOf(row));
  const names = [...sizes].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const kept = new Set(names.length > MOST_SERIES ? names.slice(0, MOST_SERIES - 1) : names);
  const series = new Map([...kept].map((name) => [name, new Map()]));
  if (names.length > MOST_SERIES) series.set("others", new Map());
  for (const row of rows) {
    const points = series.get(kept.has(nameOf(row)) ? nameOf(row) : "others");
    points.set(row.start, (points.get(row.start) ?? 0) + valueOf(row));
  }
  return [...series].map(([name, points]) => ({ name, points }));
}

function totals(rows, names) {
  return names.map((name) => {
    const points = new Map();
    for (const row of rows) if (row[name]) points.set(row.start, (points.get(row.start) ?? 0) + row[name]);
    return { name, points, tone: name === "asked" ? "ask" : "deny" };
  });
}
