"""A hook that sends an agent back at the end of every turn."""

import json
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import python
from tests.agents.speech import Turn
from tests.agents.world import World

EACH = [pytest.param(agent, id=name) for name, agent in AGENTS.items()]

NEVER = """
import json, sys

event = json.load(sys.stdin)
with open(sys.argv[1], "a") as file:
    file.write("asked\\n")
print(json.dumps({"decision": "deny", "reason": "the work is not done"}))
"""


@pytest.mark.parametrize("agent", EACH)
def test_a_hook_that_never_lets_an_agent_rest_is_overruled(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    script = world.root / "never.py"
    script.write_text(NEVER, "utf-8")
    asked = world.root / "asked"
    command = json.dumps(python(script, asked))
    world.configure(f'[settings]\nreturns = 2\n\n[[hook]]\nname = "never"\non = "after_agent"\nrun = {command}\n')
    world.install(agent)

    report = world.run(agent, [Turn("All done.")])

    assert report.code == 0
    assert asked.read_text().count("asked") == 3
    # the first turn, and one for each time it was sent back
    assert len(report.bodies) == 3
    assert "the work is not done" in report.heard
