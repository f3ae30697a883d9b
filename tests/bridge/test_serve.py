"""One call of an agent: what is asked, what is answered, and what the person is told beside it."""

import json
import logging
import stat

import pytest

from hookline.bridge import call_ledger
from hookline.bridge.serve import PATIENCE
from hookline.dialects import DIALECTS
from hookline.hosts.host import CALL_SECONDS
from hookline.model.exchange import Answer
from hookline.model.record import Step
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from tests.bridge.agents import AGENTS, GUARD, NEUTRAL, UNGUARDED, Person, document, is_neutral, is_refused, told
from tests.waiting import until


def _hook(event: str, line: str) -> str:
    """Write a hook that is a line of shell."""
    return f"[[hook]]\nid = \"one\"\non = \"{event}\"\nshell = true\nrun = '''{line}'''\n"


TALKS = _hook("session_start", """echo '{"context": "be kind"}'""")
AGAIN = "[settings]\nreturns = 2\n\n" + _hook(
    "after_agent", """echo '{"decision": "deny", "reason": "run the tests"}'"""
)


@pytest.mark.parametrize("host", sorted(AGENTS))
def test_the_same_guard_decides_under_every_agent(person: Person, host: str) -> None:
    person.configure(GUARD)
    refused = person.ask(host, person.event(command="rm -rf /"))
    assert is_refused(host, refused)
    assert b"nothing is removed here" in refused.stdout + refused.stderr
    quiet = person.ask(host, person.event(command="ls"))
    assert (quiet.stdout.strip(), quiet.stderr, quiet.exit_code) == (NEUTRAL[host], b"", 0)


def test_what_a_hook_says_reaches_the_agent_in_its_words(person: Person) -> None:
    person.configure(TALKS)
    said = document(person.ask("claude-code", person.event("session_start", source="startup")))
    assert said == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "be kind"}}


def test_a_hook_that_waits_for_approval_is_told_once_in_a_session(person: Person) -> None:
    (person.project / "hookline.toml").write_text('[[hook]]\nid = "theirs"\non = "before_tool"\nrun = ["true"]\n')
    first = told(person.ask("claude-code"))
    assert 'hook "theirs" does not run' in first
    assert "`hookline trust approve theirs`" in first
    assert person.ask("claude-code") == Answer()
    assert 'hook "theirs" does not run' in told(person.ask("claude-code", person.event(session="two")))


def test_a_problem_in_a_file_is_told_once_in_a_session(person: Person) -> None:
    person.configure('[[hook]]\nid = "odd"\non = "before_tol"\nrun = ["true"]\n')
    assert "hookline.toml:3: error:" in told(person.ask("claude-code", if_broken="allow"))
    assert told(person.ask("claude-code", if_broken="allow")) == ""


def test_a_hook_that_fails_is_told_once_in_a_session(person: Person) -> None:
    person.configure(_hook("before_tool", "exit 3"))
    answer = person.ask("claude-code")
    assert is_neutral("claude-code", answer)
    assert told(answer).startswith('hookline: hook "one" failed at before_tool: ')
    assert person.ask("claude-code") == Answer()


def test_what_an_agent_cannot_carry_is_told_where_it_can(person: Person) -> None:
    person.configure(_hook("session_end", """echo '{"context": "bye"}'"""))
    assert person.ask("claude-code", person.event("session_end", reason="other")) == Answer()
    said = told(person.ask("claude-code", person.event("before_agent", prompt="hello")))
    assert "claude-code cannot give the model context at session_end" in said


def test_an_agent_without_a_way_to_show_anything_is_told_through_its_model(person: Person) -> None:
    silent = [
        name
        for name, dialect in AGENTS.items()
        if not any("message" in able for able in dialect.SPEC.abilities.values())
        and "context" in (dialect.SPEC.able(person.event("before_agent", prompt="")) or ())
    ]
    person.configure('[[hook]]\nid = "odd"\non = "before_tol"\nrun = ["true"]\n')
    for host in silent:
        answer = person.ask(host, person.event("before_agent", prompt="hello"), if_broken="allow")
        assert b"before_tol" in answer.stdout, host


def test_a_trace_that_is_lost_is_told_with_the_next_answer(person: Person) -> None:
    person.configure(GUARD)
    (person.data / "traces.db").write_bytes(b"this is no database, and long enough to be looked at" * 100)
    # a daemon writes traces when nobody waits: until it has tried, there is nothing to tell
    until(lambda: "traces.db" in told(person.ask("claude-code")))
    # the daemon may have tried twice by then, and each try is told once
    until(lambda: told(person.ask("claude-code")) == "")


def test_every_call_is_in_the_ledger_of_its_session(person: Person) -> None:
    person.configure(UNGUARDED)
    person.ask("claude-code", person.event("session_start", source="startup"))
    person.ask("claude-code", person.event(command="ls", call_id="toolu_1"))
    event = DIALECTS["claude-code"].decode_event(person.said(DIALECTS["claude-code"], person.event())[0])
    seen = call_ledger.read(call_ledger.session_file(person.data, event))
    assert [(one.event, one.calls, one.tool, one.waiting) for one in seen] == [
        ("SessionStart", (), "", False),
        ("PreToolUse", ("toolu_1",), "Bash", False),
    ]


