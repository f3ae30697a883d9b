"""Point `core.hooksPath` at a folder of ours, and restore the configuration byte for byte."""

import hashlib
import os
import secrets
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import HostError
from hookline.sources.git.repository import HooksPath, Repository, read_hooks_path, run_git
from hookline.sources.git.scripts import MARK

_KEY: Final = "core.hooksPath"
_HOOKS: Final = "hooks"
_STATE: Final = "state.json"
_BESIDE_OURS: Final = "folder=${0%/*}/../../hooks"
_USER_FOLDER: Final = (
    f"folder=$(git config --global --includes --type=path --get {_KEY} ||\n"
    f"        git config --system --includes --type=path --get {_KEY}) ||\n"
    f"        {_BESIDE_OURS}"
)
_WORKTREE: Final = "worktree"
_OWN_SCOPES: Final = frozenset({"local", _WORKTREE})


class InstallStep(Struct, frozen=True, kw_only=True):
    """One change: its description, and the function that makes it."""

    what: str
    do: Callable[[], object]


class HooksPathState(Struct, frozen=True, kw_only=True):
    """The configuration before we changed it.

    `file` is the configuration file, `before` its bytes, `after` the hash of its bytes after our change, `value` the old
    value. `theirs` is the shell line that sets the folder of theirs, `undo` the command that takes our change back.
    """

    file: str
    before: bytes
    theirs: str
    undo: str
    value: str | None = None
    after: str = ""


def our_hooks_folder(repository: Repository) -> Path:
    """Return the folder that `core.hooksPath` points at."""
    return _our_folder(repository) / _HOOKS


def _our_folder(repository: Repository) -> Path:
    """Return the folder for our files: a work tree with a `core.hooksPath` of its own has its own folder."""
    current = repository.hooks_path
    return _our_folders(repository)[current is not None and current.scope == _WORKTREE]


def _our_folders(repository: Repository) -> tuple[Path, Path]:
    return repository.common / "hookline", repository.own / "hookline-tree"


def is_redirected(repository: Repository) -> bool:
    """Return whether `core.hooksPath` points at our folder now."""
    return repository.hooks_path is not None and repository.hooks_path.path == str(our_hooks_folder(repository))


