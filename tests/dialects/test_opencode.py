"""opencode: what the plugin says to us, its tools, what it is answered, and how hooks of this dialect answer."""

import pytest

from hookline.dialects import opencode
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.agents import (
    ALLOW,
    ASK,
    CONTEXT,
    DENY,
    FOLLOW_UP,
    HOOK,
    MESSAGE,
    PASS,
    SILENT_DENY,
    STOP,
    Plain,
    answer,
    fitted,
    heard,
    rewrite,
    said,
    told,
    verdict,
)

PLACE: Plain = {"directory": "/p", "worktree": "/p"}


def event(hook: str, given: Plain, output: Plain | None = None, **more: object) -> Event:
    document = {"hook": hook, "input": {"sessionID": "s1", **given}, "output": output or {}, **PLACE, **more}
    return heard(opencode, document)


def call(tool: str, args: object, **more: object) -> Event:
    return event("tool.execute.before", {"tool": tool, "callID": "c1"}, {"args": args}, **more)


SHELL = call("bash", {"command": "rm -rf x", "description": "clean"})
RAN = event(
    "tool.execute.after",
    {"tool": "bash", "callID": "c1", "args": {"command": "ls"}},
    {"title": "ls", "output": "hi", "metadata": {"exit": 0}},
)
PARTS: list[object] = [{"type": "text", "text": "hi"}, {"type": "text", "text": "added", "synthetic": True}]
PROMPT = event("chat.message", {"agent": "build"}, {"message": {"id": "m1"}, "parts": PARTS})
START = event("session.created", {"title": "New"})
DONE = event("session.idle", {})
PERMISSION = event(
    "permission.asked",
    {"tool": "bash", "args": {"command": "ls"}, "callID": "c1", "permission": "bash", "patterns": ["ls"]},
)
COMPACTING = event("experimental.session.compacting", {})
COMPACTED = event("session.compacted", {})
ERROR = event("session.error", {"error": "no model", "errorName": "ProviderAuthError"})
DELETED = event("session.deleted", {"title": "x"})


# events


def test_call_is_understood_and_kept_as_it_was_said() -> None:
    wanted = Event(
        name=EventName.BEFORE_TOOL,
        data={"call_id": "c1", "worktree": "/p"},
        tool="shell",
        args={"command": "rm -rf x", "description": "clean"},
        session=Session(id="s1"),
        cwd="/p",
        host="opencode",
        native_args={"command": "rm -rf x", "description": "clean"},
    )

    assert wanted == SHELL


def test_data_have_the_names_that_all_agents_share() -> None:
    assert (RAN.data["result"], RAN.data["call_id"], RAN.args) == ("hi", "c1", {"command": "ls"})
    assert PROMPT.data["prompt"] == "hi"
    assert (ERROR.data["error"], ERROR.data["error_type"]) == ("no model", "ProviderAuthError")
    assert (PERMISSION.tool, PERMISSION.args, PERMISSION.data["operation"]) == ("shell", {"command": "ls"}, "bash")


def test_sessions_of_subagents_are_subagents() -> None:
    assert event("session.created", {}, parent="s0").name is EventName.SUBAGENT_START
    assert event("session.idle", {}, parent="s0").name is EventName.SUBAGENT_STOP
    assert (START.name, DONE.name) == (EventName.SESSION_START, EventName.AFTER_AGENT)


def test_prompt_of_a_subagent_is_not_the_persons() -> None:
    inside = event("chat.message", {}, {"parts": PARTS}, parent="s0")

    assert (inside.name, inside.native_name) == (EventName.CUSTOM, "chat.message")


@pytest.mark.parametrize("parts", [None, [], [5, {"type": "file"}, {"type": "text", "text": 5}]])
def test_prompt_without_text_is_empty(parts: object) -> None:
    assert event("chat.message", {}, {"parts": parts}).data["prompt"] == ""


@pytest.mark.parametrize(
    "moment",
    [SHELL, RAN, PROMPT, START, DONE, PERMISSION, COMPACTING, COMPACTED, ERROR, DELETED],
    ids=lambda one: one.name,
)
def test_every_event_is_said_again_as_it_was(moment: Event) -> None:
    again = opencode.decode_event(opencode.encode_event(moment, HOOK).body)

    assert again == moment


def test_event_of_another_agent_is_told_in_opencodes_words() -> None:
    foreign = Event(
        name=EventName.AFTER_TOOL,
        data={"call_id": "c9", "result": "ok"},
        tool="edit_file",
        args={"path": "/p/a", "old": "x", "new": "y"},
        session=Session(id="s2"),
        cwd="/p",
        timestamp=7,
        host="claude-code",
    )

    assert told(opencode, foreign) == {
        "hook": "tool.execute.after",
        "input": {
            "sessionID": "s2",
            "tool": "edit",
            "args": {"filePath": "/p/a", "oldString": "x", "newString": "y"},
            "callID": "c9",
        },
        "output": {"output": "ok"},
        "directory": "/p",
        "timestamp": 7,
    }
    prompt = Event(name=EventName.BEFORE_AGENT, data={"prompt": "hi"}, host="claude-code")
    assert told(opencode, prompt)["output"] == {"parts": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    "document", [{"hook": 5}, {"hook": "tool.execute.before"}, {"hook": "x", "input": []}, {"input": {}}]
)
def test_document_of_another_shape_is_refused(document: Plain) -> None:
    with pytest.raises(DialectError):
        heard(opencode, document)


