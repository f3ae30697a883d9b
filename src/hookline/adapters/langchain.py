"""Hooks for agents of LangChain: `create_agent(…, middleware=[Hooks(engine)])`."""

from collections.abc import Awaitable, Callable
from typing import Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from hookline.adapters import call_tool, format_refusal, join_context
from hookline.engine.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import EventName, Session

Answer = ToolMessage | Command[Any]


class _State(AgentState[Any]):
    """The state of a run: context of the prompt's hooks."""

    hooks_context: NotRequired[str]


class _FailedError(Exception):
    """A failed tool, raised so that its hooks run."""


class Hooks(AgentMiddleware[Any, Any, Any]):
    """Give an agent all hooks: at a prompt, before and after each tool, when a tool fails, and at the end.

    A blocked tool tells the model why; a blocked prompt ends the run with the reason as its answer; a hook that stops the
    run raises `Blocked`.
    """

    state_schema = _State

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the library's signature
        """Run the hooks of the prompt."""
        outcome = await self._engine.emit(EventName.BEFORE_AGENT, {"prompt": _text(state)}, session=_session())
        if outcome.stopped:
            raise Blocked("prompt", outcome)
        if outcome.blocked:
            return {"messages": [AIMessage(f"Blocked by a hook: {outcome.reason}")], "jump_to": "end"}
        return {"hooks_context": join_context([outcome])}

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Add the context of the prompt's hooks for the model."""
        return await handler(_with_context(request))

    async def aafter_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the library's signature
        """Run the hooks of the end."""
        outcome = await self._engine.emit(EventName.AFTER_AGENT, {"response": _text(state)}, session=_session())
        if outcome.stopped:
            raise Blocked("response", outcome)
        return None

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """Run a tool between its hooks."""
        answers: list[Answer] = []

        async def run(final: dict[str, object]) -> object:
            answer = await handler(request.override(tool_call={**request.tool_call, "args": final}))
            answers.append(answer)
            if not isinstance(answer, ToolMessage):
                return str(answer)
            if answer.status == "error":
                raise _FailedError(str(answer.content))
            return answer.content

        made = request.tool_call
        try:
            called = await call_tool(self._engine, made["name"], made["args"], run, session=_session())
        except _FailedError:
            return answers[-1]
        if called.refusal:
            return ToolMessage(format_refusal(called), tool_call_id=made["id"], name=made["name"], status="error")
        answer = answers[-1]
        if not isinstance(answer, ToolMessage):
            # the tool steers the graph: there is no text to change
            return answer
        text = f"{called.result}\n\n{called.context}" if called.context else called.result
        return answer.model_copy(update={"content": text})

    # the same for agents that are called without an event loop

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Run the hooks of the prompt."""
        return self._engine.wait_for(self.abefore_agent(state, runtime))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the context of the prompt's hooks for the model."""
        return handler(_with_context(request))

    def after_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Run the hooks of the end."""
        return self._engine.wait_for(self.aafter_agent(state, runtime))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """Run a tool between its hooks."""

        async def call_handler(changed: ToolCallRequest) -> Answer:
            return handler(changed)

        return self._engine.wait_for(self.awrap_tool_call(request, call_handler))


def _with_context(request: ModelRequest[Any]) -> ModelRequest[Any]:
    context = request.state.get("hooks_context")
    if not context:
        return request
    before = request.system_message.text if request.system_message else ""
    return request.override(system_message=SystemMessage("\n\n".join(filter(None, (before, str(context))))))


def _text(state: _State) -> str:
    messages = state["messages"]
    return str(messages[-1].text) if messages else ""


def _session() -> Session:
    try:
        configured = get_config().get("configurable", {})
    except RuntimeError:
        # called outside of a run
        return Session()
    return Session(id=str(configured.get("thread_id") or ""))
