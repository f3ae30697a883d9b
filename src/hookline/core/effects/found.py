"""What a call would do, as far as it can be told before it is made."""

import re
from collections.abc import Iterable, Mapping
from posixpath import join, normpath
from typing import Final

from msgspec import Struct

# the lists that an effect can be in
KINDS: Final = ("runs", "writes", "deletes", "reads", "urls")
EVERYTHING: Final = frozenset(KINDS)
_OF_FILES: Final = frozenset({"writes", "deletes", "reads"})
# other files to each process that looks there: its folder, its root, what it has open
_OF_A_PROCESS: Final = re.compile(r"/proc/(?:self|thread-self|[0-9]+|\.+)(?:/|$)|(?:.*/\.\.?)?/+(?:dev|proc)/.*/\.\.?/")
# more than this many of one kind are told as "anything"
MOST: Final = 512


class Effects(Struct, frozen=True, kw_only=True):
    """What a call would do.

    `runs` are commands: the whole line first, then each command of it. Paths are absolute and normalised where the
    folder is known; one of a person's home begins with `~/`. What is deleted is also written.

    `vague` names the lists that may lack something: `rm -r build` deletes files that nobody named. A call that may do
    anything at all is opaque, and every list of it is vague.
    """

    runs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    vague: frozenset[str] = frozenset()

    @property
    def opaque(self) -> bool:
        """Whether nobody can know what the call does."""
        return self.vague == EVERYTHING

    def told(self) -> dict[str, object]:
        """Give them as conditions ask for them."""
        lists: dict[str, object] = {kind: list(getattr(self, kind)) for kind in KINDS}
        return {**lists, "opaque": self.opaque, "vague": sorted(self.vague)}


NOTHING: Final = Effects()


class Found:
    """Effects while they are being found, in the order they were."""

    __slots__ = ("_lists", "_vague")

    def __init__(self) -> None:
        self._lists: Mapping[str, dict[str, None]] = {kind: {} for kind in KINDS}
        self._vague: set[str] = set()

    def add(self, kind: str, values: Iterable[str]) -> None:
        """Add effects of one kind; too many of them become anything of that kind."""
        listed = self._lists[kind]
        for value in values:
            if kind in _OF_FILES and _OF_A_PROCESS.match(value):
                self.unsure(kind)
            if len(listed) >= MOST:
                self.unsure(kind)
                return
            listed[value] = None

    def writes(self, *paths: str) -> None:
        """Add files that are written."""
        self.add("writes", paths)

    def deletes(self, *paths: str) -> None:
        """Add files that are deleted, which is one way to write them."""
        self.add("writes", paths)
        self.add("deletes", paths)

    def reads(self, *paths: str) -> None:
        """Add files that are read."""
        self.add("reads", paths)

    def unsure(self, *kinds: str) -> None:
        """Say that there may be more effects of these kinds; of all of them, when none is named."""
        self._vague.update(kinds or KINDS)
        # whatever may be deleted may be written
        if "deletes" in self._vague:
            self._vague.add("writes")

    def effects(self) -> Effects:
        """Give everything that was found."""
        lists = {kind: tuple(found) for kind, found in self._lists.items()}
        return Effects(**lists, vague=frozenset(self._vague))


def whole(cwd: str, path: str) -> str:
    """Give a path as it is compared: absolute and without `..`; a person's home is not ours to know."""
    joined = path if path == "~" or path.startswith("~/") else join(cwd, path)
    if joined.startswith("~"):
        return joined
    # two slashes at the beginning mean the same as one everywhere we run
    return normpath(joined).replace("//", "/") if joined else joined


def spelled(cwd: str, path: str) -> tuple[str, ...]:
    """Give a path as it is compared and, where it goes up again behind a name that may be a link, as it was written."""
    plain = whole(cwd, path)
    joined = join(cwd, path)
    went_down = joined.partition("/..")[0].strip("./")
    return (plain, joined) if "/.." in joined and went_down and not plain.startswith("~") else (plain,)
