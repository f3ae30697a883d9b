"""`hookline watch`: raise events for files that change and for times that come, as long as it runs."""

import argparse
import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from hookline import wire
from hookline.cli._about import clearance
from hookline.cli._approval import hint
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, counted, json_escaped, say, say_bytes
from hookline.cli._project import add_json, add_project, project_of
from hookline.cli._times import span
from hookline.config.problem import Severity
from hookline.config.values import seconds
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Skip
from hookline.model.report import described
from hookline.model.verdict import Decision, EffectKind, Outcome, Verdict
from hookline.sources.alone import alone
from hookline.sources.configured import Configured
from hookline.sources.files import QUIET
from hookline.sources.watching import Audience, Watcher, Watching, file_hooks, paths_in
from hookline.workspace import Opened

HELP: Final = "tell hooks of files that change and of times that come, as long as it runs"
EXAMPLE: Final = "hookline watch src tests"

_INTERRUPTED: Final = 130

# what was left out because the event was about something else is nothing to tell a person
_NOT_MEANT: Final = frozenset({Gate.ENABLED, Gate.EVENT, Gate.MATCHER, Gate.FILES, Gate.WRITES, Gate.CONDITION})
# what is too long for a line; hooks get it, and so does the trace
_LONG: Final = frozenset({"content", "diff"})
# whoever asked over the network has so many seconds to get an answer from hooks that were loaded before
_LINGER: Final = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="only these files and folders")
    add_project(parser)
    parser.add_argument("--no-ignore", action="store_true", help="also tell of files that git ignores")
    parser.add_argument(
        "--debounce",
        type=_quiet,
        default=QUIET,
        metavar="TIME",
        help="wait until nothing has changed for so long, such as 500ms or 2s (default: 100ms)",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="also take events over HTTP, such as at 127.0.0.1:8642")
    parser.add_argument("--listen-anywhere", action="store_true", help="let --listen name an address others can reach")
    parser.add_argument(
        "--listen-host", action="append", default=[], metavar="NAME", help="a name that callers know this machine by"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say only what goes wrong")
    add_json(parser)


def _quiet(text: str) -> float:
    try:
        found = seconds(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    if not 0.01 <= found <= 60:  # noqa: PLR2004 - said right here
        raise argparse.ArgumentTypeError(f'"{text}" is not between 10ms and 60s')
    return found


def run(args: argparse.Namespace) -> int:
    """Watch until the person ends it."""
    ended = TERMINATED

    def interrupt(task: asyncio.Task[object]) -> None:
        nonlocal ended
        ended = _INTERRUPTED
        task.cancel()

    try:
        return asyncio.run(_watch(args, interrupt))
    except asyncio.CancelledError:
        return ended


async def _watch(args: argparse.Namespace, interrupt: Callable[[asyncio.Task[object]], None]) -> int:
    end_hooks_with_us()
    # whoever ends it twice in a row means the same as whoever does it once
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is not None and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        with suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, interrupt, task)
    configured = Configured(project_of(args), linger=_LINGER if args.listen else 0.0)
    try:
        opened = configured.opened
        wanted = Watching(paths=paths_in(opened.root, args.paths), quiet=args.debounce, has_rules=not args.no_ignore)
        with alone(str(opened.root), opened.folders.data):
            told = _Json() if args.json else _Lines(is_quiet=args.quiet)
            async with _listening(args, configured, told):
                await Watcher(configured, Audience(told.hear, told.loaded, told.tell), wanted).run()
    finally:
        await configured.close()
    return 0


@asynccontextmanager
async def _listening(args: argparse.Namespace, configured: Configured, told: "_Lines | _Json") -> AsyncIterator[None]:
    """Take events over HTTP, if that was asked for."""
    if args.listen is None:
        yield
        return
    from hookline.sources.http import listen_address, read_token, serve  # noqa: PLC0415 - few people want it

    address = listen_address(args.listen, anywhere=args.listen_anywhere)
    token = read_token(configured.opened.folders.data)
    server = await serve(lambda: configured.engine, address, token, hosts=tuple(args.listen_host), tell=told.request)
    told.request(f"listening at {server.url}; the token is in {token.path}")
    try:
        yield
    finally:
        await server.close()


class _Lines:
    """Say what happens to a person: a line for each event that hooks ran for, and for each thing that is wrong."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._loads = 0
        self._refused: set[tuple[str, str]] = set()

    def loaded(self, opened: Opened) -> None:
        """Say what is watched for whom."""
        self._loads += 1
        self._refused.clear()
        for problem in opened.problems:
            if problem.severity is not Severity.NOTE:
                complain(f"hookline: {problem}")
        hooks = _hooks(opened)
        for hook in hooks:
            found = clearance(hook, opened)
            if found is not None and found.objection:
                self._refused.add((hook.id, found.objection))
                complain(f'hook "{hook.id}" will not run: {found.objection}; {hint(hook)}')
        if self._is_quiet:
            return
        begins = f"watching {opened.root}" if self._loads == 1 else "the configuration changed and was loaded again"
        if not hooks:
            say(f"{begins}: no hook is about files or has a schedule, so there is nothing to do yet")
            return
        say(f"{begins}: {counted(len(hooks), 'hook')}")
        for hook in hooks:
            say(f"  {hook.id}: {' and '.join(_wants(hook))}")

    def hear(self, event: Event, outcome: Outcome) -> None:
        """Say which hooks ran for an event, and what they said."""
        parts = [_said(verdict) for verdict in outcome.verdicts]
        parts += [f"{skip.hook.id} left out ({skip.reason})" for skip in outcome.skipped if self._is_news(skip)]
        is_wrong = any(verdict.failure is not None for verdict in outcome.verdicts)
        if not parts or (self._is_quiet and not is_wrong):
            return
        line = f"{time.strftime('%H:%M:%S')} {event.name} {event.subject}: {'; '.join(parts)}"
        if is_wrong:
            complain(line)
        else:
            say(line)
        for text in () if self._is_quiet else _texts(outcome):
            say(f"  {text}")

    def _is_news(self, skip: Skip) -> bool:
        """Say whether a person wants to know that a hook was left out: that nobody approved it is said once."""
        if skip.gate is not Gate.TRUST:
            return skip.gate not in _NOT_MEANT
        said = (skip.hook.id, skip.reason)
        is_new = said not in self._refused
        self._refused.add(said)
        return is_new

    def tell(self, text: str) -> None:
        """Say what is wrong."""
        complain(text)

    def request(self, text: str) -> None:
        """Say what was asked over the network."""
        if not self._is_quiet:
            say(text)


class _Json:
    """Say what happens to a program: one object in each line."""

    def loaded(self, opened: Opened) -> None:
        """Say what is watched for whom, at the beginning and whenever it was loaded again."""
        problems = [problem for problem in opened.problems if problem.severity is not Severity.NOTE]
        hooks = [
            {
                "id": hook.id,
                "on": hook.on,
                "schedule": hook.schedule or None,
                "objection": _objection(hook, opened),
            }
            for hook in _hooks(opened)
        ]
        _say_line({"type": "loaded", "root": str(opened.root), "hooks": hooks, "problems": list(map(str, problems))})

    def hear(self, event: Event, outcome: Outcome) -> None:
        """Say what hooks said to an event."""
        data = {name: value for name, value in event.data.items() if name not in _LONG}
        prompts = [text for _, text in _prompts(outcome)]
        report = {**described(outcome), "follow_ups": prompts}
        _say_line({"type": "event", "event": event.name, "data": data, **report})

    def tell(self, text: str) -> None:
        """Say what is wrong."""
        _say_line({"type": "warning", "text": text})

    def request(self, text: str) -> None:
        """Say what was asked over the network."""
        _say_line({"type": "request", "text": text})


def _say_line(value: Mapping[str, object]) -> None:
    line = {**value, "at": time.time()}
    say_bytes(json_escaped(wire.dump(line).decode()).encode() + b"\n")


def _hooks(opened: Opened) -> list[Hook]:
    """Give the hooks that this is for."""
    here = [hook for hook in opened.loaded.hooks if opened.engine.registry.has_hook(hook.id)]
    about_files = {hook.id for hook in file_hooks(here)}
    return [hook for hook in here if hook.id in about_files or (hook.schedule and hook.enabled)]


def _objection(hook: Hook, opened: Opened) -> str | None:
    found = clearance(hook, opened)
    return "the approvals cannot be read" if found is None else found.objection or None


def _wants(hook: Hook) -> Iterator[str]:
    about = ", ".join(name for name in hook.on if name.startswith("file_"))
    if about:
        yield about + (f" of {', '.join(hook.files)}" if hook.files else "")
    if hook.schedule:
        yield f'at "{hook.schedule}"'


def _said(verdict: Verdict) -> str:
    if verdict.failure is not None:
        return f"{verdict.hook} failed: {verdict.failure.message}"
    if verdict.job:
        return f"{verdict.hook} waits in the queue"
    if verdict.decision is Decision.PASS:
        return f"{verdict.hook} ran in {span(verdict.duration)}"
    reason = f": {verdict.reason}" if verdict.reason else ""
    return f"{verdict.hook} said {verdict.decision.word}{reason}"


def _texts(outcome: Outcome) -> Iterator[str]:
    yield from outcome.messages
    for hook, text in _prompts(outcome):
        yield f"{hook} asks the agent, when one comes: {text}"


def _prompts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Give what hooks ask the agent: it is on its way to the inbox, and no longer part of the outcome."""
    for verdict in outcome.verdicts:
        for effect in () if verdict.observed else verdict.effects:
            if effect.kind is EffectKind.ASK_AGENT:
                yield verdict.hook, str(effect.value)
