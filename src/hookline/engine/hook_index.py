"""Inverted index from tool names and paths to hooks. No I/O, no clock.

A lookup never misses a hook: a matcher or pattern without a usable prefix or name is always a candidate.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Final

from hookline.effects import event_paths
from hookline.effects.effects import Effects
from hookline.effects.tools import find_effects
from hookline.engine.matchers import SubjectMatcher, SubjectNames, matcher_prefixes, names_of
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event
from hookline.model.hook import Hook

# a name is looked up once for each prefix length, so there must be few
_LONGEST_PREFIX: Final = 24
# a component of a path pattern without wildcards
_NAME: Final = re.compile(r"[\w.@+-]+", re.ASCII)
_SUFFIX: Final = re.compile(r"\*[\w.@+-]*(\.[\w@+-]+)", re.ASCII)
_SEPARATORS: Final = re.compile(r"[/\\]")

# index keys of paths: "/name" for a component, ".py" for a suffix
PathKeys = frozenset[str]
SpecOf = Callable[[str], DialectSpec | None]


def has_filters(hook: Hook) -> bool:
    """Return whether a hook is about certain files, or about what calls do."""
    return bool(hook.files or hook.writes or hook.deletes or hook.reads or hook.runs or hook.urls)


class EventFacts:
    """The effects and paths of one event, computed on first use."""

    def __init__(self, event: Event, *, follow: Callable[[str], str]) -> None:
        self.event = event
        self._follow = follow
        self._real: dict[str, str] = {}

    @cached_property
    def effects(self) -> Effects:
        """What the event's call does."""
        return find_effects(self.event)

    @cached_property
    def named_keys(self) -> PathKeys | None:
        """The keys of the files the event names or, at tool events, touches; None for any file."""
        keys = path_keys(event_paths.list_event_paths(self.event), self.event.cwd)
        if self.event.name not in event_paths.TOOL_EVENTS or keys is None:
            return keys
        written, read = self.written_keys, self.read_keys
        return None if written is None or read is None else keys | written | read

    @cached_property
    def written_keys(self) -> PathKeys | None:
        """The keys of the files that the event's call writes; None for any file."""
        return self._effect_keys("writes", self.effects.writes)

    @cached_property
    def read_keys(self) -> PathKeys | None:
        """The keys of the files that the event's call reads; None for any file."""
        return self._effect_keys("reads", self.effects.reads)

    def real(self, path: str) -> str:
        """Return the path with its links resolved."""
        real = self._real.get(path)
        if real is None:
            real = self._real[path] = self._follow(path)
        return real

    def _effect_keys(self, kind: str, paths: tuple[str, ...]) -> PathKeys | None:
        targets = self.effects.targets.get(kind, ())
        if kind in self.effects.unknown or any(one.pattern or one.is_recursive or one.is_partial for one in targets):
            return None
        return path_keys((*paths, *map(self.real, paths)), self.event.cwd)


class IndexBucket:
    """The hooks with one matcher, by the files they are about."""

    def __init__(self, matches: SubjectMatcher) -> None:
        self.matches = matches
        # whether a hook here looks at more of an event than its subject, so that plans cannot be cached
        self.depends_on_event = False
        self._others: list[Hook] = []
        self._by_named: dict[str, list[Hook]] = {}
        self._by_written: dict[str, list[Hook]] = {}
        self._by_read: dict[str, list[Hook]] = {}

    def add(self, hook: Hook) -> None:
        """Add a hook under the keys of the files it names, or else of those that it wants to be touched."""
        self.depends_on_event |= has_filters(hook) or bool(hook.condition)
        # one of the three is enough, and what is deleted is written as well
        touched = (
            (hook.writes, self._by_written),
            (hook.deletes, self._by_written),
            (hook.reads, self._by_read),
        )
        for tables in (((hook.files, self._by_named),), touched):
            keyed = [(pattern_keys(patterns), table) for patterns, table in tables if patterns]
            if keyed and all(keys for keys, _ in keyed):
                for keys, table in keyed:
                    for key in keys:
                        table.setdefault(key, []).append(hook)
                return
        self._others.append(hook)

    def candidates(self, facts: EventFacts) -> Iterator[Hook]:
        """Yield the hooks that may be about these files; one may come more than once."""
        yield from self._others
        # the facts of an event are computed only where a hook asks for them
        if self._by_named:
            yield from _look_up(self._by_named, facts.named_keys)
        if self._by_written:
            yield from _look_up(self._by_written, facts.written_keys)
        if self._by_read:
            yield from _look_up(self._by_read, facts.read_keys)


