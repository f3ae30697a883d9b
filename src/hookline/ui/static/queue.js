/** The queue of background hooks, and the limits of hooks. */
import { get } from "./api.js";
import { empty, h, hookLink, show, tile } from "./dom.js";
import { count, folder, when, words } from "./format.js";
import { table } from "./table.js";

export const TITLE = "Queue and limits";
export const LABEL = "Queue";

const TONES = { failed: "deny", dead: "deny", running: "allow", waiting: "" };

const JOBS = [
  {
    label: "Hook",
    head: true,
    cell: (job) => hookLink(job.hook, job.project),
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

const LIMITS = [
  {
    label: "Hook",
    head: true,
    cell: (limit) => (limit.hook ? hookLink(limit.hook) : "all hooks"),
    sort: (limit) => limit.hook,
  },
  { label: "Limit", cell: (limit) => words(limit.limit), sort: (limit) => limit.limit },
  {
    label: "State",
    cell: (limit) =>
      h("span.pin", { "data-tone": limit.passed ? "on" : "warn" }, limit.passed ? "may run" : "limit reached"),
    sort: (limit) => Number(limit.passed),
  },
  { label: "Used", cell: (limit) => limit.reason, sort: (limit) => limit.reason },
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
      ? table(LIMITS, limits, { caption: "Limits of hooks" })
      : empty(
          "No hook has a limit",
          "A hook with a rate limit, a circuit breaker or a budget appears here once it has run.",
        ),
  );
}
