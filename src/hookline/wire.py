"""JSON in and out: the one place that turns values into bytes and bytes into values.

`dump` never fails because of what an embedding agent put into an event: a guard that could not be asked
because a path was not UTF-8 would be a guard that did not run.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

import msgspec

# Text that is no JSON may hold many braces, and each is a place where a document could start. The budget
# bounds all attempts together, so that a megabyte of braces costs milliseconds, not minutes.
SEARCH_BUDGET: Final = 8_000_000

_scan: Final = json.JSONDecoder().raw_decode
_OBJECT_START: Final = re.compile(r"\{\s*[\"}]")


def _plain(value: object) -> object:
    """Give the JSON form of what JSON has no form for."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object's own __str__ may raise anything
        return f"<{type(value).__name__}>"


_encoder: Final = msgspec.json.Encoder(enc_hook=_plain)
_decoder: Final = msgspec.json.Decoder()


def dump(value: object) -> bytes:
    """Write one value as one line of UTF-8 JSON, without the newline."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return _encoder.encode(_clean(value, depth=100))


def load(raw: bytes | str) -> object:
    """Read one JSON document.

    Raises:
        ValueError: It is not one JSON document: broken, not UTF-8, or nested too deeply.
    """
    try:
        return _decoder.decode(raw)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None


def last_object(raw: bytes) -> tuple[dict[str, object] | None, str]:
    """Find the last complete JSON object in a program's output, and the noise around it.

    Programs print progress before their answer; the answer still counts, the noise goes to the trace.
    """
    try:
        whole = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _search(raw.decode("utf-8", "replace"))
    if isinstance(whole, dict):
        return whole, ""
    return None, raw.decode("utf-8", "replace").strip()


def _search(text: str) -> tuple[dict[str, object] | None, str]:
    place = _last_place(text)
    if place is None:
        return None, text.strip()
    # The standard library also takes NaN and lone surrogates, which no other program could read back.
    try:
        document = _decoder.decode(text[place[0] : place[1]])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None, text.strip()
    noise = (text[: place[0]].strip() + "\n" + text[place[1] :].strip()).strip()
    return document, noise


def _last_place(text: str) -> tuple[int, int] | None:
    """Say where the last complete object starts and ends."""
    found: tuple[int, int] | None = None
    budget = SEARCH_BUDGET
    match = _OBJECT_START.search(text)
    while match and budget > 0:
        start = match.start()
        try:
            _, end = _scan(text, start)
        except json.JSONDecodeError as problem:
            # the error counts lines from the very beginning, which is quick but not free
            budget -= problem.pos - start + problem.pos // 32 + 1
            end = start + 1
        except (RecursionError, ValueError):
            # too deep, or a number too long for Python: counted as if it had been read to the end
            budget -= len(text) - start
            end = start + 1
        else:
            budget -= end - start
            found = (start, end)
        match = _OBJECT_START.search(text, end)
    return found if budget > 0 else None


def _clean(value: object, *, depth: int) -> object:
    """Rebuild a value out of what JSON can carry."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case None | bool() | float():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else _clean(str(value)[:400], depth=depth)
        case Mapping() if depth:
            return {str(_clean(str(key), depth=1)): _clean(item, depth=depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset() if depth:
            return [_clean(item, depth=depth - 1) for item in value]
        case _:
            return _foreign(value)


def _foreign(value: object) -> object:
    try:
        return _decoder.decode(_encoder.encode(value))
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return str(_plain(value))[:400].encode("utf-8", "replace").decode()
