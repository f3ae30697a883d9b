/** One call: what happened, hook by hook. Used by the panel and by the timeline of a session. */
import { renderChange } from "./diff.js";
import { agentName, badge, h, hookLink, icon, shape } from "./dom.js";
import { clock, count, duration, folder, money, when, words } from "./format.js";

const GATES = new Set(["hook_execution_complete", "hook_execution_error", "hook_skipped", "hook_queued"]);
const KNOWN = new Set([
  "decision",
  "duration",
  "reason",
  "failure",
  "message",
  "sandbox",
  "stderr",
  "exit_code",
  "gate",
  "blocked_by_failure",
  "slow",
  "cached",
  "observed",
  "effects",
  "dialect",
  "notes",
  "job",
  "usage",
]);
// what an effect did, in words; of other kinds the JSON is shown
const TELLING = { context: "Added to the conversation", message: "Shown to the user", ask_agent: "Asked of the agent" };

/** The panel's content. @param {{call: object, records: object[], diff: object[]}} detail */
export function renderCall({ call, records, diff }) {
  const first =
    records.find((record) => record.step === "event") ?? records.find((record) => record.step === "outcome");
  return h(
    "div.call",
    {},
    h(
      "div.call-head",
      {},
      badge(call.decision),
      h("span", {}, words(call.event)),
      call.tool && h("code.tool", {}, call.tool),
    ),
    call.subject && h("pre.subject", { tabindex: 0 }, h("code", {}, call.subject)),
    renderReasons(call),
    h(
      "dl.facts-list",
      {},
      fact("Decided by", listDeciders(call)),
      fact("Agent", agentName(call.agent)),
      fact("When", when(call.at)),
      fact("Took", duration(call.duration)),
      fact("Project", h("span", { title: call.project }, folder(call.project) || "–")),
      fact(
        "Session",
        call.session
          ? h("a", { href: `#/sessions/${encodeURIComponent(call.session)}` }, call.session.slice(0, 12))
          : "–",
      ),
      fact("Trace", h("code", {}, call.trace)),
    ),
    diff.length > 0 && h("section", {}, h("h3", {}, "Rewrites"), diff.map(renderChange)),
    h("section", {}, h("h3", {}, "Hooks"), renderHooks(call, records)),
    renderNotes(records),
    first &&
      Object.keys(first.detail).length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "What the agent sent"),
        h("pre.json", { tabindex: 0 }, h("code", {}, JSON.stringify(first.detail, null, 2))),
      ),
    h(
      "details",
      {},
      h("summary", {}, `All ${records.length} records`),
      h(
        "ol.records",
        {},
        records.map((record) =>
          h(
            "li",
            {},
            h("span.dim", {}, clock(record.at)),
            " ",
            words(record.step),
            record.hook && h("code", {}, ` ${record.hook}`),
            h("pre", { tabindex: 0 }, JSON.stringify(record.detail)),
          ),
        ),
      ),
    ),
  );
}

function listDeciders(call) {
  if (call.decided_by.length) return call.decided_by.map((id) => [hookLink(id, call.project), " "]);
  return h("span.dim", {}, call.decision === "pass" ? "no hook" : "–");
}

function fact(label, value) {
  return h("div", {}, h("dt", {}, label), h("dd", {}, value));
}

/** The reasons that left with the answer. @param {object} call */
export function renderReasons(call) {
  if (!call.reasons.length) return null;
  return h(
    "div.told",
    { "data-decision": call.decision },
    h("strong", {}, call.decision === "ask" ? "The user was asked" : "The agent was told"),
    call.reasons.map((reason) => h("p", {}, reason)),
  );
}

/** Each hook of a call in one block. @param {object} call @param {object[]} records */
export function renderHooks(call, records) {
  const hooks = records.filter((record) => record.hook && GATES.has(record.step));
  if (!hooks.length) return h("p.dim", {}, "No hook wanted this event.");
  const longest = Math.max(call.duration, ...hooks.map((record) => record.duration));
  return h(
    "ol.hook-runs",
    {},
    hooks.map((record) => renderRun(record, longest, call.project)),
  );
}

