from pathlib import Path

import pytest

from hookline.debug.explain import GATES, explain
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Layer, Source
from hookline.model.settings import Settings
from hookline.project import load_project
from hookline.user_dirs import UserDirs


def explained(hook: Hook, tmp_path: Path, *, enabled: bool = True) -> dict[str, bool]:
    engine = Engine(cwd=str(tmp_path), settings=Settings(enabled=enabled))
    engine.add(hook)
    event = engine.event("before_tool", tool="shell")
    return {one.gate: one.passed for one in explain(hook, event, engine=engine).gates}


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
    for name in ("managed", "config"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hookline.toml").write_text(
            f'[[hook]]\nname = "{name}"\non = "before_tool"\nrun = "sh -c true"\n'
        )
    folders = UserDirs(home=tmp_path, config=tmp_path / "config", data=tmp_path / "data", managed=tmp_path / "managed")
    (tmp_path / "project").mkdir()
    opened = load_project(tmp_path / "project", settings=Settings(enabled=False), folders=folders, traced=False)
    event = opened.engine.event("before_tool", tool="shell")

    found = [explain(hook, event, engine=opened.engine) for hook in opened.hooks]

    assert {one.hook.id: one.runs for one in found} == {"managed": True, "config": False}
    assert [hook.id for hook in opened.planner.plan(event).hooks] == ["managed"]


def test_engine_that_is_switched_off_runs_nothing(tmp_path: Path) -> None:
    assert explained(hook(), tmp_path, enabled=False)["hooks"] is False
    assert explained(hook(layer=Layer.MANAGED), tmp_path, enabled=False)["hooks"] is False


def test_hook_of_another_kind_has_no_file_to_look_for(tmp_path: Path) -> None:
    assert "file" not in explained(hook(command="", url="http://127.0.0.1:9"), tmp_path)


def test_first_closed_gate_is_the_reason(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))
    one = hook(enabled=False, matcher="read_file")
    engine.add(one)

    found = explain(one, engine.event("before_tool", tool="shell"), engine=engine)

    assert found.closed is not None
    assert (found.runs, found.closed.gate, found.closed.reason) == (False, "enabled", "switched off")
    assert len(GATES) > 1
