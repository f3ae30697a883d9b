"""The only module that prints: lines, tables and JSON documents, with text of others made safe to show."""

import argparse
import math
import os
import re
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, TextIO, TypeAlias

import msgspec

from hookline import json_codec
from hookline.errors import StoreError
from hookline.model.exchange import FailureKind
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
_SHORTEST_TEXT: Final = 20  # columns that are left of a text that is cut


_MINUTE: Final = 60
_LARGEST: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))

# seconds that a command works before it shows a progress bar
_PATIENCE: Final = 1.0


class TextStyle(StrEnum):
    """How a word looks in a terminal: the number of an SGR sequence."""

    NONE = ""
    BOLD = "1"
    DIM = "2"
    BAD = "31"
    GOOD = "32"
    WARN = "33"


# The words of ours that judge something. Each says in itself what its colour says.
_WORDS: Final[Mapping[str, TextStyle]] = {
    **dict.fromkeys(("ok", "yes", "allow", "approved", "trusted", "program", "on", "100%"), TextStyle.GOOD),
    **dict.fromkeys(("error", "no", "deny", "stop", "block", "broken", "failed", "lost"), TextStyle.BAD),
    **dict.fromkeys(FailureKind, TextStyle.BAD),
    **dict.fromkeys(("warning", "ask", "needs", "changed", "unknown", "unfinished", "becomes"), TextStyle.WARN),
    **dict.fromkeys(("note", "off", "all", "never", "pass", "-"), TextStyle.DIM),
}
_FIRST_WORD: Final = re.compile(r"[\w%-]+")

CellStyle: TypeAlias = TextStyle | Callable[[str], TextStyle]

_color: Final = ContextVar("color", default="auto")


def style_word(text: str) -> TextStyle:
    """Return the style of a text by its first word, such as `deny` or `ok`."""
    found = _FIRST_WORD.match(text.lower())
    return _WORDS.get(found[0], TextStyle.NONE) if found is not None else TextStyle.NONE


def style_result(text: str) -> TextStyle:
    """Return the style of a text by what stands after its last colon, such as `2 minutes ago: deny`."""
    return style_word(text.rpartition(": ")[2])


class Line(NamedTuple):
    """A line for `render`, and words of it that are styled in a terminal, from left to right."""

    text: str
    marks: Sequence[tuple[str, TextStyle]] = ()


class Table(NamedTuple):
    """A table for `render`, with the styles of columns by their heads.

    On a narrow terminal, `optional` columns are left out, the first of them first. `nothing` is printed in place of a table
    without rows.
    """

    head: Sequence[str]
    rows: Iterable[Sequence[str]]
    styles: Mapping[str, CellStyle] = {}
    optional: Sequence[str] = ()
    nothing: str = ""


def set_color(when: str) -> None:
    """Use colours "always", "never", or "auto": if the environment says so, or else in a terminal."""
    _color.set(when)


def has_color(stream: TextIO | None) -> bool:
    """Return whether to use colours on a stream: by `--color`, NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE, in this order."""
    if _color.get() != "auto" or stream is None:
        return _color.get() == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def render(args: argparse.Namespace, value: object, *text: str | Line | Table) -> int:
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
            print_table(item)
        elif isinstance(item, Line):
            print_line(item.text, marks=item.marks)
        else:
            print_line(item)
    return 0


