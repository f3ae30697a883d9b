"""`hookline watch`: raise events for changed files and for schedules.

Hooks that change files run hooks, which change files. A change while nothing runs is the user's: it starts in round 0. A change
while hooks run, or right after, may be theirs: its round is one higher than the highest of those. Runs that ended earlier do not
count, so that a hook on a schedule does not push each save into a later round. The first rounds run at once. Later ones wait
until it was quiet for longer and longer, and after the last nothing runs until a change comes in round 0. So every loop ends, and
a user who saves a file while hooks run is served all the same.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from time import monotonic, time
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from hookline.config.cron import last_time, next_time
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
from hookline.sources.file_changes import POLLING, QUIET, FileMonitor, FileTree
from hookline.sources.gitignore import GitIgnore
from hookline.sources.live_project import LiveProject

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

# rounds of changes that may be by hooks, and the seconds of quiet before each of the further ones
ROUNDS_AT_ONCE: Final = 5
ROUND_WAITS: Final = (2.0, 10.0, 60.0)
LAST_ROUND: Final = ROUNDS_AT_ONCE + len(ROUND_WAITS)
# seconds at least until a waiting file is looked at again
_SHORTEST_SLEEP: Final = 0.05

# Timers do not count the time that a machine was suspended: the clock is checked at least this often.
LONGEST_SLEEP: Final = 20.0
# A clock that is set back by more than this was wrong before, and all times are computed anew. After less, nothing runs
# a second time.
_SET_BACK: Final = 3 * 3600.0

_LOCAL: Final = Path("/etc/localtime")
_ZONES: Final = "/zoneinfo/"

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


class LoopGuard:
    """Tracks the runs of hooks, and assigns changes to rounds.

    Up to `grace` seconds after a run, a change counts as one that the run made.
    """

    def __init__(self, grace: float, *, clock: Clock = monotonic) -> None:
        self._grace = grace
        self._clock = clock
        self._running: list[int] = []
        # when the last run of each round ended
        self._ended: dict[int, float] = {}

    @property
    def number(self) -> int:
        """The round of a change that arrives now; 0 for one by the user."""
        since = self._clock() - self._grace
        recent = [number for number, ended in self._ended.items() if ended > since]
        return max((*self._running, *recent), default=-1) + 1

    @property
    def quiet(self) -> float:
        """Seconds since the last run ended."""
        return 0.0 if self._running else self._clock() - max(self._ended.values(), default=float("-inf"))

    @contextmanager
    def running(self, number: int = 0) -> Iterator[None]:
        """Note that hooks run for a change of this round."""
        self._running.append(number)
        try:
            yield
        finally:
            self._running.remove(number)
            self._ended[number] = self._clock()


def required_quiet(number: int) -> float | None:
    """Return the seconds of quiet before a round may run, or None where it may not run at all."""
    if number <= ROUNDS_AT_ONCE:
        return 0.0
    return ROUND_WAITS[number - ROUNDS_AT_ONCE - 1] if number <= LAST_ROUND else None


class FileQueue:
    """Queue of the files that may have changed, each with its round; a file is delivered to one worker at a time."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard
        self._waiting: dict[str, int] = {}
        self._taken: set[str] = set()
        self._is_changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many files wait or are being delivered."""
        return len(self._waiting) + len(self._taken)

    def put(self, path: str, number: int) -> bool:
        """Enqueue a file; return False where it has had too many rounds."""
        if required_quiet(number) is None:
            return False
        self._waiting.pop(path, None)
        self._waiting[path] = number
        self._is_changed.set()
        return True

    def has(self, path: str) -> bool:
        """Return whether a file waits already."""
        return path in self._waiting

    async def take(self) -> tuple[str, int]:
        """Wait for the next file, and for the quiet that its round needs; no other worker gets it until it is `done`."""
        while True:
            pause: float | None = None
            quiet = self._guard.quiet
            for path, number in self._waiting.items():
                if path in self._taken:
                    continue
                left = (required_quiet(number) or 0.0) - quiet
                if left <= 0:
                    self._taken.add(path)
                    return path, self._waiting.pop(path)
                pause = left if pause is None else min(pause, left)
            self._is_changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if pause is None else max(pause, _SHORTEST_SLEEP)):
                    await self._is_changed.wait()

    def done(self, path: str) -> None:
        """Release a file; a change that arrived meanwhile is delivered."""
        self._taken.discard(path)
        self._is_changed.set()


class DueHook(Struct, frozen=True):
    """A hook that is due, and the time it was due at; after a pause the last of the missed times."""

    hook: Hook
    at: datetime

    def data(self) -> dict[str, object]:
        """Return the data of the event."""
        return {"hook": self.hook.id, "schedule": self.hook.schedule, "due": int(self.at.timestamp() * 1000)}


class Timetable:
    """Knows when each hook is due. Times are local wall-clock times, also across daylight saving changes."""

    def __init__(self, *, clock: Clock = time, zone: tzinfo | None = None) -> None:
        self._clock = clock
        self._zone = zone or local_zone()
        self._times: dict[str, tuple[Hook, datetime]] = {}
        self._seen = clock()

    def set(self, hooks: Iterable[Hook]) -> None:
        """Replace the hooks; a hook with an unchanged schedule keeps its next time."""
        now = self._now()
        wanted = {hook.id: hook for hook in hooks if hook.schedule and hook.enabled}
        before = self._times
        self._times = {}
        for name, hook in wanted.items():
            earlier = before.get(name)
            is_unchanged = earlier is not None and earlier[0].schedule == hook.schedule
            self._times[name] = (hook, earlier[1] if earlier and is_unchanged else next_time(hook.schedule, now))

    @property
    def times(self) -> Mapping[str, datetime]:
        """The next time of each hook."""
        return {name: at for name, (_, at) in self._times.items()}

    def due(self) -> list[DueHook]:
        """Return the hooks that are due, the earliest first; each once, even if it missed several times."""
        now = self._now()
        if now.timestamp() < self._seen - _SET_BACK:
            self._times = {name: (hook, next_time(hook.schedule, now)) for name, (hook, _) in self._times.items()}
        self._seen = now.timestamp()
        due: list[DueHook] = []
        for name, (hook, at) in self._times.items():
            if at > now:
                continue
            due.append(DueHook(hook, max(at, last_time(hook.schedule, now))))
            self._times[name] = (hook, next_time(hook.schedule, now))
        return sorted(due, key=lambda due: due.at)

    def pause(self) -> float:
        """Return the seconds until the next hook is due, or the longest sleep."""
        if not self._times:
            return LONGEST_SLEEP
        next_at = min(at for _, at in self._times.values())
        return min(max(next_at.timestamp() - self._clock(), 0.0), LONGEST_SLEEP)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC).astimezone(self._zone)


async def run_schedule(timetable: Timetable, start: Callable[[DueHook], None], *, sleep: Sleep = asyncio.sleep) -> None:
    """Start every hook at its times, for ever."""
    while True:
        await sleep(timetable.pause())
        for due in timetable.due():
            start(due)


def local_zone() -> tzinfo:
    """Return the time zone of this machine; where the system does not name it, the present offset."""
    with suppress(OSError, ValueError, KeyError):
        name = os.environ.get("TZ", "").removeprefix(":")
        if name:
            return ZoneInfo(name)
        real = os.path.realpath(_LOCAL)
        if _ZONES in real:
            return ZoneInfo(real.rpartition(_ZONES)[2])
        with _LOCAL.open("rb") as file:
            return ZoneInfo.from_file(file)
    return datetime.now().astimezone().tzinfo or UTC


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
                group.create_task(run_schedule(self._timetable, self._start_scheduled))
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
