"""Copilot CLI and opencode: the same guard, and what an agent can do with the answers of a hook."""

import json
from pathlib import Path

import pytest

from tests.agents.agents import MORE, Agent
from tests.agents.scenario import python
from tests.agents.speech import Turn
from tests.agents.world import World

ANSWER = """
import json, sys

event = json.load(sys.stdin)
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(event) + "\\n")
command = event.get("args", {}).get("command", "")
if event["event"] == "before_agent":
    print(json.dumps({"context": "told-with-the-prompt"}))
elif event["event"] == "before_tool" and "rm -rf" in command:
    print(json.dumps({"decision": "deny", "reason": "because-of-the-guard"}))
elif event["event"] == "before_tool" and "plain" in command:
    print(json.dumps({"args": {"command": command.replace("plain", "changed")}}))
"""


@pytest.mark.parametrize("agent", [pytest.param(agent, id=name) for name, agent in MORE.items()])
def test_hooks_work_and_go_without_a_trace(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    (world.root / "answer.py").write_text(ANSWER, "utf-8")
    log = world.root / "log"
    run = json.dumps(python(world.root / "answer.py", log))
    world.configure(f'[[hook]]\nname = "all"\non = ["before_agent", "before_tool", "after_tool"]\nrun = {run}\n')
    world.install(agent)

    report = world.run(
        agent,
        [
            Turn("", [agent.shell("echo rm -rf keep | tee removed.txt")]),
            Turn("", [agent.shell("echo plain | tee said.txt")]),
            Turn("", [agent.write(world.project / "hello.txt", "hello\n")]),
            Turn("All done."),
        ],
    )

    assert report.code == 0
    assert "told-with-the-prompt" in json.dumps(report.bodies)
    assert not (world.project / "removed.txt").exists()
    assert "because-of-the-guard" in report.results[0]
    assert (world.project / "said.txt").read_text() == "changed\n"
    assert (world.project / "hello.txt").exists()
    seen = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [(one["event"], one.get("tool", "")) for one in seen] == [
        ("before_agent", ""),
        ("before_tool", "shell"),
        ("before_tool", "shell"),
        ("after_tool", "shell"),
        ("before_tool", "write_file"),
        ("after_tool", "write_file"),
    ]
    assert (world.home / agent.hooks_file).exists()
    assert world.hookline("uninstall", agent.name).returncode == 0
    assert not (world.home / agent.hooks_file).exists()


@pytest.mark.parametrize("policy", ["block", "allow"])
@pytest.mark.parametrize("agent", [pytest.param(agent, id=name) for name, agent in MORE.items()])
def test_hooks_that_cannot_be_asked_follow_the_policy(agent: Agent, policy: str, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    world.configure('[[hook]]\nname = "guard"\non = "before_tool"\nshell = true\nrun = "true"\n')
    world.install(agent, "--if-broken", policy)
    (world.home / ".config/hookline/hookline.toml").write_text("[[hook]\nthis is no TOML", "utf-8")

    world.run(agent, [Turn("", [agent.shell("echo one | tee one.txt")]), Turn("All done.")])

    assert (world.project / "one.txt").exists() is (policy == "allow")
