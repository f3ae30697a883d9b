"""The effects of a tool call, as far as they are known before it is made."""

import re
from collections.abc import Iterable, Mapping
from posixpath import join, normpath
from typing import Final

from msgspec import Struct

from hookline.shell.program import QUESTIONS
from hookline.shell.walk import ShellCommand

EVERYTHING: Final = frozenset(QUESTIONS)
# other files to each process that looks there: its folder, its root, its open files
_OF_A_PROCESS: Final = re.compile(r"/proc/(?:self|thread-self|[0-9]+|\.+)(?:/|$)|(?:.*/\.\.?)?/+(?:dev|proc)/.*/\.\.?/")
# no files: reading and writing there touches nothing
_DEVICES: Final = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|random|urandom|full|fd/[0-9]+|pts/[0-9]+)")
# with more of one kind than this, the question stays open
MOST: Final = 512


class Target(Struct, frozen=True):
    """A file or folder that a call touches.

    `path` is absolute and normalised where the working folder is known; one below the user's home begins with `~/`.
    With `is_recursive` everything below belongs to it; `only` then limits the names (`grep --include`), and `hides`
    leaves hidden files out. With `is_partial` some files below belong to it, whose names are not known: those that are
    copied into a folder. `pattern` is set for a glob. `is_sure` is false where the call may touch another file
    instead.
    """

    path: str
    is_sure: bool = True
    is_recursive: bool = False
    is_partial: bool = False
    pattern: str = ""
    only: tuple[str, ...] = ()
    hides: bool = False


class Effects(Struct, frozen=True, kw_only=True):
    """What a call would do.

    `runs` are commands: the whole line first, then each command of it. What is deleted is also written.

    `unknown` names the questions that cannot be answered fully: `make` may write any file. A call that may do anything
    at all is opaque: every question is unknown.

    With `is_cut` the call is too long, or nested too deeply, to be read to its end. No user writes such a line, so that
    rules take it for a match: otherwise padding would hide anything.

    `commands` and `targets` carry what the texts cannot: words, options, pipelines, globs and folders.
    """

    runs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()
    is_cut: bool = False
    commands: tuple[ShellCommand, ...] = ()
    targets: Mapping[str, tuple[Target, ...]] = {}

    @property
    def opaque(self) -> bool:
        """Whether nothing about the call can be answered fully."""
        return self.unknown == EVERYTHING

    def as_dict(self) -> dict[str, object]:
        """Return the effects as conditions and payloads have them.

        A folder that is deleted with all that is in it, and a glob, stand for files that are not listed: the question
        is unknown there, too.
        """
        lists: dict[str, object] = {kind: list(getattr(self, kind)) for kind in QUESTIONS}
        wide = (
            kind
            for kind, found in self.targets.items()
            if any(one.pattern or one.is_recursive or one.is_partial for one in found)
        )
        return {**lists, "opaque": self.opaque, "unknown": sorted(self.unknown.union(wide))}


class EffectsBuilder:
    """Collect effects in the order they are found."""

    __slots__ = ("_commands", "_targets", "_texts", "_unknown", "is_cut")

    def __init__(self) -> None:
        self._texts: Mapping[str, dict[str, None]] = {"runs": {}, "urls": {}}
        self._targets: Mapping[str, dict[Target, None]] = {"writes": {}, "deletes": {}, "reads": {}}
        self._commands: list[ShellCommand] = []
        self._unknown: set[str] = set()
        self.is_cut = False

    def add(self, kind: str, texts: Iterable[str]) -> None:
        """Add commands or URLs; too many of them leave the question open."""
        listed = self._texts[kind]
        for text in texts:
            if len(listed) >= MOST:
                self.leave_open(kind)
                return
            listed[text] = None

    def add_commands(self, commands: Iterable[ShellCommand]) -> None:
        """Add commands that run."""
        self._commands += commands

    def touch(self, kind: str, target: Target) -> None:
        """Add a file; what is deleted is written, too."""
        if _DEVICES.fullmatch(target.path):
            return
        if _OF_A_PROCESS.match(target.path) or len(self._targets[kind]) >= MOST:
            self.leave_open(kind)
        if len(self._targets[kind]) < MOST:
            self._targets[kind][target] = None
        if kind == "deletes":
            self.touch("writes", target)

    def touch_paths(self, kind: str, *paths: str) -> None:
        """Add files by their paths."""
        for path in paths:
            self.touch(kind, Target(path))

    def leave_open(self, *kinds: str) -> None:
        """Note that there may be more effects of these kinds; of all of them when none is named."""
        self._unknown.update(kinds or QUESTIONS)
        # what may be deleted may be written
        if "deletes" in self._unknown:
            self._unknown.add("writes")

    def merge(self, other: Effects) -> None:
        """Add all effects of a part of the call."""
        self.add("runs", other.runs)
        self.add("urls", other.urls)
        for kind, targets in other.targets.items():
            for target in targets:
                self.touch(kind, target)
        self.add_commands(other.commands)
        self._unknown |= other.unknown
        self.is_cut |= other.is_cut

    def build(self) -> Effects:
        """Return everything that was found."""
        texts = {kind: tuple(found) for kind, found in self._texts.items()}
        paths = {kind: tuple(dict.fromkeys(one.path for one in found)) for kind, found in self._targets.items()}
        return Effects(
            **texts,
            **paths,
            unknown=frozenset(self._unknown),
            is_cut=self.is_cut,
            commands=tuple(self._commands),
            targets={kind: tuple(found) for kind, found in self._targets.items()},
        )


def make_absolute(cwd: str, path: str) -> str:
    """Return a path as it is compared: absolute and without `..`; `~` stays, the home folder is not known here."""
    joined = path if path == "~" or path.startswith("~/") else join(cwd, path)
    if joined.startswith("~"):
        rest = normpath(joined[1:].lstrip("/") or ".")
        return joined.rstrip("/") if rest.startswith("..") else ("~" if rest == "." else f"~/{rest}")
    # two slashes at the beginning mean the same as one everywhere we run
    return normpath(joined).replace("//", "/") if joined else joined


def spell_paths(cwd: str, path: str) -> tuple[str, ...]:
    """Return a path as it is compared and, where it goes up behind a name that may be a link, as it was written."""
    plain = make_absolute(cwd, path)
    joined = join(cwd, path)
    went_down = joined.partition("/..")[0].strip("./")
    return (plain, joined) if "/.." in joined and went_down and not plain.startswith("~") else (plain,)
