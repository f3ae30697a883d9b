/** Doctor: whether everything works, and what to do about what does not. */
import { get } from "./api.js";
import { badge, empty, h, icon, show } from "./dom.js";
import { plural } from "./format.js";

export const TITLE = "Doctor";

const WORDS = { ok: ["allow", "ok"], info: ["pass", "info"], warning: ["ask", "warning"], error: ["deny", "error"] };

/** @param {HTMLElement} main @param {import("./app.js").Context} context */
export async function render(main, { signal, say }) {
  const place = h(
    "div",
    { "aria-busy": "false" },
    empty(
      "Check this machine",
      "Doctor looks at agents and their settings, hooks, the daemon, stores and the sandbox. It takes a few seconds and changes nothing.",
    ),
  );
  const run = h("button.primary", { type: "button", onclick: check }, icon("play"), "Run checks");
  show(main, h("div.view-head", {}, h("h1", { tabindex: -1 }, TITLE), h("span.grow", {}), run), place);

  async function check() {
    run.disabled = true;
    place.setAttribute("aria-busy", "true");
    show(place, h("p.loading", { role: "status" }, "Checking…"), h("progress", { "aria-label": "Checking" }));
    try {
      paint(await get("/api/doctor", {}, signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      show(place, empty("The checks did not finish", error.message));
    }
    run.disabled = false;
    place.setAttribute("aria-busy", "false");
  }

  function paint(answer) {
    const bad = answer.checks.filter((one) => !one.ok);
    const warnings = answer.checks.filter((one) => one.level === "warning").length;
    const text = answer.ok
      ? `${plural(answer.checks.length, "check")}, ${warnings ? `nothing is broken, ${plural(warnings, "warning")}` : "all good"}`
      : `${plural(bad.length, "check")} of ${answer.checks.length} need attention`;
    say(text);
    const sorted = [...bad, ...answer.checks.filter((one) => one.ok)];
    show(
      place,
      h("p.note", { class: answer.ok ? "note good" : "note warn" }, icon(answer.ok ? "doctor" : "warn"), text),
      h(
        "ul.checks",
        {},
        sorted.map((one) => {
          const [shape, word] =
            WORDS[one.ok && !["warning", "info"].includes(one.level) ? "ok" : one.level] ?? WORDS.error;
          return h(
            "li",
            { "data-decision": shape },
            badge(shape, word),
            h(
              "div",
              {},
              h("h2", {}, one.name),
              h("p", {}, one.message),
              one.mend && h("p.mend", {}, h("b", {}, "What to do: "), one.mend),
            ),
          );
        }),
      ),
    );
  }
}