function renderRun(record, longest, project) {
  const { detail, step } = record;
  const state =
    step === "hook_execution_error" ? "failed" : step === "hook_skipped" ? "skipped" : record.decision || "pass";
  const word = step === "hook_queued" ? "queued" : state;
  const bar = h("span.bar", { "aria-hidden": "true" });
  bar.style.width = `${longest ? Math.max(1, (record.duration / longest) * 100) : 0}%`;
  const texts = [detail.reason, detail.message, ...(Array.isArray(detail.notes) ? detail.notes : [])].filter(Boolean);
  const facts = h(
    "ul.chips",
    {},
    chips(detail, step).map((text) => h("li", {}, text)),
  );
  return h(
    "li.run",
    { "data-decision": state },
    h(
      "div.run-head",
      {},
      shape(state),
      hookLink(record.hook, project),
      h("span.word", { "data-decision": state }, word),
      !texts.length && facts,
      record.duration > 0 && h("span.dim.time", {}, duration(record.duration)),
    ),
    record.duration > 0 && h("span.track", {}, bar),
    texts.map((text) => h("p", {}, String(text))),
    texts.length > 0 && facts,
    listEffects(detail.effects),
    detail.stderr &&
      h("details", {}, h("summary", {}, "stderr"), h("pre", { tabindex: 0 }, h("code", {}, detail.stderr))),
    listRest(detail),
  );
}

function chips(detail, step) {
  const found = [];
  if (step === "hook_skipped" && detail.gate) found.push(`skipped by ${words(String(detail.gate))}`);
  if (detail.failure) found.push(`failure: ${detail.failure}`);
  if (detail.blocked_by_failure) found.push("the failure blocks");
  if (detail.exit_code) found.push(`exit code ${detail.exit_code}`);
  if (detail.sandbox) found.push(`sandbox: ${[detail.sandbox].flat().join(", ")}`);
  if (detail.cached) found.push("from the cache");
  if (detail.observed) found.push("observed only");
  if (detail.slow) found.push("slow");
  if (detail.job) found.push(`job ${detail.job}`);
  if (detail.usage) found.push(describeUsage(detail.usage));
  return found;
}

function describeUsage({ model, input, output, cost }) {
  return `${model}: ${count(input)} tokens read, ${count(output)} written${cost ? `, ${money(cost)}` : ""}`;
}

function listEffects(effects) {
  if (!Array.isArray(effects)) return null;
  const rest = effects.filter((effect) => !TELLING[effect?.kind]);
  return [
    effects
      .filter((effect) => TELLING[effect?.kind])
      .map((effect) =>
        h("div.told", { "data-decision": "pass" }, h("strong", {}, TELLING[effect.kind]), h("p", {}, `${effect.value}`)),
      ),
    rest.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Effects (${rest.length})`),
        h("pre", { tabindex: 0 }, h("code", {}, JSON.stringify(rest, null, 2))),
      ),
  ];
}

function listRest(detail) {
  const rest = Object.entries(detail).filter(([key]) => !KNOWN.has(key));
  return rest.length
    ? h(
        "details",
        {},
        h("summary", {}, "More"),
        h("pre", { tabindex: 0 }, h("code", {}, JSON.stringify(Object.fromEntries(rest), null, 2))),
      )
    : null;
}

/** Warnings, degradations and questions of a call. @param {object[]} records */
export function renderNotes(records) {
  const notes = records.filter((record) => ["warning", "degraded", "asked"].includes(record.step));
  if (!notes.length) return null;
  return h(
    "ul.notes",
    {},
    notes.map((record) =>
      h(
        "li",
        {},
        icon("warn"),
        h(
          "span",
          {},
          h("strong", {}, `${words(record.step)}: `),
          String(record.detail.message ?? JSON.stringify(record.detail)),
        ),
      ),
    ),
  );
}
