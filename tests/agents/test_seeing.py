"""The page of `hookline ui` is open while a real agent works."""

from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.speech import Turn
from tests.agents.world import World
from tests.ui.page import open_page

RULE = """
[[hook]]
name = "no-force-push"
runs = ["git push --force"]
deny = "no force push"
"""


@pytest.mark.spec("U-14", "U-24")
@pytest.mark.parametrize("agent", [pytest.param(AGENTS[name], id=name) for name in ("claude-code", "codex-cli")])
def test_page_shows_what_a_real_agent_did_and_what_was_refused(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    world.configure(RULE)
    world.install(agent)

    with open_page(world.home) as page:
        calls = [agent.shell("git status"), agent.shell("git push --force")]
        world.run(agent, [*(Turn("", [call]) for call in calls), Turn("All done.")])
        shown = page.get("/api/calls")["calls"]
        (session,) = page.get("/api/sessions")["sessions"]
        events = [call["event"] for call in page.get(f"/api/sessions/{session['session']}")["calls"]]

    tools = {call["subject"]: call for call in shown if call["event"] == "before_tool"}
    assert {subject: call["decision"] for subject, call in tools.items()} == {
        "git status": "pass",
        "git push --force": "deny",
    }
    assert all(call["agent"] == agent.name and call["project"] == str(world.project) for call in shown)
    assert session["version"]
    assert session["blocked"] == 1
    expected = {"session_start": 1, "before_agent": 1, "before_tool": 2, "after_agent": 1}
    assert {name: events.count(name) for name in expected} == expected
