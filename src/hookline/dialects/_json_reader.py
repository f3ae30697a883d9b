"""Read untrusted JSON documents: every error shows the value, its path in the document and what was expected."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from hookline import json_codec
from hookline.errors import DialectError
from hookline.model.verdict import Decision

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# 1973 in milliseconds, the year 5138 in seconds: below it, a number of a dialect that accepts both counts seconds
_SECONDS_BELOW: Final = 100_000_000_000
_PREVIEW: Final = 80
# thirty years: a larger number is not a duration
_LONGEST: Final = 1_000_000_000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# an escaped backslash, a complete surrogate pair, or a lone surrogate; only the last is replaced
_SURROGATES: Final = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_LONE: Final = 6

_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (str, "a text"),
    (int, "a number"),
    (float, "a number"),
    (dict, "an object"),
    (list, "a list"),
)


def key_set(names: str) -> frozenset[str]:
    """Return the set of keys in a text, separated by blanks."""
    return frozenset(names.split())


def decision_words(text: str) -> dict[str, Decision]:
    """Return a table of words for decisions that is written as `word=decision` pairs, separated by blanks."""
    return {word: Decision[name.upper()] for word, name in (pair.split("=") for pair in text.split())}


def preview(value: object) -> str:
    """Return the first characters of a value, for an error message."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        text = json_codec.dump(text).decode()
    text = " ".join(text.split())
    return text if len(text) <= _PREVIEW else text[: _PREVIEW - 1] + "…"


def json_type(value: object) -> str:
    """Return the JSON type of a value, for an error message."""
    if value is None:
        return "null"
    return next((name for kind, name in _TYPES if isinstance(value, kind)), type(value).__name__)


def repair_utf8(raw: bytes) -> bytes:
    """Replace bytes that are not UTF-8, and lone surrogates.

    File names need not be UTF-8, models print halves of characters, and programs quote both. A guard has to run, and its
    answer has to be read, whatever the command contains.
    """
    whole = raw.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace").encode()
    return _SURROGATES.sub(lambda match: rb"\ufffd" if len(match[0]) == _LONE else match[0], whole)


def is_equal(one: object, other: object) -> bool:
    """Return whether two values are equal; values nested too deeply to compare are not."""
    try:
        return one == other
    except RecursionError:
        return False


def to_iso(value: object) -> object:
    """Write milliseconds since the epoch as ISO 8601; any other value is returned unchanged."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        moment = _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return value
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def to_ms(seconds: object) -> object:
    """Convert seconds to milliseconds; anything but a plausible number is returned unchanged."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not abs(seconds) < _LONGEST:
        return seconds
    milliseconds = round(float(seconds) * 1000, 6)
    return int(milliseconds) if milliseconds.is_integer() else milliseconds


def from_ms(milliseconds: object) -> object:
    """Convert milliseconds to seconds; anything but a plausible number is returned unchanged."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return milliseconds
    return milliseconds / 1000 if abs(milliseconds) < _LONGEST * 1000 else milliseconds


class JsonReader(Struct, frozen=True):
    """Checked access to the documents of one dialect. All methods raise `DialectError` for a value of another type."""

    dialect: str

    def error(self, value: object, where: str, *, wanted: str) -> DialectError:
        """Return the error for a value of another type."""
        message = f"expected {wanted}, got {json_type(value)}: {preview(value)}"
        return DialectError(message, dialect=self.dialect, where=where)

    def load_object(self, raw: bytes) -> dict[str, object]:
        """Parse one JSON object, with broken characters replaced if it does not parse otherwise."""
        try:
            document = json_codec.load(raw)
        except ValueError as problem:
            try:
                document = json_codec.load(repair_utf8(raw))
            except ValueError:
                message = f"expected one JSON object, got {preview(raw) or 'nothing'} ({problem})"
                raise DialectError(message, dialect=self.dialect) from None
        if not isinstance(document, dict):
            raise self.error(document, "", wanted="one JSON object")
        return document

    def require_text(self, value: object, where: str) -> str:
        """Return a text that is not empty."""
        if isinstance(value, str) and value:
            return value
        raise self.error(value, where, wanted="a text that is not empty")

    def read_text(self, value: object, where: str) -> str:
        """Return a text; null is the empty one."""
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        raise self.error(value, where, wanted="a text")

    def read_object(self, value: object, where: str) -> dict[str, object]:
        """Return an object; null is the empty one."""
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        raise self.error(value, where, wanted="an object")

    def get_text(self, document: Mapping[str, object], key: str, *, within: str = "") -> str:
        """Return the text under a key; `within` is the document's own path and a dot, for errors."""
        return self.read_text(document.get(key), within + key)

    def pop_text(self, document: dict[str, object], key: str) -> str:
        """Remove and return the text under a key."""
        return self.read_text(document.pop(key, None), key)

    def get_object(self, document: Mapping[str, object], key: str, *, within: str = "") -> dict[str, object]:
        """Return the object under a key; `within` is as for `get_text`."""
        return self.read_object(document.get(key), within + key)

    def get_flag(self, document: Mapping[str, object], key: str) -> bool | None:
        """Return the boolean under a key, None where there is none."""
        value = document.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.error(value, key, wanted="true or false")

    def read_decision(self, word: object, where: str, words: Mapping[str, Decision], *, wanted: str = "") -> Decision:
        """Return the decision that a word stands for; null stands for none."""
        if word is None:
            return Decision.PASS
        decision = words.get(word) if isinstance(word, str) else None
        if decision is None:
            raise self.error(word, where, wanted=wanted or ", ".join(words))
        return decision

    def read_time(self, value: object, where: str, *, in_seconds: bool = False) -> int:
        """Return an ISO 8601 text or a number of milliseconds as milliseconds since the epoch; null is 0.

        A time without a zone is UTC, so that the same bytes mean the same everywhere. With `in_seconds`, a small number
        counts seconds.
        """
        if value is None:
            return 0
        if isinstance(value, str):
            try:
                moment = datetime.fromisoformat(value)
                since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
            except (ValueError, OverflowError):
                raise self.error(value, where, wanted="a time in ISO 8601") from None
            return since // timedelta(milliseconds=1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(value, where, wanted="a time")
        return round(value * 1000 if in_seconds and abs(value) < _SECONDS_BELOW else value)

    def take_time(self, document: dict[str, object], key: str, *, iso: bool = True) -> int:
        """Remove and return the time under a key, 0 where there is none that can be read.

        A time that we would write differently, in ISO 8601 or else in milliseconds, stays in the document. An unreadable
        clock must not keep a guard from running.
        """
        value = document.get(key)
        try:
            moment = self.read_time(value, key)
        except DialectError:
            return 0
        if moment and value == (to_iso(moment) if iso else moment):
            del document[key]
        return moment
