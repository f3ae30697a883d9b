"""What is wrong with a configuration, and where."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import force_setattr


class Severity(StrEnum):
    """How bad a problem is.

    ERROR: something written down is not in force. WARNING: it is in force, but hardly as it was meant.
    NOTE: good to know.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Problem(Struct, frozen=True):
    """One thing to tell the person who wrote a file; line 0 stands for the file as a whole.

    Messages quote what stands in files of strangers, so they carry no character that could forge a screen.
    """

    path: str
    line: int
    message: str
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        """Make the message fit for a screen."""
        force_setattr(self, "message", printable(self.message))

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{printable(place)}: {self.severity}: {self.message}"


def printable(text: str) -> str:
    """Write characters that are no text, such as terminal escapes, as what they are."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
