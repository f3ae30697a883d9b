"""What the command line and agents are told of what hooks said, with real one-line hooks."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CALL = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')
CLAUDE = json.dumps(
    {
        "session_id": "s",
        "cwd": ".",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def say(home: Path, answer: object, *more: str) -> None:
    """Configure a hook that prints an answer."""
    lines = ["[[hook]]", 'id = "g"', 'on = "before_tool"', 'run = "python3 say.py"', *more]
    configure(home, "\n".join(lines) + "\n", {"say.py": f"print({json.dumps(answer)!r})\n"})


@pytest.mark.spec("P-19")
def test_agent_is_told_no_escapes_secrets_and_endless_texts(home: Path) -> None:
    say(home, {"decision": "deny", "reason": "\x1b[35mX ghp_" + "a1B2" * 9 + "x" * 50_000})
    answer = json.loads(hookline(home, "hook", "claude-code", "PreToolUse", stdin=CLAUDE).stdout)
    reason = answer["hookSpecificOutput"]["permissionDecisionReason"]

    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert reason.startswith("\\x1b[35mX ghp_a1…[secret]")
    assert len(reason) < 11_000


@pytest.mark.spec("P-19")
def test_messages_of_emit_are_cut(home: Path) -> None:
    say(home, {"message": "x" * 50_000})

    assert len(hookline(home, *CALL).stdout) < 3_000
    assert len(json.loads(hookline(home, *CALL, "--json").stdout)["messages"][0]) < 3_000


def test_failure_that_blocks_is_told_once(home: Path) -> None:
    say(home, {"decison": "deny"}, 'on_error = "block"')
    done = hookline(home, *CALL)

    assert done.returncode == 2
    assert done.stderr.count("is no key of an answer") == 1


def test_hook_cannot_forge_a_line_of_ours(home: Path) -> None:
    say(home, {"decision": "deny", "reason": "no\nhookline: all is well"})

    assert hookline(home, *CALL).stderr == "no\n  | hookline: all is well\n"


def test_guard_in_another_systems_words_blocks_under_claude_code(home: Path) -> None:
    say(home, {"allow": False, "message": "not today"})
    answer = json.loads(hookline(home, "hook", "claude-code", "PreToolUse", stdin=CLAUDE).stdout)

    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "not today"


def test_prompt_that_a_hook_changes_does_not_reach_claude_code_unchanged(home: Path) -> None:
    lines = ["[[hook]]", 'id = "g"', 'on = "before_agent"', 'run = "python3 say.py"', 'on_error = "block"']
    printed = json.dumps({"args": {"prompt": "redacted"}})
    configure(home, "\n".join(lines) + "\n", {"say.py": f"print({printed!r})\n"})
    prompt = json.dumps({"session_id": "s", "cwd": ".", "hook_event_name": "UserPromptSubmit", "prompt": "secret"})
    answer = json.loads(hookline(home, "hook", "claude-code", "UserPromptSubmit", stdin=prompt).stdout)

    assert answer["decision"] == "block"
    assert "changes the arguments" in answer["reason"]


@pytest.mark.parametrize("how", [["--json"], ["--dialect", "ollama-cli"]])
def test_function_that_prints_does_not_break_the_answer(home: Path, how: list[str]) -> None:
    lines = ["[[hook]]", 'id = "g"', 'on = "before_tool"', 'call = "noisy:check"']
    noisy = "import os\ndef check(event):\n    print('noise')\n    os.write(1, b'more')\n    return {'decision': 'deny', 'reason': 'no'}\n"
    configure(home, "\n".join(lines) + "\n", {"noisy.py": noisy})
    done = hookline(home, *CALL, *how)

    assert "no" in json.loads(done.stdout).get("reason", json.loads(done.stdout).get("reasons"))
    assert "noise" in done.stderr


@pytest.mark.spec("C-07")
@pytest.mark.parametrize(
    ("dialect", "key", "value"),
    [
        ("ollama-cli", "permissionDecision", "ask"),
        ("cli-agent", "decision", "ask"),
        ("ollm-protocol", "allow", False),
        ("ollm", "continue", False),
        ("hookline", "decision", "ask"),
    ],
)
def test_question_reaches_a_host_that_can_ask(home: Path, dialect: str, key: str, value: object) -> None:
    say(home, {"decision": "ask", "reason": "sure?"})
    done = hookline(home, *CALL, "--dialect", dialect)
    answer = json.loads(done.stdout)

    assert done.returncode == 0
    assert answer[key] == value
    assert "sure?" in done.stdout
    assert "no way to ask" not in done.stdout
    assert '"ask"' in done.stdout


@pytest.mark.spec("A-05")
@pytest.mark.parametrize("size", [140_000, 1_000_000])
def test_long_command_is_no_way_around_a_guard(home: Path, size: int) -> None:
    folder = configure(home, "")
    check = folder / "security-check"
    check.write_text('#!/bin/sh\ncase "$1" in *evil*) exit 2;; esac\n')
    check.chmod(0o755)
    settings = {
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": f"{check} '{{{{tool_args.command}}}}'"}]}]}
    }
    agent = home / ".config" / "agent"
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text(json.dumps(settings))
    data = home.parent / "project" / "event.json"
    data.write_text(json.dumps({"tool": "shell", "args": {"command": "evil " + "x" * size}}))
    done = hookline(home, "emit", "before_tool", "--data", "@event.json")

    assert done.returncode == 2
    assert "too long for an argument" in done.stderr


@pytest.mark.spec("C-11")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("x: Permission denied", "permission"),
        ("cat: y: No such file or directory", "not_found"),
        ("Command timed out after 120 s", "timeout"),
        ("connect ECONNREFUSED 127.0.0.1:80", "network"),
        ("bash: foo: command not found", "not_found"),
        ("No space left on device", "resource"),
        ("it went wrong", "unknown"),
    ],
)
def test_error_that_comes_as_text_is_classified(home: Path, error: str, kind: str) -> None:
    lines = ["[[hook]]", 'id = "g"', 'on = "tool_failed"', 'dialect = "ollama-cli"', 'run = "python3 say.py"']
    program = "import json, sys\nprint(json.dumps({'additionalContext': json.load(sys.stdin)['error_type']}))\n"
    configure(home, "\n".join(lines) + "\n", {"say.py": program})
    failed = {
        "session_id": "s",
        "cwd": ".",
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "error": error,
    }
    done = hookline(home, "hook", "claude-code", "PostToolUseFailure", stdin=json.dumps(failed))

    assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == kind


@pytest.mark.spec("C-08")
def test_function_of_a_module_sees_the_variables_of_its_event(home: Path) -> None:
    module = "import os\ndef check(data):\n    return {'additionalContext': ' '.join(sorted(n for n in os.environ if n.startswith('OLLAMA_')))}\n"
    lines = ["[[hook]]", 'id = "g"', 'on = "before_tool"', 'dialect = "ollama-cli"', 'call = "mine:check"']
    configure(home, "\n".join(lines) + "\n", {"mine.py": module})

    names = ["HOOKS_ENABLED", "MODEL", "PROJECT_DIR", "PROVIDER", "SESSION_ID"]
    assert hookline(home, *CALL).stdout == " ".join(f"OLLAMA_{name}" for name in names) + "\n"
