"""A home and a project with hooks in every system's own files: all are found, and they run in the ruled order."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.model.hook import Layer, Source
from hookline.project import load_project
from hookline.user_dirs import UserDirs

# says its name, and what its dialect wants to on_outcome
SCRIPT = """
cat >/dev/null
echo "$1" >> "$(dirname "$0")/project/log"
test -z "$2" || echo '{"allow": true}'
"""


class World:
    """Files of the five systems, Hookline's own, and those of an administrator; every hook logs its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "say.sh"
        self.home = folder / "home"
        self.project = folder / "project"
        self.folders = UserDirs(home=self.home, config=self.home / ".config/hookline", data=folder / "data")
        self.managed = folder / "managed"
        self.script.write_text(SCRIPT)
        for path, text in self.files():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if isinstance(text, str) else json.dumps(text, indent=2))

    def native(self, name: str, **more: str) -> str:
        lines = [f"{key} = {json.dumps(value)}" for key, value in more.items()]
        return "\n".join(
            [
                "[[hook]]",
                f'name = "{name}"',
                'on = "before_tool"',
                f'run = ["bash", "{self.script}", "{name}"]',
                *lines,
                "",
            ]
        )

    def definition(self, name: str, **more: object) -> dict[str, object]:
        args = [str(self.script), name]
        return {"id": name, "command": "bash", "args": args, "event": "before_tool", **more}

    def grouped(self, name: str) -> dict[str, object]:
        entry = {"type": "command", "name": name, "command": f"bash {self.script} {name}"}
        return {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}}

    def protocol(self, name: str) -> dict[str, object]:
        more = {"dialect": "ollm-protocol", "event": "pre-tool-call"}
        return {**self.definition(name), **more, "args": [str(self.script), name, "allowing"]}

    def files(self) -> Iterator[tuple[Path, object]]:
        config = self.folders.config
        asking = {"name": "look", "when": {"type": "fileEdited"}, "then": {"type": "askAgent", "prompt": "Look at it"}}
        yield self.managed / "hookline.toml", self.native("policy")
        yield config / "hookline.toml", f"[settings]\ntrust_workspace = true\n\n{self.native('mine')}"
        yield self.home / ".ollm/hooks/mine.json", [self.definition("mine-ollm"), self.protocol("mine-protocol")]
        yield self.home / ".ollama/settings.json", self.grouped("mine-ollama")
        yield self.home / ".config/agent/settings.json", self.grouped("mine-agent")
        yield self.home / ".config/cli-agent/settings.json", self.grouped("mine-cli-agent")
        yield (
            self.home / ".config/agent/hooks/pre-note.yaml",
            f"command: bash {self.script} pre-note\n",
        )
        yield self.project / "hookline.local.toml", self.native("local")
        yield self.project / "hookline.toml", self.native("first", priority="critical") + self.native("shared")
        yield self.project / ".ollm/hooks/a.json", {"hooks": [self.definition("ollm"), self.protocol("protocol")]}
        yield self.project / ".ollm/hooks/look.json", asking
        yield self.project / ".ollm/hooks/trusted/t.json", self.definition("called-trusted")
        yield self.project / ".ollama/settings.json", self.grouped("ollama")
        yield self.project / ".config/agent/settings.local.json", self.grouped("agent-local")
        yield self.project / ".config/agent/settings.json", self.grouped("agent")
        yield (
            self.project / ".config/agent/hooks/pre-b.json",
            {"command": f"bash {self.script} pre-b"},
        )
        yield config / "packs/guards/hookline.toml", self.native("pack")
        yield self.home / ".ollm/hooks/downloaded/d.json", self.definition("downloaded")
        yield self.project / ".ollm/extensions/lint/hooks/e.json", self.definition("extension")
        # the same hook once more
        yield self.project / ".ollm/hooks/copy.json", self.definition("mine-ollm")

    def log(self) -> list[str]:
        path = self.project / "log"
        names = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return names


