"""Hooks that work uncontained work contained where their sandbox allows it: those of other agents' documents, and our templates."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("bubblewrap and sandbox-exec have tests of their own", allow_module_level=True)

from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Layer, Source
from hookline.model.sandbox import LEVELS, PROJECT, READ_ONLY
from hookline.process.containment import find_layers
from tests.cli.program import configure, hookline

pytestmark = pytest.mark.slow

if not find_layers().can_contain:
    pytest.skip(f"this machine cannot contain: {find_layers().lacking}", allow_module_level=True)

SCRIPTS = Path(__file__).parents[1] / "hooks"
INTERPRETERS = {".py": sys.executable, ".js": shutil.which("node"), ".sh": "/bin/sh"}
# servers, a hook that needs the network, and one that writes into the home folder
LEFT_OUT = ("mcp_", "ollama_notify", "ollama_logger")
NAMES = sorted(path.name for path in SCRIPTS.glob("*.*") if not path.name.startswith(LEFT_OUT))
DOCUMENTS: tuple[dict[str, object], ...] = (
    {"tool_name": "shell", "tool_input": {"command": "rm -rf /"}, "event": "before_tool", "data": {"command": "ls"}},
    {"tool": "write_file", "args": {"path": ".env"}, "jsonrpc": "2.0", "id": 1, "method": "hook", "params": {}},
)


def ask(name: str, document: dict[str, object], folder: Path, **fields: object) -> Reply:
    interpreter = INTERPRETERS[Path(name).suffix]
    if interpreter is None:
        pytest.skip(f"there is nothing to run {name} with")
    hook = Hook(id="h", command=interpreter, args=(str(folder / name),), **fields)  # type: ignore[arg-type]
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "rm -rf /"}, cwd=str(folder))

    async def call() -> Reply:
        kind = Command()
        try:
            return await kind.call(hook, Request(event=event, document=document), timeout=30)
        finally:
            await kind.close()

    return asyncio.run(call())


@pytest.mark.parametrize("level", [READ_ONLY, PROJECT])
@pytest.mark.parametrize("name", NAMES)
def test_hook_says_the_same_contained(tmp_path: Path, name: str, level: str) -> None:
    folder = tmp_path.resolve() / "project"
    shutil.copytree(SCRIPTS, folder)
    for document in DOCUMENTS:
        free = ask(name, document, folder, layer=Layer.PROGRAM)
        held = ask(name, document, folder, source=Source.WORKSPACE, layer=Layer.PROJECT, sandbox=LEVELS[level])
        assert (held.exit_code, held.stdout, held.failure) == (free.exit_code, free.stdout, free.failure)
        assert (free.sandbox, "seccomp" in held.sandbox) == ((), True)


@pytest.mark.parametrize("language", ["python", "node", "bash"])
@pytest.mark.parametrize("template", ["logging", "validation", "context", "policy"])
def test_new_hook_of_a_project_works_contained(tmp_path: Path, language: str, template: str) -> None:
    home = tmp_path / "home"
    configure(home, "")
    words = ("--event", "before_tool", "--lang", language, "--template", template, "--to", "project")
    assert hookline(home, "new", "one", *words).returncode == 0
    assert hookline(home, "trust", "approve", "one", "--yes").returncode == 0
    answers = {}
    for level in ("none", "project"):
        done = hookline(home, "test", "one", "--tool", "shell", "--json", "--sandbox", level)
        answers[level] = json.loads(done.stdout)
    held, free = answers["project"], answers["none"]
    assert held["failure"] is None, held
    assert {key: held[key] for key in ("verdict", "stdout", "exit_code") if key in held} == {
        key: free[key] for key in ("verdict", "stdout", "exit_code") if key in free
    }