def test_subagent_of_another_agent_is_a_session_that_was_started_by_one() -> None:
    for name in (EventName.SUBAGENT_START, EventName.SUBAGENT_STOP):
        document = told(opencode, Event(name=name, session=Session(id="s1"), host="claude-code"))

        assert document["parent"] == "s1"
        assert heard(opencode, document).name is name


# tools

TOOLS: list[tuple[str, Plain, str, Plain]] = [
    (
        "bash",
        {"command": "x", "timeout": 5000, "workdir": "sub"},
        "shell",
        {"command": "x", "timeout": 5, "cwd": "/p/sub"},
    ),
    ("read", {"filePath": "a", "offset": 1, "limit": 2}, "read_file", {"path": "/p/a", "offset": 1, "limit": 2}),
    ("write", {"filePath": "~/x", "content": "t"}, "write_file", {"path": "~/x", "content": "t"}),
    (
        "edit",
        {"filePath": "/a/../b", "oldString": "x", "newString": "y", "replaceAll": True},
        "edit_file",
        {"path": "/b", "old": "x", "new": "y", "replace_all": True},
    ),
    (
        "multiedit",
        {"filePath": "/a", "edits": [{"oldString": "x", "newString": "y"}]},
        "multi_edit",
        {"path": "/a", "edits": [{"old": "x", "new": "y"}]},
    ),
    ("apply_patch", {"patchText": "*** Begin"}, "apply_patch", {"patch": "*** Begin"}),
    ("glob", {"pattern": "*"}, "glob", {"pattern": "*"}),
    ("grep", {"pattern": "x", "include": "*.py"}, "grep", {"pattern": "x", "include": "*.py"}),
    # in seconds here, where a command's is in milliseconds
    (
        "webfetch",
        {"url": "https://a.example", "timeout": 5},
        "web_fetch",
        {"urls": ["https://a.example"], "timeout": 5},
    ),
    ("task", {"prompt": "p", "subagent_type": "general"}, "subagent", {"prompt": "p", "type": "general"}),
    ("todowrite", {"todos": []}, "todo", {"items": []}),
    ("skill", {"name": "s"}, "skill", {"name": "s"}),
    ("batch", {"tool_calls": []}, "batch", {"tool_calls": []}),
    ("invalid", {"tool": "x", "error": "e"}, "invalid", {"tool": "x", "error": "e"}),
]


@pytest.mark.parametrize(("name", "args", "tool", "ours"), TOOLS, ids=[row[0] for row in TOOLS])
def test_tools_are_understood_and_said_again_as_they_were(name: str, args: Plain, tool: str, ours: Plain) -> None:
    understood = call(name, args)

    assert (understood.tool, understood.args) == (tool, ours)
    assert told(opencode, understood)["output"] == {"args": args}


def test_tool_of_a_server_is_known_by_what_the_plugin_knows() -> None:
    understood = call("my_files_put", {"path": "x"}, mcp={"server": "my_files", "tool": "put"})

    assert (understood.tool, understood.args, understood.native_tool) == (
        "mcp__my_files__put",
        {"path": "x"},
        "my_files_put",
    )
    document = told(opencode, understood)
    assert (document["mcp"], document["output"]) == ({"server": "my_files", "tool": "put"}, {"args": {"path": "x"}})


def test_server_cannot_hide_one_of_the_programs_own_tools() -> None:
    # a project may name a server `apply`; that must not take patches out of sight
    understood = call("apply_patch", {"patchText": "p"}, mcp={"server": "apply", "tool": "patch"})

    assert understood.tool == "apply_patch"


def test_mcp_tool_of_another_agent_is_spelled_as_opencode_does() -> None:
    foreign = Event(name=EventName.BEFORE_TOOL, tool="mcp__files__put", args={"path": "x"}, host="claude-code")
    given = told(opencode, foreign)["input"]

    assert isinstance(given, dict)
    assert given["tool"] == "files_put"


# answers to the plugin

