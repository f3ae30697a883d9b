"""An engine that is broken on purpose: real agents work or are blocked as the policy says, never by accident."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import GUARD, python
from tests.agents.speech import Turn
from tests.agents.world import World

EACH = [pytest.param(agent, id=name) for name, agent in AGENTS.items()]


def interpreter(world: World) -> Path:
    """Make an interpreter that can be taken away: another door to the one that runs the tests."""
    real = Path(sys.prefix)
    folder = world.root / "venv"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(real / "pyvenv.cfg", folder)
    (folder / "lib").symlink_to(real / "lib")
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return folder / "bin" / "python"


def guarded(world: World) -> None:
    script = world.root / "guard.py"
    script.write_text(GUARD, "utf-8")
    hook = '[[hook]]\nname = "guard"\non = "before_tool"\ndialect = "ollm-protocol"\nrun = '
    world.configure(hook + json.dumps(python(script)) + "\n")


def no_interpreter(world: World) -> None:
    shutil.rmtree(world.root / "venv")


def no_configuration(world: World) -> None:
    (world.home / ".config" / "hookline" / "hookline.toml").write_text("[[hook]\nthis is no TOML", "utf-8")


def no_databases(world: World) -> None:
    """Write over what was kept, and what goes with it."""
    kept = [path for path in (world.home / ".local/share/hookline").rglob("*") if path.suffix == ".db"]
    assert kept
    for path in kept:
        path.write_bytes(b"this is no database" * 100)


# the guard says no to the second; nothing an agent would refuse by itself
COMMANDS = ("echo one | tee one.txt", "echo rm -rf keep | tee two.txt")


def work(world: World, agent: Agent, *, full: Path | None = None) -> tuple[bool, bool]:
    """Let an agent run two commands; say whether the one that is allowed and the one that is not ran."""
    report = world.run(agent, [*(Turn("", [agent.shell(line)]) for line in COMMANDS), Turn("All done.")], full=full)
    assert report.code == 0
    return (world.project / "one.txt").exists(), (world.project / "two.txt").exists()


@pytest.mark.parametrize("breakage", [no_interpreter, no_configuration])
@pytest.mark.parametrize("policy", ["block", "allow"])
@pytest.mark.parametrize("agent", EACH)
def test_hooks_that_cannot_be_asked_follow_the_policy(
    agent: Agent, policy: str, breakage: Callable[[World], None], tmp_path: Path
) -> None:
    world = World.make(tmp_path / "machine", agent)
    guarded(world)
    world.install(agent, "--if-broken", policy, python=interpreter(world))
    breakage(world)

    assert work(world, agent) == ((False, False) if policy == "block" else (True, True))


@pytest.mark.parametrize("agent", EACH)
def test_a_guard_is_asked_although_nothing_can_be_written_down(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    guarded(world)
    world.install(agent, "--if-broken", "block")
    world.hookline("emit", "before_tool", "--data", '{"tool": "shell", "args": {"command": "ls"}}')
    no_databases(world)

    assert work(world, agent) == (True, False)


@pytest.mark.parametrize("agent", EACH)
def test_a_guard_is_asked_although_the_disk_is_full(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    guarded(world)
    world.install(agent, "--if-broken", "block")

    assert work(world, agent, full=world.home / ".local/share/hookline") == (True, False)
