"""The only place that prints."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, TextIO

from hookline import wire
from hookline.display import LONGEST, escape, exact, sanitize, width

# what one command may say in one go
_LONGEST_LINE: Final = 100_000

# A cell is to be found at a glance; the whole text is in `show` and in JSON.
_LONGEST_CELL: Final = 200


def printable(text: str, *, longest: int = LONGEST) -> str:
    """Make text of others safe to show: nothing of theirs steers the terminal, and no secret is shown."""
    return sanitize(text, longest=longest)


def typed(name: str) -> str:
    """Give a name as it has to be typed after a command: others chose it, and people copy what they are told."""
    word = exact(shlex.quote(name))
    return f"-- {word}" if name.startswith("-") else word


def say(text: str = "", *, masked: bool = True) -> None:
    """Print a line for the person; what has to be judged character by character is not masked."""
    _print(printable(text, longest=_LONGEST_LINE) if masked else escape(text), sys.stdout)


def complain(text: str) -> None:
    """Print a line about what went wrong."""
    _print(printable(text), sys.stderr)


def _print(text: str, stream: TextIO | None) -> None:
    """Print as well as it can be done: whoever cannot be told is no reason to change an answer."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


def say_json(value: object) -> None:
    """Print one JSON document, indented."""
    import msgspec  # noqa: PLC0415 - the indentation is all that is needed of it here

    text = msgspec.json.format(wire.dump(value), indent=2).decode()
    say_bytes(json_escaped(text).encode() + b"\n")


def json_escaped(text: str) -> str:
    """Write characters of a JSON document that a screen would obey as escapes, which changes no value."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(mark if mark == "\n" or mark.isprintable() else _json_escape(mark) for mark in text)


def _json_escape(mark: str) -> str:
    units = mark.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def say_bytes(raw: bytes) -> None:
    """Print bytes as they are: a host reads them, not a person."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with plain columns, which survive a pipe."""
    lines = [list(head), *[[_cell(cell) for cell in row] for row in rows]]
    widths = [max(width(line[column]) for line in lines) for column in range(len(head))]
    for place, line in enumerate(lines):
        padded = (cell + " " * (columns - width(cell)) for cell, columns in zip(line, widths, strict=True))
        say("  ".join(padded).rstrip())
        if place == 0:
            say("  ".join("-" * columns for columns in widths))


def _cell(text: str) -> str:
    return printable(text, longest=_LONGEST_CELL).replace("\n", " ")
