"""Find `{{name}}` in the texts of hooks, and look up the values of an event that the names stand for."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.model.event import Event
from hookline.model.hook import TEXT_TARGETS, Hook

TEMPLATE: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*(?:\.[\w-]+)*)[ \t]*\}\}")
# These end Go's own blocks, as in docker ps --format '{{range .Ports}}…{{end}}'.
GO_KEYWORDS: Final = frozenset(("end", "else", "break", "continue"))
_LONGEST_INDEX: Final = 9
_OF_FILES: Final = frozenset({"file", "files"})

NamePath = tuple[str, ...]


def find_marks(text: str) -> Iterator[re.Match[str]]:
    """Yield a match for each template of a text; group 1 is the name."""
    for found in TEMPLATE.finditer(text):
        if found[1] not in GO_KEYWORDS:
            yield found


def find_names(*texts: str) -> tuple[NamePath, ...]:
    """Return the names in some texts, each once, split at their dots."""
    return tuple(dict.fromkeys(tuple(found[1].split(".")) for text in texts for found in find_marks(text)))


def command_names(hook: Hook) -> tuple[NamePath, ...]:
    """Return the template names in a hook's command line."""
    return find_names(hook.command, *hook.args) if "{{" in hook.command or any("{{" in arg for arg in hook.args) else ()


def hook_names(hook: Hook) -> tuple[NamePath, ...]:
    """Return the template names in every text of a hook that is filled with values of the event."""
    return (
        *command_names(hook),
        *find_names(
            *(getattr(hook, field) for field in TEXT_TARGETS), *body_texts(hook.body), *body_texts(hook.arguments)
        ),
    )


def body_texts(body: object) -> Iterator[str]:
    """Yield every text in the body of a web request."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping | list | tuple):
        for item in body.values() if isinstance(body, Mapping) else body:
            yield from body_texts(item)


def map_texts(body: object, change: Callable[[str], object]) -> object:
    """Return a JSON value with every text in it replaced by what a function returns."""
    if isinstance(body, str):
        return change(body)
    if isinstance(body, Mapping):
        return {key: map_texts(item, change) for key, item in body.items()}
    return [map_texts(item, change) for item in body] if isinstance(body, list | tuple) else body


def look_up(values: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the value under a dotted name; None if there is none. Numbers are places in lists."""
    value: object = values
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step.isascii() and step.isdigit() and len(step) <= _LONGEST_INDEX:
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def has_value(values: Mapping[str, object], path: Sequence[str]) -> bool:
    """Return whether a name has a value; an empty list is none."""
    value = look_up(values, path)
    return value is not None and (not isinstance(value, list | tuple) or bool(value))


def describe_missing(name: str, event: Event, hook: Hook) -> str:
    """Return the message for a template without a value at an event."""
    what = f"{event.name} of {event.tool}" if event.tool else str(event.name)
    text = f"this {what} has no {{{{{name}}}}}, so the command was not run"
    if name.partition(".")[0] not in _OF_FILES:
        return text
    if hook.files or hook.writes or hook.deletes or hook.reads:
        return f"{text}: no file is known that it touches and the hook is for"
    return f"{text}; narrow the hook with `files` or `writes`"


# the values of an event

# what is known of what a call does stands under this name
EFFECTS: Final = "effects"
# and what was gathered about its place
FACTS: Final = "facts"

_FILE: Final[Mapping[str, str]] = {"path": "path", "content": "content", "diff": "changes"}


class CallFacts(Struct, frozen=True, kw_only=True):
    """What the engine found out about an event for one hook.

    `files` are the absolute paths of the files that the event is about, only those that the hook's own patterns match
    where it has any. `effects` are what the call does, as lists. `folder` is the project's.
    """

    files: tuple[str, ...] = ()
    effects: Mapping[str, object] = {}
    folder: str = ""


def template_values(event: Event, facts: CallFacts, *, absolute: bool = True) -> dict[str, object]:
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
