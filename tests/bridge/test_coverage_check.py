"""Tools that ran and that nobody asked us about, in transcripts that real agents wrote."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge import call_ledger
from hookline.bridge.call_ledger import LedgerEntry
from hookline.bridge.coverage_check import find_missed_calls
from hookline.bridge.transcripts import FORMATS, list_tool_runs

WRITTEN: Final = Path(__file__).parent / "transcripts"

# what each of them ran, as its own model and its hooks call it, and the id that hooks are given
CALLS: Final = {
    "claude-code": (("Bash", "call_0_0"), ("Write", "call_1_0")),
    "codex-cli": (("exec_command", "call_0_0"), ("apply_patch", "call_1_0")),
    "gemini-cli": (("run_shell_command", ""), ("write_file", "")),
    "qwen-code": (("run_shell_command", "call_0_0"), ("write_file", "call_1_0")),
}
EARLIER: Final = datetime(2026, 11, 16, tzinfo=UTC).timestamp()

EACH_AGENT = pytest.mark.parametrize("host", sorted(CALLS))


def _book(folder: Path, host: str, seen: list[tuple[str, str]], *, at: float = EARLIER) -> Path:
    """Write the ledger of a session that began at a time."""
    transcript = str(WRITTEN / f"{host}.jsonl")
    lines = [LedgerEntry(at=at, host=host, event="SessionStart", moment="session_start", transcript=transcript)]
    lines += [
        LedgerEntry(
            at=at + 1, host=host, event="PreToolUse", moment="before_tool", calls=(call,) if call else (), tool=tool
        )
        for tool, call in seen
    ]
    path = folder / "one.calls"
    path.write_bytes(b"".join(json_codec.dump(line) + b"\n" for line in lines))
    return path


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


@EACH_AGENT
def test_what_real_agents_wrote_down_is_read(host: str) -> None:
    ran = list_tool_runs(host, str(WRITTEN / f"{host}.jsonl"))
    assert ran is not None
    assert [one.tool for one in ran] == [tool for tool, _ in CALLS[host]]
    assert all(one.at > EARLIER for one in ran)
    if FORMATS[host].by_id:
        assert [one.call for one in ran] == [call for _, call in CALLS[host]]


@EACH_AGENT
def test_where_every_call_reached_us_nobody_is_alarmed(host: str, tmp_path: Path) -> None:
    assert find_missed_calls(_book(tmp_path, host, list(CALLS[host])), is_installed=_yes) == ""


@EACH_AGENT
def test_a_call_that_never_reached_us_is_an_alarm(host: str, tmp_path: Path) -> None:
    alarm = find_missed_calls(_book(tmp_path, host, list(CALLS[host])[:1]), is_installed=_no)
    assert alarm.startswith(
        f"a tool call ran that {host} never asked us about, or did not wait for us to answer, so no hook could stop it: "
    )
    assert CALLS[host][1][0] in alarm


@EACH_AGENT
def test_where_no_call_ever_reached_us_it_depends_on_what_the_agent_was_told(host: str, tmp_path: Path) -> None:
    path = _book(tmp_path, host, [])
    assert find_missed_calls(path, is_installed=_no) == ""
    assert find_missed_calls(path, is_installed=_yes).startswith("2 tool calls ran that ")


@EACH_AGENT
def test_what_ran_before_we_were_there_is_not_missed(host: str, tmp_path: Path) -> None:
    path = _book(tmp_path, host, [], at=EARLIER + 86_400)
    assert find_missed_calls(path, is_installed=_yes) == ""


def _line(**document: object) -> str:
    return json.dumps({"timestamp": "2026-11-16T10:00:00.000Z", **document}) + "\n"


def _claude(call: str, name: str, result: object) -> str:
    said = {"type": "tool_use", "id": call, "name": name, "input": {}}
    told = {"type": "tool_result", "tool_use_id": call, "content": result}
    return _line(type="assistant", message={"content": [said]}) + _line(type="user", message={"content": [told]})


def _codex(call: str, name: str, output: str) -> str:
    said = {"type": "function_call", "name": name, "call_id": call, "arguments": "{}"}
    told = {"type": "function_call_output", "call_id": call, "output": output}
    return _line(type="response_item", payload=said) + _line(type="response_item", payload=told)


def _qwen(call: str, name: str, status: str) -> str:
    said = {"parts": [{"functionCall": {"id": call, "name": name, "args": {}}}]}
    return _line(type="assistant", message=said) + _line(toolCallResult={"callId": call, "status": status})


# none of these may alarm anybody: no hook is asked about them, or they never ran
QUIET: Final = [
    ("claude-code", _claude("1", "Bash", "<tool_use_error>InputValidationError: …</tool_use_error>")),
    ("claude-code", _claude("1", "Edit", [{"type": "text", "text": "<tool_use_error>no such file</tool_use_error>"}])),
    ("claude-code", _claude("1", "EndConversation", "done")),
    ("claude-code", _claude("1", "Bash", "hi").splitlines()[0] + "\n"),
    ("codex-cli", _codex("1", "write_stdin", "Chunk ID: 1\nWall time: 0.1 seconds\n")),
    ("codex-cli", _codex("1", "update_plan", "Plan updated")),
    ("codex-cli", _codex("1", "tool_search", "Wall time: 0.1 seconds\n")),
    ("codex-cli", _codex("1", "exec", "Wall time: 0.1 seconds\n")),
    ("codex-cli", _codex("1", "exec_command", "failed to parse function arguments: missing field `cmd`")),
    ("qwen-code", _qwen("1", "run_shell_command", "error")),
    ("qwen-code", _qwen("1", "todo_write", "success")),
    ("gemini-cli", _line(type="gemini", toolCalls=[{"id": "1", "name": "write_file", "status": "error"}])),
    ("gemini-cli", _line(type="gemini", toolCalls=[{"id": "1", "name": "update_topic", "status": "success"}])),
    (
        "claude-code",
        "not json\n[]\n" + json.dumps({"message": {"content": "tool_use"}}) + '\n{"message": "tool_use"}\n',
    ),
]
LOUD: Final = [
    ("claude-code", _claude("1", "mcp__files__write", "done"), "mcp__files__write 1"),
    ("claude-code", _claude("1", "Bash", "hi"), "Bash 1"),
    ("codex-cli", _codex("1", "exec_command", "Chunk ID: 1\nWall time: 0.1 seconds\n"), "exec_command 1"),
    ("qwen-code", _qwen("1", "run_shell_command", "success"), "run_shell_command 1"),
]


def _written(folder: Path, host: str, text: str) -> Path:
    (folder / "talk.jsonl").write_text(text)
    path = folder / "one.calls"
    seen = LedgerEntry(at=EARLIER, host=host, event="SessionStart", transcript=str(folder / "talk.jsonl"))
    path.write_bytes(json_codec.dump(seen) + b"\n")
    return path


@pytest.mark.parametrize(("host", "text"), QUIET)
def test_nobody_is_alarmed_for_nothing(host: str, text: str, tmp_path: Path) -> None:
    assert find_missed_calls(_written(tmp_path, host, text), is_installed=_yes) == ""


@pytest.mark.parametrize(("host", "text", "named"), LOUD)
def test_what_ran_unasked_is_named(host: str, text: str, named: str, tmp_path: Path) -> None:
    assert named in find_missed_calls(_written(tmp_path, host, text), is_installed=_yes)


def test_many_are_counted_and_some_are_named(tmp_path: Path) -> None:
    text = "".join(_claude(str(number), "Bash", "hi") for number in range(9))
    alarm = find_missed_calls(_written(tmp_path, "claude-code", text), is_installed=_yes)
    assert alarm.startswith("9 tool calls ran")
    assert "Bash 0, Bash 1, Bash 2 and 6 more" in alarm


def test_what_cannot_be_compared_alarms_nobody(tmp_path: Path) -> None:
    path = _written(tmp_path, "claude-code", "")
    (tmp_path / "talk.jsonl").unlink()
    assert find_missed_calls(path, is_installed=_yes) == ""
    (tmp_path / "talk.jsonl").mkdir()
    assert find_missed_calls(path, is_installed=_yes) == ""
    assert find_missed_calls(tmp_path / "none.calls", is_installed=_yes) == ""
    assert find_missed_calls(_written(tmp_path / "..", "kiro", _claude("1", "Bash", "hi")), is_installed=_yes) == ""


def test_a_ledger_that_is_full_is_not_compared(tmp_path: Path) -> None:
    path = _written(tmp_path, "claude-code", _claude("1", "Bash", "hi"))
    with path.open("ab") as file:
        file.write(b"\n" * call_ledger.LARGEST)
    assert find_missed_calls(path, is_installed=_yes) == ""


@EACH_AGENT
def test_a_call_that_ran_before_it_was_answered_is_missed(host: str, tmp_path: Path) -> None:
    (tool, call), *others = CALLS[host]
    path = _book(tmp_path, host, list(others))
    asked = LedgerEntry(
        at=EARLIER + 1, host=host, event="", moment="before_tool", calls=(call,), tool=tool, waiting=True
    )
    path.write_bytes(path.read_bytes() + json_codec.dump(asked) + b"\n")

    assert f"did not wait for us to answer, so no hook could stop it: {tool}" in find_missed_calls(
        path, is_installed=_no
    )


def test_a_call_that_was_refused_does_not_stand_for_another_that_ran(tmp_path: Path) -> None:
    host = "gemini-cli"
    (tool, _), *others = CALLS[host]
    path = _book(tmp_path, host, list(others))
    refused = LedgerEntry(at=EARLIER + 1, host=host, event="", moment="before_tool", tool=tool, refused=True)
    path.write_bytes(path.read_bytes() + json_codec.dump(refused) + b"\n")

    assert tool in find_missed_calls(path, is_installed=_no)


@pytest.mark.parametrize("host", [host for host in sorted(CALLS) if FORMATS[host].by_id])
def test_a_refused_call_that_ran_all_the_same_is_missed(host: str, tmp_path: Path) -> None:
    path = _book(tmp_path, host, list(CALLS[host]))
    tool, call = CALLS[host][1]
    entry = LedgerEntry(at=EARLIER + 2, host=host, event="PreToolUse", moment="before_tool", calls=(call,), tool=tool)
    path.write_bytes(
        b"".join(line for line in path.read_bytes().splitlines(keepends=True) if call.encode() not in line)
        + json_codec.dump(replace(entry, waiting=True))
        + b"\n"
        + json_codec.dump(replace(entry, refused=True))
        + b"\n"
    )
    assert find_missed_calls(path, is_installed=_yes) == ""

    with path.open("ab") as file:
        file.write(json_codec.dump(replace(entry, event="PostToolUse", moment="after_tool")) + b"\n")

    assert f"{tool} {call}" in find_missed_calls(path, is_installed=_yes)
