"""Sessions with MCP servers, kept between calls.

All sessions live on one event loop in a thread of its own, so that one session serves every event loop of the program and
outlives each of them. A session that broke between two calls is opened again; a call is only sent again to a server
that had served an earlier call and was gone when this one came.
"""

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from hookline import caller_context, json_codec
from hookline.errors import ConfigError, McpError
from hookline.loop_thread import LoopThread
from hookline.mcp.logins import TokenStore
from hookline.model.mcp_server import McpServer, find_server_problem
from hookline.version import __version__

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp_types import CallToolResult

    from hookline.mcp.auth import TokenAuth

T = TypeVar("T")

IDLE: Final = 600.0
"""Seconds without a call after which a session is closed; the next call opens another."""
LARGEST: Final = 1_000_000
"""The longest text that a tool may return."""
TIMEOUT: Final = 60.0
CLOSING: Final = 5.0
_MOST_PAGES: Final = 20
# a server may hold a stream open
_READ_TIMEOUT: Final = 300.0
_SHOWN: Final = 300
_UNSET_HEADERS: Final = frozenset({"authorization"})

# opens the streams of a server that is a program
Connect = Callable[[], "AbstractAsyncContextManager[TransportStreams]"]


class Tool(Struct, frozen=True, kw_only=True):
    """A tool of a server; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str = ""
    schema: Mapping[str, object] = {}


class McpResult(Struct, frozen=True, kw_only=True):
    """What a tool returned: all its texts, its structured content, and whether it says that it failed.

    `sandbox` are the layers that contain the server.
    """

    text: str = ""
    structured: Mapping[str, object] | None = None
    is_error: bool = False
    notes: tuple[str, ...] = ()
    sandbox: tuple[str, ...] = ()


class Sessions:
    """Sessions with servers, by their definition."""

    def __init__(self, tokens: TokenStore | None = None) -> None:
        """Take the store of logins; without one, no login is used."""
        self._tokens = tokens
        self._guard = threading.Lock()
        self._thread: LoopThread | None = None
        self._held = _HeldSessions()

    async def list_tools(
        self, server: McpServer, *, timeout: float = TIMEOUT, connect: Connect | None = None, key: str = ""
    ) -> tuple[Tool, ...]:
        """Return the tools of a server.

        Raises:
            McpError: The server cannot be used; the message says why, and what to do.
        """
        opening = self._opening(server, connect, key)
        return await self._run(lambda held: held.use(opening, _list_tools, timeout=timeout))

    async def call(
        self,
        server: McpServer,
        tool: str,
        arguments: Mapping[str, object],
        *,
        timeout: float = TIMEOUT,
        connect: Connect | None = None,
        key: str = "",
    ) -> McpResult:
        """Call a tool, in at most `timeout` seconds. `connect` starts a server that is a program; `key` tells apart its processes.

        Raises:
            McpError: There is no such tool, or the server cannot be used; the message says why, and what to do.
        """
        opening = self._opening(server, connect, key)

        async def call_tool(session: "_HeldSession") -> McpResult:
            await session.require_tool(tool)
            return _read_result(server, await session.client.call_tool(tool, dict(arguments)))

        return await self._run(lambda held: held.use(opening, call_tool, timeout=timeout))

    async def drop(self, key: str) -> None:
        """Close the sessions with this key; the next call opens another."""
        if self._thread is not None:
            await self._run(lambda held: held.drop(key))

    async def close(self) -> None:
        """Close all sessions, and wait until their processes are gone."""
        with self._guard:
            thread, self._thread = self._thread, None
        if thread is not None and thread.is_usable:
            await asyncio.wrap_future(thread.start(self._held.close_all()))
            thread.stop()

    def _opening(self, server: McpServer, connect: Connect | None, key: str) -> "_Opening":
        if problem := find_server_problem(server):
            raise McpError(
                f'the MCP server "{server.name}" ({server.location}) cannot be used: {problem}', kind="refused"
            )
        try:
            return _Opening(server.expand(caller_context.environ()), connect, key, self._tokens)
        except ConfigError as unset:
            raise McpError(unset.message, kind="unavailable") from None

    async def _run(self, work: "Callable[[_HeldSessions], Coroutine[Any, Any, T]]") -> T:
        with self._guard:
            # a forked program has the loop, but not its thread
            if self._thread is None or not self._thread.is_usable:
                self._thread, self._held = LoopThread("hookline-mcp"), _HeldSessions()
                weakref.finalize(self, self._thread.stop).atexit = False
            thread, held = self._thread, self._held
        return await asyncio.wrap_future(thread.start(work(held)))


class _Opening(Struct, frozen=True):
    """What is needed to open a session."""

    server: McpServer
    connect: Connect | None
    key: str
    tokens: TokenStore | None

    @property
    def identity(self) -> str:
        return f"{self.key}\0{json_codec.dump(self.server.definition()).decode()}"


class _HeldSession:
    """One session: a task that holds it open, and the client that others use."""

    def __init__(self, opening: _Opening) -> None:
        self.opening = opening
        self.name = opening.server.name
        self.auth: TokenAuth | None = None
        self.has_served = False
        # how many callers wait for it, or for an answer
        self.users = 0
        self.idle: asyncio.TimerHandle | None = None
        self._client: Client | None = None
        self._tools: tuple[Tool, ...] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.get_running_loop().create_task(self._hold())

    @property
    def client(self) -> "Client":
        """The client of an open session."""
        if self._client is None:
            raise McpError(f'the MCP server "{self.name}" is not connected')
        return self._client

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return not self.task.done() and not self._stop.is_set()

    @property
    def has_opened(self) -> bool:
        """Whether the server has answered."""
        return self._client is not None

    async def wait(self) -> None:
        """Wait until the session is open."""
        await asyncio.shield(self._ready)

    def stop(self) -> None:
        """Close the session; what it holds is released by its task."""
        self._stop.set()
        if self.idle is not None:
            self.idle.cancel()
        if not self._ready.done():
            self.task.cancel()

    async def require_tool(self, name: str) -> None:
        """Check that the server has a tool.

        Raises:
            McpError: It has none of this name.
        """
        if self._tools is None:
            self._tools = await _list_tools(self)
        known = [tool.name for tool in self._tools]
        if name not in known:
            self._tools = None
            has = f"it has {', '.join(known)}"[:_SHOWN] if known else "it has none"
            raise McpError(f'the MCP server "{self.name}" has no tool "{name}"; {has}', kind="not_found")

    async def _hold(self) -> None:
        try:
            async with self._open() as client:
                self._client = client
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as problem:
            if self._ready.done():
                # the connection broke; the client fails the calls that wait for an answer
                if isinstance(problem, asyncio.CancelledError):
                    raise
                return
            is_stopped = isinstance(problem, asyncio.CancelledError)
            text = f'the MCP server "{self.name}" was closed before it answered'
            self._ready.set_exception(McpError(text) if is_stopped else _explain(problem, self))
            # retrieved here, as a caller that gave up does not
            self._ready.exception()
            if is_stopped:
                raise
        finally:
            self._stop.set()
            if self.auth is not None:
                await self.auth.close()

    @asynccontextmanager
    async def _open(self) -> "AsyncIterator[Client]":
        server = self.opening.server
        if server.url and self.opening.tokens is not None:
            from hookline.mcp.auth import TokenAuth  # noqa: PLC0415 - takes 0.15 s

            has_header = bool(_UNSET_HEADERS & {name.lower() for name in server.headers})
            self.auth = TokenAuth(self.opening.tokens, server.name, server.url, has_header=has_header)
            # the SDK takes a second to import: report a missing login before
            await self.auth.check(server.headers)
        _require_sdk()
        from mcp import Client  # noqa: PLC0415
        from mcp_types import Implementation  # noqa: PLC0415

        info = Implementation(name="hookline", version=__version__)
        async with _open_streams(self, server) as transport, Client(transport, client_info=info, cache=None) as client:
            yield client


class _HeldSessions:
    """The sessions of one thread."""

    def __init__(self) -> None:
        self._sessions: dict[str, _HeldSession] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def use(
        self, opening: _Opening, work: Callable[[_HeldSession], Coroutine[Any, Any, T]], *, timeout: float
    ) -> T:
        """Do some work in a session, which is opened if there is none; the opening counts as well."""
        session: _HeldSession | None = None
        try:
            async with asyncio.timeout(timeout):
                while True:
                    session = self._find(opening)
                    was_used = session.has_served
                    try:
                        return await self._work(session, work)
                    except McpError:
                        raise
                    except Exception as problem:
                        if not _is_broken(problem, session):
                            raise _explain(problem, session) from problem
                        self._close(session)
                        if not was_used:
                            raise _explain(problem, session) from problem
        except TimeoutError:
            if session is not None and not session.users:
                # a server that does not answer is stuck; others who still wait have a timeout of their own
                self._close(session)
            text = f'the MCP server "{opening.server.name}" gave no answer within {timeout:g} s'
            raise McpError(text, kind="timeout") from None

    async def drop(self, key: str) -> None:
        """Close the sessions with a key."""
        for session in [one for one in self._sessions.values() if one.opening.key == key]:
            self._close(session)

    async def close_all(self) -> None:
        """Close all sessions, and wait until they are closed."""
        for session in list(self._sessions.values()):
            self._close(session)
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSING)

    async def _work(self, session: _HeldSession, work: Callable[[_HeldSession], Coroutine[Any, Any, T]]) -> T:
        session.users += 1
        if session.idle is not None:
            session.idle.cancel()
        try:
            await session.wait()
            result = await work(session)
        finally:
            session.users -= 1
            if not session.users:
                session.idle = asyncio.get_running_loop().call_later(IDLE, self._close, session)
                if not session.has_opened:
                    self._close(session)
        session.has_served = True
        return result

    def _find(self, opening: _Opening) -> _HeldSession:
        session = self._sessions.get(opening.identity)
        if session is None or not session.is_open:
            session = self._sessions[opening.identity] = _HeldSession(opening)
        return session

    def _close(self, session: _HeldSession) -> None:
        if self._sessions.get(session.opening.identity) is session:
            del self._sessions[session.opening.identity]
        session.stop()
        if not session.task.done():
            self._closing.add(session.task)
            session.task.add_done_callback(self._closing.discard)


def _require_sdk() -> None:
    try:
        import mcp  # noqa: F401, PLC0415 - takes a second, which only those pay who use it
    except ImportError as problem:
        text = "MCP servers need another package: pip install 'hookline[mcp]'"
        raise McpError(f"{text} ({problem})", kind="unavailable") from None
    # what a server prints that is no message is its failure, and not a traceback on our stderr
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


@asynccontextmanager
async def _open_streams(
    session: _HeldSession, server: McpServer
) -> "AsyncIterator[AbstractAsyncContextManager[TransportStreams]]":
    """Yield the transport of a server."""
    if not server.url:
        yield session.opening.connect() if session.opening.connect is not None else _start_plain(server)
        return
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    from hookline.mcp.auth import make_client  # noqa: PLC0415 - takes 0.15 s

    async with make_client(server.url, auth=session.auth, headers=server.headers, read=_READ_TIMEOUT) as client:
        yield streamable_http_client(server.url, http_client=client)


@asynccontextmanager
async def _start_plain(server: McpServer) -> "AsyncIterator[TransportStreams]":
    """Start a program as the SDK does, with few variables beside its own."""
    from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415

    words = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd or None
    )
    with Path(os.devnull).open("w") as nothing:  # noqa: ASYNC230 - no disk is asked
        async with stdio_client(words, errlog=nothing) as streams:
            yield streams


async def _list_tools(session: _HeldSession) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await session.client.list_tools(cursor=cursor)
        tools += [Tool(name=one.name, description=one.description or "", schema=one.input_schema) for one in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(tools)


def _read_result(server: McpServer, result: "CallToolResult") -> McpResult:
    texts: list[str] = []
    others: list[str] = []
    for part in result.content:
        resource = getattr(part, "resource", None)
        text = getattr(part, "text", getattr(resource, "text", None))
        if isinstance(text, str):
            texts.append(text)
        else:
            others.append(part.type)
    whole = "\n".join(texts)
    if len(whole) > LARGEST:
        text = f'the MCP server "{server.name}" answered with more than {LARGEST} characters'
        raise McpError(text, kind="too_much_output")
    notes = (f"left out of the answer: {', '.join(sorted(set(others)))}",) if others else ()
    structured = result.structured_content
    return McpResult(
        text=whole,
        structured=structured if isinstance(structured, Mapping) else None,
        is_error=bool(result.is_error),
        notes=notes,
    )


def _is_broken(problem: BaseException, session: _HeldSession) -> bool:
    """Return whether the connection is gone, and not just one call failed."""
    from mcp import MCPError  # noqa: PLC0415
    from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415

    if not session.is_open or not isinstance(problem, MCPError):
        return True
    # a server that was started again does not know the session
    return problem.code == CONNECTION_CLOSED or "session" in problem.message.lower()


def _explain(problem: BaseException, session: _HeldSession) -> McpError:
    """Return what went wrong with a server, in words."""
    causes = list(_causes(problem))
    if session.auth is not None and session.auth.problem is not None:
        return session.auth.problem
    for cause in causes:
        if isinstance(cause, McpError):
            return cause
    server = session.opening.server
    leaf = causes[-1]
    reason = (str(leaf) or type(leaf).__name__)[:_SHOWN]
    if isinstance(leaf, FileNotFoundError):
        text = f'the program of the MCP server "{server.name}" is not there: {reason}; install it, or correct {server.location}'
        return McpError(text, kind="not_found")
    if server.url:
        return McpError(f'the MCP server "{server.name}" at {server.origin} cannot be used: {reason}')
    return McpError(f'the MCP server "{server.name}" cannot be used: {reason}')


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, those in exception groups included; the first cause comes last."""
    if problem is None:
        return
    yield problem
    if isinstance(problem, BaseExceptionGroup):
        yield from _causes(problem.exceptions[0])
    yield from _causes(problem.__cause__)
