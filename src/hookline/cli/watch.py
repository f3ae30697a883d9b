"""`hookline watch`: raise events for file changes and schedules until it is stopped."""

import argparse
import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.cli._command import COMMON, CliCommand, ExitCode, argument, flag, repeatable
from hookline.cli._output import format_span, pluralise, print_bytes, print_error, print_line, to_json_line
from hookline.cli._project import decide_trust, get_project_dir
from hookline.cli._run_hooks import run_until_terminated
from hookline.cli.hosts import make_around_project
from hookline.config.document import Severity
from hookline.config.keys import seconds
from hookline.config.staleness import stat_stamp
from hookline.errors import EngineError
from hookline.hosts import HOSTS
from hookline.hosts.backup import backup_path
from hookline.hosts.drift import list_files
from hookline.hosts.status import Obstacle, find_obstacles
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Skip
from hookline.model.verdict import Decision, EffectKind, Outcome, Verdict, outcome_to_json
from hookline.project import Project
from hookline.sources.file_changes import QUIET
from hookline.sources.live_project import POLL_SECONDS, LiveProject
from hookline.sources.watcher import (
    Watcher,
    WatchListener,
    WatchOptions,
    lock_project,
    relative_paths,
    select_file_hooks,
)
from hookline.trust.policy import suggest_approval

# hooks that these gates skipped are not reported: the event was not for them
_NOT_MEANT: Final = frozenset({Gate.ENABLED, Gate.EVENT, Gate.MATCHER, Gate.FILES, Gate.WRITES, Gate.CONDITION})
# fields that are too long for a line; hooks and the trace have them
_LONG: Final = frozenset({"content", "diff"})


def _parse_quiet(text: str) -> float:
    try:
        quiet = seconds(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    if not 0.01 <= quiet <= 60:  # noqa: PLR2004 - the message names them
        raise argparse.ArgumentTypeError(f'"{text}" is not between 10ms and 60s')
    return quiet


def run(args: argparse.Namespace) -> int:
    """Watch until the user ends it."""
    is_interrupted = False

    def interrupt(task: asyncio.Task[object]) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        task.cancel()

    code = run_until_terminated(_watch(args, interrupt))
    return ExitCode.INTERRUPTED if code == ExitCode.TERMINATED and is_interrupted else code


async def _watch(args: argparse.Namespace, interrupt: Callable[[asyncio.Task[object]], None]) -> int:
    # a second SIGINT must not interrupt the clean-up
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is not None and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        with suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, interrupt, task)
    live = LiveProject(get_project_dir(args))
    try:
        opened = live.project
        wanted = WatchOptions(
            paths=relative_paths(opened.root, args.paths), quiet=args.debounce, has_rules=not args.no_ignore
        )
        with lock_project(str(opened.root), opened.folders.data):
            report = _JsonReport() if args.json else _TextReport(is_quiet=args.quiet)
            async with _listen(args, live, report), _compare_settings(live, report):
                await Watcher(live, WatchListener(report.on_outcome, report.on_load, report.warn), wanted).run()
    finally:
        await live.close()
    return 0


@asynccontextmanager
async def _listen(
    args: argparse.Namespace, live: LiveProject, report: "_TextReport | _JsonReport"
) -> AsyncIterator[None]:
    """Accept events over HTTP, if the user asked for it."""
    if args.listen is None:
        yield
        return
    from hookline.sources.http import listen_address, read_token, serve  # noqa: PLC0415 - few people want it

    address = listen_address(args.listen, anywhere=args.listen_anywhere)
    token = read_token(live.project.folders.data)
    server = await serve(live.use, address, token, hosts=tuple(args.listen_host), tell=report.on_request)
    report.on_request(f"listening at {server.url}; the token is in {token.path}")
    try:
        yield
    finally:
        await server.close()


