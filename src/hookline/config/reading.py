"""What all formats share while one file is read: its hooks, its problems, its lines."""

import os
from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec import Struct

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem, Severity
from hookline.config.values import LONG, Key, slug
from hookline.config.vocabulary import Vocabulary, hint, quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, OnError, Source

# A file with more problems than this is not a hook configuration, and finding the nearest right word for
# each of a hundred thousand keys would take minutes.
MOST_PROBLEMS: Final = 100

# what may stand beside the list of hooks in a file of definitions
AROUND: Final[Mapping[str, str]] = {
    "hooks": "The hooks.",
    "$schema": "The schema an editor completes this file with.",
    "description": "For people; it means nothing to the program.",
    "version": "For people; it means nothing to the program.",
}
# what a format may say of a hook besides its keys
_GIVEN: Final = frozenset({"on", "dialect", "source"})
# how far a source is trusted before anyone is asked
TRUST: Final[Mapping[Source, int]] = {
    Source.BUILTIN: 3,
    Source.USER: 2,
    Source.WORKSPACE: 1,
    Source.DOWNLOADED: 0,
    Source.EXTENSION: 0,
}


class Origin(Struct, frozen=True, kw_only=True):
    """Which file is read, in which format, whose it is, and which dialect its hooks speak unless they say otherwise.

    `root` is the folder its relative names are counted from. `agent` is the agent whose own file it is: hooks that stand
    there are run by the agent itself.
    """

    path: str
    dialect: str
    source: Source = Source.WORKSPACE
    layer: Layer = Layer.PROJECT
    root: str = ""
    format: str = ""
    agent: str = ""
    vocabulary: Vocabulary = Vocabulary()


