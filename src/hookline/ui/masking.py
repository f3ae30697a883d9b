"""Make values of records safe to show: every text is masked and sanitized, and what is long is cut with a mark."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Final

from hookline.text import sanitize

# characters of a text, items of a list or table in the detail of a record, and levels of nesting
LONGEST: Final = 20_000
MOST_ITEMS: Final = 500
# above this level are lists of the server's own: of calls, of records, of figures
_IN_DETAIL: Final = 4
DEEPEST: Final = 16
_SHORT: Final = 300

_PLAIN: Final = (bool, int, float, type(None))


def mask(value: object, *, depth: int = 0) -> object:
    """Return a JSON value with every text in it made safe to show."""
    if isinstance(value, str):
        return _mask_short(value) if len(value) <= _SHORT else sanitize(value, longest=LONGEST, tabs=True)
    if isinstance(value, _PLAIN):
        return value
    if depth >= DEEPEST:
        return "… (nested deeper)"
    most = MOST_ITEMS if depth >= _IN_DETAIL else None
    if isinstance(value, Mapping):
        left = len(value) - MOST_ITEMS if most is not None else 0
        table = {str(mask(str(key))): mask(item, depth=depth + 1) for key, item in islice(value.items(), most)}
        return table if left <= 0 else {**table, "…": f"({left} more)"}
    if isinstance(value, list | tuple | set | frozenset):
        left = len(value) - MOST_ITEMS if most is not None else 0
        shown = [mask(item, depth=depth + 1) for item in islice(value, most)]
        return shown if left <= 0 else [*shown, f"… ({left} more)"]
    return mask(str(value))


@lru_cache(maxsize=8_192)
def _mask_short(text: str) -> str:
    # names of sessions, projects, hooks and tools come again and again
    return sanitize(text, longest=LONGEST, tabs=True)
