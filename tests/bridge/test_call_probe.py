import os
from pathlib import Path

import pytest

from hookline.bridge.call import PROBE_VARIABLE, is_probe, new_probe, read_reports, report_probe
from tests.bridge.agents import AGENTS, GUARD, Person, is_neutral, is_refused


def test_a_token_counts_while_doctor_looks(tmp_path: Path) -> None:
    with new_probe(tmp_path) as token:
        environ = {PROBE_VARIABLE: token}
        assert is_probe(environ, tmp_path)
        report_probe(environ, tmp_path, "claude-code Stop")
        assert read_reports(tmp_path, token) == ["claude-code Stop"]
    assert not is_probe(environ, tmp_path)
    assert read_reports(tmp_path, token) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", ["", "x", "../approvals.json", "0" * 32, "0" * 31 + "/", "1"])
def test_a_token_that_nobody_gave_out_means_nothing(tmp_path: Path, token: str) -> None:
    (tmp_path / "approvals.json").write_text("")
    with new_probe(tmp_path):
        assert not is_probe({PROBE_VARIABLE: token}, tmp_path)


def test_what_a_doctor_that_was_killed_left_means_nothing_later(tmp_path: Path) -> None:
    with new_probe(tmp_path) as token:
        path = tmp_path / "canary" / token
        os.utime(path, (1, 1))
        assert not is_probe({PROBE_VARIABLE: token}, tmp_path)


def test_a_project_cannot_silence_a_guard_with_its_environment(person: Person) -> None:
    person.configure(GUARD)
    event = person.event(command="rm -rf /")
    for token in ("1", "0" * 32):
        assert is_refused("claude-code", person.ask("claude-code", event, environ={PROBE_VARIABLE: token}))


@pytest.mark.parametrize("host", sorted(AGENTS))
def test_no_hook_hears_of_a_canary_and_nothing_is_written_down(person: Person, host: str) -> None:
    person.configure(GUARD)
    with new_probe(person.data) as token:
        answer = person.ask(host, person.event(command="rm -rf /"), environ={PROBE_VARIABLE: token})
        (word,) = read_reports(person.data, token)
    assert is_neutral(host, answer)
    assert word.startswith(f"{host} ")
    # the record of entries that are known belongs to the home, whatever is asked first
    assert [path.name for path in person.data.iterdir()] == ["known-hooks.json"]


def test_a_canary_says_when_it_was_not_understood(person: Person) -> None:
    with new_probe(person.data) as token:
        person.ask("claude-code", raw=b"{", environ={PROBE_VARIABLE: token})
        (word,) = read_reports(person.data, token)
    assert not word.startswith("claude-code PreToolUse")
    assert "expected one JSON object" in word


def test_the_mark_is_no_secret() -> None:
    assert PROBE_VARIABLE == "HOOKLINE_CANARY"
