from pathlib import Path

import pytest

from hookline.core.engine import Engine
from hookline.debug.explain import GATES, explain
from hookline.dialects import DIALECTS
from hookline.model.hook import Hook, Layer, Source
from hookline.model.settings import Settings

SPECS = {name: dialect.SPEC for name, dialect in DIALECTS.items()}


def explained(hook: Hook, tmp_path: Path, *, enabled: bool = True) -> dict[str, bool]:
    engine = Engine(cwd=str(tmp_path), settings=Settings(enabled=enabled))
    engine.add(hook)
    event = engine.event("before_tool", tool="shell")
    return {one.gate: one.passed for one in explain(hook, event, engine=engine, specs=SPECS).gates}


def hook(**fields: object) -> Hook:
    given: dict[str, object] = {"id": "one", "on": "before_tool", "command": "sh", "source": Source.USER, **fields}
    return Hook(**given)  # type: ignore[arg-type]


@pytest.mark.spec("D-19")
def test_hook_that_passes_every_gate_runs(tmp_path: Path) -> None:
    answers = explained(hook(), tmp_path)

    assert all(answers.values())
    assert list(answers) == ["hooks", "enabled", "event", "matcher", "files", "writes", "trust", "command", "file"]


def test_gates_behind_a_closed_one_are_asked_too(tmp_path: Path) -> None:
    answers = explained(hook(enabled=False, matcher="read_file", source=Source.WORKSPACE, on="session_end"), tmp_path)

    assert [gate for gate, passed in answers.items() if not passed] == ["enabled", "event", "matcher", "trust"]


def test_managed_hook_stays_on_when_all_are_switched_off(tmp_path: Path) -> None:
    assert explained(hook(), tmp_path, enabled=False)["hooks"] is False
    assert explained(hook(layer=Layer.MANAGED), tmp_path, enabled=False)["hooks"] is True


def test_hook_of_another_kind_has_no_file_to_look_for(tmp_path: Path) -> None:
    assert "file" not in explained(hook(command="", url="http://127.0.0.1:9"), tmp_path)


def test_first_closed_gate_is_the_reason(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))
    one = hook(enabled=False, matcher="read_file")

    found = explain(one, engine.event("before_tool", tool="shell"), engine=engine, specs=SPECS)

    assert found.closed is not None
    assert (found.runs, found.closed.gate, found.closed.reason) == (False, "enabled", "switched off")
    assert len(GATES) > 1
