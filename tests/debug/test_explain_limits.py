import asyncio
from pathlib import Path

import pytest

from hookline.debug.explain import explain
from hookline.engine.components import Components, default_components
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source
from hookline.model.requirements import Needs
from hookline.model.settings import Settings
from hookline.stores.state import SqliteState


def hook(**fields: object) -> Hook:
    given: dict[str, object] = {"id": "one", "on": "before_tool", "command": "sh", "source": Source.USER, **fields}
    return Hook(**given)  # type: ignore[arg-type]


def explained(engine: Engine, one: Hook) -> dict[str, tuple[bool, str]]:
    event = engine.event("before_tool", tool="shell")
    answer = explain(one, event, engine=engine)
    return {gate.gate: (gate.passed, gate.reason) for gate in answer.gates}


@pytest.mark.spec("D-11")
def test_every_limit_that_a_hook_has_is_shown_as_it_stands(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path), settings=Settings(cooldown=60))
    one = hook(once=True, per_minute=2, cooldown=60, debounce=60, breaker=2, args=("-c", "exit 3"))
    engine.add(one)
    assert [gate for gate, (passed, _) in explained(engine, one).items() if not passed] == []

    asyncio.run(engine.emit("before_tool", tool="shell"))
    gates = explained(engine, one)

    assert gates["once"] == (False, "it ran in this program already")
    assert gates["breaker"] == (True, "1 of 2 failures in a row")
    assert gates["debounce"] == (False, "the last event is less than 60 s ago")
    assert gates["rate"] == (True, "1 of 2 runs in the last minute")
    assert gates["cooldown"] == (False, "all hooks together: 60 s left of 60 s")


def test_hook_without_limits_has_no_rows_about_them(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))
    engine.add(hook())

    assert list(explained(engine, hook())) == [
        *("hooks", "enabled", "event", "matcher", "files", "writes", "trust", "command", "file")
    ]


def test_condition_is_shown_where_there_is_one(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))
    one = hook(condition='tool == "read_file"')
    engine.add(one)

    assert explained(engine, one)["condition"][0] is False


def test_state_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    place = tmp_path / "state.db"
    place.write_bytes(b"no database" * 500)
    engine = Engine(cwd=str(tmp_path), state=SqliteState(place))
    one = hook(per_minute=1)
    engine.add(one)

    passed, reason = explained(engine, one)["limits"]

    assert passed
    assert "not known, so it runs without them" in reason


def needing(asked: list[str]) -> Components:
    shipped = default_components()

    async def missing(one: Hook, _cwd: str) -> str:
        asked.append(one.id)
        return "the tool ruff is not there"

    return Components(shipped.dialects, shipped.kinds, shipped.file_patterns, missing=missing)


def test_what_is_missing_is_said_also_to_whoever_asks_from_within_a_loop(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path), components=needing([]))
    one = hook(needs=Needs(tools=("ruff",)))
    engine.add(one)

    async def within() -> dict[str, tuple[bool, str]]:
        return explained(engine, one)

    assert asyncio.run(within())["needs"] == (False, "the tool ruff is not there")
    assert explained(engine, one)["needs"] == (False, "the tool ruff is not there")


def test_nothing_is_looked_for_on_behalf_of_a_hook_that_nobody_approved(tmp_path: Path) -> None:
    asked: list[str] = []
    engine = Engine(cwd=str(tmp_path), components=needing(asked))
    one = hook(needs=Needs(tools=("ruff",)), source=Source.WORKSPACE, root=str(tmp_path))
    engine.add(one)

    assert explained(engine, one)["needs"] == (True, "looked at once it is trusted")
    assert asked == []
