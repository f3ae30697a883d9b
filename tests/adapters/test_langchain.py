"""LangChain, with its own fake chat model."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.messages import AIMessage
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from hookline import Blocked, Verdict
from hookline.adapters.langchain import Hooks
from tests.adapters.scene import COMMAND, Scene

TOLD: list[list[Any]] = []


class Scripted(GenericFakeChatModel):
    """Call one tool, then answer, and keep what it was told."""

    def bind_tools(self, tools: object, **_named: object) -> "Scripted":  # noqa: ARG002 - theirs
        """Take any tools."""
        return self

    def _generate(self, messages: list[Any], *args: Any, **named: Any) -> Any:
        TOLD.append(messages)
        return super()._generate(messages, *args, **named)


def run(scene: Scene, *, command: str = COMMAND, is_async: bool = True) -> list[tuple[str, str]]:
    """Run an agent with one tool, and give its messages."""
    TOLD.clear()
    call = {"name": "bash", "args": {"command": command}, "id": "1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))

    @tool
    def bash(command: str) -> str:
        """Run a command."""
        return scene.run(command)

    agent = create_agent(
        model, [bash], middleware=[Hooks(scene.engine)], system_prompt="be brief", checkpointer=InMemorySaver()
    )
    given: Any = {"messages": [("user", "clean up")]}
    config: Any = {"configurable": {"thread_id": "t1"}}
    try:
        result = asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)
    finally:
        # the thread of an engine that was waited for is not to outlive the test
        scene.engine.close_sync()
    return [(message.type, str(message.text)) for message in result["messages"]]


BOTH = pytest.mark.parametrize("is_async", [True, False])


@BOTH
def test_every_moment_of_a_run_reaches_the_hooks_in_one_session(*, is_async: bool) -> None:
    scene = Scene()
    messages = run(scene, is_async=is_async)
    assert messages[-1] == ("ai", "done")
    assert scene.names == ["before_agent", "before_tool", "after_tool", "after_agent"]
    assert scene.event("before_agent").data["prompt"] == "clean up"
    assert (scene.event("before_tool").tool, scene.event("before_tool").args) == ("shell", {"command": COMMAND})
    assert scene.event("after_tool").data["result"] == f"output of {COMMAND}"
    assert scene.event("after_agent").data["response"] == "done"
    assert {event.session.id for event in scene.heard} == {"t1"}


@BOTH
def test_a_blocked_tool_does_not_run_and_the_model_is_told_why(*, is_async: bool) -> None:
    scene = Scene(before_tool=Verdict.deny("not on this machine"))
    messages = run(scene, is_async=is_async)
    assert scene.ran == []
    assert ("tool", "Blocked by a hook: not on this machine") in messages


@BOTH
def test_a_tool_runs_with_the_arguments_a_hook_left(*, is_async: bool) -> None:
    scene = Scene(before_tool=Verdict.rewrite({"command": "ls"}))
    messages = run(scene, is_async=is_async)
    assert scene.ran == ["ls"]
    assert ("tool", "output of ls") in messages


@BOTH
def test_the_model_reads_another_result_and_context(*, is_async: bool) -> None:
    scene = Scene(after_tool=Verdict.replace_output("nothing to see"), before_agent=Verdict.add_context("it is late"))
    assert ("tool", "nothing to see") in run(scene, is_async=is_async)
    assert [(one.type, one.text) for one in TOLD[0]] == [("system", "be brief\n\nit is late"), ("human", "clean up")]
    messages = run(Scene(after_tool=Verdict.add_context("look twice")), is_async=is_async)
    assert ("tool", f"output of {COMMAND}\n\nlook twice") in messages


@BOTH
def test_a_blocked_prompt_never_reaches_the_model(*, is_async: bool) -> None:
    messages = run(Scene(before_agent=Verdict.deny("no secrets")), is_async=is_async)
    assert messages == [("human", "clean up"), ("ai", "Blocked by a hook: no secrets")]
    assert TOLD == []


@BOTH
def test_a_hook_that_stops_ends_the_run(*, is_async: bool) -> None:
    scene = Scene(before_tool=Verdict.stop("enough"))
    with pytest.raises(Blocked, match="enough"):
        run(scene, is_async=is_async)
    assert scene.ran == []


def test_a_tool_that_fails_is_seen_and_still_fails() -> None:
    scene = Scene()
    with pytest.raises(OSError, match="the disk is full"):
        run(scene, command="fail")
    assert scene.event("tool_failed").data["error"] == "the disk is full"


def test_a_failure_the_library_tells_the_model_of_is_a_failure_to_the_hooks() -> None:
    scene = Scene()
    TOLD.clear()
    # the tool wants a command, and the model gives none
    call = {"name": "bash", "args": {}, "id": "1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))

    @tool
    def bash(command: str) -> str:
        """Run a command."""
        return scene.run(command)

    tools: list[BaseTool] = [bash]
    agent = create_agent(model, tools, middleware=[Hooks(scene.engine)])
    given: Any = {"messages": [("user", "clean up")]}
    result = asyncio.run(agent.ainvoke(given))
    assert scene.names == ["before_agent", "before_tool", "tool_failed", "after_agent"]
    assert result["messages"][-2].status == "error"