def pluralise(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_line(
    text: str = "", *, masked: bool = True, broken: bool = False, marks: Sequence[tuple[str, TextStyle]] = ()
) -> None:
    """Print a line for the user; with `masked=False` secrets are shown, for text that the user has to judge.

    A `broken` text has several lines, all of others: its line breaks stay, and lines that look like ours are marked.
    """
    shown = sanitize(text, longest=_LONGEST_LINE) if masked else escape(text)
    _print(_paint(_mark_lines(shown, broken=broken), marks), sys.stdout)


def _paint(text: str, marks: Sequence[tuple[str, TextStyle]]) -> str:
    """Style words of a text that is sanitized already, so that no escape sequence of others gets through.

    A word that is not there any more, because it contained a secret or a control character, is not styled.
    """
    if not marks or not has_color(sys.stdout):
        return text
    pieces = []
    for word, style in marks:
        before, there, after = text.partition(sanitize(word, longest=_LONGEST_LINE)) if word else ("", "", "")
        if there:
            pieces += [before, f"\x1b[{style}m{there}\x1b[0m" if style else there]
            text = after
    return "".join([*pieces, text])


def print_piece(text: str) -> None:
    """Print the next piece of a text that comes bit by bit."""
    _print(sanitize(text, longest=_LONGEST_LINE), sys.stdout, end="")


def print_error(text: str, *, broken: bool = False) -> None:
    """Print a line on stderr; see `print_line`."""
    _print(_mark_lines(sanitize(text), broken=broken), sys.stderr)


def _mark_lines(text: str, *, broken: bool) -> str:
    if broken:
        return _OWN_LINE.sub(lambda line: f"{_CONTINUATION}{line[0]}", text)
    return text.replace("\n", f"\n{_CONTINUATION}")


def _print(text: str, stream: TextIO | None, *, end: str = "\n") -> None:
    """Print if possible: a closed or full stream must not change the command's answer."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), end=end, file=stream, flush=True)


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
        discard_output(sys.stdout)
        raise StoreError(f"cannot write to stdout: {getattr(problem, 'strerror', None) or problem}") from None


def discard_output(stream: TextIO) -> None:
    """Send what a stream could not write nowhere: the interpreter would try again at its end, and change the exit code."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


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


def print_table(table: Table) -> None:
    """Print a table with plain columns, or one line for each cell if the terminal is too narrow."""

    def mark(column: str, cell: str) -> tuple[str, TextStyle]:
        style = table.styles.get(column, TextStyle.NONE)
        return cell, style if isinstance(style, TextStyle) else style(cell)

    head = list(table.head)
    lines = [head, *([sanitize(cell, longest=_LONGEST_CELL).replace("\n", " ") for cell in row] for row in table.rows)]
    if table.nothing and not lines[1:]:
        print_line(table.nothing)
        return
    fitting = _fit_columns(lines, table.optional)
    if fitting is None:
        for first, *others in lines[1:]:
            print_line(first, marks=[(first, TextStyle.BOLD)])
            for name, cell in zip(head[1:], others, strict=True):
                if cell:
                    print_line(f"  {name}: {cell}", marks=[(f"{name}:", TextStyle.DIM), mark(name, cell)])
        return
    lines, widths = fitting
    left_out = [name for name in head if name not in lines[0]]
    head = lines[0]
    for number, line in enumerate(lines):
        padded = [
            cell + " " * max(columns - count_columns(cell), 0) for cell, columns in zip(line, widths, strict=True)
        ]
        # a cell is looked for behind the one before it, so that its style cannot go to another one
        marks = [mark(name, cell) for name, cell in zip(head, line, strict=True)]
        print_line("  ".join(padded).rstrip(), marks=marks if number else [(cell, TextStyle.BOLD) for cell in head])
        if number == 0:
            print_line("  ".join("-" * columns for columns in widths))
    if left_out:
        note = f"(a wider terminal, or --json, also shows: {', '.join(left_out)})"
        print_line(note, marks=[(note, TextStyle.DIM)])


def _fit_columns(lines: Sequence[list[str]], optional: Sequence[str]) -> tuple[list[list[str]], list[int]] | None:
    """Return the lines of a table as far as the terminal has columns for them, and their widths; None if it has too few.

    Optional columns are left out until the others fit, where the last one may be cut.
    """
    kept, room = list(range(len(lines[0]))), get_line_width()
    widths = [min(max(count_columns(line[column]) for line in lines), WIDEST_COLUMN) for column in kept]

    def get_surplus() -> float:
        return sum(widths[column] for column in kept) + 2 * (len(kept) - 1) - room

    last = kept[-1]
    cuttable = max(widths[last] - _SHORTEST_TEXT, 0) if optional else 0
    for name in optional:
        if get_surplus() <= cuttable:
            break
        kept.remove(lines[0].index(name))
    surplus = get_surplus()
    if surplus > cuttable:
        return None
    if surplus > 0:
        widths[last] -= int(surplus)
        for line in lines:
            if count_columns(line[last]) > widths[last]:
                line[last] = f"{line[last][: widths[last] - 1]}…"
    return [[line[column] for column in kept] for line in lines], [widths[column] for column in kept]


def print_fields(
    fields: Iterable[tuple[str, str]],
    *,
    indent: str = "",
    column: int = 0,
    styles: Mapping[str, CellStyle] | None = None,
) -> None:
    """Print labelled texts below each other, without those that are empty; `styles` are those of texts by their labels."""
    shown = [(label, text) for label, text in fields if text]
    column = column or max((len(label) for label, _ in shown), default=0)
    for label, text in shown:
        style = (styles or {}).get(label, TextStyle.NONE)
        for number, line in enumerate(text.splitlines()):
            marks = [(label if number == 0 else "", TextStyle.DIM)]
            marks.append((line, style if isinstance(style, TextStyle) else style(line)))
            print_line(f"{indent}{label if number == 0 else '':<{column}}  {line}", marks=marks)


class ProgressBar:
    """Counts what a command has done; the bar is drawn on stderr once the command has worked for a second."""

    def __init__(self, total: int, label: str) -> None:
        self._total, self._label = total, label
        self._done = 0
        self._is_over = False
        self._lock = threading.Lock()
        self._draw: Callable[[int, int, str], None] = lambda _done, _total, _label: None
        self._erase: Callable[[], None] = lambda: None
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True

    def start(self) -> None:
        """Wait for the moment at which the bar is drawn."""
        self._timer.start()

    def advance(self, label: str = "", *, done: int | None = None, total: int | None = None) -> None:
        """Count one more, or set what was done and what there is; `label` names what is being done now."""
        with self._lock:
            self._done = self._done + 1 if done is None else done
            self._total = max(self._total if total is None else total, self._done)
            self._label = label or self._label
            self._draw(self._done, self._total, self._label)

    def stop(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            self._erase()

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - most commands end before a bar is shown
        from rich.progress import Progress  # noqa: PLC0415 - as above

        with self._lock:
            if self._is_over:
                return
            bar = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
            task = bar.add_task(_to_markup(self._label), total=self._total, completed=self._done)
            self._draw = lambda done, total, label: bar.update(
                task, completed=done, total=total, description=_to_markup(label)
            )
            self._erase = bar.stop
            bar.start()


def _to_markup(label: str) -> str:
    return sanitize(label).replace("\n", " ").replace("[", "\\[")


@contextmanager
def progress(total: int, label: str, *, args: argparse.Namespace | None = None) -> Iterator[ProgressBar]:
    """Show a progress bar on stderr while a command works, from its second second on; remove it at the end.

    Nothing is shown where stderr is no terminal, or if `args` say `--json`.
    """
    bar = ProgressBar(total, label)
    is_shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if not is_shown or getattr(args, "json", False):
        yield bar
        return
    bar.start()
    try:
        yield bar
    finally:
        bar.stop()


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


def format_time(args: argparse.Namespace, at: float) -> str:
    """Format a time for a list: how long ago it was, to the second, or the time of the clock with `--absolute`."""
    if args.absolute:
        return format_clock(at)
    past = int(time.time() - at)
    return f"{pluralise(past, 'second')} ago" if 0 < past < _MINUTE else format_ago(at)


def format_span(seconds: float) -> str:
    """Format a duration."""
    if seconds < 1e-3:  # noqa: PLR2004 - a millisecond
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
