"""`hookline why HOOK`: why a hook runs or does not, gate by gate, and what happened lately."""

import argparse
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.cli._abilities import agent_named
from hookline.cli._about import SPECS, cut, described_problem, history, module_file, place, problems_of, runs, short
from hookline.cli._output import complain, say, say_json
from hookline.cli._payload import add_payload, payload
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.cli._samples import Given, given_event
from hookline.cli._times import ago
from hookline.config.loader import read_text
from hookline.config.problem import Problem
from hookline.debug.abilities import Carried, abilities, carried, explained, shortfalls
from hookline.debug.explain import Answered, Explanation, explain
from hookline.display import typed
from hookline.errors import ConfigError, StoreError
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import OF_EFFECTS, Gate
from hookline.model.record import Record, Step
from hookline.stores.history import Question
from hookline.workspace import Opened

HELP: Final = "say why a hook runs or does not: each gate with yes or no, and what happened lately"
EXAMPLE: Final = """hookline why guard --event before_tool --tool shell --args '{"command": "ls"}'"""

_LATELY: Final = 5
_NEAREST: Final = 3
_SHOWN: Final = 200
# the columns of a gate's name; a longer one takes what it needs
_GATE: Final = 8

# what to do about the first gate that is closed
_ADVICE: Final[Mapping[str, str]] = {
    "hooks": "unset HOOKS_ENABLED, or set enabled = true in your settings",
    "enabled": "switch it on: hookline enable {id}",
    "event": "try one of its own events, or change them: hookline edit {id}",
    "host": "nothing: the agent runs it by itself; to have it run by us, move it: hookline migrate {id}",
    "matcher": "change the matcher: hookline edit {id}",
    "files": "change its files: hookline edit {id}",
    **{str(kind): f"change its {kind}: hookline edit {{id}}" for kind in OF_EFFECTS},
    "condition": "change its condition: hookline edit {id}",
    "once": "nothing: it runs again in the next session; or forget that it ran: hookline limits {id} --reset",
    "needs": "bring what is missing, or change its needs: hookline edit {id}",
    "breaker": "find out why it fails (hookline trace list), mend it, then hookline limits {id} --reset",
    "rate": "wait, or change per_minute: hookline edit {id}; or count anew: hookline limits {id} --reset",
    "cooldown": "wait, or change cooldown: hookline edit {id}; or count anew: hookline limits {id} --reset",
    "debounce": "wait until no event came for so long, or change debounce: hookline edit {id}",
    "trust": "look at it (hookline trust show {id}; what changed: hookline trust diff {id}), then hookline trust approve {id}",
    "command": "change what it runs: hookline edit {id}",
    "file": "put the file there, or change what it runs: hookline edit {id}",
}


