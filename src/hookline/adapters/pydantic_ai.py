"""Hooks for agents of Pydantic AI: `Agent(…, capabilities=[Hooks(engine)])`."""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler, WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition

from hookline.adapters._calls import call, said, told
from hookline.core.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import EventName
from hookline.model.session import Session


@dataclass
class Hooks(AbstractCapability[Any]):
    """Give an agent all hooks: at a prompt, before and after each tool, when a tool fails, and at the end.

    A blocked tool tells the model why; a blocked prompt, or a hook that wants the run to end, raises `Blocked`.
    """

    engine: Engine
    _context: list[str] = field(default_factory=list)

    async def for_run(self, ctx: RunContext[Any]) -> "Hooks":  # noqa: ARG002 - the library's signature
        """Keep what is said in one run out of all others."""
        return replace(self, _context=[])

    def get_instructions(self) -> Any:
        """Tell the model what hooks said at the prompt."""
        return lambda: "\n\n".join(self._context) or None

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Ask the hooks about the prompt, and tell them how the run ended."""
        session = _session(ctx)
        prompt = ctx.prompt if isinstance(ctx.prompt, str) else str(ctx.prompt or "")
        outcome = await self.engine.emit(EventName.BEFORE_AGENT, {"prompt": prompt}, session=session)
        if outcome.blocked:
            raise Blocked("prompt", outcome)
        if context := said([outcome]):
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
        said_by_model = call.args_as_dict()

        async def run(final: dict[str, object]) -> object:
            changed = {key: value for key, value in final.items() if said_by_model.get(key) != value}
            return await handler({**args, **changed})

        called = await _call(self.engine, call.tool_name, said_by_model, run, session=_session(ctx))
        if called.refusal:
            return told(called)
        return ToolReturn(called.result, content=called.context) if called.context else called.result


# the library calls one of the arguments by the same name
_call = call


def _session(ctx: RunContext[Any]) -> Session:
    model = getattr(ctx.model, "model_name", "")
    return Session(id=ctx.conversation_id or ctx.run_id or "", model=str(model))
