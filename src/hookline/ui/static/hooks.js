/** Hooks: the list, and one hook with its figures, its approval and what can be done with it. */
import { get, post } from "./api.js";
import { renderUnified } from "./diff.js";
import { badge, empty, h, hookLink, icon, select, shape, show, tile } from "./dom.js";
import { count, duration, folder, money, plural, when } from "./format.js";
import { table } from "./table.js";

export const TITLE = "Hooks";

const MAY_RUN = new Set(["trusted", "approved", "approved once"]);
const STATES = [
  ["", "All"],
  ["active", "Active"],
  ["inactive", "Not active"],
  ["approval", "Needs approval"],
  ["failing", "Failing"],
  ["guard", "Guards"],
];
const IN_STATE = {
  "": () => true,
  active: (hook) => hook.active,
  inactive: (hook) => !hook.active,
  approval: (hook) => !MAY_RUN.has(hook.trust.state),
  failing: (hook) => (hook.figures?.failed ?? 0) > 0,
  guard: (hook) => hook.guard,
};

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export function render(main, context) {
  return context.id ? renderHook(main, context) : renderList(main, context);
}

/** A description that only repeats the id says less than what the hook runs. */
function describe(hook) {
  return hook.description && hook.description !== hook.id ? hook.description : hook.target;
}

function stateBadge(hook) {
  if (!hook.enabled) return h("span.pin", { "data-tone": "off" }, "disabled");
  return hook.active
    ? h("span.pin", { "data-tone": "on" }, "active")
    : h("span.pin", { "data-tone": "warn", title: hook.why_inactive }, "not active");
}

function trustBadge({ state }) {
  return h(
    "span.pin",
    { "data-tone": MAY_RUN.has(state) ? "plain" : "warn" },
    !MAY_RUN.has(state) && icon("warn"),
    state,
  );
}

const figure = (name, format) => ({
  cell: (hook) => (hook.figures ? format(hook.figures[name]) : h("span.dim", {}, "–")),
  sort: (hook) => hook.figures?.[name] ?? -1,
  number: true,
});

/** A count that is a warning unless it is 0. */
function mark(decision, value) {
  return value ? badge(decision, count(value)) : h("span.dim", {}, "–");
}

