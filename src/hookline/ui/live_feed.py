"""Calls as they end, for every page that is open: one reader of the trace file, and a bounded queue for each client."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import json_codec
from hookline.errors import StoreError
from hookline.stores.trace_queries import UNFINISHED, Summary, TraceFilter, TraceQueries
from hookline.ui.pages import call_to_json, mask

logger: Final = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.15
RETRY_SECONDS: Final = 2.0
SILENT_SECONDS: Final = 15.0
MOST_WAITING: Final = 2_000  # events that wait for one client
MOST_EARLIER: Final = 1_000  # events that a client gets after it was away
MOST_AT_ONCE: Final = 1_000
# A browser opens at most six connections to a server: the others are for what pages ask.
MOST_CLIENTS: Final = 4

_REPLACED: Final = b"event: replaced\ndata: {}\n\n"


class _LiveEvent(Struct, frozen=True):
    """A call that ended, the hooks it names where a client asks for that, and the text that clients get."""

    call: Summary
    hooks: frozenset[str]
    text: bytes


class _LiveClient:
    """One open page: what it wants to see, and what waits for it."""

    def __init__(self, wanted: TraceFilter) -> None:
        self.wanted = wanted
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)
        self.dropped = 0
        self.is_ended = False

    def offer(self, event: _LiveEvent) -> None:
        """Queue an event that the client wants, or count it where the client is too far behind."""
        if not self.wanted.matches(event.call, event.hooks):
            return
        try:
            self.queue.put_nowait(event.text)
        except asyncio.QueueFull:
            self.dropped += 1

    def end(self) -> None:
        """Have the stream end."""
        self.is_ended = True
        with suppress(asyncio.QueueFull):
            self.queue.put_nowait(None)

    async def take(self) -> list[bytes | None]:
        """Wait for events, and return all that wait; none after a silence."""
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                found = [await self.queue.get()]
        except TimeoutError:
            return []
        while not self.queue.empty():
            found.append(self.queue.get_nowait())
        return found


class LiveFeed:
    """Reads the calls that end, as long as a client listens."""

    def __init__(self, path: Path) -> None:
        self._traces = TraceQueries(path)
        # the one that listens longest comes first
        self._clients: list[_LiveClient] = []
        self._poller: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._last = 0
        self._is_closed = False

    async def stream(self, wanted: TraceFilter, *, after: int = 0) -> AsyncIterator[bytes]:
        """Yield server-sent events: the calls after a number, if one is given, and those that end from now on.

        Where too many clients listen, the stream of the first one ends with an event that says so.
        """
        await self._start()
        client, start = _LiveClient(wanted), self._last
        self._clients.append(client)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.pop(0).end()
        try:
            # EventSource says that it is open when the first bytes arrive
            yield b"retry: 1000\n\n"
            if after:
                yield await asyncio.to_thread(self._read_earlier, wanted, after, start)
            while not client.is_ended:
                found = await client.take()
                dropped, client.dropped = client.dropped, 0
                texts = [text for text in found if text is not None]
                if dropped:
                    texts.append(_format_dropped(dropped))
                yield b"".join(texts) or b": nothing happens\n\n"
            if not self._is_closed:
                yield _REPLACED
        finally:
            with suppress(ValueError):
                self._clients.remove(client)

    async def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for client in self._clients:
            client.end()
        if self._poller is not None:
            self._poller.cancel()
            with suppress(asyncio.CancelledError):
                await self._poller

    async def _start(self) -> None:
        async with self._starting:
            if self._poller is None or self._poller.done():
                with suppress(StoreError):
                    self._last = await asyncio.to_thread(self._traces.newest)
                self._poller = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        problem = ""
        # the first client is added right after the start
        await asyncio.sleep(0)
        while self._clients:
            has_hooks = any(client.wanted.hook for client in self._clients)
            try:
                last, found = await asyncio.to_thread(self._read, self._last, has_hooks=has_hooks)
            except StoreError as error:
                if str(error) != problem:
                    logger.warning("%s", error)
                problem = str(error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._last, problem = last, ""
            for event in found:
                for client in self._clients:
                    client.offer(event)
            if len(found) < MOST_AT_ONCE:
                await asyncio.sleep(POLL_SECONDS)

    def _read(self, after: int, *, has_hooks: bool) -> tuple[int, list[_LiveEvent]]:
        """Return the calls that ended after a number, and the number to go on from."""
        calls = self._traces.outcomes(after=after, limit=MOST_AT_ONCE)
        if not calls:
            # the file may have been removed, and numbers begin anew
            return min(after, self._traces.newest()), []
        found = [
            _LiveEvent(call, self._traces.hooks_of(call.trace) if has_hooks else frozenset(), _format_call(call))
            for call in calls
        ]
        return calls[-1].number, found

    def _read_earlier(self, wanted: TraceFilter, after: int, until: int) -> bytes:
        """Return the events that a client missed, at most so many, and how many more there were."""
        texts: list[bytes] = []
        dropped = 0
        try:
            with closing(self._traces.traces(wanted, before=until + 1)) as calls:
                for call in takewhile(lambda call: call.number > after, calls):
                    if call.decision == UNFINISHED:
                        continue
                    if len(texts) < MOST_EARLIER:
                        texts.append(_format_call(call))
                    else:
                        dropped += 1
        except StoreError as problem:
            logger.warning("%s", problem)
        return (_format_dropped(dropped) if dropped else b"") + b"".join(reversed(texts)) or b": nothing was missed\n\n"


def _format_call(call: Summary) -> bytes:
    return b"event: call\nid: %d\ndata: %s\n\n" % (call.number, json_codec.dump(mask(call_to_json(call))))


def _format_dropped(count: int) -> bytes:
    return b'event: dropped\ndata: {"count": %d}\n\n' % count
