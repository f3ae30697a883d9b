import asyncio
from pathlib import Path

import pytest

from hookline import Engine, Verdict
from hookline.dialects import DIALECTS
from hookline.engine.turns import StopLoopGuard
from hookline.model.event import Event, Session
from hookline.model.record import Record, Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.stores.state import SqliteState

REASON = "the tests do not pass"


def _engine(most: int = 3, reason: str = REASON) -> Engine:
    engine = Engine(settings=Settings(returns=most))

    @engine.on("after_agent", "subagent_stop")
    def check(_event: Event) -> Verdict:
        return Verdict.deny(reason)

    return engine


async def _ends(engine: Engine, times: int, session: str = "one", **data: object) -> list[Outcome]:
    return [await engine.emit("after_agent", data, session=Session(id=session)) for _ in range(times)]


def _blocked(outcomes: list[Outcome]) -> list[bool]:
    return [outcome.blocked for outcome in outcomes]


def test_an_agent_is_sent_back_so_often_and_then_left_to_rest() -> None:
    outcomes = asyncio.run(_ends(_engine(3), 5))
    assert _blocked(outcomes) == [True, True, True, False, False]
    assert outcomes[3].decision is Decision.PASS
    assert outcomes[3].messages == (
        f"hooks sent the agent back 3 times for the same reason, so it is left to rest now: {REASON}",
    )


def test_nobody_who_says_nothing_of_it_is_sent_back_more_than_five_times() -> None:
    assert Settings().returns == 5


def test_zero_does_not_count() -> None:
    assert all(_blocked(asyncio.run(_ends(_engine(0), 12))))


def test_each_session_is_counted_by_itself() -> None:
    async def both(engine: Engine) -> list[bool]:
        one = await _ends(engine, 2, "one")
        two = await _ends(engine, 2, "two")
        return _blocked([*one, *two])

    assert asyncio.run(both(_engine(1))) == [True, False, True, False]


def test_each_reason_is_counted_by_itself_and_numbers_make_no_other_reason() -> None:
    engine = Engine(settings=Settings(returns=2))
    reasons = iter(["3 tests fail", "2 tests fail", "1 tests fail", "no changelog", "no changelog", "no changelog"])

    @engine.on("after_agent")
    def check(_event: Event) -> Verdict:
        return Verdict.deny(next(reasons))

    assert _blocked(asyncio.run(_ends(engine, 6))) == [True, True, False, True, True, False]


def test_what_is_to_be_done_next_sends_the_agent_back_as_well() -> None:
    engine = Engine(settings=Settings(returns=2))

    @engine.on("after_agent")
    def more(_event: Event) -> Verdict:
        return Verdict(effects=(Effect(EffectKind.ASK_AGENT, "write the changelog"),))

    outcomes = asyncio.run(_ends(engine, 3))
    assert [bool(outcome.follow_ups) for outcome in outcomes] == [True, True, False]


def test_a_new_prompt_begins_anew_though_no_hook_wants_it() -> None:
    async def turns(engine: Engine) -> list[bool]:
        first = await _ends(engine, 2)
        await engine.emit("before_agent", {"prompt": "go on"}, session=Session(id="one"))
        return _blocked([*first, *await _ends(engine, 2)])

    assert asyncio.run(turns(_engine(1))) == [True, False, True, False]


@pytest.mark.parametrize("prompt", [REASON, f"  {REASON}\n", ""])
def test_what_an_agent_was_sent_back_with_is_no_new_prompt(prompt: str) -> None:
    async def turns(engine: Engine) -> list[bool]:
        first = await _ends(engine, 1)
        await engine.emit("before_agent", {"prompt": prompt}, session=Session(id="one"))
        return _blocked([*first, *await _ends(engine, 1)])

    assert asyncio.run(turns(_engine(1))) == [True, False]


def test_the_prompt_of_another_session_changes_nothing() -> None:
    async def turns(engine: Engine) -> list[bool]:
        first = await _ends(engine, 2)
        await engine.emit("before_agent", {"prompt": "go on"}, session=Session(id="two"))
        return _blocked([*first, *await _ends(engine, 1)])

    assert asyncio.run(turns(_engine(1))) == [True, False, False]


def test_an_agent_that_says_it_is_the_first_end_begins_anew() -> None:
    async def turns(engine: Engine) -> list[bool]:
        first = await _ends(engine, 2, stop_hook_active=True)
        return _blocked([*first, *await _ends(engine, 1, stop_hook_active=False)])

    assert asyncio.run(turns(_engine(1))) == [True, False, True]


