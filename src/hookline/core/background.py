"""What nobody waits for: hooks that run later, and prompts for an agent that is not there."""

import asyncio
import inspect
import logging
import os
import threading
from asyncio import TimerHandle
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from hookline.core.bus import MessageBus
from hookline.core.recording import record
from hookline.core.runner import HookRunner
from hookline.errors import StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.job import LONGEST_DEBOUNCE, Letter, Moment
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from hookline.ports import JobQueue

logger = logging.getLogger(__name__)

# given a prompt and the event it is about, by a program that can put it before its agent
TellAgent = Callable[[str, Event], object]

# The moments at which an agent takes in what others say: it begins, it is about to work, or it would stop.
MAIL: Final = frozenset({EventName.SESSION_START, EventName.BEFORE_AGENT, EventName.AFTER_AGENT})
NO_MAIL: Final[frozenset[EventName]] = frozenset()

_SAID: Final = frozenset({EffectKind.ASK_AGENT, EffectKind.CONTEXT, EffectKind.MESSAGE})


class _Pending(Struct, frozen=True):
    """A run that waits in this program until its hook was left in peace for long enough."""

    hook: Hook
    event: Event
    timer: TimerHandle
    since: float


class Background:
    """Put hooks into the queue, and pass on what is said when nobody listens.

    Functions of this program, and hooks that it made itself, cannot be found again by another one: they run as tasks
    here, and so does everything when there is no queue.
    """

    def __init__(
        self,
        runner: HookRunner,
        bus: MessageBus,
        *,
        queue: JobQueue | None = None,
        tell_agent: TellAgent | None = None,
        project: str,
    ) -> None:
        self._runner = runner
        self._bus = bus
        self._queue = queue
        self._tell_agent = tell_agent
        self._project = project
        # an agent may come to the same folder by another way
        self._place = os.path.realpath(project)
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending: dict[str, _Pending] = {}
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()

    async def enqueue(self, hook: Hook, event: Event) -> str:
        """Keep a hook's run for later, and give the job's id.

        Raises:
            StoreError: The queue cannot take it.
        """
        if self._queue is None or hook.kind == "function" or not hook.source_path:
            return self._put_here(hook, event)
        # in a thread: the file may be locked by somebody else for a moment, and the disk is waited for
        ticket = await asyncio.to_thread(self._queue.put, hook, event, project=self._project)
        if ticket.instead_of is not None:
            self._fold(ticket.instead_of, hook, event)
        return ticket.id

    def _put_here(self, hook: Hook, event: Event) -> str:
        loop = asyncio.get_running_loop()
        before = self._pending.pop(hook.id, None)
        if before is not None:
            before.timer.cancel()
            old = before.event
            self._fold(Moment(trace=old.id, name=old.name, session=old.session.id), hook, event)
        if hook.debounce:
            since = before.since if before is not None else monotonic()
            # an endless burst does not put it off for ever
            quiet = min(hook.debounce, since + hook.debounce * LONGEST_DEBOUNCE - monotonic())
            timer = loop.call_later(max(quiet, 0.0), self._begin, hook.id)
            self._pending[hook.id] = _Pending(hook, event, timer, since)
        else:
            self._run_here(hook, event)
        return f"here-{os.urandom(6).hex()}"

    def _begin(self, name: str) -> None:
        pending = self._pending.pop(name, None)
        if pending is not None:
            pending.timer.cancel()
            self._run_here(pending.hook, pending.event)

    def _run_here(self, hook: Hook, event: Event) -> None:
        task = asyncio.get_running_loop().create_task(self._work(hook, event), name=f"background {hook.id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _work(self, hook: Hook, event: Event) -> None:
        """Run a hook as the queue would: unless it says that it may, it never runs beside itself."""
        if hook.parallel:
            await self._run(hook, event)
            return
        turns = self._turns.setdefault(asyncio.get_running_loop(), {})
        async with turns.setdefault(hook.id, asyncio.Lock()):
            await self._run(hook, event)

    async def _run(self, hook: Hook, event: Event) -> None:
        keeper = self._runner.doorkeeper
        # limits were asked when it was put here; what it needs, and whether it is paused, is asked now
        held = await keeper.ask_later(hook, event) if keeper is not None else None
        if held is not None:
            if self._bus.listening:
                detail = {"gate": held.gate, "reason": held.reason}
                self._bus.publish_soon(record(event, Step.SKIPPED, detail, hook=hook.id))
            return
        verdict = (await self._runner.execute_hook_with_metadata(hook, event)).verdict
        if keeper is not None and keeper.concerns(hook):
            await keeper.learn(hook, event, None, verdict)
        if problem := too_late(verdict):
            self._warn(event, hook.id, problem)
        effects = [effect for effect in said_by(verdict) if not await self._told(effect, event)]
        await self._post(letters(effects, event, hook=hook.id, project=self._place), event)

    async def delivered(self, outcome: Outcome, event: Event, *, listens: bool) -> Outcome:
        """Give prompts to whoever can put them before the agent; what an outcome still has is the host's to pass on.

        That is the program's own callback; without one, and where no agent `listens`, it is the inbox of the project.
        """
        prompts = [effect for effect in outcome.effects if effect.kind is EffectKind.ASK_AGENT]
        if not prompts or (self._tell_agent is None and listens):
            return outcome
        if self._tell_agent is not None:
            gone = [effect for effect in prompts if await self._told(effect, event)]
        else:
            by = {id(effect): verdict.hook for verdict in outcome.verdicts for effect in verdict.effects}
            written = [
                letter
                for effect in prompts
                for letter in letters([effect], event, hook=by.get(id(effect), ""), project=self._place)
            ]
            gone = prompts if await self._post(written, event) else []
        # by identity: of two hooks that say the same, one may have been heard and the other not
        done = {id(effect) for effect in gone}
        return replace(outcome, effects=tuple(effect for effect in outcome.effects if id(effect) not in done))

    async def collected(self, outcome: Outcome, event: Event) -> Outcome:
        """Add what waits in the inbox to an answer that an agent gets; a blocked one is none that it could act on."""
        if self._queue is None or event.chain or outcome.blocked:
            return outcome
        try:
            # most agents never have any, and a thread costs fifty times the look at a file
            found = await _Handover(self._queue, self._place).letters() if self._queue.is_there() else []
        except StoreError as problem:
            # an answer does not depend on what somebody else wanted to add to it
            logger.warning("the inbox cannot be read: %s", problem)
            return outcome
        except Exception:
            # nor does it on a mistake of ours: what the hooks decided stands
            logger.exception("the inbox cannot be read")
            return outcome
        if not found:
            return outcome
        effects = tuple(Effect(letter.kind, letter.text) for letter in found)
        return replace(outcome, effects=(*outcome.effects, *effects))

    async def drain(self) -> None:
        """Run what still waits in this program, and wait until it is done."""
        for name in list(self._pending):
            self._begin(name)
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        # what belongs to another loop is waited for there, and nobody waits for themselves
        while mine := {task for task in self._tasks if task is not me and task.get_loop() is loop}:
            await asyncio.wait(mine)

    def close(self) -> None:
        """Give the queue's file back."""
        if self._queue is not None:
            self._queue.close()

    async def _told(self, effect: Effect, event: Event) -> bool:
        if effect.kind is not EffectKind.ASK_AGENT or self._tell_agent is None:
            return False
        try:
            answer = self._tell_agent(str(effect.value), event)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            # the callback is the embedding program's; what it did not take is not lost
            logger.exception("the agent could not be told")
            return False
        return True

    async def _post(self, written: Sequence[Letter], event: Event) -> bool:
        if not written:
            return True
        if self._queue is None:
            self._warn(event, written[0].hook, "there is no agent to tell, and no inbox to keep it in")
            return False
        try:
            await asyncio.to_thread(self._queue.post, written)
        except StoreError as problem:
            self._warn(event, written[0].hook, f"it cannot be kept for the agent: {problem}")
            return False
        return True

    def _fold(self, earlier: Moment, hook: Hook, event: Event) -> None:
        """Write into the trace of an earlier event that a newer one stands for it."""
        if self._bus.listening:
            reason = f"a newer event came within {hook.debounce:g} s and runs in its place (trace {event.id})"
            detail = {"gate": Gate.DEBOUNCE, "reason": reason}
            line = Record(earlier.trace, Step.SKIPPED, time(), earlier.name, earlier.session, hook.id, detail)
            self._bus.publish_soon(line)

    def _warn(self, event: Event, hook: str, message: str) -> None:
        if self._bus.listening:
            self._bus.publish_soon(record(event, Step.WARNING, {"message": message}, hook=hook))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s failed", task.get_name(), exc_info=task.exception())


class _Handover:
    """Take letters out of an inbox; when nobody waits for them any more, they go back."""

    def __init__(self, queue: JobQueue, project: str) -> None:
        self._queue = queue
        self._project = project
        self._deciding = threading.Lock()
        self._found: list[Letter] = []
        self._is_given_up = False

    async def letters(self) -> list[Letter]:
        """Give the letters.

        Raises:
            StoreError: The inbox cannot be used.
        """
        try:
            await asyncio.to_thread(self._take)
        except asyncio.CancelledError:
            with self._deciding:
                self._is_given_up = True
            # whoever gave up does not wait for a file either
            threading.Thread(target=self._put_back, name="hookline-inbox").start()
            raise
        return self._found

    def _take(self) -> None:
        found = self._queue.collect(self._project)
        with self._deciding:
            self._found = found
            is_too_late = self._is_given_up
        if is_too_late:
            self._put_back()

    def _put_back(self) -> None:
        with self._deciding:
            found, self._found = self._found, []
        try:
            if found:
                self._queue.post(found)
        except StoreError as problem:
            logger.warning("%d letters for the agent are lost: %s", len(found), problem)


def said_by(verdict: Verdict) -> list[Effect]:
    """Give what a background hook said that can still reach somebody."""
    return [] if verdict.observed else [effect for effect in verdict.effects if effect.kind in _SAID]


def letters(effects: Sequence[Effect], event: Event, *, hook: str, project: str) -> list[Letter]:
    """Write down for the next agent what hooks said about an event."""
    now = time()
    return [
        Letter(project=project, text=str(effect.value), kind=effect.kind, hook=hook, trace=event.id, created=now)
        for effect in effects
    ]


def too_late(verdict: Verdict) -> str:
    """Say what of a background hook's answer has no meaning any more; empty when all of it has."""
    if verdict.failure is None and verdict.decision >= Decision.ASK:
        what = f"wanted to {verdict.decision.word}"
    elif any(effect.kind in {EffectKind.REWRITE, EffectKind.DATA} for effect in verdict.effects):
        what = "wanted to change something"
    else:
        return ""
    return f'hook "{verdict.hook}" {what}, but it ran in the background: the event was answered before'
