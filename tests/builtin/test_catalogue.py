import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from hookline import Engine
from hookline.builtin.catalogue import BUILTINS, PREFIX, BuiltinScope, builtin_hooks
from hookline.model.hook import Hook, Layer, OnError, Source
from hookline.model.settings import Settings
from hookline.model.verdict import Decision
from hookline.project import load_project
from hookline.user_dirs import UserDirs
from tests.cli.program import configure, hookline


def _hooks(*, on: tuple[str, ...] = (), managed: tuple[str, ...] = ()) -> dict[str, Hook]:
    place = BuiltinScope(root="/nowhere", home="/nowhere/home")
    return {hook.id: hook for hook in builtin_hooks(place, on=on, managed=managed)}


def test_every_built_in_hook_is_off_until_it_is_named() -> None:
    assert not any(hook.enabled for hook in _hooks().values())
    assert {name for name, hook in _hooks(on=("read-only",)).items() if hook.enabled} == {"builtin:read-only"}
    assert _hooks(on=("builtin:dangerous",))["builtin:dangerous"].enabled
    assert set(_hooks()) == {f"{PREFIX}{name}" for name in BUILTINS}


def test_what_the_administrator_switches_on_is_managed() -> None:
    hook = _hooks(managed=("dangerous",))["builtin:dangerous"]

    assert (hook.enabled, hook.layer, hook.source) == (True, Layer.MANAGED, Source.BUILTIN)


def test_a_guard_that_falls_over_blocks() -> None:
    hooks = _hooks()

    assert hooks["builtin:dangerous"].on_error is OnError.BLOCK
    assert hooks["builtin:read-only"].on_error is OnError.CONTINUE


def test_loading_hookline_does_not_load_what_the_hooks_judge_with() -> None:
    code = "import sys, hookline.project; print([m for m in sys.modules if m.startswith('hookline.builtin.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['hookline.builtin.catalogue']"


@pytest.mark.spec("C-12")
def test_a_program_switches_them_on_in_its_settings(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    folders = UserDirs(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")
    settings = Settings(builtins=("read-only", "dangerous"))
    opened = load_project(tmp_path / "project", settings=settings, folders=folders, traced=False)

    async def ask(engine: Engine, line: str) -> Decision:
        return (await engine.emit("permission_request", tool="shell", args={"command": line})).decision

    async def all_of_them() -> list[Decision]:
        async with opened.engine as engine:
            return [await ask(engine, line) for line in ("ls", "make", "rm -rf ~", "ls; rm -rf ~")]

    assert asyncio.run(all_of_them()) == [Decision.ALLOW, Decision.PASS, Decision.DENY, Decision.DENY]


def test_a_name_that_is_nearly_right_is_a_problem_that_says_so(tmp_path: Path) -> None:
    configure(tmp_path / "home", '\n[settings]\nbuiltins = ["readonly", "dangerous"]\n')

    done = hookline(tmp_path / "home", "check")

    assert done.returncode == 1
    assert 'hookline.toml:3: error: there is no built-in hook "readonly" (did you mean "read-only"?)' in done.stdout


def test_a_hook_of_a_project_cannot_take_the_place_of_a_built_in_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[settings]\nbuiltins = ["dangerous"]\n')
    theirs = '[[hook]]\nname = "builtin:dangerous"\non = "before_tool"\nrun = "python3 x.py"\n'
    (tmp_path / "project" / "hookline.toml").write_text(theirs)

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "rm -rf /"}')

    assert done.returncode == 2
    assert "deletes everything on this machine" in done.stderr


def test_a_project_cannot_switch_them_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    (tmp_path / "project" / "hookline.toml").write_text('[settings]\nbuiltins = ["read-only"]\n')

    done = hookline(home, "emit", "permission_request", "--tool", "shell", "--args", '{"command": "ls"}', "--json")

    assert '"decision": "pass"' in done.stdout


def test_what_the_administrator_switches_on_stays_on_whatever_the_person_sets(tmp_path: Path) -> None:
    for name in ("project", "home", "config", "managed"):
        (tmp_path / name).mkdir()
    (tmp_path / "managed").chmod(0o755)
    theirs = tmp_path / "managed" / "hookline.toml"
    theirs.write_text('[settings]\nbuiltins = ["dangerous"]\n')
    theirs.chmod(0o644)
    (tmp_path / "config" / "hookline.toml").write_text('[settings]\nenabled = false\nbuiltins = ["read-only"]\n')
    folders = UserDirs(
        home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data", managed=tmp_path / "managed"
    )
    opened = load_project(tmp_path / "project", folders=folders, traced=False)

    async def ask(line: str) -> Decision:
        return (await opened.engine.emit("permission_request", tool="shell", args={"command": line})).decision

    async def both() -> list[Decision]:
        async with opened.engine:
            return [await ask("rm -rf /"), await ask("ls")]

    assert asyncio.run(both()) == [Decision.DENY, Decision.PASS]
    assert {hook.id: (hook.enabled, hook.layer) for hook in opened.builtins[:3]} == {
        "builtin:read-only": (True, Layer.USER),
        "builtin:dangerous": (True, Layer.MANAGED),
        "builtin:self-guard": (False, Layer.USER),
    }
    assert not any(hook.enabled for hook in opened.builtins[3:])