def test_subagents_are_counted_one_by_one() -> None:
    async def stops(engine: Engine) -> list[bool]:
        names = ("a", "a", "b")
        session = Session(id="one")
        return _blocked([await engine.emit("subagent_stop", {"agent_id": name}, session=session) for name in names])

    assert asyncio.run(stops(_engine(1))) == [True, False, True]


def test_a_hook_that_ends_the_run_is_not_counted() -> None:
    engine = Engine(settings=Settings(returns=1))

    @engine.on("after_agent")
    def stop(_event: Event) -> Verdict:
        return Verdict.stop("enough")

    assert [outcome.stopped for outcome in asyncio.run(_ends(engine, 3))] == [True, True, True]


def test_what_blocks_before_a_tool_is_never_let_go() -> None:
    engine = Engine(settings=Settings(returns=1))

    @engine.on("before_tool")
    def guard(_event: Event) -> Verdict:
        return Verdict.deny("no")

    async def calls() -> list[bool]:
        return _blocked([await engine.emit("before_tool", tool="shell", args={}) for _ in range(4)])

    assert asyncio.run(calls()) == [True] * 4


def test_the_trace_says_that_it_was_left_to_rest() -> None:
    lines: list[Record] = []

    async def ends() -> None:
        engine = _engine(1)
        engine.bus.subscribe(lines.append)
        await _ends(engine, 2)
        await engine.drain()

    asyncio.run(ends())
    warnings = [str(line.detail["message"]) for line in lines if line.step is Step.WARNING]
    assert len(warnings) == 1
    assert "left to rest" in warnings[0]
    assert lines[-1].detail["decision"] == "pass"


def test_programs_that_come_and_go_count_together(tmp_path: Path) -> None:
    async def ends() -> list[bool]:
        found = []
        for _ in range(3):
            engine = Engine(settings=Settings(returns=2), state=SqliteState(tmp_path / "state.db"))
            engine.on("after_agent")(lambda _event: Verdict.deny(REASON))
            async with engine:
                found += _blocked(await _ends(engine, 1))
        return found

    assert asyncio.run(ends()) == [True, True, False]


def test_where_nothing_can_be_counted_the_agent_is_sent_back_once(tmp_path: Path) -> None:
    broken = tmp_path / "state.db"
    broken.write_bytes(b"this is no database, and long enough to be looked at" * 100)

    async def ends() -> list[bool]:
        engine = Engine(settings=Settings(returns=2), state=SqliteState(broken))
        engine.on("after_agent")(lambda _event: Verdict.deny(REASON))
        async with engine:
            first = await _ends(engine, 1, stop_hook_active=False)
            return _blocked([*first, *await _ends(engine, 1, stop_hook_active=True)])

    assert asyncio.run(ends()) == [True, False]


def test_a_prompt_is_not_lost_to_a_store_that_cannot_be_used(tmp_path: Path) -> None:
    broken = tmp_path / "state.db"
    broken.write_bytes(b"this is no database, and long enough to be looked at" * 100)

    async def prompt() -> Outcome:
        engine = Engine(state=SqliteState(broken))
        engine.on("after_agent")(lambda _event: Verdict.deny(REASON))
        async with engine:
            return await engine.emit("before_agent", {"prompt": "hello"})

    assert not asyncio.run(prompt()).blocked


def test_a_long_reason_is_said_in_short() -> None:
    said = asyncio.run(_ends(_engine(1, "x" * 5000), 2))[1].messages[0]
    assert len(said) < 400
    assert said.endswith("…")


def test_an_agent_rests_in_its_own_words() -> None:
    dialect = DIALECTS["claude-code"]

    async def stops() -> list[bytes]:
        engine = _engine(1)
        raw = b'{"session_id": "one", "cwd": "/", "hook_event_name": "Stop", "stop_hook_active": true}'
        events = [dialect.decode_event(raw, "Stop") for _ in range(2)]
        return [dialect.encode_outcome(await engine.handle(event), event).stdout for event in events]

    first, second = asyncio.run(stops())
    assert b'"decision":"block"' in first
    assert b'"decision"' not in second
    assert b"left to rest" in second


def test_nothing_is_remembered_where_no_hook_is_asked_at_the_end(tmp_path: Path) -> None:
    state = SqliteState(tmp_path / "state.db")
    guard = StopLoopGuard(state, Engine().bus, listening=frozenset(), most=3)
    event = Engine().event("before_agent", {"prompt": "hello"})
    asyncio.run(guard.reset(event))
    assert not (tmp_path / "state.db").exists()
