"""The JSON codec: values to bytes and back.

`dump` never fails because of what an embedding agent put into an event: a guard that could not be asked because a path was not
UTF-8 would be a guard that did not run.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

# Text that is no JSON may hold many braces, and a document could start at each. The budget bounds all attempts together, so that
# a megabyte of braces costs milliseconds, not minutes.
SEARCH_BUDGET: Final = 8_000_000

# limits of a value, beyond which the rest of it is left out
_NODES: Final = 200_000
_DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 1024

# longest answer, in lines, that `_find_last_lines` looks for
_LINES: Final = 200

_OBJECT_START: Final = re.compile(r"\{\s*[\"}]")


def _to_plain(value: object) -> object:
    """Return a JSON form of a value that JSON has no form for."""
    if isinstance(value, Mapping):
        return dict(value)
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object's own __str__ may raise anything
        return f"<{type(value).__name__}>"


_encoder: Final = msgspec.json.Encoder(enc_hook=_to_plain)
_decoder: Final = msgspec.json.Decoder()


def dump(value: object) -> bytes:
    """Return one value as one line of UTF-8 JSON, without the newline."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return _encoder.encode(_Cleaner().clean(value))


class Payload(bytes):
    """A JSON document as bytes that is parsed once: `peek` shows the parsed document, and the first `load` takes it.

    A document that was taken may be changed by its new owner, so that the next `peek` or `load` parses again.
    """

    _document: object = None


def peek(raw: bytes) -> object:
    """Return the document of a payload without taking it; not to be changed.

    Raises:
        ValueError: See `load`.
    """
    if not isinstance(raw, Payload):
        return load(raw)
    if raw._document is None:  # noqa: SLF001 - of this module
        raw._document = _parse(raw)  # noqa: SLF001
    return raw._document  # noqa: SLF001


def load(raw: bytes | str) -> object:
    """Parse one JSON document.

    Raises:
        ValueError: It is not one JSON document: broken, not UTF-8, or nested too deeply.
    """
    if isinstance(raw, Payload) and raw._document is not None:  # noqa: SLF001 - of this module
        document, raw._document = raw._document, None  # noqa: SLF001
        return document
    return _parse(raw)


def _parse(raw: bytes | str) -> object:
    try:
        return _decoder.decode(raw)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None


def find_last_object(raw: bytes) -> tuple[dict[str, object] | None, str]:
    """Return the last complete JSON object in a program's output, and the noise around it.

    Programs print progress before their answer; the answer still counts, the noise goes to the trace.
    """
    try:
        whole = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = raw.decode("utf-8", "replace")
    else:
        return (whole, "") if isinstance(whole, dict) else (None, raw.decode("utf-8", "replace").strip())
    span = _find_last_lines(text) or _find_last_span(text)
    if span is None:
        return None, text.strip()
    try:
        # as Python's json writes it: NaN and Infinity become null
        value = json.loads(text[span[0] : span[1]], parse_constant=lambda _: None)
        document = _decoder.decode(_encoder.encode(value))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return None, text.strip()
    return document, (text[: span[0]].strip() + "\n" + text[span[1] :].strip()).strip()


def _find_last_lines(text: str) -> tuple[int, int] | None:
    """Return the span of an object that begins a line and ends the text: no noise before it may hide an answer."""
    end = len(text.rstrip())
    start = end
    for _ in range(_LINES):
        start = text.rfind("\n", 0, start) if start > 0 else -1
        begin = start + 1
        if text.startswith("{", begin):
            with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                _decoder.decode(text[begin:end])
                return begin, end
        if start < 0:
            break
    return None


def _find_last_span(text: str) -> tuple[int, int] | None:
    """Return the span of the last complete object."""
    found: tuple[int, int] | None = None
    budget = SEARCH_BUDGET
    match = _OBJECT_START.search(text)
    if match is None:
        return None
    scan = json.JSONDecoder().raw_decode
    while match is not None and budget > 0:
        start = match.start()
        try:
            _, end = scan(text, start)
        except json.JSONDecodeError as problem:
            # making the error counts lines from the very beginning
            budget -= problem.pos - start + problem.pos // 32 + 1
            end = start + 1
        except (RecursionError, ValueError):
            # too deep, or a number too long for Python: charged as if read to the end
            budget -= len(text) - start
            end = start + 1
        else:
            budget -= end - start
            found = (start, end)
        match = _OBJECT_START.search(text, end)
    return found if budget > 0 else None


class _Cleaner:
    """Rebuild a value out of what JSON can carry; values that contain themselves or are too large are cut."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._left = _NODES

    def clean(self, value: object) -> object:
        self._left -= 1
        match value:
            case str():
                return _text(value)
            case None | bool() | float():
                return value
            case int():
                # Python refuses to write very long numbers
                return value if value.bit_length() <= _LONGEST_NUMBER else hex(value)[:400]
            case Mapping() | list() | tuple() | set() | frozenset():
                return self._inside(value)
            case _:
                try:
                    return _decoder.decode(_encoder.encode(value))
                except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
                    return _text(str(_to_plain(value))[:400])

    def _inside(self, value: Mapping[object, object] | Iterable[object]) -> object:
        if id(value) in self._path or len(self._path) > _DEEPEST or self._left < 0:
            return "…"
        self._path.add(id(value))
        try:
            if isinstance(value, Mapping):
                return {_text(str(key)): self.clean(item) for key, item in value.items()}
            return [self.clean(item) for item in value]
        finally:
            self._path.remove(id(value))


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()