async function renderList(main, { status, params, signal, setParams }) {
  const values = { ...params };
  let project = values.project || status.project;
  let answer = await get("/api/hooks", { project }, signal);
  const place = h("div", {});
  const set = (name) => (value) => {
    values[name] = value;
    setParams(values);
    paint();
  };
  const text = h("input", {
    type: "search",
    placeholder: "Id, description, event, source…",
    "data-filter": true,
    value: values.text ?? "",
    oninput: (event) => set("text")(event.target.value.trim()),
  });
  const projects = [...new Set([status.project, ...status.projects])].map((path) => [path, folder(path) || path]);
  show(
    main,
    h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE)),
    h(
      "search.filters",
      {},
      h("label.field.grow", {}, h("span", {}, "Text"), text),
      select("State", STATES, values.state ?? "", set("state")),
      select("Project", projects, project, async (value) => {
        values.project = project = value;
        setParams(values);
        answer = await get("/api/hooks", { project }, signal);
        paint();
      }),
    ),
    place,
  );
  paint();

  function paint() {
    const wanted = (values.text ?? "").toLowerCase();
    const fits = (hook) =>
      [hook.id, hook.description, hook.target, hook.source, hook.kind, ...hook.events, ...hook.agents]
        .join(" ")
        .toLowerCase()
        .includes(wanted);
    const rows = answer.hooks.filter((hook) => fits(hook) && (IN_STATE[values.state ?? ""] ?? IN_STATE[""])(hook));
    const list = rows.length
      ? table(columns(), rows, {
          caption: `Hooks of ${project}`,
          by: values.by ?? "",
          descending: Boolean(values.down),
          remember: (by, descending) => {
            Object.assign(values, { by, down: descending ? "1" : "" });
            setParams(values);
          },
        })
      : answer.hooks.length
        ? empty("No hook fits these filters", "Change or clear them to see more.")
        : empty(
            "No hooks in this project",
            "Add a rule to hookline.toml, or switch on one of the hooks that come with Hookline.",
            ["hookline add --event before_tool --rule deny", "hookline list --all"],
          );
    show(
      place,
      problems(answer.problems),
      h("p.dim", { role: "status" }, `${plural(rows.length, "hook")} of ${answer.hooks.length}`),
      list,
    );
  }

  function columns() {
    return [
      {
        label: "Hook",
        head: true,
        name: "subject",
        cell: (hook) => [
          hookLink(hook.id, project === status.project ? "" : project),
          hook.guard && h("span.pin", { "data-tone": "plain", title: "A failure blocks" }, "guard"),
          h("span.dim.below", { title: describe(hook) }, describe(hook)),
        ],
        sort: (hook) => hook.id,
      },
      {
        label: "State",
        cell: (hook) =>
          MAY_RUN.has(hook.trust.state)
            ? [stateBadge(hook), h("span.dim.below", {}, hook.trust.state)]
            : [trustBadge(hook.trust), !hook.enabled && stateBadge(hook)],
        sort: (hook) => `${hook.enabled ? (hook.active ? "a" : "b") : "c"} ${hook.trust.state}`,
      },
      {
        label: "Events",
        name: "events",
        cell: (hook) => h("span.below", {}, hook.events.join(", ")),
        sort: (hook) => hook.events[0] ?? "",
      },
      {
        label: "Source",
        name: "source",
        cell: (hook) => [
          h("span", { title: hook.path }, hook.source),
          h("span.dim.below", { title: hook.sandbox.words.join(", ") }, `sandbox ${hook.sandbox.level || "none"}`),
        ],
        sort: (hook) => hook.source,
      },
      { label: "Runs", ...figure("runs", count) },
      { label: "Blocked", ...figure("denials", (value) => mark("deny", value)) },
      { label: "Failed", ...figure("failed", (value) => mark("failed", value)) },
      { label: "p95", ...figure("p95", duration) },
      { label: "Last run", name: "secondary", ...figure("last_run", when) },
    ];
  }
}

function problems(list) {
  if (!list.length) return null;
  return h(
    "details.box",
    { open: true },
    h("summary", {}, `${plural(list.length, "problem")} in the configuration`),
    h(
      "ul.notes",
      {},
      list.map((problem) =>
        h(
          "li",
          {},
          icon("warn"),
          h(
            "span",
            {},
            h("code", {}, `${problem.path}${problem.line ? `:${problem.line}` : ""}`),
            ` ${problem.message}`,
          ),
        ),
      ),
    ),
  );
}

