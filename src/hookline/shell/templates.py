"""Fill `{{name}}` in command lines so that nothing can be injected.

A value never becomes a part of the program text. The script refers to shell variables, which a fixed prologue sets
from the arguments of the shell, or, when they are too long for an argument, from descriptor 3. `injection` decides
where a template may stand.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from hookline import json_codec
from hookline.errors import ConfigError
from hookline.model.templates import TEMPLATE, find_marks, look_up

# Linux takes 128 KiB in one argument and a quarter of the stack in all, with the environment.
LONGEST_ARGUMENT: Final = 64 * 1024
LONGEST_ARGUMENTS: Final = 512 * 1024

VARIABLE: Final = "__hookline_"
"""The prefix of the shell variables that hold the values."""
_RECORD_END: Final = "\x1e"
# printf %b turns these back; the two besides the backslash and the record's end are special inside bash
_ENCODED: Final = ((b"\\", b"\\\\"), (b"\x1e", b"\\0036"), (b"\x01", b"\\0001"), (b"\x7f", b"\\0177"))
# no argument can hold NUL; the surrogates left out here stand for bytes that are no UTF-8, as in file names
_UNSENDABLE: Final = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")


class Reason(Struct, frozen=True):
    """Why something is refused, and the safe way to write it."""

    why: str
    instead: str


class TemplateError(ConfigError):
    """A template that cannot be filled in safely: what, at which column, why, and how to write it instead."""

    def __init__(self, subject: str, reason: Reason, *, text: str, position: int) -> None:
        self.reason = reason
        self.row = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        place = f"column {self.column}" if "\n" not in text else f"line {self.row}, column {self.column}"
        super().__init__(f"{subject} at {place} of the command {reason.why}; {reason.instead}")


class Quoting(Enum):
    """The quotes around a template."""

    BARE = auto()
    SINGLE = auto()
    DOUBLE = auto()


class Mark(Struct, frozen=True):
    """A template in the text."""

    start: int
    end: int
    path: tuple[str, ...]


class TemplatePosition(Struct, frozen=True):
    """A template that may be filled in, and the quotes around it."""

    mark: Mark
    quoting: Quoting


_RESERVED: Final = Reason(f"uses {VARIABLE}, which holds the templates' values", "use a name of your own")
_ZERO: Final = Reason("is a NUL character, which ends every program's arguments", "leave it out")
IN_SCRIPT: Final = {
    Quoting.BARE: '"${%s}"',
    Quoting.SINGLE: "'\"${%s}\"'",
    Quoting.DOUBLE: "${%s}",
}


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
        """Return the line with its values."""
        if not self.paths:
            return BoundLine(self.body)
        texts = [_find_text(values, path) for path in self.paths]
        long = _choose_long(texts)
        script = _write_prologue(len(texts), long) + self.body
        short = tuple(text for index, text in enumerate(texts) if index not in long)
        return BoundLine(script, short, b"".join(_encode_record(texts[index]) for index in long))


def has_template(text: str) -> bool:
    """Return whether a text has templates."""
    return next(_find_marks(text), None) is not None


def compile_line(line: str) -> ShellTemplate:
    """Read a shell line once, when it is loaded.

    Raises:
        TemplateError: A template stands where its value could not be kept one plain word.
    """
    numbers: dict[tuple[str, ...], int] = {}
    references: list[tuple[Mark, str]] = []
    for position in _find_positions(line):
        number = numbers.setdefault(position.mark.path, len(numbers) + 1)
        references.append((position.mark, IN_SCRIPT[position.quoting] % f"{VARIABLE}{number}"))
    return ShellTemplate(replace_marks(line, references), tuple(numbers))


def show(line: str, values: Mapping[str, object]) -> str:
    """Return the line with its values quoted into it, for people to read or to paste. This text is never run.

    Raises:
        TemplateError: A template stands where no quoting makes it safe.
    """
    positions = _find_positions(line)
    return replace_marks(
        line, [(one.mark, _QUOTE[one.quoting](_find_text(values, one.mark.path))) for one in positions]
    )


def replace_marks(text: str, replacements: Iterable[tuple[Mark, str]]) -> str:
    """Return a text with other texts in the place of templates."""
    parts: list[str] = []
    end = 0
    for mark, replacement in replacements:
        parts += (text[end : mark.start], replacement)
        end = mark.end
    return "".join((*parts, text[end:]))


def _find_positions(line: str) -> Sequence[TemplatePosition]:
    """Return the templates of a line that may be filled in; those in comments stay as they are."""
    marks = tuple(_find_marks(line))
    if not marks:
        return ()
    for text, reason in ((VARIABLE, _RESERVED), ("\0", _ZERO)):
        if text in line:
            raise TemplateError(repr(text), reason, text=line, position=line.index(text))
    from hookline.shell.injection import find_positions  # noqa: PLC0415 - loads a grammar

    return find_positions(line, marks)


_QUOTE: Final[Mapping[Quoting, Callable[[str], str]]] = {
    Quoting.BARE: shlex.quote,
    Quoting.SINGLE: lambda text: text.replace("'", "'\\''"),
    # an interactive shell expands "!" between double quotes, too, and no backslash helps
    Quoting.DOUBLE: lambda text: re.sub(r'[\\$"`]', r"\\\g<0>", text).replace("!", "\"'!'\""),
}


def fill(
    text: str,
    values: Mapping[str, object],
    *,
    unknown: list[str] | None = None,
    mark: Callable[[str, str], str] | None = None,
) -> str:
    """Fill in one argument of a program, or a prompt. No shell may ever read the result.

    A name without a value becomes nothing; with `unknown`, it stays as it is and is appended to that list. `mark` returns the
    replacement for a name and its value.
    """
    filled: list[tuple[Mark, str]] = []
    for template in _find_marks(text):
        name = ".".join(template.path)
        if unknown is not None and look_up(values, template.path) is None:
            unknown.append(name)
            continue
        value = _find_text(values, template.path)
        filled.append((template, mark(name, value) if mark is not None else value))
    return replace_marks(text, filled)


def fill_words(words: Sequence[str], values: Mapping[str, object]) -> tuple[str, ...]:
    """Fill in the words of a command that no shell reads; a word that only names a list becomes one word per item."""
    filled: list[str] = []
    for word in words:
        mark = TEMPLATE.fullmatch(word)
        value = look_up(values, mark[1].split(".")) if mark is not None else None
        if isinstance(value, list | tuple):
            filled += (_find_text({"item": item}, ("item",)) for item in value)
        else:
            filled.append(fill(word, values) if "{{" in word else word)
    return tuple(filled)


def spread_lists(line: str, values: Mapping[str, object]) -> str:
    """Rewrite a shell line so that a template that stands between blanks and is a list has one template per item."""
    spread: list[tuple[Mark, str]] = []
    for mark in _find_marks(line):
        value = look_up(values, mark.path)
        around = line[mark.start - 1 : mark.start] + line[mark.end : mark.end + 1]
        if isinstance(value, list | tuple) and not around.strip():
            name = ".".join(mark.path)
            spread.append((mark, " ".join(f"{{{{{name}.{place}}}}}" for place in range(len(value)))))
    return replace_marks(line, spread)


def check_words(words: Sequence[str]) -> None:
    """Judge the templates in the words of a command that no shell reads, as those of a shell line are.

    Raises:
        TemplateError: A template stands where its value would be program text, as behind `bash -c`.
    """
    quoted: list[str] = []
    for word in words:
        parts: list[str] = []
        end = 0
        for mark in find_marks(word):
            parts += (shlex.quote(word[end : mark.start()]) if mark.start() > end else "", mark[0])
            end = mark.end()
        parts.append(shlex.quote(word[end:]) if end < len(word) or not word else "")
        quoted.append("".join(parts))
    compile_line(" ".join(quoted))


def _find_marks(text: str) -> Iterator[Mark]:
    for match in find_marks(text):
        yield Mark(match.start(), match.end(), tuple(match[1].split(".")))


def _write_prologue(count: int, long: Sequence[int]) -> str:
    """Return the assignments that precede the line, without a line break, so that line numbers stay the same.

    The variables are unset first, since a shell exports new values of variables from its environment. In the end there are no
    positional parameters, as for any `sh -c line`.
    """
    names = [f"{VARIABLE}{number}" for number in range(1, count + 1)]
    short = [name for index, name in enumerate(names) if index not in long]
    steps = [f"unset -v {' '.join(names)}"]
    steps += [f"{name}=${{{place}}}" for place, name in enumerate(short, start=1)]
    if long:
        steps += _write_long_values([names[index] for index in long])
    return "; ".join((*steps, "set --", ""))


def _write_long_values(names: Sequence[str]) -> list[str]:
    """Return the steps that read long values, exact to the last newline, with `cat` as the only program.

    The line must not run without its values: it ends with 126 if they cannot be read.
    """
    steps = [
        f"{VARIABLE}all=$(cat <&3) || exit 126",
        "exec 3<&-",
        f"{VARIABLE}ifs=$IFS",
        f"IFS='{_RECORD_END}'",
        "set -f",
        f"set -- ${VARIABLE}all",
        "set +f",
        f"IFS=${VARIABLE}ifs",
        f"unset -v {VARIABLE}all {VARIABLE}ifs",
        f"[ $# -eq {len(names)} ] || exit 126",
    ]
    for place, name in enumerate(names, start=1):
        # the slash keeps trailing newlines; in no encoding is it a part of another character
        steps += [f"{name}=$(printf '%b/' \"${{{place}}}\")", f"{name}=${{{name}%/}}"]
    return steps


def _encode_record(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    for plain, encoded in _ENCODED:
        raw = raw.replace(plain, encoded)
    return raw + _RECORD_END.encode()


def _choose_long(texts: Sequence[str]) -> list[int]:
    """Return the values that are passed on descriptor 3: the long ones, and the longest until the rest is small."""
    sizes = [len(text.encode("utf-8", "surrogateescape")) for text in texts]
    total = sum(sizes)
    chosen: list[int] = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        if sizes[index] <= LONGEST_ARGUMENT and total <= LONGEST_ARGUMENTS:
            break
        chosen.append(index)
        total -= sizes[index]
    return sorted(chosen)


def _find_text(values: Mapping[str, object], path: Sequence[str]) -> str:
    """Return the text of a value: a string unchanged, an empty one for a missing value, JSON for others."""
    value = look_up(values, path)
    if value is None:
        return ""
    if not isinstance(value, str):
        raw = json_codec.dump(dict(value) if isinstance(value, Mapping) else value)
        # JSON writes times and the like as strings, which are passed unchanged
        value = str(json_codec.load(raw)) if raw.startswith(b'"') else raw.decode()
    return _UNSENDABLE.sub(lambda match: "\ufffd" if ord(match[0]) else "\u2400", value)
