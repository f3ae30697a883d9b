import asyncio
import json
from pathlib import Path

import pytest

from hookline import Engine, Event, Session
from hookline.builtin import dangerous, read_only
from hookline.builtin._ground import Ground
from hookline.builtin.catalogue import Place, builtin_hooks
from hookline.dialects import DIALECTS
from hookline.model.event import EventName
from hookline.model.verdict import Decision
from tests.builtin.ground import lines, make_project


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_project(tmp_path_factory.mktemp("read_only"))


def _decision(ground: Ground, tool: str, **args: object) -> Decision | None:
    event = Event(name=EventName.PERMISSION_REQUEST, tool=tool, args=args, cwd=ground.root)
    verdict = read_only.judge(event, root=ground.root, home=ground.home)
    return verdict.decision if verdict else None


@pytest.mark.spec("C-12")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "README.md"}),
        ("read_file", {"path": "./src/app.py", "offset": 1, "limit": 20}),
        ("read_files", {"paths": ["README.md", "src/app.py"]}),
        ("list_dir", {"path": "src"}),
        ("list_dir", {}),
        ("glob", {"pattern": "**/*.py"}),
        ("glob", {"pattern": "*.py", "path": "src"}),
        ("glob", {"pattern": "src/**/*.{py,md}"}),
        ("grep", {"pattern": "/etc/passwd", "path": "src"}),
        ("grep", {"pattern": "foo", "glob": "*.py", "output_mode": "content"}),
        ("grep", {"pattern": "foo", "glob": "src/**/*.{py,ts}"}),
        ("grep", {"pattern": "foo", "include": "!*.json"}),
        ("shell", {"command": "ls -la"}),
        ("shell", {"command": "ls", "description": "look", "timeout": 5}),
        ("shell", {"command": "cat app.py", "cwd": "src"}),
        ("shell", {"command": "cat app.py", "working_directory": "src"}),
    ],
)
def test_reading_in_the_project_is_allowed(ground: Ground, tool: str, args: dict[str, object]) -> None:
    assert _decision(ground, tool, **args) is Decision.ALLOW


@pytest.mark.spec("C-12")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": ".env"}),
        ("read_file", {"path": "src/../.env"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("read_file", {"path": "README.md\0"}),
        ("read_file", {"path": "~/notes.txt"}),
        ("read_file", {"path": "$HOME/notes.txt"}),
        ("read_file", {"path": "%USERPROFILE%/notes.txt"}),
        ("read_file", {"path": "file:///notes.txt"}),
        ("read_file", {"path": "../outside/key"}),
        ("read_file", {"path": "link.txt"}),
        ("read_file", {"path": "/proc/self/environ"}),
        ("read_file", {"file": "README.md", "other": "/etc/passwd"}),
        ("read_files", {"paths": ["README.md", "server.pem"]}),
        ("read_files", {"files": [{"path": ".env"}]}),
        ("list_dir", {"path": "/"}),
        ("list_dir", {"path": "out"}),
        ("glob", {"pattern": "/etc/**"}),
        ("glob", {"pattern": "../**"}),
        ("glob", {"pattern": "{/etc,src}/**"}),
        ("glob", {"pattern": "src/*/../../../*"}),
        ("glob", {"pattern": ["/etc/*"]}),
        ("glob", {"pattern": "*", "path": "/home"}),
        ("grep", {"pattern": "x", "path": "/etc"}),
        ("grep", {"pattern": "x", "path": ".env"}),
        ("grep", {"pattern": "x", "directory": "/etc"}),
        ("web_fetch", {"url": "https://example.com"}),
        ("web_search", {"query": "x"}),
        ("mcp__files__read_file", {"path": "README.md"}),
        ("write_file", {"path": "README.md", "content": "x"}),
        ("task", {"prompt": "ls"}),
        ("", {}),
        ("shell", {}),
        ("shell", {"command": ["ls"]}),
        ("shell", {"command": "ls", "shell": "powershell"}),
        ("shell", {"command": "ls", "env": {"LD_PRELOAD": "./x"}}),
        ("shell", {"command": "ls", "run_in_background": True}),
        ("shell", {"command": "cat key", "cwd": "/etc"}),
        ("shell", {"command": "cat key", "cwd": "out"}),
        ("shell", {"command": "ls", "cwd": 1}),
        ("shell", {"command": "ls", "cwd": "\0"}),
        ("shell", {"command": "cat notes.txt", "cwd": "~"}),
        ("shell", {"command": "cat notes.txt", "cwd": "~/x"}),
        ("shell", {"command": "cat notes.txt", "workdir": "$HOME"}),
        ("shell", {"command": "cat notes.txt", "workdir": " /etc"}),
        ("read_file", {"path": " /etc/passwd"}),
        ("read_file", {"path": "@/etc/passwd"}),
        ("read_file", {"path": "'/etc/passwd'"}),
        ("read_file", {"path": "..\\..\\notes.txt"}),
        ("read_file", {"path": "README.md\n"}),
        ("read_file", {"path": ".e\u200cnv"}),
        ("read_file", {"path": ".\u017fsh/config"}),
        ("read_file", {"path": "prod.tfvars"}),
        ("read_files", {"paths": [".e*"]}),
        ("grep", {"pattern": "TOKEN", "glob": ".e*"}),
        ("grep", {"pattern": "TOKEN", "glob": "*"}),
        ("grep", {"pattern": "TOKEN", "glob": "*.{py,local}"}),
        ("grep", {"pattern": "TOKEN", "glob": "*secret*.py"}),
        ("grep", {"pattern": "TOKEN", "include": "**/*"}),
    ],
)
def test_everything_else_is_no_opinion(ground: Ground, tool: str, args: dict[str, object]) -> None:
    assert _decision(ground, tool, **args) is None


