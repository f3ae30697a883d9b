"""Run queued jobs, several at once, until the queue is empty or the worker is stopped."""

import asyncio
import logging
from enum import StrEnum
from pathlib import Path
from time import monotonic, time
from typing import Final

from msgspec import Struct

from hookline.errors import StoreError
from hookline.model.job import Job, JobState
from hookline.project_cache import ProjectCache
from hookline.stores import worker_registry
from hookline.stores.queue import SqliteQueue
from hookline.worker.job import Dead, Done, Result, Retry, retry_or_give_up, run_job

logger = logging.getLogger(__name__)

JOBS: Final = 4
IDLE: Final = 5.0  # seconds
FRESH: Final = 1.0  # seconds for which the jobs of one event share a project without a look at its files
_POLL: Final = 0.2  # seconds between looks into the queue
_MAINTENANCE: Final = 1.0  # seconds between looks for dead workers
_STDERR: Final = 2


class Until(StrEnum):
    """When a worker stops: `NOTHING_DUE` leaves jobs that have to wait, `IDLE` is an empty queue for a while."""

    ENDED = "ended"
    NOTHING_DUE = "nothing due"
    EMPTY = "empty"
    IDLE = "idle"


class Tally(Struct):
    """Counts of finished jobs; `elsewhere` are jobs that were there at the start and other workers finished."""

    done: int = 0
    later: int = 0
    dead: int = 0
    elsewhere: int = 0


class Worker:
    """One process that works on the queue in a data folder; several may do so at once."""

    def __init__(self, data: Path, *, jobs: int = JOBS) -> None:
        self._data = data
        self._most = jobs
        self._queue = SqliteQueue(data / "queue.db", durable=False)
        self._projects = ProjectCache(fresh=FRESH)
        self._running: set[asyncio.Task[None]] = set()
        self._slot = worker_registry.WorkerSlot(data)
        self._name = ""
        self._next_maintenance = 0.0
        self._busy_at = monotonic()
        self._handled: set[str] = set()
        self.tally = Tally()

    async def work(self, until: Until = Until.ENDED, *, only_one: bool = False) -> bool:
        """Work until the queue is as wanted, or until this is cancelled.

        With `only_one`, return False at once where another worker holds the slot.

        Raises:
            StoreError: The queue cannot be used. Other workers take up the jobs of this one as soon as it is gone.
        """
        # `hookline queue work` runs beside another worker; emitters rely on the one that holds the slot
        if not self._slot.take() and only_one:
            return False
        found = await asyncio.to_thread(self._queue.list_unfinished)
        with worker_registry.register_worker(self._data) as self._name:
            try:
                while not await self._is_over(until):
                    await self._step()
                left = await asyncio.to_thread(self._queue.list_unfinished)
                self.tally.elsewhere = len(found - left - self._handled)
            finally:
                for task in self._running:
                    task.cancel()
                # each task puts its job back; where it cannot, other workers see our lock released
                await asyncio.gather(*self._running, return_exceptions=True)
                self._running.clear()
                await self._projects.close()
                self._queue.close()
                self._slot.leave()
        return True

    async def _step(self) -> None:
        if monotonic() >= self._next_maintenance:
            self._next_maintenance = monotonic() + _MAINTENANCE
            await asyncio.to_thread(self._maintain)
            self._projects.tidy()
        free = self._most - len(self._running)
        for job in await asyncio.to_thread(self._queue.claim, self._name, free) if free else []:
            self._handled.add(job.id)
            self._running.add(asyncio.create_task(self._do(job), name=f"job {job.id}"))
        if not self._running:
            await asyncio.sleep(_POLL)
            return
        self._busy_at = monotonic()
        done, self._running = await asyncio.wait(self._running, timeout=_POLL, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            # a result that could not be stored ends this worker: then others see that it is gone
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
        # An emitter that queued a job since we looked may have seen the slot taken, and started no worker.
        return await asyncio.to_thread(self._is_empty) or not self._slot.take()

    def _is_empty(self) -> bool:
        counts = self._queue.counts()
        # jobs that other workers run come back if those die
        return not counts[JobState.WAITING] and not counts[JobState.RUNNING]

    def _maintain(self) -> None:
        """Take back the jobs of dead workers, correct due times after a clock change, and trim our log."""
        self._queue.set_clock_right()
        for worker in self._queue.workers():
            if worker != self._name and not worker_registry.is_alive(self._data, worker):
                count = self._queue.release(worker)
                worker_registry.remove_worker(self._data, worker)
                logger.info("worker %s died; %d jobs of it are run again", worker, count)
        worker_registry.trim_log(_STDERR)

    async def _do(self, job: Job) -> None:
        try:
            result = await run_job(job, self._projects)
        except asyncio.CancelledError:
            # the hook may have done its work or not, as with a worker that died
            self._queue.put_back(job, "its worker was ended", due=time(), is_redelivery=True)
            raise
        except StoreError as problem:
            # not the queue: a store that running the hook needs, such as the approvals
            result = retry_or_give_up(job, str(problem))
        except Exception as problem:
            logger.exception("job %s failed inside Hookline", job.id)
            result = retry_or_give_up(job, f"error inside Hookline: {problem!r}")
        await asyncio.to_thread(self._settle, job, result)

    def _settle(self, job: Job, result: Result) -> None:
        match result:
            case Done():
                self._queue.finish(job, result.letters)
                self.tally.done += 1
            case Retry():
                self._queue.put_back(job, result.reason, due=result.due, began=result.began)
                self.tally.later += 1
            case Dead():
                self._queue.bury(job, result.reason)
                self.tally.dead += 1
