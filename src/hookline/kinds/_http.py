"""Exchanges over HTTP/1.1 on connections that are kept.

One request is under way on a connection at a time, and its answer ends with its last byte. Whatever else a server sends,
behind an answer or before it was asked again, is never taken for the answer to the next question: the connection is
closed. h11 reads and writes the messages; nothing here follows redirects, unpacks bodies or keeps cookies.
"""

import asyncio
import errno
import select
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote, urlsplit

import h11
from msgspec import Struct

from hookline import surroundings

MOST: Final = 64
"""Connections at once."""

MOST_KEPT: Final = 16
KEPT_FOR: Final = 60.0
"""Connections that wait for the next call, for each server, and the seconds they do."""

_PORTS: Final = {"http": 80, "https": 443}
# more than one answer may be long, but nobody has to hold what is not read yet
_UNREAD: Final = 262_144
# what may stand in a request line as it is; the rest is written as %XX
_AS_WRITTEN: Final = "!#$%&'()*+,/:;=?@[]~"


# Scheme, host and port, and by whose certificates the server was known: others may not trust the same.
_Place: TypeAlias = tuple[str, str, int, tuple[str, str]]


class Asked(Struct, frozen=True, kw_only=True):
    """One request."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Answer(Struct, frozen=True, kw_only=True):
    """One answer. `is_whole` is False when its body is longer than the limit, and was not read to the end."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool = True


class BrokenOff(Exception):  # noqa: N818 - says what happened
    """A connection ended too early, or what came was no HTTP; `has_begun` once any of the answer had come."""

    def __init__(self, problem: Exception, *, has_begun: bool) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.has_begun = has_begun


