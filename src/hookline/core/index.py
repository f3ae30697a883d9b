"""Find the hooks that may be about an event without asking all of them. No I/O, no clock.

What is found here is never too little: a matcher or a pattern that says nothing about names is always asked.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from hookline.core import paths
from hookline.core.effects.found import Effects
from hookline.core.effects.tools import effects_of
from hookline.core.matchers import Matcher, names_of, starts
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event
from hookline.model.hook import Hook

# a name is looked up once for each length that beginnings have, so there must not be many
_LONGEST_START: Final = 24
# a part of a path pattern that stands for itself
_NAME: Final = re.compile(r"[\w.@+-]+", re.ASCII)
_ENDING: Final = re.compile(r"\*[\w.@+-]*(\.[\w@+-]+)", re.ASCII)
_SEPARATORS: Final = re.compile(r"[/\\]")

# by what a path is found: "/name" for a part of it, ".py" for how one of its parts ends
Keys = frozenset[str]


def is_narrow(hook: Hook) -> bool:
    """Say whether a hook is about certain files, or about what calls do."""
    return bool(hook.files or hook.writes or hook.deletes or hook.reads or hook.runs or hook.urls)


class Shelf:
    """The hooks with one matcher, by the files they are about."""

    __slots__ = ("_by_file", "_by_read", "_by_written", "_others", "looks_closer", "matches")

    def __init__(self, matches: Matcher) -> None:
        self.matches = matches
        # whether a hook here looks at more of an event than its subject
        self.looks_closer = False
        self._others: list[Hook] = []
        self._by_file: dict[str, list[Hook]] = {}
        self._by_written: dict[str, list[Hook]] = {}
        self._by_read: dict[str, list[Hook]] = {}

    def put(self, hook: Hook) -> None:
        """Take a hook."""
        self.looks_closer |= is_narrow(hook) or bool(hook.condition)
        places = (
            (hook.files, self._by_file),
            (hook.writes, self._by_written),
            # what is deleted is written as well
            (hook.deletes, self._by_written),
            (hook.reads, self._by_read),
        )
        for patterns, shelf in places:
            keys = keys_of(patterns) if patterns else ()
            for key in keys:
                shelf.setdefault(key, []).append(hook)
            if keys:
                return
        self._others.append(hook)

    def hooks(self, files: "Files") -> Iterator[Hook]:
        """Give the hooks that may be about these files; one may come more than once."""
        yield from self._others
        if self._by_file:
            yield from _looked_up(self._by_file, files.named)
        if self._by_written:
            yield from _looked_up(self._by_written, files.written)
        if self._by_read:
            yield from _looked_up(self._by_read, files.read)


def _looked_up(shelf: Mapping[str, list[Hook]], keys: Collection[str] | None) -> Iterator[Hook]:
    if keys is None:
        yield from chain.from_iterable(shelf.values())
    else:
        for key in keys:
            yield from shelf.get(key, ())


class Files:
    """What an event is about, worked out when a hook first asks; of the keys of files, None means any."""

    __slots__ = ("_effects", "_follow", "_keys", "_named", "_real", "event")

    def __init__(self, event: Event, *, follow: Callable[[str], str]) -> None:
        self.event = event
        self._follow = follow
        self._effects: Effects | None = None
        self._named: tuple[Keys | None] | None = None
        self._keys: dict[str, Keys | None] = {}
        self._real: dict[str, str] = {}

    @property
    def named(self) -> Keys | None:
        """The keys of the files the event names."""
        if self._named is None:
            self._named = (keys_in(paths.named(self.event), self.event.cwd),)
        return self._named[0]

    @property
    def effects(self) -> Effects:
        """What the event's call does."""
        if self._effects is None:
            self._effects = effects_of(self.event)
        return self._effects

    @property
    def written(self) -> Keys | None:
        """The keys of the files that are written at the event."""
        return self._keys_of("writes", self.effects.writes)

    @property
    def read(self) -> Keys | None:
        """The keys of the files that are read at the event."""
        return self._keys_of("reads", self.effects.reads)

    def real(self, path: str) -> str:
        """Give what a path is a link to, or the path."""
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = self._follow(path)
        return found

    def _keys_of(self, kind: str, found: tuple[str, ...]) -> Keys | None:
        if kind in self.effects.vague:
            return None
        if kind not in self._keys:
            self._keys[kind] = keys_in((*found, *map(self.real, found)), self.event.cwd)
        return self._keys[kind]


