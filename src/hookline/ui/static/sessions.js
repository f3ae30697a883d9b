/** Sessions: the list, and one session as a timeline. */
import { get, post } from "./api.js";
import { agentName, badge, empty, h, hookLink, icon, rewrittenBadge, select, shape, show, tile } from "./dom.js";
import { renderChange } from "./diff.js";
import { absolute, clock, count, duration, folder, now, plural, when, words } from "./format.js";
import { table } from "./table.js";
import { renderHooks, renderNotes, renderReasons } from "./trace.js";

export const TITLE = "Sessions";

const PAGE = 200;
const SINCE = [
  ["", "All"],
  ["86400", "24 hours"],
  ["604800", "7 days"],
];
const PROMPTS = new Set(["before_agent", "user_triggered"]);

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export function render(main, context) {
  return context.id ? renderSession(main, context) : renderList(main, context);
}

const COLUMNS = [
  {
    label: "Session",
    head: true,
    name: "subject",
    cell: (row) => [
      h("a", { href: `#/sessions/${encodeURIComponent(row.session)}` }, row.prompt || row.session),
      row.prompt && h("code.dim.below", {}, row.session),
    ],
    sort: (row) => row.prompt || row.session,
  },
  {
    label: "Agent",
    cell: (row) => [agentName(row.agent), row.version && h("span.dim.version", {}, ` ${row.version}`)],
    sort: (row) => row.agent,
  },
  {
    label: "Project",
    cell: (row) => h("span", { title: row.project }, folder(row.project) || "–"),
    sort: (row) => row.project,
  },
  { label: "Last call", cell: (row) => when(row.last), sort: (row) => row.last, number: true },
  { label: "Length", name: "secondary", number: true, cell: (row) => duration(row.last - row.first), sort: (row) => row.last - row.first },
  { label: "Calls", number: true, cell: (row) => count(row.calls), sort: (row) => row.calls },
  {
    label: "Blocked",
    number: true,
    cell: (row) => (row.blocked ? badge("deny", count(row.blocked)) : h("span.dim", {}, "–")),
    sort: (row) => row.blocked,
  },
  {
    label: "Asked",
    name: "secondary",
    number: true,
    cell: (row) => (row.asked ? badge("ask", count(row.asked)) : h("span.dim", {}, "–")),
    sort: (row) => row.asked,
  },
];

async function renderList(main, { status, params, signal, setParams, say }) {
  const values = { ...params };
  const place = h("div", {});
  const change = (name) => (value) => {
    values[name] = value;
    setParams(values);
    load();
  };
  const agents = [["", "All agents"], ...status.agents.map((agent) => [agent.name, agent.title])];
  const projects = [["", "All projects"], ...status.projects.map((path) => [path, folder(path)])];
  const text = h("input", {
    type: "search",
    placeholder: "Prompt, session, agent, project…",
    "data-filter": true,
    value: values.text ?? "",
    oninput: (event) => {
      values.text = event.target.value.trim();
      setParams(values);
      paint();
    },
  });
  show(
    main,
    h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE)),
    h(
      "search.filters",
      {},
      h("label.field.grow", {}, h("span", {}, "Text"), text),
      select("Agent", agents, values.agent ?? "", change("agent")),
      select("Project", projects, values.project ?? "", change("project")),
      select("Since", SINCE, values.since ?? "", change("since")),
    ),
    place,
  );
  let sessions = [];
  let limit = 50;
  await load();

  async function load() {
    const since = values.since ? now() - Number(values.since) : "";
    const answer = await get("/api/sessions", { limit, agent: values.agent, project: values.project, since }, signal);
    sessions = answer.sessions;
    paint();
  }

  function paint() {
    const wanted = (values.text ?? "").toLowerCase();
    const rows = sessions.filter((row) => `${row.session} ${row.prompt} ${row.agent} ${row.project}`.toLowerCase().includes(wanted));
    const isFiltered = values.agent || values.project || values.since || values.text;
    if (!rows.length && isFiltered)
      show(place, empty("No session fits these filters", "Change or clear them to see more."));
    else if (!rows.length)
      show(
        place,
        empty("No sessions yet", "A session appears with the first call of an agent in which Hookline is installed.", [
          "hookline install claude-code",
        ]),
      );
    else
      show(
        place,
        table(COLUMNS, rows, {
          caption: "Sessions, newest first",
          attributes: (row) => ({ "data-decision": row.blocked ? "deny" : null }),
        }),
        sessions.length >= limit &&
          h(
            "p.center",
            {},
            h(
              "button",
              {
                type: "button",
                onclick: () => {
                  limit += 100;
                  load().then(() => say("more sessions loaded"));
                },
              },
              "Load older sessions",
            ),
          ),
      );
  }
}

