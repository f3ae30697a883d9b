"""Run what waits in the queue, several jobs side by side, until there is nothing left or somebody ends it."""

import asyncio
import logging
from enum import StrEnum
from pathlib import Path
from time import monotonic, time
from typing import Final

from msgspec import Struct

from hookline.background.attempt import Dead, Done, Later, Result, attempt, failed
from hookline.background.projects import Projects
from hookline.errors import StoreError
from hookline.model.job import Job, JobState
from hookline.stores import standby
from hookline.stores.queue import SqliteQueue

logger = logging.getLogger(__name__)

JOBS: Final = 4
IDLE: Final = 5.0  # seconds
_LOOK: Final = 0.2  # seconds between looks into the queue
_ROUND: Final = 1.0  # seconds between looks for dead workers
_STDERR: Final = 2


class Until(StrEnum):
    """How long a worker works: `NOTHING_DUE` leaves what has to wait, `IDLE` is an empty queue for a while."""

    ENDED = "ended"
    NOTHING_DUE = "nothing due"
    EMPTY = "empty"
    IDLE = "idle"


class Tally(Struct):
    """What a worker has done."""

    done: int = 0
    later: int = 0
    dead: int = 0


class Worker:
    """One process that works on the queue in a data folder; as many as one likes may do so at once."""

    def __init__(self, data: Path, *, jobs: int = JOBS) -> None:
        self._data = data
        self._most = jobs
        self._queue = SqliteQueue(data / "queue.db", durable=False)
        self._projects = Projects()
        self._running: set[asyncio.Task[None]] = set()
        self._slot = standby.Slot(data)
        self._name = ""
        self._next_round = 0.0
        self._busy_at = monotonic()
        self.tally = Tally()

    async def work(self, until: Until = Until.ENDED, *, only_one: bool = False) -> bool:
        """Work until the queue is as it is wanted, or until this is cancelled.

        A worker that is to be the `only_one` leaves the work to another that is there: then this gives False.

        Raises:
            StoreError: The queue cannot be used. What was begun is taken up by others as soon as this one is gone.
        """
        # by hand, one works beside another; emitters rely on whoever has the place
        if not self._slot.take() and only_one:
            return False
        with standby.present(self._data) as self._name:
            try:
                while not await self._is_over(until):
                    await self._step()
            finally:
                await self._end()
        return True

    async def _step(self) -> None:
        if monotonic() >= self._next_round:
            self._next_round = monotonic() + _ROUND
            await asyncio.to_thread(self._go_round)
            await self._projects.tidy()
        free = self._most - len(self._running)
        for job in await asyncio.to_thread(self._queue.claim, self._name, free) if free else []:
            self._running.add(asyncio.create_task(self._do(job), name=f"job {job.id}"))
        if not self._running:
            await asyncio.sleep(_LOOK)
            return
        self._busy_at = monotonic()
        done, self._running = await asyncio.wait(self._running, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            # what could not be written down is the end of this worker: then others see that it is gone
            task.result()

    async def _is_over(self, until: Until) -> bool:
        if self._running or until is Until.ENDED:
            return False
        if until is Until.NOTHING_DUE:
            due = await asyncio.to_thread(self._queue.next_due)
            return due is None or due > time()
        if not await asyncio.to_thread(self._is_empty):
            self._busy_at = monotonic()
            return False
        if until is Until.IDLE and monotonic() - self._busy_at < IDLE:
            return False
        self._slot.leave()
        # An emitter that has put a job since we looked may have seen us here, and relied on it.
        return await asyncio.to_thread(self._is_empty) or not self._slot.take()

    def _is_empty(self) -> bool:
        counts = self._queue.counts()
        # what others are running may come back, if they die
        return not counts[JobState.WAITING] and not counts[JobState.RUNNING]

    def _go_round(self) -> None:
        """Take back what dead workers had, wait for no time that will not come, and keep our own log small."""
        self._queue.set_clock_right()
        for worker in self._queue.workers():
            if worker != self._name and not standby.is_alive(self._data, worker):
                count = self._queue.release(worker)
                standby.bury(self._data, worker)
                logger.info("worker %s died; %d jobs of it are run again", worker, count)
        standby.trim_log(_STDERR)

    async def _do(self, job: Job) -> None:
        try:
            result = await attempt(job, self._projects)
        except asyncio.CancelledError:
            # it may have done its work or not, like that of a worker that died
            self._queue.put_back(job, "its worker was ended", due=time(), is_redelivery=True)
            raise
        except StoreError as problem:
            # not the queue: what the hook itself is asked about, as the approvals
            result = failed(job, str(problem))
        except Exception as problem:
            logger.exception("job %s failed inside Hookline", job.id)
            result = failed(job, f"error inside Hookline: {problem!r}")
        await asyncio.to_thread(self._settle, job, result)

    def _settle(self, job: Job, result: Result) -> None:
        match result:
            case Done():
                self._queue.done(job, result.letters)
                self.tally.done += 1
            case Later():
                self._queue.put_back(job, result.reason, due=result.due, began=result.began)
                self.tally.later += 1
            case Dead():
                self._queue.bury(job, result.reason)
                self.tally.dead += 1

    async def _end(self) -> None:
        for task in self._running:
            task.cancel()
        # each says for itself what became of its job; who cannot has a lock that ends with us
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()
        await self._projects.close()
        self._queue.close()
        self._slot.leave()
