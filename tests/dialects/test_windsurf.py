"""Windsurf, document by document; the documents are written after its pages."""

import pytest

from hookline.dialects.windsurf import SPEC
from hookline.engine.call_splitting import split_call
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, FailureKind
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.saying import Plain, answered, event_of, heard, payload, told, verdict

AGENT = "windsurf"
DENY = Outcome(decision=Decision.DENY, reasons=("not here", "nor there"))
EDITS = [{"old": "import os", "new": "import os\nimport sys"}]
CAN_BLOCK = ["pre_read_code", "pre_write_code", "pre_run_command", "pre_mcp_tool_use", "pre_user_prompt"]
CANNOT = sorted(set(SPEC.abilities) - set(CAN_BLOCK))


@pytest.mark.parametrize(
    ("name", "tool", "args"),
    [
        ("read_code", "read_file", {"path": "/project/a.py"}),
        ("write_code", "multi_edit", {"path": "/project/a.py", "edits": EDITS}),
        ("run_command", "shell", {"command": "npm install", "cwd": "/project"}),
        ("mcp_tool_use", "mcp__github__create_issue", {"owner": "me", "title": "a bug"}),
    ],
)
def test_each_event_is_a_call_of_its_tool(name: str, tool: str, args: Plain) -> None:
    before, after = event_of(AGENT, f"pre_{name}"), event_of(AGENT, f"post_{name}")

    assert (before.name, before.tool, before.args) == (EventName.BEFORE_TOOL, tool, args)
    assert (after.name, after.tool, after.args) == (EventName.AFTER_TOOL, tool, args)


def test_other_events_are_what_they_say() -> None:
    assert event_of(AGENT, "pre_user_prompt").data["prompt"] == "tidy up"
    assert event_of(AGENT, "post_cascade_response").data["response"] == "### Done\n\nAll tidy."
    assert event_of(AGENT, "post_mcp_tool_use").data["result"] == "created"
    worktree = event_of(AGENT, "post_setup_worktree")
    assert (worktree.name, worktree.native_name) == (EventName.CUSTOM, "post_setup_worktree")


def test_session_folder_model_and_time_are_known() -> None:
    said = event_of(AGENT, "pre_run_command")

    assert (said.session.id, said.session.model, said.cwd) == ("traj-1", "swe-1", "/project")
    assert said.timestamp == 1794738600000


def test_a_time_that_is_written_otherwise_is_kept_as_it_is() -> None:
    said = event_of(AGENT, "post_setup_worktree")

    assert said.timestamp == 1794738600000
    assert told(AGENT, said)["timestamp"] == "2026-11-15T10:30:00Z"


def test_a_time_that_is_none_keeps_nobody_from_asking() -> None:
    said = heard(AGENT, {**payload(AGENT, "pre_run_command"), "timestamp": "yesterday"})

    assert said.timestamp == 0
    assert told(AGENT, said)["timestamp"] == "yesterday"


def test_arguments_of_a_server_in_a_text_are_understood() -> None:
    info = {"mcp_server_name": "files", "mcp_tool_name": "put", "mcp_tool_arguments": '{"path": "a"}'}
    said = heard(AGENT, {**payload(AGENT, "pre_mcp_tool_use"), "tool_info": info})

    assert (said.tool, said.args) == ("mcp__files__put", {"path": "a"})
    assert told(AGENT, said)["tool_info"] == info


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"tool_info": {}}, "agent_action_name"),
        ({"agent_action_name": "pre_mcp_tool_use", "tool_info": {}}, "tool_info.mcp_tool_name"),
        ({"agent_action_name": "pre_run_command", "tool_info": []}, "tool_info"),
        ({"agent_action_name": 7}, "agent_action_name"),
    ],
)
def test_documents_that_are_not_windsurfs_are_refused(document: Plain, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        heard(AGENT, document)

    assert caught.value.where == where


# hooks written for Windsurf under other agents


@pytest.mark.parametrize(
    ("tool", "args", "native", "info"),
    [
        ("shell", {"command": "ls"}, "pre_run_command", {"command_line": "ls", "cwd": "/project"}),
        ("read_file", {"path": "/a"}, "pre_read_code", {"file_path": "/a"}),
        (
            "edit_file",
            {"path": "/a", "old": "x", "new": "y"},
            "pre_write_code",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        ),
        (
            "write_file",
            {"path": "/a", "content": "x"},
            "pre_write_code",
            {"file_path": "/a", "edits": [{"old_string": "", "new_string": "x"}]},
        ),
        (
            "multi_edit",
            {"path": "/a", "edits": [{"old": "x", "new": "y"}]},
            "pre_write_code",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        ),
        (
            "mcp__files__put",
            {"a": 1},
            "pre_mcp_tool_use",
            {"mcp_server_name": "files", "mcp_tool_name": "put", "mcp_tool_arguments": {"a": 1}},
        ),
        (
            "web_fetch",
            {"urls": ["https://example.org"]},
            "pre_mcp_tool_use",
            {"mcp_server_name": "", "mcp_tool_name": "web_fetch", "mcp_tool_arguments": {"urls": ["https://example.org"]}},
        ),
    ],
)  # fmt: skip
def test_calls_of_other_agents_are_told_in_windsurfs_events(tool: str, args: Plain, native: str, info: Plain) -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd="/project", host="claude-code")
    document = told(AGENT, event)
    said = document["tool_info"]

    assert document["agent_action_name"] == native
    assert isinstance(said, dict)
    assert {key: said[key] for key in info} == info


