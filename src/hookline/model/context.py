"""What a prompt, a condition or a cache may name of an event: the same words for all of them."""

from collections.abc import Mapping
from typing import Final

from hookline.model.event import Event

# what is known of what a call does stands under this name
EFFECTS: Final = "effects"

_FILE: Final[Mapping[str, str]] = {"path": "path", "content": "content", "diff": "changes"}


def context_of(event: Event, *, effects: Mapping[str, object] | None = None) -> dict[str, object]:
    """Give the event's own fields, and what OLLM's document calls the context.

    `tool`, `args` and `file` are there at every event, empty where it has none, so that a condition can ask for them.
    `effects` are there for whoever has worked them out; an event cannot say them of itself.
    """
    path = event.data.get("path") or event.args.get("path")
    file = {theirs: event.data[key] for key, theirs in _FILE.items() if key in event.data}
    session = event.session
    return {
        "file": {},
        **event.data,
        "data": event.data,
        "event": {
            "type": event.native_name or str(event.name),
            "name": str(event.name),
            "timestamp": event.timestamp,
            "data": event.data,
        },
        "cwd": event.cwd,
        "session": {"id": session.id, "user": session.user, "model": session.model, "provider": session.provider},
        "agent": session.agent,
        "user": session.profile,
        **({"file": {**file, "path": path}} if path else {}),
        "tool": event.tool,
        "args": event.args,
        **(_native(event) if event.tool else {}),
        **({EFFECTS: effects} if effects is not None else {}),
    }


def _native(event: Event) -> dict[str, object]:
    return {"tool_name": event.native_tool or event.tool, "tool_args": event.args}
