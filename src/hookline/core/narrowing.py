"""What a hook is about beyond the name of a tool: files that an event names, and what a call would do.

No I/O but through what it is given: patterns, and a way to follow links.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from hookline.core import paths
from hookline.core.effects.commands import command_patterns
from hookline.core.effects.found import Effects
from hookline.core.effects.urls import url_patterns
from hookline.core.index import Files
from hookline.core.parts import CompilePatterns, FileMatch, FollowLinks, default_parts
from hookline.core.strangers import check_patterns, is_stranger
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer
from hookline.model.plan import Gate

# whose patterns are about one project; those of all others are about wherever the agent works
_OF_A_PROJECT: Final = frozenset({Layer.LOCAL, Layer.PROJECT})

_OF_FILES: Final = ("files", "writes", "deletes", "reads")

Compile = Callable[[tuple[str, ...]], Callable[[str], bool]]


class GateResult(Struct, frozen=True):
    """Whether one gate lets a hook through, and why."""

    gate: Gate
    passed: bool
    reason: str


AskGate = Callable[[Hook, Event], GateResult]


class _Words(Struct, frozen=True):
    """How a gate talks: what a call may do, what it does, to what, and what a hook without it does not wait for."""

    may: str
    does: str
    what: str
    waits: str


_WORDS: Final = {
    Gate.WRITES: _Words("write", "writes", "file", "certain files to be written"),
    Gate.DELETES: _Words("delete", "deletes", "file", "certain files to be deleted"),
    Gate.READS: _Words("read", "reads", "file", "certain files to be read"),
    Gate.RUNS: _Words("run", "runs", "command", "certain commands to be run"),
    Gate.URLS: _Words("reach", "reaches", "URL", "certain URLs to be reached"),
}


class Narrowing:
    """The gates that look at more of an event than its subject, but for its condition."""

    def __init__(self, file_patterns: CompilePatterns | None, follow_links: FollowLinks | None) -> None:
        self._compile = file_patterns
        self._follow = follow_links
        self._patterns: dict[tuple[str, ...], FileMatch] = {}
        self._texts: dict[tuple[Gate, tuple[str, ...]], Callable[[str], bool]] = {}
        self._seen: Files | None = None
        self._gates: dict[Gate, AskGate] = {
            Gate.FILES: self._about_files,
            **{gate: partial(self._may, gate) for gate in (Gate.WRITES, Gate.DELETES, Gate.READS)},
            **{gate: partial(self._says, gate) for gate in _COMPILED},
        }

    def check(self, hook: Hook) -> None:
        """Compile the patterns of a hook.

        Raises:
            ConfigError: One is none, or a stranger's that may take for ever.
        """
        for patterns in filter(None, (getattr(hook, field) for field in _OF_FILES)):
            self._patterns_of(patterns)
            if is_stranger(hook):
                check_patterns(patterns)
        for gate in _COMPILED:
            if patterns := getattr(hook, gate):
                self._compiled(gate, patterns)
                if is_stranger(hook):
                    check_patterns(patterns)

    def files(self, event: Event) -> Files:
        """Give what an event is about; worked out once for all that ask about the same event."""
        seen = self._seen
        if seen is None or seen.event is not event:
            seen = self._seen = Files(event, follow=self._links)
        return seen

    def effects(self, event: Event) -> Effects:
        """Say what an event's call does."""
        return self.files(event).effects

    def closed(self, hook: Hook, event: Event) -> GateResult | None:
        """Give the first gate that does not let a hook through; those that it does not have are open."""
        for gate, ask in self._gates.items():
            if getattr(hook, gate) and not (answer := ask(hook, event)).passed:
                return answer
        return None

    def asked(self, hook: Hook, event: Event) -> Iterator[GateResult]:
        """Ask every gate that tells a person something: of what is rare, only those that the hook has."""
        for gate, ask in self._gates.items():
            if gate in {Gate.FILES, Gate.WRITES} or getattr(hook, gate):
                yield ask(hook, event)

    def _links(self, path: str) -> str:
        return self._follow(path) if self._follow is not None else path

    def _about_files(self, hook: Hook, event: Event) -> GateResult:
        if not hook.files:
            return GateResult(Gate.FILES, passed=True, reason="it is not about certain files")
        found = paths.named(event)
        if not found:
            return GateResult(Gate.FILES, passed=False, reason=f"this {event.name} names no file")
        matches, folder = self._matching(hook, hook.files), _folder(hook, event)

        def is_meant(path: str) -> bool:
            # a person's home is not ours to know: whoever reads the patterns knows it
            return matches(path if path.startswith("~") else os.path.join(event.cwd, path), folder)  # noqa: PTH118 - a text

        return _compared(Gate.FILES, hook.files, found, filter(is_meant, found))

    def _may(self, gate: Gate, hook: Hook, event: Event) -> GateResult:
        """Compare the paths that a call writes, deletes or reads, and what they are links to."""
        patterns: tuple[str, ...] = getattr(hook, gate)
        if not patterns:
            return _open(gate)
        files = self.files(event)
        found: tuple[str, ...] = getattr(files.effects, gate)
        matches, folder = self._matching(hook, patterns), _folder(hook, event)

        def is_meant(path: str) -> bool:
            # a name alone does not say whether it is a folder
            if matches(path, folder) or matches(f"{path}/", folder):
                return True
            real = files.real(path)
            real_folder = files.real(folder) if folder else folder
            return (real, real_folder) != (path, folder) and (
                matches(real, real_folder) or matches(f"{real}/", real_folder)
            )

        return _answered(gate, patterns, files.effects, event, filter(is_meant, found))

    def _says(self, gate: Gate, hook: Hook, event: Event) -> GateResult:
        """Compare the commands that a call runs, or the URLs that it reaches."""
        patterns: tuple[str, ...] = getattr(hook, gate)
        if not patterns:
            return _open(gate)
        effects = self.effects(event)
        return _answered(gate, patterns, effects, event, filter(self._compiled(gate, patterns), getattr(effects, gate)))

    def _compiled(self, gate: Gate, patterns: tuple[str, ...]) -> Callable[[str], bool]:
        found = self._texts.get((gate, patterns))
        if found is None:
            found = self._texts[gate, patterns] = _COMPILED[gate](patterns)
        return found

    def _matching(self, hook: Hook, patterns: tuple[str, ...]) -> Callable[[str, str], bool]:
        """Give what compares paths; an agent that has gone down into a project still works on the whole of it."""
        return partial(self._patterns_of(patterns), above=not _has_root(hook))

    def _patterns_of(self, patterns: tuple[str, ...]) -> FileMatch:
        found = self._patterns.get(patterns)
        if found is None:
            if self._compile is None:
                parts = default_parts()
                self._compile, self._follow = parts.file_patterns, parts.follow_links
            if self._compile is None:
                raise ConfigError("this engine was put together without a reader of file patterns")
            found = self._patterns[patterns] = self._compile(patterns)
        return found


