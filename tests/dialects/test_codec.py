"""What the documents of agents share that do not speak Claude Code's language."""

import pytest

from hookline.dialects import DIALECTS, _codec, _tools
from hookline.dialects._codec import EventNames, field_maps
from hookline.dialects._tools import ToolRow, tool_map
from hookline.errors import DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision

SPEC = DialectSpec(
    name="acme",
    title="Acme",
    events={EventName.BEFORE_TOOL: "onTool", EventName.SESSION_END: "onEnd"},
    mcp="{server}.{tool}",
)
CODEC = _codec.AgentCodec(
    spec=SPEC,
    names=EventNames(SPEC.events),
    tools=tool_map(
        ToolRow("shell", ("run",), keys={"command": "line"}),
    ),
    field_maps=field_maps({}, taken=("tool",)),
)


def event(document: dict[str, object], *, iso: bool = True) -> Event:
    return CODEC.decode_document("onEnd", document, session=Session(), cwd="/p", call=_tools.NO_CALL, iso=iso)


def test_name_in_the_document_counts_before_the_one_it_was_called_with() -> None:
    assert CODEC.read_name("onTool", "onEnd", where="event") == "onTool"
    assert CODEC.read_name(None, "onEnd", where="event") == "onEnd"
    with pytest.raises(DialectError, match="acme at event: expected the event's name"):
        CODEC.read_name("", "", where="event")
    with pytest.raises(DialectError, match="expected a text"):
        CODEC.read_name(5, "onEnd", where="event")


def test_call_is_heard_in_our_words_and_kept_in_the_agents() -> None:
    call = CODEC.decode_call("run", {"line": "ls"}, cwd="/p")

    assert (call.tool, call.args, call.native_args) == ("shell", {"command": "ls"}, {"line": "ls"})
    assert CODEC.decode_call("run", None, cwd="/p").args == {}


def test_server_that_is_said_beside_the_name_decides() -> None:
    call = CODEC.decode_call("run", {"line": "x", "path": "a"}, cwd="/p", server="files", tool="put")

    # its arguments are its own: neither renamed nor taken for paths of ours
    assert (call.tool, call.args) == ("mcp__files__put", {"line": "x", "path": "a"})
    assert call.native_tool == "run"


def test_tools_of_servers_are_spelled_as_the_agent_does_to_its_hooks() -> None:
    foreign = Event(name=EventName.BEFORE_TOOL, tool="mcp__files__put", args={"a": 1}, host="other")

    assert CODEC.encode_call(foreign) == ("files.put", {"a": 1})
    assert CODEC.encode_call(Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})) == (
        "run",
        {"line": "ls"},
    )


@pytest.mark.parametrize(
    ("said", "form", "moment", "rest"),
    [
        ("2026-01-01T00:00:00.000Z", "iso", 1767225600000, {}),
        (1767225600000, "ms", 1767225600000, {}),
        # understood, and kept because we would write it in another way
        ("2026-01-01T00:00:00Z", "iso", 1767225600000, {"timestamp": "2026-01-01T00:00:00Z"}),
        (1767225600000, "iso", 1767225600000, {"timestamp": 1767225600000}),
        ("2026-01-01T00:00:00.000Z", "ms", 1767225600000, {"timestamp": "2026-01-01T00:00:00.000Z"}),
        # no time at all is no reason not to ask a guard
        ("soon", "iso", 0, {"timestamp": "soon"}),
        ([1], "ms", 0, {"timestamp": [1]}),
    ],
)
def test_times_are_understood_and_nothing_of_them_is_lost(
    said: object,
    form: str,
    moment: int,
    rest: dict[str, object],
) -> None:
    got = event({"timestamp": said}, iso=form == "iso")

    assert (got.timestamp, got.data) == (moment, rest)


def test_document_without_a_time_has_none() -> None:
    assert (event({"a": 1}).timestamp, event({"a": 1}).data) == (0, {"a": 1})


@pytest.mark.parametrize(
    ("dialect", "name", "decision"),
    [
        ("gemini-cli", EventName.BEFORE_TOOL, Decision.DENY),
        ("gemini-cli", EventName.SESSION_END, Decision.PASS),
        # an event that the agent does not have: a hook that denies there has denied
        ("antigravity", EventName.BEFORE_AGENT, Decision.DENY),
    ],
)
def test_code_that_blocks_is_a_failure_where_nothing_can_be_blocked(
    dialect: str, name: EventName, decision: Decision
) -> None:
    request = DIALECTS[dialect].encode_event(Event(name=name), Hook(id="h", command="x", dialect=dialect))
    verdict = DIALECTS[dialect].decode_reply(Reply(exit_code=2), request)

    assert verdict.decision is decision
    assert (verdict.failure is None) is (decision is Decision.DENY)


def test_texts_are_joined_with_a_blank_line() -> None:
    assert _codec.join_blocks(("a", "", "b")) == "a\n\nb"
    assert _codec.join_blocks(()) == ""
