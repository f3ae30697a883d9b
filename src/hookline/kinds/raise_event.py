"""Hooks that raise another event, without a program."""

from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict


class RaiseEvent:
    """Turns an event into a custom event."""

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot raise the event it names, or "": without a program it can only raise custom events."""
        if hook.raises.startswith(CUSTOM_PREFIX) and hook.raises != CUSTOM_PREFIX:
            return ""
        named = hook.raises.removeprefix(CUSTOM_PREFIX) or "NAME"
        return f'hook "{hook.id}" cannot raise "{hook.raises}", only events of your own: "{CUSTOM_PREFIX}{named}"'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nothing is awaited
        """Raise the event, which carries the first one."""
        return Reply(value=Verdict.raise_event(hook.raises, build_payload(request.event, hook)))

    async def close(self) -> None:
        """Release nothing: an event holds no resources."""


def build_payload(event: Event, hook: Hook) -> dict[str, object]:
    """Return the data of the raised event: all of the first one, and the hook that raises it."""
    payload: dict[str, object] = {"event": str(event.name), "data": dict(event.data)}
    if event.tool:
        payload |= {"tool": event.tool, "args": dict(event.args)}
    return {"payload": payload, "source": hook.id}
