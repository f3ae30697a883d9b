"""`hookline list`: every hook of every system, at each event in the order they would run."""

import argparse
import itertools
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.cli._about import (
    clearance,
    cut,
    described_hook,
    described_problem,
    described_run,
    last_runs,
    place,
    problems_of,
    result,
    runs_shortly,
    standing,
)
from hookline.cli._names import events_named
from hookline.cli._output import WIDEST_COLUMN, counted, say, say_json, table
from hookline.cli._project import add_json, add_project, opened
from hookline.cli._times import ago
from hookline.config.problem import Problem, Severity
from hookline.core.trust import Clearance
from hookline.debug.review import event_name
from hookline.dialects import DIALECTS
from hookline.display import typed
from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.plan import OF_EFFECTS
from hookline.model.record import Record
from hookline.workspace import Opened

HELP: Final = "list every hook of every system: what it runs, whether it may, and how it did last"
EXAMPLE: Final = "hookline list --event before_tool"

_HEAD: Final = ("event", "hook", "matcher", "runs", "state", "last run", "from")
_ORDER: Final = {name: place for place, name in enumerate(EventName)}
_RUNS: Final = _HEAD.index("runs")
# what a column may take up, within reason
_MATCHER, _NARROWEST, _WIDEST, _LONGEST_ID = 24, 20, 60, 200


class _Listed(Struct, frozen=True, kw_only=True):
    """One hook, and all that is said of it."""

    hook: Hook
    clearance: Clearance | None
    last: Record | None
    problems: tuple[Problem, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        "--event", default="", metavar="E", help="only hooks of this event, by any system's name for it"
    )
    parser.add_argument("--dialect", choices=sorted(DIALECTS), help="only hooks that speak this dialect")
    parser.add_argument("--source", choices=sorted({*map(str, Source), *map(str, Layer)}), help="only hooks from there")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """List the hooks."""
    events = _events(args.event)
    project = opened(args)
    lasts = last_runs(project)
    hooks = sorted(
        (hook for hook in _hooks(project, args) if _wanted(hook, args, events)), key=project.engine.planner.rank
    )
    listed = [
        _Listed(
            hook=hook,
            clearance=clearance(hook, project),
            last=lasts.get(hook.id),
            problems=tuple(problems_of(hook, project.problems)),
        )
        for hook in hooks
    ]
    if args.json:
        say_json([_described(one, project) for one in listed])
    else:
        _tell(listed, project, events)
    return 0


def _events(name: str) -> frozenset[str]:
    """Give the events to list; none for all of them."""
    if not name or name.startswith(CUSTOM_PREFIX):
        return frozenset({name} if name else ())
    return frozenset(map(str, events_named(name)))


def _hooks(project: Opened, args: argparse.Namespace) -> tuple[Hook, ...]:
    """Give what is configured; who asks for the built-in ones also gets those that are off."""
    if args.source != Source.BUILTIN:
        return project.loaded.hooks
    known = {hook.id for hook in project.builtins}
    return (*project.builtins, *(hook for hook in project.loaded.hooks if hook.id not in known))


def _wanted(hook: Hook, args: argparse.Namespace, events: Collection[str]) -> bool:
    return (
        any(_is_about(name, events) for name in hook.on)
        and args.dialect in {None, hook.dialect}
        and args.source in {None, str(hook.source), str(hook.layer)}
    )


def _is_about(name: str, events: Collection[str]) -> bool:
    return not events or name in events or event_name(name) in events


def _described(one: _Listed, project: Opened) -> Mapping[str, object]:
    return {
        **described_hook(one.hook, project, one.clearance),
        "last_run": described_run(one.last),
        "problems": [described_problem(problem) for problem in one.problems],
    }


def _tell(listed: Sequence[_Listed], project: Opened, events: Collection[str]) -> None:
    rows = sorted(_rows(listed, project, events), key=lambda row: _ORDER[event_name(row[0])])
    if not rows:
        say("no hooks" + (" like that" if project.loaded.hooks else "; `hookline new` makes one"))
    elif (room := _room(rows)) < _NARROWEST:
        _tell_below_each_other(rows)
    else:
        table(_HEAD, [(*row[:_RUNS], cut(row[_RUNS], room), *row[_RUNS + 1 :]) for row in rows])
    _foot(listed, project)


def _rows(listed: Sequence[_Listed], project: Opened, events: Collection[str]) -> Iterator[tuple[str, ...]]:
    for one in listed:
        hook = one.hook
        for name in hook.on:
            if _is_about(name, events):
                yield (
                    name,
                    hook.id,
                    cut(_matcher(hook), _MATCHER),
                    runs_shortly(hook, project),
                    _state(one, project),
                    f"{ago(one.last.at)}: {result(one.last)}" if one.last else "never",
                    f"{hook.layer} {place(hook, project)}",
                )


def _matcher(hook: Hook) -> str:
    files = ",".join((*hook.files, *(text for kind in OF_EFFECTS for text in getattr(hook, kind))))
    condition = f"if {hook.condition}" if hook.condition else ""
    return " ".join(filter(None, (hook.matcher, files, hook.schedule, condition))) or "*"


def _state(one: _Listed, project: Opened) -> str:
    if not one.hook.enabled:
        return "off"
    if not project.engine.registry.has_hook(one.hook.id):
        return "all off"
    wrong = sum(problem.severity is not Severity.NOTE for problem in one.problems)
    return standing(one.clearance) + (f", {counted(wrong, 'problem')}" if wrong else "")


def _room(rows: Sequence[tuple[str, ...]]) -> int:
    """Say how much of a line is left for what a hook runs; whoever reads from a pipe has no lines to keep to."""
    if sys.stdout is None or not sys.stdout.isatty():
        return _WIDEST
    widths = (
        min(max(len(row[column]) for row in (_HEAD, *rows)), WIDEST_COLUMN) + 2
        for column in range(len(_HEAD))
        if column != _RUNS
    )
    return min(shutil.get_terminal_size().columns - sum(widths), _WIDEST)


def _tell_below_each_other(rows: Sequence[tuple[str, ...]]) -> None:
    """Print a line for each thing to say, for screens that are narrower than the table."""
    for event, group in itertools.groupby(rows, key=lambda row: row[0]):
        say(event)
        for _, hook, matcher, what, state, last, source in group:
            say(f"  {cut(hook, _LONGEST_ID)} ({state}; last run {last})")
            say(f"    {matcher}: {cut(what, _WIDEST)}")
            say(f"    {source}")


def _foot(listed: Sequence[_Listed], project: Opened) -> None:
    """Say what has to be done before everything that is written down is in force."""
    waiting = [one.hook.id for one in listed if one.clearance is not None and one.clearance.objection]
    if waiting:
        say()
        say(
            f"{counted(len(waiting), 'hook')} will not run before you approve: `hookline trust approve {typed(waiting[0])}`"
        )
    wrong = sum(problem.severity is not Severity.NOTE for problem in project.problems)
    if wrong:
        say()
        say(f"{counted(wrong, 'problem')} in the configuration: `hookline check` shows them")
