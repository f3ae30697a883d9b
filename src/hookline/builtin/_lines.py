"""A shell line in pieces, read without any template in it: its commands, and what stands between them."""

import re
from collections.abc import Iterator
from typing import Final

from hookline.kinds.shell.commands import read
from hookline.kinds.shell.line import Command, Line, TemplateError, Word

LONGEST: Final = 16_384
_MASK: Final = "\0"


def parsed(text: str, *, longest: int = LONGEST) -> Line | None:
    """Read a line as a shell would; None when it cannot be read with certainty, or is longer than that."""
    if len(text) > longest or _MASK in text:
        return None
    try:
        return read(text, ())
    except TemplateError:
        return None


def raw(line: Line, word: Word) -> str:
    """Give a word as it is written."""
    return line.text[word.start : word.end]


def words_of(command: Command) -> Iterator[Word]:
    """Give every word of a command: assignments, the words, and what it is redirected to."""
    yield from command.assignments
    yield from command.words
    for redirect in command.redirects:
        yield redirect.target


def between(line: Line) -> str:
    """Give the line without its words, a zero for each: operators, and all that is not a plain command."""
    pieces: list[str] = []
    position = 0
    words = sorted((word for command in line.commands for word in words_of(command)), key=lambda word: word.start)
    for word in words:
        if word.start >= position:
            pieces += [line.text[position : word.start], _MASK]
            position = word.end
    return "".join([*pieces, line.text[position:]])


# lists, pipes and redirections; no lone & and no parenthesis, comment, continued row, or word of the shell's grammar
PLAIN: Final = re.compile(rf"(?:[ \t\n;{_MASK}]|&&|\|\||\||[0-9]?(?:>>?|<<<|<|>&|<&)|&>>?)*")
