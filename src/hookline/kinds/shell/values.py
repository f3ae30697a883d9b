"""Follow the values of templates through a line: which words hold one, and how to refuse those."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from hookline.kinds.shell.line import Line, Reason, Shape, TemplateError, Word
from hookline.kinds.shell.programs import DECLARERS, READERS
from hookline.kinds.shell.words import ASSIGNMENT, IDENTIFIER

_POSITIONAL: Final = frozenset("@*")
# what these set besides the variables that they name
_SETS: Final = MappingProxyType({"cd": ("PWD", "OLDPWD"), "pushd": ("PWD", "OLDPWD"), "set": ("@",)})
# ${x:=…} sets a variable where it is used
_DEFAULT: Final = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=")
# $_ is the last argument of whatever ran before
_ALWAYS: Final = ("_", "BASH_REMATCH", "BASH_ARGV")


def assigned(word: Word) -> str | None:
    """Give the variable that a word NAME=… sets."""
    found = ASSIGNMENT.match(word.prefix)
    return found[1] if found else None


def is_option(word: Word) -> bool:
    """Say whether a word is written as an option."""
    return word.prefix[:1] in {"-", "+"} and word.literal not in {"-", "+"}


def may_vanish(word: Word) -> bool:
    """Say whether a word may turn out to be none, so that the next one takes its place."""
    return word.splits and not word.prefix and not word.suffix


class Values:
    """Which words of a line hold a value of the event.

    Variables are followed: one that was set from a template, or from a variable that was, holds a value, too.
    `replaced` is the text that xargs and find put other text in place of.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.replaced = ""
        self._holders = _holders(line)

    def in_any(self, names: Iterable[str]) -> bool:
        """Say whether one of these variables may hold a value."""
        return any(_common(name) in self._holders for name in names)

    def within(self, word: Word) -> bool:
        """Say whether a word may hold a value."""
        return (
            bool(word.marks)
            or self.in_any(word.names)
            or (self.replaced != "" and self.replaced in self.line.text[word.start : word.end])
        )

    def names(self, word: Word) -> bool:
        """Say whether a word names a variable that may hold a value, as arithmetic does without a dollar sign."""
        return self.in_any(IDENTIFIER.findall(self.line.text, word.start, word.end))

    def subscripts(self, word: Word) -> bool:
        """Say whether a word has a subscript that names such a variable."""
        return "[" in self.line.text[word.start : word.end] and self.names(word)

    def leads(self, word: Word) -> bool:
        """Say whether a value may make this word an option."""
        return self.within(word) and (not word.prefix or is_option(word))

    def refusal(self, word: Word, reason: Reason) -> TemplateError:
        """Say what is refused, and why."""
        text = self.line.text
        if word.marks:
            mark = word.marks[0]
            return TemplateError(text[mark.start : mark.end], reason, text=text, position=mark.start)
        names = [name for name in word.names if self.in_any((name,))]
        subject = f"${names[0]}, which may hold a template's value," if names else f'"{text[word.start : word.end]}"'
        return TemplateError(subject, reason, text=text, position=word.start)

    def keep_out(self, words: Iterable[Word], reason: Reason) -> None:
        """Refuse the first of these words that may hold a value."""
        for word in words:
            if self.within(word):
                raise self.refusal(word, reason)

    def keep_from_leading(self, words: Iterable[Word], reason: Reason) -> None:
        """Refuse values that could begin with a dash, up to `--`."""
        for word in words:
            if word.literal == "--":
                return
            if self.leads(word):
                raise self.refusal(word, reason)


def _common(name: str) -> str:
    """Give all positional parameters one name: `shift` moves values among them."""
    return "@" if name in _POSITIONAL or name.isdigit() else name


def _holders(line: Line) -> frozenset[str]:
    """Give the variables that may hold a value, directly or from one another."""
    reached: set[str] = set()
    passed_on: defaultdict[str, list[str]] = defaultdict(list)
    fresh: list[str] = [*_ALWAYS]
    for name, word in _flows(line):
        if word is None or word.marks:
            fresh.append(_common(name))
            continue
        # arithmetic reads the name of a variable in another one's value, also without a dollar sign
        for used in (*word.names, *IDENTIFIER.findall(line.text, word.start, word.end)):
            passed_on[_common(used)].append(_common(name))
    while fresh:
        name = fresh.pop()
        if name and name not in reached:
            reached.add(name)
            fresh.extend(passed_on[name])
    return frozenset(reached)


def _flows(line: Line) -> Iterator[tuple[str, Word | None]]:
    """Give each variable that is set, and the word it is set from; None when it is read from somewhere."""
    for command in line.commands:
        for word in (*command.assignments, *command.words, *(redirect.target for redirect in command.redirects)):
            for name in _DEFAULT.findall(line.text, word.start, word.end):
                yield name, word
        for word in command.assignments:
            yield assigned(word) or "", word
        if command.shape is Shape.LOOP:
            for word in command.words[1:]:
                yield command.words[0].literal or "", word
        elif command.words:
            yield from _flows_of_words(command.words, functions=line.functions)


def _flows_of_words(words: Sequence[Word], *, functions: frozenset[str]) -> Iterator[tuple[str, Word | None]]:
    # the second word, too: `command read x`
    heads = {word.literal for word in words[:2]}
    if heads & DECLARERS:
        for word in words[1:]:
            yield assigned(word) or "", word
    if heads & READERS:
        for word in words[1:]:
            yield word.literal or "", None
        yield from (("REPLY", None), ("MAPFILE", None), ("OPTARG", None))
    targets = [target for head in heads for target in _SETS.get(head or "", ())]
    for target in (*targets, "@") if heads & functions else targets:
        for word in words[1:]:
            yield target, word
    if "printf" in heads:
        for option, name in pairwise(words):
            if option.literal == "-v":
                yield name.literal or "", None
