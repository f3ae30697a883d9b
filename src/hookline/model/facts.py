"""The facts that a hook may ask for, and where its texts name them."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hookline.text import suggest

# name of a fact -> its fields; the diff is a text
FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "git": ("branch", "root", "status", "changed", "staged", "untracked", "last_commit"),
    "transcript": ("path", "messages"),
    "diff": (),
}
# what could not be had, beside the facts
NOTES: Final = "notes"
_NAMED: Final = re.compile(r"(?<![\w.])facts\.(\w+)(?:\.(\w+)(?!\w*\())?")


class FactError(Exception):
    """A fact cannot be had."""


def find_named_facts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the facts that conditions and templates name, in the order of the table.

    Raises:
        ValueError: There is no such fact.
    """
    named = {path for text in texts if "facts." in text for path in _NAMED.findall(text)}
    for name, field in sorted(named):
        fields = FACTS.get(name, ())
        if field and fields and field not in fields:
            raise ValueError(f'facts.{name} has no "{field}"{suggest(field, fields)}; it has {", ".join(fields)}')
    return read_facts({name for name, _ in named} - {NOTES})


def read_facts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of facts, each once, in the order of the table.

    Raises:
        ValueError: There is no such fact.
    """
    given = set(names)
    for name in sorted(given - FACTS.keys()):
        raise ValueError(f'there is no fact "{name}"{suggest(name, FACTS)}; there are {", ".join(FACTS)}')
    return tuple(name for name in FACTS if name in given)
