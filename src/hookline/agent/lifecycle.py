"""Raise the events of model requests and tool calls where Pydantic AI has a moment for them."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from hookline import Blocked
from hookline.agent.history import describe_messages

if TYPE_CHECKING:
    from hookline.agent.conversation import Conversation


@dataclass
class Lifecycle(AbstractCapability[Any]):
    """Ask the hooks of a conversation before and after the model, before it chooses tools, and around each tool."""

    conversation: "Conversation"
    _started: float = field(default=0.0)

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Offer the model its tools, or none where a hook says so."""
        names = [self.conversation.tools[tool.name].hook_name for tool in tool_defs]
        data = {"messages": describe_messages(ctx.messages), "tools": names}
        outcome = await self.conversation.emit("before_tool_selection", data)
        return [] if outcome.blocked else tool_defs

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Compact the history where it is too long, and let hooks stop the request."""
        conversation = self.conversation
        fitted = await conversation.fit(request_context.messages)
        if fitted is not request_context.messages:
            request_context.messages = list(fitted)
            ctx.messages[:] = fitted
        data = {**self._describe(ctx), "temperature": (request_context.model_settings or {}).get("temperature")}
        outcome = await conversation.emit("before_model", data)
        if outcome.blocked:
            raise Blocked("model", outcome)
        for text in outcome.context:
            ctx.enqueue(text)
        self._started = perf_counter()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Let hooks see the answer, change its text, or stop the run."""
        del request_context
        conversation = self.conversation
        conversation.size = response.usage.input_tokens + response.usage.output_tokens
        data = {
            **self._describe(ctx),
            "response": response.text or "",
            "duration": perf_counter() - self._started,
            "tokens": response.usage.total_tokens,
        }
        outcome = await conversation.emit("after_model", data)
        if outcome.blocked:
            raise Blocked("response", outcome)
        if outcome.output is not UNSET:
            others = [part for part in response.parts if not isinstance(part, TextPart)]
            response.parts = [TextPart(str(outcome.output)), *others]
        if response.text and response.tool_calls and not conversation.is_streaming:
            conversation.view.show("text", response.text)
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a tool between its hooks; the conversation knows what to run."""
        del ctx, tool_def, args, handler
        return await self.conversation.call_tool(call.tool_name, call.args_as_dict())

    def _describe(self, ctx: RunContext[Any]) -> dict[str, object]:
        return {
            "prompt": self.conversation.prompt,
            "messages": describe_messages(ctx.messages),
            "model": self.conversation.scope.session.model,
        }
