"""Read untrusted documents: every check says what was found, where, and what was wanted."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from hookline import wire
from hookline.errors import DialectError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# 1973 in milliseconds, the year 5138 in seconds: a smaller number of a dialect that takes both is seconds
_SECONDS_BELOW: Final = 100_000_000_000
_SHOWN: Final = 80
# thirty years: anything beyond is no duration
_LONGEST: Final = 1_000_000_000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# an escaped backslash, a whole pair, or half of one; only the last is broken
_SURROGATES: Final = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_LONE: Final = 6

_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (str, "a text"),
    (int, "a number"),
    (float, "a number"),
    (dict, "an object"),
    (list, "a list"),
)


def shown(value: object) -> str:
    """Give the first characters of a value, for a message to a person."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        text = wire.dump(text).decode()
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def kind_of(value: object) -> str:
    """Name the JSON kind of a value."""
    if value is None:
        return "null"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)


def wrong(value: object, where: str, *, dialect: str, wanted: str) -> DialectError:
    """Say that a value is not what it should be."""
    return DialectError(f"expected {wanted}, got {kind_of(value)}: {shown(value)}", dialect=dialect, where=where)


def repaired(raw: bytes) -> bytes:
    """Replace bytes that are no UTF-8 and halves of surrogate pairs.

    File names need not be UTF-8 and models print half characters; programs quote both. A guard must be asked, and
    the guard that quotes the command it denies must be understood, whatever the command contains.
    """
    whole = raw.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace").encode()
    return _SURROGATES.sub(lambda match: rb"\ufffd" if len(match[0]) == _LONE else match[0], whole)


def load_object(raw: bytes, *, dialect: str) -> dict[str, object]:
    """Read one JSON object, as a host sends it.

    Raises:
        DialectError: It is no JSON, or no object.
    """
    try:
        document = wire.load(raw)
    except ValueError as problem:
        document = _load_repaired(raw, dialect=dialect, problem=str(problem))
    if not isinstance(document, dict):
        raise wrong(document, "", dialect=dialect, wanted="one JSON object")
    return document


def _load_repaired(raw: bytes, *, dialect: str, problem: str) -> object:
    try:
        return wire.load(repaired(raw))
    except ValueError:
        raise DialectError(
            f"expected one JSON object, got {shown(raw) or 'nothing'} ({problem})", dialect=dialect
        ) from None


def need_text(value: object, where: str, *, dialect: str) -> str:
    """Take a text that may not be empty."""
    if isinstance(value, str) and value:
        return value
    raise wrong(value, where, dialect=dialect, wanted="a text that is not empty")


def text(value: object, where: str, *, dialect: str) -> str:
    """Take a text, or nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise wrong(value, where, dialect=dialect, wanted="a text")


def obj(value: object, where: str, *, dialect: str) -> dict[str, object]:
    """Take an object, or nothing."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise wrong(value, where, dialect=dialect, wanted="an object")


def same(one: object, other: object) -> bool:
    """Tell whether two values are equal, however deep they are."""
    try:
        return one == other
    except RecursionError:
        return False


def to_iso(value: object) -> object:
    """Write milliseconds since the epoch as ISO 8601; what is no such number stays as it is."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    seconds, milliseconds = divmod(value, 1000)
    known = _LAST_SECOND[0]
    if known[0] != seconds:
        try:
            known = _LAST_SECOND[0] = (seconds, _second(seconds))
        except OverflowError:
            return value
    return f"{known[1]}.{str(milliseconds + 1000)[1:]}Z"


# events come many a second: one item, so that threads agree
_LAST_SECOND: Final = [(-1, "1969-12-31T23:59:59")]


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    # one session's start stands in all of its events
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")[:-6]


def from_iso(value: object, where: str, *, dialect: str) -> int:
    """Read ISO 8601, or a number of milliseconds, as milliseconds since the epoch.

    A time without a zone is taken as UTC, so that the same bytes mean the same everywhere.
    """
    if isinstance(value, str):
        return _parse_iso(value, where, dialect=dialect)
    return from_number(value, where, dialect=dialect, seconds=False)


def take_time(document: dict[str, object], key: str, *, dialect: str) -> int:
    """Take the time out of a document, as milliseconds since the epoch; 0 where there is none that can be read.

    One that we would write in another way stays in the document: a guard is asked whatever the clock says.
    """
    said = document.get(key)
    if not isinstance(said, str):
        return 0
    try:
        moment = _parse_iso(said, key, dialect=dialect)
    except DialectError:
        return 0
    if moment > 0 and to_iso(moment) == said:
        del document[key]
    return max(moment, 0)


def is_time(said: object, moment: int, *, dialect: str) -> bool:
    """Tell whether a value that stayed in a document is where a time was read from, or could not be."""
    return said is not None and take_time({"": said}, "", dialect=dialect) == moment


def _parse_iso(value: str, where: str, *, dialect: str) -> int:
    try:
        moment = datetime.fromisoformat(value)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise wrong(value, where, dialect=dialect, wanted="a time in ISO 8601") from None
    return since // timedelta(milliseconds=1)


def to_ms(seconds: object) -> object:
    """Count milliseconds; what is no number stays as it is."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not abs(seconds) < _LONGEST:
        return seconds
    milliseconds = round(float(seconds) * 1000, 6)
    return int(milliseconds) if milliseconds.is_integer() else milliseconds


def from_ms(milliseconds: object) -> object:
    """Count seconds; what is no number stays as it is."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return milliseconds
    return milliseconds / 1000 if abs(milliseconds) < _LONGEST * 1000 else milliseconds


def from_number(value: object, where: str, *, dialect: str, seconds: bool) -> int:
    """Read a number of milliseconds, or of seconds where it is small and `seconds` are taken."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, where, dialect=dialect, wanted="a time")
    if seconds and abs(value) < _SECONDS_BELOW:
        value *= 1000
    return round(value)
