"""TOML: parse it with the line of every key, and change one part of a text while every other byte stays.

An edit finds statements by their lines, and only the one to change goes through tomlkit, which would lay out anew
tables that stand apart.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hookline.config.document import Document, KeyPath, nest, spell
from hookline.config.keys import describe
from hookline.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit.items import Item

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

    # tomllib needs minutes for a key with thousands of parts
    if text.count(".") >= _MANY and (endless := _ENDLESS.search(text)):
        line = text.count("\n", 0, endless.start()) + 1
        raise ConfigError("a name has more parts than anybody means", path=path, line=line)
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        message, line = str(problem).replace("Cannot overwrite a value", "this key is given a second time here"), 1
        if found := _PLACE.match(message):
            column = f" (column {found['column']})" if found["line"] else ""
            message, line = found["message"] + column, int(found["line"] or text.rstrip("\n").count("\n") + 1)
        raise ConfigError(message, path=path, line=line) from None
    except RecursionError:
        raise ConfigError("nested too deeply", path=path, line=1) from None
    except ValueError as problem:
        # Python itself refuses numbers of thousands of digits
        raise ConfigError(f"a value cannot be read: {problem}", path=path, line=1) from None
    lines: dict[KeyPath, int] = {}
    for statement in _list_statements(text):
        # `[[hook]]` and `[a.b]` are the first word about what they stand in, too
        for length in range(len(statement.path), 0, -1):
            if lines.setdefault(statement.path[:length], statement.start + 1) != statement.start + 1:
                break
    return Document(value, lines)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a key: its path, the path of the table it stands in, and its lines, the last one excluded."""

    path: KeyPath
    table: KeyPath
    start: int
    end: int
    is_header: bool


def _list_statements(text: str) -> list[_Statement]:
    """Find every table header and every key of a valid document."""
    found: list[_Statement] = []
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for first, last, brackets, steps in _statements(text):
        if brackets:
            table = ()
            for step in steps:
                # after each step that names a list of tables stands the number of its current element
                table = (*table, counts[table], step) if table in counts else (*table, step)
            if brackets == len("[["):
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
        path = table if brackets else (*table, *steps)
        found.append(_Statement(path, table, first - 1, last, is_header=bool(brackets)))
    return found


def _statements(text: str) -> Iterator[tuple[int, int, int, list[str]]]:
    """Return first line, last line, number of opening brackets (0 for a key) and dotted name of every statement."""
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
            steps += [word[1:-1]] if word[0] in "\"'" else [step for step in word.split(".") if step]
        elif kind in {"open", "close"}:
            brackets += kind == "open" and not in_value
            depth += 0 if not in_value else 1 if kind == "open" else -1
        line += word.count("\n")
        last = line
    if steps:
        yield first, last, brackets, steps


_BY_HAND: Final = "the tables of this file are written in a way that is changed by hand only"


def put(text: str, pointer: KeyPath, value: object) -> str:
    """Replace the value at a place, or add it there; the index after the last element adds one.

    A table in a list of the file becomes a `[[table]]` at its end.
    """
    lines = _split_lines(text)
    statements = _list_statements(text)
    found = _find_statement(statements, pointer)
    if found is not None:
        return _rewrite(lines, found, pointer, value)
    if _has(statements, pointer):
        # written as a table of its own, or as one key a line
        return put(drop(text, pointer), pointer, value)
    newline = "\r\n" if "\r\n" in text else "\n"
    match pointer, value:
        case (str() as name, int()), Mapping():
            like = [one for one in statements if not one.is_header and one.table[:-1] == (name,)]
            indent = _indent(lines[like[-1].start]) if like else ""
            new = [f"[[{name}]]", *(indent + key_line((key,), one) for key, one in value.items())]
            gap = [""] if lines and lines[-1].strip() else []
            return _insert_lines(lines, len(lines), [*gap, *new], newline=newline)
    tables = [one for one in statements if one.is_header and one.path == pointer[: len(one.path)]]
    table = max(tables, key=lambda one: len(one.path)).path if tables else ()
    rest = pointer[len(table) :]
    if not rest or not isinstance(rest[0], str):
        raise ConfigError(_BY_HAND)
    # beside `env.A = "1"` stands `env.B = "2"`
    size = next(size for size in range(len(rest), 0, -1) if size == 1 or _has(statements, (*table, *rest[: size - 1])))
    inside = [one for one in statements if one.table == table and (not one.is_header or one.path == table)]
    place = max((one.end for one in inside), default=0)
    indent = _indent(lines[inside[-1].start]) if inside else ""
    new = [indent + key_line(rest[:size], nest(rest[size:], value))]
    return _insert_lines(lines, place, new, newline=newline)


