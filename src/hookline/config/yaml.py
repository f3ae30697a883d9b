"""YAML as configurations need it: plain data, and every part keeps its line.

Only what JSON could say as well is read. Tags, which may make objects out of text, are refused, and so is a
file that grows without bound when its aliases are followed.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hookline.config.document import Document, KeyPath, nest, spell
from hookline.errors import ConfigError
from hookline.text import quote

# a node as the parser gives it: `value` is a text, a list of nodes, or a list of pairs of nodes
_Node = Any

# reading YAML is slow, and one hook is a few lines long
MAX_BYTES: Final = 65_536
MAX_NODES: Final = 10_000
MAX_DEPTH: Final = 32

_STANDARD: Final = "tag:yaml.org,2002:"
# what the reader makes of plain data by itself, or what means the same when it is written out
_TAGS: Final = frozenset(
    f"{_STANDARD}{name}"
    for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)
# what a text without quotes means in YAML 1.2; anything else is a text, also `on`, `no` and a date
_PLAIN: Final[tuple[tuple[re.Pattern[str], Callable[[str], object]], ...]] = (
    (re.compile(r"~|null|Null|NULL|"), lambda _text: None),
    (re.compile(r"true|True|TRUE"), lambda _text: True),
    (re.compile(r"false|False|FALSE"), lambda _text: False),
    (re.compile(r"[-+]?[0-9]{1,18}"), int),
    (re.compile(r"0x[0-9a-fA-F]{1,16}"), lambda text: int(text, 16)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?"), float),
)
_BRACKET: Final = re.compile(r"[\[\]{}]")


def parse(text: str, *, path: str = "") -> Document:
    """Read one YAML document.

    Raises:
        ConfigError: It is not YAML, it holds more than plain data, or the reader is not installed.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"the file is larger than {MAX_BYTES // 1024} KB; write it as JSON", path=path, line=1)
    # what would take long is refused before it is read
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, bracket.start()) + 1
            raise ConfigError("nested too deeply", path=path, line=line)
    root = compose(text, path=path)
    if root is None:
        raise ConfigError("the file is empty, wanted a YAML document", path=path, line=1)
    building = _ValueBuilder(path)
    value = building.value(root, (), 0)
    return Document(value, building.lines, tuple(building.repeated))


def compose(text: str, *, path: str = "") -> _Node | None:
    """Find the parts of a YAML text, each with its place; None for a text without any.

    Raises:
        ConfigError: It is not YAML, or the reader is not installed.
    """
    try:
        from ruamel.yaml import YAML  # noqa: PLC0415 - few have hooks in YAML
        from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError  # noqa: PLC0415
    except ImportError:
        message = "reading YAML needs one more package: pip install 'hookline[yaml]'"
        raise ConfigError(message, path=path) from None
    try:
        with warnings.catch_warnings():
            # an anchor may be set again, and what the reader says of it would show the file as it is
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            found: _Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        column = f" (column {mark.column + 1})" if mark is not None else ""
        said = ", ".join(filter(None, (problem.context, problem.problem)))
        raise ConfigError(f"{said}{column}", path=path, line=mark.line + 1 if mark is not None else 1) from None
    except YAMLError as problem:
        raise ConfigError(str(problem).partition("\n")[0], path=path, line=1) from None
    except RecursionError:
        raise ConfigError("nested too deeply", path=path, line=1) from None
    return found


