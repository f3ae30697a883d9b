"""What an agent says is read as the event that its entry in the settings names, and what cannot be read is no yes."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.bridge.call import Call, read_call
from hookline.dialects import DIALECTS
from hookline.model.event import EventName
from hookline.model.exchange import Answer
from tests.bridge.agents import AGENTS, GUARD, Person, document, is_refused
from tests.cli.program import environment
from tests.waiting import PATIENCE
from tools.fuzz_payloads import Case, cases, is_denied, mutate, run

CLAUDE = {
    "session_id": "s1",
    "transcript_path": "/t.jsonl",
    "cwd": "/project",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t1",
}
# a guard as people write it: without a word about failures
PLAIN = GUARD.replace('on_error = "block"', "").replace('tools = "shell"', "")
DENIES = 'cat >/dev/null; echo \'{"decision": "deny", "reason": "no"}\''


def read(host: str, event: str, said: object) -> tuple[EventName, str, str]:
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    reading = read_call(Call(dialect=DIALECTS[host], native=event, raw=raw))
    return reading.event.name, reading.call.dialect.SPEC.name, reading.trouble


@pytest.mark.spec("U-10")
@pytest.mark.parametrize(
    "name", ["PreToolUse2", "pretooluse", "PRETOOLUSE", "Stop", "", "PreToolUse ", 5, None, [], {}]
)
def test_the_entry_names_the_event_whatever_the_payload_calls_it(name: object) -> None:
    assert read("claude-code", "PreToolUse", {**CLAUDE, "hook_event_name": name}) == (
        EventName.BEFORE_TOOL,
        "claude-code",
        "",
    )


def test_a_payload_without_a_name_is_the_event_of_the_entry() -> None:
    nameless = {key: value for key, value in CLAUDE.items() if key != "hook_event_name"}
    assert read("claude-code", "PreToolUse", nameless) == (EventName.BEFORE_TOOL, "claude-code", "")


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": "2026-11-16T05:00:00Z", "permission_mode": None},
        {"cursor_version": "2.6.0"},
        {"clineVersion": "3"},
        {"agent_action_name": "pre_run_command"},
        {"event": "x"},
        {"hookEventName": "pre_tool_use"},
        {"turn_id": "t", "model": "m"},
    ],
)
def test_the_agent_of_the_entry_counts_against_a_guess(change: dict[str, object]) -> None:
    assert read("claude-code", "PreToolUse", {**CLAUDE, **change})[:2] == (EventName.BEFORE_TOOL, "claude-code")


def test_a_key_that_stands_twice_cannot_be_read() -> None:
    raw = json.dumps(CLAUDE).encode()
    for double in (
        raw.replace(b'"command": "ls"', b'"command": "ls", "command": "rm"'),
        raw.replace(b'"command": "ls"', rb'"command": "ls", "\u0063ommand": "rm"'),
        raw.replace(b'"tool_name": "Bash"', b'"tool_name": "Bash", "tool_name": "Read"'),
    ):
        assert "is in it twice" in read("claude-code", "PreToolUse", double)[2]
    # the same key at another place, or as a text, is none
    fine = {**CLAUDE, "tool_input": {"command": "command", "nested": {"command": '{"command": 1}', "tool_name": "x"}}}
    assert read("claude-code", "PreToolUse", fine)[2] == ""


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("host", AGENTS)
def test_an_event_that_cannot_be_read_is_denied_with_the_reason_where_a_hook_could_deny(
    person: Person, host: str
) -> None:
    person.configure(PLAIN)
    for raw in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 1000 + b"1" + b"}" * 1000, b"[" * 2000):
        answer = person.ask(host, raw=raw, if_broken="allow")
        assert is_refused(host, answer), raw[:20]
        assert b"hookline doctor" in answer.stdout + answer.stderr


def test_hooks_that_cannot_deny_block_nothing_that_cannot_be_read(person: Person) -> None:
    person.configure('[[hook]]\nid = "t"\non = "before_tool"\ncontext = "x"\n')
    assert not is_refused("claude-code", person.ask("claude-code", raw=b"{", if_broken="allow"))
    person.configure(PLAIN + "observe = true\n")
    assert not is_refused("claude-code", person.ask("claude-code", raw=b"{", if_broken="allow"))


def test_hooks_of_a_project_that_nobody_approved_block_nothing_that_cannot_be_read(person: Person) -> None:
    (person.project / "hookline.toml").write_text(PLAIN)
    (person.project / "guard.sh").write_text(DENIES)
    assert not is_refused("claude-code", person.ask("claude-code", raw=b"{", if_broken="allow"))


def test_a_payload_that_disagrees_with_its_entry_is_told_to_the_person(person: Person) -> None:
    person.configure(PLAIN)
    said = {**CLAUDE, "hook_event_name": "PreToolUse2", "cwd": str(person.project)}
    answer = person.ask("claude-code", raw=json.dumps(said).encode())
    assert "another event than PreToolUse" in json.dumps(document(answer))


@pytest.mark.slow
@pytest.mark.spec("U-10")
def test_no_mutated_payload_is_a_yes() -> None:
    asked, passed = asyncio.run(run(4_000, 3))
    assert passed == []
    assert len(asked) == 12


@pytest.mark.slow
@pytest.mark.spec("U-10")
def test_no_mutated_payload_is_a_yes_to_the_real_program(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "hookline"
    config.mkdir(parents=True)
    (config / "hookline.toml").write_text('[[hook]]\nid = "g"\non = "before_tool"\ndeny = "no"\n')
    project = tmp_path / "project"
    project.mkdir()
    rng = random.Random(5)  # noqa: S311 - not for secrets
    wanted = [
        case for case in cases() if case.event in {"PreToolUse", "BeforeTool", "preToolUse", "tool.execute.before"}
    ]

    def answer(case: Case, raw: bytes) -> bool:
        done = subprocess.run(
            [sys.executable, "-m", "hookline", "hook", "--if-broken", "allow", case.host, case.event],
            input=raw,
            capture_output=True,
            cwd=project,
            env=environment(tmp_path),
            timeout=PATIENCE,
            check=False,
        )
        return is_denied(case.host, Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode))

    for case in rng.sample(wanted, 25):
        raw = mutate(rng, case.document)
        assert answer(case, raw), (case, raw)


def test_a_request_of_qwen_code_without_a_prompt_is_no_broken_prompt() -> None:
    said = {
        "session_id": "s1",
        "cwd": "/project",
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": "p1",
        "prompt": "",
    }
    assert read("qwen-code", "UserPromptSubmit", said) == (EventName.CUSTOM, "qwen-code", "")
