"""One session of an agent with hooks of every origin: the person's files, the script of the model, what is left.

The hooks stand where each system keeps its own: Hookline's file, OLLM's protocol in it, CLI-Agent's and Ollama CLI's
settings, and the settings of another real agent. Each leaves a line in a log, so that a test can count.
"""

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.agents.agents import AGENTS, Agent
from tests.agents.speech import Turn
from tests.agents.world import Report, World

NOT_HERE: Final = "removing whole folders is not for agents"
CONTEXT: Final = "the tests of this project run with one word: sesame"
KEPT: Final = "another agent's hook keeps this file"

GUARD: Final = f'''"""A hook of OLLM's protocol: no to commands that remove whole folders."""

import json
import sys

event = json.load(sys.stdin)
command = event["context"].get("args", {{}}).get("command", "")
if "rm -rf" in command:
    print(json.dumps({{"allow": False, "message": {NOT_HERE!r}, "metadata": {{"severity": "critical"}}}}))
else:
    print(json.dumps({{"allow": True}}))
'''

REWRITE: Final = '''"""A hook of CLI-Agent: a template hands it the command, and it answers with another one."""

import json
import sys

command = sys.argv[1]
if "plain" in command:
    print(json.dumps({"decision": "modify", "modified_args": {"command": command.replace("plain", "changed")}}))
'''

TELL: Final = f'''"""A hook of Ollama CLI: tells the model something it could not know."""

import json
import sys

json.load(sys.stdin)
print(json.dumps({{"additionalContext": {CONTEXT!r}}}))
'''

# of Claude Code and all who speak like it, and of Gemini CLI, which reads the same exit code
KEEP: Final = f'''"""A hook of a real agent: keeps one file from being written."""

import json
import sys

call = json.load(sys.stdin)
if "secret.txt" in json.dumps(call["tool_input"]):
    print({KEPT!r}, file=sys.stderr)
    sys.exit(2)
'''

LOG: Final = '''"""Writes down what it is told, as one line of JSON in the file it is given."""

import json
import sys

event = json.load(sys.stdin)
with open(sys.argv[1], "a", encoding="utf-8") as file:
    file.write(json.dumps(event) + "\\n")
'''

OWN: Final = """\
[[hook]]
name = "guard"
on = "before_tool"
dialect = "ollm-protocol"
run = {guard}

[[hook]]
name = "before"
on = "before_tool"
run = {before}

[[hook]]
name = "after"
on = ["after_tool", "tool_failed"]
run = {after}
"""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is over, and what it left behind."""

    agent: Agent
    world: World
    report: Report
    installed: str

    def log(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Give what a hook wrote down."""
        path = self.world.root / f"{name}.log"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def other(agent: Agent) -> Agent:
    """Choose the agent whose settings file holds a hook, too: one that the agent under test does not read itself."""
    return AGENTS["gemini-cli" if agent.name == "claude-code" else "claude-code"]


def python(file: Path, *words: object) -> list[str]:
    """Give the command of a hook written in Python."""
    return [sys.executable, str(file), *map(str, words)]


def grouped(event: str, matcher: str, command: str) -> dict[str, Any]:
    """Give the `hooks` of a settings file with one hook."""
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}


def add_hooks(path: Path, hooks: Mapping[str, Any]) -> None:
    """Put hooks into a settings file, beside what it holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**held, "hooks": hooks}, indent=2) + "\n", "utf-8")


def approve(path: Path, command: str) -> None:
    """Let Codex run the one hook of a person's file, as if the person had looked at it there."""
    handler = {"async": False, "command": command, "timeout": 600, "type": "command"}
    identity = {"event_name": "pre_tool_use", "hooks": [handler], "matcher": "*"}
    plain = json.dumps(identity, separators=(",", ":"), ensure_ascii=False)
    said = f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"
    with (path.parent / "config.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[hooks.state."{path}:pre_tool_use:0:0"]\ntrusted_hash = "{said}"\n')


def furnish(world: World, agent: Agent) -> None:
    """Write every hook of the session."""
    scripts = world.root / "hooks"
    scripts.mkdir()
    for name, text in {"guard": GUARD, "rewrite": REWRITE, "tell": TELL, "keep": KEEP, "log": LOG}.items():
        (scripts / f"{name}.py").write_text(text, "utf-8")
    logger = scripts / "log.py"
    line = f"{shlex.join(python(scripts / 'rewrite.py'))} {{{{tool_args.command}}}}"
    add_hooks(world.home / ".config/agent/settings.json", grouped("PreToolUse", "bash_execute", line))
    line = shlex.join(python(scripts / "tell.py"))
    add_hooks(world.home / ".ollama/settings.json", grouped("UserPromptSubmit", "", line))
    foreign = shlex.join(python(logger, world.root / "foreign.log"))
    add_hooks(world.home / agent.hooks_file, grouped(agent.before_tool, "*", foreign))
    if agent.approves:
        approve(world.home / agent.hooks_file, foreign)
    third = other(agent)
    line = shlex.join(python(scripts / "keep.py"))
    add_hooks(world.home / third.hooks_file, grouped(third.before_tool, third.write_name, line))
    # last: the first load of Hookline, in here, takes the entries of other systems that are there for known ones
    world.configure(
        OWN.format(
            guard=json.dumps(python(scripts / "guard.py")),
            before=json.dumps(python(logger, world.root / "before.log")),
            after=json.dumps(python(logger, world.root / "after.log")),
        )
    )


def play(world: World, agent: Agent) -> Session:
    """Install Hookline for the agent, as a person would, and let the agent work."""
    furnish(world, agent)
    (world.project / "keep").mkdir()
    (world.project / "keep" / "file").write_text("still here\n", "utf-8")
    installed = world.install(agent)
    report = world.run(
        agent,
        [
            Turn("I clean up.", [agent.shell("rm -rf keep")]),
            Turn("I say it.", [agent.shell("echo plain | tee said.txt")]),
            Turn("", [agent.write(world.project / "hello.txt", "hello\n")]),
            Turn("", [agent.write(world.project / "secret.txt", "hello\n")]),
            Turn("All done."),
        ],
    )
    return Session(agent, world, report, installed)
