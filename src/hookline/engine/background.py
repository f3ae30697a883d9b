"""Work that no caller waits for: background hooks, notifications, and messages for an agent that is not there."""

import asyncio
import inspect
import logging
import os
import threading
from asyncio import TimerHandle
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from time import monotonic, time
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from hookline.engine.admission import AdmissionControl
from hookline.engine.bus import MessageBus
from hookline.engine.filters import EventSubjects
from hookline.engine.trace_records import record
from hookline.errors import EngineError, StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.job import LONGEST_DEBOUNCE, EventRef, InboxMessage, fold_events
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from hookline.ports import JobQueue

logger = logging.getLogger(__name__)

# called with a prompt and its event by a program that can pass prompts to its agent
TellAgent = Callable[[str, Event], object]
# runs a background hook when its time has come
RunHook = Callable[[Hook, Event], Awaitable[Verdict]]

# the events at which an agent takes messages: it starts, is about to work, or would stop
INBOX_EVENTS: Final = frozenset({EventName.SESSION_START, EventName.BEFORE_AGENT, EventName.AFTER_AGENT})

_DELIVERABLE: Final = frozenset({EffectKind.ASK_AGENT, EffectKind.CONTEXT, EffectKind.MESSAGE})


class _PendingRun(Struct, frozen=True):
    """A run that waits in this process until its debounce is over."""

    hook: Hook
    event: Event
    run: RunHook
    timer: TimerHandle
    since: float


