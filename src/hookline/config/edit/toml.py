"""Change one part of a TOML text; every other character stays where it is.

Statements are found by their lines, and only the one that is asked for goes through tomlkit: what tomlkit would
lay out anew, such as tables that stand apart, is never given to it.
"""

import re
from collections.abc import Mapping, MutableMapping, MutableSequence
from dataclasses import dataclass
from typing import Final

import tomlkit
from tomlkit.items import Item

from hookline.config.document import KeyPath
from hookline.config.toml import keys
from hookline.errors import ConfigError

_WHOLE: Final = "the tables of this file are written in a way that is changed by hand only"


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a key: its path, the path of the table it stands in, and its lines, the last one excluded."""

    path: KeyPath
    table: KeyPath
    start: int
    end: int
    is_header: bool


def put(text: str, pointer: KeyPath, value: object) -> str:
    """Replace the value at a place, or add it there.

    Raises:
        ConfigError: The place cannot be in this document.
    """
    lines = _lines(text)
    statements = _statements(text)
    found = _within(statements, pointer)
    if found is not None:
        return _rewritten(lines, found, pointer, value)
    if _has(statements, pointer):
        # written as a table of its own, or as one key a line
        return put(drop(text, pointer), pointer, value)
    tables = [one for one in statements if one.is_header and one.path == pointer[: len(one.path)]]
    table = max(tables, key=lambda one: len(one.path)).path if tables else ()
    rest = pointer[len(table) :]
    if not rest or not isinstance(rest[0], str):
        raise ConfigError(_WHOLE)
    # beside `env.A = "1"` stands `env.B = "2"`
    size = next(size for size in range(len(rest), 0, -1) if size == 1 or _has(statements, (*table, *rest[: size - 1])))
    for step in reversed(rest[size:]):
        value = {step: value} if isinstance(step, str) else [value]
    inside = [one for one in statements if one.table == table and (not one.is_header or one.path == table)]
    place = max((one.end for one in inside), default=0)
    indent = _indent(lines[inside[-1].start]) if inside else ""
    return _joined(lines, place, place, [indent + _line(rest[:size], value)], newline=_newline(text))


def append(text: str, pointer: KeyPath, value: object) -> str:
    """Add an element at the end of a list; a table becomes a `[[table]]` at the end of the file.

    Raises:
        ConfigError: There is something else at this place.
    """
    lines = _lines(text)
    statements = _statements(text)
    found = _within(statements, pointer)
    if found is not None:
        return _rewritten(lines, found, (*pointer, -1), value)
    if not isinstance(value, Mapping) or len(pointer) != 1:
        return put(text, pointer, [value])
    like = [one for one in statements if not one.is_header and one.table[:-1] == pointer]
    indent = _indent(lines[like[-1].start]) if like else ""
    new = [f"[[{pointer[0]}]]", *(indent + _line((key,), one) for key, one in value.items())]
    gap = [""] if lines and lines[-1].strip() else []
    return _joined(lines, len(lines), len(lines), [*gap, *new], newline=_newline(text))


def drop(text: str, pointer: KeyPath) -> str:
    """Take a key or a whole table out, a table with the comment right above it.

    Raises:
        ConfigError: There is nothing at this place.
    """
    lines = _lines(text)
    statements = _statements(text)
    header = next((one for one in statements if one.is_header and one.path == pointer), None)
    if header is not None:
        return _without_table(lines, statements, header)
    gone = [one for one in statements if one.path[: len(pointer)] == pointer]
    for one in reversed(gone):
        del lines[one.start : one.end]
    if gone:
        return "".join(lines)
    found = _within(statements, pointer)
    if found is None:
        raise ConfigError(_nothing_at(pointer))
    return _rewritten(lines, found, pointer, None)


def _lines(text: str) -> list[str]:
    """Split a text where TOML does: nothing but a newline ends a line."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _statements(text: str) -> list[_Statement]:
    """Find every statement with its lines."""
    lines = _lines(text)
    found: list[_Statement] = []
    table: KeyPath = ()
    for path, first, last in keys(text):
        is_header = lines[first - 1].lstrip().startswith("[")
        table = path if is_header else table
        found.append(_Statement(path, table, first - 1, last, is_header))
    return found


