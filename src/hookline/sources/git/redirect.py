"""A folder of ours that git is sent to, and the way back: the configuration as it was, byte for byte."""

import hashlib
import os
import secrets
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import HostError
from hookline.sources.git.program import ask
from hookline.sources.git.repository import HooksPath, Repository, hooks_path
from hookline.sources.git.shims import MARK

_KEY: Final = "core.hooksPath"
_BESIDE_OURS: Final = "folder=${0%/*}/../../hooks"
_OF_THE_PERSON: Final = (
    f"folder=$(git config --global --includes --type=path --get {_KEY} ||\n"
    f"        git config --system --includes --type=path --get {_KEY}) ||\n"
    f"        {_BESIDE_OURS}"
)
_OF_A_TREE: Final = "worktree"
_OWN_SCOPES: Final = frozenset({"local", _OF_A_TREE})


class Step(Struct, frozen=True, kw_only=True):
    """One change: what it is, and how it is done."""

    what: str
    do: Callable[[], object]


class State(Struct, frozen=True, kw_only=True):
    """What there was before us.

    `file` is the configuration that was changed, `before` its bytes, `after` the hash of what we made of it, `value`
    what it said. `theirs` is the shell line that finds their folder, `undo` the command that does without us.
    """

    file: str
    before: bytes
    theirs: str
    undo: str
    value: str | None = None
    after: str = ""


def our_folder(repository: Repository) -> Path:
    """Give the folder that git is sent to."""
    return _hooks(_place(repository))


def _place(repository: Repository) -> Path:
    """Give the folder for what is ours: a work tree that says for itself where its hooks are has one of its own."""
    found = repository.hooks_path
    return _places(repository)[found is not None and found.scope == _OF_A_TREE]


def _places(repository: Repository) -> tuple[Path, Path]:
    return repository.common / "hookline", repository.own / "hookline-tree"


def _hooks(place: Path) -> Path:
    return place / "hooks"


def _state_path(place: Path) -> Path:
    return place / "state.json"


def is_in_force(repository: Repository) -> bool:
    """Say whether git looks into our folder now."""
    return repository.hooks_path is not None and repository.hooks_path.path == str(our_folder(repository))


