"""What a prompt, a condition or a cache may name of an event: the same words for all of them."""

from collections.abc import Mapping
from typing import Final

from hookline.model.event import Event

_FILE: Final[Mapping[str, str]] = {"path": "path", "content": "content", "diff": "changes"}


def context_of(event: Event) -> dict[str, object]:
    """Give the event's own fields, and what OLLM's document calls the context."""
    path = event.data.get("path") or event.args.get("path")
    file = {theirs: event.data[key] for key, theirs in _FILE.items() if key in event.data}
    session = event.session
    return {
        **event.data,
        "event": {"type": event.native_name or event.name, "timestamp": event.timestamp, "data": event.data},
        "cwd": event.cwd,
        "session": {"id": session.id, "user": session.user, "model": session.model, "provider": session.provider},
        "agent": session.agent,
        "user": session.profile,
        **({"file": {**file, "path": path}} if path else {}),
        **(_tool(event) if event.tool else {}),
    }


def _tool(event: Event) -> dict[str, object]:
    name = event.native_tool or event.tool
    return {"tool": event.tool, "tool_name": name, "args": event.args, "tool_args": event.args}
