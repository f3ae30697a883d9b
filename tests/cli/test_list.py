import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import environment, hookline

OURS = """
[[hook]]
name = "guard"
on = ["before_tool", "after_tool"]
tools = ["shell"]
run = "python3 guard.py"
priority = "low"

[[hook]]
name = "first"
on = "before_tool"
run = "python3 guard.py"
priority = "high"

[[hook]]
name = "sleeping"
on = "session_start"
run = "python3 guard.py"
enabled = false
"""
OLLM = '{"id": "log", "event": "before_model", "command": "python3", "args": ["log.py"]}'
OLLAMA = (
    '{"hooks": {"PreToolUse": [{"matcher": "bash", "hooks": '
    '[{"type": "webhook", "name": "audit", "url": "http://127.0.0.1:9/x"}]}]}}'
)
AGENT = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "name": "bell", "command": "echo {{user_input}}"}]}]}}'
WHEN = (
    '{"name": "Review", "version": "1", "when": {"type": "fileEdited", "patterns": ["*.py"]},'
    ' "then": {"type": "askAgent", "prompt": "Review {{file.path}}"}}'
)
PROTOCOL = '{"id": "speaks", "event": "pre-tool-call", "command": "python3", "dialect": "ollm-protocol"}'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        "home/.config/hookline/hookline.toml": OURS,
        "home/.config/hookline/guard.py": "input()\n",
        "project/.ollm/hooks/log.json": OLLM,
        "project/.ollm/hooks/review.json": WHEN,
        "project/.ollm/hooks/speaks.json": PROTOCOL,
        "project/log.py": "",
        "project/.ollama/settings.json": OLLAMA,
        "home/.config/agent/settings.json": AGENT,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "home"


def listed(home: Path, *arguments: str) -> list[dict[str, object]]:
    done = hookline(home, "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    hooks: list[dict[str, object]] = json.loads(done.stdout)
    return hooks


@pytest.mark.spec("D-16")
def test_hooks_of_all_systems_are_listed(home: Path) -> None:
    hooks = {hook["id"]: hook for hook in listed(home)}

    assert {(name, hook["dialect"]) for name, hook in hooks.items()} == {
        ("guard", "hookline"),
        ("first", "hookline"),
        ("sleeping", "hookline"),
        ("log", "ollm"),
        ("review", "ollm-rpc"),
        ("speaks", "ollm-protocol"),
        ("audit", "ollama-cli"),
        ("bell", "cli-agent"),
    }
    assert hooks["guard"]["trust"] == "trusted"
    assert hooks["log"]["trust"] == "needs approval"
    assert hooks["sleeping"]["enabled"] is False
    assert (hooks["audit"]["kind"], hooks["audit"]["runs"]) == ("webhook", "POST http://127.0.0.1:9/x")
    assert hooks["bell"]["shell"] is True
    assert (hooks["log"]["path"], hooks["log"]["line"]) == (str(home.parent / "project/.ollm/hooks/log.json"), 1)


def test_table_has_the_hooks_of_an_event_in_the_order_they_run(home: Path) -> None:
    lines = hookline(home, "list").stdout.splitlines()

    before = [line.split()[1] for line in lines if line.startswith("before_tool ")]
    assert before == ["first", "speaks", "audit", "guard"]
    assert lines[0].split() == ["event", "hook", "matcher", "runs", "state", "last", "run", "from"]
    assert any("user ~/.config/hookline/hookline.toml:2" in line for line in lines)
    assert any("project .ollm/hooks/log.json:1" in line for line in lines)
    assert any(line.startswith("session_start") and " off " in line for line in lines)


def test_events_are_in_the_order_of_their_lives(home: Path) -> None:
    lines = hookline(home, "list").stdout.splitlines()[2:]

    events = [line.split()[0] for line in lines[: lines.index("")]]
    assert list(dict.fromkeys(events)) == [
        "session_start",
        "after_agent",
        "before_model",
        "before_tool",
        "after_tool",
        "file_edited",
    ]


def test_what_has_to_be_approved_is_said_below(home: Path) -> None:
    assert "hooks will not run before you approve: `hookline trust approve" in hookline(home, "list").stdout


@pytest.mark.parametrize(
    ("option", "value", "names"),
    [
        ("--event", "after_tool", {"guard"}),
        ("--event", "PostToolUseFailure", set()),
        # cli-agent has one name for two events
        ("--event", "PostToolUse", {"guard"}),
        ("--event", "on-session-start", {"sleeping"}),
        ("--event", "custom:deploy", set()),
        ("--dialect", "ollama-cli", {"audit"}),
        ("--source", "workspace", {"log", "review", "speaks", "audit"}),
        ("--source", "user", {"guard", "first", "sleeping", "bell"}),
    ],
)
def test_list_can_be_narrowed(home: Path, option: str, value: str, names: set[str]) -> None:
    assert {hook["id"] for hook in listed(home, option, value)} == names


def test_screen_that_is_narrower_than_the_table_gets_a_line_for_each_thing(home: Path) -> None:
    code = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "hookline", "list", "--event", "after_tool"],
        cwd=home.parent / "project",
        env=environment(home, COLUMNS="80", NO_COLOR="1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "after_tool",
        "  guard (trusted; last run never)",
        "    shell: python3 ~/.config/hookline/guard.py",
        "    user ~/.config/hookline/hookline.toml:2",
    ]


