"""`runCommand`: few programs, at two moments, at every stage of a hook's life."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline import Engine
from hookline.model import ollm_run_command
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook, Source

HOOK = Hook(
    id="r",
    on="before_agent",
    command="sh",
    args=("note.sh",),
    dialect="ollm-rpc",
    plain=True,
    source=Source.USER,
    source_format=ollm_run_command.FORMAT,
)


def refused_at(hook: Hook, event: str, cwd: Path) -> str:
    """Run a hook with an engine; give why it was refused, nothing when it ran."""
    (cwd / "note.sh").write_text("touch ran\n")
    engine = Engine(cwd=str(cwd))
    engine.add(hook)
    outcome = engine.emit_sync(event, {"prompt": "hi", "path": "a"})
    engine.close_sync()
    for verdict in outcome.failures:
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.REFUSED
        assert not (cwd / "ran").exists()
        return verdict.failure.message
    assert (cwd / "ran").exists()
    return ""


@pytest.mark.spec("D-06", "D-03")
@pytest.mark.parametrize("event", ["before_agent", "after_agent"])
def test_it_runs_at_its_two_events(tmp_path: Path, event: str) -> None:
    assert refused_at(replace(HOOK, on=(event,)), event, tmp_path) == ""


@pytest.mark.spec("D-06")
@pytest.mark.parametrize("event", sorted(set(EventName) - {EventName.BEFORE_AGENT, EventName.AFTER_AGENT}))
def test_it_is_refused_at_every_other_event(event: EventName) -> None:
    assert ollm_run_command.why_refused(HOOK, at=event) == ollm_run_command.describe_wrong_event(event)
    assert ollm_run_command.why_refused(
        replace(HOOK, on=("before_agent", event))
    ) == ollm_run_command.describe_wrong_event(event)


@pytest.mark.spec("D-06")
def test_hook_changed_after_it_was_read_is_refused_when_it_runs(tmp_path: Path) -> None:
    moved = replace(HOOK, on=("file_edited",))
    other = replace(HOOK, command="/bin/sh")
    line = replace(HOOK, command="sh note.sh", args=(), shell=True)

    assert refused_at(moved, "file_edited", tmp_path) == (
        'runCommand is for agentStop and promptSubmit only, not for "file_edited"; use askAgent'
    )
    assert "runCommand may only run node, python" in refused_at(other, "before_agent", tmp_path)
    assert refused_at(line, "before_agent", tmp_path).startswith("runCommand has no shell")


@pytest.mark.spec("D-06")
def test_hook_started_by_hand_at_another_event_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.sh").write_text("touch ran\n")
    engine = Engine(cwd=str(tmp_path))
    engine.add(HOOK)

    said = asyncio.run(engine.runner.execute_hook(HOOK, Event(name=EventName.USER_TRIGGERED, cwd=str(tmp_path))))
    engine.close_sync()

    assert said.failure is not None
    assert "not for" in said.failure.message
    assert not (tmp_path / "ran").exists()


def test_other_commands_are_free_to_run_at_any_event() -> None:
    assert (
        ollm_run_command.why_refused(replace(HOOK, source_format="hookline", on=("file_edited",)), at="file_edited")
        == ""
    )
    asking = Hook(id="a", on="file_edited", prompt="?", source_format=ollm_run_command.FORMAT)
    assert ollm_run_command.why_refused(asking, at="file_edited") == ""


@pytest.mark.spec("D-06")
@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("rm -rf x", 'not "rm"'),
        ("", 'not ""'),
        ("./sh x", 'not "./sh"'),
        ("/bin/sh x", 'not "/bin/sh"'),
        ("sh 'x", "a quote is never closed"),
        ("evil\x1b[2J x", 'not "evil\\x1b[2J"'),
    ],
)
def test_only_the_allowed_programs_by_name(command: str, word: str) -> None:
    assert word in ollm_run_command.why_command_refused(command)


@pytest.mark.spec("D-06")
@pytest.mark.parametrize("program", ollm_run_command.PROGRAMS)
def test_allowed_programs_are_allowed(program: str) -> None:
    assert ollm_run_command.why_command_refused(f"{program} a b") == ""
