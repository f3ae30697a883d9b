"""What a dialect says an answer can do, and the names it has for events."""

from hookline.model.dialect import DialectSpec
from hookline.model.event import Ability, Event, EventName
from hookline.wiring import native_names

SPEC = DialectSpec(
    name="agent",
    title="Agent",
    events={EventName.AFTER_TOOL: "after"},
    abilities={"after": frozenset({Ability.CONTEXT}), "afterEdit": frozenset()},
    of_mcp={"after": frozenset({Ability.OUTPUT})},
    more_events={"afterEdit": EventName.AFTER_TOOL},
)


def test_more_can_be_done_at_calls_of_servers_where_the_agent_says_so() -> None:
    own = Event(name=EventName.AFTER_TOOL, tool="shell")
    served = Event(name=EventName.AFTER_TOOL, tool="mcp__files__put")

    assert SPEC.able(own) == frozenset({Ability.CONTEXT})
    assert SPEC.able(served) == frozenset({Ability.CONTEXT, Ability.OUTPUT})


def test_an_agents_own_name_of_an_event_decides_what_can_be_done() -> None:
    edited = Event(name=EventName.AFTER_TOOL, tool="mcp__files__put", native_name="afterEdit")

    assert SPEC.able(edited) == frozenset()


def test_names_beyond_the_usual_ones_stand_for_our_events() -> None:
    names = native_names()

    assert names["cursor"]["preToolUse"] == ("before_tool",)
    assert names["cursor"]["beforeShellExecution"] == ("before_tool",)
    assert names["windsurf"]["post_write_code"] == ("after_tool",)
    assert names["kiro"]["PreToolUse"] == ("before_tool",)
    assert names["cline"]["TaskResume"] == ("session_start",)
