"""Fill `{{name}}` in command lines so that nothing can be injected.

A value never becomes a part of the program text. The script refers to shell variables, which a fixed prologue sets
from the arguments of the shell, or, when they are too long for an argument, from descriptor 3.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline import wire
from hookline.kinds.shell.commands import read
from hookline.kinds.shell.line import Line, Mark, Place, Quoting, Reason, TemplateError
from hookline.kinds.shell.risks import check

__all__ = ["BoundLine", "ShellTemplate", "TemplateError", "compile_line", "fill", "has_template", "show"]

# Linux takes 128 KiB in one argument and a quarter of the stack in all, with the environment.
LONGEST_ARGUMENT: Final = 64 * 1024
LONGEST_ARGUMENTS: Final = 512 * 1024

_TEMPLATE: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*(?:\.[\w-]+)*)[ \t]*\}\}")
# These end Go's own blocks, as in docker ps --format '{{range .Ports}}…{{end}}'.
_GO_KEYWORDS: Final = frozenset(("end", "else", "break", "continue"))
_LONGEST_INDEX: Final = 9

_VARIABLE: Final = "__hookline_"
_RECORD_END: Final = "\x1e"
# printf %b turns these back; the two besides the backslash and the record's end are special inside bash
_ENCODED: Final = ((b"\\", b"\\\\"), (b"\x1e", b"\\0036"), (b"\x01", b"\\0001"), (b"\x7f", b"\\0177"))
# no argument can hold NUL; the surrogates left out here stand for bytes that are no UTF-8, as in file names
_UNSENDABLE: Final = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_IN_SCRIPT: Final = {
    Quoting.BARE: '"${%s}"',
    Quoting.SINGLE: "'\"${%s}\"'",
    Quoting.DOUBLE: "${%s}",
}
_RESERVED: Final = Reason(f"uses {_VARIABLE}, which holds the templates' values", "use a name of your own")
_ZERO: Final = Reason("is a NUL character, which ends every program's arguments", "leave it out")


class BoundLine(Struct, frozen=True):
    """A line with its values, to be run as `sh -c script hookline *arguments`.

    When `long_values` is not empty, the child must be able to read these bytes, and then the end of the file,
    on descriptor 3. All texts can be encoded with UTF-8 and `surrogateescape`.
    """

    script: str
    arguments: tuple[str, ...] = ()
    long_values: bytes = b""


class ShellTemplate(Struct, frozen=True):
    """A line that was read and found safe; `paths` are its variables, `body` is the line that refers to them."""

    body: str
    paths: tuple[tuple[str, ...], ...] = ()

    def bind(self, values: Mapping[str, object]) -> BoundLine:
        """Give the line its values."""
        if not self.paths:
            return BoundLine(self.body)
        texts = [_text(values, path) for path in self.paths]
        long = _too_long(texts)
        script = _prologue(len(texts), long) + self.body
        short = tuple(text for index, text in enumerate(texts) if index not in long)
        return BoundLine(script, short, b"".join(_record(texts[index]) for index in long))


def has_template(text: str) -> bool:
    """Say whether there is anything to fill in."""
    return next(_marks(text), None) is not None


def compile_line(line: str) -> ShellTemplate:
    """Read a shell line once, when it is loaded.

    Raises:
        TemplateError: A template stands where its value could not be kept one plain word.
    """
    checked = _checked(line)
    return _compiled(checked) if checked is not None else ShellTemplate(line)


def show(line: str, values: Mapping[str, object]) -> str:
    """Give the line with its values quoted into it, for people to read or to paste. What runs is never made of this.

    Raises:
        TemplateError: A template stands where no quoting makes it safe.
    """
    checked = _checked(line)
    if checked is None:
        return line
    parts: list[str] = []
    end = 0
    for place in checked.places:
        text = _text(values, place.mark.path)
        parts += (line[end : place.mark.start], _QUOTED[place.quoting](text))
        end = place.mark.end
    return "".join((*parts, line[end:]))


def _checked(line: str) -> Line | None:
    """Read a line and judge its templates; None when it has none."""
    marks = tuple(_marks(line))
    if not marks:
        return None
    for text, reason in ((_VARIABLE, _RESERVED), ("\0", _ZERO)):
        if text in line:
            raise TemplateError(repr(text), reason, text=line, position=line.index(text))
    read_line = read(line, marks)
    if not read_line.places:
        return None
    check(read_line)
    return read_line


def _in_single_quotes(text: str) -> str:
    return text.replace("'", "'\\''")


def _in_double_quotes(text: str) -> str:
    # an interactive shell looks for "!" between double quotes, too, and no backslash helps
    return re.sub(r'[\\$"`]', r"\\\g<0>", text).replace("!", "\"'!'\"")


_QUOTED: Final[Mapping[Quoting, Callable[[str], str]]] = MappingProxyType(
    {Quoting.BARE: shlex.quote, Quoting.SINGLE: _in_single_quotes, Quoting.DOUBLE: _in_double_quotes}
)


def fill(
    text: str,
    values: Mapping[str, object],
    *,
    unknown: list[str] | None = None,
    mark: Callable[[str, str], str] | None = None,
) -> str:
    """Fill in one argument of a program, or a prompt. No shell may ever read the result.

    A name without a value becomes nothing; where `unknown` is given, it stays as it is and is put there. `mark` makes
    of a name and its value what is put there.
    """
    parts: list[str] = []
    end = 0
    for place in _marks(text):
        name = ".".join(place.path)
        parts.append(text[end : place.start])
        if unknown is not None and _look_up(values, place.path) is None:
            unknown.append(name)
            parts.append(text[place.start : place.end])
        else:
            value = _text(values, place.path)
            parts.append(mark(name, value) if mark is not None else value)
        end = place.end
    return "".join((*parts, text[end:]))


def _marks(text: str) -> Iterator[Mark]:
    for found in _TEMPLATE.finditer(text):
        if found[1] not in _GO_KEYWORDS:
            yield Mark(found.start(), found.end(), tuple(found[1].split(".")))


def _compiled(line: Line) -> ShellTemplate:
    numbers: dict[tuple[str, ...], int] = {}
    parts: list[str] = []
    end = 0
    for place in line.places:
        mark = place.mark
        number = numbers.setdefault(mark.path, len(numbers) + 1)
        parts += (line.text[end : mark.start], _reference(place, number))
        end = mark.end
    return ShellTemplate("".join((*parts, line.text[end:])), tuple(numbers))


def _reference(place: Place, number: int) -> str:
    return _IN_SCRIPT[place.quoting] % f"{_VARIABLE}{number}"


def _prologue(count: int, long: Sequence[int]) -> str:
    """Write the assignments that come before the line, in the same row, so that rows keep their numbers.

    The variables are unset first, since a shell would pass on new values of variables it got from its
    environment. In the end there are no positional parameters, as for any `sh -c line`.
    """
    names = [f"{_VARIABLE}{number}" for number in range(1, count + 1)]
    short = [name for index, name in enumerate(names) if index not in long]
    steps = [f"unset -v {' '.join(names)}"]
    steps += [f"{name}=${{{place}}}" for place, name in enumerate(short, start=1)]
    if long:
        steps += _long_values([names[index] for index in long])
    return "; ".join((*steps, "set --", ""))


def _long_values(names: Sequence[str]) -> list[str]:
    """Write the steps that read long values: exact to the last newline, with `cat` as the only program.

    A line that cannot have its values must not run without them: then it ends with 126.
    """
    steps = [
        f"{_VARIABLE}all=$(cat <&3) || exit 126",
        "exec 3<&-",
        f"{_VARIABLE}ifs=$IFS",
        f"IFS='{_RECORD_END}'",
        "set -f",
        f"set -- ${_VARIABLE}all",
        "set +f",
        f"IFS=${_VARIABLE}ifs",
        f"unset -v {_VARIABLE}all {_VARIABLE}ifs",
        f"[ $# -eq {len(names)} ] || exit 126",
    ]
    for place, name in enumerate(names, start=1):
        # the slash keeps trailing newlines; in no encoding is it a part of another character
        steps += [f"{name}=$(printf '%b/' \"${{{place}}}\")", f"{name}=${{{name}%/}}"]
    return steps


def _record(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    for plain, encoded in _ENCODED:
        raw = raw.replace(plain, encoded)
    return raw + _RECORD_END.encode()


def _too_long(texts: Sequence[str]) -> list[int]:
    """Choose the values that travel on descriptor 3: the long ones, and the longest until the rest is small."""
    sizes = [len(text.encode("utf-8", "surrogateescape")) for text in texts]
    total = sum(sizes)
    chosen: list[int] = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        if sizes[index] <= LONGEST_ARGUMENT and total <= LONGEST_ARGUMENTS:
            break
        chosen.append(index)
        total -= sizes[index]
    return sorted(chosen)


def _text(values: Mapping[str, object], path: Sequence[str]) -> str:
    """Give the text of a value: strings as they are, nothing for what is missing, JSON for the rest."""
    value = _look_up(values, path)
    if value is None:
        return ""
    if not isinstance(value, str):
        value = _json(value)
    return _UNSENDABLE.sub(lambda found: "\ufffd" if ord(found[0]) else "\u2400", value)


def _look_up(values: Mapping[str, object], path: Sequence[str]) -> object:
    value: object = values
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and _is_index(step):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) <= _LONGEST_INDEX


def _json(value: object) -> str:
    raw = wire.dump(dict(value) if isinstance(value, Mapping) else value)
    # times, numbers with units and the like are texts to JSON, and texts are given as they are
    read_back = wire.load(raw) if raw.startswith(b'"') else None
    return read_back if isinstance(read_back, str) else raw.decode()
