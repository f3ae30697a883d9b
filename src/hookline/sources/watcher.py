"""`hookline watch`: raise events for changed files and for schedules."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, time
from typing import Final

from msgspec import Struct

from hookline.engine.engine import Engine
from hookline.engine.trace_records import record
from hookline.errors import ConfigError, EngineError, StoreError
from hookline.files import make_private_folder
from hookline.model.event import Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.verdict import Outcome
from hookline.project import Project
from hookline.sources import schedule
from hookline.sources.file_changes import POLLING, QUIET, FileMonitor, FileTree
from hookline.sources.gitignore import GitIgnore
from hookline.sources.live_project import LiveProject
from hookline.sources.loop_guard import FileQueue, LoopGuard
from hookline.sources.schedule import DueHook, Timetable

logger = logging.getLogger(__name__)

FILE_EVENTS: Final = (EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED)

# files that are delivered to hooks at the same time
WORKERS: Final = 4
# seconds between two checks whether a queued job has ended, and how long a job is followed
_POLL_SECONDS: Final = 0.5
_LONGEST_JOB: Final = 600.0
_BUG: Final = "this is a bug in hookline; please report it with the lines below"

# gates that need the content of a file
_NEED_CONTENT: Final = frozenset({Gate.CONDITION})


class WatchListener(Struct, frozen=True):
    """Callbacks for each event with its outcome, each load of the project, and other messages for the user."""

    on_outcome: Callable[[Event, Outcome], None]
    on_load: Callable[[Project], None]
    on_message: Callable[[str], None]


class WatchOptions(Struct, frozen=True, kw_only=True):
    """What to watch, and how."""

    paths: tuple[str, ...] = ()
    quiet: float = QUIET
    has_rules: bool = True


class Watcher:
    """Raises the events of a project's files and schedules until it is cancelled."""

    def __init__(self, live: LiveProject, listener: WatchListener, options: WatchOptions) -> None:
        self._live = live
        self._listener = listener
        self._options = options
        # a change that a hook made must have arrived before a change counts as the user's
        self._loop_guard = LoopGuard(grace=POLLING + 2 * options.quiet)
        self._queue = FileQueue(self._loop_guard)
        self._timetable = Timetable()
        self._session = Session(id=f"watch-{int(time() * 1000):x}-{os.getpid():x}")
        root = os.path.realpath(live.project.root)
        self._files = FileMonitor(
            FileTree(root, self._rules(), options.paths),
            rules=self._rules,
            number=lambda: self._loop_guard.number,
            tell=listener.on_message,
            quiet=options.quiet,
        )
        self._root = root
        self._approved: frozenset[str] = frozenset()
        self._follow_task: asyncio.Task[None] | None = None
        self._scheduled_running: set[str] = set()
        # the jobs in the queue, with their round and the time until which they are followed
        self._queued_jobs: dict[str, tuple[int, float]] = {}
        self._job_watch: asyncio.Task[None] | None = None
        self._group = asyncio.TaskGroup()

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            EngineError: The project is not there any more.
        """
        try:
            async with self._group as group:
                self._apply(self._live.project)
                group.create_task(self._reload())
                group.create_task(schedule.run(self._timetable, self._start_scheduled))
                for _ in range(WORKERS):
                    group.create_task(self._work())
        except BaseExceptionGroup as problems:
            problem: BaseException = problems
            while isinstance(problem, BaseExceptionGroup):
                problem = problem.exceptions[0]
            raise problem from None

    def _apply(self, project: Project) -> None:
        """Watch what the loaded project asks for."""
        engine = project.engine
        hooks = [hook for hook in project.hooks if engine.registry.has_hook(hook.id)]
        self._timetable.set(hooks)
        about_files = select_file_hooks(hooks)
        had_readers = bool(self._approved)
        self._approved = frozenset(hook.id for hook in self._live.approved_hooks(about_files))
        if about_files and self._follow_task is None:
            self._follow_task = self._group.create_task(self._follow())
        elif self._approved and not had_readers:
            # a hook was approved: from now on events have diffs
            self._group.create_task(self._files.read_all())
        elif not about_files and self._follow_task is not None:
            self._follow_task.cancel()
            self._follow_task = None
        self._listener.on_load(project)

    async def _reload(self) -> None:
        async for project in self._live.reloads():
            self._apply(project)

    async def _follow(self) -> None:
        await self._files.start(read=bool(self._approved))
        async with aclosing(self._files.changes()) as changes:
            async for batch in changes:
                for path in sorted(batch.paths):
                    # a comparison finds a file that waits in the queue again
                    is_news = batch.is_hint or not self._queue.has(path)
                    if is_news and not self._queue.put(path, batch.number):
                        await self._give_up(path)

    async def _work(self) -> None:
        while True:
            path, number = await self._queue.take()
            try:
                await self._deliver(path, number)
            except Exception:
                logger.exception(_BUG)
            finally:
                self._queue.done(path)

    async def _deliver(self, path: str, number: int) -> None:
        async with self._live.use() as engine:
            name = self._files.event_name(path)
            hooks = self._find_hooks(engine, name, path) if name is not None else []
            change = await self._files.look(path, read=any(hook.id in self._approved for hook in hooks))
            if change is None or not hooks:
                return
            if change.event is not name and not self._find_hooks(engine, change.event, path):
                return
            # the diff of a large file takes a while
            data = await asyncio.to_thread(change.data)
            event = engine.event(change.event, data, session=self._session, cwd=self._root)
            with self._loop_guard.running(number):
                outcome = await engine.handle(event)
            self._report(event, outcome, number)

    def _find_hooks(self, engine: Engine, name: EventName, path: str) -> list[Hook]:
        """Return the hooks that may match a file, judged by its name only."""
        event = Event(name=name, data={"path": path}, session=self._session, cwd=self._root)
        return [
            hook
            for hook in engine.registry.get_hooks_for_event(name)
            if all(gate.passed for gate in engine.planner.gates(hook, event) if gate.gate not in _NEED_CONTENT)
        ]

    def _report(self, event: Event, outcome: Outcome, number: int) -> None:
        self._listener.on_outcome(event, outcome)
        jobs = frozenset(verdict.job for verdict in outcome.verdicts if verdict.job)
        until = monotonic() + _LONGEST_JOB
        self._queued_jobs.update((job, (number, until)) for job in jobs)
        if jobs and (self._job_watch is None or self._job_watch.done()):
            self._job_watch = self._group.create_task(self._wait_for_jobs())

    async def _wait_for_jobs(self) -> None:
        """Keep a round running as long as its queued jobs: what they change is not a change by the user."""
        while self._queued_jobs:
            asked = frozenset(self._queued_jobs)
            with self._loop_guard.running(max(number for number, _ in self._queued_jobs.values())):
                began = monotonic()
                left = await asyncio.to_thread(self._unfinished_jobs)
                now = monotonic()
                for job in asked:
                    if job not in left or self._queued_jobs[job][1] < now:
                        del self._queued_jobs[job]
                # do not query a long queue all the time
                await asyncio.sleep(max(_POLL_SECONDS, 10 * (now - began)))

    def _unfinished_jobs(self) -> frozenset[str]:
        from hookline.stores.queue import SqliteQueue  # noqa: PLC0415 - only where hooks run in the background

        with suppress(StoreError), closing(SqliteQueue(self._live.project.folders.data / "queue.db")) as queue:
            return queue.list_unfinished()
        return frozenset()

    async def _give_up(self, path: str) -> None:
        """Stop delivering a file that hooks change again and again."""
        engine = self._live.engine
        change = await self._files.look(path, read=bool(self._approved))
        if change is None or not self._find_hooks(engine, change.event, path):
            return
        text = (
            f"{path}: changed again each time hooks ran, so they are not run any more until it changes while none runs"
        )
        event = engine.event(change.event, {"path": path}, session=self._session, cwd=self._root)
        engine.bus.enqueue(record(event, Step.WARNING, {"message": text}))
        self._listener.on_message(text)

    def _start_scheduled(self, due: DueHook) -> None:
        name = due.hook.id
        if name in self._scheduled_running:
            self._listener.on_message(f'hook "{name}" is still running from the last time, so this time is left out')
            return
        self._scheduled_running.add(name)
        self._group.create_task(self._run_scheduled(due))

    async def _run_scheduled(self, due: DueHook) -> None:
        try:
            async with self._live.use() as engine:
                event = engine.event(EventName.SCHEDULED, due.data(), session=self._session, cwd=self._root)
                with self._loop_guard.running():
                    outcome = await engine.start(due.hook, event)
                self._report(event, outcome, 0)
        except Exception:
            logger.exception(_BUG)
        finally:
            self._scheduled_running.discard(due.hook.id)

    def _rules(self) -> GitIgnore:
        project = self._live.project
        folders = project.folders
        return GitIgnore(
            os.path.realpath(project.root),
            never=[str(folders.data)],
            home=folders.home,
            has_rules=self._options.has_rules,
        )


def select_file_hooks(hooks: Iterable[Hook]) -> list[Hook]:
    """Return the hooks that listen to file events."""
    return [hook for hook in hooks if hook.enabled and not set(FILE_EVENTS).isdisjoint(hook.on)]


def relative_paths(root: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """Return paths relative to a project; empty for all of it.

    Raises:
        ConfigError: A path does not exist, or is not in the project.
    """
    top = os.path.realpath(root)
    found: list[str] = []
    for path in paths:
        real = os.path.realpath(path)
        if not os.path.lexists(real):
            raise ConfigError(f"there is no {path}; a file that comes later is watched through its folder")
        if real != top and not real.startswith(f"{top.rstrip('/')}/"):
            raise ConfigError(f"{path} is not in the project {top}; name the other one with --project")
        found.append(os.path.relpath(real, top).replace(os.sep, "/") if real != top else "")
    return () if "" in found else tuple(found)


@contextmanager
def lock_project(root: str, data: Path) -> Iterator[None]:
    """Lock a project, so that it has one watcher: two would raise every event twice.

    The system releases the lock when the process ends, however it ends.

    Raises:
        EngineError: Another process has the lock.
        StoreError: The lock file cannot be created.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    path = data / "watching" / f"{name}.lock"
    try:
        make_private_folder(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem.strerror}; make sure that you may write there") from None
    try:
        try:
            import fcntl  # noqa: PLC0415 - does not exist on Windows

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except BlockingIOError:
            number = os.read(handle, 20).decode("ascii", "replace")
            who = f"process {number}" if number.isdecimal() else "another process"
            raise EngineError(f"{who} is watching {root} already; end that one first") from None
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)
