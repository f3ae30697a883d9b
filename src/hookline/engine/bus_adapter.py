"""Connect an application's message bus to an engine."""

from collections.abc import Callable, Mapping
from typing import Final

from hookline.engine.bus import MessageBus
from hookline.engine.engine import Engine
from hookline.model.event import EVENTS, EventName
from hookline.model.verdict import Outcome

# messages of an agent to its user: they run notification hooks, and the agent does not wait
NOTIFYING: Final = ("status", "system_message", "error")


class HookEventHandler:
    """Turn messages on a bus into events for hooks.

    A topic that is an event's name is answered with the outcome. The topics in `NOTIFYING` start notification hooks
    without waiting for them; `error` does both.
    """

    def __init__(self, engine: Engine, bus: MessageBus | None = None) -> None:
        self._engine = engine
        self._bus = bus or engine.bus
        self._undo: list[Callable[[], None]] = []

    def connect(self) -> None:
        """Start listening; a second call has no effect."""
        if not self._undo:
            self._undo += [self._bus.on(name, self._answer) for name in EventName]
            self._undo += [self._bus.on(topic, self._notify) for topic in NOTIFYING]

    def disconnect(self) -> None:
        """Stop listening."""
        while self._undo:
            self._undo.pop()()

    async def _answer(self, name: str, data: object) -> Outcome:
        if data is None or isinstance(data, Mapping):
            return await self._engine.emit(name, data)
        # a bare value is the first field of the event: the prompt, the error, the message
        field = next(iter(EVENTS[EventName(name)].fields), "value")
        return await self._engine.emit(name, {field: data})

    def _notify(self, topic: str, data: object) -> None:
        text = data.get("message", data.get("error", "")) if isinstance(data, Mapping) else data
        self._engine.notify(str(text or ""), type=topic)
