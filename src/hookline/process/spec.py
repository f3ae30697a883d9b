"""A child process to be started, the approved files of its command, and those that are lent to it."""
# runs before each start, where pathlib costs many times more
# ruff: noqa: PTH113, PTH118

import errno
import os
import re
from collections.abc import Sequence
from os.path import join, normpath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.exchange import Sealed
from hookline.model.sandbox import Sandbox
from hookline.process.bootstrap import ApprovedScript, LentDescriptors, has_changed
from hookline.process.containment import Cell, CellKey
from hookline.process.result import ContainmentError, Env, ProcessResult
from hookline.process.sandbox_wrappers import describe_wrapper_failure

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


class ProcessSpec(Struct, frozen=True, kw_only=True):
    """One child to start; `script` holds a shell line until the shell that runs it has been found.

    `cwd` is empty where the child runs in the engine's own directory, which is `engine_cwd`. No program is taken from
    `untrusted_dirs`. The child reads `fd3_data` on descriptor 3 and keeps `pass_fds` open under their numbers. `umask` is
    the caller's, or -1 for the engine's own. With `has_templates`, values of the event are still to be filled in.
    `cell_key` says what is to contain the child, and `cell` contains it.
    """

    program: str = ""
    argv: tuple[str, ...]
    env: Env
    cwd: str = ""
    engine_cwd: str = ""
    path: str = ""
    script: str = ""
    fd3_data: bytes = b""
    untrusted_dirs: tuple[str, ...] = ()
    pass_fds: tuple[int, ...] = ()
    warm: bool = False
    umask: int = -1
    has_templates: bool = False
    cell_key: CellKey | None = None
    cell: Cell | None = None

    @property
    def working_dir(self) -> str:
        """The directory the child runs in."""
        return self.cwd or self.engine_cwd

    @property
    def sandbox(self) -> Sandbox | None:
        """What the child may do, if it is contained."""
        return self.cell.key.sandbox if self.cell is not None else None

    def put_into(self, cell: Cell) -> "ProcessSpec":
        """Return the spec of a child that is contained; a process that was made ahead cannot be put into a wrapper."""
        return replace(self, cell=cell, env=cell.add_variables_to(self.env), warm=self.warm and not cell.wrapper)

    def add_wrapper(self) -> "ProcessSpec":
        """Return the spec as it is started: behind the words of the program that contains it, if there is one."""
        if self.cell is None or not self.cell.wrapper:
            return self
        wrapper = self.cell.wrapper
        program = join(self.working_dir, self.program)
        return replace(self, program=wrapper[0], argv=(*wrapper, program, *self.argv[1:]), cwd=self.working_dir)

    def check_wrapper(self, result: ProcessResult) -> ProcessResult:
        """Return a result that is the child's own.

        Raises:
            ContainmentError: The program that was to contain the child did not start it.
        """
        if self.cell is not None and self.cell.wrapper:
            problem = describe_wrapper_failure(self.cell.layers[0], result.exit_code, result.stderr)
            if problem:
                raise ContainmentError(errno.EPERM, problem)
        return result


class Launch(Struct, frozen=True, kw_only=True):
    """A spec that is ready to start, the argv shown to users, and the approved files lent to the child."""

    spec: ProcessSpec
    display_argv: tuple[str, ...]
    lent: LentDescriptors | None = None
    approved: ApprovedFileSet | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that contain the child."""
        return self.spec.cell.layers if self.spec.cell is not None else ()

    def find_tampering(self) -> str:
        """Return why the child's answer does not count; empty if it does."""
        cell = self.spec.cell
        if cell is not None and (tampering := cell.find_tampering()):
            return tampering
        return "" if self.lent is None or self.approved is None else find_tampering(self.lent, self.approved)

    def release(self) -> None:
        """Take back everything lent to the child."""
        if self.lent is not None:
            self.lent.__exit__()
        if self.spec.cell is not None:
            self.spec.cell.release()


def find_tampering(lent: LentDescriptors, approved: ApprovedFileSet) -> str:
    """Return why the answer of a hook does not count; empty if it does."""
    if altered := lent.find_altered_copy():
        return f'it wrote to "{altered}", which it was given as a copy: redirect with > or >> instead'
    changed = approved.find_changed()
    return f'"{changed}" changed while the hook ran' if changed else ""
