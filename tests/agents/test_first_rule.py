"""The first rule that a new user writes, under the real program."""

from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.speech import Turn
from tests.agents.world import World

REASON = "no force push: ask a person first"


@pytest.mark.spec("U-23")
@pytest.mark.parametrize(
    "agent", [pytest.param(AGENTS[name], id=name) for name in ("claude-code", "codex-cli", "gemini-cli")]
)
def test_one_deny_rule_blocks_the_agent_with_its_reason_and_everything_is_taken_back(
    agent: Agent, tmp_path: Path
) -> None:
    world = World.make(tmp_path / "machine", agent)
    settings = world.home / agent.hooks_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    if not settings.exists():
        settings.write_text("{}\n", "utf-8")
    # an agent changes its settings by itself when it first runs
    world.run(agent, [Turn("All done.")])
    names = (agent.hooks_file, *agent.also_written)
    before = {name: (world.home / name).read_bytes() for name in names if (world.home / name).exists()}
    world.install(agent)
    added = world.hookline("add", "no-force-push", "--deny", REASON, "--runs", "git push --force")
    assert added.returncode == 0, added.stdout + added.stderr

    # there is no such remote: where it ran all the same, git would say so
    report = world.run(agent, [Turn("", [agent.shell("git push --force; touch pushed.txt")]), Turn("All done.")])

    assert not (world.project / "pushed.txt").exists()
    assert REASON in report.heard
    why = world.hookline("why", "no-force-push", "--host", agent.name)
    assert why.returncode == 0, why.stdout + why.stderr
    assert world.hookline("uninstall", agent.name).returncode == 0
    assert {name: (world.home / name).read_bytes() for name in before} == before


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("agent", [pytest.param(AGENTS[name], id=name) for name in ("claude-code", "codex-cli")])
def test_the_program_itself_says_what_install_says_about_a_comment(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    world.hookline("add", "--deny", REASON, "--on", "before_tool")
    settings = world.home / agent.hooks_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{\n  // mine\n  "hooks": {}\n}\n', "utf-8")

    refused = world.hookline("install", agent.name)
    cleaned = world.hookline("install", agent.name, "--clean")
    report = world.run(agent, [Turn("", [agent.shell("touch ran.txt")]), Turn("All done.")])

    assert refused.returncode == 1
    assert "settings.json:2" in refused.stderr or "hooks.json:2" in refused.stderr
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert not (world.project / "ran.txt").exists()
    assert REASON in report.heard
