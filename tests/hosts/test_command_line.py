"""The command line in the settings of agents, run as agents run it: by a real shell, with a real event on stdin."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hookline.dialects import DIALECTS
from hookline.hosts import HOSTS
from hookline.hosts.command_line import POLICIES, canonical_events, command_line, fallback_answer
from hookline.model.event import Event, EventName
from hookline.model.installed_entry import parse_entry
from hookline.model.verdict import Decision, Outcome
from tests.helpers.each import each

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish", "ksh") if shutil.which(shell)]
EVENTS = [(host.name, event) for host in HOSTS.values() for event in host.events]
GUARDED = {EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT}
# more than a pipe holds: whoever does not read it makes the agent wait, or fail
PAYLOAD = b'{"tool_input": "' + b"x" * 1_000_000 + b'"}'


def run(command: str, *, shell: str = "sh", stdin: bytes = PAYLOAD) -> tuple[int, bytes, bytes]:
    with subprocess.Popen(
        [shell, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        # unlike `communicate`, this fails where nobody reads
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def python_that(tmp_path: Path, body: str, *, name: str = "python") -> str:
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("code", [0, 2])
def test_what_we_answer_is_passed_on_as_it_is(shell: str, code: int, tmp_path: Path) -> None:
    python = python_that(tmp_path, f'wc -c; echo "$@" >&2; exit {100 + code}')

    done = run(command_line("claude-code", "PreToolUse", python=python, policy="block"), shell=shell)

    words = b"-E -P -m hookline hook --prove --if-broken block claude-code PreToolUse\n"
    assert done == (code, f"{len(PAYLOAD)}\n".encode(), words)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_python_with_odd_characters_in_its_path_is_run(shell: str, tmp_path: Path) -> None:
    python = python_that(tmp_path, "cat >/dev/null; echo ran; exit 100", name='my "odd" $python;(1)')

    assert run(command_line("claude-code", "Stop", python=python, policy="block"), shell=shell) == (0, b"ran\n", b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "body",
    [
        "exit 0",
        "exit 1",
        "exit 2",
        "echo 'No module named hookline' >&2; exit 1",
        "exit 127",
        "kill -SEGV $$",
        "exit 3",
    ],
)
def test_a_python_that_cannot_answer_is_what_the_policy_says(
    shell: str, policy: str, body: str, tmp_path: Path
) -> None:
    python = python_that(tmp_path, body)
    spare = fallback_answer("claude-code", "PreToolUse", policy=policy)

    code, out, err = run(command_line("claude-code", "PreToolUse", python=python, policy=policy), shell=shell)

    assert (code, out, err) == (spare.exit_code, spare.stdout, spare.stderr)
    assert bool(out) == (policy == "block")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_half_an_answer_of_a_python_that_falls_over_is_dropped(shell: str, policy: str, tmp_path: Path) -> None:
    # two documents one after the other are none, and an agent that cannot read an answer goes on
    python = python_that(tmp_path, """printf '{"hookSpecificOutput":{}}\\n'; echo 'Killed' >&2; kill -KILL $$""")
    spare = fallback_answer("claude-code", "PreToolUse", policy=policy)

    done = run(command_line("claude-code", "PreToolUse", python=python, policy=policy), shell=shell)

    assert done == (spare.exit_code, spare.stdout, spare.stderr)


@pytest.mark.parametrize("shell", SHELLS)
def test_an_answer_of_many_megabytes_is_passed_on(shell: str, tmp_path: Path) -> None:
    python = python_that(tmp_path, "cat >/dev/null; yes 0123456789abcde | head -c 8000000; exit 100")

    code, out, err = run(command_line("claude-code", "PreToolUse", python=python, policy="block"), shell=shell)

    assert (code, len(out), err) == (0, 8_000_000, b"")


@pytest.mark.slow
@each(("host", "event"), EVENTS)
@each("policy", POLICIES)
def test_a_python_that_is_gone_is_what_the_policy_says_in_every_agents_bytes(
    host: str, event: str, policy: str
) -> None:
    spare = fallback_answer(host, event, policy=policy)

    done = run(command_line(host, event, python="/nowhere/python", policy=policy))

    assert done == (spare.exit_code, spare.stdout, spare.stderr)


@each(("host", "event"), EVENTS)
def test_a_policy_of_allow_says_what_saying_nothing_is_there(host: str, event: str) -> None:
    said = Event(name=canonical_events(host, event)[0], native_name=event, host=host)

    assert fallback_answer(host, event, policy="allow") == DIALECTS[host].encode_outcome(Outcome(), said)


@each(("host", "event"), EVENTS)
def test_a_policy_of_block_blocks_where_work_begins_and_nowhere_else(host: str, event: str) -> None:
    spare = fallback_answer(host, event, policy="block")
    able = DIALECTS[host].SPEC.abilities

    is_guarded = bool(GUARDED & set(canonical_events(host, event))) and "block" in able[event]

    assert (b"hookline could not be run" in spare.stdout + spare.stderr) == is_guarded


@pytest.mark.parametrize(
    ("host", "event", "bytes_"),
    [
        ("claude-code", "PreToolUse", b""),
        ("codex-cli", "PreToolUse", b""),
        ("gemini-cli", "BeforeTool", b""),
        ("copilot-cli", "preToolUse", b""),
        ("cursor", "preToolUse", b'{"permission":"allow"}\n'),
        ("cline", "PreToolUse", b"{}\n"),
        ("antigravity", "PreToolUse", b'{"decision":""}\n'),
        ("antigravity", "Stop", b"{}\n"),
        ("windsurf", "pre_run_command", b""),
    ],
)
def test_no_opinion_of_a_python_that_is_gone_is_each_agents_own(host: str, event: str, bytes_: bytes) -> None:
    assert run(command_line(host, event, python="/nowhere/python", policy="allow")) == (0, bytes_, b"")


@pytest.mark.parametrize(
    ("host", "event", "key", "value"),
    [
        ("copilot-cli", "preToolUse", "permissionDecision", "deny"),
        ("cline", "PreToolUse", "cancel", True),
        ("antigravity", "PreToolUse", "decision", "deny"),
        ("cursor", "preToolUse", "permission", "deny"),
        ("gemini-cli", "BeforeTool", "decision", "deny"),
    ],
)
def test_a_block_of_a_python_that_is_gone_is_each_agents_own(host: str, event: str, key: str, value: object) -> None:
    code, out, _ = run(command_line(host, event, python="/nowhere/python", policy="block"))

    assert (code, json.loads(out)[key]) == (0, value)


def test_agents_that_know_exit_codes_only_get_one_with_a_reason() -> None:
    code, out, err = run(command_line("windsurf", "pre_run_command", python="/nowhere/python", policy="block"))

    assert (code, out) == (2, b"")
    assert err.startswith(b"hookline could not be run, so this is blocked")


@each(("host", "event"), EVENTS)
def test_no_answer_ends_with_a_code_that_stands_for_a_failure(host: str, event: str) -> None:
    said = Event(
        name=canonical_events(host, event)[0], native_name=event, host=host, tool="shell", args={"command": "ls"}
    )
    outcomes = [Outcome(decision=decision, reasons=("because",)) for decision in Decision]

    assert {DIALECTS[host].encode_outcome(outcome, said).exit_code for outcome in outcomes} <= {0, 2}


@each(("host", "event"), EVENTS)
def test_every_line_is_one_line_and_recognised_as_ours(host: str, event: str) -> None:
    command = command_line(host, event, python="/opt/py", policy="block")
    entry = parse_entry(command)

    assert "\n" not in command
    assert entry is not None
    assert (entry.python, entry.policy, entry.host, entry.event) == ("/opt/py", "block", host, event)


def test_on_windows_there_is_no_shell_to_count_on() -> None:
    command = command_line("claude-code", "Stop", python=r"C:\Program Files\python.exe", policy="allow", windows=True)

    assert command == (r'"C:\Program Files\python.exe" -E -P -m hookline hook --if-broken allow claude-code Stop')
