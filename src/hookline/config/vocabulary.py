"""The words a configuration may use, and the nearest right one for a wrong one."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct

from hookline.config.problem import printable
from hookline.model.event import CUSTOM_PREFIX, EventName

# dialect -> the dialect's own event name -> the canonical events it stands for
Names = Mapping[str, Mapping[str, tuple[str, ...]]]
# dialect -> canonical tool -> the dialect's own names of it
Tools = Mapping[str, Mapping[str, tuple[str, ...]]]


_CANONICAL: Final = frozenset(name.value for name in EventName)
# words of a file go into messages; a message is a line for people, not a page
_SHOWN: Final = 60


class Vocabulary(Struct, frozen=True, kw_only=True):
    """What the dialects say about names and commands; handed in, because a configuration knows no dialect.

    `shell_dialects` are those whose commands are shell lines unless a hook says otherwise. `tools` says how each dialect
    calls our tools.
    """

    names: Names = {}
    tools: Tools = {}
    shell_dialects: Collection[str] = ()

    def events(self, name: str, *, dialect: str) -> tuple[str, ...]:
        """Give the canonical events a name stands for; none when it is unknown."""
        own = self.names.get(dialect, {})
        if name in own:
            return own[name]
        known = name in _CANONICAL or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX))
        return (name,) if known else ()

    def about_unknown_event(self, name: str, *, dialect: str) -> str:
        """Say that an event does not exist, and which one was probably meant."""
        own = self.names.get(dialect, {})
        for other, names in self.names.items():
            if name in names:
                here = [native for native, events in own.items() if set(events) & set(names[name])]
                spelled = quoted(here[0] if here else names[name][0])
                return f"unknown event {quoted(name)}: that is its name in {other}, here it is {spelled}"
        return f"unknown event {quoted(name)}{hint(name, [*own, *_CANONICAL])}"


def quoted(text: str) -> str:
    """Put a word of a file into quotes, short and without characters that could forge a screen."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f'"{printable(shown)}"'


def hint(word: str, known: Iterable[str]) -> str:
    """Give ` (did you mean "…"?)` for a word that is nearly one of the known ones."""
    if len(word) > _SHOWN:
        return ""
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(_plain(name), name)
    close = difflib.get_close_matches(_plain(word), by_plain, n=1, cutoff=0.6)
    return f" (did you mean {quoted(by_plain[close[0]])}?)" if close else ""


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