class _ValueBuilder:
    """Make plain values of nodes. A node with an alias is made anew wherever it is named, so nodes are counted."""

    def __init__(self, path: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[tuple[KeyPath, int]] = []
        self._path = path
        self._left = MAX_NODES

    def value(self, node: _Node, where: KeyPath, depth: int) -> object:
        """Make the value of one node."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise self._error("the file is too large or too deep when its aliases are followed", node)
        tag = str(node.tag)
        if tag not in _TAGS:
            raise self._error(f"{quote(tag)} is a tag, and only plain data is read", node)
        if node.id == "sequence":
            return [self._part(item, item, (*where, place), depth) for place, item in enumerate(node.value)]
        if node.id == "mapping":
            found: dict[str, object] = {}
            for key, item in node.value:
                if not isinstance(key.value, str):
                    raise self._error("a key has to be a text", key)
                if key.value in found:
                    self.repeated.append(((*where, key.value), key.start_mark.line + 1))
                found[key.value] = self._part(key, item, (*where, key.value), depth)
            return found
        word = str(node.value)
        if node.style or tag == f"{_STANDARD}str":
            return word
        return next((read(word) for pattern, read in _PLAIN if pattern.fullmatch(word)), word)

    def _part(self, first: _Node, node: _Node, where: KeyPath, depth: int) -> object:
        self.lines[where] = first.start_mark.line + 1
        return self.value(node, where, depth + 1)

    def _error(self, message: str, node: _Node) -> ConfigError:
        return ConfigError(message, path=self._path, line=node.start_mark.line + 1)


_BY_HAND: Final = "this part of the file is written in a way that is changed by hand only"
# words that need no quotes and are nothing but texts
_UNQUOTED: Final = re.compile(r"(?:\.?/)?[A-Za-z_][\w./|*-]*(?: [\w./|*-]+)*")
_RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})


def put(text: str, pointer: KeyPath, value: object) -> str:
    """Replace the value at a place, or add it there; the index after the last element adds one."""
    root = compose(text) if text.strip() else None
    if root is None:
        # the first value of a file stands below the comments it may have
        before = f"{text}\n" if text and not text.endswith("\n") else text
        first = nest(pointer, value)
        if not isinstance(first, Mapping):
            return f"{before}{_inline(first)}\n"
        return before + "".join(f"{_inline(key)}: {_inline(one)}\n" for key, one in first.items())
    way = _follow(root, pointer)
    if len(way) > len(pointer):
        return _replace(text, way, pointer, value)
    owner, rest = way[-1], pointer[len(way) - 1 :]
    return _add(text, owner, rest[0], nest(rest[1:], value))


def drop(text: str, pointer: KeyPath) -> str:
    """Take a key or an element out."""
    way = _follow(compose(text), pointer)
    if len(way) <= len(pointer):
        raise ConfigError(f"there is nothing at {spell(pointer)}")
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
        return _replace(text, way[:-1], pointer[:-1], {} if owner.id == "mapping" else [])
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip(" -") or len(spans) == 1 or ("-" in text[line:start] and owner.id == "mapping"):
        raise ConfigError(_BY_HAND)
    return text[:line] + text[_end_of_line(text, _content_end(text, start, way[-1])) :]


def _follow(root: _Node, pointer: KeyPath) -> list[_Node]:
    """Follow a pointer as far as it leads, and give every node on the way."""
    way = [root]
    for step in pointer:
        node = way[-1]
        if node.id == "mapping" and isinstance(step, str):
            found = [value for key, value in node.value if key.value == step]
        elif node.id == "sequence" and isinstance(step, int):
            found = node.value[step : step + 1]
        else:
            raise ConfigError(f"{step} cannot be looked for in what is there")
        if not found:
            break
        way.append(found[-1])
    return way


def _spans(owner: _Node) -> Iterator[tuple[int, int, _Node]]:
    """Return start, end and value of every part of a mapping or a sequence."""
    for part in owner.value:
        key, value = part if isinstance(part, tuple) else (part, part)
        yield key.start_mark.index, value.end_mark.index, value


def _replace(text: str, way: list[_Node], pointer: KeyPath, value: object) -> str:
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
    return text[:after] + f": {_inline(value)}" + text[_content_end(text, start, node) :]


def _add(text: str, owner: _Node, step: str | int, value: object) -> str:
    wanted = "mapping" if isinstance(step, str) else "sequence"
    if owner.id != wanted:
        raise ConfigError(f"{step} cannot be added to what is there")
    new = f"{_inline(step)}: {_inline(value)}" if isinstance(step, str) else _inline(value)
    spans = list(_spans(owner))
    if owner.flow_style or not spans:
        place = spans[-1][1] if spans else int(owner.end_mark.index) - 1
        return text[:place] + (", " if spans else "") + new + text[place:]
    column = int(owner.start_mark.column)
    start, _, last = spans[-1]
    place = _end_of_line(text, _content_end(text, start, last))
    newline = "\r\n" if "\r\n" in text else "\n"
    edge = "" if text[:place].endswith("\n") else newline
    dash = "" if isinstance(step, str) else "- "
    return text[:place] + edge + " " * column + dash + new + ("" if edge else newline) + text[place:]


def _content_end(text: str, start: int, node: _Node) -> int:
    """Return the end of a part without the blank lines and comments that the parser counts to it."""
    last = node
    while last.id != "scalar" and last.value and not last.flow_style:
        last = last.value[-1][1] if last.id == "mapping" else last.value[-1]
    # how far the block of text that the part ends with is indented, and whether blank lines below it are its own
    indent, keeps_blanks = None, False
    if last.id == "scalar" and last.style in {"|", ">"}:
        head, *block = text[int(last.start_mark.index) : int(last.end_mark.index)].splitlines()
        indent = next((_indent_width(line) for line in block if line.strip()), None)
        keeps_blanks = "+" in head.partition("#")[0]
    lines = text[start : int(node.end_mark.index)].splitlines(keepends=True)
    while len(lines) > 1:
        line = lines[-1]
        # in a block of text, what looks like a comment is text
        is_comment = line.lstrip().startswith("#") and (indent is None or _indent_width(line) < indent)
        if not is_comment and (line.strip() or keeps_blanks):
            break
        lines.pop()
    part = "".join(lines)
    return start + len(part.removesuffix("\n") if keeps_blanks else part.rstrip())


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end_of_line(text: str, position: int) -> int:
    newline = text.find("\n", position)
    return newline + 1 if newline >= 0 else len(text)


def _inline(value: object) -> str:
    """Write a value on one line; JSON is YAML, but people leave the quotes out."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_inline(key)}: {_inline(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(_inline(one) for one in value) + "]"
        case str() if _UNQUOTED.fullmatch(value) and value.lower() not in _RESERVED:
            return value
        case _:
            # YAML takes no character that cannot be seen
            return "".join(
                sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in json.dumps(value, ensure_ascii=False)
            )
