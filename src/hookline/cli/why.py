"""`hookline why HOOK`: why a hook runs or does not, gate by gate, and what happened lately."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, argument
from hookline.cli._output import Line, TextStyle, format_ago, print_error, render, style_word
from hookline.cli._project import (
    EVENT_OPTIONS,
    SPECS,
    build_event,
    decide_trust,
    describe_location,
    load_from_args,
    read_event_options,
    read_records,
    shorten_paths,
    truncate,
)
from hookline.cli.hosts import find_agent, make_around
from hookline.config.loader import read_text
from hookline.debug.capability_matrix import WishOutcome, abilities, explain_shortfall, find_shortfalls, translate_wish
from hookline.debug.explain import Explanation, GateAnswer, explain
from hookline.debug.samples import TOOLS as SAMPLES
from hookline.errors import ConfigError
from hookline.hosts.status import find_installed
from hookline.model.dialect import AGENTS, DialectSpec
from hookline.model.event import TOOLS, Ability, Event, EventName
from hookline.model.hook import Hook
from hookline.model.names import EVENT_NAMES, TOOL_NAMES, find_unknown_tools, names_of_tool
from hookline.model.plan import EFFECT_GATES, Gate
from hookline.model.record import Record, Step
from hookline.process.containment import find_refusal, list_layers
from hookline.project import Project
from hookline.stores.trace_queries import TraceQueries
from hookline.text import shell_quote
from hookline.views import (
    HookView,
    containment_to_json,
    describe_containment,
    describe_target,
    find_hook,
    problems_to_json,
)

_RECENT: Final = 5
_NEAREST: Final = 3
_SHOWN: Final = 200
# the least width of the column of gates
_GATE: Final = 8

# what to do about the first gate that is closed
_ADVICE_UNKNOWN: Final = 'to be asked about such calls, give it unknown = "confirm" or "match": hookline edit {id}'
_ADVICE: Final[Mapping[str, str]] = {
    "hooks": "unset HOOKS_ENABLED, or set enabled = true in your settings",
    "enabled": "switch it on: hookline enable {id}",
    "event": "try one of its own events, or change them: hookline edit {id}",
    "host": "nothing: the agent runs it by itself; to have it run by us, move it: hookline migrate {id}",
    "agents": "nothing under this agent; or change its agents: hookline edit {id}",
    "matcher": "change the matcher: hookline edit {id}",
    "files": "change its files: hookline edit {id}",
    **{str(kind): f"change its {kind}: hookline edit {{id}}" for kind in EFFECT_GATES},
    "condition": "change its condition: hookline edit {id}",
    "branches": "check out one of its branches, or change them: hookline edit {id}",
    "between": "wait, or change its times: hookline edit {id}",
    "once": "nothing: it runs again in the next session or turn; or forget that it ran: hookline limits {id} --reset",
    "needs": "bring what is missing, or change its needs: hookline edit {id}",
    "breaker": "find out why it fails (hookline trace list), mend it, then hookline limits {id} --reset",
    "rate": "wait, or change per_minute: hookline edit {id}; or count anew: hookline limits {id} --reset",
    "cooldown": "wait, or change cooldown: hookline edit {id}; or count anew: hookline limits {id} --reset",
    "debounce": "wait until no event came for so long, or change debounce: hookline edit {id}",
    "trust": "look at it (hookline trust show {id}; what changed: hookline trust diff {id}), then hookline trust approve {id}",
    "sandbox": "hookline sandbox explain {id} says what is lacking; or take `required` out: hookline edit {id}",
    "command": "change what it runs: hookline edit {id}",
    "agent": "use an event and a tool that your agents have: `hookline events` and `hookline tools` list them",
    "file": "put the file there, or change what it runs: hookline edit {id}",
}


# events that agents do not raise, or not alone
_NOT_OF_AGENTS: Final = frozenset(
    {
        *(EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED, EventName.USER_TRIGGERED),
        *(EventName.GIT_COMMIT, EventName.GIT_MESSAGE, EventName.GIT_PUSH, EventName.GIT_CHECKOUT),
        *(EventName.SCHEDULED, EventName.CUSTOM, EventName.SKILL_TRIGGER),
    }
)


def run(args: argparse.Namespace) -> int:
    """Explain one hook; return 1 if there is none of this name."""
    options = read_event_options(args)
    project = load_from_args(args)
    try:
        hook = find_hook(project, args.hook)
    except ConfigError as problem:
        is_ambiguous = any(args.hook in {hook.id, hook.name} for hook in project.hooks)
        mentions = [] if is_ambiguous else list(_find_mentions(args.hook, project))
        if not mentions:
            raise
        return _report_not_loaded(args, project, problem, mentions)
    # a hook for certain agents is explained under the first of them
    host_name = args.host or next((one for one in hook.agents if one in AGENTS), "")
    host = find_agent(host_name) if host_name else None
    agents = [host.name] if host else [one.name for one in find_installed(make_around(args))]
    answers = []
    for name in [args.event] if args.event else hook.on:
        event = _adapt_to_agent(host, build_event(project, hook, name, options), project, hook)
        answer = explain(hook, event, engine=project.engine)
        answers.append(_add_sandbox_gate(_add_agent_gate(answer, agents)))
    recent, problems = _find_recent(project, hook), HookView(hook, project, decide_trust(hook, project)).problems
    value = {
        "id": hook.id,
        "path": hook.source_path or None,
        "line": hook.source_line or None,
        "host": host.name if host else None,
        "sandbox": containment_to_json(hook),
        "events": [
            {
                "event": answer.event.name,
                "tool": answer.event.tool or None,
                "args": answer.event.args if answer.event.tool else None,
                "data": answer.event.data,
                "runs": answer.runs,
                "gates": [asdict(one) for one in answer.gates],
                "steps": [
                    {"id": step.id, "runs": closed is None, "reason": _describe_step(step, closed)}
                    for step, closed in _explain_steps(project, answer)
                ],
                "becomes": {one.wanted: one.word for one in _translate_wishes(answer, host)} if host else None,
            }
            for answer in answers
        ],
        "problems": problems_to_json(problems),
        "lately": [
            {
                "at": record.at,
                "event": record.event,
                "step": record.step,
                "said": _describe_record(record),
                "trace": record.trace,
            }
            for record in recent
        ],
    }
    lines: list[str | Line] = [
        Line(f"{hook.id}: {truncate(describe_target(hook), _SHOWN)}", [(hook.id, TextStyle.BOLD)]),
        f"  {hook.layer} hook in {describe_location(hook, project)}, dialect {hook.dialect}",
    ]
    # that a hook of the user's own is not contained is no news
    if (hook.containment.is_contained or hook.sandbox is not None) and (allowed := describe_containment(hook)):
        lines.append(f"  sandbox: {'; '.join(allowed)}")
    lines += [
        Line(f"  {one.severity} in line {one.line}: {one.message}", [(one.severity, style_word(one.severity))])
        for one in problems
    ]
    for answer in answers:
        lines += ["", *_describe_answer(project, answer, is_sample=options.is_empty)]
        lines += _describe_host(answer, host) if host is not None else ()
    lines += ["", "lately"]
    for record in recent:
        ago, result = f"{format_ago(record.at)},", _describe_record(record)
        marks = [(ago, TextStyle.DIM), (f"{record.event}: ", TextStyle.NONE), *_mark_result(record)]
        lines.append(Line(f"  {ago} {record.event}: {result}", marks))
    if not recent:
        lines.append("  no trace of it: no event it listens to came while hooks were traced")
    return render(args, value, *lines)


def _adapt_to_agent(host: DialectSpec | None, event: Event, project: Project, hook: Hook) -> Event:
    """Return the event as an agent raises it; a sample uses a tool that the agent has and the hook matches."""
    if host is None:
        return event
    adapted = replace(event, host=host.name)
    own = TOOL_NAMES[host.name]
    if event.tool not in TOOLS or event.tool in own:
        return adapted
    others = (replace(adapted, tool=tool, args=args) for tool, args in SAMPLES.items() if tool in own)
    gates = ((one, other) for other in others for one in project.planner.gates(hook, other))
    return next((other for one, other in gates if one.gate is Gate.MATCHER and one.passed), adapted)


def _add_agent_gate(answer: Explanation, agents: Sequence[str]) -> Explanation:
    """Add a gate for whether these agents raise the event and have the tool; without agents, nothing is known."""
    event = answer.event
    if not agents or event.name in _NOT_OF_AGENTS:
        return answer
    raising = [agent for agent in agents if any(event.name in events for events in EVENT_NAMES[agent].values())]
    is_made_up = event.tool in find_unknown_tools(answer.hook.matcher)
    # agents that have the tool, or one that hooks for the tool are also asked about
    having = [
        agent
        for agent in raising
        if not is_made_up
        and (event.tool not in TOOLS or any(event.tool in names_of_tool(own, agent) for own in TOOL_NAMES[agent]))
    ]
    if not raising:
        reason = f"{event.name} never comes from {', '.join(agents)}"
    elif not having:
        reason = f"{', '.join(raising)} has no tool {event.tool}"
    else:
        reason = f"{event.name} comes from {', '.join(having)}"
    return replace(answer, gates=(*answer.gates, GateAnswer("agent", passed=bool(having), reason=reason)))


def _add_sandbox_gate(answer: Explanation) -> Explanation:
    """Add a gate for whether a hook that must be contained can be."""
    if not answer.hook.containment.required:
        return answer
    refusal = find_refusal(answer.hook.containment)
    gate = GateAnswer("sandbox", passed=not refusal, reason=refusal or ", ".join(list_layers(answer.hook.containment)))
    return replace(answer, gates=(*answer.gates, gate))


def _translate_wishes(answer: Explanation, host: DialectSpec) -> list[WishOutcome]:
    """Return what the agent makes of everything that a hook of this dialect can answer."""
    own = SPECS[answer.hook.dialect]
    name = answer.event.name
    return [translate_wish(host, wanted, name) for wanted in Ability if wanted in abilities(own, name)]


def _describe_answer(project: Project, answer: Explanation, *, is_sample: bool) -> Iterator[str | Line]:
    event = answer.event
    document = json_codec.dump(event.args if event.tool else event.data).decode()
    about = f"tool {event.tool} {document}" if event.tool else document
    text = f"at {event.name}, {'for example ' if is_sample else ''}{truncate(about, _SHOWN)}"
    yield Line(text, [(event.name, TextStyle.BOLD)])
    width = max(_GATE, *(len(one.gate) for one in answer.gates))
    for one in answer.gates:
        yield _describe_gate(f"{one.gate:<{width}}  {one.reason}", is_open=one.passed)
    closed = answer.closed
    if closed is not None:
        yield Line(f"It would not run: {closed.reason}.", [("It would not run:", TextStyle.BAD)])
        advice = _ADVICE_UNKNOWN if closed.reason.startswith("unknown:") else _ADVICE[closed.gate]
        yield Line(f"What to do: {advice.format(id=shell_quote(answer.hook.id))}", [("What to do:", TextStyle.BOLD)])
        return
    for step, shut in _explain_steps(project, answer):
        yield _describe_gate(f"step {step.id}: {_describe_step(step, shut)}", is_open=shut is None)
    order = [hook.id for hook in project.planner.plan(event).hooks]
    would = "be put into the queue" if answer.hook.background else "run"
    text = f"It would {would}, as number {order.index(answer.hook.id) + 1} of {len(order)}."
    yield Line(text, [(f"It would {would}", TextStyle.GOOD)])


def _describe_gate(text: str, *, is_open: bool) -> Line:
    word = "yes" if is_open else "NO "
    return Line(f"  {word}  {text}", [(word, style_word(word))])


def _describe_host(answer: Explanation, host: DialectSpec) -> Iterator[str]:
    """Yield what the agent makes of the hook's answers."""
    name = answer.event.name
    if name not in host.events:
        yield f"{host.name} has no {name}: it never comes to this there."
        return
    groups: dict[str, list[str]] = {}
    for one in _translate_wishes(answer, host):
        result = "carried" if one.is_whole else f"becomes {one.became}" if one.became else "lost"
        groups.setdefault(result, []).append(one.wanted)
    results = "; ".join(f"{', '.join(wanted)}: {result}" for result, wanted in groups.items())
    yield f"Its answers under {host.name}, at {host.events[name]}: {results}."
    if host.events[name] in host.by_mode:
        yield f"This is so {host.by_mode[host.events[name]]}."
    for shortfall in find_shortfalls(answer.hook, host):
        if shortfall.event is name:
            yield f"It needs {shortfall.wanted}, and {explain_shortfall(shortfall, host)}."


