import asyncio
import json
from pathlib import Path

import pytest

from hookline import Engine, Event, Session
from hookline.builtin import allow_readonly, deny_dangerous
from hookline.builtin._boundaries import Boundaries
from hookline.builtin.catalogue import BuiltinScope, builtin_hooks
from hookline.dialects import DIALECTS
from hookline.model.event import EventName
from hookline.model.verdict import Decision
from tests.builtin.bounds import lines, make_project


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Boundaries:
    return make_project(tmp_path_factory.mktemp("read_only"))


def _decision(bounds: Boundaries, tool: str, **args: object) -> Decision | None:
    event = Event(name=EventName.PERMISSION_REQUEST, tool=tool, args=args, cwd=bounds.root)
    verdict = allow_readonly.judge(event, root=bounds.root, home=bounds.home)
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
def test_reading_in_the_project_is_allowed(bounds: Boundaries, tool: str, args: dict[str, object]) -> None:
    assert _decision(bounds, tool, **args) is Decision.ALLOW


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
def test_everything_else_is_no_opinion(bounds: Boundaries, tool: str, args: dict[str, object]) -> None:
    assert _decision(bounds, tool, **args) is None


def test_who_works_in_their_home_is_asked_about_every_file(bounds: Boundaries) -> None:
    event = Event(name=EventName.PERMISSION_REQUEST, tool="read_file", args={"path": "notes.txt"}, cwd=bounds.home)

    assert allow_readonly.judge(event, root=bounds.home, home=bounds.home) is None


def test_the_reason_names_the_programs(bounds: Boundaries) -> None:
    event = Event(
        name=EventName.PERMISSION_REQUEST, tool="shell", args={"command": "cat README.md | wc -l"}, cwd=bounds.root
    )

    verdict = allow_readonly.judge(event, root=bounds.root, home=bounds.home)

    assert verdict is not None
    assert verdict.reason == "only reads: cat, wc"


@pytest.mark.slow
@pytest.mark.spec("C-12")
def test_no_line_is_both_allowed_and_denied_and_a_denial_wins(bounds: Boundaries) -> None:
    place = BuiltinScope(root=bounds.root, home=bounds.home)

    async def answers() -> dict[str, list[Decision]]:
        async with Engine(cwd=bounds.root) as engine:
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
def test_a_host_s_own_name_of_the_shell_is_understood(bounds: Boundaries, dialect: str, name: str) -> None:
    raw = {"hook": "PermissionRequest", "data": {"tool": name, "tool_input": {"command": "ls"}}}
    if dialect == "cli-agent":
        event = Event(name=EventName.PERMISSION_REQUEST, tool="shell", native_tool=name, args={"command": "ls"})
    else:
        event = DIALECTS[dialect].decode_event(json.dumps(raw).encode())

    verdict = allow_readonly.judge(event, root=bounds.root, home=bounds.home)

    assert verdict is not None
    assert verdict.decision is Decision.ALLOW


@pytest.mark.slow
def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    for line in [*lines("allow"), *lines("ask"), *lines("deny")]:
        event = Event(
            name=EventName.PERMISSION_REQUEST,
            tool="shell",
            args={"command": line},
            cwd=bounds.root,
            session=Session(id="s"),
        )
        allow_readonly.judge(event, root=bounds.root, home=bounds.home)
        deny_dangerous.judge(event, root=bounds.root, home=bounds.home)

    assert sorted(tmp_path.rglob("*")) == before
