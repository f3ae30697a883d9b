"""Tool calls of agents: what an agent's table does not have is none of our tools, whatever it is called."""

import json

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._tools import normalise_call
from hookline.dialects.claude_code import TOOLS as CLAUDE
from hookline.effects import tools
from hookline.effects.tools import find_effects
from hookline.model.event import OTHER, TOOLS
from hookline.model.hook import Hook


def said(tool: str, **args: object) -> bytes:
    call = {"tool_name": tool, "tool_input": args, "cwd": "/p", "session_id": "s", "tool_use_id": "1"}
    return json.dumps({"hook_event_name": "PreToolUse", **call}).encode()


def test_every_tool_of_ours_has_effects() -> None:
    assert set(tools._TOOLS) == TOOLS  # noqa: SLF001 - two tables that must not come apart


@pytest.mark.parametrize("name", ["todo", "web_search", "read_file", "builtin:todo"])
def test_tool_that_is_only_called_like_one_of_ours_may_do_anything(name: str) -> None:
    event = DIALECTS["claude-code"].decode_event(said(name, path="a"))

    assert event.tool == f"{OTHER}{name.removeprefix('builtin:')}"
    assert event.native_tool == name
    assert find_effects(event).opaque
    # a matcher for the name still means it
    told = DIALECTS["claude-code"].encode_event(event, Hook(id="h", dialect="claude-code", command="true"))
    assert json.loads(told.body)["tool_name"] == name


def test_tools_of_the_table_are_ours() -> None:
    event = DIALECTS["claude-code"].decode_event(said("TodoWrite", todos=[]))

    assert (event.tool, find_effects(event).opaque) == ("todo", False)
    assert normalise_call(CLAUDE, "unheard_of", {}, cwd="/p").tool == "unheard_of"
