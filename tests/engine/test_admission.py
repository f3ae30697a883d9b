import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from hookline import caller_context
from hookline.caller_context import CallerContext
from hookline.engine.components import Components, default_components
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.model.event import Event, Session
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook, Layer, Source
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.requirements import Caching, Needs
from hookline.model.settings import Settings
from hookline.model.verdict import Verdict
from hookline.ports import Decide, StateStore
from hookline.stores.state import MemoryState, SqliteState

T = TypeVar("T")

FAILED = Verdict(failure=Failure(FailureKind.TIMEOUT, "too slow"))


class Clock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Calls:
    """A hook that counts, and says or does what it was told to."""

    def __init__(self, said: Verdict | None = None, *, fails: bool = False) -> None:
        self.count = 0
        self.said = said
        self.fails = fails

    def __call__(self, _event: Event) -> Verdict | None:
        self.count += 1
        if self.fails:
            raise RuntimeError("broken")
        return self.said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("hookline.engine.admission.time", made)
    return made


@pytest.fixture(params=["memory", "sqlite"])
def state(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[StateStore]:
    makers: dict[str, Callable[[], StateStore]] = {
        "memory": lambda: MemoryState(clock=clock),
        "sqlite": lambda: SqliteState(tmp_path / "state.db", clock=clock),
    }
    made = makers[request.param]()
    yield made
    made.close()


def hook(call: Calls, **fields: object) -> Hook:
    given: dict[str, object] = {"id": "h", "on": "before_tool", "call": call, "source": Source.BUILTIN, **fields}
    return Hook(**given)  # type: ignore[arg-type]


def emit(engine: Engine, times: int = 1, *, session: str = "", event: str = "before_tool") -> list[str]:
    """Emit, and give what became of the hooks: "ran", or the gate that held one back."""

    async def go() -> list[str]:
        said: list[str] = []
        for _ in range(times):
            outcome = await engine.emit(event, session=Session(id=session))
            said += ["ran" if not verdict.cached else "cached" for verdict in outcome.verdicts]
            said += [str(skip.gate) for skip in outcome.skipped]
        return said

    return asyncio.run(go())


@pytest.mark.spec("D-11")
def test_hook_runs_so_often_in_a_minute_and_says_why_not_more_often(state: StateStore, clock: Clock) -> None:
    calls = Calls()
    engine = Engine(state=state)
    engine.add(hook(calls, per_minute=2))

    assert emit(engine, 4) == ["ran", "ran", "rate", "rate"]
    clock.now += 60
    assert emit(engine, 3) == ["ran", "ran", "rate"]
    assert calls.count == 4
    skipped = engine.debugger.executions(step=Step.SKIPPED)[0]
    assert skipped.detail["reason"] == "2 of 2 runs in the last minute, the next in 60 s"


def test_nothing_is_taken_from_a_rate_while_the_hook_rests(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state)
    engine.add(hook(Calls(), per_minute=2, cooldown=5))

    assert emit(engine, 3) == ["ran", "cooldown", "cooldown"]
    clock.now += 5
    assert emit(engine) == ["ran"]
    clock.now += 5
    assert emit(engine) == ["rate"]


def test_debounced_hook_runs_first_and_then_only_after_quiet(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state)
    engine.add(hook(Calls(), debounce=2))
    assert emit(engine) == ["ran"]

    for _ in range(5):
        clock.now += 1.5
        # each of these is an event, too, and the quiet begins anew
        assert emit(engine) == ["debounce"]
    clock.now += 2

    assert emit(engine) == ["ran"]


def test_event_counts_for_quiet_also_when_another_limit_holds_the_hook_back(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state)
    engine.add(hook(Calls(), debounce=2, cooldown=10))
    assert emit(engine) == ["ran"]
    clock.now += 9
    assert emit(engine) == ["cooldown"]
    clock.now += 1.5

    assert emit(engine) == ["debounce"]


def test_hook_runs_once_in_each_session(state: StateStore) -> None:
    engine = Engine(state=state)
    engine.add(hook(Calls(), once=True))

    assert emit(engine, 2, session="one") == ["ran", "once"]
    assert emit(engine, 2, session="two") == ["ran", "once"]
    # where there is no session, once in this program
    assert emit(engine, 2) == ["ran", "once"]
    again = Engine(state=state)
    again.add(hook(Calls(), once=True))
    assert emit(again, session="one") == ["once"]
    assert emit(again) == ["ran"]


def test_hooks_of_two_files_with_the_same_id_do_not_share(state: StateStore) -> None:
    for path in ("/one/hookline.toml", "/two/hookline.toml"):
        engine = Engine(state=state)
        engine.add(hook(Calls(), per_minute=1, source_path=path))
        assert emit(engine, 2) == ["ran", "rate"]
    same = Engine(state=state)
    same.add(hook(Calls(), per_minute=1, source_path="/one/hookline.toml"))
    assert emit(same) == ["rate"]


@pytest.mark.spec("D-11")
def test_breaker_opens_says_so_tries_again_and_closes(state: StateStore, clock: Clock) -> None:
    calls = Calls(fails=True)
    engine = Engine(state=state)
    engine.add(hook(calls, breaker=2, retry_after=10, timeout=1))

    assert emit(engine, 4) == ["ran", "ran", "breaker", "breaker"]
    warned = engine.debugger.executions(step=Step.WARNING)
    assert [one.detail["message"] for one in warned] == [
        'hook "h" is paused after 2 failures in a row; it is tried again in 10 s'
    ]
    clock.now += 10
    assert emit(engine, 2) == ["ran", "breaker"]
    clock.now += 10
    calls.fails = False
    assert emit(engine, 3) == ["ran", "ran", "ran"]


def test_failures_that_are_not_in_a_row_open_nothing(state: StateStore) -> None:
    calls = Calls()
    engine = Engine(state=state)
    engine.add(hook(calls, breaker=2))
    for fails in (True, False, True, False, True):
        calls.fails = fails
        assert emit(engine) == ["ran"]


def test_paused_guard_blocks(state: StateStore) -> None:
    engine = Engine(state=state)
    engine.add(hook(Calls(fails=True), breaker=1, on_error="block"))

    async def go() -> list[tuple[bool, str]]:
        outcomes = [await engine.emit("before_tool", tool="shell") for _ in range(2)]
        return [(outcome.blocked, outcome.reason) for outcome in outcomes]

    first, second = asyncio.run(go())

    assert first[0]
    assert second[0]
    assert "paused after a failure, tried again in 60 s" in second[1]


def test_tries_that_come_together_are_one(state: StateStore, clock: Clock) -> None:
    calls: list[int] = []

    async def slow(_event: Event) -> None:
        calls.append(1)
        await asyncio.sleep(0.05)
        raise RuntimeError("broken")

    engine = Engine(state=state)
    engine.add(Hook(id="h", on="before_tool", call=slow, breaker=1, retry_after=10, source=Source.BUILTIN))
    emit(engine)
    clock.now += 10

    async def together() -> None:
        await asyncio.gather(*(engine.emit("before_tool") for _ in range(20)))

    asyncio.run(together())

    assert len(calls) == 2


def test_limit_holds_for_events_that_come_together(state: StateStore) -> None:
    calls = Calls()
    engine = Engine(state=state)
    engine.add(hook(calls, per_minute=7))

    async def together() -> None:
        await asyncio.gather(*(engine.emit("before_tool") for _ in range(50)))

    asyncio.run(together())

    assert calls.count == 7


@pytest.mark.spec("D-11")
def test_limits_of_all_hooks_together_leave_guards_and_managed_hooks_alone(state: StateStore) -> None:
    engine = Engine(state=state, settings=Settings(per_minute=3))
    plain, guard, managed = Calls(), Calls(), Calls()
    engine.add(
        hook(plain, id="one"),
        hook(plain, id="two"),
        hook(guard, id="guard", on_error="block"),
        hook(managed, id="managed", layer=Layer.MANAGED),
    )

    said = emit(engine, 3)

    assert said.count("rate") == 3
    assert (plain.count, guard.count, managed.count) == (3, 3, 3)
    assert [one.reason for one in engine.admission.shared_limit_status()] == [
        "all hooks together: 3 of 3 runs in the last minute, the next in 60 s"
    ]


@pytest.mark.parametrize("leading", [{"steps": ("guard",)}, {"raises": "custom:look"}])
def test_limits_of_all_hooks_together_leave_guards_alone_that_others_lead_to(
    state: StateStore, leading: dict[str, object]
) -> None:
    engine = Engine(state=state, settings=Settings(per_minute=1))
    guard = Calls(Verdict.deny("no"))
    engine.add(
        hook(Calls(), id="plain"),
        hook(guard, id="guard", on="custom:look", on_error="block"),
        Hook(id="leads", on="before_tool", source=Source.BUILTIN, **leading),  # type: ignore[arg-type]
    )

    async def blocked() -> list[bool]:
        return [(await engine.emit("before_tool", tool="shell")).blocked for _ in range(3)]

    assert asyncio.run(blocked()) == [True, True, True]
    assert guard.count == 3


def test_after_an_event_all_hooks_rest_together(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state, settings=Settings(cooldown=5))
    engine.add(hook(Calls(), id="one"), hook(Calls(), id="two"))

    assert emit(engine) == ["ran", "ran"]
    assert emit(engine) == ["cooldown", "cooldown"]
    clock.now += 5
    assert emit(engine) == ["ran", "ran"]


def test_hook_held_back_by_all_hooks_together_takes_nothing_of_its_own(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state, settings=Settings(cooldown=5))
    engine.add(hook(Calls(), id="one"), hook(Calls(), id="two", on="after_tool", once=True, per_minute=1))
    emit(engine)

    assert emit(engine, event="after_tool", session="s") == ["cooldown"]
    clock.now += 5
    assert emit(engine, event="after_tool", session="s") == ["ran"]


def lacking(what: list[str]) -> Components:
    """Give parts in which a hook lacks what the list says."""
    shipped = default_components()

    async def missing(_hook: object, _cwd: str) -> str:
        return what[0]

    return Components(shipped.dialects, shipped.kinds, missing=missing)


def test_hook_that_lacks_something_is_left_out_and_uses_up_nothing(state: StateStore) -> None:
    what = ["the tool ruff is not there"]
    engine = Engine(state=state, components=lacking(what))
    engine.add(hook(Calls(), once=True, per_minute=1, needs=Needs(tools=("ruff",))))

    assert emit(engine, 2, session="s") == ["needs", "needs"]
    what[0] = ""
    assert emit(engine, 2, session="s") == ["ran", "once"]
    # what it lacks does not matter any more
    what[0] = "gone again"
    assert emit(engine, session="s") == ["once"]


def test_guard_that_lacks_something_blocks(state: StateStore) -> None:
    engine = Engine(state=state, components=lacking(["the tool ruff is not there"]))
    engine.add(hook(Calls(), needs=Needs(tools=("ruff",)), on_error="block"))

    outcome = asyncio.run(engine.emit("before_tool", tool="shell"))

    assert outcome.blocked
    assert "the tool ruff is not there" in outcome.reason


def test_background_hook_is_counted_when_it_is_queued_and_looked_at_when_its_turn_comes(
    state: StateStore, clock: Clock
) -> None:
    what = ["the tool ruff is not there"]
    engine = Engine(state=state, components=lacking(what))
    background = hook(
        Calls(), background=True, per_minute=1, breaker=1, retry_after=10, needs=Needs(tools=("ruff",)), debounce=5
    )
    keeper = engine.admission
    event = Event(name=engine.event("before_tool").name)
    assert keeper.applies_to(hook(Calls(), background=True, breaker=1))

    async def go() -> None:
        assert await keeper.admit(background, event, None) is None
        held = await keeper.admit(background, event, None)
        assert getattr(held, "gate", None) is Gate.RATE
        later = await keeper.admit_queued(background, event)
        assert later is not None
        assert (later.gate, later.failed) == (Gate.NEEDS, True)
        what[0] = ""
        assert await keeper.admit_queued(background, event) is None
        await keeper.record(background, event, None, FAILED)
        paused = await keeper.admit_queued(background, event)
        assert paused is not None
        assert paused.gate is Gate.BREAKER
        clock.now += 10
        assert await keeper.admit_queued(background, event) is None
        assert await keeper.admit_queued(background, event) is not None

    asyncio.run(go())


def test_why_takes_nothing(state: StateStore) -> None:
    engine = Engine(state=state)
    limited = hook(Calls(), per_minute=2, once=True)
    engine.add(limited)
    event = Event(name=engine.event("before_tool").name, session=Session(id="s"))

    for _ in range(5):
        before = [(one.gate, one.passed, one.reason) for one in engine.admission.limit_status(limited, event)]
        assert before == [
            (Gate.ONCE, True, "it has not run in this session yet"),
            (Gate.RATE, True, "0 of 2 runs in the last minute"),
        ]
    assert emit(engine, session="s") == ["ran"]
    assert [one.passed for one in engine.admission.limit_status(limited, event)] == [False, True]


def test_forgotten_hook_starts_afresh(state: StateStore) -> None:
    engine = Engine(state=state)
    limited = hook(Calls(Verdict.tell("hi")), per_minute=1, once=True, cache=Caching(seconds=60))
    other = hook(Calls(), id="other", on="after_tool", per_minute=1)
    engine.add(limited, other)
    assert emit(engine, 2, session="s") == ["ran", "once"]
    emit(engine, event="after_tool")

    assert engine.admission.forget(limited) == 3

    assert emit(engine, session="s") == ["ran"]
    assert emit(engine, event="after_tool") == ["rate"]


def test_hook_without_limits_is_none_of_its_business() -> None:
    engine = Engine()

    assert not engine.admission.applies_to(hook(Calls()))
    assert engine.admission.applies_to(hook(Calls(), per_minute=1))
    # with the same id, and read anew from a changed file
    assert not engine.admission.applies_to(hook(Calls()))
    assert engine.admission.limit_status(hook(Calls()), Event(name=engine.event("before_tool").name)) == []


def test_broken_store_keeps_no_hook_from_running_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "state.db"
    place.write_bytes(b"no database at all" * 500)
    calls = Calls()
    engine = Engine(state=SqliteState(place))
    engine.add(hook(calls, per_minute=1, breaker=1, cache=Caching(seconds=5)))

    with caplog.at_level(logging.WARNING):
        assert emit(engine, 5) == ["ran"] * 5

    assert calls.count == 5
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "hooks run without them" in told[0]
    assert str(place) in told[0]
    assert len(engine.debugger.executions(step=Step.WARNING)) == 1


def test_locked_store_does_not_stop_the_loop(tmp_path: Path) -> None:
    place = tmp_path / "state.db"
    engine = Engine(state=SqliteState(place, busy_timeout=1.0))
    engine.add(hook(Calls(), per_minute=1))
    assert emit(engine) == ["ran"]

    async def go() -> int:
        ticks = 0
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.ensure_future(engine.emit("before_tool"))
            while not waiting.done():
                await asyncio.sleep(0.01)
                ticks += 1
        assert len(waiting.result().verdicts) == 1
        return ticks

    assert asyncio.run(go()) > 5


def test_paused_background_hook_still_gets_its_place_in_the_queue(state: StateStore, clock: Clock) -> None:
    engine = Engine(state=state)
    background = hook(Calls(), background=True, breaker=1, retry_after=10)
    keeper = engine.admission
    event = Event(name=engine.event("before_tool").name)

    async def go() -> None:
        await keeper.record(background, event, None, FAILED)
        assert await keeper.admit(background, event, None) is None
        assert [one.passed for one in keeper.limit_status(background, event)] == [False]
        clock.now += 10
        assert await keeper.admit(background, event, None) is None
        # the one try is for whoever takes it from the queue
        assert await keeper.admit_queued(background, event) is None
        await keeper.record(background, event, None, Verdict())
        assert await keeper.admit_queued(background, event) is None

    asyncio.run(go())


def test_function_that_runs_later_in_this_program_pauses_after_failures_too(state: StateStore) -> None:
    calls = Calls(fails=True)
    engine = Engine(state=state)
    engine.add(hook(calls, background=True, breaker=2))

    async def go() -> None:
        for _ in range(4):
            await engine.emit("before_tool")
            await engine.background.drain()
        await engine.drain()

    asyncio.run(go())

    assert calls.count == 2
    skipped = engine.debugger.executions(step=Step.SKIPPED)
    assert [record.detail["gate"] for record in skipped] == ["breaker", "breaker"]


def test_hook_that_is_refused_uses_up_nothing(state: StateStore) -> None:
    engine = Engine(state=state)
    refused = Hook(id="h", on="before_tool", command="echo a > b", source=Source.USER, once=True, per_minute=1)
    engine.add(refused)

    for _ in range(2):
        outcome = asyncio.run(engine.emit("before_tool", session=Session(id="s")))
        assert [failure.failure.kind for failure in outcome.failures if failure.failure] == ["refused"]
    event = Event(name=engine.event("before_tool").name, session=Session(id="s"))
    assert [one.passed for one in engine.admission.limit_status(refused, event)] == [True, True]


class Gone(MemoryState):
    """A store on a disk that was pulled out, and put back."""

    asked = 0
    is_back = False

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        self.asked += 1
        if self.is_back:
            return super().change(keys, decide)
        raise StoreError("gone")


def test_store_that_failed_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1000.0]
    monkeypatch.setattr("hookline.engine.admission.monotonic", lambda: now[0])
    state = Gone()
    engine = Engine(state=state)
    engine.add(hook(Calls(), per_minute=1))

    assert emit(engine, 5) == ["ran"] * 5
    assert state.asked == 1
    now[0] += 31
    assert emit(engine, 2) == ["ran"] * 2
    assert state.asked == 2
    state.is_back = True
    now[0] += 31
    assert emit(engine, 2) == ["ran", "rate"]
    assert len(caplog.records) == 1


class Broken(MemoryState):
    """A store with a bug."""

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        raise ZeroDivisionError(keys, decide)


def test_bug_of_ours_keeps_no_guard_from_being_asked(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(state=Broken())
    engine.add(hook(Calls(Verdict.deny("no")), per_minute=1, breaker=1, on_error="block"))

    with caplog.at_level(logging.CRITICAL):
        outcome = asyncio.run(engine.emit("before_tool", tool="shell"))

    assert outcome.reason == "no"


def test_where_there_is_no_session_a_program_that_answers_for_others_asks_once_for_each_of_them() -> None:
    engine = Engine()
    said = Calls(Verdict.deny("no"))
    engine.add(hook(said, once=True))
    for _ in range(2):
        # each of these calls would have been a program of its own
        with caller_context.use(CallerContext({}, "/")):
            assert emit(engine, 2) == ["ran", "once"]
    assert said.count == 2