def test_a_call_that_hooks_are_asked_about_is_in_the_ledger_before_they_answer(person: Person) -> None:
    person.configure(GUARD)
    person.ask("claude-code", person.event(command="ls", call_id="toolu_1"))
    event = DIALECTS["claude-code"].decode_event(person.said(DIALECTS["claude-code"], person.event())[0])
    seen = call_ledger.read(call_ledger.session_file(person.data, event))
    assert [(one.calls, one.waiting) for one in seen] == [(("toolu_1",), True), (("toolu_1",), False)]


def test_a_call_that_never_reached_us_alarms_the_person_at_the_end_of_the_turn(person: Person) -> None:
    talk = person.home / "talk.jsonl"
    parts: list[dict[str, object]] = []
    for call in ("toolu_1", "toolu_2"):
        parts.append({"type": "tool_use", "id": call, "name": "Bash", "input": {}})
        parts.append({"type": "tool_result", "tool_use_id": call, "content": "hi"})
    lines = [json.dumps({"timestamp": "2999-01-01T00:00:00Z", "message": {"content": [part]}}) for part in parts]
    talk.write_text("\n".join(lines))
    person.ask("claude-code", person.event(command="ls", call_id="toolu_1", transcript_path=str(talk)))
    stop = person.event("after_agent", response="done", transcript_path=str(talk))
    alarm = told(person.ask("claude-code", stop))
    assert "a tool call ran that claude-code never asked us about" in alarm
    assert "Bash toolu_2" in alarm
    assert told(person.ask("claude-code", stop)) == ""
    person.rest()
    history = TraceQueries(person.data / "traces.db")
    records = [record for found in history.traces(TraceFilter()) for record in history.records(found.trace)]
    warnings = [str(record.detail.get("message")) for record in records if record.step == "warning"]
    assert any("Bash toolu_2" in warning for warning in warnings)


def test_an_agent_is_not_sent_back_for_ever_by_programs_that_come_and_go(person: Person) -> None:
    person.configure(AGAIN)
    stop = person.event("after_agent", response="done", stop_hook_active=True)
    answers = [document(person.ask("claude-code", stop)) for _ in range(3)]
    assert [answer.get("decision") for answer in answers] == ["block", "block", None]
    assert "left to rest" in str(answers[2]["systemMessage"])
    person.ask("claude-code", person.event("before_agent", prompt="go on"))
    assert document(person.ask("claude-code", stop)).get("decision") == "block"


def test_the_project_is_found_from_deep_inside_where_the_agent_names_it(person: Person) -> None:
    person.configure(f'[settings]\ntrusted_workspaces = ["{person.project}"]\n')
    (person.project / "hookline.toml").write_text(
        _hook("before_tool", """echo '{"decision": "deny", "reason": "not here"}'""")
    )
    deep = person.project / "a" / "b"
    deep.mkdir(parents=True)
    raw, _ = person.said(DIALECTS["claude-code"], person.event())
    inside = raw.replace(str(person.project).encode(), str(deep).encode())
    named = {"CLAUDE_PROJECT_DIR": str(person.project)}
    assert is_refused("claude-code", person.ask("claude-code", raw=inside, environ=named))
    elsewhere = {"CLAUDE_PROJECT_DIR": str(person.home)}
    assert is_neutral("claude-code", person.ask("claude-code", raw=inside, environ=elsewhere))


def test_the_log_of_the_program_around_us_is_given_back(person: Person) -> None:
    before = logging.getLogger().handlers[:]
    person.ask("claude-code")
    assert logging.getLogger().handlers == before


def test_a_call_that_no_hook_is_asked_about_leaves_one_record_unless_the_user_wants_none(person: Person) -> None:
    person.configure(UNGUARDED + 'record = "hooks"\n')
    person.ask("claude-code")
    assert {path.name for path in person.data.iterdir()} == {"sessions", "known-hooks.json"}

    person.configure(UNGUARDED)
    person.ask("claude-code")
    traces = TraceQueries(person.data / "traces.db")
    until(lambda: traces.newest() > 0)
    (found,) = traces.matching(TraceFilter())
    assert (found.step, found.host, found.project) == (Step.OUTCOME, "claude-code", str(person.project))
    assert (found.decision, found.detail["ran"], found.detail["args"]) == ("pass", 0, {"command": found.subject})


def test_hooks_have_less_time_than_agents_wait() -> None:
    assert PATIENCE < CALL_SECONDS


def test_the_data_folder_that_a_call_makes_is_for_its_owner_only(person: Person) -> None:
    person.data.rmdir()
    person.ask("claude-code", person.event("session_start"))
    for folder in (person.data, person.data / call_ledger.FOLDER):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
