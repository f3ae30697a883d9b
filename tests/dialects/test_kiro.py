"""Kiro, document by document; the documents are written after its pages."""

import pytest

from hookline.dialects.kiro import SPEC, encode_event
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.saying import HOOK, Plain, answered, event_of, heard, payload, told, verdict

AGENT = "kiro"
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
CONTEXT = Outcome(effects=(Effect(EffectKind.CONTEXT, "one"), Effect(EffectKind.CONTEXT, "two")))


def said(tool: str, args: object, **more: object) -> Event:
    document = {"hook_event_name": "preToolUse", "cwd": "/project", "tool_name": tool, "tool_input": args, **more}
    return heard(AGENT, document)


# events


@pytest.mark.parametrize(
    ("name", "tool", "args"),
    [
        ("preToolUse", "shell", {"command": "rm -rf build", "cwd": "/project/sub", "summary": "clean"}),
        ("preToolUse.fs_read", "read_file", {"mode": "Line", "path": "/project/a.py", "offset": 10, "limit": 11}),
        ("preToolUse.fs_write.create", "write_file", {"path": "/project/src/a.py", "content": "x"}),
        ("preToolUse.fs_write.append", "write_file", {"path": "/project/src/a.py", "content": "d", "mode": "append"}),
        ("preToolUse.fs_write.str_replace", "edit_file", {"path": "/project/src/a.py", "old": "a", "new": "b"}),
        ("preToolUse.fs_write.insert", "insert_text", {"path": "/project/src/a.py", "line": 3, "text": "c"}),
        ("PreToolUse.v1", "shell", {"command": "ls"}),
    ],
)  # fmt: skip
def test_calls_are_understood_by_their_verbs(name: str, tool: str, args: Plain) -> None:
    event = event_of(AGENT, name)

    assert (event.name, event.tool, event.args) == (EventName.BEFORE_TOOL, tool, args)


def test_the_verb_of_a_write_is_no_shell_command() -> None:
    assert event_of(AGENT, "preToolUse.fs_write.create").args.get("command") is None


def test_all_files_of_one_read_are_named() -> None:
    event = event_of(AGENT, "preToolUse.fs_read.two")

    assert event.tool == "read_files"
    assert event.args["paths"] == ["/project/docs/a.md", "/project/b.png"]


@pytest.mark.parametrize(("mode", "tool"), [("Line", "read_file"), ("Directory", "list_dir"), ("Search", "grep")])
def test_one_look_is_what_it_looks_like(mode: str, tool: str) -> None:
    event = said("fs_read", {"operations": [{"mode": mode, "path": "/project"}]})

    assert (event.tool, event.args["path"]) == (tool, "/project")
    assert told(AGENT, event)["tool_input"] == {"operations": [{"mode": mode, "path": "/project"}]}


def test_lines_from_the_end_are_left_as_they_are() -> None:
    event = said("fs_read", {"operations": [{"mode": "Line", "path": "/a", "start_line": -5}]})

    assert event.args == {"mode": "Line", "path": "/a", "start_line": -5}


def test_a_verb_nobody_knows_still_writes() -> None:
    assert said("fs_write", {"command": "undo", "path": "/a"}).tool == "write_file"


@pytest.mark.parametrize("operations", [None, "all", [], [7], [{"path": "/a"}, 7]])
def test_odd_operations_are_understood_as_far_as_they_can(operations: object) -> None:
    event = said("fs_read", {"operations": operations})

    assert event.tool in {"read_file", "read_files"}
    assert told(AGENT, event)["tool_input"] == {"operations": operations}


def test_tools_of_servers_are_ours_by_name_and_go_back_as_they_came() -> None:
    event = said("@postgres/query", {"sql": "select 1"})

    assert (event.tool, event.args, event.native_tool) == (
        "mcp__postgres__query",
        {"sql": "select 1"},
        "@postgres/query",
    )
    assert told(AGENT, event)["tool_name"] == "@postgres/query"


