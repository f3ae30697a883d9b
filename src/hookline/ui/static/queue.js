/** The queue of background hooks, and the limits of hooks. */
import { get } from "./api.js";
import { empty, h, show, tile } from "./dom.js";
import { count, duration, folder, when, words } from "./format.js";
import { table } from "./table.js";

export const TITLE = "Queue and limits";
export const LABEL = "Queue";

const TONES = { failed: "deny", dead: "deny", running: "allow", waiting: "" };
const TIMES = new Set(["at", "reset", "until", "next", "last", "since"]);

const JOBS = [
  {
    label: "Hook",
    head: true,
    cell: (job) => h("a", { href: `#/hooks/${encodeURIComponent(job.hook)}` }, job.hook),
    sort: (job) => job.hook,
  },
  {
    label: "State",
    cell: (job) =>
      h("span.pin", { "data-tone": job.state === "failed" || job.state === "dead" ? "warn" : "plain" }, job.state),
    sort: (job) => job.state,
  },
  {
    label: "Project",
    cell: (job) => h("span", { title: job.project }, folder(job.project) || "–"),
    sort: (job) => job.project,
  },
  { label: "Since", number: true, cell: (job) => when(job.at), sort: (job) => job.at },
  { label: "Attempts", number: true, cell: (job) => job.attempts, sort: (job) => job.attempts },
  { label: "Error", cell: (job) => job.error || h("span.dim", {}, "–") },
  { label: "Job", cell: (job) => h("code", {}, job.id) },
];

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export async function render(main, context) {
  const { jobs, counts, limits } = await get("/api/queue", {}, context.signal);
  const reload = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        await render(main, context);
        context.say("Queue read again");
      },
    },
    "Refresh",
  );
  show(
    main,
    h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE), h("span.grow", {}), reload),
    Object.keys(counts).length > 0 &&
      h(
        "dl.tiles",
        {},
        Object.entries(counts).map(([state, number]) =>
          tile(state[0].toUpperCase() + words(state).slice(1), count(number), number ? (TONES[state] ?? "") : ""),
        ),
      ),
    h("h2", {}, "Background jobs"),
    jobs.length
      ? table(JOBS, jobs, { caption: "Background jobs" })
      : empty(
          "No job waits",
          "Hooks with background = true are run from this queue after the agent has its answer. These commands show and run it in a terminal.",
          ["hookline queue list", "hookline queue work"],
        ),
    h("h2", {}, "Limits"),
    limits.length
      ? table(limitColumns(limits), limits, { caption: "Limits of hooks" })
      : empty(
          "No hook has a limit",
          "A hook with a rate limit, a circuit breaker or a budget appears here once it has run.",
        ),
  );
}

/** The server knows which figures a limit has; each becomes a column. */
function limitColumns(limits) {
  const names = [...new Set(limits.flatMap((limit) => Object.keys(limit)))].filter((name) => name !== "hook");
  return [
    {
      label: "Hook",
      head: true,
      cell: (row) => h("a", { href: `#/hooks/${encodeURIComponent(row.hook)}` }, row.hook),
      sort: (row) => row.hook,
    },
    ...names.map((name) => ({
      label: words(name),
      number: limits.every((row) => typeof (row[name] ?? 0) === "number"),
      cell: (row) => write(name, row[name]),
      sort: (row) => row[name] ?? "",
    })),
  ];
}

function write(name, value) {
  if (value === null || value === undefined || value === "") return h("span.dim", {}, "–");
  if (TIMES.has(name) && typeof value === "number") return when(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (name.endsWith("seconds") || name === "window" || name === "per")
    return typeof value === "number" ? duration(value) : String(value);
  return typeof value === "number" ? count(value) : typeof value === "object" ? JSON.stringify(value) : String(value);
}
