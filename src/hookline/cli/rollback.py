"""`hookline rollback`: take back what hooks did in a turn of an agent.

Exit codes: 0 all of it was taken back, or there is nothing; 1 something could not be, or the user said no.
"""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from hookline.cli._command import ABSOLUTE, COMMON, CliCommand, argument, flag
from hookline.cli._output import Table, format_time, pluralise, print_error, render
from hookline.cli._project import load_from_args
from hookline.cli._terminal import confirm
from hookline.engine.engine import Engine
from hookline.engine.turns import Compensation, select_turn
from hookline.errors import ConfigError
from hookline.model.hook import make_undo_hook
from hookline.project import Project
from hookline.views import describe_target

_NOTHING: Final = "nothing can be taken back: no hook with `undo` ran, or all of it was taken back"


async def _roll_back(args: argparse.Namespace) -> int:
    """List what can be taken back, or take it back, the latest run first."""
    project = load_from_args(args, traced=True)
    async with project.engine as engine:
        pending = await engine.compensations.list_pending()
        if args.list:
            return _show(args, pending, project)
        runs = _select(args, pending)
        if not runs:
            return render(args, {"undone": [], "failed": []}, _NOTHING)
        verb = "Forget" if args.forget else "Take back"
        lines = [f"{verb} what {pluralise(len(runs), 'hook run')} did, the latest first:"]
        lines += [f"  {run.hook}, {run.event.name}: {describe_undo(engine, run)}" for run in runs]
        if not args.yes and not await confirm(lines, f"{verb} it?", otherwise="look with --list, then say --yes"):
            print_error("nothing was taken back")
            return 1
        if args.forget:
            await engine.compensations.close_runs({run.id for run in runs})
            return render(args, {"forgotten": [run.id for run in runs]}, f"forgot {pluralise(len(runs), 'hook run')}")
        results = await take_back(engine, runs)
    failed = [{"id": run.id, "hook": run.hook, "problem": problem} for run, problem in results if problem]
    undone = [{"id": run.id, "hook": run.hook} for run, problem in results if not problem]
    lines = [f"{run.hook}: {problem or 'taken back'}" for run, problem in results]
    render(args, {"undone": undone, "failed": failed}, *lines)
    return 1 if failed else 0


async def take_back(engine: Engine, runs: Sequence[Compensation]) -> list[tuple[Compensation, str]]:
    """Take back what hooks did, and return each run with why it could not be, or ""."""
    results = []
    for run in runs:
        try:
            results.append((run, await engine.undo(run)))
        except ConfigError as error:
            results.append((run, error.message))
    return results


def _select(args: argparse.Namespace, pending: Sequence[Compensation]) -> list[Compensation]:
    """Return the runs that the options name; without options, those of the last turn.

    Raises:
        ConfigError: An option names something that is not there.
    """
    runs = [run for run in pending if args.session in {"", run.session}]
    if args.session and not runs:
        raise ConfigError(
            f"--session: nothing can be taken back of {args.session}; `hookline rollback --list` shows what can"
        )
    if args.turn is not None:
        runs = [run for run in runs if (run.session, run.turn) == (runs[0].session, args.turn)]
    elif not args.all and not args.hook:
        runs = select_turn(runs)
    if args.hook:
        runs = [run for run in runs if run.hook == args.hook]
        if not runs:
            raise ConfigError(
                f"nothing that {args.hook} did can be taken back; `hookline rollback --list` shows what can"
            )
    return runs


def _show(args: argparse.Namespace, pending: Sequence[Compensation], project: Project) -> int:
    value = [
        {
            **{name: getattr(run, name) for name in ("id", "hook", "session", "turn", "at")},
            "event": run.event.name,
            "undo": describe_undo(project.engine, run),
            "error": run.error or None,
        }
        for run in pending
    ]
    rows = [
        [
            *(format_time(args, run.at), run.session[:12], str(run.turn), run.event.name, run.hook),
            describe_undo(project.engine, run),
        ]
        for run in pending
    ]
    table = Table(["when", "session", "turn", "event", "hook", "undo"], rows, nothing=_NOTHING)
    return render(args, value, table)


def describe_undo(engine: Engine, run: Compensation) -> str:
    """Return what takes back a run, on one line."""
    hook = engine.registry.get_hook(run.hook)
    if hook is None or not hook.has_undo:
        return "the hook is gone"
    return describe_target(make_undo_hook(hook)) + (f" (failed: {run.error})" if run.error else "")


COMMAND: Final = CliCommand(
    "take back what hooks with `undo` did in the last turn of an agent",
    argument("hook", "only what this hook did", nargs="?", default=""),
    flag("--list", "list what can be taken back, the latest first"),
    argument("--session", "of this session", default="", metavar="ID"),
    argument("--turn", "of this turn of the session", type=int, metavar="N"),
    flag("--all", "of all turns"),
    flag("--forget", "do not run anything: what was done stays, and is not offered again"),
    flag("--yes", "do not ask"),
    ABSOLUTE,
    *COMMON,
    example="--list",
    run=lambda args: asyncio.run(_roll_back(args)),
)
