"""The tools of MCP servers: those of the user, and those of the project that the user named."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final

from hookline import EngineError
from hookline.agent.tools import AgentTool, ToolError

if TYPE_CHECKING:
    from hookline.mcp.sessions import Sessions
    from hookline.model.mcp_server import McpServer

_LISTING: Final = 30.0
_ODD: Final = re.compile(r"[^\w-]")


async def list_mcp_tools(
    sessions: "Sessions", servers: "Iterable[McpServer]", *, named: Collection[str]
) -> tuple[list[AgentTool], list[str]]:
    """Return the tools of servers, and a line for each server that is not used.

    A server that came with the project is a program of others: it is only started when the user named it.
    """
    tools: list[AgentTool] = []
    notes: list[str] = []
    for server in servers:
        if not server.is_own and server.name not in named:
            notes.append(f"the MCP server {server.name} comes with the project; --mcp {server.name} uses it")
            continue
        try:
            listed = await sessions.list_tools(server, timeout=_LISTING)
        except EngineError as problem:
            notes.append(str(problem))
            continue
        tools += [
            AgentTool(
                name=_ODD.sub("_", f"mcp__{server.name}__{tool.name}")[:64],
                canonical=f"mcp__{server.name}__{tool.name}",
                description=tool.description,
                parameters=tool.schema,
                run=_make_call(sessions, server, tool.name),
            )
            for tool in listed
        ]
    return tools, notes


def _make_call(sessions: "Sessions", server: "McpServer", tool: str) -> Callable[..., Awaitable[object]]:
    async def call(**arguments: object) -> str:
        result = await sessions.call(server, tool, arguments)
        if result.is_error:
            raise ToolError(result.text or "the tool failed")
        return result.text

    return call
