"""What all adapters share: a tool between its hooks, and what the model is told of it."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from hookline.core.engine import Engine
from hookline.errors import Blocked
from hookline.model.session import Session
from hookline.model.verdict import Outcome

Run = Callable[[dict[str, object]], Awaitable[object]]


class Called(Struct, frozen=True):
    """What came of a call: the tool's result, or the reason why there is none; and what the model is to know besides."""

    result: object
    refusal: str
    context: str


async def call(engine: Engine, name: str, args: Mapping[str, object], run: Run, *, session: Session) -> Called:
    """Run a tool between its hooks.

    Raises:
        Blocked: A hook wants the whole run to end. What the tool itself raises passes through.
    """
    heard: list[Outcome] = []

    async def tool(**final: object) -> object:
        return await run(final)

    try:
        result, refusal = await engine.call_tool(name, args, tool, session=session, hear=heard.append), ""
    except Blocked:
        # what blocked it was heard last
        if heard[-1].stopped:
            raise
        result, refusal = None, heard[-1].reason
    return Called(result, refusal, said(heard))


def said(heard: list[Outcome]) -> str:
    """Give everything hooks said for the model; a wish for later is said now, because there is no later."""
    return "\n\n".join(text for outcome in heard for text in (*outcome.context, *outcome.follow_ups) if text)


def told(called: Called) -> str:
    """Say a refusal to the model."""
    return "\n\n".join(filter(None, (f"Blocked by a hook: {called.refusal}", called.context)))
