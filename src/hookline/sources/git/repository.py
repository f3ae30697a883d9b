"""Where a repository keeps its hooks, and who says so."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from hookline.errors import HostError
from hookline.sources.git.program import ask


class HooksPath(Struct, frozen=True, kw_only=True):
    """What `core.hooksPath` says: as it is written, as git expands it, and in whose configuration it stands."""

    written: str
    path: str
    scope: str


class Repository(Struct, frozen=True, kw_only=True):
    """A repository with a work tree: `common` is the folder that all of its work trees share, `own` is this one's."""

    top: Path
    common: Path
    own: Path
    hooks_path: HooksPath | None = None

    @property
    def own_hooks(self) -> Path:
        """The folder git looks into as long as nobody says otherwise."""
        return self.common / "hooks"


def open_repository(folder: Path) -> Repository:
    """Look at the repository a folder belongs to.

    Raises:
        HostError: There is none, it has no work tree, or git refuses to have to do with it.
    """
    place = str(folder)
    try:
        is_bare = _line("--is-bare-repository", folder=place)
    except HostError as problem:
        if "not a git repository" not in str(problem):
            raise
        raise HostError(f"{folder} is in no git repository; `git init` makes one, --project names another") from None
    if is_bare == "true":
        raise HostError(f"{folder} is a bare repository: nobody commits there, so there is nothing to watch")
    top = _line("--show-toplevel", folder=place, may_fail=True)
    if not top:
        raise HostError(f"{folder} is inside the repository's own folder; say --project with a folder of its work tree")
    return Repository(
        top=Path(top),
        common=Path(os.path.realpath(folder / _line("--git-common-dir", folder=place))),
        own=Path(os.path.realpath(folder / _line("--git-dir", folder=place))),
        hooks_path=hooks_path(place),
    )


@contextmanager
def changing(folder: Path) -> Iterator[Repository]:
    """Be the only one who changes the hooks of a repository: two at once would set aside what the other one wrote.

    Raises:
        HostError: See `open_repository`.
    """
    handle = os.open(open_repository(folder).common, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        # where there are no such locks, as on some network drives, it is done without
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield open_repository(folder)
    finally:
        os.close(handle)


def hooks_path(place: str) -> HooksPath | None:
    """Say where git looks for hooks; None when nobody told it anything."""
    written = ask("config", "--show-scope", "-z", "--get", "core.hooksPath", folder=place, may_fail=True)
    if written is None:
        return None
    scope, value = os.fsdecode(written).split("\0")[:2]
    path = ask("config", "-z", "--type=path", "--get", "core.hooksPath", folder=place) or b""
    return HooksPath(written=value, path=os.fsdecode(path).rstrip("\0"), scope=scope)


def _line(word: str, *, folder: str, may_fail: bool = False) -> str:
    # one answer at a time: the name of a folder may have more than one line
    return os.fsdecode(ask("rev-parse", word, folder=folder, may_fail=may_fail) or b"").removesuffix("\n")
