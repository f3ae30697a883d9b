"""Hooks that stay: one process for many events, started when it is first asked, started again when it died.

All of them live on one event loop in a thread of its own. So one process serves every loop of the embedding program,
that of `emit_sync` included, and it does not matter which of them ends first.

A process belongs to one hook in one folder. Its environment is that of the event that started it. It is replaced when
the hook, its vetted bytes, or, where nobody had to vet it, the files its command names have changed. A question is
never asked twice: what a hook did before it died, nobody knows.
"""

import asyncio
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.kinds._job import Job, Launch
from hookline.kinds._replies import EXIT_NOT_STARTED, not_started, refused
from hookline.kinds._standing import Question, Standing, kill_group
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds a hook rests that died twice before it ever answered; twice as many each time, up to a minute."""

_FORGIVEN: Final = 1
_TAIL: Final = 300

_Stamp = tuple[tuple[str, int, int, int], ...]


class Order(Struct, frozen=True, kw_only=True):
    """One event for one hook, and how its process would be started."""

    hook: Hook
    draft: Job
    request: Request
    launch: Callable[[], Launch | Reply]
    another: Callable[[Job, int], Job | None]


class _Seat:
    """Where the process of one hook in one folder sits; what it was started for, and how often it died at once."""

    __slots__ = ("complaint", "deaths", "hook", "last", "lock", "process", "rests_until", "sealed", "stamp")

    def __init__(self) -> None:
        self.process: Standing | None = None
        self.hook: Hook | None = None
        self.sealed: object = None
        self.stamp: _Stamp = ()
        self.deaths = 0
        self.rests_until = 0.0
        self.last = ""
        self.complaint = ""
        self.lock = asyncio.Lock()

    def fits(self, order: Order, stamp: _Stamp) -> bool:
        """Say whether the process is what would be started now."""
        same = self.hook is order.hook or self.hook == order.hook
        vetted = order.request.sealed
        return same and (self.sealed is vetted or self.sealed == vetted) and self.stamp == stamp

    def leave(self, process: Standing) -> None:
        """Take note of how a process ended."""
        self.complaint = process.complaint or self.complaint
        if process.answered:
            self.deaths = 0
        elif process.fell:
            self.deaths += 1
        self.last = process.left[1].decode("utf-8", "replace").strip()
        if self.deaths > _FORGIVEN:
            pause = FIRST_PAUSE * 2 ** min(self.deaths - _FORGIVEN - 1, 10)
            self.rests_until = asyncio.get_running_loop().time() + min(pause, LONGEST_PAUSE)


class Persistent:
    """The processes that stay, of one engine."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._home: _Home | None = None
        self._tags = itertools.count(1)

    async def ask(self, order: Order, *, timeout: float) -> Reply:
        """Ask a hook's process and wait at most `timeout` seconds, its start included."""
        home = self._at_home()
        work = home.ask(order, next(self._tags), timeout=timeout)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home.loop))

    async def close(self) -> None:
        """End all processes, and wait until they are gone."""
        with self._starting:
            home, self._home = self._home, None
        if home is not None and home.alive:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(home.end(), home.loop))
            home.stop()

    def _at_home(self) -> "_Home":
        with self._starting:
            # a fork has the loop, but not its thread
            if self._home is None or not self._home.alive:
                self._home = _Home()
                weakref.finalize(self, _abandon, self._home)
            return self._home


