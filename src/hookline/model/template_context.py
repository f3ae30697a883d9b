"""The values of an event that templates, conditions and caches may name."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from hookline.model.event import Event

if TYPE_CHECKING:
    from hookline.model.exchange import CallFacts

# what is known of what a call does stands under this name
EFFECTS: Final = "effects"
# and what was gathered about its place
FACTS: Final = "facts"

_FILE: Final[Mapping[str, str]] = {"path": "path", "content": "content", "diff": "changes"}


def template_values(event: Event, facts: "CallFacts", *, absolute: bool = True) -> dict[str, object]:
    """Return what templates may name: the context, `files` and `project`.

    The path of the file is `absolute`, so that it holds in every folder, or as the event has it.
    """
    context = event_context(event, effects=facts.effects)
    file = context["file"]
    if facts.files and isinstance(file, Mapping) and (absolute or "path" not in file):
        context["file"] = {**file, "path": facts.files[0]}
    # an event that no agent raised has no agent's name
    context["agent"] = context["agent"] or "agent"
    return {**context, "files": list(facts.files), "project": os.path.basename(facts.folder)}  # noqa: PTH119 - a text


def event_context(event: Event, *, effects: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the event's own fields, and what OLLM's document calls the context.

    `tool`, `args` and `file` are there at every event, empty where it has none, so that a condition can ask for them.
    `effects` are computed by the caller; an event does not carry them.
    """
    path = (event.files[0] if event.files else "") or event.data.get("path") or event.args.get("path")
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
        # what a session says of its agent is more than the agent's name
        "agent": session.agent or event.host,
        "user": session.profile,
        **({"file": {**file, "path": path}} if path else {}),
        "tool": event.tool,
        "args": event.args,
        **({"tool_name": event.native_tool or event.tool, "tool_args": event.args} if event.tool else {}),
        **({EFFECTS: effects} if effects is not None else {}),
        **({FACTS: event.facts} if event.facts is not None else {}),
    }
