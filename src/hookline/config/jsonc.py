"""JSON as people write it: comments and trailing commas are read, and every part keeps its line."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from hookline import wire
from hookline.config.document import Document, KeyPath
from hookline.errors import ConfigError

# Deeper parts share the line of their owner. Without a bound, a megabyte of brackets would make a
# megabyte of paths that are each up to a megabyte long.
INDEXED_DEPTH: Final = 8

_TOKEN: Final = re.compile(
    r"""
      (?P<string> "[^"\\\n]*(?:\\.[^"\\\n]*)*"? )
    | (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<unclosed> /\* )
    | (?P<mark> [{}\[\],:] )
    | (?P<other> [^\s"{}\[\],:/]+ | / )
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_NEWLINE: Final = re.compile(r"[^\n]")
_NEWLINE: Final = re.compile("\n")
# the parts of a document that is known to be valid; a string before a colon is a key
_PART: Final = re.compile(
    r"""
      (?P<key> "[^"\\]*(?:\\.[^"\\]*)*" ) \s* :
    | (?P<open> [{\[] )
    | (?P<close> [}\]] )
    | (?P<value> "[^"\\]*(?:\\.[^"\\]*)*" | [^\s"{}\[\],:]+ )
    """,
    re.VERBOSE,
)

# a text of such a document, and the colon that makes it a key
_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"\s*(:?)')

_SPACED_COLON: Final = re.compile(r'"\s+:')
_HOLDERS: Final = frozenset({dict, list})


def parse(text: str, *, path: str = "") -> Document:
    """Read one JSON document, comments and trailing commas allowed.

    Raises:
        ConfigError: It is not JSON; the message says the line and the column.
    """
    plain = text
    try:
        value = wire.load(text)
    except ValueError:
        plain = blank(text, path=path)
        value = _load(plain, path=path)
    if _has_every_key(value, plain):
        return Document(value, lambda: _index(plain)[0])
    lines, repeated = _index(plain)
    return Document(value, lines, repeated)


def _has_every_key(value: object, text: str) -> bool:
    """Say whether no key was lost because it stands twice: count them, which is cheaper than finding them."""
    count = _count_keys(value)
    # nearly always a key's quote and its colon stand together, and then no text has to be told from a key
    if text.count('":') == count and not _SPACED_COLON.search(text):
        return True
    return count == _STRING.findall(text).count(":")


def _count_keys(value: object) -> int:
    count = 0
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            count += len(part)
            left += [item for item in part.values() if type(item) in _HOLDERS]
        elif isinstance(part, list):
            left += [item for item in part if type(item) in _HOLDERS]
    return count


def blank(text: str, *, path: str = "") -> str:
    """Replace comments and trailing commas by spaces, so that every other character keeps its place.

    Raises:
        ConfigError: A comment is never closed.
    """
    spans: list[tuple[int, int]] = []
    comma = 0
    before, last = "", ""
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "unclosed":
            raise _error("this comment is never closed", text, token.start(), path=path)
        if token.lastgroup == "comment":
            spans.append(token.span())
            continue
        word = token.group() if token.lastgroup == "mark" else "value"
        # only a comma after something is a trailing one: "[,]" stays the mistake it is
        if word in {"}", "]"} and last == "," and before in {"value", "}", "]"}:
            spans.append((comma, comma + 1))
        if word == ",":
            comma = token.start()
        before, last = last, word
    return _without(text, sorted(spans))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    done = 0
    for start, end in spans:
        kept += (text[done:start], _NOT_NEWLINE.sub(" ", text[start:end]))
        done = end
    kept.append(text[done:])
    return "".join(kept)


def _load(text: str, *, path: str) -> object:
    """Parse, and say where it went wrong as people count: in lines and columns."""
    try:
        return wire.load(text)
    except ValueError as problem:
        reason = str(problem)
    if not text.strip():
        raise ConfigError("the file is empty, wanted a JSON document", path=path, line=1)
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise _error(problem.msg, text, problem.pos, path=path) from None
    except (ValueError, RecursionError):
        pass
    raise ConfigError(f"not a JSON document: {reason}", path=path, line=1)


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _error(message: str, text: str, position: int, *, path: str) -> ConfigError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return ConfigError(f"{message} (column {column})", path=path, line=line)


def _index(text: str) -> tuple[dict[KeyPath, int], tuple[tuple[KeyPath, int], ...]]:
    """Find the line of every key and every list element of a valid document."""
    newlines = [place.start() for place in _NEWLINE.finditer(text)]
    lines: dict[KeyPath, int] = {}
    repeated: list[tuple[KeyPath, int]] = []
    for path, position in _parts(text):
        line = bisect_right(newlines, position) + 1
        if path in lines:
            repeated.append((path, line))
        lines[path] = line
    return lines, tuple(repeated)


def _parts(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Give the path and the place of every key and every list element of a valid document."""
    # the objects and lists around the current token: the path of each, None where it is too deep to be
    # kept, and how many elements a list has had; -1 marks an object
    paths: list[KeyPath | None] = [()]
    counts: list[int] = [-1]
    current: KeyPath | None = ()
    for token in _PART.finditer(text):
        if token.lastgroup == "close":
            paths.pop()
            counts.pop()
            continue
        count = counts[-1]
        is_part = token.lastgroup == "key" or count >= 0
        if is_part:
            step = _text(token["key"]) if count < 0 else count
            owner = paths[-1]
            current = (*owner, step) if owner is not None and len(owner) < INDEXED_DEPTH else None
            counts[-1] += count >= 0
            if current is not None:
                yield current, token.start()
        if token.lastgroup == "open":
            paths.append(current)
            counts.append(-1 if token["open"] == "{" else 0)


def _text(word: str) -> str:
    """Read a key as the parser does."""
    return str(json.loads(word)) if "\\" in word else word[1:-1]
