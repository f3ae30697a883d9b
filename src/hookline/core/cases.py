"""Take out of a line the words that a shell only compares with: those of a `case` and between `[[` and `]]`.

They look like names of files, and never are any. A line that cannot be followed is left as it is: rather look for
files that nobody runs than miss one that is run.
"""

import re
from typing import Final

_PIECE: Final = re.compile(
    r"""
    (?P<gap>(?:[ \t]|\\\n)+|(?<![^\s;&|()])\#[^\n]*)
    |(?P<operator>\$\(|[<>]\(|;;&|;[;&]|<<<|<<|[;&|()<>`\n])
    |(?P<word>(?>'[^']*'|"(?>\\.|\$\((?>[^()"]+|"[^"]*")*\)|[^"\\])*"|\\.|\$(?!\()|[^\s;&|()<>`'"\\$])+)
    """,
    re.VERBOSE | re.DOTALL,
)
# behind these words a command begins
_KEYWORDS: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|z|k)?sh")
_OPTION: Final = re.compile(r"-[A-Za-z]*")
_ONE_TEXT: Final = re.compile(r"'[^']*'")
_DEEPEST: Final = 3

# what a line is inside of
_WORD, _PATTERN, _BODY, _TEST, _TICK, _PARENTHESIS = "word", "pattern", "body", "test", "`", ")"
# where nothing but these operators can stand; everywhere else all of them can
_POSSIBLE: Final = {_WORD: frozenset("\n"), _PATTERN: frozenset("|\n")}
_COMPARED: Final = frozenset({_PATTERN, _TEST})
_BEGINS: Final = {"case": _WORD, "[[": _TEST}


class _LostError(Exception):
    """A line is not what it seemed to be."""


def without_patterns(line: str, depth: int = _DEEPEST) -> str:
    """Give a line without the words that are only compared; as it is where that cannot be told."""
    if "case" not in line and "[[" not in line:
        return line
    try:
        return _Line(depth).read(line)
    except _LostError:
        return line


class _Line:
    """A line that is read piece by piece; `_inside` is what is not closed yet."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._inside: list[str] = []
        self._is_start = True
        self._last = ""
        self._shell = ""

    def read(self, line: str) -> str:
        kept: list[str] = []
        place = 0
        while place < len(line):
            found = _PIECE.match(line, place)
            if found is None:
                raise _LostError
            place = found.end()
            kept.append(self._piece(found))
            self._last = found[0]
        if self._inside:
            raise _LostError
        return "".join(kept)

    def _piece(self, found: re.Match[str]) -> str:
        if found["gap"] is not None:
            # a comment is no part of it
            return " "
        if found["operator"] is not None:
            self._operator(found[0])
            return found[0]
        return self._inner(found[0]) if self._word(found[0]) else " "

    def _inner(self, word: str) -> str:
        """Give a word; one that a shell is told to read is a line again."""
        before, self._shell = self._shell, ""
        if _SHELL.fullmatch(word) or (before and _OPTION.fullmatch(word)):
            self._shell = word
        elif before[:1] == "-" and before[-1] == "c" and _ONE_TEXT.fullmatch(word) and self._depth:
            return f"'{without_patterns(word[1:-1], self._depth - 1)}'"
        return word

    @property
    def _top(self) -> str:
        return self._inside[-1] if self._inside else ""

    def _operator(self, operator: str) -> None:
        self._shell = ""
        if operator.endswith("("):
            self._open(operator)
        elif operator == ")":
            self._close()
        elif operator == "`":
            self._tick()
        elif operator in {";;", ";&", ";;&"}:
            if self._top != _BODY:
                raise _LostError
            self._inside[-1] = _PATTERN
        # what stands below `<<` is no part of the line
        elif operator == "<<" or operator not in _POSSIBLE.get(self._top, operator):
            raise _LostError
        else:
            self._is_start = operator not in {"<", ">", "<<<"}

    def _open(self, operator: str) -> None:
        # one before a pattern belongs to it, and those of a test only group
        if operator == "(" and self._top in _COMPARED:
            return
        # no command stands in a list: `names=(a b)`
        self._is_start = operator != "(" or not self._last or self._last[-1] in " \t;&|(\n!{"
        self._inside.append(_PARENTHESIS)

    def _close(self) -> None:
        if self._top == _TEST:
            return
        if self._top not in {_PATTERN, _PARENTHESIS}:
            raise _LostError
        self._is_start = self._top == _PATTERN
        if self._is_start:
            self._inside[-1] = _BODY
        else:
            self._inside.pop()

    def _tick(self) -> None:
        self._is_start = self._top != _TICK
        if self._is_start:
            self._inside.append(_TICK)
        else:
            self._inside.pop()

    def _word(self, word: str) -> bool:
        """Take a word, and say whether it counts."""
        top, is_start = self._top, self._is_start
        self._is_start = False
        if top == _WORD:
            self._inside[-1] = _PATTERN if word == "in" else _WORD
        elif (top, word) in {(_PATTERN, "esac"), (_TEST, "]]")} or (is_start and (top, word) == (_BODY, "esac")):
            self._inside.pop()
        elif top in _COMPARED:
            return False
        elif is_start and word in _BEGINS:
            self._inside.append(_BEGINS[word])
        else:
            self._is_start = is_start and word in _KEYWORDS
        return True
