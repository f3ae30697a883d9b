"""A git repository: where it keeps its hooks, and the git of this machine that answers questions about it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.errors import HostError
from hookline.model.hook import Hook, Source
from hookline.model.workspace_paths import is_inside_real, workspace_roots
from hookline.trust.files_and_programs import find_executables

_SECONDS: Final = 30
_OWN_HOOK: Final = Hook(id="git", kind="git", source=Source.BUILTIN)

# its messages are matched and shown, and a question must not make other programs wait for a lock
_ENVIRONMENT: Final[Mapping[str, str]] = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


class HooksPath(Struct, frozen=True, kw_only=True):
    """The value of `core.hooksPath`: as it is written, as git expands it, and the scope of its configuration."""

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
        """The folder of hooks where `core.hooksPath` is not set."""
        return self.common / "hooks"


def open_repository(folder: Path) -> Repository:
    """Return the repository a folder belongs to.

    Raises:
        HostError: There is none, it has no work tree, or git refuses to use it.
    """
    folder_name = str(folder)
    try:
        is_bare = _rev_parse("--is-bare-repository", folder=folder_name)
    except HostError as problem:
        if "not a git repository" not in str(problem):
            raise
        raise HostError(f"{folder} is in no git repository; `git init` makes one, --project names another") from None
    if is_bare == "true":
        raise HostError(f"{folder} is a bare repository: there are no commits to watch")
    top = _rev_parse("--show-toplevel", folder=folder_name, may_fail=True)
    if not top:
        raise HostError(f"{folder} is inside the repository's own folder; say --project with a folder of its work tree")
    return Repository(
        top=Path(top),
        common=Path(os.path.realpath(folder / _rev_parse("--git-common-dir", folder=folder_name))),
        own=Path(os.path.realpath(folder / _rev_parse("--git-dir", folder=folder_name))),
        hooks_path=read_hooks_path(folder_name),
    )


@contextmanager
def lock_repository(folder: Path) -> Iterator[Repository]:
    """Lock the hooks of a repository: two installers at once would set aside each other's scripts.

    Raises:
        HostError: See `open_repository`.
    """
    handle = os.open(open_repository(folder).common, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        # some network drives have no such locks
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - does not exist on Windows

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield open_repository(folder)
    finally:
        os.close(handle)


def read_hooks_path(folder_name: str) -> HooksPath | None:
    """Return where git looks for hooks, or None where `core.hooksPath` is not set."""
    written = run_git("config", "--show-scope", "-z", "--get", "core.hooksPath", folder=folder_name, may_fail=True)
    if written is None:
        return None
    scope, value = os.fsdecode(written).split("\0")[:2]
    path = run_git("config", "-z", "--type=path", "--get", "core.hooksPath", folder=folder_name) or b""
    return HooksPath(written=value, path=os.fsdecode(path).rstrip("\0"), scope=scope)


def _rev_parse(word: str, *, folder: str, may_fail: bool = False) -> str:
    # one question at a time: the name of a folder may have more than one line
    return os.fsdecode(run_git("rev-parse", word, folder=folder, may_fail=may_fail) or b"").removesuffix("\n")


@lru_cache(maxsize=16)
def find_git(folder: str, path: str) -> str:
    """Return the path of git, but not of one that the project brings along.

    Raises:
        HostError: There is none.
    """
    foreign = workspace_roots(_OWN_HOOK, folder)
    for candidate in find_executables("git", path):
        if not is_inside_real(candidate, foreign):
            return candidate
    raise HostError("git is not on the PATH, outside of this project; install it and try again")


def run_git(*words: str, folder: str, stdin: bytes = b"", may_fail: bool = False) -> bytes | None:
    """Run git in a folder and return its output; with `may_fail`, None where it fails.

    Raises:
        HostError: It cannot be started, or fails.
    """
    import subprocess  # noqa: PLC0415 - takes time to import

    try:
        done = subprocess.run(
            [find_git(folder, caller_context.environ().get("PATH", os.defpath)), *words],
            cwd=folder,
            env={**caller_context.full_environ(), **_ENVIRONMENT},
            input=stdin,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise HostError(f"git {words[0]} did not work in {folder}: {problem}") from None
    if done.returncode == 0:
        return done.stdout
    if may_fail:
        return None
    message = done.stderr.decode("utf-8", "replace").strip()
    raise HostError(f"git {words[0]} did not work in {folder}: {message or f'exit code {done.returncode}'}")
