"""The process of an MCP server, started as hook processes are: contained, with approved bytes, in a group of its own.

The SDK starts programs itself, and can contain none; so it is given the streams of one that was started here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from hookline.errors import McpError
from hookline.model.exchange import Failure
from hookline.process.limits import LONG_LIVED_PERIOD, GroupWatch
from hookline.process.long_lived import start_child
from hookline.process.portable import DRAIN_SECONDS, reap, set_done, signal_group, wait_for
from hookline.process.result import (
    OUTPUT_LIMIT,
    STDERR,
    STDOUT,
    describe_limit,
    signal_name,
    start_failure_reply,
)
from hookline.process.spec import Launch

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_STDIN: Final = 0
_KEPT: Final = 2000
_MOST_WAITING: Final = 10_000


class ServerProcess(asyncio.SubprocessProtocol):
    """One process of a server, from its start until it is reaped."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._loop = asyncio.get_running_loop()
        self._line = bytearray()
        self._is_cut = False
        self._noise = bytearray()
        self._stderr = bytearray()
        self._limit: Failure | None = None
        self._has_stdout = True
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self._watch: GroupWatch | None = None
        self._received, self._messages = anyio.create_memory_object_stream[SessionMessage | Exception](_MOST_WAITING)

    def describe(self) -> str:
        """Return how it ended, and what it printed that is no message, as the end of a sentence; "" if there is nothing."""
        parts = []
        code = self._transport.get_returncode() if self._transport is not None else None
        if self._limit is not None:
            parts.append(f"it was {self._limit.message}")
        elif code is not None:
            parts.append(f"it was ended by {signal_name(-code)}" if code < 0 else f"it ended with exit code {code}")
        if noise := self._noise.decode("utf-8", "replace").strip():
            parts.append(f"it printed, and that is no message of the protocol: {noise[-_KEPT // 10 :]}")
        if stderr := self._stderr.decode("utf-8", "replace").strip():
            parts.append(f"its stderr ends with: {stderr[-_KEPT // 10 :]}")
        return "; ".join(parts)

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[TransportStreams]":
        """Start the process, yield its streams, and end it with everything that it started.

        Raises:
            McpError: It cannot be started.
        """
        spec = self.launch.spec
        writing: asyncio.Task[None] | None = None
        try:
            try:
                await start_child(spec.add_wrapper(), self)
            except (OSError, ValueError) as problem:
                failure = start_failure_reply(spec.program, spec.cwd, self.launch.display_argv, problem=problem).failure
                why = failure.message if failure is not None else str(problem)
                raise McpError(why, kind=str(failure.kind) if failure is not None else "not_found") from None
            outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
            writing = self._loop.create_task(self._write(to_send))
            with outgoing, to_send:
                yield self._messages, outgoing
        finally:
            if writing is not None:
                writing.cancel()
            # not interrupted: a process that is not waited for would be left behind
            await asyncio.shield(self._loop.create_task(self._end()))

    async def _write(self, messages: "anyio.abc.ObjectReceiveStream[SessionMessage]") -> None:
        pipe = self._transport.get_pipe_transport(_STDIN) if self._transport is not None else None
        async with messages:
            async for message in messages:
                if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
                    return
                pipe.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def _end(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is not None:
            pipe = self._transport.get_pipe_transport(_STDIN)
            if pipe is not None:
                pipe.close()
            if not self._exited.done():
                # the protocol lets a server end by itself when its stdin is closed
                await wait_for(DRAIN_SECONDS, self._exited)
                signal_group(self._transport.get_pid(), "SIGTERM")
            await reap(self._transport, self._exited, self._closed)
        self._received.close()
        self._messages.close()
        self.launch.release()

    # callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that it runs."""
        if not isinstance(transport, asyncio.SubprocessTransport):
            return
        self._transport = transport
        if (sandbox := self.launch.spec.sandbox) is not None:

            def end(limit: str) -> None:
                self._limit = describe_limit(limit, sandbox)
                signal_group(transport.get_pid(), "SIGKILL")

            self._watch = GroupWatch(transport.get_pid(), sandbox, end, period=LONG_LIVED_PERIOD)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass messages on; keep the end of everything else."""
        if fd == STDERR:
            self._stderr += data
            del self._stderr[:-_KEPT]
            return
        if self._is_cut:
            return
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = rest
        for line in filter(bytes.strip, map(bytes, lines)):
            try:
                self._received.send_nowait(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
            except ValueError:
                self._noise += line + b"\n"
                del self._noise[:-_KEPT]
            except anyio.WouldBlock:
                self._received.close()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
        if len(self._line) > OUTPUT_LIMIT:
            self._noise += b"a line of more than %d MB" % (OUTPUT_LIMIT >> 20)
            self._received.close()
            # the rest of it is not kept
            self._is_cut = True
            self._line.clear()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that there will be no more messages."""
        if fd == STDOUT:
            self._has_stdout = False
            self._finish()

    def process_exited(self) -> None:
        """Note that it ended; the rest of its output may still be on the way."""
        set_done(self._exited)
        self._finish()

    def _finish(self) -> None:
        """End the stream of messages; the other of exit code and last output has a moment to arrive."""
        if not self._has_stdout and self._exited.done():
            self._received.close()
        else:
            self._loop.call_later(DRAIN_SECONDS, self._received.close)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that everything is closed."""
        set_done(self._closed)