def keys_of(patterns: Iterable[str]) -> Keys:
    """Give keys of which every path that the patterns match has at least one; none when nobody can tell."""
    keys: set[str] = set()
    for pattern in patterns:
        # what is taken back makes the rest no larger
        if pattern.startswith("!"):
            continue
        parts = [part for part in pattern.split("/") if part]
        # the last part says most; what lies below a folder that matches has the folder's name in its path
        found = next((key for part in reversed(parts) if (key := _key(part))), "")
        if not found:
            return frozenset()
        keys.add(found)
    return frozenset(keys)


def _key(part: str) -> str:
    if _NAME.fullmatch(part):
        return "" if part in {".", ".."} else f"/{part}"
    found = _ENDING.fullmatch(part)
    return found[1] if found else ""


def keys_in(found: Iterable[str], cwd: str) -> Keys | None:
    """Give every key of paths; None when they say too little of where they lie."""
    keys: set[str] = set()
    for path in found:
        # a person's home is not ours to know, nor is what lies above a folder that nobody named
        if path.startswith("~") or (not cwd and ".." in path):
            return None
        for part in _SEPARATORS.split(os.path.join(cwd, path)):  # noqa: PTH118 - only texts here
            keys.add(f"/{part}")
            keys.add(f".{part.rpartition('.')[2]}")
    return frozenset(keys)


class _Names:
    """The shelves of one dialect, by the names their matchers want."""

    __slots__ = ("_begun", "_exact", "_lengths", "_others", "_shelves", "_style")

    def __init__(self, style: MatcherStyle) -> None:
        self._style = style
        self._shelves: dict[Matcher, Shelf] = {}
        self._exact: dict[str, list[Shelf]] = {}
        self._begun: dict[str, list[Shelf]] = {}
        self._lengths: set[int] = set()
        self._others: list[Shelf] = []

    def shelf(self, hook: Hook, matcher_of: Callable[[Hook], Matcher]) -> Shelf:
        """Give the shelf of the hooks with the same matcher."""
        matches = matcher_of(hook)
        # the same text may be matched in another way for a stranger
        found = self._shelves.get(matches)
        if found is None:
            found = self._shelves[matches] = Shelf(matches)
            self._place(found, starts(self._style, hook.matcher))
        return found

    def _place(self, shelf: Shelf, begins: tuple[tuple[str, bool], ...]) -> None:
        if not all(text for text, _ in begins):
            self._others.append(shelf)
            return
        for text, is_whole in begins:
            if is_whole:
                self._exact.setdefault(text, []).append(shelf)
            else:
                start = text[:_LONGEST_START]
                self._begun.setdefault(start, []).append(shelf)
                self._lengths.add(len(start))

    def matching(self, names: list[str]) -> Iterator[Shelf]:
        """Give the shelves whose matcher wants one of the names; one may come more than once."""
        if all(map(str.isascii, names)):
            spelled = list(map(str.lower, names))
            exact = (self._exact.get(name, ()) for name in spelled)
            begun = (self._begun.get(name[:length], ()) for name in spelled for length in self._lengths)
            found: Iterable[Shelf] = chain(self._others, *exact, *begun)
        else:
            # other alphabets have capitals of their own, which the matchers know better
            found = self._shelves.values()
        return (shelf for shelf in found if any(map(shelf.matches, names)))


class Index:
    """The hooks of one event, by what they are about."""

    def __init__(
        self, hooks: Iterable[Hook], dialects: Mapping[str, DialectSpec], *, matcher_of: Callable[[Hook], Matcher]
    ) -> None:
        self._dialects = dialects
        self._by_dialect: dict[str, _Names] = {}
        for hook in hooks:
            names = self._by_dialect.get(hook.dialect)
            if names is None:
                spec = dialects.get(hook.dialect)
                names = self._by_dialect[hook.dialect] = _Names(spec.matcher if spec else MatcherStyle.PATTERN)
            names.shelf(hook, matcher_of).put(hook)

    def shelves(self, event: Event) -> tuple[Shelf, ...]:
        """Give the shelves of every hook whose matcher wants the event."""
        found: dict[Shelf, None] = {}
        for dialect, names in self._by_dialect.items():
            found |= dict.fromkeys(names.matching(list(names_of(event, self._dialects.get(dialect)))))
        return tuple(found)