def test_who_works_in_their_home_is_asked_about_every_file(ground: Ground) -> None:
    event = Event(name=EventName.PERMISSION_REQUEST, tool="read_file", args={"path": "notes.txt"}, cwd=ground.home)

    assert read_only.judge(event, root=ground.home, home=ground.home) is None


def test_the_reason_names_the_programs(ground: Ground) -> None:
    event = Event(
        name=EventName.PERMISSION_REQUEST, tool="shell", args={"command": "cat README.md | wc -l"}, cwd=ground.root
    )

    verdict = read_only.judge(event, root=ground.root, home=ground.home)

    assert verdict is not None
    assert verdict.reason == "only reads: cat, wc"


@pytest.mark.spec("C-12")
def test_no_line_is_both_allowed_and_denied_and_a_denial_wins(ground: Ground) -> None:
    place = Place(root=ground.root, home=ground.home)

    async def answers() -> dict[str, list[Decision]]:
        async with Engine(cwd=ground.root) as engine:
            engine.add(*builtin_hooks(place, on=("read-only", "dangerous")))
            return {
                verdict: [
                    (await engine.emit("permission_request", tool="shell", args={"command": line})).decision
                    for line in lines(verdict)
                ]
                for verdict in ("allow", "ask", "deny")
            }

    found = asyncio.run(answers())

    assert {verdict: set(decisions) for verdict, decisions in found.items()} == {
        "allow": {Decision.ALLOW},
        "ask": {Decision.PASS},
        "deny": {Decision.DENY},
    }


@pytest.mark.parametrize(
    ("dialect", "name"), [("ollama-cli", "Bash"), ("ollama-cli", "bash"), ("cli-agent", "bash_execute")]
)
def test_a_host_s_own_name_of_the_shell_is_understood(ground: Ground, dialect: str, name: str) -> None:
    raw = {"hook": "PermissionRequest", "data": {"tool": name, "tool_input": {"command": "ls"}}}
    if dialect == "cli-agent":
        event = Event(name=EventName.PERMISSION_REQUEST, tool="shell", native_tool=name, args={"command": "ls"})
    else:
        event = DIALECTS[dialect].decode_event(json.dumps(raw).encode())

    verdict = read_only.judge(event, root=ground.root, home=ground.home)

    assert verdict is not None
    assert verdict.decision is Decision.ALLOW


def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    for line in [*lines("allow"), *lines("ask"), *lines("deny")]:
        event = Event(
            name=EventName.PERMISSION_REQUEST,
            tool="shell",
            args={"command": line},
            cwd=ground.root,
            session=Session(id="s"),
        )
        read_only.judge(event, root=ground.root, home=ground.home)
        dangerous.judge(event, root=ground.root, home=ground.home)

    assert sorted(tmp_path.rglob("*")) == before
