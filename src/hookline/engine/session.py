"""One session of an agent, from its start to its end."""

from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING, Self, Unpack

from msgspec.structs import replace

from hookline.engine.event_factory import EventOptions
from hookline.engine.tool_call import OnOutcome, Tool
from hookline.errors import Blocked
from hookline.model.event import EventName, Session
from hookline.model.verdict import Outcome

if TYPE_CHECKING:
    from hookline.engine.engine import Engine


class SessionScope:
    """Emit the start and the end of a session, and every event in between as part of it.

    `message_count` counts prompts and responses by itself; set it when the agent counts otherwise.
    """

    def __init__(self, engine: "Engine", session: Session, *, cwd: str = "") -> None:
        self._engine = engine
        self._cwd = cwd
        self.session = session
        self.message_count = 0
        self.start: Outcome | None = None

    async def __aenter__(self) -> Self:
        self.session = replace(self.session, started=int(time() * 1000))
        self.start = await self.emit(EventName.SESSION_START, {"source": "startup"})
        if self.start.blocked:
            raise Blocked("session", self.start)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, *_trace: object) -> None:
        ended = int(time() * 1000)
        data: dict[str, object] = {
            "reason": "error" if error is not None else "finished",
            "ended": ended,
            "duration": (ended - self.session.started) / 1000,
            "message_count": self.message_count,
        }
        await self.emit(EventName.SESSION_END, data)
        await self._engine.drain()

    async def emit(
        self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]
    ) -> Outcome:
        """Emit an event of this session; see `Engine.emit`."""
        if self._engine.resolve(name) in {EventName.BEFORE_AGENT, EventName.AFTER_AGENT}:
            self.message_count += 1
        options["session"], options["cwd"] = self.session, self._cwd
        return await self._engine.emit(name, data, **options)

    async def call_tool(
        self, name: str, args: Mapping[str, object], function: Tool, *, hear: OnOutcome | None = None
    ) -> object:
        """Run a tool between its hooks; see `Engine.call_tool`."""
        return await self._engine.call_tool(name, args, function, session=self.session, cwd=self._cwd, hear=hear)

    async def skill(
        self, name: str, parameters: Mapping[str, object] | None = None, *, hear: OnOutcome | None = None
    ) -> Mapping[str, object]:
        """Run the hooks of a skill, and return its parameters as they prepared them; see `Engine.skill`."""
        return await self._engine.skill(name, parameters, session=self.session, cwd=self._cwd, hear=hear)

    def notify(self, message: str, *, type: str = "status") -> None:  # noqa: A002 - the event's own word
        """Send a notification to hooks without waiting for them."""
        self._engine.notify(message, type=type, session=self.session, cwd=self._cwd)
