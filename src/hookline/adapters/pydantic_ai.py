"""Hooks for agents of Pydantic AI: `Agent(…, capabilities=[Hooks(engine)])`."""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler, WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition

from hookline.adapters import call_tool, format_refusal, join_context
from hookline.engine.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import EventName, Session


@dataclass
class Hooks(AbstractCapability[Any]):
    """Give an agent all hooks: at a prompt, before and after each tool, when a tool fails, and at the end.

    A blocked tool tells the model why; a blocked prompt, or a hook that stops the run, raises `Blocked`.
    """

    engine: Engine
    _context: list[str] = field(default_factory=list)

    async def for_run(self, ctx: RunContext[Any]) -> "Hooks":  # noqa: ARG002 - the library's signature
        """Separate the context of each run."""
        return replace(self, _context=[])

    def get_instructions(self) -> Any:
        """Add the context of the prompt's hooks for the model."""
        return lambda: "\n\n".join(self._context) or None

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run the hooks of the prompt and of the end."""
        session = _session(ctx)
        prompt = ctx.prompt if isinstance(ctx.prompt, str) else str(ctx.prompt or "")
        outcome = await self.engine.emit(EventName.BEFORE_AGENT, {"prompt": prompt}, session=session)
        if outcome.blocked:
            raise Blocked("prompt", outcome)
        if context := join_context([outcome]):
            self._context.append(context)
        result = await handler()
        data = {"prompt": prompt, "response": str(result.output)}
        after = await self.engine.emit(EventName.AFTER_AGENT, data, session=session)
        if after.stopped:
            raise Blocked("response", after)
        return result

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002 - the library's signature
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a tool between its hooks, which see the arguments as the model wrote them."""
        model_args = call.args_as_dict()

        async def run(final: dict[str, object]) -> object:
            changed = {key: value for key, value in final.items() if model_args.get(key) != value}
            return await handler({**args, **changed})

        called = await call_tool(self.engine, call.tool_name, model_args, run, session=_session(ctx))
        if called.refusal:
            return format_refusal(called)
        return ToolReturn(called.result, content=called.context) if called.context else called.result


def _session(ctx: RunContext[Any]) -> Session:
    model = getattr(ctx.model, "model_name", "")
    return Session(id=ctx.conversation_id or ctx.run_id or "", model=str(model))
