"""The names that a configuration may use."""

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import Struct

from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.names import known_events, resolve_events
from hookline.text import quote, suggest

# dialect -> the dialect's own event name -> the canonical events it stands for
Names = Mapping[str, Mapping[str, tuple[str, ...]]]
# dialect -> canonical tool -> the dialect's own names of it
Tools = Mapping[str, Mapping[str, tuple[str, ...]]]


_CANONICAL: Final = frozenset(name.value for name in EventName)


class KnownNames(Struct, frozen=True, kw_only=True):
    """The names of all dialects, passed in because `config` does not import dialects.

    `shell_dialects` are those whose commands are shell lines unless a hook says otherwise. `tools` says how each dialect
    calls our tools.
    """

    names: Names = {}
    tools: Tools = {}
    shell_dialects: Collection[str] = ()

    def events(self, name: str, *, dialect: str) -> tuple[str, ...]:
        """Return the canonical events a name stands for; none when it is unknown."""
        own = self.names.get(dialect, {})
        if name in own:
            return own[name]
        known = name in _CANONICAL or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX))
        return (name,) if known else ()

    def events_in_any_dialect(self, name: str, *, dialect: str) -> tuple[str, ...]:
        """Return the canonical events that a name stands for: in the dialect, else in any system."""
        return self.events(name, dialect=dialect) or resolve_events(name)

    def describe_unknown_event(self, name: str, *, dialect: str) -> str:
        """Return the message for an unknown event, with the nearest known one."""
        own = self.names.get(dialect, {})
        return f"unknown event {quote(name)}{suggest(name, [*own, *_CANONICAL]) or suggest(name, known_events())}"


def canonical_tools(matcher: str, dialect: str, tools: Tools) -> tuple[str, ...]:
    """Return the tools a matcher means in our words, where it is a list of names; else nothing that could be a tool."""
    own = tools.get(dialect, {})
    bare = matcher.removeprefix("^(?:").removesuffix(")$") if matcher.startswith("^(?:") else matcher
    found: dict[str, None] = {}
    for word in (part.strip() for part in bare.split("|")):
        ours = next((tool for tool, names in own.items() if word == tool or word in names), "")
        if not ours and any(word in others for others in tools.values()):
            # our own names are understood everywhere
            ours = word
        if not ours:
            return ("", matcher)
        found[ours] = None
    return tuple(sorted(found))