@asynccontextmanager
async def _compare_settings(live: LiveProject, report: "_TextReport | _JsonReport") -> AsyncIterator[None]:
    """Report what differs in the settings of agents from what was installed, at once and whenever they change."""
    task = asyncio.create_task(_follow_settings(live, report))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _follow_settings(live: LiveProject, report: "_TextReport | _JsonReport") -> None:
    around = make_around_project(live.project)
    stamps: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    reported: dict[str, set[Obstacle]] = {}
    while True:
        for host in HOSTS.values():
            # what `hookline install` and `doctor --accept` write counts as well
            settings = (path for scope in host.files for path in host.settings_paths(scope, around))
            backups = (backup_path(around.data, path) for path in settings)
            now = [(path, stat_stamp(path)) for path in (*(path for path, _ in list_files(host, around)), *backups)]
            if stamps.get(host.name) == now:
                continue
            stamps[host.name] = now
            try:
                found = await asyncio.to_thread(find_obstacles, host, around)
            except (EngineError, OSError) as problem:
                report.warn(f"the settings of {host.title} could not be compared: {problem}")
                continue
            for obstacle in found:
                if obstacle not in reported.get(host.name, ()):
                    report.on_drift(host.name, obstacle)
            reported[host.name] = set(found)
        await asyncio.sleep(POLL_SECONDS)


