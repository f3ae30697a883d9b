"""Read the options of interpreters and of programs that start other programs, up to where values are plain."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from hookline.kinds.shell.line import Reason, Word
from hookline.kinds.shell.programs import Interpreter, Wrapper
from hookline.kinds.shell.values import Values, assigned, is_option, may_vanish

COMMAND: Final = Reason(
    "would choose the program that runs", "write the program's name out and pass the value as an argument"
)
VANISHING: Final = Reason(
    "stands after an unquoted variable, and takes its place when that is empty", 'quote the variable: "$name"'
)
_WITHOUT_OPTION: Final = "leave that option out, name the program and pass the value as an argument"
STDIN_FILES: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


def program_text(name: str, instead: str) -> Reason:
    """Refuse a value that an interpreter would run."""
    return Reason(f"would become program text for {name}, or choose the program", instead)


def option_like(name: str) -> Reason:
    """Refuse a value that would be an option when it begins with a dash."""
    return Reason(
        f"could be read as an option by {name} and make it run something",
        "write literal text such as ./ before it" + ("" if name == "find" else ", or --"),
    )


class _Kind(Enum):
    FLAG = auto()
    VALUE = auto()
    LOADS = auto()
    CODE = auto()
    OPEN = auto()


class _Option(Struct, frozen=True):
    """An option as written; OPEN when a value completes its name. `takes` words after it belong to it."""

    kind: _Kind
    takes: int = 0


def _read_option(word: Word, spec: Interpreter | Wrapper) -> _Option:
    if word.prefix.startswith("--"):
        return _read_long(word, spec)
    whole = word.literal is not None
    for place, letter in enumerate(word.prefix[1:], start=2):
        # node -pe means -p -e
        glued = not whole or not spec.code.issuperset(word.prefix[place:])
        kind = _kind(letter, spec)
        if kind is not _Kind.FLAG:
            return _Option(kind, 0 if glued else spec.values.get(letter, 1))
    return _Option(_Kind.FLAG if whole else _Kind.OPEN)


def _read_long(word: Word, spec: Interpreter | Wrapper) -> _Option:
    name, equals, _ = word.prefix[2:].partition("=")
    if word.literal is None and not equals:
        return _Option(_Kind.OPEN)
    kind = _kind(name, spec)
    if kind is _Kind.FLAG and name not in spec.values:
        # long options may be shortened
        longer = (_kind(full, spec) for full in (*spec.code, *spec.loads) if len(full) > 1 and full.startswith(name))
        kind = next(longer, kind)
    takes = 0 if equals or kind is _Kind.FLAG else spec.values.get(name, 1)
    return _Option(kind, takes)


def _kind(name: str, spec: Interpreter | Wrapper) -> _Kind:
    if name in spec.code:
        return _Kind.CODE
    if name in spec.loads:
        return _Kind.LOADS
    return _Kind.VALUE if name in spec.values else _Kind.FLAG


def asks_for_code(word: Word, spec: Interpreter) -> bool:
    """Say whether a word is the option after which an interpreter's program text comes."""
    if not is_option(word):
        return False
    shell_flag = not spec.code and "c" in word.prefix and not word.prefix.startswith("--")
    return shell_flag or _read_option(word, spec).kind is _Kind.CODE