async function renderHook(main, context) {
  const { id, params, signal, status, say } = context;
  const project = params.project || status.project;
  const path = `/api/hooks/${encodeURIComponent(id)}`;
  const { hooks } = await get("/api/hooks", { project }, signal);
  const hook = hooks.find((one) => one.id === id);
  const head = h(
    "div.view-head",
    {},
    h("a.back", { href: "#/hooks" }, icon("back"), "Hooks"),
    h("h1", { tabindex: -1 }, id),
  );
  if (!hook) {
    show(
      main,
      head,
      empty(
        "This project has no such hook",
        `${folder(project)} does not define “${id}”. It may belong to another project, or have been removed.`,
      ),
      h("p.center", {}, h("a.button", { href: `#/live?hook=${encodeURIComponent(id)}` }, "Show its calls")),
    );
    return;
  }
  const result = h("div", { role: "status", "aria-live": "polite" });
  const approval = h("section", { "aria-label": "Approval" });
  const why = status.read_only ? status.read_only_reason : "";

  const action = (label, name, isPossible = true, reason = why) =>
    h(
      "button",
      {
        type: "button",
        disabled: Boolean(why) || !isPossible,
        title: why || (isPossible ? null : reason),
        "data-action": name,
        onclick: () => act(name),
      },
      label,
    );
  const events =
    hook.events.length > 1 &&
    select(
      "Event",
      hook.events.map((event) => [event, event]),
      hook.events[0],
      () => {},
    );
  show(
    main,
    head,
    h(
      "p.sub",
      {},
      stateBadge(hook),
      trustBadge(hook.trust),
      hook.guard && h("span.pin", { "data-tone": "plain" }, "guard: a failure blocks"),
      h("span", {}, describe(hook)),
    ),
    !hook.active && hook.why_inactive && h("p.note.warn", {}, icon("warn"), hook.why_inactive),
    why && h("p.note", {}, `This page only shows: ${why}`),
    h(
      "div.row.tools",
      {},
      hook.enabled
        ? action("Disable", "disable", hook.can_toggle, "This hook cannot be switched on and off here")
        : action("Enable", "enable", hook.can_toggle, "This hook cannot be switched on and off here"),
      action("Test", "test"),
      events,
      MAY_RUN.has(hook.trust.state)
        ? hook.trust.state !== "trusted" && action("Revoke approval", "revoke")
        : h("button.primary", { type: "button", "data-action": "review", onclick: loadApproval }, "Review and approve"),
      h("a.button", { href: `#/live?hook=${encodeURIComponent(id)}` }, icon("live"), "Its calls"),
    ),
    result,
    approval,
    renderFigures(hook.figures),
    h(
      "section",
      {},
      h("h2", {}, "Definition"),
      h(
        "dl.facts-list.wide",
        {},
        fact("Kind", hook.kind),
        fact("Runs", h("code", {}, hook.target)),
        fact("Events", hook.events.join(", ")),
        fact("Agents", hook.agents.join(", ") || "all"),
        fact("Source", [hook.source, hook.layer && hook.layer !== hook.source && `, ${hook.layer}`]),
        fact("Defined in", h("code", {}, `${hook.path}${hook.line ? `:${hook.line}` : ""}`)),
        fact("Trust", [hook.trust.state, hook.trust.reason && `: ${hook.trust.reason}`]),
        fact("Sandbox", [
          hook.sandbox.level || "none",
          hook.sandbox.words.length > 0 &&
            h(
              "ul.chips",
              {},
              hook.sandbox.words.map((word) => h("li", {}, word)),
            ),
        ]),
      ),
    ),
  );
  if (!MAY_RUN.has(hook.trust.state)) await loadApproval();

  async function act(name) {
    show(result, h("p.loading", {}, "Working…"));
    try {
      const body = { project, ...(name === "test" && events ? { event: events.querySelector("select").value } : {}) };
      const answer = await post(`${path}/${name}`, body, signal);
      if (name === "test") showTest(result, answer);
      else await again(answer.message);
    } catch (error) {
      if (error.name !== "AbortError") show(result, h("p.note.warn", { role: "alert" }, icon("warn"), error.message));
    }
  }

  /** Show the hook anew, with a message on top. */
  async function again(message) {
    await renderHook(main, context);
    main.querySelector(".view-head").after(h("p.note.good", { role: "status" }, message));
    main.querySelector("h1").focus();
    say(message);
  }

  async function loadApproval(event, changed = "") {
    show(approval, h("p.loading", {}, "Reading what would run…"));
    try {
      const screen = await get(`${path}/approval`, { project }, signal);
      show(approval, renderApproval(screen, changed));
    } catch (error) {
      if (error.name !== "AbortError") show(approval, h("p.note.warn", { role: "alert" }, error.message));
    }
  }

  function renderApproval(screen, changed) {
    const confirm = h(
      "button.primary",
      {
        type: "button",
        disabled: Boolean(why),
        title: why || null,
        "data-action": "approve",
        onclick: async () => {
          confirm.disabled = true;
          try {
            const answer = await post(`${path}/approve`, { project, digest: screen.digest }, signal);
            await again(answer.message);
          } catch (error) {
            if (error.name === "AbortError") return;
            confirm.disabled = false;
            if (error.status === 409) await loadApproval(null, error.message);
            else show(result, h("p.note.warn", { role: "alert" }, error.message));
          }
        },
      },
      "Approve exactly this",
    );
    return h(
      "div.box.approval",
      {},
      h("h2", {}, "Approval"),
      changed && h("p.note.warn", { role: "alert" }, icon("warn"), `${changed} Below is what would run now.`),
      screen.diffs.length > 0 && [h("h3", {}, "Changed since the last approval"), screen.diffs.map(renderUnified)],
      h("h3", {}, "What would run"),
      h("dl.screen", {}, screen.facts.map(renderFact)),
      screen.mend && h("p.dim", {}, screen.mend),
      h(
        "div.row",
        {},
        confirm,
        h("span.dim.digest", {}, "Bound to ", h("code", { title: screen.digest }, screen.digest.slice(0, 16))),
        why && h("span.dim", {}, why),
      ),
    );
  }
}

