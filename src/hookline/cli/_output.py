"""The only place that prints."""

import math
import select
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, TextIO

from hookline import wire
from hookline.display import LONGEST, escape, sanitize, width
from hookline.errors import StoreError

# what one command may say in one go
_LONGEST_LINE: Final = 100_000

# Stands before what others broke into lines: a line that begins at the margin is ours.
_FURTHER: Final = "  | "

# A cell is to be found at a glance; the whole text is in `show` and in JSON.
_LONGEST_CELL: Final = 200

# One cell that is wider sticks out of its line, and does not push those of all others off the screen.
WIDEST_COLUMN: Final = 60


def printable(text: str, *, longest: int = LONGEST) -> str:
    """Make text of others safe to show: nothing of theirs steers the terminal, and no secret is shown."""
    return sanitize(text, longest=longest)


def counted(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def say(text: str = "", *, masked: bool = True, broken: bool = False) -> None:
    """Print a line for the person; what has to be judged character by character is not masked.

    A text that is `broken` is one of several lines, all of others: it is printed as it is broken.
    """
    shown = printable(text, longest=_LONGEST_LINE) if masked else escape(text)
    _print(shown if broken else _marked(shown), sys.stdout)


def complain(text: str, *, broken: bool = False) -> None:
    """Print a line about what went wrong; see `say`."""
    shown = printable(text)
    _print(shown if broken else _marked(shown), sys.stderr)


def _marked(text: str) -> str:
    return text.replace("\n", f"\n{_FURTHER}")


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


def hand_over(raw: bytes) -> None:
    """Print a part of what somebody wants to keep, which is worth nothing with a part missing.

    Raises:
        BrokenPipeError: Nobody reads it any more.
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


def is_read() -> bool:
    """Say whether somebody may still read what is printed; whoever follows something ends when nobody does."""
    poll = getattr(select, "poll", None)
    if sys.stdout is None or poll is None:
        return sys.stdout is not None
    watched = poll()
    with suppress(OSError, ValueError):
        watched.register(sys.stdout, 0)
        return not any(state & (select.POLLERR | select.POLLNVAL) for _, state in watched.poll(0))
    return True


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with plain columns, which survive a pipe; on a screen that is too narrow, a line for each cell."""
    lines = [list(head), *[[_cell(cell) for cell in row] for row in rows]]
    widths = [min(max(width(line[column]) for line in lines), WIDEST_COLUMN) for column in range(len(head))]
    if sum(widths) + 2 * (len(widths) - 1) > _screen():
        _below_each_other(head, lines[1:])
        return
    for place, line in enumerate(lines):
        padded = (cell + " " * max(columns - width(cell), 0) for cell, columns in zip(line, widths, strict=True))
        say("  ".join(padded).rstrip())
        if place == 0:
            say("  ".join("-" * columns for columns in widths))


def _below_each_other(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for first, *others in rows:
        say(first)
        for name, cell in zip(head[1:], others, strict=True):
            if cell:
                say(f"  {name}: {cell}")


def _screen() -> float:
    """Say how wide a line may be; whoever reads from a pipe has no lines to keep to."""
    if sys.stdout is None or not sys.stdout.isatty():
        return math.inf
    return shutil.get_terminal_size().columns


def _cell(text: str) -> str:
    return printable(text, longest=_LONGEST_CELL).replace("\n", " ")
