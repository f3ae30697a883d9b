"""How often hooks may send an agent back to work at the end of a turn: counted, capped, and said so.

A hook that asks for something the agent cannot do would otherwise keep it working for ever, at somebody's expense.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from hookline.core.bus import MessageBus
from hookline.core.recording import record
from hookline.errors import StoreError
from hookline.model.event import Event, EventName
from hookline.model.record import Step
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.ports import Entry, StateStore

logger = logging.getLogger(__name__)

T = TypeVar("T")

# the moments at which a no, or something to do next, sends the agent back
ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})

# the moment at which an agent begins anew
BEGINS: Final = EventName.BEFORE_AGENT

_PREFIX: Final = "returns:"
_REMEMBERED: Final = 86_400.0  # seconds; a turn that takes longer has other worries
_SHOWN: Final = 200  # characters of a reason
_NUMBERS: Final = re.compile(r"\d+")


class Returns:
    """Count how often an agent was sent back, for each session and each reason, and let it rest after `most` times.

    A new prompt begins anew, and so does the first end of a turn where the agent says that it is the first. Agents that
    say the reason they were sent back with as a prompt, or none at all, have no new one. With 0 for `most` nothing is
    counted.
    """

    def __init__(self, state: StateStore, bus: MessageBus, *, ready: Mapping[str, bool], most: int) -> None:
        self._state = state
        self._bus = bus
        # which events have hooks: where none is asked at the end of a turn, nothing was counted
        self._ready = ready
        self._most = most

    async def begin(self, event: Event) -> None:
        """Begin anew where an event says that a new turn begins."""
        if self._most > 0 and event.name is BEGINS and any(self._ready[name] for name in ENDS):
            prompt = event.data.get("prompt")
            try:
                if not await self._in_turn(lambda: self._is_ours(event, prompt)):
                    await self._in_turn(lambda: self._state.forget([_session(event)]))
            except StoreError as problem:
                logger.warning("%s", problem)

    async def capped(self, outcome: Outcome, event: Event) -> Outcome:
        """Give the outcome, without what would send the agent back once more than it may be."""
        if self._most < 1 or event.name not in ENDS or event.chain or not _sends_back(outcome):
            return outcome
        why = _why(outcome)
        try:
            times = await self._in_turn(lambda: self._count(event, why))
        except StoreError as problem:
            # an end that cannot be counted is held up once: a broken file must not keep an agent at work
            self._warn(event, f"{problem}; so nobody counts how often the agent is sent back")
            return _rested(outcome, "") if event.data.get("stop_hook_active") else outcome
        if times <= self._most:
            return outcome
        short = why if len(why) <= _SHOWN else f"{why[:_SHOWN]}…"
        said = f"hooks sent the agent back {self._most} times for the same reason, so it is left to rest now: {short}"
        self._warn(event, said)
        return _rested(outcome, said)

    def _is_ours(self, event: Event, prompt: object) -> bool:
        """Say whether a prompt is what we sent the agent back with, or the silence before a further request."""
        return prompt == "" or (isinstance(prompt, str) and bool(self._state.read([_key(event, prompt)])))

    def _count(self, event: Event, why: str) -> int:
        key = _key(event, why)
        # an agent that says whether it was sent back before says so truly only where nothing else was the reason
        is_first = event.data.get("stop_hook_active") is False

        def decide(found: Mapping[str, bytes], now: float) -> tuple[Mapping[str, Entry], int]:
            before = found.get(key, b"0")
            times = 1 if is_first or not before.isdigit() else int(before) + 1
            return {key: Entry(str(times).encode(), now + _REMEMBERED)}, times

        return self._state.change([key], decide)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._state.waits else work()

    def _warn(self, event: Event, message: str) -> None:
        if self._bus.listening:
            self._bus.publish_soon(record(event, Step.WARNING, {"message": message}))


def _sends_back(outcome: Outcome) -> bool:
    return outcome.decision in {Decision.ASK, Decision.DENY} or bool(outcome.follow_ups)


def _why(outcome: Outcome) -> str:
    reason = outcome.reason if outcome.decision in {Decision.ASK, Decision.DENY} else ""
    return "\n".join(filter(None, (reason, *outcome.follow_ups)))


def _rested(outcome: Outcome, said: str) -> Outcome:
    kept = tuple(effect for effect in outcome.effects if effect.kind is not EffectKind.ASK_AGENT)
    told = (Effect(EffectKind.MESSAGE, said),) if said else ()
    return replace(outcome, decision=Decision.PASS, reasons=(), effects=(*kept, *told))


def _key(event: Event, why: str) -> str:
    """Give the key of a reason in a session; numbers and spaces make no other reason."""
    who = str(event.data.get("agent_id") or "")
    return f"{_session(event)}{_digest(who + chr(0) + ' '.join(_NUMBERS.sub('0', why).split()))}"


def _session(event: Event) -> str:
    """Give the beginning of the keys of a session; what names none is told apart by where it happens."""
    who = (event.host, event.session.id or event.cwd)
    return f"{_PREFIX}{_digest(chr(0).join(who))}:"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