class _Home:
    """The loop and the thread where processes that stay live."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._owner = os.getpid()
        self._seats: dict[tuple[str, str], _Seat] = {}
        self.living: dict[int, Standing] = {}
        self._thread = threading.Thread(target=_serve, args=(self.loop,), name="hookline-persistent", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether its thread runs in this process."""
        return self._owner == os.getpid() and self._thread.is_alive()

    def stop(self) -> None:
        """End the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    async def end(self) -> None:
        """End all processes, and wait until they are gone."""
        processes = list(self.living.values())
        for process in processes:
            process.end(Failure(FailureKind.KILLED, "was ended because the engine was closed"), for_good=True)
        tasks = [process.buried for process in processes if process.buried is not None]
        if tasks:
            await asyncio.wait(tasks)

    async def ask(self, order: Order, tag: int, *, timeout: float) -> Reply:
        """Find or start the process, ask it, and look whether its answer counts."""
        seat = self._seats.setdefault((order.hook.id, order.draft.folder), _Seat())
        try:
            async with asyncio.timeout(timeout) as limit:
                process, answer = await self._answered(seat, order, tag, limit)
        except TimeoutError:
            return _late(seat.process, timeout)
        if process is None:
            return answer
        if spoiled := process.launch.spoiled():
            process.end(Failure(FailureKind.REFUSED, spoiled))
            return refused(spoiled)
        if seat.complaint:
            answer = replace(answer, notes=(*answer.notes, seat.complaint))
            seat.complaint = ""
        return answer

    async def _answered(
        self, seat: _Seat, order: Order, tag: int, limit: asyncio.Timeout
    ) -> tuple[Standing | None, Reply]:
        """Ask until somebody was asked: who ended before does not count."""
        while True:
            async with seat.lock:
                process = await self._process(seat, order)
            if isinstance(process, Reply):
                return None, process
            answer = await process.ask(Question(order.request.document, tag, limit))
            if answer is not None:
                return process, answer

    async def _process(self, seat: _Seat, order: Order) -> Standing | Reply:
        stamp = _stamp(order.draft) if order.request.sealed is None else ()
        if seat.process is not None and seat.process.usable:
            if seat.fits(order, stamp):
                return seat.process
            seat.process.retire()
        if not seat.fits(order, stamp):
            # whoever changed it may have mended it
            seat.deaths, seat.rests_until = 0, 0.0
        left = seat.rests_until - self.loop.time()
        if left > 0:
            return Reply(failure=_resting(seat, left), exit_code=EXIT_NOT_STARTED)
        launch = order.launch()
        if isinstance(launch, Reply):
            return launch
        seat.hook, seat.sealed, seat.stamp = order.hook, order.request.sealed, stamp
        try:
            seat.process = await self._started(launch, seat, order)
        except (OSError, ValueError) as problem:
            launch.release()
            return not_started(launch.job.program, launch.job.cwd, launch.words, problem=problem)
        return seat.process

    async def _started(self, launch: Launch, seat: _Seat, order: Order) -> Standing:
        try:
            return await self._start(launch, seat)
        except OSError as problem:
            other = order.another(launch.job, problem.errno or 0)
            if other is None:
                raise
        return await self._start(replace(launch, job=other), seat)

    async def _start(self, launch: Launch, seat: _Seat) -> Standing:
        process = Standing(launch, leave=seat.leave, forget=self._forget)
        job = launch.job
        starting = asyncio.ensure_future(
            self.loop.subprocess_exec(
                lambda: process,
                *job.argv,
                executable=job.program,
                env=job.env,
                cwd=job.cwd or None,
                process_group=0,
                umask=job.umask,
                pass_fds=job.files,
            )
        )
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # whoever asked gave up; the process may be half there
            starting.add_done_callback(lambda done: self._unwanted(process, done))
            raise
        self.living[process.pid] = process
        return process

    def _forget(self, process: Standing) -> None:
        self.living.pop(process.pid, None)

    def _unwanted(
        self, process: Standing, started: "asyncio.Future[tuple[asyncio.SubprocessTransport, Standing]]"
    ) -> None:
        if started.cancelled() or started.exception() is not None:
            process.launch.release()
            return
        self.living[process.pid] = process
        process.end(Failure(FailureKind.KILLED, "was ended because nobody waited for it any more"))


# not a method: the thread must not keep alive who started it
def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    while left := asyncio.all_tasks(loop):
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.close()


def _abandon(home: "_Home") -> None:
    """Leave nothing behind of an engine that was never closed."""
    if home.alive:
        for pid in list(home.living):
            kill_group(pid)
        home.loop.call_soon_threadsafe(home.loop.stop)


def _late(process: Standing | None, timeout: float) -> Reply:
    stdout, stderr = process.left if process is not None else (b"", b"")
    said = stdout.decode("utf-8", "replace").strip()
    instead = f"; it printed, and that is not one line of JSON: {said[-_TAIL:]}" if said else ""
    failure = Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; ended{instead}")
    return Reply(failure=failure, stdout=stdout, stderr=stderr, exit_code=1)


def _resting(seat: _Seat, seconds: float) -> Failure:
    said = f": {seat.last[-_TAIL:]}" if seat.last else ""
    text = f"its process ended {seat.deaths} times before it answered anything{said}; started again in {seconds:.0f} s"
    return Failure(FailureKind.UNAVAILABLE, text)


def _stamp(draft: Job) -> _Stamp:
    """Say which files a command names, and when they changed: an edited script is a new script."""
    found = []
    for word in draft.argv or draft.script.split():
        path = os.path.join(draft.folder, word.strip("\"'"))  # noqa: PTH118 - asked at each event
        try:
            info = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        found.append((path, info.st_ino, info.st_size, info.st_mtime_ns))
    return tuple(found)
