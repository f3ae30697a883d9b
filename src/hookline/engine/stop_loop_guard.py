"""Limit how often hooks may send an agent back to work at the end of a turn.

A hook that demands something the agent cannot do would otherwise keep it working forever, and cost money.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

from msgspec.structs import replace

from hookline.engine.bus import MessageBus
from hookline.engine.trace_records import record
from hookline.errors import StoreError
from hookline.model.event import Event, EventName
from hookline.model.record import Step
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.ports import StateStore, StateValue

logger = logging.getLogger(__name__)

T = TypeVar("T")

# the events at which a denial or a follow-up sends the agent back
TURN_ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})
TURN_START: Final = EventName.BEFORE_AGENT

_PREFIX: Final = "returns:"
_EXPIRY: Final = 86_400.0  # seconds
_SHOWN: Final = 200  # characters of a reason
_NUMBERS: Final = re.compile(r"\d+")
_BLOCKING: Final = frozenset({Decision.ASK, Decision.DENY})


class StopLoopGuard:
    """Count how often an agent was sent back, per session and reason, and let it stop after `most` times.

    A new prompt resets the counts, and so does the first end of a turn where the agent reports that it is the first. An
    agent that repeats the reason it was sent back with as a prompt, or sends an empty prompt, has no new one. With 0 for
    `most`, nothing is counted.
    """

    def __init__(self, state: StateStore, bus: MessageBus, *, listening: AbstractSet[str], most: int) -> None:
        self._state = state
        self._bus = bus
        # which events have hooks: without one at the end of a turn, nothing was counted
        self._listening = listening
        self._most = most

    async def reset(self, event: Event) -> None:
        """Reset the counts of a session where an event starts a new turn."""
        if self._most < 1 or event.name is not TURN_START or self._listening.isdisjoint(TURN_ENDS):
            return
        try:
            if not await self._access(lambda: self._is_own_prompt(event)):
                await self._access(lambda: self._state.forget([_session_prefix(event)]))
        except StoreError as problem:
            logger.warning("%s", problem)

    async def limit(self, outcome: Outcome, event: Event) -> Outcome:
        """Return the outcome, without what would send the agent back once too often."""
        if self._most < 1 or event.name not in TURN_ENDS or event.chain:
            return outcome
        blocks = outcome.decision in _BLOCKING
        if not (blocks or outcome.follow_ups):
            return outcome
        why = "\n".join(filter(None, (outcome.reason if blocks else "", *outcome.follow_ups)))
        try:
            times = await self._access(lambda: self._count(event, why))
        except StoreError as problem:
            # without a count, the agent is sent back once: a broken store must not keep it working
            self._warn(event, f"{problem}; so it is not counted how often the agent is sent back")
            return _let_stop(outcome, "") if event.data.get("stop_hook_active") else outcome
        if times <= self._most:
            return outcome
        short = why if len(why) <= _SHOWN else f"{why[:_SHOWN]}…"
        message = (
            f"hooks sent the agent back {self._most} times for the same reason, so it is left to rest now: {short}"
        )
        self._warn(event, message)
        return _let_stop(outcome, message)

    def _is_own_prompt(self, event: Event) -> bool:
        """Return whether a prompt is the reason the agent was sent back with, or empty before a further request."""
        prompt = event.data.get("prompt")
        return prompt == "" or (isinstance(prompt, str) and bool(self._state.read([_key(event, prompt)])))

    def _count(self, event: Event, why: str) -> int:
        key = _key(event, why)
        # False is reliable; True may also mean that the agent went on for another reason
        is_first = event.data.get("stop_hook_active") is False

        def decide(entries: Mapping[str, bytes], now: float) -> tuple[Mapping[str, StateValue], int]:
            before = entries.get(key, b"0")
            times = 1 if is_first or not before.isdigit() else int(before) + 1
            return {key: StateValue(str(times).encode(), now + _EXPIRY)}, times

        return self._state.change([key], decide)

    async def _access(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._state.waits else work()

    def _warn(self, event: Event, message: str) -> None:
        if self._bus.listening:
            self._bus.enqueue(record(event, Step.WARNING, {"message": message}))


def _let_stop(outcome: Outcome, message: str) -> Outcome:
    effects = tuple(effect for effect in outcome.effects if effect.kind is not EffectKind.ASK_AGENT)
    shown = (Effect(EffectKind.MESSAGE, message),) if message else ()
    return replace(outcome, decision=Decision.PASS, reasons=(), effects=(*effects, *shown))


def _key(event: Event, why: str) -> str:
    """Return the key of a reason in a session; reasons that differ in numbers or spaces only are the same."""
    agent = str(event.data.get("agent_id") or "")
    return f"{_session_prefix(event)}{_digest(agent + chr(0) + ' '.join(_NUMBERS.sub('0', why).split()))}"


def _session_prefix(event: Event) -> str:
    """Return the key prefix of a session; an event without a session is identified by its folder."""
    return f"{_PREFIX}{_digest(event.host + chr(0) + (event.session.id or event.cwd))}:"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
