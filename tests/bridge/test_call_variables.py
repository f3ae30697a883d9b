"""No variable that a project's agent settings could bring along switches off a guard that fails closed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.model.exchange import Answer
from tests.cli.program import environment
from tests.waiting import PATIENCE
from tools.fuzz_payloads import is_denied

pytestmark = pytest.mark.slow

GUARD = '[[hook]]\nid = "g"\non = "before_tool"\ndeny = "no"\non_error = "block"\n'
PAYLOAD = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
# PROJECT stands for the folder of the project
VARIABLES = (
    ("HOOKS_ENABLED", "false"),
    ("HOOKS_ENABLED", "0"),
    ("HOOKS_TIMEOUT", "0.0001"),
    ("HOOKS_TIMEOUT", "nonsense"),
    ("HOOKLINE_CANARY", "x"),
    ("HOOKLINE_NESTING", "99"),
    ("HOOKLINE_NESTING", "nonsense"),
    ("HOOKLINE_DAEMON", "off"),
    ("HOOKLINE_DEBUG", "1"),
    ("HOOKLINE_EVENT", "Stop"),
    ("HOOKLINE_TOOL", "read_file"),
    ("HOOKLINE_SESSION", "other"),
    ("HOOKLINE_HTTP_SOCKET", "PROJECT/s"),
    ("XDG_CONFIG_HOME", "PROJECT"),
    ("XDG_CONFIG_HOME", "PROJECT/../elsewhere"),
    ("XDG_DATA_HOME", "PROJECT/../elsewhere"),
    ("XDG_DATA_HOME", "PROJECT"),
    ("XDG_RUNTIME_DIR", "PROJECT"),
    ("XDG_CONFIG_DIRS", "PROJECT"),
    ("PYTHONPATH", "PROJECT"),
    ("PYTHONHOME", "PROJECT"),
    ("PYTHONSTARTUP", "PROJECT/hookline.py"),
    ("PATH", "PROJECT"),
    ("CURSOR_VERSION", "1"),
    ("GEMINI_SESSION_ID", "1"),
    ("FACTORY_PROJECT_DIR", "PROJECT"),
)


@pytest.mark.spec("U-10")
@pytest.mark.parametrize(("name", "value"), VARIABLES)
def test_no_variable_switches_off_a_guard_that_fails_closed(name: str, value: str, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config" / "hookline").mkdir(parents=True)
    (home / ".config" / "hookline" / "hookline.toml").write_text(GUARD)
    project.mkdir()
    # what Python would import instead of ours, and what would be run instead of a program
    for module in ("hookline", "msgspec", "json", "sitecustomize"):
        (project / f"{module}.py").write_text("raise SystemExit(0)\n")

    done = subprocess.run(
        [sys.executable, "-E", "-P", "-m", "hookline", "hook", "--if-broken", "block", "claude-code", "PreToolUse"],
        input=json.dumps({**PAYLOAD, "cwd": str(project)}).encode(),
        capture_output=True,
        cwd=project,
        env={**environment(home), name: value.replace("PROJECT", str(project))},
        timeout=PATIENCE,
        check=False,
    )

    assert is_denied("claude-code", Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)), done