def _look_up(table: Mapping[str, list[Hook]], keys: PathKeys | None) -> Iterator[Hook]:
    return chain.from_iterable(table.values() if keys is None else (table.get(key, ()) for key in keys))


def pattern_keys(patterns: Iterable[str]) -> PathKeys:
    """Return keys of which every path that the patterns match has at least one; empty where there are none."""
    keys: set[str] = set()
    for pattern in patterns:
        # a negated pattern does not make the others match more
        if pattern.startswith("!"):
            continue
        # the last component is the most selective; a path below a matching folder has the folder's name in it
        key = next((key for part in reversed(pattern.split("/")) if part and (key := _part_key(part))), "")
        if not key:
            return frozenset()
        keys.add(key)
    return frozenset(keys)


def _part_key(part: str) -> str:
    if _NAME.fullmatch(part):
        return "" if part in {".", ".."} else f"/{part}"
    suffix = _SUFFIX.fullmatch(part)
    return suffix[1] if suffix else ""


def path_keys(paths: Iterable[str], cwd: str) -> PathKeys | None:
    """Return every key of paths, or None when their location is not known."""
    keys: set[str] = set()
    for path in paths:
        # neither the home folder nor the parent of an unknown folder is known here
        if path.startswith("~") or (not cwd and ".." in path):
            return None
        for part in _SEPARATORS.split(os.path.join(cwd, path)):  # noqa: PTH118 - text only
            keys.add(f"/{part}")
            keys.add(f".{part.rpartition('.')[2]}")
    return frozenset(keys)


class _DialectIndex:
    """The buckets of one dialect, by the names their matchers match."""

    def __init__(self, style: MatcherStyle) -> None:
        self._style = style
        self._buckets: dict[SubjectMatcher, IndexBucket] = {}
        self._exact: dict[str, list[IndexBucket]] = {}
        self._prefixes: dict[str, list[IndexBucket]] = {}
        self._lengths: set[int] = set()
        self._others: list[IndexBucket] = []

    def add(self, hook: Hook, matcher: SubjectMatcher) -> None:
        # by matcher, not by text: an untrusted hook may match the same text in another way
        bucket = self._buckets.get(matcher)
        if bucket is None:
            bucket = self._buckets[matcher] = IndexBucket(matcher)
            prefixes = matcher_prefixes(self._style, hook.matcher)
            if not all(text for text, _ in prefixes):
                self._others.append(bucket)
                prefixes = ()
            for text, is_whole in prefixes:
                if is_whole:
                    self._exact.setdefault(text, []).append(bucket)
                else:
                    prefix = text[:_LONGEST_PREFIX]
                    self._prefixes.setdefault(prefix, []).append(bucket)
                    self._lengths.add(len(prefix))
        bucket.add(hook)

    def find(self, names: SubjectNames) -> Iterator[IndexBucket]:
        """Yield the buckets whose matcher matches one of the names."""
        if all(map(str.isascii, names.every)):
            lower = list(map(str.lower, names.every))
            exact = (self._exact.get(name, ()) for name in lower)
            prefixed = (self._prefixes.get(name[:length], ()) for name in lower for length in self._lengths)
            buckets: Iterable[IndexBucket] = chain(self._others, *exact, *prefixed)
        else:
            # case folding of other alphabets is left to the matchers
            buckets = self._buckets.values()
        return (bucket for bucket in dict.fromkeys(buckets) if bucket.matches(names))


class HookIndex:
    """The hooks of one event, by what they are about."""

    def __init__(self, hooks: Iterable[Hook], spec_of: SpecOf, matcher_of: Callable[[Hook], SubjectMatcher]) -> None:
        self._spec_of = spec_of
        self._by_dialect: dict[str, _DialectIndex] = {}
        for hook in hooks:
            index = self._by_dialect.get(hook.dialect)
            if index is None:
                spec = spec_of(hook.dialect)
                index = self._by_dialect[hook.dialect] = _DialectIndex(spec.matcher if spec else MatcherStyle.PATTERN)
            index.add(hook, matcher_of(hook))

    def find(self, event: Event) -> tuple[IndexBucket, ...]:
        """Return the buckets of every hook whose matcher matches the event."""
        buckets: dict[IndexBucket, None] = {}
        for dialect, index in self._by_dialect.items():
            buckets |= dict.fromkeys(index.find(names_of(event, self._spec_of(dialect))))
        return tuple(buckets)
