"""The only place that prints."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, TextIO

from hookline import wire

# Longer texts of hooks are for the trace, not for a screen.
LONGEST: Final = 2000

# marks that reorder what is shown, so that a screen could be made to say what the text does not
_REORDERING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, *, longest: int = LONGEST) -> str:
    """Make text of others safe to show: no control character of theirs reaches the terminal."""
    cut = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return "".join(
        mark if mark == "\n" or (mark.isprintable() and mark not in _REORDERING) else _escaped(mark) for mark in cut
    )


def _escaped(mark: str) -> str:
    return "    " if mark == "\t" else mark.encode("unicode_escape").decode()


def say(text: str = "") -> None:
    """Print a line for the person."""
    _print(printable(text, longest=100_000), sys.stdout)


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

    say_bytes(msgspec.json.format(wire.dump(value), indent=2) + b"\n")


def say_bytes(raw: bytes) -> None:
    """Print bytes as they are: a host reads them, not a person."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with plain columns, which survive a pipe."""
    lines = [list(head), *[[printable(cell, longest=200).replace("\n", " ") for cell in row] for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for place, line in enumerate(lines):
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if place == 0:
            say("  ".join("-" * width for width in widths))
