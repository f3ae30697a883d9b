"""Installing and uninstalling around real sessions leaves nothing behind."""

from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import furnish
from tests.agents.speech import Turn
from tests.agents.test_broken import guarded, work
from tests.agents.world import World

EACH = [pytest.param(agent, id=name) for name, agent in AGENTS.items()]


def files(folder: Path) -> dict[str, bytes]:
    """Give every file of an agent's folders."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def written(agent: Agent) -> set[str]:
    """Name the files of a person that installing changes."""
    return {agent.hooks_file, *agent.also_written}


@pytest.mark.parametrize("agent", EACH)
def test_uninstalling_gives_back_the_persons_settings_byte_for_byte(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    furnish(world, agent)
    # an agent changes its settings by itself when it first runs
    world.run(agent, [Turn("All done.")])
    before = {name: text for name, text in files(world.home).items() if name in written(agent)}
    assert before

    world.install(agent)
    assert {name: text for name, text in files(world.home).items() if name in before} != before
    world.run(agent, [Turn("", [agent.shell("echo hi")]), Turn("All done.")])
    done = world.hookline("uninstall", agent.name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: text for name, text in files(world.home).items() if name in written(agent)} == before


@pytest.mark.parametrize("agent", EACH)
def test_a_project_that_was_installed_and_uninstalled_shows_no_difference(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    settings = world.project / agent.hooks_file
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n\t"hooks": {}\n}', "utf-8")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "settings")

    world.install(agent, "--scope", "project")
    assert world.git("diff", "--stat")
    done = world.hookline("uninstall", agent.name, "--scope", "project")

    assert done.returncode == 0, done.stdout + done.stderr
    assert world.git("status", "--porcelain") == ""


@pytest.mark.parametrize("agent", EACH)
def test_settings_of_a_project_have_the_hooks_asked(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    if agent.trusts is not None:
        name, text = agent.trusts
        with (world.home / name).open("a", encoding="utf-8") as file:
            file.write(text.format(project=world.project))
    guarded(world)
    world.install(agent, "--scope", "project")

    assert work(world, agent) == (True, False)
