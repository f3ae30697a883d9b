"""Hooks that call a tool of an MCP server.

The arguments are filled with values of the event, which stay data. JSON that the tool returns is an answer as that of a program;
any other text is context for the model.
"""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from hookline import caller_context, json_codec
from hookline.errors import ConfigError, McpError
from hookline.kinds.command.command import Command
from hookline.mcp.logins import TokenStore
from hookline.mcp.sessions import Connect, McpResult, Sessions, Tool
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, get_process_hook
from hookline.model.mcp_server import McpServer
from hookline.model.templates import (
    body_texts,
    describe_missing,
    find_marks,
    find_names,
    has_value,
    look_up,
    map_texts,
    template_values,
)
from hookline.model.verdict import Effect, EffectKind, Verdict
from hookline.shell.templates import fill
from hookline.text import sanitize

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from hookline.kinds.mcp_process import ServerProcess

_SHOWN: Final = 300
# keys of which an answer in any dialect has one; an object with none of them is just data
_ANSWER_KEYS: Final = frozenset(
    {
        *("decision", "deny", "allow", "block", "blocked", "permission", "permissionDecision", "continue", "approved"),
        *("hookSpecificOutput", "action", "verdict", "allowed", "denied", "proceed"),
    }
)


class Mcp:
    """Calls tools of MCP servers, in sessions that are kept between calls."""

    def __init__(self, command: Command, data: Path | None = None) -> None:
        """Take what starts processes, and the data folder in which the user's logins are."""
        self._command = command
        self._sessions = Sessions(TokenStore(data) if data is not None else None)
        # the processes of servers that are programs, by the key of their session
        self._processes: dict[str, ServerProcess] = {}

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot run as it is configured, or ""."""
        server, slash, tool = hook.mcp.partition("/")
        if not (server and slash and tool):
            return f'mcp is "{sanitize(hook.mcp, longest=_SHOWN)}", wanted "server/tool"'
        return hook.server.problem if hook.server is not None else ""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the tool, and read its answer."""
        if refusal := self.refusal(hook):
            return _fail(FailureKind.REFUSED, refusal)
        values = template_values(request.event, request.facts, absolute=True)
        for path in find_names(*body_texts(hook.arguments)):
            if not has_value(values, path):
                text = describe_missing(".".join(path), request.event, hook).replace("the command", "the tool")
                return _fail(FailureKind.UNAVAILABLE, text)
        arguments = {name: map_texts(item, partial(_fill, values)) for name, item in hook.arguments.items()}
        try:
            result = await self.call_tool(hook, request, arguments, timeout=timeout)
        except McpError as problem:
            return _fail(FailureKind(problem.kind), str(problem))
        except ConfigError as unset:
            return _fail(FailureKind.UNAVAILABLE, unset.message)
        return replace(_read(hook, result), sandbox=result.sandbox)

    async def call_tool(
        self, hook: Hook, request: Request, arguments: Mapping[str, object], *, timeout: float
    ) -> McpResult:
        """Call the tool that a hook names.

        Raises:
            McpError: It cannot be called.
            ConfigError: A variable of the server is not set.
        """
        server, key, connect = self._prepare(hook, request)
        tool = hook.mcp.partition("/")[2]
        try:
            result = await self._sessions.call(server, tool, arguments, timeout=timeout, connect=connect, key=key)
        except McpError as problem:
            raise self._add_detail(problem, key) from None
        process = self._processes.get(key)
        if process is None:
            return result
        if tampering := process.launch.find_tampering():
            await self._sessions.drop(key)
            raise McpError(tampering, kind="refused")
        return replace(result, sandbox=process.launch.layers)

    async def list_tools(self, hook: Hook, request: Request, *, timeout: float) -> tuple[Tool, ...]:
        """Return the tools of the server that a hook names.

        Raises:
            McpError: The server cannot be used.
            ConfigError: A variable of the server is not set.
        """
        server, key, connect = self._prepare(hook, request)
        try:
            return await self._sessions.list_tools(server, timeout=timeout, connect=connect, key=key)
        except McpError as problem:
            raise self._add_detail(problem, key) from None

    async def close(self) -> None:
        """Close the sessions, and end the processes of servers."""
        await self._sessions.close()
        self._processes.clear()

    def _prepare(self, hook: Hook, request: Request) -> tuple[McpServer, str, Connect | None]:
        """Return the server, the key of its session, and how its program is started."""
        if hook.server is None:
            name = hook.mcp.partition("/")[0]
            text = f'there is no MCP server "{name}"; `hookline mcp list` shows them, `hookline mcp add` adds one'
            raise McpError(text, kind="not_found")
        server = hook.server.expand(caller_context.environ())
        if not server.command:
            return server, "", None
        runs = get_process_hook(replace(hook, server=server))
        # a process outlives the event: of the event it gets the folder only
        bare = Request(event=request.event)
        bare.sealed = request.sealed
        sealed = hashlib.sha256()
        for path, content in sorted((request.sealed or {}).items()):
            sealed.update(f"{path}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
        folder = runs.working_directory or request.event.cwd
        parts = [server.definition(), folder, runs.containment, request.sealed is None, sealed.hexdigest()]
        key = json_codec.dump(parts).decode()
        return server, key, partial(self._start, runs, bare, key)

    def _start(self, hook: Hook, request: Request, key: str) -> "AbstractAsyncContextManager[TransportStreams]":
        from hookline.kinds.mcp_process import ServerProcess  # noqa: PLC0415 - needs the SDK

        launch = self._command.launch(hook, request)
        if isinstance(launch, Reply):
            why = launch.failure.message if launch.failure is not None else "it cannot be started"
            raise McpError(f'the MCP server "{hook.mcp.partition("/")[0]}" cannot be started: {why}', kind="not_found")
        process = self._processes[key] = ServerProcess(launch)
        return process.open()

    def _add_detail(self, problem: McpError, key: str) -> McpError:
        process = self._processes.get(key)
        detail = sanitize(process.describe(), longest=1000) if process is not None else ""
        return McpError(f"{problem}; {detail}", kind=problem.kind) if detail else problem


def _fill(values: Mapping[str, object], text: str) -> object:
    """Fill the templates of a text. One that is one template becomes the value itself, of whatever type."""
    marks = list(find_marks(text))
    if len(marks) == 1 and marks[0][0] == text:
        return look_up(values, marks[0][1].split("."))
    return fill(text, values)


def _read(hook: Hook, result: McpResult) -> Reply:
    """Return what the result of a tool means."""
    if result.is_error:
        return _fail(FailureKind.HOOK_ERROR, f"{hook.mcp} says: {sanitize(result.text, longest=_SHOWN) or 'it failed'}")
    text, structured = result.text.strip(), result.structured
    # SDKs wrap what a tool returns that is no object
    if structured is not None and set(structured) == {"result"} and not isinstance(structured["result"], Mapping):
        structured = None
    if structured is not None:
        inner = structured["result"] if set(structured) == {"result"} else structured
        return Reply(value=dict(inner) if isinstance(inner, Mapping) else inner, notes=result.notes)
    document, rest = json_codec.find_last_object(text.encode("utf-8", "replace"))
    if document is not None and not rest:
        return Reply(value=document, notes=result.notes)
    if document is not None and _ANSWER_KEYS & set(document):
        return _fail(FailureKind.INVALID_REPLY, f"{hook.mcp} has an answer between other text; only JSON is an answer")
    if document is None and text.startswith("{"):
        # as of a program that prints broken JSON
        return Reply(stdout=text.encode("utf-8", "replace"), notes=result.notes)
    effects = (Effect(EffectKind.CONTEXT, text),) if text else ()
    return Reply(value=Verdict(effects=effects, notes=result.notes))


def _fail(kind: FailureKind, message: str) -> Reply:
    return Reply(failure=Failure(kind, message), exit_code=1)