def _explain_steps(project: Project, answer: Explanation) -> Iterator[tuple[Hook, GateAnswer | None]]:
    """Yield each step of a list and its first closed gate, except its own events, which do not count in a list."""
    names = project.planner.names()
    for hook in filter(None, (names.find(name, by=answer.hook) for name in answer.hook.steps)):
        gates = explain(hook, answer.event, engine=project.engine).gates
        yield hook, next((one for one in gates if not one.passed and one.gate != Gate.EVENT), None)


def _describe_step(hook: Hook, closed: GateAnswer | None) -> str:
    return closed.reason if closed is not None else describe_target(hook)


def _find_recent(project: Project, hook: Hook) -> list[Record]:
    """Return the last runs and skips of a hook, the newest first."""
    records = read_records(project, hook, TraceQueries.matching)
    steps = {Step.SKIPPED, Step.COMPLETED, Step.FAILED}
    return [record for record in records if record.step in steps][-_RECENT:][::-1]


def _describe_record(record: Record) -> str:
    detail = record.detail
    if record.step is Step.SKIPPED:
        return f"not run, {detail.get('gate')}: {detail.get('reason')}"
    why = detail.get("message") or detail.get("reason")
    return f"ran, {detail.get('failure') or detail.get('decision')}" + (f": {why}" if why else "")


