/** The matrix: which agent has which event, and what an answer can do there. */
import { get } from "./api.js";
import { empty, h, monogram, show } from "./dom.js";
import { words } from "./format.js";

export const TITLE = "Matrix";

// letters as well as colours; the order is that of weight
const ABILITIES = {
  block: "B",
  stop: "S",
  ask: "A",
  allow: "Y",
  rewrite_args: "R",
  rewrite_output: "O",
  context: "C",
  message: "M",
  follow_up: "F",
};

const NO_ANSWER = "no answer counts";

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export async function render(main, { status, params, signal, setParams }) {
  const { events, agents, cells } = await get("/api/matrix", {}, signal);
  const installed = new Set(status.agents.filter((agent) => agent.installed).map((agent) => agent.name));
  const place = h("div", {});
  let ability = params.can ?? "";
  const filter = h("input", {
    type: "search",
    "data-filter": true,
    placeholder: "Event…",
    value: params.text ?? "",
    oninput: paint,
  });
  show(
    main,
    h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE)),
    h(
      "p.sub",
      {},
      "What an answer can do at each event under each agent. Where an agent cannot, Hookline falls back to something stricter.",
    ),
    h(
      "search.filters",
      {},
      h("label.field.grow", {}, h("span", {}, "Event"), filter),
      h(
        "fieldset.chips-field",
        {},
        h("legend", {}, "Can"),
        [["", "anything"], ...Object.keys(ABILITIES).map((name) => [name, words(name)])].map(([value, text]) =>
          h(
            "label.chip",
            {},
            h("input.sr", {
              type: "radio",
              name: "can",
              value,
              checked: value === ability,
              onchange: () => {
                ability = value;
                paint();
              },
            }),
            value && letter(value),
            text,
          ),
        ),
      ),
    ),
    place,
  );
  paint();

  function paint() {
    setParams({ can: ability, text: filter.value });
    const rows = events.filter(
      (event) =>
        event.name.includes(filter.value.trim().toLowerCase().replaceAll(" ", "_")) &&
        agents.some((agent) => cells[agent.name]?.[event.name]),
    );
    show(place, rows.length ? grid(rows) : empty("No agent has such an event", "Clear the filter to see all events."));
  }

  function grid(rows) {
    return h(
      "div.matrix",
      { tabindex: 0, role: "region", "aria-label": "Matrix, scrolls sideways" },
      h(
        "table",
        {},
        h("caption.sr", {}, "What an answer can do, by event and agent"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Event"),
            agents.map((agent) =>
              h(
                "th",
                { scope: "col" },
                monogram(agent.name),
                h("span.below", {}, agent.title),
                installed.has(agent.name) && h("span.pin", { "data-tone": "on" }, "installed"),
              ),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((event) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, words(event.name), h("span.dim.below", {}, event.about)),
              agents.map((agent) => cell(cells[agent.name]?.[event.name])),
            ),
          ),
        ),
      ),
    );
  }

  function cell(entry) {
    if (!entry) return h("td.none", {}, h("span.sr", {}, "no such event"), h("span", { "aria-hidden": "true" }, "·"));
    const can = Object.keys(ABILITIES).filter((name) => entry.can.includes(name));
    const isMuted = ability && !can.includes(ability);
    return h(
      "td",
      { class: isMuted ? "muted" : null, title: `${entry.native}: ${can.map(words).join(", ") || NO_ANSWER}` },
      h("span.native", {}, entry.native),
      can.length
        ? h("span.letters", { role: "img", "aria-label": can.map(words).join(", ") }, can.map(letter))
        : h("span.dim", {}, NO_ANSWER),
    );
  }

  function letter(name) {
    return h("span.letter", { "data-can": name, "aria-hidden": "true" }, ABILITIES[name]);
  }
}
