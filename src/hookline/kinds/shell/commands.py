"""Read the commands of a shell line: lists, pipes, subshells, loops, tests, here-documents.

It follows POSIX and the parts of bash that people use in one-liners, and refuses what dash and bash read differently.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.kinds.shell.line import HERE_DOCUMENT, Command, Line, Mark, Redirect, Shape, Word
from hookline.kinds.shell.words import ASSIGNMENT, Words

_SEPARATOR: Final = re.compile(r";;&|;;|;&|;|&&|&|\|\||\|&|\|")
_REDIRECT: Final = re.compile(r"<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|&>>|&>")
_DESCRIPTOR: Final = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})(?=[<>])", re.ASCII)
_PARENTHESES: Final = re.compile(r"\([ \t]*\)")
_TIME_OPTION: Final = re.compile(r"-p(?=[ \t])")
_TEST_OPERATOR: Final = re.compile(r"&&|\|\||[&|()<>;]")
_FILLERS: Final = frozenset(("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"))


def read(text: str, marks: Sequence[Mark]) -> Line:
    """Read a line with templates.

    Raises:
        TemplateError: A template stands where no quoting can make it safe, or the line cannot be read.
    """
    reader = _Commands(text, marks)
    reader.read_until("")
    words = reader.words
    return Line(
        text, tuple(words.places), tuple(reader.commands), tuple(words.sums), functions=frozenset(reader.functions)
    )


class _HereDocument(Struct, frozen=True):
    delimiter: str
    indented: bool
    quoted: bool


class _Commands:
    """The grammar. A `take_…` method reads one thing and gives what ended the list, or None to go on."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self.words = Words(text, marks, nested=self.take_nested)
        self.commands: list[Command] = []
        self.functions: set[str] = set()
        self.command = Command()
        self.waiting: list[_HereDocument] = []

    def read_until(self, closer: str) -> str:
        """Read commands up to `)`, `;;` or the end; give what ended them."""
        if self.waiting:
            raise self.words.unreadable()
        self.words.descend()
        outer, self.command = self.command, Command()
        end: str | None = None
        while end is None:
            self.words.skip_blanks()
            end = _STEPS.get(self.words.peek(), _Commands.take_word)(self, closer)
        self.command = outer
        self.words.ascend()
        return end

    def take_nested(self) -> None:
        self.read_until(")")

    def finish(self) -> None:
        command = self.command
        if command.words or command.assignments or command.redirects:
            self.commands.append(command)
        self.command = Command()

    def skip_rows(self) -> None:
        """Skip blanks, newlines and comments inside a compound command."""
        self.words.skip_blanks()
        while self.words.sees("\n", "#"):
            if self.waiting:
                raise self.words.unreadable()
            if self.words.peek() == "#":
                self.words.skip_comment()
            else:
                self.words.position += 1
            self.words.skip_blanks()

    def take_end(self, closer: str) -> str | None:
        if closer or self.waiting:
            raise self.words.unreadable()
        self.finish()
        return ""

    def take_newline(self, _closer: str) -> str | None:
        self.finish()
        self.words.position += 1
        start = self.words.position
        for document in self.waiting:
            self.skip_here_document(document)
        self.waiting.clear()
        self.words.keep_out(start, self.words.position, reason=HERE_DOCUMENT)
        return None

    def skip_here_document(self, document: _HereDocument) -> None:
        words, continued = self.words, False
        while words.position < len(words.text):
            start = words.position
            words.skip_comment()  # to the end of the row
            row = words.text[start : words.position]
            words.position += 1
            if not continued and (row.lstrip("\t") if document.indented else row) == document.delimiter:
                words.position = min(words.position, len(words.text))
                return
            backslashes = len(row) - len(row.rstrip("\\"))
            continued = not document.quoted and backslashes % 2 == 1
        raise words.unreadable()

    def take_comment(self, _closer: str) -> str | None:
        self.words.skip_comment()
        return None

    def take_separator(self, closer: str) -> str | None:
        if self.words.sees("&>"):
            return self.take_redirect(closer)
        ends_case = self.words.sees(";;", ";&")
        if ends_case and closer != ";;":
            raise self.words.unreadable()
        self.finish()
        self.words.skip(_SEPARATOR)
        return ";;" if ends_case else None

    def take_open(self, _closer: str) -> str | None:
        """Read a subshell, an arithmetic command, or the parentheses of a function's definition."""
        command, words = self.command, self.words
        if command.shape is not Shape.SIMPLE or command.assignments or command.redirects or len(command.words) > 1:
            raise words.unreadable()
        if command.words:
            if not words.skip(_PARENTHESES):
                raise words.unreadable()
            self.define(command.words[0])
            self.command = Command()
        elif words.sees("(("):
            words.take_sum(2)
        else:
            words.position += 1
            self.take_nested()
        return None

    def take_close(self, closer: str) -> str | None:
        if closer != ")" or self.waiting:
            raise self.words.unreadable()
        self.finish()
        self.words.position += 1
        return ")"

    def define(self, name: Word) -> None:
        if name.literal is None:
            raise self.words.unreadable(name.start)
        self.functions.add(name.literal)

    def take_redirect(self, closer: str) -> str | None:
        words = self.words
        if words.sees("<(", ">("):
            return self.take_word(closer)
        start = words.position
        words.skip(_REDIRECT)
        operator = words.text[start : words.position]
        words.skip_blanks()
        if words.sees("#"):
            raise words.unreadable()
        target = words.word()
        if operator in {"<<", "<<-"}:
            if target.literal is None:
                raise words.unreadable(target.start)
            self.waiting.append(_HereDocument(target.literal, operator == "<<-", target.quoted))
        self.command.redirects.append(Redirect(operator, target))
        return None

    def take_word(self, closer: str) -> str | None:
        """Read one word and say what it is: a descriptor, a reserved word, an assignment, or a word."""
        if self.words.skip(_DESCRIPTOR):
            return self.take_redirect(closer)
        command = self.command
        first = not (command.words or command.assignments or command.redirects) and command.shape is Shape.SIMPLE
        word = self.words.word()
        if first and not word.quoted and word.literal is not None:
            if word.literal in _FILLERS:
                return None
            reserved = _RESERVED.get(word.literal)
            if reserved:
                return reserved(self, closer)
        if command.shape is Shape.LOOP and len(command.words) == 1 and word.literal == "do":
            self.finish()
        elif command.shape is Shape.SIMPLE and not command.words and ASSIGNMENT.match(self.words.text, word.start):
            command.assignments.append(word)
        else:
            command.words.append(word)
        return None

    def take_case(self, _closer: str) -> str | None:
        self.skip_rows()
        head = Command(Shape.CASE, words=[self.words.word()])
        self.commands.append(head)
        self.skip_rows()
        if self.words.word().literal != "in":
            raise self.words.unreadable()
        end = ";;"
        while end == ";;":
            self.skip_rows()
            end = self.read_until(";;") if self.take_pattern(head) else "esac"
        return None

    def take_pattern(self, head: Command) -> bool:
        """Read `a | b)`; give False when there is `esac` instead."""
        words = self.words
        if words.sees("("):
            words.position += 1
            words.skip_blanks()
        while True:
            word = words.word()
            if word.literal == "esac" and not word.quoted:
                return False
            head.words.append(word)
            words.skip_blanks()
            closed = words.sees(")")
            if not closed and not words.sees("|"):
                raise words.unreadable()
            words.position += 1
            if closed:
                return True
            words.skip_blanks()

    def take_esac(self, closer: str) -> str | None:
        if closer != ";;" or self.waiting:
            raise self.words.unreadable()
        self.finish()
        return "esac"

    def take_loop(self, _closer: str) -> str | None:
        self.words.skip_blanks()
        if self.words.sees("(("):
            self.words.take_sum(2)
        else:
            self.command.shape = Shape.LOOP
        return None

    def take_function(self, _closer: str) -> str | None:
        self.words.skip_blanks()
        self.define(self.words.word())
        self.words.skip_blanks()
        self.words.skip(_PARENTHESES)
        return None

    def take_time(self, _closer: str) -> str | None:
        self.words.skip_blanks()
        self.words.skip(_TIME_OPTION)
        return None

    def take_coproc(self, _closer: str) -> str | None:
        raise self.words.unreadable()

    def take_test(self, _closer: str) -> str | None:
        """Read `[[ … ]]`; its operators become words."""
        words = self.words
        self.command.shape = Shape.TEST
        while True:
            self.skip_rows()
            start = words.position
            if not words.sees("<(", ">(") and words.skip(_TEST_OPERATOR):
                operator = words.text[start : words.position]
                self.command.words.append(Word(start, words.position, operator, operator))
                continue
            word = words.word()
            if word.literal == "]]" and not word.quoted:
                return None
            self.command.words.append(word)


_Step = Callable[[_Commands, str], str | None]

_STEPS: Final[Mapping[str, _Step]] = MappingProxyType(
    {
        "": _Commands.take_end,
        "\n": _Commands.take_newline,
        "#": _Commands.take_comment,
        ";": _Commands.take_separator,
        "&": _Commands.take_separator,
        "|": _Commands.take_separator,
        "(": _Commands.take_open,
        ")": _Commands.take_close,
        "<": _Commands.take_redirect,
        ">": _Commands.take_redirect,
    }
)
_RESERVED: Final[Mapping[str, _Step]] = MappingProxyType(
    {
        "case": _Commands.take_case,
        "esac": _Commands.take_esac,
        "for": _Commands.take_loop,
        "select": _Commands.take_loop,
        "function": _Commands.take_function,
        "time": _Commands.take_time,
        "coproc": _Commands.take_coproc,
        "[[": _Commands.take_test,
    }
)
