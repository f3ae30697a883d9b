"""OpenAI Agents SDK, with a model of its own interface that is not asked anywhere."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import (
    Agent,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    function_tool,
)
from agents.items import ModelResponse, TResponseStreamEvent
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from hookline import Session, Verdict
from hookline.adapters.openai_agents import StoppedError, with_hooks
from hookline.json_codec import dump
from tests.adapters.scene import COMMAND, Scene


class Scripted(Model):
    """Call one tool, then answer."""

    def __init__(self, tool: str, arguments: object) -> None:
        self.told: list[tuple[str | None, object]] = []
        self._call = ResponseFunctionToolCall(
            type="function_call", name=tool, call_id=f"call-{tool}", arguments=dump(arguments).decode()
        )

    async def get_response(
        self,
        system_instructions: str | None,
        input: object,  # noqa: A002 - theirs
        *_args: object,
        **_named: object,
    ) -> ModelResponse:
        """Answer as the script says."""
        self.told.append((system_instructions, input))
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[self._call if len(self.told) == 1 else said], usage=Usage(), response_id=None)

    def stream_response(self, *_args: object, **_named: object) -> AsyncIterator[TResponseStreamEvent]:
        """Do not stream."""
        raise NotImplementedError


def run(scene: Scene, *, model: Scripted | None = None, agent: Agent[Any] | None = None) -> tuple[str, Scripted]:
    """Run an agent with one tool."""
    model = model or Scripted("bash", {"command": COMMAND})
    tool = function_tool(scene.run, name_override="bash", description_override="run a command")
    plain = agent or Agent(name="a", model=model, tools=[tool], instructions="be brief")
    hooked = with_hooks(plain, scene.engine, session=Session(id="s1"))
    result = asyncio.run(Runner.run(hooked, "clean up", run_config=RunConfig(tracing_disabled=True)))
    return str(result.final_output), model


def test_every_moment_of_a_run_reaches_the_hooks_in_one_session() -> None:
    scene = Scene()
    output, _ = run(scene)
    assert output == "done"
    assert scene.names == ["before_agent", "before_tool", "after_tool", "after_agent"]
    assert scene.event("before_agent").data["prompt"] == "clean up"
    assert (scene.event("before_tool").tool, scene.event("before_tool").args) == ("shell", {"command": COMMAND})
    assert scene.event("after_tool").data["result"] == f"output of {COMMAND}"
    assert scene.event("after_agent").data["response"] == "done"
    assert {event.session.id for event in scene.heard} == {"s1"}


def test_a_blocked_tool_does_not_run_and_the_model_is_told_why() -> None:
    scene = Scene(before_tool=Verdict.deny("not on this machine"))
    _, model = run(scene)
    assert scene.ran == []
    assert "Blocked by a hook: not on this machine" in str(model.told[-1])


def test_a_tool_runs_with_the_arguments_a_hook_left() -> None:
    scene = Scene(before_tool=Verdict.rewrite({"command": "ls"}))
    _, model = run(scene)
    assert scene.ran == ["ls"]
    assert "output of ls" in str(model.told[-1])


def test_the_model_reads_another_result_and_context() -> None:
    scene = Scene(after_tool=Verdict.replace_output("nothing to see"), before_agent=Verdict.add_context("it is late"))
    _, model = run(scene)
    assert "nothing to see" in str(model.told[-1])
    assert "output of" not in str(model.told[-1])
    assert model.told[0][0] == "be brief\n\nit is late"
    _, model = run(Scene(after_tool=Verdict.add_context("look twice")))
    assert f"output of {COMMAND}\\n\\nlook twice" in str(model.told[-1])


def test_a_blocked_prompt_never_reaches_the_model() -> None:
    model = Scripted("bash", {})
    with pytest.raises(InputGuardrailTripwireTriggered):
        run(Scene(before_agent=Verdict.deny("no secrets")), model=model)
    assert model.told == []


def test_a_hook_that_stops_ends_the_run() -> None:
    scene = Scene(before_tool=Verdict.stop("enough"))
    with pytest.raises(StoppedError, match="enough"):
        run(scene)
    assert scene.ran == []
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(Scene(after_agent=Verdict.stop("not that answer")))


def test_agents_that_hand_over_to_each_other_all_have_the_hooks() -> None:
    scene = Scene()
    tool = function_tool(scene.run, name_override="bash", description_override="run a command")
    worker: Agent[Any] = Agent(name="worker", model=Scripted("bash", {"command": "ls"}), tools=[tool])
    boss: Agent[Any] = Agent(name="boss", model=Scripted("transfer_to_worker", {}), handoffs=[worker])
    worker.handoffs = [boss]
    output, _ = run(scene, agent=boss)
    assert output == "done"
    assert scene.ran == ["ls"]
    assert scene.event("before_tool").args == {"command": "ls"}


def test_the_agent_itself_stays_as_it_was() -> None:
    scene = Scene(before_tool=Verdict.deny("no"))
    tool = function_tool(scene.run, name_override="bash", description_override="run a command")
    plain: Agent[Any] = Agent(name="a", model=Scripted("bash", {"command": "ls"}), tools=[tool])
    with_hooks(plain, scene.engine)
    asyncio.run(Runner.run(plain, "hi", run_config=RunConfig(tracing_disabled=True)))
    assert scene.ran == ["ls"]
    assert scene.heard == []
