"""What is wrong with the text of a condition, with the place in it."""

import difflib
import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hookline.errors import ConfigError

_SHOWN: Final = 60
# whoever sends an event says how many names it has, and how long they are
_COMPARED: Final = 64
_DIFFERENCE: Final = 4


class BeyondError(ConfigError):
    """A text that may well be CEL, but uses more of it than Hookline reads by itself."""


def wrong(text: str, at: int, what: str) -> ConfigError:
    """Make the error for what stands at a position."""
    return ConfigError(placed(text, at, what))


def beyond(text: str, at: int, what: str) -> BeyondError:
    """Make the error for a part of CEL that is not read here."""
    return BeyondError(placed(text, at, what))


def placed(text: str, at: int, what: str) -> str:
    """Say what is wrong, then where, with an arrow before the place; all in one line, as problems are told."""
    line = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    before, after = text[start:at], text[at : end if end >= 0 else len(text)]
    where = f"line {line}, column {at - start + 1}" if "\n" in text else f"column {at - start + 1}"
    return f"if: {what}, at {where}: {_end_of(before)}-->{_beginning_of(after)}"


def _end_of(text: str) -> str:
    return text if len(text) <= _SHOWN else f"…{text[-_SHOWN:]}"


def _beginning_of(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def hint(word: str, known: Iterable[object]) -> str:
    """Give ` (did you mean "…"?)` for a word that is nearly one of the known ones; only some are looked at."""
    # a program may give its events fields of any type
    near = (name for name in known if isinstance(name, str) and abs(len(name) - len(word)) <= _DIFFERENCE)
    return _hint(word, tuple(itertools.islice(near, _COMPARED)))


@lru_cache(maxsize=256)
def _hint(word: str, known: tuple[str, ...]) -> str:
    # the same slip is made at every event, and to compare takes longer than to ask the condition
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(name.lower().replace("_", ""), name)
    close = difflib.get_close_matches(word.lower().replace("_", ""), by_plain, n=1, cutoff=0.7)
    return f' (did you mean "{by_plain[close[0]]}"?)' if close else ""
