"""Take a shell line apart: its commands, their words, and where they read from and write to.

What is read here with certainty, sh, bash, zsh and fish read in the same way. All else is read as well as it can be,
and marked: a word that a shell puts something in place of, a sign that one of them knows and another does not.
"""

import re
from typing import Final

from msgspec import Struct, field

LONGEST: Final = 65_536

_BLANKS: Final = re.compile(r"[ \t]+")
_SEPARATOR: Final = re.compile(r"&&|\|\||;|\n|\|")
# what separates commands, but not in a way that is followed here
_ODD_SEPARATOR: Final = re.compile(r"\|&|;;&?|;&(?!&)|&(?![&>])|[(){}]|`|\$\(|<\(|>\(|\r")
_HOME: Final = re.compile(r"~(?=[/\s;&|<>]|$)")
_REDIRECT: Final = re.compile(r"([0-9]*)(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|&>>?")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./,:@%+=-]+")
_PATTERN: Final = re.compile(r"[*?\[\]]")
_SINGLE: Final = re.compile(r"'([^']*)'")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# in double quotes a shell looks into these
_LIVE: Final = re.compile(r"[$`\\!]")
# to fish, these do not stand for themselves even in single quotes
_ESCAPES: Final = re.compile(r"\\\\|\\$")
_DELIMITER: Final = re.compile(r"(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[ \t\n;&|<>]|$)")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class Word(Struct, frozen=True):
    """One word after quotes are taken off. With `pattern`, a shell puts names of files in its place."""

    text: str
    certain: bool = True
    pattern: bool = False
    # whether it begins with a person's home folder
    home: bool = False


class Redirect(Struct, frozen=True):
    """Where a command reads from or writes to; `body` is the text of a here-document."""

    operator: str
    target: Word
    body: str = ""


class Command(Struct):
    """One command, and what stands behind it."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    # &&, ||, |, ; or a line break
    then: str = ""


class Line(Struct, frozen=True):
    """The commands of a line, and whether there is nothing else in it."""

    commands: tuple[Command, ...]
    certain: bool


class _Document(Struct, frozen=True):
    """A here-document whose text comes with the next row."""

    command: Command
    place: int
    delimiter: str
    quoted: bool
    indented: bool


def lined(text: str) -> Line:
    """Take a line apart."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.certain = len(text) <= LONGEST and all(sign.isprintable() or sign in "\n\t" for sign in text)
        self.commands: list[Command] = []
        self.command = Command()
        self.waiting: list[_Document] = []

    def read(self) -> Line:
        while self.at < len(self.text):
            self.step()
        self.finish("")
        return Line(tuple(self.commands), self.certain and not self.waiting)

    def step(self) -> None:
        """Take one thing; the first that fits."""
        if self.skip(_BLANKS):
            return
        if self.redirect():
            return
        odd = _ODD_SEPARATOR.match(self.text, self.at)
        if odd is None:
            found = _SEPARATOR.match(self.text, self.at)
            if found is None:
                # to sh, `&>` ends a command, and what stands behind the file is another one
                self.certain &= not any(one.operator.startswith("&") for one in self.command.redirects)
                self.command.words.append(self.word())
                return
        else:
            found, self.certain = odd, False
        self.at = found.end()
        self.finish(found[0])
        if found[0] == "\n":
            self.take_documents()

    def skip(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def finish(self, separator: str) -> None:
        if self.command.words or self.command.redirects:
            self.command.then = separator
            self.commands.append(self.command)
        elif separator not in {"", "\n"}:
            # nothing stands before it, which only some shells take
            self.certain = False
        self.command = Command()

    def redirect(self) -> bool:
        """Take a redirection with its target."""
        found = None if _ODD_SEPARATOR.match(self.text, self.at) else self.skip(_REDIRECT)
        if found is None:
            return False
        operator = found[2] or found[0]
        # a descriptor has one digit to sh and zsh, and more of them are a word
        self.certain &= len(found[1] or "") <= 1
        self.skip(_BLANKS)
        if operator in {"<<", "<<-"}:
            self.document(operator)
            return True
        self.command.redirects.append(Redirect(operator, self.word()))
        return True

    def document(self, operator: str) -> None:
        found = self.skip(_DELIMITER)
        if found is None:
            self.certain = False
            self.command.redirects.append(Redirect(operator, self.word()))
            return
        self.command.redirects.append(Redirect(operator, Word(found[2])))
        place = len(self.command.redirects) - 1
        self.waiting.append(_Document(self.command, place, found[2], bool(found[1]), operator == "<<-"))

    def take_documents(self) -> None:
        for document in self.waiting:
            rows: list[str] = []
            while True:
                end = self.text.find("\n", self.at)
                row = self.text[self.at :] if end < 0 else self.text[self.at : end]
                self.at = len(self.text) if end < 0 else end + 1
                if (row.lstrip("\t") if document.indented else row) == document.delimiter:
                    break
                rows.append(row)
                if end < 0:
                    self.certain = False
                    break
            body = "\n".join(rows)
            if not document.quoted and _LIVE.search(body.replace("!", "")):
                self.certain = False
            document.command.redirects[document.place] = Redirect("<<", Word(document.delimiter), body)
        self.waiting.clear()

    def word(self) -> Word:
        """Take one word; it ends at a blank, or at a sign that stands for itself nowhere."""
        parts: list[str] = []
        certain, pattern, start = True, False, self.at
        home = self.skip(_HOME) is not None
        if home:
            parts.append("~")
        while self.at < len(self.text) and not self.ends():
            text, is_certain, is_pattern = self.piece()
            parts.append(text)
            certain, pattern = certain and is_certain, pattern or is_pattern
        raw = self.text[start : self.at]
        if not raw or raw.startswith(("=", "%", "^")):
            certain = False
        return Word("".join(parts), certain, pattern, home)

    def ends(self) -> bool:
        sign = self.text[self.at]
        return sign in " \t\n;&|<>(){}`\r" or self.text.startswith("$(", self.at)

    def piece(self) -> tuple[str, bool, bool]:
        """Take a part of a word: its text, whether that is certain, and whether it is a pattern."""
        if found := self.skip(_PLAIN):
            return found[0], True, False
        if found := self.skip(_SINGLE):
            return found[1], not _ESCAPES.search(found[1]), False
        if found := self.skip(_DOUBLE):
            live = _LIVE.search(found[1]) is not None
            return _ESCAPED.sub(r"\1", found[1]) if live else found[1], not live, False
        sign = self.text[self.at]
        self.at += 1
        if sign == "\\" and self.at < len(self.text):
            self.at += 1
            # a row that goes on in the next one
            return self.text[self.at - 1].replace("\n", ""), False, False
        if _PATTERN.match(sign):
            return sign, True, True
        return sign, not sign.isascii() and sign.isalnum(), False
