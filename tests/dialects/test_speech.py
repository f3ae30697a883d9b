"""What the documents of agents share that do not speak Claude Code's language."""

import pytest

from hookline.dialects import _speech, antigravity, gemini_cli
from hookline.dialects._fields import names
from hookline.dialects._reply import Manners
from hookline.dialects._tools import Row, toolbox
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.session import Session

SPEECH = _speech.Speech(
    dialect="acme",
    names=names({EventName.BEFORE_TOOL: "onTool", EventName.SESSION_END: "onEnd"}),
    tools=toolbox((Row(tool="shell", names=("run",), keys={"command": "line"}),)),
    shapes=_speech.shapes({}, taken=("tool",)),
    mcp="{server}.{tool}",
)


def event(document: dict[str, object], *, iso: bool = True) -> Event:
    return SPEECH.event("onEnd", document, session=Session(), cwd="/p", said=_speech.NO_CALL, iso=iso)


def test_name_in_the_document_counts_before_the_one_it_was_called_with() -> None:
    assert SPEECH.name("onTool", "onEnd", where="event") == "onTool"
    assert SPEECH.name(None, "onEnd", where="event") == "onEnd"
    with pytest.raises(DialectError, match="acme at event: expected the event's name"):
        SPEECH.name("", "", where="event")
    with pytest.raises(DialectError, match="expected a text"):
        SPEECH.name(5, "onEnd", where="event")


def test_call_is_heard_in_our_words_and_kept_in_the_agents() -> None:
    said = SPEECH.heard("run", {"line": "ls"}, cwd="/p")

    assert (said.call.tool, said.call.args, said.args) == ("shell", {"command": "ls"}, {"line": "ls"})
    assert SPEECH.heard("run", None, cwd="/p").call.args == {}


def test_server_that_is_said_beside_the_name_decides() -> None:
    said = SPEECH.heard("run", {"line": "x", "path": "a"}, cwd="/p", server="files", tool="put")

    # its arguments are its own: neither renamed nor taken for paths of ours
    assert (said.call.tool, said.call.args) == ("mcp__files__put", {"line": "x", "path": "a"})
    assert said.call.native_tool == "run"


def test_tools_of_servers_are_spelled_as_the_agent_does_to_its_hooks() -> None:
    foreign = Event(name=EventName.BEFORE_TOOL, tool="mcp__files__put", args={"a": 1}, host="other")

    assert SPEECH.told(foreign) == ("files.put", {"a": 1})
    assert SPEECH.told(Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})) == (
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


def test_code_that_blocks_is_a_failure_where_nothing_can_be_blocked() -> None:
    manners = Manners(dialect="x", deny_exit=2)

    assert _speech.blocking(manners, gemini_cli.SPEC, Event(name=EventName.BEFORE_TOOL)).deny_exit == 2
    assert _speech.blocking(manners, gemini_cli.SPEC, Event(name=EventName.SESSION_END)).deny_exit == 0
    # a moment the agent does not have: whoever says no there has said it
    assert _speech.blocking(manners, antigravity.SPEC, Event(name=EventName.BEFORE_AGENT)).deny_exit == 2


def test_texts_are_joined_with_a_blank_line() -> None:
    assert _speech.blocks(("a", "", "b")) == "a\n\nb"
    assert _speech.blocks(()) == ""