class _Step(Struct, frozen=True, kw_only=True):
    """One step of a list, and the first gate that keeps it from running in it."""

    hook: Hook
    closed: Answered | None

    @property
    def reason(self) -> str:
        """What keeps it from running, or what it would run."""
        return self.closed.reason if self.closed is not None else runs(self.hook)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hook", metavar="HOOK", help="the hook's id or name")
    parser.add_argument("--event", default="", metavar="E", help="the event, instead of each the hook listens to")
    parser.add_argument(
        "--host", default="", metavar="AGENT", help="under this agent, and what its answers can do there"
    )
    add_payload(parser)
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Explain one hook; 1 when there is none of this name."""
    data, arguments = payload(args)
    project = opened(args)
    try:
        hook = hook_named(project, args.hook)
    except ConfigError as problem:
        several = any(args.hook in {hook.id, hook.name} for hook in project.loaded.hooks)
        mentions = [] if several else list(_mentions(args.hook, project))
        if not mentions:
            raise
        return _not_loaded(args, project, problem, mentions)
    given = Given(tool=args.tool, data=data, args=arguments)
    host = agent_named(args.host) if args.host else None
    answers = [
        explain(hook, event, engine=project.engine, specs=SPECS, module_file=module_file)
        for name in ([args.event] if args.event else hook.on)
        for event in [_under(host, given_event(project, hook, name, given))]
    ]
    lately = _lately(project, hook)
    if args.json:
        say_json(
            {
                "id": hook.id,
                "path": hook.source_path or None,
                "line": hook.source_line or None,
                "host": host.name if host else None,
                "events": [_described(answer, _steps(project, answer), host) for answer in answers],
                "problems": [described_problem(one) for one in problems_of(hook, project.problems)],
                "lately": [_described_record(record) for record in lately],
            }
        )
    else:
        _tell(project, hook, answers, lately=lately, sampled=given.empty, host=host)
    return 0


def _under(host: DialectSpec | None, event: Event) -> Event:
    return event if host is None else replace(event, host=host.name)


def _described(answer: Explanation, steps: Sequence[_Step], host: DialectSpec | None) -> Mapping[str, object]:
    event = answer.event
    return {
        "event": event.name,
        "tool": event.tool or None,
        "args": event.args if event.tool else None,
        "data": event.data,
        "runs": answer.runs,
        "gates": [{"gate": one.gate, "passed": one.passed, "reason": one.reason} for one in answer.gates],
        "steps": [{"id": one.hook.id, "runs": one.closed is None, "reason": one.reason} for one in steps],
        "becomes": {one.wanted: one.word for one in _wishes(answer, host)} if host is not None else None,
    }


def _wishes(answer: Explanation, host: DialectSpec) -> list[Carried]:
    """Give everything a hook of this language can say at an event, with what the agent makes of it."""
    own = SPECS[answer.hook.dialect]
    name = answer.event.name
    return [carried(host, wanted, name) for wanted in Ability if wanted in abilities(own, name)]


def _described_record(record: Record) -> Mapping[str, object]:
    return {
        "at": record.at,
        "event": record.event,
        "step": record.step,
        "said": _said(record),
        "trace": record.trace,
    }


def _tell(
    project: Opened,
    hook: Hook,
    answers: Sequence[Explanation],
    *,
    lately: Sequence[Record],
    sampled: bool,
    host: DialectSpec | None,
) -> None:
    say(f"{hook.id}: {cut(runs(hook), _SHOWN)}")
    say(f"  {hook.layer} hook in {place(hook, project)}, dialect {hook.dialect}")
    for problem in problems_of(hook, project.problems):
        say(f"  {problem.severity} in line {problem.line}: {problem.message}")
    for answer in answers:
        say()
        _tell_one(project, answer, sampled=sampled)
        if host is not None:
            _tell_host(answer, host)
    say()
    say("lately")
    for record in lately:
        say(f"  {ago(record.at)}, {record.event}: {_said(record)}")
    if not lately:
        say("  no trace of it: no event it listens to came while hooks were traced")


def _tell_one(project: Opened, answer: Explanation, *, sampled: bool) -> None:
    event = answer.event
    about = f"tool {event.tool} {wire.dump(event.args).decode()}" if event.tool else wire.dump(event.data).decode()
    say(f"at {event.name}, {'for example ' if sampled else ''}{cut(about, _SHOWN)}")
    width = max(_GATE, *(len(one.gate) for one in answer.gates))
    for one in answer.gates:
        say(f"  {'yes' if one.passed else 'NO '}  {one.gate:<{width}}  {one.reason}")
    closed = answer.closed
    if closed is not None:
        say(f"It would not run: {closed.reason}.")
        say(f"What to do: {_ADVICE[closed.gate].format(id=typed(answer.hook.id))}")
        return
    for step in _steps(project, answer):
        say(f"  {'NO ' if step.closed else 'yes'}  step {step.hook.id}: {step.reason}")
    order = [hook.id for hook in project.engine.planner.plan(event).hooks]
    said = "be put into the queue" if answer.hook.background else "run"
    say(f"It would {said}, as number {order.index(answer.hook.id) + 1} of {len(order)}.")


def _tell_host(answer: Explanation, host: DialectSpec) -> None:
    """Say before it happens what the agent will make of the hook's answers."""
    name = answer.event.name
    if name not in host.events:
        say(f"{host.name} has no {name}: it never comes to this there.")
        return
    groups: dict[str, list[str]] = {}
    for one in _wishes(answer, host):
        groups.setdefault("carried" if one.is_whole else f"becomes {one.became}" if one.became else "lost", []).append(
            one.wanted
        )
    said = "; ".join(f"{', '.join(wanted)}: {what}" for what, wanted in groups.items())
    say(f"Its answers under {host.name}, at {host.events[name]}: {said}.")
    for short_of in shortfalls(answer.hook, host):
        if short_of.event is name:
            say(f"It needs {short_of.wanted}, and {explained(short_of, host)}.")


