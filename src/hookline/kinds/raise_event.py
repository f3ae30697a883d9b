"""Hooks that raise another event: no program at all, only a word to whoever listens to it."""

from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict


class RaiseEvent:
    """Turn an event into one that an extension, or a person, gave a name."""

    def refusal(self, hook: Hook) -> str:
        """Say why this hook cannot raise what it names: without a program it has nothing to say in other events."""
        if hook.raises.startswith(CUSTOM_PREFIX) and hook.raises != CUSTOM_PREFIX:
            return ""
        named = hook.raises.removeprefix(CUSTOM_PREFIX) or "NAME"
        return f'hook "{hook.id}" cannot raise "{hook.raises}", only events of your own: "{CUSTOM_PREFIX}{named}"'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nobody is waited for
        """Ask for the event, which carries the first one."""
        return Reply(value=Verdict.raise_event(hook.raises, carried(request.event, hook)))

    async def close(self) -> None:
        """Give back nothing: nothing is kept."""


def carried(event: Event, hook: Hook) -> dict[str, object]:
    """Say what a raised event tells of the first one: all of it, and which hook raised it."""
    payload: dict[str, object] = {"event": str(event.name), "data": dict(event.data)}
    if event.tool:
        payload |= {"tool": event.tool, "args": dict(event.args)}
    return {"payload": payload, "source": hook.id}
