"""Sessions as they are: several calls at once, failures, refusals, tools that are not there, and the next day."""

import json
import re
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import GUARD, LOG, python
from tests.agents.speech import Call, Turn
from tests.agents.world import World

EACH = [pytest.param(agent, id=name) for name, agent in AGENTS.items()]
# Gemini CLI ends the shell around us, waits for us to the end all the same, and does not listen any more: what we say then
# looks to us like every other answer.
HEARD = [pytest.param(agent, id=name) for name, agent in AGENTS.items() if name != "gemini-cli"]


def furnish(world: World) -> Path:
    """Write a guard, and a hook that writes down what it is asked about; give its file."""
    (world.root / "guard.py").write_text(GUARD, "utf-8")
    (world.root / "log.py").write_text(LOG, "utf-8")
    log = world.root / "before.log"
    world.configure(f"""
[[hook]]
name = "guard"
on = "before_tool"
dialect = "ollm-protocol"
run = {json.dumps(python(world.root / "guard.py"))}

[[hook]]
name = "log"
on = "before_tool"
run = {json.dumps(python(world.root / "log.py", log))}
""")
    return log


def sessions(world: World) -> list[tuple[str, str]]:
    """Give what the doctor finds in the sessions."""
    found = json.loads(world.hookline("doctor", "--json").stdout)
    return [(one["health"], one["text"]) for one in found if one["area"] == "sessions"]


@pytest.mark.parametrize("agent", EACH)
def test_no_alarm_is_raised_for_nothing(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    log = furnish(world)
    world.install(agent)
    at_once = [
        agent.shell("echo one | tee one.txt"),
        agent.shell("echo rm -rf keep | tee two.txt"),
        agent.shell("exit 3"),
        agent.write(world.project / "three.txt", "three\n"),
        agent.read(world.project / "README.md"),
        agent.read(world.project / "missing.md"),
    ]
    turns = [
        Turn("All at once.", at_once),
        Turn("", [Call("no_such_tool", {"x": 1}), agent.shell("false")]),
        Turn("All done."),
    ]

    first = world.run(agent, turns)
    asked = len(log.read_text("utf-8").splitlines())
    again = [Turn("Once more.", [agent.shell("echo four | tee four.txt")]), Turn("Done again.")]
    second = world.run(agent, [*turns, *again], more=agent.resumes)

    assert (first.code, second.code) == (0, 0)
    assert sorted(path.stem for path in world.project.glob("*.txt")) == ["four", "one", "three"]
    # all but the tool that is not there, and of a file that is not there some do not even ask
    assert asked in {6, 7}
    assert len(log.read_text("utf-8").splitlines()) == asked + 1
    assert [health for health, _ in sessions(world)] == ["ok"]


@pytest.mark.parametrize("agent", HEARD)
def test_an_agent_that_did_not_wait_for_a_guard_is_an_alarm(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    script = world.root / "slow.py"
    script.write_text("import json, sys, time\nif 'slow' in sys.stdin.read():\n    time.sleep(60)\n", "utf-8")
    world.configure(f"""
[[hook]]
name = "slow"
on = "before_tool"
on_error = "block"
timeout = 50
run = {json.dumps(python(script))}
""")
    world.install(agent, "--no-approve")
    settings = world.home / agent.hooks_file
    # five seconds, in thousandths where it counts in these
    settings.write_text(re.sub(r'"timeout": 600', '"timeout": 5', settings.read_text("utf-8")), "utf-8")
    more = ["--dangerously-bypass-hook-trust"] if agent.approves else []

    report = world.run(
        agent,
        [Turn("", [agent.shell("echo slow | tee slow.txt")]), Turn("", [agent.shell("echo fast")]), Turn("All done.")],
        more=more,
    )

    # what it does, whatever we would like it to do
    assert (report.code, (world.project / "slow.txt").exists()) == (0, True)
    alarms = [text for health, text in sessions(world) if health == "error"]
    assert len(alarms) == 1
    assert "did not wait for us to answer" in alarms[0]