def test_hook_is_told_the_event_it_was_written_for() -> None:
    patch = Event(name=EventName.BEFORE_TOOL, tool="apply_patch", args={"patch": "*** Begin Patch"}, host="codex-cli")
    document = told(AGENT, patch, "pre_write_code")

    assert document["agent_action_name"] == "pre_write_code"
    assert isinstance(document["tool_info"], dict)
    assert document["tool_info"]["edits"] == [{"old_string": "", "new_string": "*** Begin Patch"}]


# answers


@pytest.mark.parametrize("name", CAN_BLOCK)
def test_a_no_is_exit_code_two_with_the_reason_on_stderr_and_nothing_on_stdout(name: str) -> None:
    answer = answered(AGENT, DENY, event_of(AGENT, name))

    assert answer == Answer(stderr=b"not here\nnor there\n", exit_code=2)


@pytest.mark.parametrize("name", CAN_BLOCK)
@pytest.mark.parametrize("decision", [Decision.ASK, Decision.STOP])
def test_what_cannot_be_said_is_a_no(name: str, decision: Decision) -> None:
    answer = answered(AGENT, Outcome(decision=decision, reasons=("wait",)), event_of(AGENT, name))

    assert (answer.stdout, answer.exit_code) == (b"", 2)
    assert answer.stderr.startswith(b"wait")


@pytest.mark.parametrize("name", CANNOT)
def test_nothing_is_said_where_nobody_listens(name: str) -> None:
    assert answered(AGENT, DENY, event_of(AGENT, name)) == Answer()


@pytest.mark.parametrize("name", CAN_BLOCK + CANNOT)
def test_going_on_is_saying_nothing(name: str) -> None:
    context = Outcome(effects=(Effect(EffectKind.CONTEXT, "c"), Effect(EffectKind.MESSAGE, "m")))

    assert answered(AGENT, Outcome(), event_of(AGENT, name)) == Answer()
    assert answered(AGENT, Outcome(decision=Decision.ALLOW), event_of(AGENT, name)) == Answer()
    assert answered(AGENT, context, event_of(AGENT, name)) == Answer()


def test_changed_call_does_not_run_unchanged() -> None:
    assert answered(AGENT, Outcome(args={"command": "ls"}), event_of(AGENT, "pre_run_command")).exit_code == 2


CALL = event_of(AGENT, "pre_run_command")


def test_exit_code_of_a_hook_counts_and_what_it_prints_is_noted() -> None:
    assert verdict(AGENT, CALL, answer="working").notes == ("stdout: working",)
    assert verdict(AGENT, CALL, stderr="no\n", code=2).reason == "no"
    assert verdict(AGENT, CALL, answer="no", code=2).reason == "no"
    assert verdict(AGENT, CALL, code=2).reason == "blocked without a reason"
    failure = verdict(AGENT, CALL, stderr="oops", code=1).failure
    assert failure is not None
    assert (failure.kind, failure.message) == (FailureKind.EXIT_CODE, "ended with exit code 1: oops")


def test_a_patch_of_two_files_is_told_file_by_file() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: /project/a.py\n+x\n*** Update File: /project/b.py\n@@\n-y\n+z\n*** End Patch\n"
    )
    event = Event(
        name=EventName.BEFORE_TOOL, tool="apply_patch", args={"patch": patch}, cwd="/project", host="codex-cli"
    )

    documents = [told(AGENT, part) for part in split_call(event, SPEC)]

    assert [document["agent_action_name"] for document in documents] == ["pre_write_code", "pre_write_code"]
    infos = [document["tool_info"] for document in documents]
    assert [info["file_path"] for info in infos if isinstance(info, dict)] == ["/project/a.py", "/project/b.py"]
