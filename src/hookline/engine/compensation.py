"""Compensating actions: what hooks did in a turn, and the commands that take it back.

A hook with `undo` is written down when it ran. When a later hook or the user rejects what it ran for, taking it back is
offered; the user decides, with `hookline rollback`.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from time import time
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.engine.stop_loop_guard import TURN_ENDS, TURN_START
from hookline.engine.trace_records import new_id
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.verdict import Effect, EffectKind, Outcome
from hookline.ports import StateStore, StateValue
from hookline.trust.repository import find_top

logger = logging.getLogger(__name__)

T = TypeVar("T")

EXPIRY: Final = 30 * 86_400.0  # seconds, as long as the state of a session
MOST: Final = 200  # compensations of a project; beyond that, the oldest are dropped
LARGEST: Final = 1_000_000  # bytes of all events that are kept for a project
_PREFIX: Final = "undo:"
# a denial of these rejects the turn as a whole, and of another event what happened at it
_WHOLE_TURN: Final = TURN_ENDS | {TURN_START}


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
        return f"{_PREFIX}{find_top(self._project)}"

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
        return _decode((await self._access(lambda: self._state.read([self._key]))).get(self._key))

    async def _change(self, change: Callable[[_Journal], _Journal]) -> None:
        def decide(entries: Mapping[str, bytes], now: float) -> tuple[Mapping[str, StateValue], None]:
            journal = change(_decode(entries.get(self._key)))
            return {self._key: StateValue(json_codec.dump(to_builtins(journal)), now + EXPIRY)}, None

        try:
            await self._access(lambda: self._state.change([self._key], decide))
        except StoreError as problem:
            logger.warning("what hooks did cannot be recorded for undo: %s", problem)

    async def _access(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._state.waits else work()


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
        if size > LARGEST:
            break
        kept.append(run)
    return tuple(reversed(kept))
