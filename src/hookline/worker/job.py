"""Run one queued job: find its hook as configured now, check trust and limits, run it, and decide about a retry."""

import os
from pathlib import Path
from time import time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.engine.background import deliverable_effects, describe_too_late, make_letters
from hookline.engine.engine import Engine
from hookline.engine.trace_records import record
from hookline.errors import ConfigError
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook
from hookline.model.job import InboxMessage, Job
from hookline.model.plan import Plan
from hookline.model.record import Step
from hookline.project_cache import ProjectCache
from hookline.stores.queue import mark_of

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
