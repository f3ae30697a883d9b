"""What is stored about the turns of an agent: how often hooks sent it back to work, and what can be taken back.

A hook that demands something the agent cannot do would otherwise keep it working forever, and cost money.

A hook with `undo` is written down when it ran. When a later hook or the user rejects what it ran for, taking it back is
offered; the user decides, with `hookline rollback`.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from time import time
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.engine.bus import MessageBus
from hookline.engine.trace_records import new_id, record
from hookline.errors import StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.record import Step
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.ports import StateStore, StateValue
from hookline.trust.repository import find_top

logger = logging.getLogger(__name__)

T = TypeVar("T")

# the events at which a denial or a follow-up sends the agent back
TURN_ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})
TURN_START: Final = EventName.BEFORE_AGENT

_RETURNS: Final = "returns:"
_RETURNS_EXPIRY: Final = 86_400.0  # seconds
_SHOWN: Final = 200  # characters of a reason
_NUMBERS: Final = re.compile(r"\d+")
_BLOCKING: Final = frozenset({Decision.ASK, Decision.DENY})

_UNDO_EXPIRY: Final = 30 * 86_400.0  # seconds, as long as the state of a session
MOST: Final = 200  # compensations of a project; beyond that, the oldest are dropped
_LARGEST: Final = 1_000_000  # bytes of all events that are kept for a project
_UNDO: Final = "undo:"
# a denial of these rejects the turn as a whole, and of another event what happened at it
_WHOLE_TURN: Final = TURN_ENDS | {TURN_START}


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
            if not await _access(self._state, lambda: self._is_own_prompt(event)):
                await _access(self._state, lambda: self._state.forget([_session_prefix(event)]))
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
            times = await _access(self._state, lambda: self._count(event, why))
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
            return {key: StateValue(str(times).encode(), now + _RETURNS_EXPIRY)}, times

        return self._state.change([key], decide)

    def _warn(self, event: Event, message: str) -> None:
        if self._bus.listening:
            self._bus.enqueue(record(event, Step.WARNING, {"message": message}))


async def _access(state: StateStore, work: Callable[[], T]) -> T:
    """Use the store, in a thread where it may block."""
    return await asyncio.to_thread(work) if state.waits else work()


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
    return f"{_RETURNS}{_digest(event.host + chr(0) + (event.session.id or event.cwd))}:"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Compensation(Struct, frozen=True, kw_only=True):
    """A run of a hook that can be taken back, with the event that it ran for.

    `turn` counts the prompts of the session, and `error` is why the last attempt to take it back failed.
    """

    id: str
    hook: str
    session: str = ""
    turn: int = 0
    at: float
    event: Event
    error: str = ""


class _Journal(Struct, frozen=True):
    """What is stored for one project."""

    turns: dict[str, int] = {}
    runs: tuple[Compensation, ...] = ()


_journals: Final = msgspec.json.Decoder(_Journal)
_events: Final = msgspec.json.Decoder(Event)


class CompensationLog:
    """Stores the compensations of a project, shared by all processes of the user.

    A store that cannot be used does not keep hooks from running: the run cannot be taken back then, and a warning is logged.
    """

    def __init__(self, state: StateStore, project: str) -> None:
        self._state = state
        self._project = project

    @cached_property
    def _key(self) -> str:
        # an agent walks into folders below the top of its repository, and its user rolls back from anywhere in it
        return f"{_UNDO}{find_top(self._project)}"

    async def begin_turn(self, event: Event) -> None:
        """Count a turn of a session."""
        session = event.session.id

        def count(journal: _Journal) -> _Journal:
            # sessions without a compensation are forgotten
            kept = {run.session for run in journal.runs}
            turns = {name: turn for name, turn in journal.turns.items() if name in kept}
            return replace(journal, turns={**turns, session: journal.turns.get(session, 0) + 1})

        await self._change(count)

    async def add(self, hook: Hook, event: Event) -> None:
        """Record that a hook ran for an event."""
        session = event.session.id
        # what a program puts into events may be any object; its `undo` gets it as a hook process does
        try:
            plain = _events.decode(json_codec.dump({**asdict(event), "session": asdict(event.session), "facts": None}))
        except msgspec.DecodeError as problem:
            logger.warning('what hook "%s" did cannot be recorded for undo: %s', hook.id, problem)
            return

        def add(journal: _Journal) -> _Journal:
            run = Compensation(
                id=new_id(int(time() * 1000)),
                hook=hook.id,
                session=session,
                turn=journal.turns.get(session, 0),
                at=time(),
                event=plain,
            )
            return replace(journal, runs=_limit([*journal.runs, run]))

        await self._change(add)

    async def list_pending(self) -> list[Compensation]:
        """Return the runs that can be taken back, the latest first.

        Raises:
            StoreError: The store cannot be used.
        """
        return list(reversed((await self._read()).runs))

    async def offer(self, outcome: Outcome, event: Event) -> Outcome:
        """Return the outcome of a rejected event with a message to the user that offers to take back what was done for it."""
        session = event.session.id
        try:
            journal = await self._read()
        except StoreError as problem:
            logger.warning("what can be undone is unknown: %s", problem)
            return outcome
        turn = journal.turns.get(session, 0)
        rejected = [run for run in journal.runs if (run.session, run.turn) == (session, turn)]
        if not (event.name in _WHOLE_TURN or outcome.stopped):
            rejected = [run for run in rejected if run.event.id == event.id]
        if not rejected:
            return outcome
        names = ", ".join(dict.fromkeys(run.hook for run in rejected))
        message = f"what {names} did can be taken back: hookline rollback"
        return replace(outcome, effects=(*outcome.effects, Effect(EffectKind.MESSAGE, message)))

    async def close_runs(self, ids: Collection[str], *, error: str = "") -> None:
        """Remove runs that were taken back; with an `error`, keep them with the reason why they could not be."""

        def close(journal: _Journal) -> _Journal:
            named = (replace(run, error=error) if run.id in ids else run for run in journal.runs)
            return replace(journal, runs=tuple(run for run in named if error or run.id not in ids))

        await self._change(close)

    async def _read(self) -> _Journal:
        return _decode((await _access(self._state, lambda: self._state.read([self._key]))).get(self._key))

    async def _change(self, change: Callable[[_Journal], _Journal]) -> None:
        def decide(entries: Mapping[str, bytes], now: float) -> tuple[Mapping[str, StateValue], None]:
            journal = change(_decode(entries.get(self._key)))
            return {self._key: StateValue(json_codec.dump(to_builtins(journal)), now + _UNDO_EXPIRY)}, None

        try:
            await _access(self._state, lambda: self._state.change([self._key], decide))
        except StoreError as problem:
            logger.warning("what hooks did cannot be recorded for undo: %s", problem)


def select_turn(runs: Sequence[Compensation]) -> list[Compensation]:
    """Return the runs of the latest turn among them, the latest run first."""
    last = max(runs, key=lambda run: run.at, default=None)
    return [run for run in runs if last is not None and (run.session, run.turn) == (last.session, last.turn)]


def _decode(raw: bytes | None) -> _Journal:
    try:
        return _journals.decode(raw) if raw else _Journal()
    except msgspec.DecodeError:
        # written by another version of Hookline
        return _Journal()


def _limit(runs: Sequence[Compensation]) -> tuple[Compensation, ...]:
    """Return the latest runs whose events fit; one that is too large by itself cannot be taken back."""
    kept: list[Compensation] = []
    size = 0
    for run in reversed(runs[-MOST:]):
        size += len(json_codec.dump(to_builtins(run.event)))
        if size > _LARGEST:
            break
        kept.append(run)
    return tuple(reversed(kept))