class Background:
    """Queue background hooks, and deliver messages to the agent.

    Another process cannot find functions of this program and hooks that it constructed: they run as tasks here, as does
    every background hook without a queue.
    """

    def __init__(
        self,
        bus: MessageBus,
        admission: AdmissionControl,
        subjects: EventSubjects,
        *,
        queue: JobQueue | None = None,
        tell_agent: TellAgent | None = None,
        project: str,
    ) -> None:
        self._bus = bus
        self._admission = admission
        self._subjects = subjects
        self._queue = queue
        self._tell_agent = tell_agent
        self._project = project
        # the inbox is found by real path: an agent may reach the folder through a link
        self._inbox = os.path.realpath(project)
        self._tasks = TaskSet("background hook")
        self._pending: dict[tuple[str, str], _PendingRun] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()

    async def enqueue(self, hook: Hook, event: Event, run: RunHook) -> str:
        """Queue a run of a hook, and return the id of the job; `run` is used where this process has to run it.

        Raises:
            StoreError: The queue cannot store it.
        """
        jobs = [await self._put(hook, part, subject, run) for subject, part in self._split(hook, event)]
        return jobs[0]

    def _split(self, hook: Hook, event: Event) -> list[tuple[str, Event]]:
        """Return the runs that an event is queued as: with a debounce, one for each of its subjects."""
        if hook.batch:
            files = self._subjects.files(hook, event)
            return [("", replace(event, files=files) if files else event)]
        if not hook.debounce:
            return [("", event)]
        subjects = self._subjects.debounce_keys(hook, event)
        if len(subjects) == 1:
            return [(subjects[0], event)]
        return [(path, replace(event, files=(path,))) for path in subjects]

    async def _put(self, hook: Hook, event: Event, subject: str, run: RunHook) -> str:
        # every process finds a built-in hook, and no other function
        is_builtin = hook.source is Source.BUILTIN and hook.layer is not Layer.PROGRAM
        is_found = is_builtin or (hook.source_path and hook.kind != "function")
        if self._queue is None or not is_found:
            return self._put_here(hook, event, subject, run)
        # in a thread: another process may hold the lock of the file
        ticket = await asyncio.to_thread(self._queue.put, hook, event, project=self._project, subject=subject)
        if ticket.instead_of is not None:
            self._trace_fold(ticket.instead_of, hook, event)
        return ticket.id

    def _put_here(self, hook: Hook, event: Event, subject: str, run: RunHook) -> str:
        key = (hook.id, subject)
        earlier = self._pending.pop(key, None)
        if earlier is not None:
            earlier.timer.cancel()
            old = earlier.event
            self._trace_fold(EventRef(trace=old.id, name=old.name, session=old.session.id), hook, event)
            event = fold_events(hook, old, event)
        if hook.quiet:
            since = earlier.since if earlier is not None else monotonic()
            # a burst without an end does not delay the run forever
            quiet = min(hook.quiet, since + hook.quiet * LONGEST_DEBOUNCE - monotonic())
            timer = asyncio.get_running_loop().call_later(max(quiet, 0.0), self._start, key)
            self._pending[key] = _PendingRun(hook, event, run, timer, since)
        else:
            self._tasks.start(self._run(hook, event, run))
        return f"here-{os.urandom(6).hex()}"

    def _start(self, key: tuple[str, str]) -> None:
        pending = self._pending.pop(key, None)
        if pending is not None:
            pending.timer.cancel()
            self._tasks.start(self._run(pending.hook, pending.event, pending.run))

    async def _run(self, hook: Hook, event: Event, run: RunHook) -> None:
        """Run a hook as the queue would: without `parallel`, one run at a time."""
        if hook.parallel:
            await self._run_now(hook, event, run)
            return
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(hook.id, asyncio.Lock()):
            await self._run_now(hook, event, run)

    async def _run_now(self, hook: Hook, event: Event, run: RunHook) -> None:
        # limits were checked when the run was queued; requirements and the breaker are checked now
        denied = await self._admission.admit_queued(hook, event)
        if denied is not None:
            if self._bus.listening:
                detail = {"gate": denied.gate, "reason": denied.reason}
                self._bus.enqueue(record(event, Step.SKIPPED, detail, hook=hook.id))
            return
        verdict = await run(hook, event)
        if self._admission.applies_to(hook):
            await self._admission.record(hook, event, None, verdict)
        if problem := describe_too_late(verdict):
            self._warn(event, hook.id, problem)
        effects = [effect for effect in deliverable_effects(verdict) if not await self._try_tell(effect, event)]
        await self._post(make_letters(effects, event, hook=hook.id, project=self._inbox), event)

    async def deliver(self, outcome: Outcome, event: Event, *, listens: bool) -> Outcome:
        """Pass prompts to the agent; prompts that stay in the outcome are left to the calling agent.

        The program's own callback takes them. Without one, and where no agent `listens`, they go to the project's inbox.
        """
        prompts = [effect for effect in outcome.effects if effect.kind is EffectKind.ASK_AGENT]
        if not prompts or (self._tell_agent is None and listens):
            return outcome
        if self._tell_agent is not None:
            delivered = [effect for effect in prompts if await self._try_tell(effect, event)]
        else:
            hook_of = {id(effect): verdict.hook for verdict in outcome.verdicts for effect in verdict.effects}
            letters = [
                letter
                for effect in prompts
                for letter in make_letters([effect], event, hook=hook_of.get(id(effect), ""), project=self._inbox)
            ]
            delivered = prompts if await self._post(letters, event) else []
        # by identity: of two equal prompts, one may have been delivered and the other not
        done = {id(effect) for effect in delivered}
        return replace(outcome, effects=tuple(effect for effect in outcome.effects if id(effect) not in done))

    async def collect(self, outcome: Outcome, event: Event) -> Outcome:
        """Add the messages in the inbox to an outcome; an agent cannot act on them with a blocked one."""
        if self._queue is None or event.chain or outcome.blocked:
            return outcome
        try:
            # most inboxes are empty, and a thread costs fifty times as much as one stat
            letters = await _InboxHandover(self._queue, self._inbox).take() if self._queue.is_there() else []
        except StoreError as problem:
            logger.warning("the inbox cannot be read: %s", problem)
            return outcome
        except Exception:
            # the hooks' decision must not be lost to an error of ours
            logger.exception("the inbox cannot be read")
            return outcome
        effects = tuple(Effect(letter.kind, letter.text) for letter in letters)
        return replace(outcome, effects=(*outcome.effects, *effects)) if effects else outcome

    async def drain(self) -> None:
        """Run what is pending in this process, and wait until it has ended."""
        for key in list(self._pending):
            self._start(key)
        await self._tasks.drain()

    def close(self) -> None:
        """Close the queue."""
        if self._queue is not None:
            self._queue.close()

    async def _try_tell(self, effect: Effect, event: Event) -> bool:
        if effect.kind is not EffectKind.ASK_AGENT or self._tell_agent is None:
            return False
        try:
            result = self._tell_agent(str(effect.value), event)
            if inspect.isawaitable(result):
                await result
        except Exception:
            # the callback belongs to the embedding program; the prompt takes the next way
            logger.exception("the agent could not be informed")
            return False
        return True

    async def _post(self, letters: Sequence[InboxMessage], event: Event) -> bool:
        if not letters:
            return True
        if self._queue is None:
            self._warn(event, letters[0].hook, "there is no agent to tell, and no inbox to keep it in")
            return False
        try:
            await asyncio.to_thread(self._queue.post, letters)
        except StoreError as problem:
            self._warn(event, letters[0].hook, f"it cannot be kept for the agent: {problem}")
            return False
        return True

    def _trace_fold(self, earlier: EventRef, hook: Hook, event: Event) -> None:
        """Write into the trace of an earlier event that a newer one replaces it."""
        if self._bus.listening:
            reason = f"a newer event came within {hook.quiet:g} s and runs in its place (trace {event.id})"
            if hook.batch:
                reason = f"its files are given to one run with those of a newer event (trace {event.id})"
            detail = {"gate": Gate.DEBOUNCE, "reason": reason}
            self._bus.enqueue(
                Record(earlier.trace, Step.SKIPPED, time(), earlier.name, earlier.session, hook.id, detail)
            )

    def _warn(self, event: Event, hook: str, message: str) -> None:
        if self._bus.listening:
            self._bus.enqueue(record(event, Step.WARNING, {"message": message}, hook=hook))


