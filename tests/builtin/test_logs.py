"""The logs of built-in hooks: private, masked, bounded, and written by many processes at once."""

import json
import multiprocessing
import stat
from pathlib import Path

import pytest

from hookline.builtin.logs import JsonLog, clean
from hookline.model.event import Event, EventName, Session
from tests.builtin.machine import Machine

PROCESSES, LINES = 8, 200


def _write_many(path: str, number: int, max_size: int) -> None:
    log = JsonLog({"path": path, "max_size": max_size, "keep": 100})
    event = Event(name=EventName.AFTER_TOOL, session=Session(id=f"s{number}"))
    for line in range(LINES):
        log.write(event, {"line": line, "text": "x" * 500})


@pytest.mark.spec("C-19")
@pytest.mark.parametrize("max_size", [100_000_000, 40_000], ids=["one file", "rotating"])
def test_many_processes_lose_no_line_and_mix_none(tmp_path: Path, max_size: int) -> None:
    path = tmp_path / "logs" / "tool-log.jsonl"
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=_write_many, args=(str(path), number, max_size)) for number in range(PROCESSES)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    files = list(path.parent.glob("tool-log.jsonl*"))
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted((one["session"], one["line"]) for one in records) == sorted(
        (f"s{number}", line) for number in range(PROCESSES) for line in range(LINES)
    )
    assert (len(files) > 1) is (max_size == 40_000)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_older_files_are_kept_up_to_a_number_and_the_log_stays_bounded(tmp_path: Path) -> None:
    log = JsonLog({"path": str(tmp_path / "a.jsonl"), "max_size": 1000, "keep": 2})
    for line in range(100):
        log.write(Event(name=EventName.NOTIFICATION), {"line": line, "text": "x" * 100})

    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("a.jsonl*")}
    assert set(sizes) == {"a.jsonl", "a.jsonl.1", "a.jsonl.2"}
    assert max(sizes.values()) <= 1000
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[-1])["line"] == 99


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"password": "hunter2!"}, {"password": "…[secret]"}),
        ({"env": {"API_KEY": "abc123def456"}}, {"env": {"API_KEY": "…[secret]"}}),
        (["curl -u me:hunter2 x"], ["curl -u me:…[secret] x"]),
        ({"command": "export A=ghp_abcdefghij0123456789xyz"}, {"command": "export A=ghp_ab…[secret]"}),
        ({"text": "plain", "count": 3, "none": None}, {"text": "plain", "count": 3, "none": None}),
    ],
)
def test_secrets_are_masked_wherever_they_stand(value: object, masked: object) -> None:
    assert clean(value) == masked


def test_long_and_deep_values_are_cut() -> None:
    assert clean("x" * 10_000) == "x" * 4000 + "… (10000 characters)"
    deep: object = "bottom"
    for _ in range(50):
        deep = {"next": deep}
    assert len(json.dumps(clean(deep))) < 200
    assert len(json.dumps(clean(list(range(10_000))))) < 1000


def test_key_at_the_cut_is_masked_as_a_whole() -> None:
    text = "x" * 3990 + " sk-ant-api03-abcdefghijk1234567890"
    assert "api03" not in json.dumps(clean(text))


@pytest.mark.spec("C-19")
def test_log_says_where_it_is_and_may_be_elsewhere(machine: Machine) -> None:
    machine.switch_on("tool-log", "prompt-log", options='[builtin.prompt-log]\npath = "~/mine/prompts.jsonl"\n')
    machine.call("claude-code", "UserPromptSubmit")

    usual, moved = (machine.run("show", f"builtin:{name}").stdout for name in ("tool-log", "prompt-log"))

    assert str(machine.data / "logs/tool-log.jsonl") in usual
    assert str(machine.home / "mine/prompts.jsonl") in moved
    assert "path, max_size, keep; under [builtin.prompt-log]" in moved
    assert "say hi" in (machine.home / "mine/prompts.jsonl").read_text()


def test_log_that_cannot_be_written_is_told_and_keeps_no_call_from_running(machine: Machine) -> None:
    machine.switch_on("tool-log")
    machine.data.mkdir(parents=True, exist_ok=True)
    (machine.data / "logs").write_text("a file where the folder should be")

    answer = machine.call("claude-code", "PostToolUse.Bash")

    assert "decision" not in answer
    assert 'hook "builtin:tool-log" failed' in answer["systemMessage"]


def test_log_that_is_a_link_is_not_followed(machine: Machine) -> None:
    machine.switch_on("tool-log")
    (machine.data / "logs").mkdir(parents=True)
    (machine.home / "victim").write_text("mine")
    (machine.data / "logs/tool-log.jsonl").symlink_to(machine.home / "victim")

    machine.call("claude-code", "PostToolUse.Bash")

    assert (machine.home / "victim").read_text() == "mine"


@pytest.mark.slow
def test_record_is_never_longer_than_it_may_be(tmp_path: Path) -> None:
    log = JsonLog({"path": str(tmp_path / "a.jsonl")})
    log.write(Event(name=EventName.AFTER_TOOL, tool="shell"), {"rows": [["x" * 4000] * 100] * 100})

    line = (tmp_path / "a.jsonl").read_text()
    assert len(line) < 10_000
    assert json.loads(line)["event"] == "after_tool"
