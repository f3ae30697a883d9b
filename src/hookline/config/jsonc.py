"""JSON with comments and trailing commas: parse it with the line of every part, and change one part of a text while every other byte stays."""

import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from hookline import json_codec
from hookline.config.document import Document, KeyPath, nest, spell
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


def parse(text: str, *, path: str = "") -> Document:
    """Read one JSON document, comments and trailing commas allowed.

    Raises:
        ConfigError: It is not JSON; the message says the line and the column.
    """
    plain = text
    try:
        value = json_codec.load(text)
    except ValueError:
        plain = blank(text, path=path)
        value = _load(plain, path=path)
    newlines = [place.start() for place in _NEWLINE.finditer(plain)]
    lines: dict[KeyPath, int] = {}
    repeated: list[tuple[KeyPath, int]] = []
    for place, position in _iter_parts(_scan(plain), ()):
        line = bisect_right(newlines, position) + 1
        if place in lines:
            repeated.append((place, line))
        lines[place] = line
    return Document(value, lines, tuple(repeated))


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
    kept: list[str] = []
    done = 0
    for start, end in sorted(spans):
        kept += (text[done:start], _NOT_NEWLINE.sub(" ", text[start:end]))
        done = end
    return "".join((*kept, text[done:]))


def _load(text: str, *, path: str) -> object:
    """Parse, and say where it went wrong as people count: in lines and columns."""
    try:
        return json_codec.load(text)
    except ValueError as problem:
        reason = str(problem)
    if not text.strip():
        raise ConfigError("the file is empty, wanted a JSON document", path=path, line=1)
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        raise _error(problem.msg, text, problem.pos, path=path) from None
    except (ValueError, RecursionError):
        pass
    raise ConfigError(f"not a JSON document: {reason}", path=path, line=1)


def _error(message: str, text: str, position: int, *, path: str) -> ConfigError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return ConfigError(f"{message} (column {column})", path=path, line=line)


# a list of plain values that is no longer than this stays on one line
_SHORT: Final = 80

