"""Read regular expressions as RE2 does, whose syntax CEL's `matches` has, into a program for `automaton`.

Python's `re` is not used: it tries one way after the other, and a text can be chosen so that it never comes to an end.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from msgspec import Struct

from hookline.core.conditions import steps
from hookline.core.conditions.characters import (
    ASCII,
    CATEGORIES,
    POSIX,
    Test,
    any_of,
    anything,
    anything_in_a_line,
    folded,
    in_category,
    none_of,
    only,
    pairs,
    ranges,
)
from hookline.core.conditions.steps import Emit, Program, Split, Step
from hookline.errors import ConfigError

# RE2 counts to this, too
MOST_REPEATS: Final = 1000
LONGEST: Final = 4096
DEEPEST: Final = 50


class _Flags(Struct, frozen=True):
    """What `(?ims)` switched on; `U` only changes which of several matches is taken, and nobody asks that here."""

    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


_LETTERS: Final[Mapping[str, str]] = dict(zip("afnrtv", "\a\f\n\r\t\v", strict=True))
_COUNTED: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_GROUP: Final = re.compile(r"\(\?(?:P?<(?P<name>\w+)>|(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<closes>[:)]))")
_NUMBER: Final = re.compile(
    r"x(?:\{(?P<long>[0-9a-fA-F]{1,6})\}|(?P<hex>[0-9a-fA-F]{2}))|(?P<octal>0[0-7]{0,2}|[1-7][0-7]{1,2})"
)
_PROPERTY: Final = re.compile(r"[pP](?:\{(?P<long>\^?\w+)\}|(?P<short>[A-Z]))")


def program(pattern: str) -> Sequence[Step]:
    """Read a pattern; the search begins with the last step.

    Raises:
        ConfigError: It is no regular expression, or needs what cannot be searched for in linear time.
    """
    if len(pattern) > LONGEST:
        raise ConfigError(f"a pattern has at most {LONGEST} characters, this one has {len(pattern)}")
    reader = _Reader(pattern)
    emit = reader.whole()
    made = Program()
    made.add(Split((emit(made, 0),)))
    return made.steps


class _Reader:
    """Read a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = _Flags()
        self._depth = 0

    def whole(self) -> Emit:
        emit = self._alternatives()
        if self._at < len(self._pattern):
            self._fail('")" closes nothing')
        return emit

    def _fail(self, what: str) -> NoReturn:
        raise ConfigError(f"{self._pattern!r} is no regular expression: {what}, at character {self._at + 1}")

    def _here(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _take(self) -> str:
        if self._at >= len(self._pattern):
            self._fail("it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _alternatives(self) -> Emit:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"more than {DEEPEST} groups inside each other")
        outer = self._flags
        found = [self._sequence()]
        while self._here("|"):
            self._at += 1
            found.append(self._sequence())
        self._flags = outer
        self._depth -= 1
        return found[0] if len(found) == 1 else steps.one_of(found)

    def _sequence(self) -> Emit:
        parts: list[Emit] = []
        repeated = False
        while self._at < len(self._pattern) and not self._here("|") and not self._here(")"):
            counts = self._counts()
            if counts is None:
                # flags are no part: what stands before them can still be repeated
                parts.extend(self._parts())
                repeated = False
                continue
            if not parts or repeated:
                self._fail("there is nothing to repeat" if not parts else "a repetition cannot be repeated")
            parts[-1] = steps.repeated(parts[-1], *counts)
            repeated = True
        return steps.in_row(parts)

    def _counts(self) -> tuple[int, int | None] | None:
        """Read `*`, `+`, `?` or `{1,2}`; nothing when none of them stands here."""
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._pattern[self._at])
        if simple is not None:
            self._at += 1
        elif counted := _COUNTED.match(self._pattern, self._at):
            least = int(counted[1])
            most = int(counted[3]) if counted[3] else None if counted[2] else least
            if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
                self._fail(f"{counted[0]} cannot be counted")
            self._at = counted.end()
            simple = (least, most)
        else:
            return None
        # as few as possible or as many as possible: both are found, or none
        self._at += self._here("?")
        return simple

    def _parts(self) -> list[Emit]:
        """Read one part; none for flags, which only change what follows, and each character of a quotation."""
        if self._here("("):
            group = self._group()
            return [group] if group is not None else []
        if self._here("\\Q"):
            return self._quotation()
        return [self._part()]

    def _quotation(self) -> list[Emit]:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at + 2 : end if end >= 0 else len(self._pattern)]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        return [steps.char(self._folded(only(char))) for char in text]

    def _part(self) -> Emit:
        char = self._take()
        if char == "[":
            return steps.char(self._class())
        if char == "\\":
            return self._escaped()
        if char in "^$":
            place = {"^": "line start", "$": "line end"} if self._flags.m else {"^": "start", "$": "end"}
            return steps.look(place[char])
        if char == ".":
            return steps.char(anything if self._flags.s else anything_in_a_line)
        return steps.char(self._folded(only(char)))

    def _group(self) -> Emit | None:
        if not self._here("(?"):
            self._at += 1
            return self._grouped()
        found = _GROUP.match(self._pattern, self._at)
        if found is None:
            self._fail("it looks around or back, or begins a group in a way that RE2 does not have")
        self._at = found.end()
        if found["name"]:
            return self._grouped()
        outer = self._flags
        on, _, off = found["flags"].partition("-")
        self._flags = _Flags(**{name: name not in off and (name in on or getattr(outer, name)) for name in "imsU"})
        if found["closes"] == ")":
            return None
        emit = self._grouped()
        self._flags = outer
        return emit

    def _grouped(self) -> Emit:
        emit = self._alternatives()
        if not self._here(")"):
            self._fail('")" is missing')
        self._at += 1
        return emit

    def _escaped(self) -> Emit:
        places = {"A": "start", "z": "end", "b": "border", "B": "no border"}
        for letter, place in places.items():
            if self._here(letter):
                self._at += 1
                return steps.look(place)
        return steps.char(self._named_set() or self._folded(only(self._escaped_char())))

    def _named_set(self) -> Test | None:
        """Read `d`, `pL` and their like behind a backslash; nothing when something else stands there."""
        letter = self._pattern[self._at : self._at + 1]
        if letter and letter.lower() in ASCII:
            self._at += 1
            test = self._folded(ranges(pairs(ASCII[letter.lower()])))
            return none_of([test]) if letter.isupper() else test
        found = _PROPERTY.match(self._pattern, self._at)
        if found is None:
            return None
        name = (found["long"] or found["short"]).removeprefix("^")
        negated = (letter == "P") != (found["long"] or "").startswith("^")
        if name != "Any" and name not in CATEGORIES:
            self._fail(f'"{name}" is no category of characters that is known here')
        self._at = found.end()
        test = anything if name == "Any" else self._folded(in_category(name))
        return none_of([test]) if negated else test

    def _escaped_char(self) -> str:
        found = _NUMBER.match(self._pattern, self._at)
        if found:
            digits = found["long"] or found["hex"]
            code = int(digits, 16) if digits else int(found["octal"], 8)
            if code > sys.maxunicode:
                self._fail(f"there is no character {code:x}")
            self._at = found.end()
            return chr(code)
        char = self._take()
        if char in _LETTERS:
            return _LETTERS[char]
        if char.isdigit():
            self._fail(f"RE2 has no references back to a group, as \\{char} is")
        if not char.isascii() or char.isalpha():
            self._fail(f"RE2 has no \\{char}")
        return char

    def _class(self) -> Test:
        negated = self._here("^")
        self._at += negated
        tests: list[Test] = []
        pairs: list[tuple[str, str]] = []
        first = True
        while first or not self._here("]"):
            first = False
            test = self._posix() or self._set_in_class()
            if test is not None:
                tests.append(test)
            else:
                pairs.append(self._range())
        self._at += 1
        tests.append(self._folded(ranges(pairs)))
        return none_of(tests) if negated else any_of(tests)

    def _posix(self) -> Test | None:
        if not self._here("[:"):
            return None
        end = self._pattern.find(":]", self._at + 2)
        if end < 0:
            return None
        name = self._pattern[self._at + 2 : end]
        known = POSIX.get(name.removeprefix("^"))
        if known is None:
            self._fail(f'"{name}" is no class of characters')
        self._at = end + 2
        test = self._folded(ranges(pairs(known)))
        return none_of([test]) if name.startswith("^") else test

    def _set_in_class(self) -> Test | None:
        if not self._here("\\"):
            return None
        self._at += 1
        test = self._named_set()
        if test is None:
            self._at -= 1
        return test

    def _range(self) -> tuple[str, str]:
        first = self._char_in_class()
        if not self._here("-") or self._here("-]"):
            return first, first
        self._at += 1
        last = self._char_in_class()
        if last < first:
            self._fail(f"the range {first}-{last} is the wrong way round")
        return first, last

    def _char_in_class(self) -> str:
        char = self._take()
        return self._escaped_char() if char == "\\" else char

    def _folded(self, test: Test) -> Test:
        return folded(test) if self._flags.i else test
