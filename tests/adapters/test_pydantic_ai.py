"""Pydantic AI, with its own model for tests."""

import asyncio
from datetime import date

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookline import Blocked, Verdict
from hookline.adapters.pydantic_ai import Hooks
from tests.adapters.scene import COMMAND, Scene


class Run:
    """One run of an agent, and what its model was told."""

    def __init__(self, scene: Scene, command: str = COMMAND) -> None:
        self.told: list[tuple[list[ModelMessage], AgentInfo]] = []

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.told.append((messages, info))
            if len(self.told) == 1:
                return ModelResponse(parts=[ToolCallPart("bash", {"command": command})])
            return ModelResponse(parts=[TextPart("done")])

        agent = Agent(FunctionModel(model), capabilities=[Hooks(scene.engine)])
        agent.tool_plain(name="bash")(scene.run)
        self.output = asyncio.run(agent.run("clean up")).output

    @property
    def last(self) -> str:
        """Everything the model was told before its last answer."""
        return str(self.told[-1][0])


def test_every_moment_of_a_run_reaches_the_hooks_in_one_session() -> None:
    scene = Scene()
    run = Run(scene)
    assert run.output == "done"
    assert scene.names == ["before_agent", "before_tool", "after_tool", "after_agent"]
    assert scene.event("before_agent").data["prompt"] == "clean up"
    call = scene.event("before_tool")
    assert (call.tool, call.native_tool, call.args) == ("shell", "bash", {"command": COMMAND})
    assert scene.event("after_tool").data["result"] == f"output of {COMMAND}"
    assert scene.event("after_agent").data["response"] == "done"
    assert len({event.session.id for event in scene.heard}) == 1
    assert scene.heard[0].session.id


def test_a_blocked_tool_does_not_run_and_the_model_is_told_why() -> None:
    scene = Scene(before_tool=Verdict.deny("not on this machine"))
    run = Run(scene)
    assert scene.ran == []
    assert "Blocked by a hook: not on this machine" in run.last
    assert run.output == "done"


def test_a_tool_runs_with_the_arguments_a_hook_left() -> None:
    scene = Scene(before_tool=Verdict.rewrite({"command": "ls"}))
    run = Run(scene)
    assert scene.ran == ["ls"]
    assert "output of ls" in run.last


def test_the_model_reads_another_result_and_context() -> None:
    scene = Scene(after_tool=Verdict.replace_output("nothing to see"), before_agent=Verdict.add_context("it is late"))
    run = Run(scene)
    assert "nothing to see" in run.last
    assert f"output of {COMMAND}" not in run.last
    assert run.told[0][1].instructions == "it is late"
    both = Run(Scene(after_tool=Verdict.add_context("look twice")))
    assert "look twice" in both.last
    assert f"output of {COMMAND}" in both.last


def test_context_of_one_run_is_not_told_in_the_next() -> None:
    scene = Scene(before_agent=Verdict.add_context("it is late"))
    told: list[str | None] = []

    def model(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.append(info.instructions)
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model), capabilities=[Hooks(scene.engine)])
    for _ in range(2):
        asyncio.run(agent.run("hello"))
    assert told == ["it is late", "it is late"]


def test_a_blocked_prompt_never_reaches_the_model() -> None:
    scene = Scene(before_agent=Verdict.deny("no secrets"))
    with pytest.raises(Blocked, match="no secrets"):
        Run(scene)
    assert scene.names == ["before_agent"]


def test_a_hook_that_stops_ends_the_run() -> None:
    scene = Scene(before_tool=Verdict.stop("enough"))
    with pytest.raises(Blocked, match="enough"):
        Run(scene)
    assert scene.ran == []


def test_a_tool_that_fails_is_seen_and_still_fails() -> None:
    scene = Scene()
    with pytest.raises(OSError, match="the disk is full"):
        Run(scene, command="fail")
    assert scene.event("tool_failed").data["error"] == "the disk is full"


def test_hooks_see_arguments_as_the_model_wrote_them_and_the_tool_gets_its_own_types() -> None:
    scene = Scene()
    got: list[object] = []

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("plan", {"day": "2026-11-16"})])
        return ModelResponse(parts=[TextPart("done")])

    def plan(day: date) -> str:
        got.append(day)
        return "planned"

    agent = Agent(FunctionModel(model), capabilities=[Hooks(scene.engine)])
    agent.tool_plain(plan)
    asyncio.run(agent.run("plan"))
    assert scene.event("before_tool").args == {"day": "2026-11-16"}
    assert got == [date(2026, 11, 16)]
