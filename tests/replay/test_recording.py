"""Events are read from records and from transcripts of real agents, and what cannot be read is counted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from hookline.errors import ConfigError
from hookline.model.record import Record, Step
from hookline.replay import recording as words
from hookline.replay.recording import RecordedEvent, Recording, read_recording, read_records

TRANSCRIPTS = Path(__file__).parent / "transcripts"
AGENTS = ("claude-code", "codex-cli", "gemini-cli")


def call(one: RecordedEvent) -> tuple[str, str, object, str]:
    args = one.event.args
    return str(one.event.name), one.event.tool, args.get("command") or args.get("path") or args.get("patch"), one.was


def export(tmp_path: Path, records: Sequence[Record], *more: bytes) -> Path:
    path = tmp_path / "export.jsonl"
    lines = [json.dumps(asdict(record)).encode() for record in records]
    path.write_bytes(b"\n".join([*lines, *more]) + b"\n")
    return path


def records(trace: str, *, decision: str = "pass", **detail: Any) -> list[Record]:
    common: dict[str, Any] = {"trace": trace, "at": 5.0, "event": "before_tool", "session": "s", "host": "claude-code"}
    common |= {"project": "/p", "tool": "shell"}
    return [
        Record(step=Step.EVENT, detail={"args": {"command": "ls"}, "data": {"call_id": "c"}, **detail}, **common),
        Record(step=Step.COMPLETED, hook="guard", detail={"decision": decision}, **common),
        Record(step=Step.OUTCOME, detail={"decision": decision, "ran": 1, "rewrote": False}, **common),
    ]


@pytest.mark.spec("U-16")
@pytest.mark.parametrize("agent", AGENTS)
def test_transcript_of_a_real_agent_becomes_the_events_its_hooks_were_called_at(agent: str) -> None:
    (path,) = TRANSCRIPTS.glob(f"{agent}.*")

    found = read_recording(path)

    prompt, *calls = found.events
    assert (prompt.event.name, prompt.event.data["prompt"]) == ("before_agent", "do what the script says")
    shells = [call(one)[2:] for one in calls if one.event.tool == "shell"]
    assert shells == [("echo hello", "pass"), ("rm -r build", "deny"), ("git push --force origin main", "pass")]
    (written,) = [one.event for one in calls if one.event.tool != "shell"]
    assert "/home/sam/project/notes.txt" in json.dumps(written.args)
    assert {(one.event.host, one.event.cwd, bool(one.event.session.id)) for one in found.events} == {
        (agent, "/home/sam/project", True)
    }
    assert not found.left_out
    assert sorted(one.at for one in found.events) == [one.at for one in found.events]


def test_call_keeps_the_arguments_as_the_agent_passed_them_to_hooks() -> None:
    (path,) = TRANSCRIPTS.glob("codex-cli.*")
    events = [one.event for one in read_recording(path).events]

    assert events[1].native_args == {"command": "echo hello"}
    assert events[2].tool == "apply_patch"
    assert (events[1].data["call_id"], events[1].host_version) == ("call_0_0", "0.166.0")


def test_gemini_chat_in_one_document_is_read_as_one_in_lines(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (TRANSCRIPTS / "gemini-cli.jsonl").read_text("utf-8").splitlines()]
    head, messages = lines[0], [line for line in lines if "type" in line]
    whole = tmp_path / "chat.json"
    whole.write_text(json.dumps({**head, "messages": messages}, indent=2), "utf-8")

    found = read_recording(whole)

    assert [call(one) for one in found.events] == [
        call(one) for one in read_recording(TRANSCRIPTS / "gemini-cli.jsonl").events
    ]


def test_damaged_lines_are_counted_and_the_others_are_read(tmp_path: Path) -> None:
    lines = (TRANSCRIPTS / "claude-code.jsonl").read_bytes().splitlines()
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"\n".join([lines[0], b'{"type": "user", "mess', *lines[1:], lines[-1][:50]]))

    found = read_recording(path)

    assert len(found.events) == 5
    assert found.notes == [f"{path}: 2 lines could not be read, the first is line 2"]


def test_call_without_a_result_is_counted_and_not_replayed(tmp_path: Path) -> None:
    lines = (TRANSCRIPTS / "codex-cli.jsonl").read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / "cut.jsonl"
    path.write_text("".join(line for line in lines if '"function_call_output"' not in line), "utf-8")

    found = read_recording(path)

    assert found.left_out == {words.NO_RESULT: 3}
    assert [one.event.tool for one in found.events] == ["", "apply_patch"]


def test_other_file_is_an_error_that_says_what_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"some": "thing"}\n')

    with pytest.raises(ConfigError, match=r"neither an export of .* nor a transcript of Claude Code"):
        read_recording(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_recording(tmp_path / "gone")


def test_export_is_recognised_and_holds_what_each_hook_decided(tmp_path: Path) -> None:
    path = export(tmp_path, records("t1", decision="deny", cwd="/p/sub", native_tool="Bash"), b'{"trace": 1')

    found = read_recording(path)

    (one,) = found.events
    assert (one.was, one.by_hook, one.rewrote, one.is_exact) == ("deny", {"guard": "deny"}, False, True)
    assert (one.event.cwd, one.event.project, one.event.native_tool) == ("/p/sub", "/p", "Bash")
    assert one.event.data == {"call_id": "c"}
    assert len(found.notes) == 1


def test_records_that_are_no_whole_event_are_counted() -> None:
    whole = records("t1")
    raised = records("t2", chain=["h"], parent="t1")
    small = Record(
        "t3", Step.OUTCOME, 6.0, "before_tool", detail={"decision": "pass", "args": {"path": "a"}, "cut": True}
    )

    found = read_records([*whole, *raised, *records("t4")[1:], *records("t5")[:2], small])

    assert [(one.event.id, one.is_cut) for one in found.events] == [("t1", False), ("t3", True)]
    assert found.left_out == {words.INCOMPLETE: 1, words.UNFINISHED: 1}


def test_question_counts_as_such_whatever_the_user_answered() -> None:
    event, ran, outcome = records("t1", decision="deny")
    asked = Record("t1", Step.ASKED, 5.0, "before_tool", detail={"allowed": False})

    (one,) = read_records([event, ran, asked, outcome]).events

    assert one.was == "ask"


def test_selection_keeps_the_newest_of_a_session_and_an_agent() -> None:
    found = Recording()
    for agent in AGENTS:
        found.add(read_recording(next(TRANSCRIPTS.glob(f"{agent}.*"))))
    session = found.events[-1].event.session.id

    found.select(session=session, agent="gemini-cli", since=1.0, limit=2)

    assert [call(one)[2] for one in found.events] == ["rm -r build", "git push --force origin main"]
