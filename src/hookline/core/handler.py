"""Between an application's message bus and the hooks."""

from collections.abc import Callable, Mapping
from typing import Final

from hookline.core.bus import MessageBus
from hookline.core.engine import Engine
from hookline.model.event import EVENTS, EventName
from hookline.model.verdict import Outcome

# what an agent says to its person; hooks hear of it, and the agent does not wait for them
NOTIFYING: Final = ("status", "system_message", "error")


class HookEventHandler:
    """Turn what is emitted on a bus into events for hooks.

    A topic that is an event's name is answered with the outcome. The topics in `NOTIFYING` trigger
    notification hooks and never keep the emitter waiting; `error` does so besides being an event.
    """

    def __init__(self, engine: Engine, bus: MessageBus | None = None) -> None:
        self._engine = engine
        self._bus = bus or engine.bus
        self._undo: list[Callable[[], None]] = []

    def connect(self) -> None:
        """Start listening; twice is once."""
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
        # a bare value is the first thing the event is about: the prompt, the error, the message
        field = next(iter(EVENTS[EventName(name)].fields), "value")
        return await self._engine.emit(name, {field: data})

    def _notify(self, topic: str, data: object) -> None:
        text = data.get("message", data.get("error", "")) if isinstance(data, Mapping) else data
        self._engine.notify(str(text or ""), type=topic)