def drop(text: str, pointer: KeyPath) -> str:
    """Take a key or a whole table out, a table with the comment right above it."""
    lines = _split_lines(text)
    statements = _list_statements(text)
    header = next((one for one in statements if one.is_header and one.path == pointer), None)
    if header is not None:
        return _remove_table(lines, statements, header)
    gone = [one for one in statements if one.path[: len(pointer)] == pointer]
    for one in reversed(gone):
        del lines[one.start : one.end]
    if gone:
        return "".join(lines)
    found = _find_statement(statements, pointer)
    if found is None:
        raise ConfigError(f"there is nothing at {spell(pointer)}")
    return _rewrite(lines, found, pointer, None)


def _split_lines(text: str) -> list[str]:
    """Split a text where TOML does: nothing but a newline ends a line."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _has(statements: list[_Statement], path: KeyPath) -> bool:
    return any(one.path[: len(path)] == path for one in statements)


def _find_statement(statements: list[_Statement], pointer: KeyPath) -> _Statement | None:
    """Find the key whose value a place is, or is a part of."""
    return next((one for one in statements if not one.is_header and one.path == pointer[: len(one.path)]), None)


def _rewrite(lines: list[str], statement: _Statement, pointer: KeyPath, value: object) -> str:
    """Change the value of one statement; None takes the place out."""
    import tomlkit  # noqa: PLC0415 - only an edit needs it

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
        raise ConfigError(f"there is nothing at {spell(pointer)}") from None
    match owner, last:
        case MutableMapping(), str() if value is None:
            del owner[last]
        case MutableMapping(), str():
            owner[last] = to_item(value)
        case MutableSequence(), int() if value is None and last < len(owner):
            del owner[last]
        case MutableSequence(), int() if last == len(owner):
            owner.append(to_item(value))
        case MutableSequence(), int() if last < len(owner):
            owner[last] = to_item(value)
        case _:
            raise ConfigError(_BY_HAND)
    return "".join((*lines[: statement.start], document.as_string(), *lines[statement.end :]))


def _remove_table(lines: list[str], statements: list[_Statement], header: _Statement) -> str:
    place = statements.index(header)
    size = len(header.path)
    after = next((one for one in statements[place + 1 :] if one.is_header and one.path[:size] != header.path), None)
    end = max(one.end for one in statements[place:] if one.start < (after.start if after else len(lines)))
    limit = _comments_above(lines, after.start, floor=end) if after else len(lines)
    start = header.start
    above = _comments_above(lines, start, floor=statements[place - 1].end if place else 0)
    if above and not lines[above - 1].strip():
        # a comment is the table's own where nothing else could have it: neither the file nor what stands right above
        start = above
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


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _insert_lines(lines: list[str], place: int, new: list[str], *, newline: str) -> str:
    """Put whole lines between others; a file that ended without a newline gets one where the new lines begin."""
    before = "".join(lines[:place])
    edge = newline if before and not before.endswith("\n") else ""
    last = newline if edge == "" or lines[place:] else ""
    return before + edge + newline.join(new) + last + "".join(lines[place:])


def key_line(steps: KeyPath, value: object) -> str:
    """Write a key and its value on one line.

    Raises:
        ConfigError: TOML has no such value.
    """
    import tomlkit  # noqa: PLC0415 - only an edit needs it

    name = tomlkit.key([str(step) for step in steps]).as_string()
    return f"{name} = {to_item(value).as_string()}"


def to_item(value: object, *, multiline: bool = True) -> "Item":
    """Write a value on one line; a text of several lines is one that people can read.

    Raises:
        ConfigError: TOML has no such value.
    """
    import tomlkit  # noqa: PLC0415 - only an edit needs it

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, one in value.items():
            table[str(key)] = to_item(one)
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for one in value:
            array.append(to_item(one))
        return array
    if multiline and isinstance(value, str) and "\n" in value.strip("\n") and not set(value) & set("\r\"'\\"):
        return tomlkit.string(value, multiline=True)
    try:
        return tomlkit.item(value)
    except ValueError:
        raise ConfigError(f"TOML cannot carry {describe(value)}") from None
