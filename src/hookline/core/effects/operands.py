"""Take the options of a program off its words."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from hookline.core.effects.readers import Reader
from hookline.core.effects.words import Word

_NUMBER: Final = re.compile(r"-[0-9]+")
# a name that a shell puts in place of these may look like an option
_ANY_BEGINNING: Final = ("*", "?", "[")


class Operands(Struct):
    """What is left without the options: these by letter or long name, with every value that was given for one."""

    words: list[Word] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)


def operands_of(options: Reader, words: Sequence[Word]) -> Operands | None:
    """Sort the words of a program; None when one of them is an option that is not in its row."""
    found = Operands()
    rest = iter(words)
    for word in rest:
        is_option = word.text.startswith("-") and word.text != "-"
        if not is_option:
            if word.pattern and word.text.startswith(_ANY_BEGINNING) and not options.inert:
                return None
            found.words.append(word)
        elif word.pattern or not word.certain:
            return None
        elif word.text == "--":
            found.words += rest
        elif not _option(options, word.text, rest, found):
            return None
    if options.most is None:
        return found
    # a pattern may become any number of words, and one too many may be written to
    return None if len(found.words) > options.most or any(word.pattern for word in found.words) else found


def _option(options: Reader, text: str, rest: Iterator[Word], found: Operands) -> bool:
    if options.numbers and _is_number(text):
        return _kept(found, "number", text[1:])
    if not text.startswith("--"):
        return _letters(options, text, rest, found)
    name, equals, value = text[2:].partition("=")
    if name in options.long:
        return _kept(found, name, value)
    return name in options.long_values and (_kept(found, name, value) if equals else _valued(name, rest, found))


def _letters(options: Reader, text: str, rest: Iterator[Word], found: Operands) -> bool:
    for place, letter in enumerate(text[1:], start=2):
        if letter in options.glued:
            return _kept(found, letter, text[place:])
        if letter in options.values:
            if len(text) == place:
                return _valued(letter, rest, found)
            return not options.apart and _kept(found, letter, text[place:])
        if letter not in options.flags:
            return False
        _kept(found, letter, "")
    return True


def _kept(found: Operands, name: str, value: str) -> bool:
    found.options.setdefault(name, []).append(value)
    return True


def _valued(name: str, rest: Iterator[Word], found: Operands) -> bool:
    """Take the word after an option; a pattern could become several words, and an option may be one all the same."""
    word = next(rest, None)
    # a value is kept as a text, which does not tell a home folder from a folder that is called so
    if word is None or word.pattern or word.home or not word.certain:
        return False
    return (not word.text.startswith("-") or _is_number(word.text)) and _kept(found, name, word.text)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