class _TextReport:
    """Prints a line for each event that hooks ran for, and for each problem."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._loads = 0
        self._refused: set[tuple[str, str]] = set()

    def on_load(self, opened: Project) -> None:
        """Print the hooks that events are raised for, and those that may not run."""
        self._loads += 1
        self._refused.clear()
        for problem in opened.problems:
            if problem.severity is not Severity.NOTE:
                print_error(f"hookline: {problem}")
        hooks = _select_hooks(opened)
        for hook in hooks:
            found = decide_trust(hook, opened)
            if found is not None and found.reason_denied:
                self._refused.add((hook.id, found.reason_denied))
                print_error(f'hook "{hook.id}" will not run: {found.reason_denied}; {suggest_approval(hook)}')
        if self._is_quiet:
            return
        begins = f"watching {opened.root}" if self._loads == 1 else "the configuration changed and was loaded again"
        if not hooks:
            print_line(f"{begins}: no hook is about files or has a schedule, so there is nothing to do yet")
            return
        print_line(f"{begins}: {pluralise(len(hooks), 'hook')}")
        for hook in hooks:
            about = ", ".join(name for name in hook.on if name.startswith("file_"))
            files = f"{about} of {', '.join(hook.files)}" if about and hook.files else about
            triggers = filter(None, (files, f'at "{hook.schedule}"' if hook.schedule else ""))
            print_line(f"  {hook.id}: {' and '.join(triggers)}")

    def on_outcome(self, event: Event, outcome: Outcome) -> None:
        """Print which hooks ran for an event, and what they answered."""
        parts = [_describe_verdict(verdict) for verdict in outcome.verdicts]
        parts += [f"{skip.hook.id} left out ({skip.reason})" for skip in outcome.skipped if self._is_news(skip)]
        is_wrong = any(verdict.failure is not None for verdict in outcome.verdicts)
        if not parts or (self._is_quiet and not is_wrong):
            return
        line = f"{time.strftime('%H:%M:%S')} {event.name} {event.subject}: {'; '.join(parts)}"
        if is_wrong:
            print_error(line)
        else:
            print_line(line)
        prompts = [f"{hook} asks the agent, when one comes: {text}" for hook, text in _list_prompts(outcome)]
        for text in () if self._is_quiet else (*outcome.messages, *prompts):
            print_line(f"  {text}")

    def _is_news(self, skip: Skip) -> bool:
        """Return whether to report a skipped hook; a missing approval is reported once."""
        if skip.gate is not Gate.TRUST:
            return skip.gate not in _NOT_MEANT
        refusal = (skip.hook.id, skip.reason)
        is_new = refusal not in self._refused
        self._refused.add(refusal)
        return is_new

    def warn(self, text: str) -> None:
        """Print a warning."""
        print_error(text)

    def on_drift(self, agent: str, obstacle: Obstacle) -> None:
        """Print how the settings of an agent differ from what was installed."""
        print_error(f"{agent}: {obstacle}")

    def on_request(self, text: str) -> None:
        """Print a line about an HTTP request."""
        if not self._is_quiet:
            print_line(text)


class _JsonReport:
    """Prints one JSON object in each line."""

    def on_load(self, opened: Project) -> None:
        """Print the hooks that events are raised for, also after each reload."""
        problems = [problem for problem in opened.problems if problem.severity is not Severity.NOTE]
        hooks = []
        for hook in _select_hooks(opened):
            found = decide_trust(hook, opened)
            objection = "the approvals cannot be read" if found is None else found.reason_denied or None
            hooks.append({"id": hook.id, "on": hook.on, "schedule": hook.schedule or None, "objection": objection})
        value = {"type": "loaded", "root": str(opened.root), "hooks": hooks, "problems": list(map(str, problems))}
        _print_record(value)

    def on_outcome(self, event: Event, outcome: Outcome) -> None:
        """Print what hooks answered to an event."""
        data = {name: value for name, value in event.data.items() if name not in _LONG}
        prompts = [text for _, text in _list_prompts(outcome)]
        report = {**outcome_to_json(outcome), "follow_ups": prompts}
        _print_record({"type": "event", "event": event.name, "data": data, **report})

    def warn(self, text: str) -> None:
        """Print a warning."""
        _print_record({"type": "warning", "text": text})

    def on_drift(self, agent: str, obstacle: Obstacle) -> None:
        """Print how the settings of an agent differ from what was installed."""
        _print_record({"type": "settings", "agent": agent, "text": obstacle.text, "fix": obstacle.fix})

    def on_request(self, text: str) -> None:
        """Print a line about an HTTP request."""
        _print_record({"type": "request", "text": text})


def _print_record(value: Mapping[str, object]) -> None:
    print_bytes(to_json_line({**value, "at": time.time()}))


def _select_hooks(opened: Project) -> list[Hook]:
    """Return the hooks for file events, and those with a schedule."""
    here = [hook for hook in opened.hooks if opened.is_active(hook)]
    about_files = {hook.id for hook in select_file_hooks(here)}
    return [hook for hook in here if hook.id in about_files or (hook.schedule and hook.enabled)]


def _describe_verdict(verdict: Verdict) -> str:
    if verdict.failure is not None:
        return f"{verdict.hook} failed: {verdict.failure.message}"
    if verdict.job:
        return f"{verdict.hook} waits in the queue"
    if verdict.decision is Decision.PASS:
        return f"{verdict.hook} ran in {format_span(verdict.duration)}"
    reason = f": {verdict.reason}" if verdict.reason else ""
    return f"{verdict.hook} said {verdict.decision.word}{reason}"


def _list_prompts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield what hooks ask the agent: it goes to the inbox, and is no longer part of the outcome."""
    for verdict in outcome.verdicts:
        for effect in () if verdict.observed else verdict.effects:
            if effect.kind is EffectKind.ASK_AGENT:
                yield verdict.hook, str(effect.value)


COMMAND: Final = CliCommand(
    "raise events for file changes and schedules until it is stopped",
    argument("paths", "only these files and folders", nargs="*", type=Path, metavar="PATH"),
    *COMMON,
    flag("--no-ignore", "also tell of files that git ignores"),
    argument(
        "--debounce",
        "wait until nothing has changed for so long, such as 500ms or 2s (default: 100ms)",
        type=_parse_quiet,
        default=QUIET,
        metavar="TIME",
    ),
    argument("--listen", "also take events over HTTP, such as at 127.0.0.1:8642", metavar="HOST:PORT"),
    flag("--listen-anywhere", "let --listen name an address others can reach"),
    repeatable("--listen-host", "a name that callers know this machine by", metavar="NAME"),
    flag("-q --quiet", "say only what goes wrong"),
    example="src tests",
    run=run,
)
