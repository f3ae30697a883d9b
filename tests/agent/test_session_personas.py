"""`hookline agent --as`: the files, variables and payloads of another agent."""

import json
import sys
from pathlib import Path

import pytest

from tests.agent.scripted import scripted
from tests.agent.world import World
from tests.agents.speech import Call, Turn

pytestmark = pytest.mark.slow


def _grouped(world: World, *events: str) -> str:
    line = f"{sys.executable} {world.home / 'keep.py'}"
    hooks = {event: [{"matcher": "*", "hooks": [{"type": "command", "command": line}]}] for event in events}
    return json.dumps({"hooks": hooks})


@pytest.mark.spec("C-09")
def test_first_run_as_one_system_leaves_the_hooks_of_others_known(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({".config/agent/settings.json": _grouped(world, "Stop")}, world.home)
    with scripted(Turn("done")) as (_script, url):
        world.ask(url, "go", "--as", "ollama-cli")
        assert world.seen() == []
        world.ask(url, "go", "--as", "cli-agent")
    assert [one["hook_event_name"] for one in world.seen()] == ["Stop"]


CASES = [
    ("ollama-cli", ".ollama/settings.json", ("SessionStart", "PreToolUse", "Stop"), "hook", "OLLAMA.md"),
    ("cli-agent", ".config/agent/settings.json", ("PreToolUse", "Stop"), "hook_event_name", "AGENT.md"),
    ("ollm", ".ollm/hooks/hooks.json", ("session_start", "before_tool", "after_agent"), "event", "OLLM.md"),
]


@pytest.mark.spec("C-09")
@pytest.mark.parametrize(("name", "file", "events", "key", "context"), CASES)
def test_hooks_in_the_files_of_a_system_get_its_payloads(
    tmp_path: Path, name: str, file: str, events: tuple[str, ...], key: str, context: str
) -> None:
    world = World(tmp_path)
    if name == "ollm":
        hooks = [{"name": event, "command": sys.executable, "args": [str(world.home / "keep.py")]} for event in events]
        text = json.dumps({"hooks": {event: [hook] for event, hook in zip(events, hooks, strict=True)}})
    else:
        text = _grouped(world, *events)
    others = {one[1]: _grouped(world, "PreToolUse") for one in CASES if one[0] not in {name, "ollm"}}
    world.write({**others, file: text}, world.home)
    world.write({context: "Speak like a pirate."})
    with scripted(Turn("", [Call("shell", {"command": "echo hi"})]), Turn("done")) as (script, url):
        report = world.ask(url, "go", "--yes", "--as", name)
    seen = world.seen()
    assert [one[key] for one in seen] == list(events)
    assert "Speak like a pirate" in str(script.bodies[0])
    assert str(report["session"]) in str(seen[0])
    if name == "ollama-cli":
        environment = seen[0]["environment"]
        assert isinstance(environment, dict)
        assert environment["OLLAMA_PROJECT_DIR"] == str(world.project)
        assert environment["OLLAMA_MODEL"] == "scripted"
        assert seen[1]["tool"] == "bash"
    if name == "cli-agent":
        assert seen[0]["tool_name"] == "bash_execute"
        assert seen[1]["conversation_length"] == 4