class InterpreterWords:
    """Reads an interpreter's words and refuses values before and in its program text."""

    def __init__(self, values: Values, name: str, *, spec: Interpreter) -> None:
        self.has_program = False
        self.reads_stdin = False
        self._values = values
        self._name = name
        self._spec = spec
        self._options = True
        self._over = False

    def read(self, arguments: Sequence[Word]) -> None:
        """Read all words that are not plain."""
        place = 0
        while place < len(arguments) and not self._over:
            used = self._take(arguments[place : place + 3])
            if any(map(may_vanish, arguments[place + 1 : place + used])):
                self._values.keep_out(arguments[place:], VANISHING)
            place += used

    def _take(self, following: Sequence[Word]) -> int:
        """Read the next word; give how many words were used up."""
        word = following[0]
        if self._options and word.literal == "--":
            self._options = False
            self._over = self.has_program
        elif self._options and is_option(word):
            return self._take_option(following)
        elif may_vanish(word) and not self._values.within(word):
            pass  # the next word may take its place
        elif word.literal not in self._spec.subcommands or self.has_program:
            self._take_operand(word)
        return 1

    def _take_option(self, following: Sequence[Word]) -> int:
        word, spec = following[0], self._spec
        option = _read_option(word, spec)
        belonging = following[1 : 1 + option.takes]
        if option.kind is not _Kind.VALUE:
            self._values.keep_out((word, *belonging), program_text(self._name, spec.instead))
        if option.kind is _Kind.CODE:
            missing = len(belonging) < option.takes or any(given.literal in STDIN_FILES for given in belonging)
            self.has_program = True
            self.reads_stdin = self.reads_stdin or missing
            self._over = spec.ends
        if not word.prefix.startswith("--") and spec.stdin_flags & set(word.prefix[1:]):
            self.reads_stdin = True
        return 1 + option.takes

    def _take_operand(self, word: Word) -> None:
        spec = self._spec
        if not self.has_program and spec.operand:
            self._values.keep_out((word,), program_text(self._name, spec.instead))
            self.has_program = True
            self.reads_stdin = self.reads_stdin or word.literal in STDIN_FILES
        elif self._options and not word.prefix and not spec.inert:
            self._values.keep_out((word,), option_like(self._name))
        self._over = spec.operand and not spec.permutes


class WrapperWords:
    """Reads a wrapper's own words and finds the program that it starts.

    `rest` are that program's words; None when there is none. `plain` says that the wrapper was not asked to
    start anything.
    """

    def __init__(self, values: Values, name: str, *, spec: Wrapper) -> None:
        self.rest: Sequence[Word] | None = None
        self.plain = False
        self.replaced = ""
        self._values = values
        self._name = name
        self._spec = spec
        self._lead = spec.lead
        self._inside = not spec.through
        self._options = True

    def read(self, arguments: Sequence[Word]) -> None:
        """Read up to the program that is started."""
        place = 0
        while place < len(arguments) and self.rest is None and not self.plain:
            word = arguments[place]
            if self._options and word.literal == "--":
                self._options = False
            elif self._options and is_option(word):
                place += self._take_option(word, arguments, following=arguments[place + 1 : place + 2])
            elif word.literal == "-" or (self._spec.assigns and assigned(word)):
                pass  # assignments are judged like all others
            elif not may_vanish(word) or self._lead or self._values.within(word):
                self._take_operand(word, arguments[place:])
            place += 1

    def _take_option(self, word: Word, arguments: Sequence[Word], *, following: Sequence[Word]) -> int:
        spec = self._spec
        option = _read_option(word, spec)
        if option.kind is _Kind.CODE:
            self._values.keep_out(arguments, program_text(self._name, _WITHOUT_OPTION))
        if option.kind is _Kind.OPEN:
            self._values.keep_out((word,), option_like(self._name))
        if spec.asks & set(word.prefix[1:]):
            self.plain = True
        if option.takes and any(map(may_vanish, following)):
            self._values.keep_out(arguments, VANISHING)
        self._note_replacement(word.prefix, following)
        return option.takes

    def _note_replacement(self, option: str, following: Sequence[Word]) -> None:
        """Remember the text that xargs replaces by what it reads."""
        name, _, given = option.lstrip("-").partition("=")
        if not option.startswith("--"):
            name, given = name[:1], option[2:]
        if name in self._spec.replaces:
            separate = following[0].literal if following and name in self._spec.values else ""
            self.replaced = given or separate or "{}"

    def _take_operand(self, word: Word, rest: Sequence[Word]) -> None:
        through = self._spec.through
        if word.literal is not None and word.literal in through:
            self._lead, self._inside = through[word.literal], True
        elif not self._inside:
            self._values.keep_out((word,), COMMAND)
            self.plain = True
        elif self._lead:
            self._values.keep_from_leading((word,) if self._options else (), option_like(self._name))
            self._lead -= 1
        else:
            self.rest = rest
