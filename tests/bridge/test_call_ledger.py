import os
from pathlib import Path

from hookline.bridge import call_ledger
from hookline.dialects import DIALECTS
from hookline.model.event import Event, EventName, Session

SPEC = DIALECTS["gemini-cli"].SPEC


def _event(session: str = "one", cwd: str = "/project", **data: object) -> Event:
    return Event(
        name=EventName.BEFORE_TOOL, tool="shell", session=Session(id=session), cwd=cwd, host="gemini-cli", data=data
    )


def test_a_call_is_written_down_with_what_finds_it_again(tmp_path: Path) -> None:
    event = _event(call_id="a", tool_call_id="b", transcript_path="/talk.jsonl")
    path = call_ledger.session_file(tmp_path, event)
    assert call_ledger.record_call(path, event, SPEC)
    (seen,) = call_ledger.read(path)
    assert (seen.host, seen.event, seen.moment) == ("gemini-cli", "BeforeTool", "before_tool")
    assert seen.calls == ("a", "b")
    assert seen.tool == "run_shell_command"
    assert seen.session == "one"
    assert seen.transcript == "/talk.jsonl"


def test_nothing_that_the_agent_said_is_kept_but_names(tmp_path: Path) -> None:
    event = _event(call_id=["no text"], prompt="a secret")
    path = call_ledger.session_file(tmp_path, event)
    call_ledger.record_call(path, event, SPEC)
    assert b"secret" not in path.read_bytes()
    assert call_ledger.read(path)[0].calls == ()


def test_each_session_has_a_file_of_its_own_and_what_names_none_has_one_by_folder(tmp_path: Path) -> None:
    events = [_event("one"), _event("two"), _event(""), _event("", cwd="/other"), _event("../../evil")]
    paths = {call_ledger.session_file(tmp_path, event) for event in events}
    assert len(paths) == 5
    assert {path.parent for path in paths} == {tmp_path / "sessions"}


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    path = call_ledger.session_file(tmp_path, _event())
    call_ledger.record_call(path, _event(), SPEC)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_lines_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "one.calls"
    path.write_bytes(b'{"at":1,"host":"a","event":"b"}\nnonsense\n{"at":"no"}\n{"at":2,"host":"a","eve')
    assert [seen.at for seen in call_ledger.read(path)] == [1]


def test_old_ledgers_go_and_nothing_else_does(tmp_path: Path) -> None:
    for number, event in enumerate([_event("old"), _event("new")]):
        path = call_ledger.session_file(tmp_path, event)
        call_ledger.record_call(path, event, SPEC)
        path.with_suffix(call_ledger.NOTICES).write_text("")
        if not number:
            os.utime(path, (1, 1))
            os.utime(path.with_suffix(call_ledger.NOTICES), (1, 1))
    stranger = tmp_path / "sessions" / "notes.txt"
    stranger.write_text("mine")
    os.utime(stranger, (1, 1))
    call_ledger.prune(tmp_path, now=call_ledger.session_file(tmp_path, _event("new")).stat().st_mtime)
    new = call_ledger.session_file(tmp_path, _event("new"))
    assert {path.name for path in new.parent.iterdir()} == {
        new.name,
        new.with_suffix(call_ledger.NOTICES).name,
        "notes.txt",
    }


def test_the_newest_ledgers_come_first(tmp_path: Path) -> None:
    for number, name in enumerate(["a", "b", "c"]):
        path = call_ledger.session_file(tmp_path, _event(name))
        call_ledger.record_call(path, _event(name), SPEC)
        os.utime(path, (1000 + number, 1000 + number))
    wanted = [call_ledger.session_file(tmp_path, _event(name)) for name in ("c", "b")]
    assert list(call_ledger.list_ledgers(tmp_path, since=1001)) == wanted
    assert list(call_ledger.list_ledgers(tmp_path / "nowhere", since=0)) == []


def test_where_it_cannot_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("")
    path = call_ledger.session_file(tmp_path, _event())
    assert not call_ledger.record_call(path, _event(), SPEC)
    assert call_ledger.read(path) == []
    call_ledger.prune(tmp_path, now=0)
