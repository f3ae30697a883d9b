"""`--verbose` and `--debug`: what hooks do, on stderr while they do it."""

import argparse
import os
from typing import Final

from msgspec.structs import replace

from hookline.cli._output import complain
from hookline.core.engine import Engine
from hookline.model.event import Event
from hookline.model.verdict import Outcome

# A person who cannot change how an agent calls us can still look: it only ever adds lines on stderr.
VARIABLE: Final = "HOOKLINE_DEBUG"
_NO: Final = frozenset({"", "0", "false", "no", "off"})


def add_watching(parser: argparse.ArgumentParser) -> None:
    """Let the person look."""
    parser.add_argument("-v", "--verbose", action="store_true", help="say on stderr when each hook starts and ends")
    parser.add_argument(
        "--debug",
        action="store_true",
        help=f"also say what each hook was given and gave back, and which were left out (or set {VARIABLE}=1)",
    )


def watching(args: argparse.Namespace, engine: Engine) -> None:
    """Start to show what hooks do, if that was asked for."""
    if args.verbose or debugging(args):
        from hookline.debug.live import watch  # noqa: PLC0415 - an agent that emits events does not wait for it

        watch(engine, complain, raw=debugging(args))


def debugging(args: argparse.Namespace) -> bool:
    """Say whether everything is to be shown."""
    return bool(args.debug) or os.environ.get(VARIABLE, "").strip().lower() not in _NO


def with_others(args: argparse.Namespace, engine: Engine, event: Event, outcome: Outcome) -> Outcome:
    """Add the hooks that are about other tools or files: whoever looks closely wants to know of them, too."""
    if not args.json and not debugging(args):
        return outcome
    known = {verdict.hook for verdict in outcome.verdicts} | {skip.hook.id for skip in outcome.skipped}
    aside = (skip for skip in engine.planner.left_aside(event) if skip.hook.id not in known)
    return replace(outcome, skipped=(*aside, *outcome.skipped))


async def watched(args: argparse.Namespace, engine: Engine, outcome: Outcome) -> None:
    """Show what is still to be shown before the answer is."""
    if args.verbose or debugging(args):
        await engine.drain()
    if debugging(args):
        from hookline.debug.live import skipped  # noqa: PLC0415 - see above

        if not outcome.verdicts and not outcome.skipped:
            complain("no hook wants this event" if engine.settings.enabled else "hooks are switched off")
        for line in skipped(outcome.skipped):
            complain(line)
