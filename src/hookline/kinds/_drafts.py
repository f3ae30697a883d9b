"""What is known of a child before anything is looked for, and how to tell that it is still the same."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline import surroundings
from hookline.kinds._job import Job
from hookline.kinds._program import variable_of
from hookline.kinds._sealed import Seals
from hookline.kinds._vetted import Vetted
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook


class Drafted(Struct, frozen=True, kw_only=True):
    """A draft, and everything it was made of."""

    hook: Hook
    base: Mapping[bytes, bytes]
    env: Mapping[str, str]
    cwd: str
    here: str
    umask: int | None
    is_sealed: bool
    job: Job


class Done(Struct, frozen=True, kw_only=True):
    """How a draft was sealed, and everything that went into it.

    `is_free` says that it names no file that was vetted: it is handed nothing, and there is nothing to compare.
    """

    draft: Job
    sealed: Sealed
    variables: Mapping[str, str | None]
    contents: tuple[bytes, ...]
    descriptors: tuple[int, ...]
    job: Job
    vetted: Vetted
    is_free: bool

    def again(self, draft: Job, folder: str, seals: Seals) -> Job | None:
        """Give what sealing it again would give; None when that is something else. Its files are opened again, too."""
        if draft is not self.draft:
            for name, value in self.variables.items():
                if variable_in(draft, folder, name) != value:
                    return None
        if not seals.opened_again(self.contents, self.descriptors):
            return None
        if draft is self.draft:
            return self.job
        job = self.job
        return replace(draft, program=job.program, argv=job.argv, script=job.script, files=tuple(seals.descriptors))


def own_folder() -> str:
    """Say where this program is; empty when that folder was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() is ten times as slow, and this is asked at each call
    except OSError:
        return ""


def folder_of(hook: Hook, cwd: str, here: str) -> str:
    """Say where the hook is to run; empty for where this program is."""
    folder = hook.working_directory
    if folder:
        with suppress(RuntimeError):  # nobody has such a home: reported as a folder that does not exist
            folder = surroundings.expanded(folder)
        folder = str(Path(cwd, folder))
    folder = folder or cwd
    if not folder:
        return ""
    if not folder.startswith("/"):
        folder = str(Path(here, folder))
    return "" if folder == here else folder


def variable_in(draft: Job, folder: str, name: str) -> str | None:
    """Give a variable as a shell that runs the draft there would see it."""
    return folder if name == "PWD" else variable_of(draft.env, name)
