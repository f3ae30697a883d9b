"""Run queued jobs, several at once, until the queue is empty or the worker is stopped.

A job's hook is found as it is configured now. Trust and limits are checked again, and a failure decides about a retry.
"""

import asyncio
import logging
import os
from enum import StrEnum
from pathlib import Path
from time import monotonic, time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.engine.background import deliverable_effects, describe_too_late, make_letters
from hookline.engine.engine import Engine
from hookline.engine.trace_records import record
from hookline.errors import ConfigError, StoreError
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook
from hookline.model.job import InboxMessage, Job, JobState
from hookline.model.plan import Plan
from hookline.model.record import Step
from hookline.project_cache import ProjectCache
from hookline.stores import worker_registry
from hookline.stores.queue import SqliteQueue, mark_of

logger = logging.getLogger(__name__)

JOBS: Final = 4
IDLE: Final = 5.0  # seconds
FRESH: Final = 1.0  # seconds for which the jobs of one event share a project without a look at its files
_POLL: Final = 0.2  # seconds between looks into the queue
_MAINTENANCE: Final = 1.0  # seconds between looks for dead workers
_STDERR: Final = 2

MOST_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 5.0
_FACTOR: Final = 3.0
_JITTER: Final = 0.2

# a hook without its requirements or over its limits waits longer the longer it has waited, up to a day
_LONGEST_PAUSE: Final = 600.0
_LONGEST_WAIT: Final = 86_400.0

_RETRY: Final = "`hookline queue retry` runs it again"


class Done(Struct, frozen=True):
    """The hook ran, and left these letters for the agent; `note` names what of its answer came too late."""

    letters: tuple[InboxMessage, ...] = ()
    note: str = ""


class Retry(Struct, frozen=True):
    """The hook has to be tried again; with `began` it has run, and failed."""

    reason: str
    due: float
    began: bool = True


class Dead(Struct, frozen=True):
    """The hook is not tried again, unless the user asks for it."""

    reason: str


Result = Done | Retry | Dead


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


async def run_job(job: Job, projects: ProjectCache) -> Result:
    """Run a job's hook, if it may still run."""
    if not os.path.isdir(job.project):  # noqa: PTH112, ASYNC240 - one look at a local folder
        return Dead(f"there is no folder {job.project} any more")
    try:
        project = projects.open(Path(job.project))
        try:
            engine = project.engine
            # the agent has gone on; what hooks say waits for the next one
            engine.agent_listens = False
            hook = _find_hook(job, engine)
            if hook is None:
                result: Result = Dead(
                    f'there is no hook "{job.hook}" from {job.source} any more, or it is switched off'
                )
            elif not job.is_readable:
                result = Dead("its event was written by another version of Hookline, which this one cannot read")
            else:
                result = await _run_hook(job, hook, engine)
            _trace(engine, job, result)
            return result
        finally:
            await projects.release(project)
    except ConfigError as problem:
        return Dead(str(problem))


def _find_hook(job: Job, engine: Engine) -> Hook | None:
    """Find the hook of a job; one without a name may stand at another position in its file by now."""
    by_id = engine.registry.get_hook(job.hook)
    hooks = [by_id] if by_id is not None else []
    if job.mark:
        hooks = [hook for listed in engine.registry.get_all_hooks().values() for hook in listed]
    same = (hook for hook in hooks if hook.source_path == job.source and mark_of(hook) == job.mark)
    return next((hook for hook in same if hook.enabled), None)


async def _run_hook(job: Job, hook: Hook, engine: Engine) -> Result:
    given = {"id": job.id, "attempt": job.attempts, "redelivered": job.redelivered > 0}
    event = replace(job.event, data={**job.event.data, "job": given})
    # trust comes first: not even the requirements of a hook are looked at before it is known that it may run
    vetted = await engine.trust.vet(Plan(((hook,),)), event)
    for skip in vetted.skipped:
        return Dead(f"{skip.reason}; approve it with `hookline trust approve {hook.id}`, then {_RETRY}")
    keeper = engine.admission
    if keeper.applies_to(hook):
        held = await keeper.admit_queued(hook, event)
        if held is not None:
            return _retry_denied(job, held.reason)
    named = hook
    # a long-lived process reads the job from the event instead
    if not hook.persistent:
        redelivered = {"HOOKLINE_REDELIVERED": "1"} if job.redelivered else {}
        variables = {"HOOKLINE_JOB": job.id, "HOOKLINE_ATTEMPT": str(job.attempts), **redelivered}
        named = replace(hook, env={**hook.env, **variables})
    sealed = vetted.sealed.get(hook.id)
    verdict = (await engine.runner.execute_vetted(named, event, sealed)).verdict
    if keeper.applies_to(hook):
        await keeper.record(hook, event, sealed, verdict)
    if verdict.failure is None:
        folder = os.path.realpath(job.project)  # noqa: ASYNC240 - one look at a local folder
        return Done(
            tuple(make_letters(deliverable_effects(verdict), event, hook=job.hook, project=folder)),
            note=describe_too_late(verdict),
        )
    message = verdict.failure.message or str(verdict.failure.kind)
    # a refused hook is written wrongly, which waiting does not change
    return Dead(message) if verdict.failure.kind is FailureKind.REFUSED else retry_or_give_up(job, message)


def retry_or_give_up(job: Job, message: str) -> Result:
    """Retry a failed job after a pause, up to a number of failures."""
    if job.failures >= MOST_ATTEMPTS:
        return Dead(f"given up after {job.failures} failures, the last: {message}")
    return Retry(message, time() + backoff(job.failures))


def _retry_denied(job: Job, reason: str) -> Result:
    waited = time() - job.created
    if waited > _LONGEST_WAIT:
        return Dead(f"given up after a day: {reason}")
    return Retry(reason, time() + min(max(waited, _FIRST_PAUSE), _LONGEST_PAUSE), began=False)


def backoff(failures: int) -> float:
    """Return how many seconds to wait after so many failures: exponential, with jitter."""
    spread = 1 + _JITTER * (2 * int.from_bytes(os.urandom(2)) / 0xFFFF - 1)
    return _FIRST_PAUSE * _FACTOR ** max(failures - 1, 0) * spread


def _trace(engine: Engine, job: Job, result: Result) -> None:
    """Add a warning to the trace of the event where the hook's own records do not explain the result."""
    message = result.note if isinstance(result, Done) else ""
    if isinstance(result, Retry):
        message = f"job {job.id} is tried again in {max(result.due - time(), 0):.0f} s: {result.reason}"
    elif isinstance(result, Dead):
        message = f"job {job.id} is not tried again: {result.reason}; {_RETRY}"
    if message and engine.bus.listening:
        detail = {"message": message, "job": job.id, "attempt": job.attempts}
        engine.bus.enqueue(record(job.event, Step.WARNING, detail, hook=job.hook))
