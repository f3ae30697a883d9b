"""The only module that prints: lines, tables and JSON documents, with text of others made safe to show."""

import argparse
import math
import re
import select
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple, TextIO

import msgspec

from hookline import json_codec
from hookline.errors import StoreError
from hookline.text import count_columns, escape, sanitize

# characters that one command may print in one call
_LONGEST_LINE: Final = 100_000

# Marks the further lines of a text that is not ours: only lines of ours begin at the margin.
_CONTINUATION: Final = "  | "

# how lines of ours begin
_OWN_LINE: Final = re.compile(r"^[ \t]*hookline\b", re.MULTILINE | re.IGNORECASE)

# `show` and `--json` have the whole text.
_LONGEST_CELL: Final = 200

# A wider cell sticks out of its line instead of pushing the columns of all other rows off the screen.
WIDEST_COLUMN: Final = 60


_MINUTE: Final = 60
_LARGEST: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class Table(NamedTuple):
    """A table for `render`."""

    head: Sequence[str]
    rows: Iterable[Sequence[str]]


def render(args: argparse.Namespace, value: object, *text: str | Table) -> int:
    """Print the result of a command: `value` as JSON for programs if `--json` was given, or else `text` for people.

    Returns:
        0, the exit code of a command that succeeded.
    """
    # some actions have no such option
    if getattr(args, "json", False):
        print_json(value)
        return 0
    for item in text:
        if isinstance(item, Table):
            print_table(item.head, item.rows)
        else:
            print_line(item)
    return 0


def pluralise(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_line(text: str = "", *, masked: bool = True, broken: bool = False) -> None:
    """Print a line for the user; with `masked=False` secrets are shown, for text that the user has to judge.

    A `broken` text has several lines, all of others: its line breaks stay, and lines that look like ours are marked.
    """
    shown = sanitize(text, longest=_LONGEST_LINE) if masked else escape(text)
    _print(_mark_lines(shown, broken=broken), sys.stdout)


def print_error(text: str, *, broken: bool = False) -> None:
    """Print a line on stderr; see `print_line`."""
    _print(_mark_lines(sanitize(text), broken=broken), sys.stderr)


def _mark_lines(text: str, *, broken: bool) -> str:
    if broken:
        return _OWN_LINE.sub(lambda line: f"{_CONTINUATION}{line[0]}", text)
    return text.replace("\n", f"\n{_CONTINUATION}")


def _print(text: str, stream: TextIO | None) -> None:
    """Print if possible: a closed or full stream must not change the command's answer."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


def print_json(value: object) -> None:
    """Print one JSON document, indented."""
    text = msgspec.json.format(json_codec.dump(value), indent=2).decode()
    print_bytes(escape_json(text).encode() + b"\n")


def to_json_line(value: object) -> bytes:
    """Return a JSON document on one line."""
    return escape_json(json_codec.dump(value).decode()).encode() + b"\n"


def escape_json(text: str) -> str:
    """Escape characters of a JSON document that could control a terminal; no value changes."""
    if text.isascii() and "\x7f" not in text:
        return text

    def escape_char(char: str) -> str:
        units = char.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))

    return "".join(char if char == "\n" or char.isprintable() else escape_char(char) for char in text)


def print_bytes(raw: bytes) -> None:
    """Print bytes unchanged, for a program that reads them."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()


def write_bytes_exact(raw: bytes) -> None:
    """Print a part of a document that is useless with a part missing.

    Raises:
        BrokenPipeError: The reader has closed the pipe.
        StoreError: It cannot be written.
    """
    if sys.stdout is None:
        raise StoreError("stdout is closed, so there is nowhere to write to")
    try:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        raise StoreError(f"cannot write to stdout: {getattr(problem, 'strerror', None) or problem}") from None


def has_reader() -> bool:
    """Return whether stdout may still have a reader; a command that follows a file ends without one."""
    poll = getattr(select, "poll", None)
    if sys.stdout is None or poll is None:
        return sys.stdout is not None
    watched = poll()
    with suppress(OSError, ValueError):
        watched.register(sys.stdout, 0)
        return not any(state & (select.POLLERR | select.POLLNVAL) for _, state in watched.poll(0))
    return True


def get_line_width() -> float:
    """Return the columns of the terminal; infinite for a pipe."""
    if sys.stdout is None or not sys.stdout.isatty():
        return math.inf
    return shutil.get_terminal_size().columns


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with plain columns, or one line for each cell if the terminal is too narrow."""
    cells = [[sanitize(cell, longest=_LONGEST_CELL).replace("\n", " ") for cell in row] for row in rows]
    lines = [list(head), *cells]
    widths = [min(max(count_columns(line[column]) for line in lines), WIDEST_COLUMN) for column in range(len(head))]
    if sum(widths) + 2 * (len(widths) - 1) > get_line_width():
        for first, *others in cells:
            print_line(first)
            for name, cell in zip(head[1:], others, strict=True):
                if cell:
                    print_line(f"  {name}: {cell}")
        return
    for number, line in enumerate(lines):
        padded = (
            cell + " " * max(columns - count_columns(cell), 0) for cell, columns in zip(line, widths, strict=True)
        )
        print_line("  ".join(padded).rstrip())
        if number == 0:
            print_line("  ".join("-" * columns for columns in widths))


def print_fields(fields: Iterable[tuple[str, str]], *, indent: str = "", column: int = 0) -> None:
    """Print labelled texts below each other, without those that are empty."""
    shown = [(label, text) for label, text in fields if text]
    column = column or max((len(label) for label, _ in shown), default=0)
    for label, text in shown:
        for number, line in enumerate(text.splitlines()):
            print_line(f"{indent}{label if number == 0 else '':<{column}}  {line}")


def format_clock(at: float) -> str:
    """Format a time in the local time zone."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "at no known time"


def format_ago(at: float) -> str:
    """Format how long ago a time was."""
    past = time.time() - at
    if past < _MINUTE:
        return "just now"
    name, size = next((name, size) for name, size in _LARGEST if past >= size)
    count = int(past // size)
    return f"{count} {name}{'s' if count > 1 else ''} ago"


def format_span(seconds: float) -> str:
    """Format a duration."""
    if seconds < 1e-3:  # noqa: PLR2004 - a millisecond
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