_WORD: Final = re.compile(r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<mark>[{}\[\]])|(?P<plain>[^\s"{}\[\],:]+)')
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_BETWEEN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE: Final = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*[ \t]*(?=\r?\n|$)")
_SEPARATOR: Final = re.compile(r"[ \t]*,[ \t]*")
_BLANKS: Final = re.compile(r"[ \t]*")


@dataclass(slots=True)
class _Part:
    """One key with its value, or one element: where it starts, where its value starts, where it ends."""

    step: str | int
    start: int
    value: int
    end: int = 0
    mark: str = ""
    parts: list["_Part"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is laid out."""

    newline: str
    unit: str
    colon: str
    comma: str
    many_lines: bool


def put(text: str, pointer: KeyPath, value: object) -> str:
    """Replace the value at a place, or add it there; the index after the last element adds one."""
    if not text.strip():
        return _render(nest(pointer, value), "", _detect_style("", [])) + "\n"
    root = _scan(blank(text))
    style = _detect_style(text, [root])
    part, rest = _deepest(root, pointer)
    if rest:
        return _add(text, part, rest[0], nest(rest[1:], value), style)
    in_lines = style.many_lines and (not part.mark or "\n" in text[part.value : part.end])
    indent = _indent_of_line(text, part.start) if in_lines else None
    return text[: part.value] + _render(value, indent, style) + text[part.end :]


def drop(text: str, pointer: KeyPath) -> str:
    """Take a key or an element out, with its comma, and a whole object with the comment right above it."""
    owner, rest = _deepest(_scan(blank(text)), pointer[:-1])
    found = [place for place, part in enumerate(owner.parts) if part.step == pointer[-1]] if not rest else []
    if not found:
        raise ConfigError(f"there is nothing at {spell(pointer)}")
    place = found[-1]
    part = owner.parts[place]
    comma = _comma_after(text, part.end)
    start, end = _span(text, part, comma, after=owner.parts[place - 1].end if place else owner.value + 1)
    if len(owner.parts) == 1:
        close = owner.end - 1
        if not (text[owner.value + 1 : start] + text[end:close]).strip():
            start, end = owner.value + 1, close
    elif comma is None and place:
        # the comma before the last part goes with it
        before = owner.parts[place - 1].end
        mine = _comma_after(text, before)
        if mine is not None and not text[mine + 1 : start].strip() and "\n" not in text[before:start]:
            start = mine
        elif mine is not None:
            return text[:mine] + text[mine + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _scan(plain: str) -> _Part:
    """Find every part of a valid document without comments."""
    top = _Part("", 0, 0, mark="[")
    owners = [top]
    key: re.Match[str] | None = None
    for word in _WORD.finditer(plain):
        owner = owners[-1]
        sign = word["mark"] or ""
        if sign and sign in "}]":
            owners.pop().end = word.end()
        elif owner.mark == "{" and key is None:
            key = word
        else:
            word_of_key = "" if key is None else key.group()
            name = str(json.loads(word_of_key)) if "\\" in word_of_key else word_of_key[1:-1]
            step = len(owner.parts) if key is None else name
            start = word.start() if key is None else key.start()
            part = _Part(step, start, word.start(), word.end(), sign)
            owner.parts.append(part)
            key = None
            if sign:
                owners.append(part)
    return top.parts[0]


def _iter_parts(owner: _Part, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Return the path and the place of every key and every list element, down to a depth."""
    for part in owner.parts:
        here = (*path, part.step)
        yield here, part.start
        if len(here) < INDEXED_DEPTH:
            yield from _iter_parts(part, here)


def _deepest(root: _Part, pointer: KeyPath) -> tuple[_Part, KeyPath]:
    """Follow a pointer as far as it leads; a key that stands twice means its last place, as for every reader."""
    part = root
    for place, step in enumerate(pointer):
        found = [one for one in part.parts if one.step == step and type(one.step) is type(step)]
        if not found:
            return part, pointer[place:]
        part = found[-1]
    return part, ()


def _add(text: str, owner: _Part, step: str | int, value: object, style: _Style) -> str:
    if owner.mark != ("{" if isinstance(step, str) else "["):
        raise ConfigError(f"{spell((step,))} cannot be added to what is there")
    if not owner.parts:
        return _add_first(text, owner, step, value, style)
    last = owner.parts[-1]
    comma = _comma_after(text, last.end)
    if not _is_first_of_line(text, last.start):
        between = text[owner.parts[-2].end : last.start] if len(owner.parts) > 1 else ""
        separator = between if _SEPARATOR.fullmatch(between) else style.comma
        return text[: last.end] + separator + _member(step, value, None, style) + text[last.end :]
    indent = _indent_of_line(text, last.start)
    anchor = last.end if comma is None else comma + 1
    # a comment on the line of the neighbour is the neighbour's
    tail = _REST_OF_LINE.match(text, anchor)
    place = anchor if tail is None else tail.end()
    # elements of a list are alike: where each has its line, so has the new one
    is_line = owner.mark == "[" and bool(last.parts) and "\n" not in text[last.value : last.end]
    new = style.newline + indent + _member(step, value, None if is_line else indent, style)
    new += "" if comma is None else ","
    return text[: last.end] + ("," if comma is None else "") + text[last.end : place] + new + text[place:]


def _add_first(text: str, owner: _Part, step: str | int, value: object, style: _Style) -> str:
    """Add the first part of what was empty but for comments."""
    close = owner.end - 1
    inside = text[owner.value + 1 : close]
    if not style.many_lines or (inside.strip() and "\n" not in inside):
        place = close if inside.strip() else owner.value + 1
        return text[:place] + _member(step, value, None, style) + text[close:]
    outer = _indent_of_line(text, owner.start)
    indent = outer + style.unit
    place = owner.value + 1 + len(inside.rstrip())
    new = style.newline + indent + _member(step, value, indent, style)
    return text[:place] + new + (text[place:close] if inside.strip() else style.newline + outer) + text[close:]


def _span(text: str, part: _Part, comma: int | None, *, after: int) -> tuple[int, int]:
    """Return from where to where one part reaches: whole lines where it has them for itself."""
    end = part.end if comma is None else comma + 1
    tail = _REST_OF_LINE.match(text, end)
    if tail is None or not _is_first_of_line(text, part.start):
        blanks = _BLANKS.match(text, end) if comma is not None else None
        return part.start, blanks.end() if blanks else end
    start = text.rfind("\n", 0, part.start) + 1
    # what stands above a plain value may as well be about its neighbours
    for comment in reversed(list(_COMMENT.finditer(text, after, start))) if part.mark else ():
        gap = text[comment.end() : start]
        if gap.strip() or gap.count("\n") != 1 or not _is_first_of_line(text, comment.start()):
            break
        start = text.rfind("\n", 0, comment.start()) + 1
    newline = text.find("\n", tail.end())
    return start, newline + 1 if newline >= 0 else len(text)


def _comma_after(text: str, position: int) -> int | None:
    found = _BETWEEN.match(text, position)
    place = found.end() if found else position
    return place if text[place : place + 1] == "," else None


def _is_first_of_line(text: str, position: int) -> bool:
    line = text.rfind("\n", 0, position) + 1
    return line > 0 and not text[line:position].strip()


def _indent_of_line(text: str, position: int) -> str:
    found = _BLANKS.match(text, text.rfind("\n", 0, position) + 1)
    return found.group() if found else ""


def _detect_style(text: str, parts: list[_Part]) -> _Style:
    """Learn how a text is laid out from the first parts that show it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit, colon = "", ""
    waiting = deque(parts)
    while waiting and not (unit and colon):
        owner = waiting.popleft()
        for part in owner.parts[:1]:
            if owner.mark == "{" and not colon:
                colon = text[text.rfind('"', part.start, part.value) + 1 : part.value]
            if _is_first_of_line(text, part.start) and not unit:
                unit = _indent_of_line(text, part.start).removeprefix(_indent_of_line(text, owner.start))
        waiting += owner.parts
    colon = colon if colon.strip() == ":" and "\n" not in colon else ": "
    many_lines = "\n" in text.strip() or not parts or not parts[0].parts
    comma = ", " if colon.endswith(" ") else ","
    return _Style(newline, unit or "  ", colon, comma, many_lines)


def _member(step: str | int, value: object, indent: str | None, style: _Style) -> str:
    name = f"{json.dumps(step, ensure_ascii=False)}{style.colon}" if isinstance(step, str) else ""
    return name + _render(value, indent, style)


def _render(value: object, indent: str | None, style: _Style) -> str:
    """Write a value as the rest of the text is written; without an indent, on one line."""
    match value:
        case Mapping() if value:
            inner = None if indent is None else indent + style.unit
            return _wrap("{}", [_member(str(key), one, inner, style) for key, one in value.items()], indent, style)
        case list() | tuple() if value:
            line = _wrap("[]", [_render(one, None, style) for one in value], None, style)
            if indent is None or (len(line) <= _SHORT and not any(isinstance(one, Mapping | list) for one in value)):
                return line
            return _wrap("[]", [_render(one, indent + style.unit, style) for one in value], indent, style)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _wrap(marks: str, members: list[str], indent: str | None, style: _Style) -> str:
    if indent is None:
        return marks[0] + style.comma.join(members) + marks[1]
    edge = style.newline + indent
    return marks[0] + edge + style.unit + f",{edge}{style.unit}".join(members) + edge + marks[1]