class Reading:
    """Collect the hooks of one document, and a problem for everything in it that is not in force."""

    def __init__(self, document: Document, origin: Origin) -> None:
        self.document = document
        self.origin = origin
        self.hooks: list[Hook] = []
        self._problems: list[Problem] = []
        self._more = 0
        self._counts: dict[str, int] = {}
        for path, line in document.repeated:
            self._report(line, f"{quoted(str(path[-1]))} stands here a second time; the earlier one is not in force")

    @property
    def full(self) -> bool:
        """Whether so much is wrong that details no longer help."""
        return len(self._problems) >= MOST_PROBLEMS

    @property
    def problems(self) -> list[Problem]:
        """Everything to report."""
        if not self._more:
            return self._problems
        return [*self._problems, Problem(self.origin.path, 0, f"{self._more} more problems in this file")]

    def error(self, where: KeyPath, message: str) -> None:
        """Report something that is not in force."""
        self._report(self.document.line_of(where), message)

    def warn(self, where: KeyPath, message: str) -> None:
        """Report something that is in force, but hardly as it was meant."""
        self._report(self.document.line_of(where), message, Severity.WARNING)

    def note(self, where: KeyPath, message: str) -> None:
        """Report something good to know."""
        self._report(self.document.line_of(where), message, Severity.NOTE)

    def _report(self, line: int, message: str, severity: Severity = Severity.ERROR) -> None:
        if self.full:
            self._more += 1
        else:
            self._problems.append(Problem(self.origin.path, line, message, severity))

    def unknown(self, where: KeyPath, key: str, known: Mapping[str, object], *, owner: str) -> None:
        """Report a key that means nothing here."""
        nearest = "" if self.full else hint(key, known)
        self.warn((*where, key), f"unknown key {quoted(key)} in {owner}{nearest}")

    def unwrapped(self, telling: Collection[str]) -> tuple[object, KeyPath]:
        """Take off the outer `{"hooks": …}` that a file of definitions may have; `telling` keys are a hook's."""
        value = self.document.value
        if not isinstance(value, dict) or "hooks" not in value or any(key in value for key in telling):
            return value, ()
        for key in value:
            if key not in AROUND:
                self.unknown((), key, AROUND, owner="the file")
        return value["hooks"], ("hooks",)

    def values(
        self, entry: Mapping[str, object], keys: Mapping[str, Key], where: KeyPath, *, owner: str
    ) -> dict[str, object] | None:
        """Read the keys of one entry; None when one that decides what runs cannot be read."""
        found: dict[str, object] = {}
        usable = True
        for name, value in entry.items():
            key = keys.get(name)
            if key is None:
                self.unknown(where, name, keys, owner=owner)
                continue
            try:
                found[name] = key.read(value)
            except ValueError as problem:
                usable = usable and not key.vital
                outcome = "the hook is not loaded" if key.vital else "the default holds"
                if name == "on_error":
                    # who wrote the key meant a guard more likely than not
                    found[name], outcome = OnError.BLOCK, "its failures block"
                self.error((*where, name), f"{name} of {owner}: {problem}; {outcome}")
        timeout = found.get("timeout")
        if isinstance(timeout, float) and timeout > LONG:
            self.warn((*where, "timeout"), f"timeout of {owner} is {timeout:g} seconds; seconds are meant here")
        return found if usable else None

    def events(self, names: tuple[str, ...], where: KeyPath, *, dialect: str) -> tuple[str, ...]:
        """Resolve event names; unknown ones are reported."""
        found: dict[str, None] = {}
        vocabulary = self.origin.vocabulary
        for name in names:
            events = vocabulary.events(name, dialect=dialect)
            if not events:
                message = "" if self.full else vocabulary.about_unknown_event(name, dialect=dialect)
                self.error(where, message)
            found |= dict.fromkeys(events)
        return tuple(found)

    def dialect(self, values: Mapping[str, object], where: KeyPath) -> str:
        """Say which dialect a hook speaks; empty when it names one that does not exist."""
        name = str(values.get("dialect", self.origin.dialect))
        known = self.origin.vocabulary.names
        if name in known or name == self.origin.dialect:
            return name
        self.error((*where, "dialect"), f"unknown dialect {quoted(name)}{hint(name, known)}; the hook is not loaded")
        return ""

    def trusted(self, values: Mapping[str, object], where: KeyPath, *, owner: str) -> None:
        """Say what becomes of `trusted: true`: a file cannot vouch for itself."""
        if values.get("trusted") and TRUST[self.origin.source] < TRUST[Source.USER]:
            self.note(
                (*where, "trusted"),
                f"{owner} calls itself trusted; only hooks in your own folders are, so it still has to be approved",
            )

    def source(self, values: Mapping[str, object], where: KeyPath, *, owner: str) -> Source:
        """Say whose a hook is: a file may lower its own trust, never raise it."""
        place = self.origin.source
        wish = values.get("source")
        if not isinstance(wish, Source) or TRUST[wish] == TRUST[place]:
            return place
        if TRUST[wish] < TRUST[place]:
            return wish
        self.note(
            (*where, "source"), f"{owner} calls itself a {wish} hook; it was found as a {place} hook and stays one"
        )
        return place

    def add(self, values: Mapping[str, object], where: KeyPath, *, keys: Mapping[str, Key], event: str) -> None:
        """Add a hook made of what was read; `event` is the event as the file spells it.

        `on`, `dialect`, `source` and `format` may be among the values without being keys of the file.
        """
        build: Callable[..., Hook] = Hook
        origin = self.origin
        fields: dict[str, object] = {"source": origin.source, "dialect": origin.dialect}
        for name, value in values.items():
            if name in keys and keys[name].field:
                fields[keys[name].field] = value
            elif name in _GIVEN:
                fields[name] = value
        if fields.get("args") and fields.get("shell") is False:
            # words of their own are never a line; said or not, it is the same hook
            del fields["shell"]
        name = str(values.get("name", "") or values.get("id", ""))
        try:
            hook = build(
                id=self._id(values, event),
                name=name,
                source_path=origin.path,
                source_line=self.document.line_of(where),
                source_format=str(values.get("format", origin.format)),
                source_pointer=where,
                layer=origin.layer,
                root=origin.root,
                **fields,
            )
        except ConfigError as problem:
            self.error(where, problem.message)
        else:
            self.hooks.append(hook)

    def _id(self, values: Mapping[str, object], event: str) -> str:
        explicit = str(values.get("id", "")) or slug(str(values.get("name", "")))
        if explicit:
            return explicit
        self._counts[event] = self._counts.get(event, 0) + 1
        stem = self._whose() or os.path.splitext(os.path.basename(self.origin.path))[0]  # noqa: PTH119, PTH122 - asked a thousand times
        return f"{stem}:{event}:{self._counts[event]}"

    def _whose(self) -> str:
        """Name an agent's hooks after the agent: many have a file called settings."""
        origin = self.origin
        return origin.agent if origin.layer is Layer.PROJECT or not origin.agent else f"{origin.agent}-{origin.layer}"


def owner_of(entry: Mapping[str, object]) -> str:
    """Name a hook in a message: by its id, its name, or not at all."""
    name = entry.get("id") or entry.get("name")
    return f"hook {quoted(name)}" if isinstance(name, str) else "a hook"
