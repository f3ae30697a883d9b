"""The approved files of one call: which file a word names, which are lent as bytes, which are compared in place."""
# runs before each start, where pathlib costs many times more
# ruff: noqa: PTH113, PTH118

import os
import re
from collections.abc import Sequence
from os.path import join, normpath
from typing import Final

from hookline.model.exchange import Sealed
from hookline.process.bootstrap import ApprovedScript
from hookline.process.memfd import has_changed

EXACT_NAME: Final = ("",)
"""The suffixes to try where a word must be the exact name of a file."""

# the end of a word that is known before the hook runs, although its beginning is not
_LAST_PART: Final = re.compile(r"/[\w.-]+[\"']?$")


class ApprovedFileSet:
    """The approved files of one call, the directories their names are relative to, and which files were lent."""

    def __init__(self, sealed: Sealed, folder: str, *, entered: Sequence[str | None] = ()) -> None:
        """Take the directories that the command changes into; None among them is one known only at run time."""
        self._sealed = sealed
        known = [join(folder, name) for name in entered if name is not None]
        # after a `cd` into an unknown directory, only absolute names can be resolved
        self._folders = (folder, *known) if len(known) == len(entered) else ()
        self.lent: set[str] = set()
        self._dynamic: set[str] = set()

    def find(self, word: str, *, endings: Sequence[str] = EXACT_NAME) -> ApprovedScript | None:
        """Return the approved file a word names; None if it names none, or is ambiguous."""
        for ending in endings:
            candidates = self._resolve(word + ending)
            paths = [path for path in candidates if path in self._sealed]
            contents = {self._sealed[path] for path in paths}
            # another directory may hold an unapproved file of the same name
            if len(contents) == 1 and (len(paths) == len(candidates) or not self._first_unapproved(candidates)):
                return ApprovedScript(word, paths[0], self._sealed[paths[0]])
        return None

    def find_unapproved(self, word: str, *, endings: Sequence[str] = EXACT_NAME) -> str:
        """Return the path of an existing file that this word names and that was not approved."""
        return self._first_unapproved(self.candidate_paths(word, endings=endings))

    def candidate_paths(self, word: str, *, endings: Sequence[str] = EXACT_NAME) -> list[str]:
        """Return the paths that this word may name, existing or not."""
        return [path for ending in endings for path in self._resolve(word + ending)]

    def mark_dynamic(self, written: str) -> bool:
        """Mark the files that a word expanded at run time may name; return whether there are any."""
        known_end = _LAST_PART.search(written)
        matches = [path for path in self._sealed if known_end is None or path.endswith(known_end[0].rstrip("\"'"))]
        self._dynamic.update(matches)
        return bool(matches)

    def mark_lent(self, script: ApprovedScript) -> ApprovedScript:
        """Note that the bytes of this file are lent, so that it needs no comparison."""
        self.lent.add(script.path)
        return script

    def compared_paths(self) -> tuple[str, ...]:
        """Return the files that are used in place."""
        return tuple(path for path in self._sealed if path not in self.lent or path in self._dynamic)

    def find_changed(self) -> str:
        """Return one file used in place that differs from what was approved; empty if there is none."""
        if len(self.lent) == len(self._sealed) and not self._dynamic:
            return ""
        return next((path for path in self.compared_paths() if has_changed(path, self._sealed[path])), "")

    def _first_unapproved(self, paths: Sequence[str]) -> str:
        return next((path for path in paths if path not in self._sealed and os.path.isfile(path)), "")

    def _resolve(self, word: str) -> list[str]:
        if not word or "\0" in word:
            return []
        folders = ("/",) if word.startswith("/") else self._folders
        paths = [join(folder, word) for folder in folders]
        # behind a symbolic link ".." has another meaning than normpath gives it: such a file was approved unnormalised
        return list(dict.fromkeys(path if path in self._sealed else normpath(path) for path in paths))


def describe_sealing(approved: ApprovedFileSet) -> str:
    """Describe which files run from approved bytes and which are only compared."""
    sentences = []
    if approved.lent:
        sentences.append(f"runs from the bytes that were checked: {', '.join(sorted(approved.lent))}")
    if approved.compared_paths():
        names = ", ".join(sorted(approved.compared_paths()))
        sentences.append(f"runs from where it lies, compared before and after each run: {names}")
    return "; ".join(sentences) or "no file of its own"