class _Line(asyncio.Protocol):
    """One connection to one server."""

    def __init__(self) -> None:
        self._talk = h11.Connection(h11.CLIENT)
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()
        self._has_ended = False
        self._problem: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._has_begun = False
        self.is_asked = False
        self.idle_since = 0.0

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that it is open."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what came; from somebody nobody has asked, nothing is."""
        if not self.is_asked:
            self.close()
            return
        self._has_begun = True
        self._unread += data
        if len(self._unread) > _UNREAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note that nothing more will come."""
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it is closed."""
        self._has_ended = True
        self._problem = exc
        self._wake()

    # what the pool asks

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return not self._has_ended and self._transport is not None and not self._transport.is_closing()

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come that the loop has not had the time to read: an answer before its question."""
        if self._transport is None:
            return False
        number = self._transport.get_extra_info("socket").fileno()
        if not hasattr(select, "poll"):  # Windows, where numbers have no limit for the other one
            return not select.select([number], [], [], 0)[0]
        waiting = select.poll()
        waiting.register(number, select.POLLIN)
        return not waiting.poll(0)

    def close(self) -> None:
        """Give it up, at once: nobody waits for what is still to be said."""
        self._has_ended = True
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, asked: Asked, limit: int) -> Answer:
        """Send a request and read its answer.

        Raises:
            BrokenOff: The connection ended, or what came was no HTTP.
            LocalProtocolError: The request cannot be sent as it is.
        """
        self.is_asked = True
        self._has_begun = False
        try:
            self._send(asked)
            answer = await self._read_answer(limit)
        except h11.RemoteProtocolError as problem:
            self.close()
            raise BrokenOff(problem, has_begun=self._has_begun) from problem
        except BaseException:
            self.close()
            raise
        self.is_asked = False
        self._rest(answer)
        return answer

    def _send(self, asked: Asked) -> None:
        talk = self._talk
        target, host = _target(asked.url)
        # whoever names a host of its own is asked under that name
        headers = list({"host": host, **asked.headers}.items())
        if asked.body:
            headers.append(("content-length", str(len(asked.body))))
        parts = [talk.send(h11.Request(method=asked.method, target=target, headers=headers))]
        if asked.body:
            parts.append(talk.send(h11.Data(data=asked.body)))
        parts.append(talk.send(h11.EndOfMessage()))
        if self._transport is not None:
            self._transport.write(b"".join(filter(None, parts)))

    async def _read_answer(self, limit: int) -> Answer:
        head: h11.Response | None = None
        body = bytearray()
        while True:
            event = self._talk.next_event()
            if event is h11.NEED_DATA:
                self._talk.receive_data(await self._more())
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > limit and head is not None:
                    return _answer(head, body, is_whole=False)
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _answer(head, body, is_whole=True)
            elif not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the server wants to speak something else")

    async def _more(self) -> bytes:
        """Wait for more of the answer; empty at its end."""
        while not self._unread:
            if self._has_ended:
                if not self._has_begun:
                    raise self._problem_or(h11.RemoteProtocolError("Server disconnected without sending a response."))
                if self._problem is not None:
                    raise self._problem_or(self._problem)
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._unread)
        self._unread.clear()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        return data

    def _problem_or(self, other: Exception) -> BrokenOff:
        return BrokenOff(self._problem or other, has_begun=self._has_begun)

    def _rest(self, answer: Answer) -> None:
        """Get ready for the next request; close where anything is left, or the server wants it."""
        talk = self._talk
        is_done = talk.our_state is h11.DONE and talk.their_state is h11.DONE
        # what stands behind the answer would be read as the answer to the next question
        if not answer.is_whole or not is_done or talk.trailing_data[0] or self._unread or self._has_ended:
            self.close()
            return
        talk.start_next_cycle()
        self.idle_since = asyncio.get_running_loop().time()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Pool:
    """The connections of one event loop, by server."""

    def __init__(self) -> None:
        self._idle: dict[_Place, list[_Line]] = {}
        self._turns = asyncio.Semaphore(MOST)
        self._contexts: dict[tuple[str, str], ssl.SSLContext] = {}

    async def ask(self, asked: Asked, *, limit: int) -> Answer:
        """Send a request and read its answer; once more when a kept connection was closed before anything came back.

        Raises:
            BrokenOff: The connection ended, or what came was no HTTP.
            OSError: There is no connection to the server.
            LocalProtocolError: The request cannot be sent as it is.
        """
        place = _place(asked.url)
        async with self._turns:
            line = self._kept(place)
            if line is not None:
                try:
                    return await self._over(line, place, asked, limit)
                except BrokenOff as problem:
                    if problem.has_begun:
                        raise
            return await self._over(await self._connect(place), place, asked, limit)

    async def close(self) -> None:
        """Close them all."""
        idle, self._idle = self._idle, {}
        for lines in idle.values():
            for line in lines:
                line.close()
        # asyncio takes a turn to let go of a socket
        await asyncio.sleep(0)

    def _kept(self, place: _Place) -> _Line | None:
        kept = self._idle.get(place)
        oldest = asyncio.get_running_loop().time() - KEPT_FOR
        while kept:
            line = kept.pop()
            if line.usable and line.idle_since >= oldest and line.is_silent:
                return line
            line.close()
        return None

    async def _over(self, line: _Line, place: _Place, asked: Asked, limit: int) -> Answer:
        answer = await line.exchange(asked, limit)
        if line.usable:
            kept = self._idle.setdefault(place, [])
            kept.append(line)
            if len(kept) > MOST_KEPT:
                kept.pop(0).close()
        return answer

    async def _connect(self, place: _Place) -> _Line:
        scheme, host, port, trusted = place
        context = self._context(trusted) if scheme == "https" else None
        try:
            _, line = await asyncio.get_running_loop().create_connection(
                _Line, host, port, ssl=context, server_hostname=host if context else None, happy_eyeballs_delay=0.25
            )
        except OSError as problem:
            # where a name has two addresses, asyncio puts both problems into one text, and the numbers are lost
            if problem.errno is None and f"[Errno {errno.ECONNREFUSED}]" in str(problem):
                raise ConnectionRefusedError(errno.ECONNREFUSED, str(problem)) from problem
            raise
        return line

    def _context(self, trusted: tuple[str, str]) -> ssl.SSLContext:
        """Read the certificates of those to trust once, which takes a tenth of a second."""
        context = self._contexts.get(trusted)
        if context is None:
            if len(self._contexts) >= MOST_KEPT:
                self._contexts.clear()
            context = self._contexts[trusted] = encrypted(trusted)
            context.set_alpn_protocols(["http/1.1"])
        return context


def named_authorities() -> tuple[str, str]:
    """Give the file, and the folder, with the certificates that whoever asks wants to trust instead of the usual ones."""
    here, variables = surroundings.current(), surroundings.environ()
    folder = "" if here is None else here.folder
    file, other = variables.get("SSL_CERT_FILE", ""), variables.get("SSL_CERT_DIR", "")
    # names are counted from where they are, and the file comes first, as with everybody who knows these variables
    return file and f"{Path(folder, file)}", f"{Path(folder, other)}" if other and not file else ""


def encrypted(trusted: tuple[str, str]) -> ssl.SSLContext:
    """Say whom to trust: the certificates that the library comes with, or those that are named.

    Raises:
        OSError: They cannot be read.
    """
    file, folder = trusted
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    # costs 0.15 s: only for those who encrypt
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context(trust_env=False)


def _answer(head: h11.Response, body: bytearray, *, is_whole: bool) -> Answer:
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
    reason = head.reason.decode("ascii", "replace")
    return Answer(status=head.status_code, reason=reason, headers=headers, body=bytes(body), is_whole=is_whole)


def _place(url: str) -> _Place:
    """Say where to connect to."""
    address = urlsplit(url)
    trusted = named_authorities() if address.scheme == "https" else ("", "")
    return address.scheme, address.hostname or "", address.port or _PORTS[address.scheme], trusted


def _target(url: str) -> tuple[str, str]:
    """Say what stands in the request line, and in the header that names the host."""
    address = urlsplit(url)
    path = quote(address.path or "/", safe=_AS_WRITTEN)
    host = address.hostname or ""
    host = f"[{host}]" if ":" in host else host
    if address.port not in {None, _PORTS.get(address.scheme)}:
        host = f"{host}:{address.port}"
    return (f"{path}?{quote(address.query, safe=_AS_WRITTEN)}" if address.query else path), host