_COMPILED: Final[dict[Gate, Compile]] = {Gate.RUNS: command_patterns, Gate.URLS: url_patterns}


def _has_root(hook: Hook) -> bool:
    return bool(hook.root) and hook.layer in _OF_A_PROJECT


def _folder(hook: Hook, event: Event) -> str:
    return hook.root if _has_root(hook) else event.cwd


def _open(gate: Gate) -> GateResult:
    return GateResult(gate, passed=True, reason=f"it does not wait for {_WORDS[gate].waits}")


def _answered(
    gate: Gate, patterns: tuple[str, ...], effects: Effects, event: Event, matched: Iterator[str]
) -> GateResult:
    words, found = _WORDS[gate], getattr(effects, gate)
    answer = _compared(gate, patterns, found, matched)
    if answer.passed:
        return answer
    if gate in effects.vague:
        return GateResult(gate, passed=True, reason=f"{event.tool or 'this'} may {words.may} any {words.what}")
    if not found:
        return GateResult(gate, passed=False, reason=f"{event.tool or event.name} {words.does} no {words.what}")
    return answer


def _compared(gate: Gate, patterns: tuple[str, ...], found: tuple[str, ...], matched: Iterator[str]) -> GateResult:
    first = next(matched, None)
    if first is not None:
        return GateResult(gate, passed=True, reason=f"{gate} {list(patterns)!r} match {first!r}")
    shown = " or ".join(map(repr, found))
    return GateResult(gate, passed=False, reason=f"{gate} {list(patterns)!r} do not match {shown}")
