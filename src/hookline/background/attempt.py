"""One attempt at one job: find the hook as it is now, ask who has to be asked, run it, say what became of it."""

import os
from time import time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.background.projects import Projects
from hookline.core.background import letters, said_by, too_late
from hookline.core.engine import Engine
from hookline.core.recording import record
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook
from hookline.model.job import Job, Letter
from hookline.model.plan import Plan
from hookline.model.record import Step
from hookline.model.verdict import Verdict
from hookline.stores.queue import mark_of

MOST_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 5.0
_FACTOR: Final = 3.0
_JITTER: Final = 0.2

# A hook that lacks something, or fails too often, waits longer the longer it has waited, and not for ever.
_LONGEST_PAUSE: Final = 600.0
_LONGEST_WAIT: Final = 86_400.0

_RETRY: Final = "`hookline queue retry` runs it again"


class Done(Struct, frozen=True):
    """The hook ran, and said this; `note` is what of its answer came too late."""

    letters: tuple[Letter, ...] = ()
    note: str = ""


class Later(Struct, frozen=True):
    """The hook has to be tried again; with `began` it has run, and failed."""

    reason: str
    due: float
    began: bool = True


class Dead(Struct, frozen=True):
    """The hook is not tried again, unless a person says so."""

    reason: str


Result = Done | Later | Dead


async def attempt(job: Job, projects: Projects) -> Result:
    """Run a job's hook, if it may still run."""
    try:
        async with projects.use(job.project) as opened:
            engine = opened.engine
            hook = _found(job, engine)
            if hook is None:
                result: Result = Dead(
                    f'there is no hook "{job.hook}" from {job.source} any more, or it is switched off'
                )
            elif not job.is_readable:
                result = Dead("its event was written by another version of Hookline, which this one cannot read")
            else:
                result = await _run(job, hook, engine)
            _tell(engine, job, result)
            return result
    except ConfigError as problem:
        return Dead(str(problem))


def _found(job: Job, engine: Engine) -> Hook | None:
    """Find the hook of a job. What has no name of its own may stand at another place of its file by now."""
    known = engine.registry.get_hook(job.hook)
    hooks = [known] if known is not None else []
    if job.mark:
        hooks = [hook for listed in engine.registry.get_all_hooks().values() for hook in listed]
    same = (hook for hook in hooks if hook.source_path == job.source and mark_of(hook) == job.mark)
    return next((hook for hook in same if hook.enabled), None)


async def _run(job: Job, hook: Hook, engine: Engine) -> Result:
    given = {"id": job.id, "attempt": job.attempts, "redelivered": job.redelivered > 0}
    event = replace(job.event, data={**job.event.data, "job": given})
    # nothing of a hook has any effect, not even what it needs is looked at, before it is known that it may run
    vetted = await engine.trust.vet(Plan(((hook,),)), event)
    for skip in vetted.skipped:
        return Dead(f"{skip.reason}; approve it with `hookline trust approve {hook.id}`, then {_RETRY}")
    keeper = engine.runner.doorkeeper
    is_kept = keeper is not None and keeper.concerns(hook)
    if keeper is not None and is_kept:
        held = await keeper.ask_later(hook, event)
        if held is not None:
            return _held(job, held.reason)
    sealed = vetted.sealed.get(hook.id)
    execution = await engine.runner.execute_vetted(_marked(hook, job), event, sealed)
    if keeper is not None and is_kept:
        await keeper.learn(hook, event, sealed, execution.verdict)
    return _result(job, event, execution.verdict)


def _marked(hook: Hook, job: Job) -> Hook:
    """Tell the hook's program which job this is; one that stays between events reads it from the event instead."""
    if hook.persistent:
        return hook
    marks = {"HOOKLINE_JOB": job.id, "HOOKLINE_ATTEMPT": str(job.attempts)}
    if job.redelivered:
        marks["HOOKLINE_REDELIVERED"] = "1"
    return replace(hook, env={**hook.env, **marks})


def _result(job: Job, event: Event, verdict: Verdict) -> Result:
    if verdict.failure is None:
        place = os.path.realpath(job.project)
        return Done(tuple(letters(said_by(verdict), event, hook=job.hook, project=place)), note=too_late(verdict))
    message = verdict.failure.message or str(verdict.failure.kind)
    if verdict.failure.kind is FailureKind.REFUSED:
        # how it is written does not change by waiting
        return Dead(message)
    return failed(job, message)


def failed(job: Job, message: str) -> Result:
    """Try again after a while, or give up."""
    if job.failures >= MOST_ATTEMPTS:
        return Dead(f"given up after {job.failures} failures, the last: {message}")
    return Later(message, time() + pause(job.failures))


def _held(job: Job, reason: str) -> Result:
    waited = time() - job.created
    if waited > _LONGEST_WAIT:
        return Dead(f"given up after a day: {reason}")
    return Later(reason, time() + min(max(waited, _FIRST_PAUSE), _LONGEST_PAUSE), began=False)


def pause(failures: int) -> float:
    """Say how many seconds to wait after so many failures: longer each time, and never all at the same moment."""
    spread = 1 + _JITTER * (2 * int.from_bytes(os.urandom(2)) / 0xFFFF - 1)
    return _FIRST_PAUSE * _FACTOR ** max(failures - 1, 0) * spread


def _tell(engine: Engine, job: Job, result: Result) -> None:
    """Write into the trace of the event what the hook's own lines do not say."""
    message = result.note if isinstance(result, Done) else ""
    if isinstance(result, Later):
        message = f"job {job.id} is tried again in {max(result.due - time(), 0):.0f} s: {result.reason}"
    elif isinstance(result, Dead):
        message = f"job {job.id} is not tried again: {result.reason}; {_RETRY}"
    if message and engine.bus.listening:
        detail = {"message": message, "job": job.id, "attempt": job.attempts}
        engine.bus.publish_soon(record(job.event, Step.WARNING, detail, hook=job.hook))
