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

from hookline import wire
from hookline.adapters._calls import call, said, told
from hookline.core.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import EventName
from hookline.model.session import Session

# what hooks said at the prompt, by the run it is for
_CONTEXT: WeakKeyDictionary[RunContextWrapper[Any], str] = WeakKeyDictionary()


class StoppedError(AgentsException):
    """A hook wants the whole run to end; the cause is the `Blocked` that says why. The SDK lets only its own pass."""


class _Asked:
    """The engine that is asked, and the session it is asked in."""

    def __init__(self, engine: Engine, session: Session | None) -> None:
        self.engine = engine
        self.session = session or Session(id=uuid4().hex)

    async def at_prompt(
        self, context: RunContextWrapper[Any], _agent: Agent[Any], given: str | list[TResponseInputItem]
    ) -> GuardrailFunctionOutput:
        """Ask the hooks about the prompt."""
        prompt = given if isinstance(given, str) else wire.dump(given).decode("utf-8", "replace")
        outcome = await self.engine.emit(EventName.BEFORE_AGENT, {"prompt": prompt}, session=self.session)
        if heard := said([outcome]):
            _CONTEXT[context] = heard
        return GuardrailFunctionOutput(output_info=outcome.reason, tripwire_triggered=outcome.blocked)

    async def at_end(
        self, _context: RunContextWrapper[Any], _agent: Agent[Any], output: object
    ) -> GuardrailFunctionOutput:
        """Tell the hooks how it ended; a hook that stops keeps the answer back."""
        outcome = await self.engine.emit(EventName.AFTER_AGENT, {"response": str(output)}, session=self.session)
        return GuardrailFunctionOutput(output_info=outcome.reason, tripwire_triggered=outcome.stopped)

    def around(self, tool: FunctionTool) -> FunctionTool:
        """Put a tool between its hooks."""

        async def invoke(context: ToolContext[Any], given: str) -> Any:
            async def run(final: dict[str, object]) -> object:
                return await tool.on_invoke_tool(context, wire.dump(final).decode())

            loaded = wire.load(given or "{}")
            args = loaded if isinstance(loaded, dict) else {"input": loaded}
            try:
                called = await call(self.engine, tool.name, args, run, session=self.session)
            except Blocked as blocked:
                raise StoppedError(str(blocked)) from blocked
            if called.refusal:
                return told(called)
            return f"{called.result}\n\n{called.context}" if called.context else called.result

        return replace(tool, on_invoke_tool=invoke)


@dataclass
class HookedAgent(Agent[Any]):
    """An agent whose prompts and tools, those of MCP servers among them, pass through the hooks."""

    asked: _Asked | None = None

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Give every tool between its hooks; what runs at the provider is not ours to ask about."""
        tools, asked = await super().get_all_tools(run_context), self.asked
        return [asked.around(tool) if asked and isinstance(tool, FunctionTool) else tool for tool in tools]

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        """Tell the model what hooks said at the prompt."""
        prompt = await super().get_system_prompt(run_context)
        return "\n\n".join(filter(None, (prompt, _CONTEXT.get(run_context)))) or None


def with_hooks(agent: Agent[Any], engine: Engine, *, session: Session | None = None) -> HookedAgent:
    """Give an agent, and every agent it can hand over to, all hooks.

    A blocked tool tells the model why; a blocked prompt trips a guardrail; a hook that wants the run to end raises
    `StoppedError`.
    """
    return _with_hooks(agent, _Asked(engine, session), {})


def _with_hooks(agent: Agent[Any], asked: _Asked, known: dict[int, HookedAgent]) -> HookedAgent:
    if id(agent) in known:
        # agents may hand over to each other
        return known[id(agent)]
    values = {one.name: getattr(agent, one.name) for one in fields(agent)}
    before: InputGuardrail[Any] = InputGuardrail(asked.at_prompt, name="hookline", run_in_parallel=False)
    after: OutputGuardrail[Any] = OutputGuardrail(asked.at_end, name="hookline")
    values["input_guardrails"] = [*agent.input_guardrails, before]
    values["output_guardrails"] = [*agent.output_guardrails, after]
    hooked = known[id(agent)] = HookedAgent(**{**values, "asked": asked})
    hooked.handoffs = [
        _with_hooks(other, asked, known) if isinstance(other, Agent) else other for other in agent.handoffs
    ]
    return hooked
