"""Hooks for agents of the OpenAI Agents SDK: `agent = with_hooks(agent, engine)`."""

from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from agents import (
    Agent,
    AgentsException,
    FunctionTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    OutputGuardrail,
    RunContextWrapper,
    Tool,
    TResponseInputItem,
)
from agents.tool_context import ToolContext

from hookline import json_codec
from hookline.adapters import call_tool, format_refusal, join_context
from hookline.engine.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import EventName, Session

# context of the prompt's hooks, by run
_CONTEXT: WeakKeyDictionary[RunContextWrapper[Any], str] = WeakKeyDictionary()


class StoppedError(AgentsException):
    """A hook stops the whole run; the cause is the `Blocked` with the reason. The SDK lets only its own exceptions pass."""


class _HookSession:
    """An engine, and the session that its events belong to."""

    def __init__(self, engine: Engine, session: Session | None) -> None:
        self.engine = engine
        self.session = session or Session(id=uuid4().hex)

    async def at_prompt(
        self, context: RunContextWrapper[Any], _agent: Agent[Any], given: str | list[TResponseInputItem]
    ) -> GuardrailFunctionOutput:
        """Run the hooks of the prompt."""
        prompt = given if isinstance(given, str) else json_codec.dump(given).decode("utf-8", "replace")
        outcome = await self.engine.emit(EventName.BEFORE_AGENT, {"prompt": prompt}, session=self.session)
        if texts := join_context([outcome]):
            _CONTEXT[context] = texts
        return GuardrailFunctionOutput(output_info=outcome.reason, tripwire_triggered=outcome.blocked)

    async def at_end(
        self, _context: RunContextWrapper[Any], _agent: Agent[Any], output: object
    ) -> GuardrailFunctionOutput:
        """Run the hooks of the end; a hook that stops withholds the answer."""
        outcome = await self.engine.emit(EventName.AFTER_AGENT, {"response": str(output)}, session=self.session)
        return GuardrailFunctionOutput(output_info=outcome.reason, tripwire_triggered=outcome.stopped)

    def wrap(self, tool: FunctionTool) -> FunctionTool:
        """Return a tool that runs between its hooks."""

        async def invoke(context: ToolContext[Any], given: str) -> Any:
            async def run(final: dict[str, object]) -> object:
                return await tool.on_invoke_tool(context, json_codec.dump(final).decode())

            loaded = json_codec.load(given or "{}")
            args = loaded if isinstance(loaded, dict) else {"input": loaded}
            try:
                called = await call_tool(self.engine, tool.name, args, run, session=self.session)
            except Blocked as blocked:
                raise StoppedError(str(blocked)) from blocked
            if called.refusal:
                return format_refusal(called)
            return f"{called.result}\n\n{called.context}" if called.context else called.result

        return replace(tool, on_invoke_tool=invoke)


@dataclass
class HookedAgent(Agent[Any]):
    """An agent whose prompts and tools, those of MCP servers among them, pass through the hooks."""

    hook_session: _HookSession | None = None

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return every tool wrapped by its hooks; tools that run at the provider cannot be wrapped."""
        tools, session = await super().get_all_tools(run_context), self.hook_session
        return [session.wrap(tool) if session and isinstance(tool, FunctionTool) else tool for tool in tools]

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        """Add the context of the prompt's hooks for the model."""
        prompt = await super().get_system_prompt(run_context)
        return "\n\n".join(filter(None, (prompt, _CONTEXT.get(run_context)))) or None


def with_hooks(agent: Agent[Any], engine: Engine, *, session: Session | None = None) -> HookedAgent:
    """Give an agent, and every agent it can hand over to, all hooks.

    A blocked tool tells the model why; a blocked prompt trips a guardrail; a hook that stops the run raises
    `StoppedError`.
    """
    return _with_hooks(agent, _HookSession(engine, session), {})


def _with_hooks(agent: Agent[Any], hooks: _HookSession, known: dict[int, HookedAgent]) -> HookedAgent:
    if id(agent) in known:
        # agents may hand over to each other
        return known[id(agent)]
    values = {item.name: getattr(agent, item.name) for item in fields(agent)}
    before: InputGuardrail[Any] = InputGuardrail(hooks.at_prompt, name="hookline", run_in_parallel=False)
    after: OutputGuardrail[Any] = OutputGuardrail(hooks.at_end, name="hookline")
    values["input_guardrails"] = [*agent.input_guardrails, before]
    values["output_guardrails"] = [*agent.output_guardrails, after]
    hooked = known[id(agent)] = HookedAgent(**{**values, "hook_session": hooks})
    hooked.handoffs = [
        _with_hooks(other, hooks, known) if isinstance(other, Agent) else other for other in agent.handoffs
    ]
    return hooked