def _steps(project: Opened, answer: Explanation) -> list[_Step]:
    """Ask the gates of each step; what a step listens to by itself does not matter in a list."""
    names = project.engine.planner.names()
    found = filter(None, (names.find(name, by=answer.hook) for name in answer.hook.steps))
    steps = []
    for hook in found:
        gates = explain(hook, answer.event, engine=project.engine, specs=SPECS, module_file=module_file).gates
        closed = next((one for one in gates if not one.passed and one.gate != Gate.EVENT), None)
        steps.append(_Step(hook=hook, closed=closed))
    return steps


def _lately(project: Opened, hook: Hook) -> list[Record]:
    """Give the last runs and skips of a hook, the newest first."""
    steps = {Step.SKIPPED, Step.COMPLETED, Step.FAILED}
    try:
        found = [record for record in history(project).matching(Question(hook=hook.id)) if record.step in steps]
    except StoreError as problem:
        complain(f"hookline: {problem}")
        return []
    return found[-_LATELY:][::-1]


def _said(record: Record) -> str:
    detail = record.detail
    if record.step is Step.SKIPPED:
        return f"not run, {detail.get('gate')}: {detail.get('reason')}"
    why = detail.get("message") or detail.get("reason")
    return f"ran, {detail.get('failure') or detail.get('decision')}" + (f": {why}" if why else "")


def _mentions(name: str, project: Opened) -> Iterator[tuple[str, int]]:
    """Find where files spell a name that no loaded hook has."""
    for path in project.loaded.files:
        with suppress(ConfigError):
            for line, text in enumerate(read_text(path).splitlines(), start=1):
                if f'"{name}"' in text or f"'{name}'" in text:
                    yield path, line
                    break
        # a hook without a name of its own is known by its file's
        if os.path.splitext(os.path.basename(path))[0] == name:  # noqa: PTH119, PTH122 - texts, compared
            yield path, 0


def _not_loaded(
    args: argparse.Namespace, project: Opened, problem: ConfigError, mentions: Sequence[tuple[str, int]]
) -> int:
    paths = [path for path, _ in mentions]
    wrong = [one for one in project.problems if one.path in paths]
    if args.json:
        places = [{"path": path, "line": line or None} for path, line in mentions]
        say_json({"id": None, "mentions": places, "problems": [described_problem(one) for one in wrong]})
        return 1
    complain(f"hookline: {problem}")
    for path, line in mentions:
        where = f"{short(path, project)}:{line}" if line else short(path, project)
        complain(f"{where} spells it, but no hook of that name was loaded from there")
    for one in _nearest(wrong, mentions):
        complain(str(one))
    return 1


def _nearest(problems: Sequence[Problem], mentions: Sequence[tuple[str, int]]) -> Iterator[Problem]:
    """Put the problems nearest to where the name stands first."""
    lines = dict(mentions)
    ordered = sorted(problems, key=lambda problem: abs(problem.line - lines[problem.path]))
    return itertools.islice(ordered, _NEAREST)
