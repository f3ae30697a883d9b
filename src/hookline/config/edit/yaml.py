"""Change one part of a YAML text; every other character stays where it is. New values are written on one line."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hookline.config.document import KeyPath
from hookline.config.yaml import compose
from hookline.errors import ConfigError

_BY_HAND: Final = "this part of the file is written in a way that is changed by hand only"
# words that need no quotes and are nothing but texts
_PLAIN: Final = re.compile(r"(?:\.?/)?[A-Za-z_][\w./|*-]*(?: [\w./|*-]+)*")
_RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})
_UNSEEN: Final = re.compile(r"[^ -~]+")

# a node as the parser gives it: `value` is a text, a list of nodes, or a list of pairs of nodes
_Node = Any


def put(text: str, pointer: KeyPath, value: object) -> str:
    """Replace the value at a place, or add it there.

    Raises:
        ConfigError: The place cannot be in this document.
    """
    root = compose(text) if text.strip() else None
    if root is None:
        return _begun(text, _nested(pointer, value))
    way = _way(root, pointer)
    if len(way) > len(pointer):
        return _replaced(text, way, pointer, value)
    owner, rest = way[-1], pointer[len(way) - 1 :]
    return _added(text, owner, rest[0], _nested(rest[1:], value))


def append(text: str, pointer: KeyPath, value: object) -> str:
    """Add an element at the end of a list, and the list where there is none.

    Raises:
        ConfigError: There is something else at this place.
    """
    root = compose(text) if text.strip() else None
    way = [] if root is None else _way(root, pointer)
    if len(way) <= len(pointer):
        return put(text, pointer, [value])
    return _added(text, way[-1], len(way[-1].value), value)


def drop(text: str, pointer: KeyPath) -> str:
    """Take a key or an element out.

    Raises:
        ConfigError: There is nothing at this place.
    """
    way = _way(compose(text), pointer)
    if len(way) <= len(pointer):
        raise ConfigError(f"there is nothing at {'.'.join(str(step) for step in pointer)}")
    owner = way[-2]
    spans = list(_spans(owner))
    place = next(number for number, (_, _, child) in enumerate(spans) if child is way[-1])
    start, end, _ = spans[place]
    if owner.flow_style:
        if place + 1 < len(spans):
            end = spans[place + 1][0]
        elif place:
            start = spans[place - 1][1]
        return text[:start] + text[end:]
    if len(spans) == 1 and len(pointer) > 1:
        # nothing is left of what stood below its key, so it is said beside it
        return _replaced(text, way[:-1], pointer[:-1], {} if owner.id == "mapping" else [])
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip(" -") or len(spans) == 1 or ("-" in text[line:start] and owner.id == "mapping"):
        raise ConfigError(_BY_HAND)
    return text[:line] + text[_end_of_line(text, _trimmed(text, start, way[-1])) :]


def _way(root: _Node, pointer: KeyPath) -> list[_Node]:
    """Follow a pointer as far as it leads, and give every node on the way."""
    way = [root]
    for step in pointer:
        node = way[-1]
        if node.id == "mapping" and isinstance(step, str):
            found = [value for key, value in node.value if key.value == step]
        elif node.id == "sequence" and isinstance(step, int):
            found = node.value[step : step + 1]
        else:
            raise ConfigError(f"{step} cannot be looked for in what stands there")
        if not found:
            break
        way.append(found[-1])
    return way


def _spans(owner: _Node) -> Iterator[tuple[int, int, _Node]]:
    """Give start, end and value of every part of a mapping or a sequence."""
    for part in owner.value:
        key, value = part if isinstance(part, tuple) else (part, part)
        yield key.start_mark.index, value.end_mark.index, value


def _replaced(text: str, way: list[_Node], pointer: KeyPath, value: object) -> str:
    node = way[-1]
    start, end = node.start_mark.index, node.end_mark.index
    in_flow = len(way) > 1 and way[-2].flow_style
    if text[start:end].rstrip() == text[start:end] or in_flow or not pointer:
        return text[:start] + _inline(value) + text[end:]
    if way[-2].id != "mapping":
        raise ConfigError(_BY_HAND)
    key = next(key for key, child in way[-2].value if child is node)
    # a block below its key becomes a value beside it
    after = int(key.end_mark.index)
    return text[:after] + f": {_inline(value)}" + text[_trimmed(text, start, node) :]


def _added(text: str, owner: _Node, step: str | int, value: object) -> str:
    wanted = "mapping" if isinstance(step, str) else "sequence"
    if owner.id != wanted:
        raise ConfigError(f"{step} cannot be added to what stands there")
    new = f"{_inline(step)}: {_inline(value)}" if isinstance(step, str) else _inline(value)
    spans = list(_spans(owner))
    if owner.flow_style or not spans:
        place = spans[-1][1] if spans else int(owner.end_mark.index) - 1
        return text[:place] + (", " if spans else "") + new + text[place:]
    column = int(owner.start_mark.column)
    start, _, last = spans[-1]
    place = _end_of_line(text, _trimmed(text, start, last))
    newline = "\r\n" if "\r\n" in text else "\n"
    edge = "" if text[:place].endswith("\n") else newline
    dash = "" if isinstance(step, str) else "- "
    return text[:place] + edge + " " * column + dash + new + ("" if edge else newline) + text[place:]


def _trimmed(text: str, start: int, node: _Node) -> int:
    """Give the end of a part without the blank lines and comments that the parser counts to it."""
    lines = text[start : int(node.end_mark.index)].splitlines(keepends=True)
    indent, keeps_blanks = _block(text, node)
    while len(lines) > 1 and _is_aside(lines[-1], indent=indent) and not (keeps_blanks and not lines[-1].strip()):
        lines.pop()
    part = "".join(lines)
    return start + len(part.removesuffix("\n") if keeps_blanks else part.rstrip())


def _block(text: str, node: _Node) -> tuple[int | None, bool]:
    """Say how far the block of text that a part ends with is indented, and whether blank lines below it are its own."""
    while node.id != "scalar" and node.value and not node.flow_style:
        node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
    if node.id != "scalar" or node.style not in {"|", ">"}:
        return None, False
    head, *lines = text[int(node.start_mark.index) : int(node.end_mark.index)].splitlines()
    return next((_indent(line) for line in lines if line.strip()), None), "+" in head.partition("#")[0]


def _is_aside(line: str, *, indent: int | None) -> bool:
    """Say whether a line is blank or a comment; in a block of text, what looks like a comment is text."""
    if not line.strip():
        return True
    return line.lstrip().startswith("#") and (indent is None or _indent(line) < indent)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end_of_line(text: str, position: int) -> int:
    newline = text.find("\n", position)
    return newline + 1 if newline >= 0 else len(text)


def _nested(steps: KeyPath, value: object) -> object:
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _begun(text: str, value: object) -> str:
    """Write the first value of a file, below the comments it may have."""
    before = f"{text}\n" if text and not text.endswith("\n") else text
    if not isinstance(value, Mapping):
        return f"{before}{_inline(value)}\n"
    return before + "".join(f"{_inline(key)}: {_inline(one)}\n" for key, one in value.items())


def _inline(value: object) -> str:
    """Write a value on one line; JSON is YAML, but people leave the quotes out."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_inline(key)}: {_inline(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(_inline(one) for one in value) + "]"
        case str() if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
            return value
        case _:
            # YAML takes no character that cannot be seen
            return _UNSEEN.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in found.group())
