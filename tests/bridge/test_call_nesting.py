"""Agents in hooks in agents: it ends, and nobody can have it end who only says so."""

import os
import stat
import time
from pathlib import Path

import pytest

from hookline.bridge.call import DEEPEST_NESTING, find_nesting, nest_deeper
from hookline.model.installed_entry import NESTING
from tests.bridge.agents import AGENTS, GUARD, Person, is_refused, told


def _mark(level: int, data: Path) -> str:
    """Give what hooks of that level have in their environment."""
    with nest_deeper(level - 1, data):
        return os.environ[NESTING]


def test_what_is_started_meanwhile_is_one_level_deeper(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert find_nesting(os.environ, data) == 0
    with nest_deeper(0, data):
        assert find_nesting(os.environ, data) == 1
        with nest_deeper(1, data):
            assert find_nesting(os.environ, data) == 2
        assert find_nesting(os.environ, data) == 1
    assert NESTING not in os.environ
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data, *data.iterdir())] == [0o700, 0o600]


def test_only_what_the_key_of_the_person_proves_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    true = _mark(3, data)
    assert find_nesting({NESTING: true}, data) == 3
    now = int(time.time())
    for said in ("", "3", f"3-{now}-{'0' * 64}", f"4{true[1:]}", f"{true} ", f"{true}\n", _mark(3, other)):
        assert find_nesting({NESTING: said}, data) == 0, said
    (data / "nesting.key").write_bytes(b"")
    assert find_nesting({NESTING: true}, data) == 0
    monkeypatch.setattr(time, "time", lambda: now - 100_000)
    old = _mark(3, data)
    monkeypatch.undo()
    assert find_nesting({NESTING: old}, data) == 0


def test_mark_is_the_same_for_calls_that_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = int(time.time()) // 3600 * 3600
    marks = []
    for seconds in (0, 1, 3599, 3600):
        monkeypatch.setattr(time, "time", lambda at=hour + seconds: at)
        marks.append(_mark(1, tmp_path))
    assert marks[0] == marks[1] == marks[2] != marks[3]


def test_where_no_key_can_be_kept_nothing_is_said(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("in the way")
    with nest_deeper(0, data):
        assert NESTING not in os.environ


@pytest.mark.parametrize("host", sorted(AGENTS))
def test_a_tool_call_that_is_too_deep_is_blocked_whatever_the_policy(
    person: Person, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.configure(GUARD)
    monkeypatch.setenv(NESTING, _mark(DEEPEST_NESTING, person.data))
    answer = person.ask(host, person.event(command="ls"), if_broken="allow")
    assert is_refused(host, answer)
    assert b"a hook started an agent" in answer.stdout + answer.stderr


def test_what_is_less_deep_is_asked_about_and_what_is_forged_as_well(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.configure(GUARD)
    forged = f"9-{int(time.time())}-{'0' * 64}"
    for mark in (_mark(DEEPEST_NESTING - 1, person.data), forged):
        monkeypatch.setenv(NESTING, mark)
        answer = person.ask("claude-code", person.event(command="rm -rf /"))
        assert b"nothing is removed here" in answer.stdout
        assert person.ask("claude-code", person.event(command="ls")).stdout == b""
        assert os.environ[NESTING] == mark


def test_the_end_of_a_turn_that_is_too_deep_is_one(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.configure(
        """[[hook]]\nid = "one"\non = "after_agent"\nshell = true\nrun = '''echo '{"decision": "deny"}''''\n"""
    )
    monkeypatch.setenv(NESTING, _mark(DEEPEST_NESTING, person.data))
    answer = person.ask("claude-code", person.event("after_agent"))
    assert b"block" not in answer.stdout
    assert "a hook started an agent" in told(answer)
