"""Errors in the text of a condition, with their position."""

import difflib
import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hookline.errors import ConfigError

_SHOWN: Final = 60
# the sender of an event chooses how many names it has, and how long they are
_COMPARED: Final = 64
_DIFFERENCE: Final = 4


class BeyondError(ConfigError):
    """The text may be valid CEL, but uses more of it than Hookline supports by itself."""


def make_error(text: str, at: int, what: str) -> ConfigError:
    """Return the error for a position in the text."""
    return ConfigError(format_message(text, at, what))


def make_unsupported_error(text: str, at: int, what: str) -> BeyondError:
    """Return the error for a part of CEL that is not supported."""
    return BeyondError(format_message(text, at, what))


def format_message(text: str, at: int, what: str) -> str:
    """Return a message of one line: what is wrong, and where, with an arrow before the position."""
    line = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    before, after = text[start:at], text[at : end if end >= 0 else len(text)]
    where = f"line {line}, column {at - start + 1}" if "\n" in text else f"column {at - start + 1}"
    before = before if len(before) <= _SHOWN else f"…{before[-_SHOWN:]}"
    after = after if len(after) <= _SHOWN else f"{after[:_SHOWN]}…"
    return f"if: {what}, at {where}: {before}-->{after}"


def suggest_name(word: str, known: Iterable[object]) -> str:
    """Return ` (did you mean "…"?)` for a word that is close to a known one; only some are compared."""
    # fields of an event may have keys of any type
    near = (name for name in known if isinstance(name, str) and abs(len(name) - len(word)) <= _DIFFERENCE)
    return _find_similar(word, tuple(itertools.islice(near, _COMPARED)))


@lru_cache(maxsize=256)
def _find_similar(word: str, known: tuple[str, ...]) -> str:
    # cached: the same typo occurs at every event, and comparing takes longer than evaluating the condition
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(name.lower().replace("_", ""), name)
    close = difflib.get_close_matches(word.lower().replace("_", ""), by_plain, n=1, cutoff=0.7)
    return f' (did you mean "{by_plain[close[0]]}"?)' if close else ""
