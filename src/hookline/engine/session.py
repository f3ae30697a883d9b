"""One session of an agent, from its start to its end."""

from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING, Self, Unpack

from msgspec.structs import replace

from hookline.engine.event_factory import EventOptions
from hookline.engine.tool_call import OnOutcome, Permit, Tool, prepare_skill, run_tool
from hookline.errors import Blocked
from hookline.model.event import EventName, Session
from hookline.model.verdict import Outcome

if TYPE_CHECKING:
    from hookline.engine.engine import Engine


class SessionScope:
    """Emit the start and the end of a session, and every event in between as part of it.

    `message_count` counts prompts and responses by itself; set it when the agent counts otherwise. `source` says how it
    began, `summary` is what the hooks at its end get to know of it, and `host` names the agent in traces.
    Where `only` names events, no others are raised: an agent may keep those of its subagents to itself.
    """

    def __init__(self, engine: "Engine", session: Session, *, cwd: str = "", host: str = "") -> None:
        self._engine = engine
        self.cwd = cwd
        self._host = host
        self.session = session
        self.message_count = 0
        self.summary: dict[str, object] = {}
        self.source = "startup"
        self.only: frozenset[str] | None = None
        self.start: Outcome | None = None

    async def __aenter__(self) -> Self:
        self.session = replace(self.session, started=int(time() * 1000))
        self.start = await self.emit(EventName.SESSION_START, {"source": self.source})
        if self.start.blocked:
            raise Blocked("session", self.start)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, *_trace: object) -> None:
        # notifications that are still on their way belong to the session
        await self._engine.drain()
        ended = int(time() * 1000)
        data: dict[str, object] = {
            "reason": "error" if error is not None else "finished",
            "ended": ended,
            "duration": (ended - self.session.started) / 1000,
            "message_count": self.message_count,
            **({"summary": self.summary} if self.summary else {}),
        }
        await self.emit(EventName.SESSION_END, data)
        await self._engine.drain()

    async def emit(
        self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]
    ) -> Outcome:
        """Emit an event of this session; see `Engine.emit`."""
        if self.only is not None and self._engine.resolve(name) not in self.only:
            return Outcome()
        if self._engine.resolve(name) in {EventName.BEFORE_AGENT, EventName.AFTER_AGENT}:
            self.message_count += 1
        options["session"], options["cwd"], options["host"] = self.session, self.cwd, self._host
        return await self._engine.emit(name, data, **options)

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, object],
        function: Tool,
        *,
        on_outcome: OnOutcome | None = None,
        permit: Permit | None = None,
    ) -> object:
        """Run a tool between its hooks; see `Engine.call_tool`.

        `permit` decides about a call that the hooks before it did not block: it returns the arguments, or raises `Blocked`.
        """
        return await run_tool(self.emit, name, args, function, on_outcome=on_outcome, permit=permit)

    async def skill(
        self, name: str, parameters: Mapping[str, object] | None = None, *, on_outcome: OnOutcome | None = None
    ) -> Mapping[str, object]:
        """Run the hooks of a skill, and return its parameters as they prepared them; see `Engine.skill`."""
        return await prepare_skill(self.emit, name, parameters or {}, on_outcome=on_outcome)

    def for_subagent(self, id: str, type: str, *, only: frozenset[str] | None = None) -> "SessionScope":  # noqa: A002 - the event's words
        """Return the scope of a subagent of this session: its events carry `session.agent`.

        Emit `subagent_start` and `subagent_stop` on this scope, and what the subagent does on the new one. With `only`, no
        other events are raised there.
        """
        scope = SessionScope(
            self._engine, replace(self.session, agent={"id": id, "type": type}), cwd=self.cwd, host=self._host
        )
        scope.only = only
        return scope

    def notify(self, message: str, *, type: str = "status") -> None:  # noqa: A002 - the event's own word
        """Send a notification to hooks without waiting for them."""
        if self.only is not None and EventName.NOTIFICATION not in self.only:
            return
        self._engine.notify(message, type=type, session=self.session, cwd=self.cwd, host=self._host)
