"""Read the words of a shell line: quoting, expansions, and the templates among them.

The reader is strict: what it cannot read with certainty, in dash and in bash alike, it refuses. A wrong guess could
still not turn a value into program text, because values never enter the script; it could only split a word.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from hookline.kinds.shell.line import (
    AFTER_DOLLAR,
    ARITHMETIC,
    ARRAY,
    BACKTICKS,
    DOLLAR_QUOTE,
    ESCAPED,
    PARAMETER,
    UNREADABLE,
    Mark,
    Place,
    Quoting,
    Reason,
    Sum,
    TemplateError,
    Word,
)

# Each level costs a handful of Python frames; nobody nests forty substitutions by hand.
MAX_DEPTH: Final = 40

IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
# shells know three blanks; all other white space is text
_PLAIN: Final = re.compile(r"(?:[^\s;&|()<>'\"\\$`{*?\[]|[^\S \t\n])+")
_PLAIN_IN_DOUBLE: Final = re.compile(r"[^\"\\$`{]+")
_PLAIN_IN_BACKTICKS: Final = re.compile(r"[^`\\]*")
_PLAIN_IN_BRACES: Final = re.compile(r"[^'\"\\`${}\n]*")
# without comments and here-documents, which dash would see, because to it ((…)) is a subshell in a subshell
_PLAIN_IN_SUM: Final = re.compile(r"(?:[\w \t\n+\-*/%>=!&|^~?:,]|<(?!<))*", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_BRACED: Final = re.compile(r"\$\{([#!]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])", re.ASCII)
_SUBSCRIPT: Final = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_DEFAULT: Final = re.compile(r":[-=?+]")
# [ and [[ alone are programs, all other brackets name files
_TEST: Final = re.compile(r"\[\[?(?=[\s;&|()<>]|$)")
_SPECIAL_IN_DOUBLE: Final = frozenset('$`"\\\n')


class _Draft(Struct):
    """A word in the making; None stands for a part that is only known at run time.

    `brace` is the place of the first part after which a comma would make it a list, as in {a,b}.
    """

    parts: list[str | None] = field(default_factory=list)
    brace: int | None = None
    splits: bool = False
    quoted: bool = False


class Words:
    """A place in a line, and the reading of words from there; `nested` reads the commands of a `$(…)`."""

    def __init__(self, text: str, marks: Sequence[Mark], *, nested: Callable[[], None]) -> None:
        self.text = text
        self.position = 0
        self.places: list[Place] = []
        self.sums: list[Sum] = []
        self._names: list[str] = []
        self._marks: Mapping[int, Mark] = {mark.start: mark for mark in marks}
        self._starts = [mark.start for mark in marks]
        self._nested = nested
        self._depth = 0

    def peek(self, offset: int = 0) -> str:
        """Give the character here, or nothing at the end."""
        place = self.position + offset
        return self.text[place : place + 1]

    def sees(self, *texts: str) -> bool:
        """Say whether one of these texts stands here."""
        return self.text.startswith(texts, self.position)

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Go past a pattern, if it stands here."""
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found is not None

    def skip_blanks(self) -> None:
        """Go to where the next word or operator stands."""
        self.skip(_BLANKS)

    def skip_comment(self) -> None:
        """Go to the end of the row; a template in a comment stays as it is, since no shell looks at it."""
        end = self.text.find("\n", self.position)
        self.position = len(self.text) if end < 0 else end

    def descend(self) -> None:
        """Count one more level of nesting; `self.ascend()` leaves it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.unreadable()

    def ascend(self) -> None:
        """Leave one level of nesting."""
        self._depth -= 1

    def unreadable(self, position: int | None = None) -> TemplateError:
        """Say that the line cannot be understood from here on."""
        start = min(self.position if position is None else position, max(len(self.text) - 1, 0))
        return TemplateError(f'"{self.text[start : start + 12]}"', UNREADABLE, text=self.text, position=start)

    def keep_out(self, start: int, end: int, *, reason: Reason) -> None:
        """Refuse the first template between two positions."""
        index = bisect_left(self._starts, start)
        if index < len(self._starts) and self._starts[index] < end:
            mark = self._marks[self._starts[index]]
            raise TemplateError(self.text[mark.start : mark.end], reason, text=self.text, position=mark.start)

    def word(self) -> Word:
        """Read one word, which must be there."""
        start, places, names = self.position, len(self.places), len(self._names)
        draft = _Draft()
        while self.position < len(self.text) and self._take_part(draft):
            pass
        if self.position == start:
            raise self.unreadable()
        if self.peek() == "(" and ASSIGNMENT.fullmatch(self.text, start, self.position):
            self._take_array(draft)
        if _SUBSCRIPT.match(self.text, start, self.position):
            self.sums.append(Sum(start, tuple(IDENTIFIER.findall(self.text, start, self.position))))
        marks = tuple(place.mark for place in self.places[places:])
        return _finished(draft, span=(start, self.position), marks=marks, names=tuple(self._names[names:]))

    def take_sum(self, opening: int) -> None:
        """Read arithmetic, whose opening has this many characters, up to its two closing parentheses."""
        start = self.position
        self.position += opening
        first, opened = len(self._names), 0
        identifiers: list[str] = []
        while True:
            before = self.position
            self.skip(_PLAIN_IN_SUM)
            identifiers += IDENTIFIER.findall(self.text, before, self.position)
            if self.sees("))") and not opened:
                break
            match self.peek():
                case "$":
                    self._take_dollar(_Draft(), quoted=True)
                case "(":
                    opened += 1
                    self.position += 1
                case ")" if opened:
                    opened -= 1
                    self.position += 1
                case _:
                    self.keep_out(self.position, self.position + 1, reason=ARITHMETIC)
                    raise self.unreadable()
        self.keep_out(start, self.position, reason=ARITHMETIC)
        self.position += 2
        self.sums.append(Sum(start, (*identifiers, *self._names[first:])))

    def _take_part(self, draft: _Draft) -> bool:
        """Read the next part of a word; give False when the word is over."""
        mark = self._marks.get(self.position)
        start = self.position
        if mark:
            self._fill_in(mark, Quoting.BARE, draft=draft)
        elif self.skip(_PLAIN):
            self._add_plain(self.text[start : self.position], draft)
        elif self.sees("<(", ">("):
            self.position += 2
            self._nested()
            draft.parts.append(None)
        else:
            part = _PARTS.get(self.peek())
            if part is None:
                return False
            part(self, draft)
        return True

    def _fill_in(self, mark: Mark, quoting: Quoting, *, draft: _Draft) -> None:
        self.places.append(Place(mark, quoting))
        self.position = mark.end
        draft.parts.append(None)

    def _add_plain(self, text: str, draft: _Draft) -> None:
        draft.parts.append(text)
        if draft.brace is not None and ("," in text or ".." in text):
            draft.parts[draft.brace] = None
            draft.splits = True

    def _take_brace(self, draft: _Draft) -> None:
        draft.brace = len(draft.parts) if draft.brace is None else draft.brace
        self._take_character(draft)

    def _take_bracket(self, draft: _Draft) -> None:
        start = self.position
        if not draft.parts and self.skip(_TEST):
            draft.parts.append(self.text[start : self.position])
        else:
            self._take_wildcard(draft)

    def _take_wildcard(self, draft: _Draft) -> None:
        draft.parts.append(None)
        draft.splits = True
        self.position += 1

    def _take_character(self, draft: _Draft) -> None:
        draft.parts.append(self.peek())
        self.position += 1

    def _take_array(self, draft: _Draft) -> None:
        start = self.position
        self.descend()
        self.position += 1
        self.skip_blanks()
        while self.peek() != ")":
            self.word()
            self.skip_blanks()
        self.ascend()
        self.position += 1
        self.keep_out(start, self.position, reason=ARRAY)
        draft.parts.append(None)

    def _take_single(self, draft: _Draft) -> None:
        draft.quoted = True
        start = self.position + 1
        end = self.text.find("'", start)
        if end < 0:
            raise self.unreadable()
        index = bisect_left(self._starts, start)
        while index < len(self._starts) and self._starts[index] < end:
            mark = self._marks[self._starts[index]]
            draft.parts.append(self.text[start : mark.start])
            self._fill_in(mark, Quoting.SINGLE, draft=draft)
            start = mark.end
            index += 1
        draft.parts.append(self.text[start:end])
        self.position = end + 1

    def _take_double(self, draft: _Draft) -> None:
        draft.quoted = True
        self.position += 1
        while self.peek() != '"':
            mark = self._marks.get(self.position)
            start = self.position
            if mark:
                self._fill_in(mark, Quoting.DOUBLE, draft=draft)
            elif self.skip(_PLAIN_IN_DOUBLE):
                draft.parts.append(self.text[start : self.position])
            else:
                self._take_in_double(draft)
        self.position += 1

    def _take_in_double(self, draft: _Draft) -> None:
        match self.peek():
            case "":
                raise self.unreadable()
            case "$":
                self._take_dollar(draft, quoted=True)
            case "`":
                self._take_backticks(draft)
            case "\\":
                self.keep_out(self.position + 1, self.position + 2, reason=ESCAPED)
                following = self.peek(1)
                kept = "" if following == "\n" else following
                draft.parts.append(kept if following in _SPECIAL_IN_DOUBLE else "\\" + following)
                self.position += 2
            case _:
                self._take_character(draft)

    def _take_escape(self, draft: _Draft) -> None:
        self.keep_out(self.position + 1, self.position + 2, reason=ESCAPED)
        if self.peek(1) in {"", "\n"}:
            # a word that goes on in the next row: shells differ in what may be torn apart this way
            raise self.unreadable()
        draft.quoted = True
        draft.parts.append(self.peek(1))
        self.position += 2

    def _take_backticks(self, draft: _Draft) -> None:
        start = self.position
        self.position += 1
        self.skip(_PLAIN_IN_BACKTICKS)
        while self.peek() == "\\":
            self.position += 2
            self.skip(_PLAIN_IN_BACKTICKS)
        if self.peek() != "`":
            raise self.unreadable()
        self.position += 1
        self.keep_out(start, self.position, reason=BACKTICKS)
        draft.parts.append(None)
        draft.splits = True

    def _take_bare_dollar(self, draft: _Draft) -> None:
        match self.peek(1):
            case "'":
                self._take_dollar_quote(draft)
            case '"':
                # bash drops the dollar sign, dash keeps it
                draft.parts.append(None)
                self.position += 1
                self._take_double(draft)
            case _:
                self._take_dollar(draft, quoted=False)

    def _take_dollar_quote(self, draft: _Draft) -> None:
        start = self.position
        end = self.text.find("'", start + 2)
        if end < 0 or self.text[end - 1] == "\\":
            # bash goes on after \', dash does not
            raise self.unreadable()
        self.position = end + 1
        self.keep_out(start, self.position, reason=DOLLAR_QUOTE)
        draft.quoted = True
        draft.parts.append(None)

    def _take_dollar(self, draft: _Draft, *, quoted: bool) -> None:
        following = self.position + 1
        self.keep_out(following, following + 1, reason=AFTER_DOLLAR)
        self.descend()
        first, start = len(self._names), self.position
        name = _NAME.match(self.text, following)
        if self.sees("$(("):
            self.take_sum(3)
        elif self.sees("$("):
            self.position += 2
            self._nested()
        elif self.sees("${"):
            self._take_braces(quoted=quoted)
        elif name:
            self._names.append(name[0])
            self.position = name.end()
        elif self.sees("$[", "$\\"):
            # $[…] is arithmetic in bash and text in dash; $\ may tear $( apart at the end of a row
            raise self.unreadable()
        self.ascend()
        if self.position == start:
            self._take_character(draft)
            return
        draft.parts.append(None)
        # "$@" and "${list[@]}" can be no word at all, however quoted
        several = "@" in self._names[first:] or (
            self.text[start + 1] == "{" and "@" in self.text[start : self.position]
        )
        draft.splits = draft.splits or not quoted or several

    def _take_braces(self, *, quoted: bool) -> None:
        """Read `${…}`, of which only the forms without quotes inside mean the same everywhere."""
        start = self.position
        head = _BRACED.match(self.text, start)
        if head is None:
            self.keep_out(start, start + 4, reason=PARAMETER)
            raise self.unreadable()
        self.position = head.end()
        first = len(self._names)
        while self.peek() != "}":
            self.skip(_PLAIN_IN_BRACES)
            if self.peek() == "$":
                self._take_dollar(_Draft(), quoted=quoted)
            elif self.peek() == "\\" and self.peek(1) not in {"", "'", '"', "\n"}:
                self.position += 2
            elif self.peek() != "}":
                self.keep_out(self.position, self.position + 1, reason=PARAMETER)
                raise self.unreadable()
        self.keep_out(start, self.position, reason=PARAMETER)
        evaluated = _evaluated(head[1], head[2], inner=self.text[head.end() : self.position])
        if evaluated is not None:
            self.sums.append(Sum(start, (*evaluated, *self._names[first:])))
        self._names.append(head[2])
        self.position += 1


def _evaluated(sign: str, name: str, *, inner: str) -> Sequence[str] | None:
    """Give the variables whose values `${…}` evaluates instead of only showing them; None when it never does."""
    if sign == "!" or inner.startswith("@"):
        return (name,)
    if inner.startswith("[") or (inner.startswith(":") and not _DEFAULT.match(inner)):
        return IDENTIFIER.findall(inner)
    return None


def _finished(draft: _Draft, *, span: tuple[int, int], marks: tuple[Mark, ...], names: tuple[str, ...]) -> Word:
    parts = draft.parts
    if None not in parts:
        text = "".join(part for part in parts if part)
        return Word(*span, text, text, "", marks, names, splits=draft.splits, quoted=draft.quoted)
    first = parts.index(None)
    last = len(parts) - 1 - parts[::-1].index(None)
    prefix = "".join(part for part in parts[:first] if part)
    suffix = "".join(part for part in parts[last:] if part)
    return Word(*span, None, prefix, suffix, marks, names, splits=draft.splits, quoted=draft.quoted)


_PARTS: Final[Mapping[str, Callable[[Words, _Draft], None]]] = MappingProxyType(
    {  # the class's own table, which can only stand after it
        "{": Words._take_brace,  # noqa: SLF001
        "[": Words._take_bracket,  # noqa: SLF001
        "*": Words._take_wildcard,  # noqa: SLF001
        "?": Words._take_wildcard,  # noqa: SLF001
        "'": Words._take_single,  # noqa: SLF001
        '"': Words._take_double,  # noqa: SLF001
        "\\": Words._take_escape,  # noqa: SLF001
        "$": Words._take_bare_dollar,  # noqa: SLF001
        "`": Words._take_backticks,  # noqa: SLF001
    }
)
