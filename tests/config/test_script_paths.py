from collections.abc import Callable
from pathlib import Path

import pytest

from hookline.config.script_paths import anchor_scripts
from hookline.model.hook import Hook

build: Callable[..., Hook] = Hook


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    for name in ("project/hooks/x.py", "project/guard.sh", "beside/own.js", "project/tools/t.sh", "project/a b/c.sh"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [f"{tmp_path}/project", f"{tmp_path}/beside"]


def words(folders: list[str], **fields: object) -> tuple[str, ...]:
    hook = anchor_scripts(build(id="h", dialect="ollm", **fields), folders, shell_dialects={"cli-agent"})
    root = folders[0].removesuffix("project")
    return tuple(word.replace(root, "<>") for word in (hook.command, *hook.args))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"command": "./guard.sh"}, ("<>project/guard.sh",)),
        ({"command": "./guard.sh --fast x"}, ("<>project/guard.sh", "--fast", "x")),
        ({"command": "hooks/../guard.sh"}, ("<>project/guard.sh",)),
        ({"command": "./missing.sh"}, ("<>project/missing.sh",)),
        ({"command": "./own.js"}, ("<>beside/own.js",)),
        ({"command": "'a b/c.sh'"}, ("'<>project/a b/c.sh'",)),
        ({"command": "'a b/c.sh' x"}, ("<>project/a b/c.sh", "x")),
        ({"command": "./t.sh", "working_directory": "tools"}, ("<>project/tools/t.sh",)),
        ({"command": "./guard.sh", "working_directory": "~nobody-by-this-name"}, ("<>project/guard.sh",)),
        ({"command": "python3 hooks/x.py guard.sh"}, ("python3", "<>project/hooks/x.py", "<>project/guard.sh")),
        ({"command": "node", "args": ["--no-warnings", "own.js"]}, ("node", "--no-warnings", "<>beside/own.js")),
        ({"command": "/usr/bin/python3.12", "args": ["hooks/x.py"]}, ("/usr/bin/python3.12", "<>project/hooks/x.py")),
        ({"command": "bash -e guard.sh"}, ("bash", "-e", "<>project/guard.sh")),
    ],
)
def test_script_of_a_command_without_shell_becomes_absolute(
    fields: dict[str, object], expected: tuple[str, ...], folders: list[str]
) -> None:
    assert words(folders, **fields) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "node"},
        {"command": "python3 missing.py"},
        {"command": "python3 -m guard.sh"},
        {"command": "bash -c guard.sh"},
        {"command": "node -e guard.sh"},
        {"command": "npx eslint guard.sh"},
        {"command": "/bin/true guard.sh"},
        {"command": "python3 hooks"},
        {"command": "~/guard.sh"},
        {"command": "'./guard.sh"},
        {"command": "./guard.sh", "shell": True},
        {"command": "./guard.sh", "dialect": "cli-agent"},
        {"command": "   "},
        {"command": "python3", "args": ["x" * 5000]},
    ],
)
def test_everything_else_stays_as_it_was_written(fields: dict[str, object], folders: list[str]) -> None:
    fields = {"dialect": "ollm", **fields}
    hook = build(id="h", **fields)

    assert anchor_scripts(hook, folders, shell_dialects={"cli-agent"}) is hook


def test_hook_that_is_no_command_stays_as_it_is(folders: list[str]) -> None:
    hook = Hook(id="h", url="http://x/guard.sh")

    assert anchor_scripts(hook, folders, shell_dialects=()) is hook


def test_list_of_words_is_no_shell_line_in_any_dialect(folders: list[str]) -> None:
    hook = Hook(id="h", dialect="cli-agent", command="python3", args=("hooks/x.py",))

    assert anchor_scripts(hook, folders, shell_dialects={"cli-agent"}).args == (f"{folders[0]}/hooks/x.py",)
