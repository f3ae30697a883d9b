"""Hooks of every origin at work in a session of each real agent."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS
from tests.agents.scenario import CONTEXT, KEPT, NOT_HERE, Session, play
from tests.agents.world import World


@pytest.fixture(scope="module", params=[(name, way) for name in AGENTS for way in ("without", "with")], ids="-".join)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Play a session of each agent, without a daemon and with the one that its first call has woken."""
    name, way = request.param
    # short, because the path of a socket is
    runtime = Path(tempfile.mkdtemp(prefix="hka-", dir="/tmp"))
    switch = {"XDG_RUNTIME_DIR": str(runtime), "HOOKLINE_DAEMON": "on" if way == "with" else "off"}
    agent = replace(AGENTS[name], env={**AGENTS[name].env, **switch})
    yield play(World.make(tmp_path_factory.mktemp(name) / "machine", agent), agent)
    assert bool(list(runtime.rglob("*.log"))) is (way == "with")
    # a daemon whose socket is gone goes, too
    shutil.rmtree(runtime)


def test_the_session_ends_as_it_would_without_hooks(session: Session) -> None:
    assert session.report.code == 0
    assert "All done." in session.report.stdout


def test_a_hook_of_ollms_protocol_keeps_a_folder_from_being_removed(session: Session) -> None:
    assert (session.world.project / "keep" / "file").read_text() == "still here\n"
    assert NOT_HERE in session.report.results[0]


def test_a_hook_of_cli_agent_with_a_template_changes_the_command(session: Session) -> None:
    said = session.world.project / "said.txt"
    if session.agent.rewrites:
        assert said.read_text() == "changed\n"
        assert "changed" in session.report.results[1]
    else:
        # what cannot be changed does not run unchanged, and the model hears why
        assert not said.exists()
        assert "cannot" in session.report.results[1]


def test_a_hook_of_ollama_cli_tells_the_model_something(session: Session) -> None:
    first, *_ = session.report.bodies
    assert CONTEXT in json.dumps(first)


def test_a_hook_of_another_agents_settings_keeps_a_file_from_being_written(session: Session) -> None:
    assert (session.world.project / "hello.txt").read_text() == "hello\n"
    assert not (session.world.project / "secret.txt").exists()
    assert KEPT in session.report.results[3]


def test_a_hook_sees_what_came_of_the_calls_that_ran(session: Session) -> None:
    calls = [event["event"] for event in session.log("after")]
    assert calls == ["after_tool"] * (2 if session.agent.rewrites else 1)
    assert "hello" in json.dumps(session.log("after")[-1])


def test_every_call_reaches_our_hooks_once_and_in_canonical_words(session: Session) -> None:
    calls = session.log("before")
    assert [call["tool"] for call in calls] == ["shell", "shell", session.agent.writes_by, session.agent.writes_by]
    assert [call["args"]["command"] for call in calls[:2]] == ["rm -rf keep", "echo plain | tee said.txt"]
    for call, name in zip(calls[2:], ("hello.txt", "secret.txt"), strict=True):
        assert str(session.world.project / name) in json.dumps(call["args"])


def test_the_agents_own_hooks_in_the_same_file_go_on_working(session: Session) -> None:
    tools = [event["tool_name"] for event in session.log("foreign")]
    assert len(tools) == 4
    assert tools[:2] == [session.agent.shell_name] * 2


def test_what_was_degraded_is_in_the_trace(session: Session) -> None:
    exported = session.world.hookline("trace", "export").stdout
    steps = [json.loads(line)["step"] for line in exported.splitlines()]
    assert "event" in steps
    assert ("degraded" in steps) is not session.agent.rewrites


def _findings(session: Session, area: str) -> list[tuple[str, str]]:
    done = session.world.hookline("doctor", "--json")
    return [(found["health"], found["text"]) for found in json.loads(done.stdout) if found["area"] == area]


def test_the_doctor_says_that_every_event_reaches_us(session: Session) -> None:
    (found,) = _findings(session, "agents")
    health, text = found
    counts = re.match(rf"{session.agent.name}: (\d+) events of (\d+) reach us: ", text)
    assert health == "ok"
    assert counts
    assert counts[1] == counts[2]
    assert session.agent.before_tool in text


def test_every_call_of_the_transcript_is_in_the_ledger(session: Session) -> None:
    (transcript,) = session.world.home.glob(session.agent.transcripts)
    assert len(set(re.findall(r"call_\d_\d", transcript.read_text("utf-8")))) == 4
    assert [health for health, _ in _findings(session, "sessions")] == ["ok"]


def test_a_call_that_never_reached_us_is_an_alarm(session: Session) -> None:
    (ledger,) = (session.world.home / ".local/share/hookline/sessions").glob("*.calls")
    whole = ledger.read_text("utf-8")
    # the file that was written: as if we had not come to answer
    calls = [line for line in whole.splitlines() if json.loads(line).get("moment") == "before_tool"]
    lines = [line for line in calls if not json.loads(line).get("waiting")]
    ledger.write_text(whole.replace(lines[2] + "\n", ""), "utf-8")
    try:
        found = _findings(session, "sessions")
    finally:
        ledger.write_text(whole, "utf-8")

    assert [text for health, text in found if health == "error"], found