def _has(statements: list[_Statement], path: KeyPath) -> bool:
    return any(one.path[: len(path)] == path for one in statements)


def _nothing_at(pointer: KeyPath) -> str:
    return f"there is nothing at {'.'.join(str(step) for step in pointer)}"


def _within(statements: list[_Statement], pointer: KeyPath) -> _Statement | None:
    """Find the key whose value a place is, or is a part of."""
    return next((one for one in statements if not one.is_header and one.path == pointer[: len(one.path)]), None)


def _rewritten(lines: list[str], statement: _Statement, pointer: KeyPath, value: object) -> str:
    """Change the value of one statement; None takes the place out, and -1 as the last step adds an element."""
    block = "".join(lines[statement.start : statement.end])
    document = tomlkit.parse(block)
    *way, last = pointer[len(statement.table) :]
    owner: object = document
    try:
        for step in way:
            if isinstance(owner, MutableMapping) and value is not None:
                owner.setdefault(step, tomlkit.inline_table())
            owner = owner[step]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        raise ConfigError(_nothing_at(pointer)) from None
    match owner, last:
        case MutableMapping(), str() if value is None:
            del owner[last]
        case MutableMapping(), str():
            owner[last] = _item(value)
        case MutableSequence(), -1:
            owner.append(_item(value))
        case MutableSequence(), int() if value is None:
            del owner[last]
        case MutableSequence(), int():
            owner[last] = _item(value)
        case _:
            raise ConfigError(_WHOLE)
    return "".join((*lines[: statement.start], document.as_string(), *lines[statement.end :]))


def _without_table(lines: list[str], statements: list[_Statement], header: _Statement) -> str:
    place = statements.index(header)
    size = len(header.path)
    after = next((one for one in statements[place + 1 :] if one.is_header and one.path[:size] != header.path), None)
    end = max(one.end for one in statements[place:] if one.start < (after.start if after else len(lines)))
    limit = _comments_above(lines, after.start, floor=end) if after else len(lines)
    start = _own_comments_above(lines, header.start, floor=statements[place - 1].end if place else 0)
    # a comment right below its last key is its own, unless it stands right above the next table
    while end < limit and lines[end].strip():
        end += 1
    while end < limit and not lines[end].strip():
        end += 1
    if end == len(lines):
        while start > 0 and not lines[start - 1].strip():
            start -= 1
    return "".join((*lines[:start], *lines[end:]))


def _comments_above(lines: list[str], start: int, *, floor: int) -> int:
    """Go up over comments, at most to where the statement above ends: a text may look like a comment."""
    while start > floor and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _own_comments_above(lines: list[str], start: int, *, floor: int) -> int:
    """Count a comment to a table where nothing else could have it: neither the file nor what stands right above."""
    above = _comments_above(lines, start, floor=floor)
    return above if above and not lines[above - 1].strip() else start


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _joined(lines: list[str], start: int, end: int, new: list[str], *, newline: str) -> str:
    """Put whole lines between others; a file that ended without a newline gets one where the new lines begin."""
    before = "".join(lines[:start])
    edge = newline if before and not before.endswith("\n") else ""
    last = newline if edge == "" or lines[end:] else ""
    return before + edge + newline.join(new) + last + "".join(lines[end:])


def _line(steps: KeyPath, value: object) -> str:
    name = tomlkit.key([str(step) for step in steps]).as_string()
    return f"{name} = {_item(value).as_string()}"


def _item(value: object) -> Item:
    """Write a value on one line; a text of several lines is one that people can read."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, one in value.items():
            table[key] = _item(one)
        return table
    if isinstance(value, str) and "\n" in value.strip("\n") and not set(value) & set("\r\"'\\"):
        return tomlkit.string(value, multiline=True)
    return tomlkit.item(list(value) if isinstance(value, tuple) else value)
