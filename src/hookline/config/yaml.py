"""YAML as configurations need it: plain data, and every part keeps its line.

Only what JSON could say as well is read. Tags, which may make objects out of text, are refused, and so is a
file that grows without bound when its aliases are followed.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from hookline.config.document import Document, KeyPath
from hookline.config.vocabulary import quoted
from hookline.errors import ConfigError

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

# reading YAML is slow, and one hook is a few lines long
LARGEST: Final = 65_536
MOST_NODES: Final = 10_000
DEEPEST: Final = 32

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
    _check_size(text, path=path)
    root = compose(text, path=path)
    if root is None:
        raise ConfigError("the file is empty, wanted a YAML document", path=path, line=1)
    building = _Building(path)
    value = building.value(root, (), 0)
    return Document(value, building.lines, tuple(building.repeated))


def _check_size(text: str, *, path: str) -> None:
    """Refuse what would take long before it is read."""
    if len(text) > LARGEST:
        raise ConfigError(f"the file is larger than {LARGEST // 1024} KB; write it as JSON", path=path, line=1)
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > DEEPEST:
            raise _error("nested too deeply", text.count("\n", 0, bracket.start()) + 1, path=path)


def compose(text: str, *, path: str = "") -> "Node | None":
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
            found: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        column = f" (column {mark.column + 1})" if mark is not None else ""
        said = ", ".join(filter(None, (problem.context, problem.problem)))
        raise _error(f"{said}{column}", mark.line + 1 if mark is not None else 1, path=path) from None
    except YAMLError as problem:
        raise _error(str(problem).partition("\n")[0], 1, path=path) from None
    except RecursionError:
        raise _error("nested too deeply", 1, path=path) from None
    return found


def _error(message: str, line: int, *, path: str) -> ConfigError:
    return ConfigError(message, path=path, line=line)


class _Building:
    """Make plain values of nodes. A node with an alias is made anew wherever it is named, so nodes are counted."""

    def __init__(self, path: str) -> None:
        from ruamel.yaml import nodes  # noqa: PLC0415 - few have hooks in YAML

        self._nodes = nodes
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[tuple[KeyPath, int]] = []
        self._path = path
        self._left = MOST_NODES

    def value(self, node: "Node", where: KeyPath, depth: int) -> object:
        """Make the value of one node."""
        self._left -= 1
        line = node.start_mark.line + 1
        if self._left < 0 or depth > DEEPEST:
            raise _error("the file is too large or too deep when its aliases are followed", line, path=self._path)
        tag = str(node.tag)
        if tag not in _TAGS:
            raise _error(f"{quoted(tag)} is a tag, and only plain data is read", line, path=self._path)
        if isinstance(node, self._nodes.MappingNode):
            return self._mapping(node, where, depth)
        if isinstance(node, self._nodes.SequenceNode):
            return self._sequence(node, where, depth)
        is_text = isinstance(node, self._nodes.ScalarNode) and (node.style or tag == f"{_STANDARD}str")
        return str(node.value) if is_text else _plain(str(node.value))

    def _sequence(self, node: "Node", where: KeyPath, depth: int) -> list[object]:
        found = []
        for place, item in enumerate(node.value):
            self.lines[*where, place] = item.start_mark.line + 1
            found.append(self.value(item, (*where, place), depth + 1))
        return found

    def _mapping(self, node: "Node", where: KeyPath, depth: int) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key.value, str):
                raise _error("a key has to be a text", line, path=self._path)
            path = (*where, key.value)
            if key.value in found:
                self.repeated.append((path, line))
            self.lines[path] = line
            found[key.value] = self.value(item, path, depth + 1)
        return found


def _plain(text: str) -> object:
    for pattern, read in _PLAIN:
        if pattern.fullmatch(text):
            return read(text)
    return text