ANSWERS: list[tuple[str, Outcome, Event, object]] = [
    ("tool, no opinion", PASS, SHELL, None),
    ("tool, allow has no meaning", ALLOW, SHELL, None),
    ("tool, deny", DENY, SHELL, {"block": "no"}),
    ("tool, deny without a reason", SILENT_DENY, SHELL, {"block": "blocked without a reason"}),
    (
        "tool, nobody can be asked",
        ASK,
        SHELL,
        {"block": "sure?\na person has to decide, and opencode cannot ask here"},
    ),
    ("tool, stop", STOP, SHELL, {"stop": "halt"}),
    ("tool, rewrite", rewrite(SHELL, command="ls"), SHELL, {"args": {"command": "ls", "description": "clean"}}),
    ("tool, message", MESSAGE, SHELL, {"message": "hello"}),
    ("tool, context has no way but a message", CONTEXT, SHELL, {"message": "mind this\n\nand that"}),
    ("result, another one", Outcome(output="[hidden]"), RAN, {"output": "[hidden]"}),
    ("result, another value", Outcome(output={"a": 1}), RAN, {"output": '{"a":1}'}),
    ("result, context", CONTEXT, RAN, {"context": "mind this\n\nand that"}),
    ("result, deny", DENY, RAN, {"block": "no"}),
    ("prompt, deny", DENY, PROMPT, {"block": "no"}),
    ("prompt, stop is no more than a no", STOP, PROMPT, {"block": "halt"}),
    ("prompt, context", CONTEXT, PROMPT, {"context": "mind this\n\nand that"}),
    ("permission, allow", ALLOW, PERMISSION, {"allow": True}),
    ("permission, ask", ASK, PERMISSION, {"ask": "sure?"}),
    ("permission, deny", DENY, PERMISSION, {"block": "no"}),
    ("start, context", CONTEXT, START, {"context": "mind this\n\nand that"}),
    ("end, deny", DENY, DONE, {"block": "no"}),
    ("end, follow-up", FOLLOW_UP, DONE, {"prompt": "run the tests"}),
    ("end, stop rests", STOP, DONE, {"stop": "halt"}),
    ("compacting, context", CONTEXT, COMPACTING, {"context": "mind this\n\nand that"}),
    ("error, deny can only be told", DENY, ERROR, {"message": "A hook objects, and this cannot be stopped here: no"}),
]


@pytest.mark.parametrize(("outcome", "moment", "wanted"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_answers_are_what_the_plugin_reads(outcome: Outcome, moment: Event, wanted: object) -> None:
    assert fitted(opencode, outcome, moment) == wanted


def test_stop_beside_a_follow_up_does_not_go_on() -> None:
    outcome = said(Effect(EffectKind.ASK_AGENT, "more"), decision=Decision.STOP, reason="halt")

    assert answer(opencode, outcome, DONE) == {"stop": "halt"}


def test_every_event_has_its_abilities() -> None:
    assert set(opencode.SPEC.abilities) == set(opencode.SPEC.events.values())


# answers of hooks

VERDICTS: list[tuple[str, object, Decision, str]] = [
    ("block", {"block": "no"}, Decision.DENY, "no"),
    ("block without a reason", {"block": None}, Decision.DENY, ""),
    ("ask", {"ask": "?"}, Decision.ASK, "?"),
    ("stop", {"stop": "halt", "block": "no"}, Decision.STOP, "halt"),
    ("a yes skips nobody's permission before a tool", {"allow": True}, Decision.PASS, ""),
    ("not allow", {"allow": False}, Decision.DENY, ""),
    ("nothing", "", Decision.PASS, ""),
]


@pytest.mark.parametrize(
    ("stdout", "decision", "reason"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_decisions_of_hooks(stdout: object, decision: Decision, reason: str) -> None:
    got = verdict(opencode, SHELL, stdout)

    assert (got.decision, got.reason, got.effects) == (decision, reason, ())


def test_a_yes_counts_where_the_program_asks() -> None:
    assert verdict(opencode, PERMISSION, {"allow": True}).decision is Decision.ALLOW


def test_hook_may_change_arguments_and_speak() -> None:
    got = verdict(
        opencode,
        SHELL,
        {"args": {"command": "ls"}, "output": "o", "context": "c", "message": "m", "prompt": "p", "x": 1},
    )

    assert got.effects == (
        Effect(EffectKind.REWRITE, "ls", ("args", "command")),
        Effect(EffectKind.REWRITE, "o", ("output",)),
        Effect(EffectKind.CONTEXT, "c"),
        Effect(EffectKind.MESSAGE, "m"),
        Effect(EffectKind.ASK_AGENT, "p"),
    )
    assert got.metadata == {"x": 1}


def test_exit_code_2_denies_where_that_can_be_said() -> None:
    assert verdict(opencode, SHELL, {"allow": True}, stderr="no", code=2).decision is Decision.DENY
    elsewhere = verdict(opencode, COMPACTED, "", stderr="no", code=2)
    assert (elsewhere.decision, elsewhere.failure is None) == (Decision.PASS, False)


@pytest.mark.parametrize("document", [{"allow": "yes"}, {"context": 5}])
def test_answer_that_cannot_be_read_is_an_error_and_no_yes(document: Plain) -> None:
    with pytest.raises(DialectError):
        verdict(opencode, SHELL, document)


def test_matchers_catch_other_ways_to_change_a_file_which_hooks_are_told_in_the_agents_own() -> None:
    assert {"apply_patch", "insert_text", "edit_lines"} <= set(opencode.SPEC.tools)
    assert {"shell", "write_file", "edit_file"} <= opencode.SPEC.own_tools
    assert not {"multi_edit"} & opencode.SPEC.own_tools