def is_ours(path: Path) -> bool:
    """Return whether a file is one of our scripts."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            return MARK in file.read(200)
    except OSError:
        return False


def read_state(repository: Repository) -> HooksPathState | None:
    """Read the configuration before us, or None where it was not changed.

    Raises:
        HostError: The file was written by another program, or is damaged.
    """
    return _read_state(_our_folder(repository) / _STATE)


def _read_state(path: Path) -> HooksPathState | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=HooksPathState)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        raise HostError(
            f"cannot read {path}: {problem}; see `git config --show-origin {_KEY}`, and remove the file"
        ) from None


def capture_state(repository: Repository) -> HooksPathState:
    """Return the configuration as it is before our change.

    Raises:
        HostError: `core.hooksPath` is set where the change cannot be undone.
    """
    current = repository.hooks_path
    if current is not None and current.scope not in {*_OWN_SCOPES, "global", "system"}:
        raise HostError(f"{_KEY} is set by the command line or the environment; install without that")
    where = str(repository.top)
    is_worktree = current is not None and current.scope == _WORKTREE
    named = run_git("rev-parse", "--git-path", "config.worktree", folder=where) if is_worktree else None
    file = os.path.join(where, os.fsdecode(named).rstrip("\n")) if named else str(repository.common / "config")  # noqa: PTH118
    own = current if current is not None and current.scope in _OWN_SCOPES else None
    undo = f"git config {_KEY} {shlex.quote(own.written)}" if own else f"git config --unset {_KEY}"
    return HooksPathState(
        file=file,
        before=_read(Path(file)),
        theirs=_folder_line(current),
        undo=undo,
        value=own.written if own else None,
    )


def _folder_line(current: HooksPath | None) -> str:
    """Return the shell line that sets the folder of theirs, as git resolves it: relative to where it runs hooks."""
    if current is None:
        return _BESIDE_OURS
    if current.scope not in _OWN_SCOPES:
        return _USER_FOLDER
    if current.written.startswith("~/"):
        return f"folder=$HOME/{shlex.quote(current.written[2:])}"
    is_expanded = current.written.startswith(("~", "%("))
    return f"folder={shlex.quote(current.path if is_expanded else current.written)}"


def find_their_folder(repository: Repository, state: HooksPathState | None) -> Path:
    """Return the folder of theirs."""
    place = str(repository.top)
    if state is None or state.theirs == _BESIDE_OURS:
        return repository.own_hooks
    if state.value is not None:
        return repository.top / os.path.expanduser(state.value)  # noqa: PTH111 - it may be relative
    for scope in ("--global", "--system"):
        words = ("config", scope, "--includes", "--type=path", "--get", _KEY)
        if path := run_git(*words, folder=place, may_fail=True):
            return repository.top / os.fsdecode(path).rstrip("\n")
    return repository.own_hooks


def redirect_steps(repository: Repository, state: HooksPathState) -> Iterator[InstallStep]:
    """Yield the step that points `core.hooksPath` at our folder, and stores its old value."""
    if is_redirected(repository):
        return
    path, folder, where = _our_folder(repository) / _STATE, our_hooks_folder(repository), str(repository.top)

    def redirect() -> None:
        _write(path, msgspec.json.encode(state), mode=0o644)
        run_git("config", "--file", state.file, "--replace-all", _KEY, str(folder), folder=where)
        current = read_hooks_path(where)
        if current is None or current.path != str(folder):
            _restore(Path(state.file), state.before)
            path.unlink()
            raise HostError(
                f"git does not go to our folder, because {_KEY} is set once more, in a file that is read later: see "
                f"`git config --show-origin --get-all {_KEY}`, move it to {state.file}, and try again"
            )
        after = hashlib.sha256(_read(Path(state.file))).hexdigest()
        _write(path, msgspec.json.encode(replace(state, after=after)), mode=0o644)

    yield InstallStep(what=f"send git to our folder: {_KEY} = {folder} in {state.file}", do=redirect)


def plan_undo(repository: Repository) -> tuple[list[InstallStep], list[str]]:
    """Return the steps that restore `core.hooksPath` and remove our folders, and notes."""
    steps: list[InstallStep] = []
    notes: list[str] = []
    for place in _our_folders(repository):
        state, folder = _read_state(place / _STATE), place / _HOOKS
        if state is not None:
            steps += _restore_steps(repository, state, folder)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if is_ours(path):
                steps.append(removal_step(path))
            else:
                notes.append(f"another program put {path} there; move it to {find_their_folder(repository, state)}")
        if state is not None:
            steps.append(removal_step(place / _STATE))
        if place.is_dir():
            what = f"remove {place}, if nothing is left in it"
            steps.append(InstallStep(what=what, do=partial(_remove_if_empty, folder, place)))
    return steps, notes


def _restore_steps(repository: Repository, state: HooksPathState, folder: Path) -> Iterator[InstallStep]:
    now = _read(Path(state.file))
    if state.after and hashlib.sha256(now).hexdigest() == state.after:
        yield InstallStep(what=f"put {state.file} back as it was", do=lambda: _restore(Path(state.file), state.before))
        return
    where = str(repository.top)
    value = run_git("config", "--file", state.file, "-z", "--get", _KEY, folder=where, may_fail=True) or b""
    if os.fsdecode(value).rstrip("\0") != str(folder):
        # another program has changed it since, and its value stays
        return
    words = ("--unset-all", _KEY) if state.value is None else ("--replace-all", _KEY, state.value)
    what = f"unset {_KEY}" if state.value is None else f"set {_KEY} = {state.value}"
    yield InstallStep(
        what=f"{what} in {state.file}, which has changed since",
        do=lambda: run_git("config", "--file", state.file, *words, folder=where),
    )


def write_steps(path: Path, text: bytes) -> Iterator[InstallStep]:
    """Yield the step that writes one of our scripts, unless it is there already."""
    try:
        is_there = path.read_bytes() == text and os.access(path, os.X_OK)
    except OSError:
        is_there = False
    if not is_there:
        yield InstallStep(what=f"write {path}", do=lambda: _write(path, text, mode=0o755))


def removal_step(path: Path) -> InstallStep:
    """Return the step that removes a file of ours."""
    return InstallStep(what=f"remove {path}", do=path.unlink)


def _remove_if_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise HostError(f"cannot read {path}: {problem.strerror}") from None


def _write(path: Path, text: bytes, *, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        beside.write_bytes(text)
        beside.chmod(mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _restore(path: Path, text: bytes) -> None:
    """Write a configuration of git under the lock that git itself takes; a link to it stays one."""
    path = Path(os.path.realpath(path))
    lock = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(path.stat().st_mode))
    except FileExistsError:
        raise HostError(f"another program is changing {path} ({lock} is there); try again") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        # the umask may have removed permissions
        lock.chmod(stat.S_IMODE(path.stat().st_mode))
        lock.replace(path)
    finally:
        # also on a full disk, the lock must not stay
        lock.unlink(missing_ok=True)