async function renderSession(main, { id, params, signal, setParams, openCall, say, status }) {
  const path = `/api/sessions/${encodeURIComponent(id)}`;
  const answer = await get(path, { limit: PAGE }, signal);
  const { session } = answer;
  const line = h(`ol.timeline${params.only ? ".grave-only" : ""}`, {});
  const older = h("button", { type: "button", hidden: !answer.more, onclick: load }, "Load older calls");
  let first = answer.calls[0]?.number ?? 0;
  const only = h(
    "label.chip",
    {},
    h("input.sr", {
      type: "checkbox",
      checked: Boolean(params.only),
      onchange: (event) => {
        line.classList.toggle("grave-only", event.target.checked);
        setParams({ only: event.target.checked ? "1" : "" });
      },
    }),
    shape("deny"),
    "Only blocked, asked, failed, rewritten",
  );
  show(
    main,
    h(
      "div.view-head",
      {},
      h("a.back", { href: "#/sessions" }, icon("back"), "Sessions"),
      h("h1", { tabindex: -1 }, session.prompt || `Session ${session.session.slice(0, 12)}`),
    ),
    h(
      "p.sub",
      {},
      agentName(session.agent),
      session.version && h("span.dim", {}, session.version),
      h("span", { title: session.project }, session.project),
      h("span", {}, `${absolute(session.first)}, ${duration(session.last - session.first)}`),
      h("code", {}, session.session),
    ),
    h(
      "dl.tiles",
      {},
      tile("Calls", count(session.calls)),
      tile("Blocked", count(session.blocked), "deny"),
      tile("Asked", count(session.asked), "ask"),
      tile("Last call", when(session.last)),
    ),
    h(
      "div.row.tools",
      {},
      only,
      h("a.button", { href: `#/live?session=${encodeURIComponent(id)}` }, icon("live"), "Watch live"),
    ),
    replayBox(session, status, signal),
    h("h2", {}, "Timeline"),
    h("p.center", {}, older),
    line,
  );
  line.append(...answer.calls.map((call) => timelineItem(call, openCall)));
  if (!answer.calls.length) line.before(empty("No calls", "The calls of this session were removed with old records."));

  async function load() {
    older.disabled = true;
    const page = await get(path, { limit: PAGE, before: first }, signal);
    first = page.calls[0]?.number ?? first;
    line.prepend(...page.calls.map((call) => timelineItem(call, openCall)));
    older.disabled = false;
    older.hidden = !page.more;
    say(`${plural(page.calls.length, "older call")} loaded`);
  }
}

function timelineItem(call, openCall) {
  const isPrompt = PROMPTS.has(call.event);
  const isGrave = ["deny", "stop", "ask", "unfinished"].includes(call.decision) || call.failed > 0 || call.rewrote;
  const hasHooks = call.records.some((record) => record.hook);
  const head = h(
    "div.item-head",
    {},
    h("time.dim", { datetime: new Date(call.at * 1000).toISOString(), title: absolute(call.at) }, clock(call.at)),
    h("span.tool", {}, isPrompt ? "prompt" : call.tool || words(call.event)),
    call.tool && call.event !== "before_tool" && h("span.dim", {}, words(call.event)),
    call.subject && !isPrompt ? h("code.subject", {}, call.subject) : h("span.grow", {}),
    call.decision !== "pass" && badge(call.decision),
    call.failed > 0 && badge("failed", `${call.failed} failed`),
    call.decided_by.map((id) => hookLink(id, call.project)),
    call.rewrote && rewrittenBadge(),
    call.duration > 0 && h("span.dim", {}, duration(call.duration)),
    h(
      "button.quiet",
      {
        type: "button",
        onclick: () => openCall(call.trace),
        "aria-label": `Details of ${call.tool || words(call.event)} at ${clock(call.at)}`,
      },
      "Details",
    ),
  );
  const hooks =
    hasHooks &&
    h("details", { open: isGrave }, h("summary", {}, hookSummary(call)), renderHooks(call, call.records));
  return h(
    "li.item",
    { "data-decision": call.decision, "data-grave": String(isGrave), "data-prompt": String(isPrompt) },
    h("span.knot", {}, shape(call.decision)),
    h(
      "div.item-body",
      {},
      head,
      isPrompt && call.subject && h("blockquote", {}, call.subject),
      renderReasons(call),
      call.diff.map(renderChange),
      hooks,
      renderNotes(call.records),
    ),
  );
}

function hookSummary(call) {
  const parts = [`${plural(call.ran, "hook")} ran`];
  if (call.skipped) parts.push(`${call.skipped} skipped`);
  return parts.join(", ");
}

const EXAMPLE = `[[hook]]
name = "no-force-push"
on = "before_tool"
runs = ["git push --force"]
deny = "Force pushes rewrite shared history."`;

/** Try changed rules against the session: what would have been answered. */
function replayBox(session, status, signal) {
  const rule = h("textarea", { rows: 8, spellcheck: "false", placeholder: EXAMPLE });
  const result = h("div", { role: "status" });
  const run = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        run.disabled = true;
        show(result, h("p.loading", {}, "Replaying…"));
        try {
          const answer = await post(
            "/api/replay",
            { session: session.session, project: session.project, toml: rule.value },
            signal,
          );
          show(
            result,
            h("p", {}, `${plural(answer.changes.length, "answer")} of ${plural(answer.events, "event")} would change.`),
            answer.changes.length > 0 &&
              table(
                [
                  { label: "Call", head: true, cell: (row) => h("code", {}, row.subject) },
                  { label: "Was", cell: (row) => badge(row.was) },
                  { label: "Would be", cell: (row) => badge(row.now) },
                  { label: "Reason", cell: (row) => row.reason },
                ],
                answer.changes,
                { caption: "Answers that would change" },
              ),
            answer.skipped.map((one) =>
              h(
                "p.note",
                {},
                `${one.hook ? `Hook ${one.hook} was not replayed at` : "Not replayed:"} ${plural(one.events, "event")}: ${one.reason}`,
              ),
            ),
            [...answer.notes, ...answer.problems].map((note) => h("p.note", {}, note)),
          );
        } catch (error) {
          if (error.name !== "AbortError") show(result, h("p.note.warn", {}, error.message));
        }
        run.disabled = false;
      },
    },
    "Replay",
  );
  return h(
    "details.box",
    {},
    h("summary", {}, "Replay this session with a changed rule"),
    h(
      "p.dim",
      {},
      "The recorded calls are answered again by the hooks as they are now, and by this. Nothing is run for real.",
    ),
    h("label.field", {}, h("span", {}, "Rules, as in hookline.toml"), rule),
    h("div.row", {}, run),
    result,
  );
}