def _mark_result(record: Record) -> Sequence[tuple[str, TextStyle]]:
    if record.step is Step.SKIPPED:
        return [("not run", TextStyle.WARN)]
    result = str(record.detail.get("failure") or record.detail.get("decision"))
    return [("ran, ", TextStyle.NONE), (result, style_word(result))]


def _find_mentions(name: str, project: Project) -> Iterator[tuple[str, int]]:
    """Find where files mention a name that no loaded hook has."""
    for path in project.loaded.files:
        with suppress(ConfigError):
            for line, text in enumerate(read_text(path).splitlines(), start=1):
                if f'"{name}"' in text or f"'{name}'" in text:
                    yield path, line
                    break
        # a hook without a name is called after its file
        if os.path.splitext(os.path.basename(path))[0] == name:  # noqa: PTH119, PTH122 - texts, compared
            yield path, 0


def _report_not_loaded(
    args: argparse.Namespace, project: Project, problem: ConfigError, mentions: Sequence[tuple[str, int]]
) -> int:
    lines = dict(mentions)
    problems = [one for one in project.problems if one.path in lines]
    if args.json:
        places = [{"path": path, "line": line or None} for path, line in mentions]
        value = {"id": None, "mentions": places, "problems": problems_to_json(problems)}
        render(args, value)
        return 1
    print_error(f"hookline: {problem}")
    for path, line in mentions:
        where = f"{shorten_paths(path, project)}:{line}" if line else shorten_paths(path, project)
        print_error(f"{where} spells it, but no hook of that name was loaded from there")
    nearest = sorted(problems, key=lambda one: abs(one.line - lines[one.path]))
    for one in nearest[:_NEAREST]:
        print_error(str(one))
    return 1


COMMAND: Final = CliCommand(
    "say why a hook runs or does not: each gate with yes or no, and what happened lately",
    argument("hook", "the hook's id or name"),
    argument("--event", "the event, instead of each the hook listens to", default="", metavar="E"),
    argument("--host", "under this agent, and what its answers can do there", default="", metavar="AGENT"),
    *EVENT_OPTIONS,
    *COMMON,
    example="""guard --event before_tool --tool shell --args '{"command": "ls"}'""",
    run=run,
)
