"""`hookline limits`: how often hooks may still run, which are paused, and a fresh start for them."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.cli._output import counted, say, say_json, table
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.core.limits import Standing
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.workspace import Opened

HELP: Final = "show how often hooks may still run and which are paused, or let them start afresh"
EXAMPLE: Final = "hookline limits lint --reset"

_ALL: Final = "(all hooks)"


class _Shown(Struct, frozen=True):
    """One limit of a hook, or of all hooks together, and how it stands."""

    hook: str
    standing: Standing


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hooks", nargs="*", metavar="HOOK", help="only these hooks, by id or name")
    parser.add_argument(
        "--reset", action="store_true", help="forget the hooks' runs, failures and kept answers, and count anew"
    )
    parser.add_argument("--all", action="store_true", help="with --reset: all hooks, and what they may do together")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Show the limits, or reset them."""
    if args.all and (args.hooks or not args.reset):
        raise ConfigError("--all goes with --reset, and without names")
    project = opened(args)
    hooks = [hook_named(project, name) for name in args.hooks] or list(project.loaded.hooks)
    return _reset(args, project, hooks) if args.reset else _show(args, project, hooks)


def _show(args: argparse.Namespace, project: Opened, hooks: Sequence[Hook]) -> int:
    if args.hooks:
        shown = list(_of_hooks(project, hooks, alone=False))
    else:
        shown = [*_of_hooks(project, hooks, alone=True), *_together(project)]
    if args.json:
        say_json({"limits": [_described(one) for one in shown]})
    elif shown:
        table(
            ["hook", "limit", "may run", "how it stands"],
            [
                [one.hook, one.standing.gate, "yes" if one.standing.passed else "NO", one.standing.reason]
                for one in shown
            ],
        )
    else:
        say("no limit: set once, per_minute, cooldown, debounce or breaker of a hook")
    return 0


def _of_hooks(project: Opened, hooks: Sequence[Hook], *, alone: bool) -> Iterator[_Shown]:
    keeper = project.engine.doorkeeper
    # of no session: which one somebody asks about is not known here
    event = Event(name=EventName.USER_TRIGGERED, cwd=str(project.root))
    for hook in hooks:
        for one in keeper.standing(hook, event, alone=alone):
            yield _Shown(hook.id, one)


def _together(project: Opened) -> Iterator[_Shown]:
    for one in project.engine.doorkeeper.standing_of_all():
        yield _Shown(_ALL, one)


def _described(one: _Shown) -> Mapping[str, object]:
    return {
        "hook": None if one.hook == _ALL else one.hook,
        "limit": one.standing.gate,
        "passed": one.standing.passed,
        "reason": one.standing.reason,
    }


def _reset(args: argparse.Namespace, project: Opened, hooks: Sequence[Hook]) -> int:
    if not args.hooks and not args.all:
        raise ConfigError("name the hooks to reset, or say --all")
    keeper = project.engine.doorkeeper
    forgotten = sum(keeper.forget(hook) for hook in hooks) + (keeper.forget_shared() if args.all else 0)
    if args.json:
        say_json({"reset": [hook.id for hook in hooks], "forgotten": forgotten})
    else:
        say(f"forgotten: what was remembered of {counted(len(hooks), 'hook')}")
    return 0