MINE = ["mine", "mine-ollm", "mine-protocol", "mine-ollama", "mine-agent", "mine-cli-agent", "pre-note"]
PROJECT = ["local", "shared", "ollm", "protocol", "called-trusted", "ollama", "agent-local", "agent", "pre-b"]
STRANGE = ["pack", "downloaded", "extension"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.spec("O-04", "A-02", "C-02", "D-17")
def test_every_hook_of_every_system_is_loaded_and_knows_where_it_came_from(world: World) -> None:
    opened = load_project(world.project, folders=replace(world.folders, managed=world.managed), traced=False)
    hooks = {hook.id: hook for hook in opened.hooks}

    assert [str(problem) for problem in opened.problems if problem.severity != "note"] == []
    assert hooks.keys() == {"policy", "first", "look", *MINE, *PROJECT, *STRANGE}
    assert {(name, hook.source, hook.layer) for name, hook in hooks.items() if name in {"policy", *STRANGE}} == {
        ("policy", Source.USER, Layer.MANAGED),
        ("pack", Source.DOWNLOADED, Layer.EXTENSION),
        ("downloaded", Source.DOWNLOADED, Layer.EXTENSION),
        ("extension", Source.EXTENSION, Layer.EXTENSION),
    }
    assert {(hooks[name].source, hooks[name].layer) for name in MINE} == {(Source.USER, Layer.USER)}
    assert {hooks[name].source for name in ("first", "look", *PROJECT)} == {Source.WORKSPACE}
    assert {name for name, hook in hooks.items() if hook.layer is Layer.LOCAL} == {"local", "agent-local"}


@pytest.mark.spec("O-04", "A-02", "C-02")
def test_each_hook_has_the_dialect_the_line_and_the_format_of_its_file(world: World) -> None:
    opened = load_project(world.project, folders=world.folders, traced=False)
    found = {
        hook.id: (hook.dialect, Path(hook.source_path).name, hook.source_line, hook.source_format)
        for hook in opened.hooks
    }

    assert {name: found[name] for name in ("mine", "shared", "ollm", "protocol", "look", "ollama", "agent")} == {
        "mine": ("hookline", "hookline.toml", 4, "native"),
        "shared": ("hookline", "hookline.toml", 6, "native"),
        "ollm": ("ollm", "a.json", 3, "ollm"),
        "protocol": ("ollm-protocol", "a.json", 12, "ollm"),
        "look": ("ollm-rpc", "look.json", 1, "when_then"),
        "ollama": ("ollama-cli", "settings.json", 7, "grouped"),
        "agent": ("cli-agent", "settings.json", 7, "grouped"),
    }
    assert found["pre-note"] == ("cli-agent", "pre-note.yaml", 1, "per_file")
    assert found["pre-b"] == ("cli-agent", "pre-b.json", 1, "per_file")


def hookline(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HOOKS_", "HOOKLINE_"))}
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments],
        cwd=world.project,
        env={**clean, "HOME": str(world.home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.spec("O-04", "A-02", "C-02")
def test_emit_fires_them_in_the_ruled_order(world: World) -> None:
    done = hookline(world, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}', "--json")
    outcome = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert world.log() == ["first", *MINE, *PROJECT]
    assert {skip["id"] for skip in outcome["skipped"]} == set(STRANGE)


@pytest.mark.spec("D-14")
def test_automation_asks_the_agent(world: World) -> None:
    done = hookline(world, "emit", "file_edited", "--data", '{"path": "a.py"}', "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["follow_ups"] == ["Look at it"]


def test_managed_hook_comes_before_the_persons_own(world: World) -> None:
    async def scenario() -> None:
        async with load_project(world.project, folders=replace(world.folders, managed=world.managed)).engine as engine:
            await engine.emit("before_tool", tool="shell", args={"command": "ls"})

    asyncio.run(scenario())
    assert world.log() == ["first", "policy", *MINE, *PROJECT]


@pytest.mark.spec("O-04", "D-07")
def test_without_the_persons_word_only_their_own_hooks_run(world: World) -> None:
    own = world.folders.config / "hookline.toml"
    own.write_text(own.read_text().replace("trust_workspace = true", "trust_workspace = false"))
    done = hookline(world, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

    assert done.returncode == 0
    assert world.log() == MINE
