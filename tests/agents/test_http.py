"""Agents that call the daemon by URL: what they read there counts as what a command says, also when nobody answers."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hookline import caller_context
from hookline.bridge import call as bridge_call
from hookline.model.installed_entry import NESTING
from tests.agents.agents import AGENTS, Agent
from tests.agents.speech import Turn
from tests.agents.world import World

NOT_HERE = "removing whole folders is not for agents"

# The prompt waits until the daemon is there, which the start of the session has woken: a scripted model answers sooner.
READY = """\
import json, pathlib, socket, sys, time

print("{}")
place = pathlib.Path(sys.argv[1])
until = time.monotonic() + 60
while place.exists() and time.monotonic() < until:
    try:
        socket.create_connection(("127.0.0.1", json.loads(place.read_text())["port"]), 1).close()
        break
    except OSError:
        time.sleep(0.05)
"""

GUARD = f"""\
import json

event = json.loads(input())
if "rm -rf" in event["args"].get("command", ""):
    print(json.dumps({{"decision": "deny", "reason": {NOT_HERE!r}}}))
"""

TELL = """\
import json, os

event = json.loads(input())
command = event["args"].get("command", "")
level = os.environ["HOOKLINE_NESTING"].partition("-")[0]
print(json.dumps({"context": f"sesame: {command.upper()} was run in {os.getcwd()} at level {level}"}))
"""

HOOKS = """\
[[hook]]
name = "guard"
on = "before_tool"
run = {guard}
on_error = "block"

[[hook]]
name = "tell"
on = "after_tool"
run = {tell}
"""

WAIT = """
[[hook]]
name = "ready"
on = "before_agent"
run = {ready}
"""


@pytest.fixture(params=["claude-code", "qwen-code"])
def agent(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """Give an agent that can call a URL, with a folder of its own for the daemon's socket."""
    runtime = Path(tempfile.mkdtemp(prefix="hkl-", dir="/tmp"))
    one = AGENTS[request.param]
    yield replace(one, env={**one.env, "XDG_RUNTIME_DIR": str(runtime), "HOOKLINE_DAEMON": "on"})
    shutil.rmtree(runtime)


def made(tmp_path: Path, agent: Agent, *, waits: bool = True) -> World:
    """Make a machine with hooks."""
    world = World.make(tmp_path / "machine", agent)
    scripts = world.root / "hooks"
    scripts.mkdir()
    place = world.home / ".local" / "share" / "hookline" / "http.json"
    commands = {}
    for name, text, more in (("ready", READY, [str(place)]), ("guard", GUARD, []), ("tell", TELL, [])):
        (scripts / f"{name}.py").write_text(text, "utf-8")
        commands[name] = json.dumps([sys.executable, str(scripts / f"{name}.py"), *more])
    world.configure((HOOKS + (WAIT if waits else "")).format(**commands))
    return world


def script(world: World, agent: Agent) -> list[Turn]:
    """Have the model run a command that is fine, and one that is not."""
    doomed = world.project / "doomed"
    doomed.mkdir()
    return [
        Turn("", [agent.shell("echo hi")]),
        Turn("", [agent.shell(f"rm -rf {doomed}")]),
        Turn("All done."),
    ]


def called(world: World, agent: Agent) -> list[str]:
    """Name the events at which the settings have a URL called."""
    hooks = json.loads((world.home / agent.hooks_file).read_text("utf-8"))["hooks"]
    return [event for event, groups in hooks.items() if groups[0]["hooks"][0]["type"] == "http"]


def test_an_agent_that_calls_a_url_reads_the_answer_there_and_keeps_its_guards(agent: Agent, tmp_path: Path) -> None:
    world = made(tmp_path, agent)
    world.install(agent, "--http")
    assert "PostToolUse" in called(world, agent)
    assert "PreToolUse" not in called(world, agent)

    # an agent that a hook has started, and whose hooks are to know that
    with bridge_call.nest_deeper(0, world.home / ".local" / "share" / "hookline"):
        mark = caller_context.full_environ()[NESTING]

    report = world.run(replace(agent, env={**agent.env, NESTING: mark}), script(world, agent))

    assert f"sesame: ECHO HI was run in {world.project} at level 2" in report.heard
    assert (world.project / "doomed").exists()
    assert NOT_HERE in report.heard


def test_a_guard_that_is_called_by_url_refuses_what_it_refuses_as_a_command(agent: Agent, tmp_path: Path) -> None:
    world = made(tmp_path, agent)
    world.install(agent, "--http-all")
    assert "PreToolUse" in called(world, agent)

    report = world.run(agent, script(world, agent))

    assert (world.project / "doomed").exists()
    assert NOT_HERE in report.heard
    assert f"sesame: ECHO HI was run in {world.project} at level 1" in report.heard


def test_a_guard_that_nobody_answers_for_blocks_where_settings_can_have_it_so(agent: Agent, tmp_path: Path) -> None:
    world = made(tmp_path, agent, waits=False)
    said = world.install(agent, "--http-all")
    off = replace(agent, env={**agent.env, "HOOKLINE_DAEMON": "off"})

    world.run(off, script(world, agent))

    is_held = (world.project / "doomed").exists()
    assert is_held == (agent.name == "claude-code")
    assert "as if there were no hook" in said
