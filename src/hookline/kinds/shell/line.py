"""The words for a shell line with templates: what was read, and why a template is refused."""

from enum import Enum, auto
from typing import Final

from msgspec import Struct, field

from hookline.errors import ConfigError


class Reason(Struct, frozen=True):
    """Why something is refused, and the safe way to say it."""

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


BACKTICKS: Final = Reason("stands inside backticks, which shells parse twice", "write $(…) instead of the backticks")
HERE_DOCUMENT: Final = Reason(
    "stands inside a here-document, whose text is not made of words", "write printf '%s\\n' {{…}} | program"
)
PARAMETER: Final = Reason(
    "stands inside ${…}, where a value can be a pattern or a subscript", "assign it first: x={{…}}; then use ${x…}"
)
ARITHMETIC: Final = Reason(
    "would be evaluated as arithmetic, and bash runs $(…) in a subscript there",
    "compare with [ a -gt b ], or calculate in a program that takes the value as an argument",
)
DOLLAR_QUOTE: Final = Reason("stands inside $'…', which not every shell knows", "use plain '…' or \"…\"")
ESCAPED: Final = Reason(
    "has a backslash before it, which would change the quoting around the value", "leave the backslash out"
)
AFTER_DOLLAR: Final = Reason("has a $ before it, which would make it a variable's name", "write '$' before it")
ARRAY: Final = Reason("stands inside an array, which sh does not know", 'use set -- {{…}} and "$@"')
UNREADABLE: Final = Reason(
    "cannot be read with certainty, so no template of this line can be filled in safely",
    "use a simpler spelling, or move the line into a script that takes the templates as arguments",
)


class Quoting(Enum):
    """What stands around a template."""

    BARE = auto()
    SINGLE = auto()
    DOUBLE = auto()


class Mark(Struct, frozen=True):
    """A template in the text."""

    start: int
    end: int
    path: tuple[str, ...]


class Place(Struct, frozen=True):
    """A template, and the quoting it stands in."""

    mark: Mark
    quoting: Quoting


class Word(Struct, frozen=True):
    """One word of a command.

    `literal` is its text after quote removal, or None when something in it is only known at run time; `prefix`
    and `suffix` are the text before the first and after the last such part. `marks` are the templates in it,
    also inside `$(…)`; `names` the variables. `splits` says that it may become several words or none.
    """

    start: int
    end: int
    literal: str | None
    prefix: str = ""
    suffix: str = ""
    marks: tuple[Mark, ...] = ()
    names: tuple[str, ...] = ()
    splits: bool = False
    quoted: bool = False


class Redirect(Struct, frozen=True):
    """Where a command's input or output goes."""

    operator: str
    target: Word


class Shape(Enum):
    """What a command is."""

    SIMPLE = auto()
    LOOP = auto()
    CASE = auto()
    TEST = auto()


class Command(Struct):
    """One command, or the head of a compound one."""

    shape: Shape = Shape.SIMPLE
    assignments: list[Word] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


class Sum(Struct, frozen=True):
    """Something the shell evaluates: arithmetic, a subscript, an indirection; `names` are the variables in it."""

    start: int
    names: tuple[str, ...]


class Line(Struct, frozen=True):
    """Everything known about a line."""

    text: str
    places: tuple[Place, ...]
    commands: tuple[Command, ...]
    sums: tuple[Sum, ...]
    functions: frozenset[str]