# the task of a `TaskSet` that is running here, also in tasks that it starts
_CURRENT: Final[ContextVar[object]] = ContextVar("hookline_task", default=None)


class TaskSet:
    """Tasks that no caller awaits; failures are logged."""

    def __init__(self, what: str) -> None:
        self._what = what
        # the loop holds tasks weakly; without this reference a task may be collected before it ends
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self, work: Awaitable[object]) -> None:
        """Run work in a task of the running loop."""
        task = asyncio.get_running_loop().create_task(self._run(work), name=self._what)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    async def drain(self) -> None:
        """Wait for the tasks of this loop, except for the one that waits."""
        loop, own = asyncio.get_running_loop(), _CURRENT.get()
        while others := {task for task in self._tasks if task is not own and task.get_loop() is loop}:
            await asyncio.wait(others)

    @staticmethod
    async def _run(work: Awaitable[object]) -> object:
        _CURRENT.set(asyncio.current_task())
        return await work

    def _finish(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("a %s failed", self._what, exc_info=task.exception())


def require_loop() -> None:
    """Raise EngineError where no event loop is running for a notification."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise EngineError('no event loop is running here: use `engine.emit_sync("notification", …)`') from None


class _InboxHandover:
    """Take letters out of an inbox; when the caller is cancelled, they are put back."""

    def __init__(self, queue: JobQueue, project: str) -> None:
        self._queue = queue
        self._project = project
        self._lock = threading.Lock()
        self._letters: list[InboxMessage] = []
        self._is_cancelled = False

    async def take(self) -> list[InboxMessage]:
        """Return the letters.

        Raises:
            StoreError: The inbox cannot be used.
        """
        try:
            await asyncio.to_thread(self._collect)
        except asyncio.CancelledError:
            with self._lock:
                self._is_cancelled = True
            # in a thread: a cancelled caller must not wait for the file
            threading.Thread(target=self._put_back, name="hookline-inbox").start()
            raise
        return self._letters

    def _collect(self) -> None:
        letters = self._queue.collect(self._project)
        with self._lock:
            self._letters = letters
            is_cancelled = self._is_cancelled
        if is_cancelled:
            self._put_back()

    def _put_back(self) -> None:
        with self._lock:
            letters, self._letters = self._letters, []
        try:
            if letters:
                self._queue.post(letters)
        except StoreError as problem:
            logger.warning("%d letters for the agent are lost: %s", len(letters), problem)


def deliverable_effects(verdict: Verdict) -> list[Effect]:
    """Return the effects of a background hook that can still reach the agent or the user."""
    return [] if verdict.observed else [effect for effect in verdict.effects if effect.kind in _DELIVERABLE]


def make_letters(effects: Sequence[Effect], event: Event, *, hook: str, project: str) -> list[InboxMessage]:
    """Build the messages for the next agent in a project."""
    now = time()
    return [
        InboxMessage(project=project, text=str(effect.value), kind=effect.kind, hook=hook, trace=event.id, created=now)
        for effect in effects
    ]


def describe_too_late(verdict: Verdict) -> str:
    """Return what of a background hook's answer came too late, or ""."""
    if verdict.failure is None and verdict.decision >= Decision.ASK:
        what = f"wanted to {verdict.decision.word}"
    elif any(effect.kind in {EffectKind.REWRITE, EffectKind.DATA} for effect in verdict.effects):
        what = "wanted to change something"
    else:
        return ""
    return f'hook "{verdict.hook}" {what}, but it ran in the background: the event was answered before'
