"""Hooks for agents written in Python: one module for each library, each an extra of its own.

Here is what all of them share: run a tool between its hooks, and format the result for the model.
"""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from hookline.engine.engine import Engine
from hookline.errors import Blocked
from hookline.model.event import Session
from hookline.model.verdict import Outcome

Run = Callable[[dict[str, object]], Awaitable[object]]


class ToolResult(Struct, frozen=True):
    """The result of a tool, or the reason of a refusal; and context of hooks for the model."""

    result: object
    refusal: str
    context: str


async def call_tool(engine: Engine, name: str, args: Mapping[str, object], run: Run, *, session: Session) -> ToolResult:
    """Run a tool between its hooks.

    Raises:
        Blocked: A hook stops the whole run. Exceptions of the tool pass through.
    """
    outcomes: list[Outcome] = []

    async def tool(**final: object) -> object:
        return await run(final)

    try:
        result, refusal = await engine.call_tool(name, args, tool, session=session, on_outcome=outcomes.append), ""
    except Blocked:
        # the last outcome is the one that blocked
        if outcomes[-1].stopped:
            raise
        result, refusal = None, outcomes[-1].reason
    return ToolResult(result, refusal, join_context(outcomes))


def join_context(outcomes: list[Outcome]) -> str:
    """Return all texts of hooks for the model; follow-ups are among them, because an adapter has no later moment."""
    return "\n\n".join(text for outcome in outcomes for text in (*outcome.context, *outcome.follow_ups) if text)


def format_refusal(called: ToolResult) -> str:
    """Return the text of a refusal for the model."""
    return "\n\n".join(filter(None, (f"Blocked by a hook: {called.refusal}", called.context)))