def test_unknown_event_gets_the_nearest_right_one(home: Path) -> None:
    done = hookline(home, "list", "--event", "befor_tool")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'did you mean "before_tool"' in done.stderr


def test_last_run_is_told(home: Path) -> None:
    assert {hook["id"]: hook["last_run"] for hook in listed(home)}["guard"] is None
    assert hookline(home, "emit", "before_tool", "--tool", "shell").returncode == 0

    last = {str(hook["id"]): hook["last_run"] for hook in listed(home)}

    assert isinstance(last["guard"], dict)
    assert (last["guard"]["result"], last["guard"]["event"]) == ("pass", "before_tool")
    assert last["log"] is None
    assert "just now: pass" in hookline(home, "list").stdout


def test_problem_is_counted_at_its_hook_and_below(home: Path) -> None:
    settings = home / ".config/hookline/hookline.toml"
    settings.write_text(OURS.replace('priority = "low"', 'priority = "lowest"'))

    text = hookline(home, "list").stdout

    assert ", 1 problem" in text
    assert text.endswith("1 problem in the configuration: `hookline check` shows them\n")
    problems = {str(hook["id"]): hook["problems"] for hook in listed(home)}["guard"]
    assert isinstance(problems, list)
    assert [(problem["line"], problem["severity"]) for problem in problems] == [(7, "error")]


def test_hooks_that_are_all_switched_off_are_still_listed(home: Path) -> None:
    done = hookline(home, "list", HOOKS_ENABLED="false")

    assert done.returncode == 0
    assert "all off" in done.stdout


def test_folder_without_hooks_says_so(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()

    assert hookline(tmp_path / "home", "list").stdout == "no hooks; `hookline new` makes one\n"
    assert json.loads(hookline(tmp_path / "home", "list", "--json").stdout) == []


def test_names_of_strangers_cannot_steer_the_screen(home: Path) -> None:
    evil = {"id": "evil\x1b[2K\r", "event": "before_tool", "command": "python3", "args": ["\x1b]8;;x\x07", "b\nc"]}
    (home.parent / "project/.ollm/hooks/evil.json").write_text(json.dumps(evil))

    done = hookline(home, "list")

    assert done.returncode == 0
    assert "evil" in done.stdout
    assert not set(done.stdout + done.stderr) & {"\x1b", "\r", "\x07"}


@pytest.mark.spec("P-19")
@pytest.mark.parametrize("command", [("list",), ("check",), ("why", "$(touch pwned)\nx"), ("doctor",)])
def test_advice_with_a_hostile_name_can_be_copied(home: Path, command: tuple[str, ...]) -> None:
    hostile = [{"id": "$(touch pwned)\nx", "event": "before_tool", "command": "python3", "args": ["-V"]}]
    project = home.parent / "project"
    shutil.rmtree(project)
    (project / ".ollm" / "hooks").mkdir(parents=True)
    (project / ".ollm" / "hooks" / "one.json").write_text(json.dumps(hostile))

    shown = hookline(home, *command).stdout

    assert r"hookline trust" in shown
    assert r"hookline trust show $(touch" not in shown
    assert r"hookline trust approve $(touch" not in shown
    copied = r"$(touch pwned)\nx"
    assert f"'{copied}'" in shown
    assert json.loads(hookline(home, "show", copied, "--json").stdout)["id"] == "$(touch pwned)\nx"


def test_name_of_a_project_that_is_too_long_is_no_folder(home: Path) -> None:
    done = hookline(home, "list", "--project", "x" * 5000)

    assert done.returncode == 1
    assert done.stderr.startswith("hookline: --project: there is no folder xxx")


def test_lists_of_hooks_and_raised_events_are_named(home: Path) -> None:
    own = home / ".config" / "hookline" / "hookline.toml"
    own.write_text(
        '[[hook]]\nname = "both"\non = "error"\nsteps = ["one", "two"]\n'
        '[[hook]]\nname = "one"\non = "user_triggered"\nraise = "custom:done"\n'
        '[[hook]]\nname = "two"\non = "user_triggered"\nask = "And now?"\n'
    )

    shown = hookline(home, "list", "--source", "user").stdout

    assert "steps: one, two" in shown
    assert "raise: custom:done" in shown
