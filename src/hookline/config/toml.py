"""TOML whose tables and keys keep their lines."""

import re
from collections.abc import Iterator
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.errors import ConfigError

_TOKEN: Final = re.compile(
    r'''
      (?P<text> """(?:[^"\\]|\\.|"(?!""))*"{3,5} | \'\'\'.*?\'{3,5} | "(?:[^"\\\n]|\\.)*" | \'[^\'\n]*\' )
    | (?P<comment> \#[^\n]* )
    | (?P<newline> \n )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<equals> = )
    | (?P<word> [^\s"'#\[\]{}=]+ )
    ''',
    re.VERBOSE | re.DOTALL,
)
_PLACE: Final = re.compile(
    r"^(?P<message>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL
)
_MANY: Final = 64
_ENDLESS: Final = re.compile(rf"(?:[\w\"'-]+[ \t]*\.[ \t]*){{{_MANY}}}")


def parse(text: str, *, path: str = "") -> Document:
    """Read one TOML document.

    Raises:
        ConfigError: It is not TOML; the message says the line and the column.
    """
    import tomllib  # noqa: PLC0415 - most configurations are JSON

    # a name of thousands of parts takes a reader of TOML minutes, and nobody means one
    if text.count(".") >= _MANY and (endless := _ENDLESS.search(text)):
        line = text.count("\n", 0, endless.start()) + 1
        raise ConfigError("a name has more parts than anybody means", path=path, line=line)
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise _error(str(problem), text, path=path) from None
    except RecursionError:
        raise ConfigError("nested too deeply", path=path, line=1) from None
    except ValueError as problem:
        # Python itself refuses numbers of thousands of digits
        raise ConfigError(f"a value cannot be read: {problem}", path=path, line=1) from None
    lines: dict[KeyPath, int] = {}
    for key, line, _ in keys(text):
        # `[[hook]]` and `[a.b]` are the first word about what they stand in, too
        for length in range(len(key), 0, -1):
            if lines.setdefault(key[:length], line) != line:
                break
    return Document(value, lines)


def _error(message: str, text: str, *, path: str) -> ConfigError:
    found = _PLACE.match(message.replace("Cannot overwrite a value", "this key stands here a second time"))
    if found is None:
        return ConfigError(message, path=path, line=1)
    if found["line"] is None:
        return ConfigError(found["message"], path=path, line=text.rstrip("\n").count("\n") + 1)
    return ConfigError(f"{found['message']} (column {found['column']})", path=path, line=int(found["line"]))


def keys(text: str) -> Iterator[tuple[KeyPath, int, int]]:
    """Give the path, the first and the last line of every table header and every key of a valid document."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for first, last, header, steps in _statements(text):
        if not header:
            yield (*table, *steps), first, last
            continue
        table = _resolved(steps, counts)
        if header == len("[["):
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
        yield table, first, last


def _resolved(steps: list[str], counts: dict[KeyPath, int]) -> KeyPath:
    """Put the current element's number after each step that names a list of tables, the last one excepted."""
    path: KeyPath = ()
    for step in steps:
        if path in counts:
            path = (*path, counts[path])
        path = (*path, step)
    return path


def _statements(text: str) -> Iterator[tuple[int, int, int, list[str]]]:
    """Give first line, last line, number of opening brackets (0 for a key) and dotted name of every statement."""
    line = first = last = 1
    depth = brackets = 0
    steps: list[str] = []
    in_value = False
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token.group()
        if kind == "comment":
            continue
        if kind == "newline":
            line += 1
            if depth <= 0:
                if steps:
                    yield first, last, brackets, steps
                depth, brackets, steps, in_value = 0, 0, [], False
            continue
        if kind == "equals" and not brackets:
            in_value = True
        elif kind in {"word", "text"} and not in_value:
            first = first if steps else line
            steps += _steps(word)
        elif kind in {"open", "close"}:
            brackets += kind == "open" and not in_value
            depth += 0 if not in_value else 1 if kind == "open" else -1
        line += word.count("\n")
        last = line
    if steps:
        yield first, last, brackets, steps


def _steps(word: str) -> list[str]:
    return [word[1:-1]] if word[0] in "\"'" else [step for step in word.split(".") if step]
