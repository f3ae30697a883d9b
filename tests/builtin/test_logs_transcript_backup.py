"""Backups of transcripts."""

import os
import stat
from pathlib import Path

import pytest

from tests.builtin.machine import Machine

pytestmark = pytest.mark.spec("C-19")


def _compact(machine: Machine, transcript: Path | str, **changes: object) -> dict[str, object]:
    return machine.call("claude-code", "PreCompact", transcript_path=str(transcript), **changes)


def test_only_the_newest_copies_are_kept_and_only_the_user_reads_them(machine: Machine) -> None:
    machine.switch_on("transcript-backup", options="[builtin.transcript-backup]\nkeep = 2\n")
    transcript = machine.home / "t.jsonl"
    for number in range(4):
        transcript.write_text(f"{number}\n")
        _compact(machine, transcript)

    assert machine.backups() == [b"2\n", b"3\n"]
    folder = machine.data / "transcripts"
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_name_of_a_session_leads_nowhere(machine: Machine) -> None:
    machine.switch_on("transcript-backup")
    transcript = machine.home / "t.jsonl"
    transcript.write_text("hi\n")

    _compact(machine, transcript, session_id="../../../../tmp/evil\n")

    assert machine.backups() == [b"hi\n"]


def test_what_is_no_file_is_told_and_does_not_block(machine: Machine) -> None:
    machine.switch_on("transcript-backup")
    os.mkfifo(machine.home / "pipe")

    for transcript in (machine.home / "pipe", machine.home / "missing", machine.home):
        answer = _compact(machine, transcript)
        assert answer.get("decision") is None
        assert 'hook "builtin:transcript-backup" failed' in str(answer["systemMessage"])
    assert machine.backups() == []


def test_event_without_a_transcript_is_no_failure(machine: Machine) -> None:
    machine.switch_on("transcript-backup")
    assert _compact(machine, "") == {}