def test_tools_nobody_knows_keep_their_names() -> None:
    assert said("use_aws", {"service_name": "s3"}).tool == "use_aws"
    assert said("@builtin", {}).tool == "@builtin"


def test_failed_tool_is_a_failure_with_its_words() -> None:
    document = {**payload(AGENT, "postToolUse"), "tool_response": {"success": False, "result": ["no such folder", 7]}}
    event = heard(AGENT, document)

    assert (event.name, event.data["error"]) == (EventName.TOOL_FAILED, "no such folder\n7")
    assert SPEC.native(event) == "postToolUse"
    assert told(AGENT, event) == document


def test_calls_that_were_kept_until_the_end_come_as_one_event() -> None:
    event = event_of(AGENT, "postToolUse.deferred")

    assert (event.name, event.tool, event.args["path"]) == (EventName.AFTER_TOOL, "write_file", "/project/a.py")
    assert isinstance(event.data["hook_events"], list)
    assert len(event.data["hook_events"]) == 2


def test_the_name_on_the_command_line_tells_which_kind_of_file_asked() -> None:
    document = payload(AGENT, "userPromptSubmit")

    assert SPEC.native(heard(AGENT, document, "userPromptSubmit")) == "userPromptSubmit"
    assert SPEC.native(heard(AGENT, document, "UserPromptSubmit")) == "UserPromptSubmit"
    assert SPEC.native(heard(AGENT, document)) == "userPromptSubmit"
    assert heard(AGENT, document, "Stop").name is EventName.BEFORE_AGENT


