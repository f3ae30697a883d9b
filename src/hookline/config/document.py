"""A parsed file with the line of each part, and the problems found in it."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import force_setattr

from hookline.text import printable

KeyPath = tuple[str | int, ...]
Lines = Mapping[KeyPath, int]


def nest(steps: KeyPath, value: object) -> object:
    """Return a value inside the tables and lists that lead to it."""
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def spell(pointer: KeyPath) -> str:
    """Return a pointer as messages have it."""
    return ".".join(str(step) for step in pointer) or "the top of the file"


class Document(Struct, frozen=True):
    """A value read from a file, and the line of each part of it.

    `repeated` names keys that occur twice in one object: all but the last are lost to every JSON reader.
    """

    value: object
    lines: Lines = {}
    repeated: tuple[tuple[KeyPath, int], ...] = ()

    def line_of(self, path: KeyPath) -> int:
        """Return on which line a part stands; for a part without a line of its own, where its owner stands."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return 1


class Severity(StrEnum):
    """How bad a problem is.

    ERROR: something written down is not in force. WARNING: it is in force, but hardly as it was meant.
    NOTE: good to know.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Problem(Struct, frozen=True):
    """One diagnostic about a file; line 0 stands for the file as a whole.

    Messages quote untrusted files, so control characters are escaped. A problem is
    `settled` where no guard is lost because of it: the hook loads all the same, is no guard, or is kept as one that is
    refused.
    """

    path: str
    line: int
    message: str
    severity: Severity = Severity.ERROR
    settled: bool = False

    def __post_init__(self) -> None:
        """Escape control characters in the message."""
        force_setattr(self, "message", printable(self.message))

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{printable(place)}: {self.severity}: {self.message}"
