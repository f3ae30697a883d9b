"""How commands run hooks: they end with the command, `--verbose` shows them, and failures are printed."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, Final

from msgspec.structs import replace

from hookline.cli._command import ExitCode, flag
from hookline.cli._output import print_error
from hookline.engine.engine import Engine
from hookline.model.event import Event
from hookline.model.plan import Gate
from hookline.model.verdict import Outcome
from hookline.text import shell_quote

# what to run when a hook could not run and the gate gives no advice
_ADVICE: Final = {
    Gate.TRUST: "`hookline trust show {0}` shows it, `hookline trust approve {0}` allows it",
    Gate.BREAKER: "`hookline limits {} --reset` lets it run again now",
}


def run_until_terminated(command: Coroutine[Any, Any, int]) -> int:
    """Run a command that runs hooks and return its exit code, 143 after SIGTERM or SIGHUP.

    Hooks run in process groups of their own, so a signal to this process does not reach them.
    """

    async def run() -> int:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            with suppress(NotImplementedError, AttributeError):
                loop.add_signal_handler(getattr(signal, name), task.cancel if task else loop.stop)
        return await command

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return ExitCode.TERMINATED


# For users who cannot change how an agent calls Hookline. It only ever adds lines on stderr.
VARIABLE: Final = "HOOKLINE_DEBUG"
_NO: Final = frozenset({"", "0", "false", "no", "off"})


VERBOSE_OPTIONS: Final = (
    flag("-v --verbose", "say on stderr when each hook starts and ends"),
    flag("--debug", f"also say what each hook was given and gave back, and which were left out (or set {VARIABLE}=1)"),
)


def is_debug(args: argparse.Namespace) -> bool:
    """Return whether everything is to be shown."""
    return bool(args.debug) or os.environ.get(VARIABLE, "").strip().lower() not in _NO


def start_live_view(args: argparse.Namespace, engine: Engine) -> None:
    """Show what hooks do from now on, if the user asked for it."""
    if args.verbose or is_debug(args):
        from hookline.debug.explain import attach_live_view  # noqa: PLC0415 - agents that emit events do without

        attach_live_view(engine, print_error, raw=is_debug(args))


def add_unmatched(args: argparse.Namespace, engine: Engine, event: Event, outcome: Outcome) -> Outcome:
    """Add hooks that do not match the event to the skipped ones, for `--json` and `--debug`."""
    if not args.json and not is_debug(args):
        return outcome
    known = {verdict.hook for verdict in outcome.verdicts} | {skip.hook.id for skip in outcome.skipped}
    unmatched = (skip for skip in engine.planner.list_unmatched(event) if skip.hook.id not in known)
    return replace(outcome, skipped=(*unmatched, *outcome.skipped))


async def finish_live_view(args: argparse.Namespace, engine: Engine, outcome: Outcome) -> None:
    """Show what is still pending, before the answer is printed."""
    if args.verbose or is_debug(args):
        await engine.drain()
    if is_debug(args):
        from hookline.debug.explain import describe_skips  # noqa: PLC0415 - see above

        if not outcome.verdicts and not outcome.skipped:
            is_on = engine.settings.enabled and not engine.settings.guards_only
            print_error("no hook wants this event" if is_on else "hooks are switched off")
        for line in describe_skips(outcome.skipped):
            print_error(line)


@contextmanager
def redirect_stdout_to_stderr() -> Iterator[None]:
    """Redirect what hooks of this process print to stderr: stdout carries the answer for the caller."""
    try:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(2, 1)
    except (AttributeError, OSError, ValueError):
        # a stream is closed
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def print_failures(outcome: Outcome) -> None:
    """Print a line for each failed hook; a failure that blocks is printed as the reason instead."""
    for verdict in outcome.failures:
        if verdict.failure is not None and not (outcome.blocked and verdict.reason in outcome.reasons):
            print_error(f'hook "{verdict.hook}" failed: {verdict.failure.message}')


def print_missed_hooks(outcome: Outcome) -> None:
    """Print a line for each hook that should have run and could not, with the command that makes it run."""
    for skip in outcome.skipped:
        if skip.failed or skip.gate is Gate.TRUST:
            advice = _ADVICE.get(skip.gate, "`hookline why {}` says more").format(shell_quote(skip.hook.id))
            print_error(f'hook "{skip.hook.id}" did not run: {skip.reason}; {skip.mend or advice}')
