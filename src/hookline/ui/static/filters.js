/** The filters of calls, kept in the hash. */
import { h, select, shape } from "./dom.js";
import { folder } from "./format.js";

export const DECISIONS = ["pass", "allow", "ask", "deny", "stop", "unfinished"];
const TYPING = 250;

/**
 * Make the row of filters. `change` gets all values when one has changed.
 * @param {object} status the answer of /api/status
 * @param {Record<string, string>} values
 * @param {(values: Record<string, string>) => void} change
 */
export function filterBar(status, values, change) {
  const current = { ...values };
  const set = (name) => (value) => {
    current[name] = value;
    reset.hidden = !isFiltered();
    change({ ...current });
  };
  const isFiltered = () => ["agent", "project", "hook", "decision", "text", "session"].some((name) => current[name]);
  const agents = status.agents.map((agent) => [agent.name, agent.title]);
  const any = (noun, list) => [["", `All ${noun}`], ...list];
  let timer = 0;
  const text = h("input", {
    type: "search",
    placeholder: "Command, path, hook, session…",
    value: current.text ?? "",
    "data-filter": true,
    oninput: (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => set("text")(event.target.value.trim()), TYPING);
    },
  });
  const reset = h(
    "button.quiet",
    {
      type: "button",
      hidden: !isFiltered(),
      onclick: () => {
        for (const name of Object.keys(current)) if (name !== "range") current[name] = "";
        bar.replaceWith(filterBar(status, current, change));
        change({ ...current });
      },
    },
    "Clear",
  );
  // on narrow screens only the text is shown, and this
  const fold = h(
    "button.fold",
    {
      type: "button",
      "aria-expanded": "false",
      onclick: () => {
        fold.setAttribute("aria-expanded", String(bar.classList.toggle("open")));
      },
    },
    "Filters",
  );
  const bar = h(
    "search.filters",
    {},
    h("label.field.grow", {}, h("span", {}, "Text"), text),
    fold,
    select("Agent", any("agents", agents), current.agent ?? "", set("agent")),
    select(
      "Project",
      any(
        "projects",
        status.projects.map((path) => [path, folder(path)]),
      ),
      current.project ?? "",
      set("project"),
    ),
    select(
      "Hook",
      any(
        "hooks",
        status.hooks.map((id) => [id, id]),
      ),
      current.hook ?? "",
      set("hook"),
    ),
    decisionChips(current.decision ?? "", set("decision")),
    current.session && h("span.chip", {}, `session ${current.session.slice(0, 8)}`),
    reset,
  );
  return bar;
}

function decisionChips(value, change) {
  const chosen = new Set(value.split(",").filter(Boolean));
  return h(
    "fieldset.chips-field",
    {},
    h("legend", {}, "Decision"),
    DECISIONS.map((decision) =>
      h(
        "label.chip",
        {},
        h("input.sr", {
          type: "checkbox",
          value: decision,
          checked: chosen.has(decision),
          onchange: (event) => {
            if (event.target.checked) chosen.add(decision);
            else chosen.delete(decision);
            change([...chosen].join(","));
          },
        }),
        shape(decision),
        decision,
      ),
    ),
  );
}
