"""The vetted files of one call: which of them a word means, which were handed over, which are compared."""
# looked up before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH118

import os
import re
from collections.abc import Sequence
from os.path import join, normpath
from typing import Final

from hookline.kinds._launch import Script
from hookline.kinds._sealed import differs
from hookline.model.exchange import Sealed

AS_NAMED: Final = ("",)
"""The endings of files that are called exactly as a word says."""

# the end of a word that can be known, though its beginning is made when it runs
_LAST_PART: Final = re.compile(r"/[\w.-]+[\"']?$")


class Vetted:
    """The vetted files of one call, where their names are counted from, and which of them were handed over."""

    __slots__ = ("_folders", "_meant", "_sealed", "handed")

    def __init__(self, sealed: Sealed, folder: str, *, entered: Sequence[str | None] = ()) -> None:
        self._sealed = sealed
        known = [join(folder, name) for name in entered if name is not None]
        # after a `cd` nobody can follow, only absolute names mean anything
        self._folders = (folder, *known) if len(known) == len(entered) else ()
        self.handed: set[str] = set()
        self._meant: set[str] = set()

    def find(self, word: str, *, endings: Sequence[str] = AS_NAMED) -> Script | None:
        """Find the vetted file a word names; None when it names none, or one of several."""
        for ending in endings:
            possible = self._paths(word + ending)
            paths = [path for path in possible if path in self._sealed]
            contents = {self._sealed[path] for path in paths}
            # in the other folder there may be a file of this name that nobody has checked
            if len(contents) == 1 and (len(paths) == len(possible) or not self._unchecked(possible)):
                return Script(word, paths[0], self._sealed[paths[0]])
        return None

    def newcomer(self, word: str, *, endings: Sequence[str] = AS_NAMED) -> str:
        """Name a file that this word means now, and that was not there when the hook was checked."""
        return self._unchecked(self.possible(word, endings=endings))

    def possible(self, word: str, *, endings: Sequence[str] = AS_NAMED) -> list[str]:
        """Name the files that this word may mean, whether they are there or not."""
        return [path for ending in endings for path in self._paths(word + ending)]

    def await_name(self, written: str) -> bool:
        """Note that a script's name is made when it runs, and say whether it can mean one of these files at all."""
        found = _LAST_PART.search(written)
        meant = [path for path in self._sealed if found is None or path.endswith(found[0].rstrip("\"'"))]
        self._meant.update(meant)
        return bool(meant)

    def hand(self, script: Script) -> Script:
        """Note that this file needs no comparing: its bytes are handed over."""
        self.handed.add(script.path)
        return script

    def rest(self) -> tuple[str, ...]:
        """Name the files that are used from where they lie."""
        return tuple(path for path in self._sealed if path not in self.handed or path in self._meant)

    def changed(self) -> str:
        """Name one of them that is not what it was; empty when all are."""
        if len(self.handed) == len(self._sealed) and not self._meant:
            return ""
        return next((path for path in self.rest() if differs(path, self._sealed[path])), "")

    def _unchecked(self, paths: Sequence[str]) -> str:
        return next((path for path in paths if path not in self._sealed and os.path.isfile(path)), "")

    def _paths(self, word: str) -> list[str]:
        if not word or "\0" in word:
            return []
        folders = ("/",) if word.startswith("/") else self._folders
        paths = [join(folder, word) for folder in folders]
        # behind a link to a folder, ".." does not mean what the spelling says: then it was checked as it is spelled
        return list(dict.fromkeys(path if path in self._sealed else normpath(path) for path in paths))


def describe(vetted: Vetted) -> str:
    """Say in words what is sealed and what is not."""
    sentences = []
    if vetted.handed:
        sentences.append(f"runs from the bytes that were checked: {', '.join(sorted(vetted.handed))}")
    if vetted.rest():
        names = ", ".join(sorted(vetted.rest()))
        sentences.append(f"runs from where it lies, compared before and after each run: {names}")
    return "; ".join(sentences) or "no file of its own"
