"""Hooks of a project are contained whoever answers the agent: the program itself or the daemon, one by one or as steps."""

import json

import pytest

from hookline.process import linux
from hookline.process.containment import find_layers
from tests.daemon.living import Living, payload

pytestmark = pytest.mark.skipif(
    not linux.is_supported() or not find_layers().landlock, reason="needs a kernel that can contain a process"
)

CONFIG = """\
[[hook]]
id = "command"
on = "before_tool"
run = "sh hook.sh command"

[[hook]]
id = "function"
on = "before_tool"
call = "hooks:note"

[[hook]]
id = "list"
on = "before_tool"
steps = ["step"]

[[hook]]
id = "step"
on = "user_triggered"
run = "sh hook.sh step"
"""
SHELL = "cat >/dev/null; touch ran-$1; touch ../outside-$1; true\n"
PYTHON = """\
from pathlib import Path

def note(document):
    project = Path(__file__).parent
    (project / "ran-function").touch()
    try:
        (project.parent / "outside-function").touch()
    except OSError:
        return None
"""


@pytest.fixture
def project(living: Living) -> Living:
    for name, text in {"hookline.toml": CONFIG, "hook.sh": SHELL, "hooks.py": PYTHON}.items():
        (living.project / name).write_text(text)
    done = living.hookline("trust", "approve", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    return living


def check_what_was_written(living: Living) -> None:
    assert {path.name for path in living.project.glob("ran-*")} == {"ran-command", "ran-function", "ran-step"}
    assert list(living.project.parent.glob("outside-*")) == []


def test_hooks_of_a_project_are_contained_by_a_program_of_its_own(project: Living) -> None:
    event = json.dumps({"command": "ls"})
    done = project.hookline("emit", "before_tool", "--tool", "shell", "--args", event)

    assert done.returncode == 0, done.stderr
    check_what_was_written(project)


def test_hooks_of_a_project_are_contained_by_the_daemon(project: Living) -> None:
    project.start()
    answer = project.ask(payload(project.project))

    assert answer.exit_code == 0, answer
    check_what_was_written(project)