def is_ours(path: Path) -> bool:
    """Say whether a file is one of our scripts."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            return MARK in file.read(200)
    except OSError:
        return False


def read_state(repository: Repository) -> State | None:
    """Read what there was before us; None when nobody was sent anywhere.

    Raises:
        HostError: It was written by somebody else, or is damaged.
    """
    return _read_state(_state_path(_place(repository)))


def _read_state(path: Path) -> State | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        raise HostError(
            f"cannot read {path}: {problem}; see `git config --show-origin {_KEY}`, and remove the file"
        ) from None


def first_state(repository: Repository) -> State:
    """Say what there is before us.

    Raises:
        HostError: Where git looks is said by something that cannot be taken back.
    """
    found = repository.hooks_path
    if found is not None and found.scope not in {*_OWN_SCOPES, "global", "system"}:
        raise HostError(f"{_KEY} is set by the command line or the environment; install without that")
    where = str(repository.top)
    is_of_a_tree = found is not None and found.scope == _OF_A_TREE
    named = ask("rev-parse", "--git-path", "config.worktree", folder=where) if is_of_a_tree else None
    file = os.path.join(where, os.fsdecode(named).rstrip("\n")) if named else str(repository.common / "config")  # noqa: PTH118
    own = found if found is not None and found.scope in _OWN_SCOPES else None
    undo = f"git config {_KEY} {shlex.quote(own.written)}" if own else f"git config --unset {_KEY}"
    return State(
        file=file,
        before=_read(Path(file)),
        theirs=_line(found),
        undo=undo,
        value=own.written if own else None,
    )


def _line(found: HooksPath | None) -> str:
    """Give the shell line that finds their folder, as git itself would: relative to where it runs hooks."""
    if found is None:
        return _BESIDE_OURS
    if found.scope not in _OWN_SCOPES:
        return _OF_THE_PERSON
    if found.written.startswith("~/"):
        return f"folder=$HOME/{shlex.quote(found.written[2:])}"
    is_expanded = found.written.startswith(("~", "%("))
    return f"folder={shlex.quote(found.path if is_expanded else found.written)}"


def their_folder(repository: Repository, state: State | None) -> Path:
    """Give the folder that theirs are in."""
    place = str(repository.top)
    if state is None or state.theirs == _BESIDE_OURS:
        return repository.own_hooks
    if state.value is not None:
        return repository.top / os.path.expanduser(state.value)  # noqa: PTH111 - it may be relative
    for scope in ("--global", "--system"):
        words = ("config", scope, "--includes", "--type=path", "--get", _KEY)
        if said := ask(*words, folder=place, may_fail=True):
            return repository.top / os.fsdecode(said).rstrip("\n")
    return repository.own_hooks


def told(repository: Repository, state: State) -> Iterator[Step]:
    """Send git to our folder, and remember what it was told before."""
    if is_in_force(repository):
        return
    path, folder, where = _state_path(_place(repository)), our_folder(repository), str(repository.top)

    def tell() -> None:
        _write(path, msgspec.json.encode(state), mode=0o644)
        ask("config", "--file", state.file, "--replace-all", _KEY, str(folder), folder=where)
        found = hooks_path(where)
        if found is None or found.path != str(folder):
            _restore(Path(state.file), state.before)
            path.unlink()
            raise HostError(
                f"git does not go to our folder, because {_KEY} is set once more, in a file that is read later: see "
                f"`git config --show-origin --get-all {_KEY}`, move it to {state.file}, and try again"
            )
        after = hashlib.sha256(_read(Path(state.file))).hexdigest()
        _write(path, msgspec.json.encode(replace(state, after=after)), mode=0o644)

    yield Step(what=f"send git to our folder: {_KEY} = {folder} in {state.file}", do=tell)


def undone(repository: Repository) -> tuple[list[Step], list[str]]:
    """Plan how git goes back to where it looked, and our folders go away."""
    steps: list[Step] = []
    notes: list[str] = []
    for place in _places(repository):
        state, folder = _read_state(_state_path(place)), _hooks(place)
        if state is not None:
            steps += _back(repository, state, folder)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if is_ours(path):
                steps.append(removed(path))
            else:
                notes.append(f"another program put {path} there; move it to {their_folder(repository, state)}")
        if state is not None:
            steps.append(removed(_state_path(place)))
        if place.is_dir():
            steps.append(_emptied(place))
    return steps, notes


def _back(repository: Repository, state: State, folder: Path) -> Iterator[Step]:
    now = _read(Path(state.file))
    if state.after and hashlib.sha256(now).hexdigest() == state.after:
        yield Step(what=f"put {state.file} back as it was", do=lambda: _restore(Path(state.file), state.before))
        return
    where = str(repository.top)
    said = ask("config", "--file", state.file, "-z", "--get", _KEY, folder=where, may_fail=True) or b""
    if os.fsdecode(said).rstrip("\0") != str(folder):
        # somebody else has told git something else since, and that stays
        return
    words = ("--unset-all", _KEY) if state.value is None else ("--replace-all", _KEY, state.value)
    what = f"unset {_KEY}" if state.value is None else f"set {_KEY} = {state.value}"
    yield Step(
        what=f"{what} in {state.file}, which has changed since",
        do=lambda: ask("config", "--file", state.file, *words, folder=where),
    )


def written(path: Path, text: bytes) -> Iterator[Step]:
    """Write one of our scripts, unless it is there already."""
    try:
        is_there = path.read_bytes() == text and os.access(path, os.X_OK)
    except OSError:
        is_there = False
    if not is_there:
        yield Step(what=f"write {path}", do=lambda: _write(path, text, mode=0o755))


def removed(path: Path) -> Step:
    """Remove a file of ours."""
    return Step(what=f"remove {path}", do=path.unlink)


def _emptied(place: Path) -> Step:
    def empty() -> None:
        for folder in (_hooks(place), place):
            with suppress(OSError):
                folder.rmdir()

    return Step(what=f"remove {place}, if nothing is left in it", do=empty)


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
        # what the person's umask took away when it was made
        lock.chmod(stat.S_IMODE(path.stat().st_mode))
        lock.replace(path)
    finally:
        # on a full disk, too, nobody else is kept from the configuration
        lock.unlink(missing_ok=True)
