"""Options of built-in hooks: read from the user's own file, checked with file and line, and never from a project."""

import json
from pathlib import Path

import pytest

from hookline.project import load_project
from hookline.user_dirs import UserDirs
from tests.builtin.machine import Machine
from tests.cli.program import configure
from tests.web_service import server

pytestmark = pytest.mark.spec("C-19")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[builtin.toollog]\nkeep = 3\n", 1, 'there is no built-in hook "toollog" (did you mean "tool-log"?)'),
        ("[builtin.tool-log]\nkep = 3\n", 2, 'builtin:tool-log has no option "kep" (did you mean "keep"?)'),
        ("[builtin.tool-log]\nmax_size = -1\n", 2, "the option max_size of builtin:tool-log: wanted a size above 0"),
        ('[builtin.tool-log]\npath = "logs/x"\n', 2, "the option path of builtin:tool-log: wanted a whole path"),
        ('[builtin.notification]\nslack = "x"\n', 2, "the option slack of builtin:notification: wanted a URL"),
        ('[builtin.prompt-filter]\ndeny = ["("]\n', 2, 'the option deny of builtin:prompt-filter: "("'),
        ("[builtin]\ntool-log = 3\n", 2, "wanted a table, got"),
        ("builtin = 3\n", 1, "wanted a table for each hook"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(machine: Machine, text: str, line: int, message: str) -> None:
    configure(machine.home, text)

    done = machine.run("check")

    assert done.returncode == 1
    assert f"hookline.toml:{line}: error: {message}" in done.stdout


def test_guard_whose_options_cannot_be_used_blocks(machine: Machine) -> None:
    configure(machine.home, '[settings]\nbuiltins = ["prompt-filter"]\n[builtin.prompt-filter]\ndeny = ["("]\n')

    answer = machine.call("claude-code", "UserPromptSubmit")

    assert answer["decision"] == "block"
    assert "the option deny of builtin:prompt-filter" in answer["reason"]


def test_project_sets_no_option(machine: Machine) -> None:
    with server() as (url, seen):
        machine.switch_on("notification", "prompt-filter")
        theirs = f'[builtin.notification]\nwebhook = "{url}"\n[builtin.prompt-filter]\nsecrets = false\n'
        (machine.project / "hookline.toml").write_text(theirs)

        machine.call("claude-code", "Notification")
        machine.work()
        refused = machine.call("claude-code", "UserPromptSubmit", prompt="password: hunter2!")

    assert seen == []
    assert refused["decision"] == "block"
    checked = machine.run("check").stdout
    assert "hookline.toml:1: error: options of built-in hooks have no effect here" in checked


def test_options_change_what_the_hooks_do(machine: Machine) -> None:
    machine.switch_on(
        *("rm-rf", "env-files", "prompt-filter", "context-files"),
        options="""
[builtin.rm-rf]
allow = ["generated"]
[builtin.env-files]
files = ["*.secret"]
[builtin.prompt-filter]
secrets = false
[builtin.context-files]
files = ["HOUSE.md"]
fence = false
""",
    )
    (machine.project / "HOUSE.md").write_text("be brief")

    def decide(line: str) -> str:
        return str(machine.emit("before_tool", tool="shell", args={"command": line})["decision"])

    assert [decide(line) for line in ("rm -rf generated", "rm -rf src")] == ["pass", "deny"]
    assert [decide(line) for line in ("cat .env", "cat a.secret")] == ["pass", "deny"]
    assert machine.emit("before_agent", {"prompt": "password: hunter2!"})["decision"] == "pass"
    assert "HOUSE.md:\\nbe brief" in json.dumps(machine.emit("session_start", {"source": "startup"}))


def test_options_of_a_hook_are_shown(machine: Machine) -> None:
    machine.switch_on("tool-log", options='[builtin.tool-log]\nmax_size = "1MB"\n')

    shown = json.loads(machine.run("show", "builtin:tool-log", "--json").stdout)

    assert shown["options"] == {
        "writes_to": str(machine.data / "logs/tool-log.jsonl"),
        "given": {"max_size": 1_048_576},
        "takes": ["path", "max_size", "keep"],
    }


def test_user_does_not_loosen_a_guard_of_the_administrator(tmp_path: Path) -> None:
    for name in ("project", "home", "config", "managed"):
        (tmp_path / name).mkdir(mode=0o755)
    theirs = '[settings]\nbuiltins = ["env-files"]\n[builtin.tool-log]\nkeep = 9\n'
    (tmp_path / "managed/hookline.toml").write_text(theirs)
    (tmp_path / "managed/hookline.toml").chmod(0o644)
    own = '[builtin.env-files]\nallow = [".env"]\n[builtin.tool-log]\nkeep = 1\nmax_size = 5\n'
    (tmp_path / "config/hookline.toml").write_text(own)
    dirs = UserDirs(
        home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data", managed=tmp_path / "managed"
    )

    loaded = load_project(tmp_path / "project", folders=dirs, traced=False)

    assert loaded.settings.builtin_options == {"tool-log": {"keep": 9, "max_size": 5}}
    (guard,) = (hook for hook in loaded.hooks if hook.id == "builtin:env-files")
    assert "!.env" not in guard.reads
