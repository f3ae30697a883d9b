"""Text of others, made safe to show: it says what it says, and cannot steer the screen it is shown on."""

import re
import shlex
import unicodedata
from typing import Final

from hookline.redact import redact

# Longer texts of hooks are for the trace, not for a screen.
LONGEST: Final = 2000

# Read beyond what is shown, so that a key is not cut into something that no longer looks like one.
_MARGIN: Final = 4096

# More marks on one letter paint over the lines above and below.
_STACKED: Final = 4

# More are counted rather than shown: what stands behind them would be off the screen.
BLANKS: Final = 3

# Marks that Unicode calls printable and that nobody can see.
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_JOINER: Final = "\u200d"
_AS_EMOJI: Final = "\ufe0f"


def sanitize(text: str, *, longest: int = LONGEST) -> str:
    """Make text of others safe to show to a person.

    Terminal escapes, control characters, marks that reorder or hide text are spelled out, secrets are masked, and
    what is too long is cut with a note. Line breaks stay; every other character of the result can be seen.
    """
    shown = escape(redact(text[: longest + _MARGIN]))
    if max(len(text), len(shown)) <= longest:
        return shown
    return f"{shown[:longest]}… ({len(text)} characters)"


def escape(text: str) -> str:
    """Spell out every character that could steer a terminal or hide something; line breaks and blanks stay."""
    if text.isascii() and text.isprintable():
        return text
    return _spelled(text.replace("\r\n", "\n").expandtabs(4), kept="\n", blanks=True)


def exact(text: str, *, blanks: int = BLANKS) -> str:
    r"""Give text on one line with nothing in it hidden.

    Line breaks are `\n`, blanks that are not plain ones are spelled out, and many blanks are counted.
    """
    shown = text if text.isascii() and text.isprintable() else _spelled(text, kept="", blanks=False)
    return _counted(shown, blanks) if " " * (blanks + 1) in shown else shown


def typed(name: str) -> str:
    """Give a name as it has to be typed after a command: others chose it, and people copy what they are told."""
    word = exact(shlex.quote(name))
    return f"-- {word}" if name.startswith("-") else word


def width(text: str) -> int:
    """Count the columns that a terminal needs for a text without control characters."""
    if text.isascii():
        return len(text)
    columns = 0
    for before, mark in zip(f" {text}", text, strict=False):
        if _JOINER in {before, mark} or _category(mark) in {"Mn", "Me"}:
            continue
        columns += 2 if unicodedata.east_asian_width(mark) in {"W", "F"} else 1
    return columns


def wrapped(text: str, columns: int) -> list[str]:
    """Break one line into pieces that fit, after a blank where there is one near: no character is lost."""
    pieces: list[str] = []
    start = used = 0
    for place, mark in enumerate(text):
        needed = width(mark)
        if used + needed > columns and place > start:
            blank = text.rfind(" ", start + (place - start) * 2 // 3, place)
            end = blank + 1 if blank >= 0 and mark != " " else place
            pieces.append(text[start:end])
            used = width(text[end:place])
            start = end
        used += needed
    return [*pieces, text[start:]]


def _spelled(text: str, *, kept: str, blanks: bool) -> str:
    pieces: list[str] = []
    stacked = 0
    for place, mark in enumerate(text):
        if mark.isascii():
            stacked = 0
            pieces.append(mark if mark.isprintable() or mark in kept else _name(mark))
            continue
        category = _category(mark)
        stacked = stacked + 1 if category in {"Mn", "Me"} else 0
        if category == "Zs" and blanks:
            pieces.append(" ")
        elif stacked <= _STACKED and _can_be_seen(text, place):
            pieces.append(mark)
        else:
            pieces.append(_name(mark))
    return "".join(pieces)


def _can_be_seen(text: str, place: int) -> bool:
    mark = text[place]
    before = text[place - 1] if place else " "
    if mark == _AS_EMOJI:
        # after a sign that exists as a picture, too: ❤️ and 1️⃣
        return _category(before) in {"So", "Sm", "Po"} or (before.isascii() and before in "0123456789#*")
    if mark == _JOINER:
        after = text[place + 1 : place + 2] or " "
        return (before == _AS_EMOJI or _category(before) in {"So", "Sk"}) and _category(after) == "So"
    return mark not in _INVISIBLE and mark.isprintable()


def _category(mark: str) -> str:
    return unicodedata.category(mark)


def _name(mark: str) -> str:
    return mark.encode("unicode_escape").decode()


def _counted(text: str, most: int) -> str:
    return re.sub(f" {{{most + 1},}}", lambda run: f" <{len(run[0])} blanks> ", text)