const QUOTE = "| ";

/** A fact of the approval screen; the server escapes every character that could hide something. */
function renderFact({ label, lines }) {
  if (!lines.length) return null;
  return h(
    "div",
    {},
    h("dt", {}, label),
    h(
      "dd",
      {},
      lines.map(({ mark, text }) =>
        mark === QUOTE ? h("div.quoted", {}, text) : h("div", {}, mark && h("span.mark", {}, mark), text),
      ),
    ),
  );
}

function fact(label, value) {
  return h("div", {}, h("dt", {}, label), h("dd", {}, value));
}

function renderFigures(figures) {
  if (!figures) return h("section", {}, h("h2", {}, "Figures"), h("p.dim", {}, "This hook has not run yet."));
  const kinds = Object.entries(figures.failures)
    .map(([kind, number]) => `${kind} ${number}`)
    .join(", ");
  return h(
    "section",
    {},
    h("h2", {}, "Figures"),
    h(
      "dl.tiles",
      {},
      tile("Runs", count(figures.runs)),
      tile(
        "Blocked",
        count(figures.denials),
        "deny",
        figures.observed_denials ? `${count(figures.observed_denials)} observed only` : "",
      ),
      tile("Failed", count(figures.failed), "failed", kinds),
      tile("p50", duration(figures.p50)),
      tile("p95", duration(figures.p95)),
      tile("p99", duration(figures.p99)),
      tile("Longest", duration(figures.longest)),
      figures.tokens > 0 && tile("Tokens", count(figures.tokens)),
      figures.cost > 0 && tile("Cost", money(figures.cost)),
      tile("Last run", when(figures.last_run)),
    ),
    figures.last_error &&
      h("div.told", { "data-decision": "failed" }, h("strong", {}, "Last failure"), h("p", {}, figures.last_error)),
  );
}

function showTest(place, answer) {
  const state = answer.failure ? "failed" : answer.decision;
  show(
    place,
    h(
      "div.box",
      {},
      h(
        "div.row",
        {},
        shape(state),
        h("strong", {}, answer.failure ? `failed: ${answer.failure}` : answer.decision),
        h("span.dim", {}, duration(answer.duration)),
        answer.exit_code ? h("span.dim", {}, `exit code ${answer.exit_code}`) : null,
        [answer.sandbox].flat().filter(Boolean).length > 0 &&
          h("span.dim", {}, `sandbox: ${[answer.sandbox].flat().join(", ")}`),
      ),
      answer.reason && h("p", {}, answer.reason),
      stream("stdout", answer.stdout),
      stream("stderr", answer.stderr),
    ),
  );
}

function stream(name, text) {
  return text ? [h("h3", {}, name), h("pre", { tabindex: 0 }, h("code", {}, text))] : null;
}
