"""Take calls on a socket and answer them, as many at once as there are."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from hookline import surroundings
from hookline.bridge.call import Call
from hookline.bridge.daemon import peers, protocol
from hookline.bridge.daemon.protocol import HEAD_SIZE, STILL, ProtocolError, Request
from hookline.bridge.serving import Projects, serve
from hookline.bridge.words import understood
from hookline.model.exchange import Answer
from hookline.surroundings import Surroundings

logger: Final = logging.getLogger(__name__)

PATIENT: Final = 0.2  # seconds after which the launcher is told that it takes a while
AGAIN: Final = 5.0  # and how often it is told so then
_MEMORY: Final = 64


class Refused(Exception):  # noqa: N818 - it is said to the launcher, and nothing is wrong
    """The launcher had better do it without us."""


@lru_cache(maxsize=_MEMORY)
def _variables(block: bytes) -> Mapping[str, str]:
    """Read an environment; those of one session are all the same."""
    return protocol.variables(block)


@lru_cache(maxsize=256)
def _call(words: tuple[str, ...]) -> Call:
    call, _, wrong = understood(words)
    if call is None:
        raise Refused(wrong)
    return call


class Desk:
    """Where calls are answered, and counted."""

    def __init__(
        self, projects: Projects, *, control: Callable[[tuple[str, ...]], Answer | None], declines: Callable[[], str]
    ) -> None:
        self._projects = projects
        self._control = control
        self._declines = declines
        self.answered = 0
        self.declined = 0
        self.running: set[asyncio.Task[None]] = set()

    async def answer(self, request: Request, say: Callable[[Answer], None]) -> None:
        """Answer one call in its own surroundings; what is left to do then is done when the caller has its answer.

        Raises:
            Refused: We cannot.
        """
        if (answer := self._control(request.words)) is not None:
            say(answer)
            return
        if reason := self._declines():
            raise Refused(reason)
        call = replace(_call(request.words), raw=request.stdin)
        here = Surroundings(_variables(request.block), request.folder, umask=request.umask)
        with surroundings.entered(here):
            await serve(call, say, projects=self._projects)
        self.answered += 1

    def connected(self) -> "Caller":
        """Take a new caller."""
        return Caller(self)

    def begin(self, caller: "Caller", request: Request) -> asyncio.Task[None]:
        """Answer a caller, whoever else is being answered."""
        task = asyncio.get_running_loop().create_task(self._reply(caller, request))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    async def _reply(self, caller: "Caller", request: Request) -> None:
        try:
            await self.answer(request, lambda answer: caller.say(protocol.answered(answer)))
        except Refused as refusal:
            caller.say(self.refusal(str(refusal)))
        except Exception:
            # a caller that has no answer yet gets one from the cold path, which knows what to say if it falls over, too
            logger.exception("a call could not be answered")
            caller.say(self.refusal("a bug in hookline"))

    def refusal(self, reason: str) -> bytes:
        """Give the frame that has a launcher do it without us."""
        self.declined += 1
        return protocol.declined(reason)


class Caller(asyncio.Protocol):
    """One launcher: it says one thing, and waits."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = -1
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Look who it is."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport
        if reason := peers.objection(transport.get_extra_info("socket")):
            self.say(self._desk.refusal(reason))

    def data_received(self, data: bytes) -> None:
        """Gather the request, and answer it when all of it is there."""
        if self._task is not None or self._transport is None:
            return
        self._parts.append(data)
        self._size += len(data)
        try:
            if self._wanted < 0 and self._size >= HEAD_SIZE:
                self._parts = [b"".join(self._parts)]
                self._wanted = HEAD_SIZE + protocol.size_of(self._parts[0][:HEAD_SIZE])
            if 0 <= self._wanted <= self._size:
                body = b"".join(self._parts)
                self._parts.clear()
                self._begin(protocol.read(body[HEAD_SIZE : self._wanted]))
        except ProtocolError as problem:
            self.say(self._desk.refusal(str(problem)))

    def _begin(self, request: Request) -> None:
        self._timer = asyncio.get_running_loop().call_later(PATIENT, self._still)
        self._task = self._desk.begin(self, request)

    def _still(self) -> None:
        if self._transport is not None:
            self._transport.write(STILL)
            self._timer = asyncio.get_running_loop().call_later(AGAIN, self._still)

    def say(self, frame: bytes) -> None:
        """Give the caller its answer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.write(frame)
            self._transport.close()
            self._transport = None

    def eof_received(self) -> bool:
        """Take note that it has gone: it never says so while it waits."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop what was done for a caller that gave up: its hooks end with it."""
        del exc
        if self._timer is not None:
            self._timer.cancel()
        waited = self._transport is not None
        self._transport = None
        if waited and self._task is not None and not self._task.done():
            self._task.cancel()
