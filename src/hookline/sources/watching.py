"""`hookline watch`: files and the clock, turned into events for the hooks that want them."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic, time
from typing import Final

from msgspec import Struct

from hookline.core.engine import Engine
from hookline.core.recording import record
from hookline.errors import ConfigError, StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.session import Session
from hookline.model.verdict import Outcome
from hookline.sources import schedule
from hookline.sources.configured import Configured
from hookline.sources.files import POLLING, QUIET, Files
from hookline.sources.ignoring import Ignoring
from hookline.sources.pending import Pending
from hookline.sources.rounds import Rounds
from hookline.sources.schedule import Due, Timetable
from hookline.sources.tree import Tree
from hookline.workspace import Opened

logger = logging.getLogger(__name__)

FILE_EVENTS: Final = (EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED)

# files that hooks are told of side by side
AT_ONCE: Final = 4
# how often it is asked whether a job from the queue has ended, and how long that is asked at most, in seconds
_ASKING: Final = 0.5
_LONGEST_JOB: Final = 600.0

# what cannot be said of a file before it was read
_LATER: Final = frozenset({Gate.CONDITION})


class Audience(Struct, frozen=True):
    """Who hears of what is going on: of each event and its outcome, of each load, and of what else is to be said."""

    hear: Callable[[Event, Outcome], None]
    loaded: Callable[[Opened], None]
    tell: Callable[[str], None]


class Watching(Struct, frozen=True, kw_only=True):
    """What the person wants to be watched, and how."""

    paths: tuple[str, ...] = ()
    quiet: float = QUIET
    has_rules: bool = True


class Watcher:
    """Raise the events of a project's files and clock until it is cancelled."""

    def __init__(self, configured: Configured, audience: Audience, wanted: Watching) -> None:
        self._configured = configured
        self._audience = audience
        self._wanted = wanted
        # a hook's own change has to have come before it counts as somebody else's
        self._rounds = Rounds(grace=POLLING + 2 * wanted.quiet)
        self._pending = Pending(self._rounds)
        self._timetable = Timetable()
        self._session = Session(id=f"watch-{int(time() * 1000):x}-{os.getpid():x}")
        root = os.path.realpath(configured.opened.root)
        self._files = Files(
            Tree(root, self._rules(), wanted.paths),
            rules=self._rules,
            number=lambda: self._rounds.number,
            tell=audience.tell,
            quiet=wanted.quiet,
        )
        self._root = root
        self._cleared: frozenset[str] = frozenset()
        self._following: asyncio.Task[None] | None = None
        self._ticking: set[str] = set()
        # the jobs in the queue, with the round they belong to and when they are given up
        self._owed: dict[str, tuple[int, float]] = {}
        self._outlasting: asyncio.Task[None] | None = None
        self._group = asyncio.TaskGroup()

    async def run(self) -> None:
        """Watch.

        Raises:
            EngineError: The project is not there any more.
        """
        try:
            async with self._group as group:
                self._take(self._configured.opened)
                group.create_task(self._reload())
                group.create_task(schedule.run(self._timetable, self._tick))
                group.create_task(self._pending.revive())
                for _ in range(AT_ONCE):
                    group.create_task(self._work())
        except BaseExceptionGroup as problems:
            raise _first(problems) from None

    def _take(self, opened: Opened) -> None:
        """Act on what is configured now."""
        engine = opened.engine
        hooks = [hook for hook in opened.loaded.hooks if engine.registry.has_hook(hook.id)]
        self._timetable.set(hooks)
        about_files = file_hooks(hooks)
        had_readers = bool(self._cleared)
        self._cleared = frozenset(hook.id for hook in self._configured.cleared(about_files))
        if about_files and self._following is None:
            self._following = self._group.create_task(self._follow())
        elif self._cleared and not had_readers:
            # an approval came: from here on somebody wants to know what is different
            self._group.create_task(self._files.read_all())
        elif not about_files and self._following is not None:
            self._following.cancel()
            self._following = None
        self._audience.loaded(opened)

    async def _reload(self) -> None:
        async for opened in self._configured.reloads():
            self._take(opened)

    async def _follow(self) -> None:
        await self._files.start(read=bool(self._cleared))
        async with aclosing(self._files.changes()) as changes:
            async for batch in changes:
                for path in sorted(batch.paths):
                    # what waits for its turn is still different, which is no news
                    is_news = batch.is_hint or not self._pending.has(path)
                    if is_news and not self._pending.put(path, batch.number):
                        await self._give_up(path)

    async def _work(self) -> None:
        while True:
            path, number = await self._pending.take()
            try:
                await self._deliver(path, number)
            except Exception:
                logger.exception("this is a bug in hookline; please report it with the lines below")
            finally:
                self._pending.done(path)

    async def _deliver(self, path: str, number: int) -> None:
        async with self._configured.using() as opened:
            engine = opened.engine
            name = self._files.event_of(path)
            hooks = self._interested(engine, name, path) if name is not None else []
            change = await self._files.look(path, read=any(hook.id in self._cleared for hook in hooks))
            if change is None or (change.event is not name and not self._interested(engine, change.event, path)):
                return
            if not hooks:
                return
            # what is different in a large file takes its time
            data = await asyncio.to_thread(change.data)
            event = engine.event(change.event, data, session=self._session, cwd=self._root)
            with self._rounds.running(number):
                outcome = await engine.handle(event)
            self._heard(event, outcome, number)

    def _interested(self, engine: Engine, name: EventName, path: str) -> list[Hook]:
        """Find the hooks that may want to hear of a file, as far as that can be said from its name."""
        event = Event(name=name, data={"path": path}, session=self._session, cwd=self._root)
        return [
            hook
            for hook in engine.registry.get_hooks_for_event(name)
            if all(gate.passed for gate in engine.planner.gates(hook, event) if gate.gate not in _LATER)
        ]

    def _heard(self, event: Event, outcome: Outcome, number: int) -> None:
        self._audience.hear(event, outcome)
        jobs = frozenset(verdict.job for verdict in outcome.verdicts if verdict.job)
        until = monotonic() + _LONGEST_JOB
        self._owed.update((job, (number, until)) for job in jobs)
        if jobs and (self._outlasting is None or self._outlasting.done()):
            self._outlasting = self._group.create_task(self._outlast())

    async def _outlast(self) -> None:
        """Let a round go on as long as its jobs in the queue do: what they change is not somebody else's."""
        while self._owed:
            asked = frozenset(self._owed)
            with self._rounds.running(max(number for number, _ in self._owed.values())):
                began = monotonic()
                left = await asyncio.to_thread(self._unfinished)
                now = monotonic()
                for job in asked:
                    if job not in left or self._owed[job][1] < now:
                        del self._owed[job]
                # a long queue is not asked all the time
                await asyncio.sleep(max(_ASKING, 10 * (now - began)))

    def _unfinished(self) -> frozenset[str]:
        from hookline.stores.queue import SqliteQueue  # noqa: PLC0415 - only where hooks run in the background

        queue = SqliteQueue(self._configured.opened.folders.data / "queue.db")
        try:
            return queue.unfinished()
        except StoreError:
            return frozenset()
        finally:
            queue.close()

    async def _give_up(self, path: str) -> None:
        """Take a file for told that hooks change again and again."""
        engine = self._configured.engine
        change = await self._files.look(path, read=bool(self._cleared))
        if change is None or not self._interested(engine, change.event, path):
            return
        text = (
            f"{path}: changed again each time hooks ran, so they are not run any more until it changes while none runs"
        )
        event = engine.event(change.event, {"path": path}, session=self._session, cwd=self._root)
        engine.bus.publish_soon(record(event, Step.WARNING, {"message": text}))
        self._audience.tell(text)

    def _tick(self, due: Due) -> None:
        name = due.hook.id
        if name in self._ticking:
            self._audience.tell(f'hook "{name}" is still running from the last time, so this time is left out')
            return
        self._ticking.add(name)
        self._group.create_task(self._start(due))

    async def _start(self, due: Due) -> None:
        try:
            async with self._configured.using() as opened:
                event = opened.engine.event(EventName.SCHEDULED, due.data(), session=self._session, cwd=self._root)
                with self._rounds.running():
                    outcome = await opened.engine.start(due.hook, event)
                self._heard(event, outcome, 0)
        except Exception:
            logger.exception("this is a bug in hookline; please report it with the lines below")
        finally:
            self._ticking.discard(due.hook.id)

    def _rules(self) -> Ignoring:
        opened = self._configured.opened
        folders = opened.folders
        return Ignoring(
            os.path.realpath(opened.root),
            never=[str(folders.data)],
            home=folders.home,
            has_rules=self._wanted.has_rules,
        )


def file_hooks(hooks: Iterable[Hook]) -> list[Hook]:
    """Choose the hooks that are about files."""
    return [hook for hook in hooks if hook.enabled and not set(FILE_EVENTS).isdisjoint(hook.on)]


def paths_in(root: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """Count paths from a project.

    Raises:
        ConfigError: One is not there, or not in the project.
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


def _first(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    problem: BaseException = problems
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