def test_files_and_tasks_of_the_editor() -> None:
    saved, task = event_of(AGENT, "PostFileSave"), event_of(AGENT, "PreTaskExec")

    assert (saved.name, saved.data["path"]) == (EventName.FILE_EDITED, "/project/a.py")
    assert (task.name, task.native_name) == (EventName.CUSTOM, "PreTaskExec")


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({}, "hook_event_name"),
        ({"hook_event_name": "preToolUse"}, "tool_name"),
        ({"hook_event_name": "postToolUse", "hook_events": [{}]}, "tool_name"),
        ({"hook_event_name": "stop", "cwd": 7}, "cwd"),
    ],
)
def test_documents_that_are_not_kiros_are_refused(document: Plain, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        heard(AGENT, document)

    assert caught.value.where == where


# hooks written for Kiro under other agents


@pytest.mark.parametrize(
    ("tool", "args", "name", "native"),
    [
        ("shell", {"command": "ls"}, "execute_bash", {"command": "ls"}),
        ("read_file", {"path": "/a", "offset": 2, "limit": 3}, "fs_read",
         {"operations": [{"mode": "Line", "path": "/a", "start_line": 2, "end_line": 4}]}),
        ("read_files", {"paths": ["/a", "/b"]}, "fs_read",
         {"operations": [{"mode": "Line", "path": "/a"}, {"mode": "Line", "path": "/b"}]}),
        ("write_file", {"path": "/a", "content": "x"}, "fs_write", {"command": "create", "path": "/a", "file_text": "x"}),
        ("write_file", {"path": "/a", "content": "x", "mode": "append"}, "fs_write",
         {"command": "append", "path": "/a", "new_str": "x"}),
        ("edit_file", {"path": "/a", "old": "x", "new": "y"}, "fs_write",
         {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"}),
        ("mcp__files__put", {"a": 1}, "@files/put", {"a": 1}),
    ],
)  # fmt: skip
def test_calls_of_other_agents_are_told_in_kiros_words(tool: str, args: Plain, name: str, native: Plain) -> None:
    document = told(AGENT, Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, host="claude-code"))

    assert (document["hook_event_name"], document["tool_name"], document["tool_input"]) == ("preToolUse", name, native)


def test_results_of_other_agents_say_whether_they_are_good() -> None:
    ran = Event(name=EventName.AFTER_TOOL, tool="shell", data={"result": "a"}, host="codex-cli")
    failed = Event(name=EventName.TOOL_FAILED, tool="shell", data={"error": "b"}, host="codex-cli")

    assert told(AGENT, ran)["tool_response"] == {"success": True, "result": ["a"]}
    assert told(AGENT, failed)["tool_response"] == {"success": False, "result": ["b"]}
    assert told(AGENT, failed)["hook_event_name"] == "postToolUse"


def test_environment_is_what_its_older_hooks_find() -> None:
    assert encode_event(event_of(AGENT, "userPromptSubmit"), HOOK).env == {"USER_PROMPT": "tidy up"}
    assert encode_event(event_of(AGENT, "PostFileSave"), HOOK).env == {"KIRO_HOOK_FILE": "/project/a.py"}


def test_prompt_that_no_environment_can_hold_is_left_to_the_document() -> None:
    asked = Event(name=EventName.BEFORE_AGENT, data={"prompt": "x" * 200_000})

    assert encode_event(asked, HOOK).env == {}


# answers

BLOCKS = ["preToolUse", "PreToolUse.v1", "UserPromptSubmit.v1", "PreTaskExec"]
READS = [
    "agentSpawn",
    "SessionStart",
    "userPromptSubmit",
    "UserPromptSubmit.v1",
    "PreToolUse.v1",
    "PostFileSave",
    "PreTaskExec",
]
SILENT = ["stop", "Stop.v1", "SessionEnd", "postToolUse"]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_no_is_exit_code_two_with_the_reason_on_stderr(name: str) -> None:
    assert answered(AGENT, DENY, event_of(AGENT, name)) == Answer(stderr=b"not here\n", exit_code=2)


@pytest.mark.parametrize("name", READS)
def test_context_is_all_that_stands_on_stdout(name: str) -> None:
    assert answered(AGENT, CONTEXT, event_of(AGENT, name)) == Answer(stdout=b"one\n\ntwo\n")


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said_where_nobody_listens(name: str) -> None:
    for outcome in (DENY, CONTEXT, Outcome()):
        assert answered(AGENT, outcome, event_of(AGENT, name)) == Answer()


def test_a_no_beside_context_says_the_no_only() -> None:
    both = Outcome(decision=Decision.DENY, reasons=("not here",), effects=CONTEXT.effects)

    assert answered(AGENT, both, event_of(AGENT, "PreToolUse.v1")) == Answer(stderr=b"not here\n", exit_code=2)


def test_a_prompt_that_cannot_be_blocked_is_objected_to() -> None:
    answer = answered(AGENT, DENY, event_of(AGENT, "userPromptSubmit"))

    assert answer == Answer(stdout=b"A hook objects, and this cannot be stopped here: not here\n")


@pytest.mark.parametrize(
    "outcome", [Outcome(decision=Decision.ASK), Outcome(decision=Decision.STOP), Outcome(args={"command": "x"})]
)
def test_what_kiro_cannot_do_with_a_call_is_a_no(outcome: Outcome) -> None:
    assert answered(AGENT, outcome, event_of(AGENT, "preToolUse")).exit_code == 2


def test_text_of_hooks_is_context_where_kiro_reads_it() -> None:
    prompt, call = event_of(AGENT, "userPromptSubmit"), event_of(AGENT, "preToolUse")

    assert verdict(AGENT, prompt, answer="remember\n").effects == (Effect(EffectKind.CONTEXT, "remember"),)
    assert verdict(AGENT, call, answer="working").effects == ()
    assert verdict(AGENT, call, answer="remember", on="PreToolUse").effects == (Effect(EffectKind.CONTEXT, "remember"),)


def test_exit_codes_of_hooks() -> None:
    call = event_of(AGENT, "preToolUse")

    assert verdict(AGENT, call, stderr="no", code=2).decision is Decision.DENY
    assert verdict(AGENT, call, code=1).failure is not None
