"""A command prepared for its next calls, and the folder it runs in."""

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hookline import caller_context
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook
from hookline.process.approved_files import ApprovedFileSet
from hookline.process.environment import get_variable
from hookline.process.spec import ProcessSpec


class SealedCommand(Struct, frozen=True, kw_only=True):
    """A command whose approved files were replaced by descriptors of their bytes; `contents` are in `descriptors`."""

    files: Sealed
    contents: tuple[bytes, ...]
    descriptors: tuple[int, ...]
    spec: ProcessSpec
    approved: ApprovedFileSet


class PreparedCommand(Struct, kw_only=True):
    """What the calls of one hook have in common; valid as long as `key`, everything it was made of, stays equal.

    `sealed` is the last result of sealing it, valid for the same approved files until a call fails.
    """

    key: tuple[object, ...]
    spec: ProcessSpec
    sealed: SealedCommand | None = None

    @property
    def display_argv(self) -> tuple[str, ...]:
        """The words that a user knows the command by."""
        return self.spec.argv or ("sh", "-c", self.spec.script)


def engine_folder() -> str:
    """Return the working folder of this program, or "" where it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() is ten times as slow, and this runs at each call
    except OSError:
        return ""


def run_folder(hook: Hook, cwd: str, engine_cwd: str) -> str:
    """Return the folder the hook runs in, or "" for that of this program."""
    folder = hook.working_directory
    if folder:
        with suppress(RuntimeError):  # there is no such home: reported as a folder that does not exist
            folder = caller_context.expand_home(folder)
        folder = str(Path(cwd, folder))
    folder = folder or cwd
    if folder and not folder.startswith("/"):
        folder = str(Path(engine_cwd, folder))
    return "" if folder == engine_cwd else folder


def shell_variable(spec: ProcessSpec, folder: str, name: str) -> str | None:
    """Return a variable as a shell that runs the command in this folder would see it."""
    return folder if name == "PWD" else get_variable(spec.env, name)
