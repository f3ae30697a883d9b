"""Plan how git runs our scripts beside the hooks that are there, and the way back: each change is a step.

Where a repository has its hooks in its own folder, ours go there, and a shell script of the same name is set aside and
run by ours: that works in every work tree, also after the repository was moved. Any other folder is not ours to write
to: it may be under version control, or shared by all repositories of the user. Then `core.hooksPath` points at a folder
of ours, whose scripts run theirs in place; the configuration is restored byte for byte.

In this module, "ours" are the scripts of Hookline and "theirs" the hooks that the repository had before. The scripts are plain
shell: the user's own hooks run even where Hookline was removed. A script of ours that cannot ask the hooks blocks, and prints how
to go on without it.
"""

import filecmp
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import HostError
from hookline.files import read_regular_file, replace_file
from hookline.sources.git_repository import HooksPath, Repository, read_hooks_path, run_git

_LARGEST: Final = 1_048_576

# Hooks of theirs that a folder of ours forwards. Those in the second list have an effect by existing at all, or run so
# often that it would be felt, and are forwarded only where they are in use.
_FORWARDED: Final = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-merge-commit", "prepare-commit-msg", "post-commit"),
    *("pre-rebase", "post-merge", "post-rewrite", "pre-auto-gc", "sendemail-validate"),
    *("pre-receive", "update", "post-receive", "post-update"),
)
_FORWARDED_IF_USED: Final = ("reference-transaction", "post-index-change", "push-to-checkout", "proc-receive")

_KEY: Final = "core.hooksPath"
_HOOKS_FOLDER: Final = "hooks"
_STATE: Final = "state.json"
_FOLDER: Final = "hookline"
_TREE_FOLDER: Final = "hookline-tree"
_BESIDE_OURS: Final = "folder=${0%/*}/../../hooks"
_USER_FOLDER: Final = (
    f"folder=$(git config --global --includes --type=path --get {_KEY} ||\n"
    f"        git config --system --includes --type=path --get {_KEY}) ||\n"
    f"        {_BESIDE_OURS}"
)
_WORKTREE: Final = "worktree"
_OWN_SCOPES: Final = frozenset({"local", _WORKTREE})

MARK: Final = b"# Made by `hookline git install`."

# the suffix of a hook that was there before ours
ASIDE: Final = ".before-hookline"

_HEAD: Final = """\
#!/bin/sh
# Made by `hookline git install`. `hookline git uninstall` takes it away and leaves your own hooks as they were.
"""

_OURS: Final = """\
# a script that a full disk or a power cut has cut off ends here, and is no yes
asked=
trap 'code=$?; [ "$asked" ] || [ "$code" -ne 0 ] || code=1; exit "$code"' EXIT

hook=@HOOK@
python=@PYTHON@

lost() {
    echo "hookline: the hooks could not be asked for $hook ($1)$2" >&2
    echo "hookline: this once without them: --no-verify; for good: hookline git uninstall, or by hand: @UNDO@" >&2
}

ours() {
    if [ ! -x "$python" ]; then
        lost "$python is gone" "@BLOCKED@"
        return 1
    fi
    "$python" -E -P -m hookline git run --prove "$hook" "$@"
    code=$?
    # a damaged program may end with 0 by accident, and an answer ends with 100 or 102
    case $code in
        100) return 0 ;;
        102 | 130 | 143) return 1 ;;
    esac
    lost "exit code $code" "@BLOCKED@"
    return 1
}

"""

_NO_THEIRS: Final = """\
theirs() {
    return 0
}
"""

# A shell script may read $0: its own shell sources it under the name that git uses.
_SET_ASIDE: Final = """\
theirs() {
    [ -f "$0@ASIDE@" ] && [ -x "$0@ASIDE@" ] || return 0
    @SHELL@ -c 'hookline_theirs=$1; shift; . "$hookline_theirs"' "$0" "$0@ASIDE@" "$@"
}
"""

_ELSEWHERE: Final = """\
theirs() {
    @FOLDER@
    [ -f "$folder/@HOOK@" ] && [ -x "$folder/@HOOK@" ] || return 0
    "$folder/@HOOK@" "$@"
}
"""

# A guard sees what will really be committed, after theirs has formatted and staged. Before a push ours runs first,
# because theirs may already send something away.
_BODIES: Final[Mapping[str, str]] = {
    "pre-commit": 'theirs "$@" || exit $?\nours "$@" || exit 1\nasked=yes\n',
    "commit-msg": 'theirs "$@" || exit $?\nours "$@" || exit 1\nasked=yes\n',
    "pre-push": (
        "# both read the list of what is pushed\n"
        "refs=$(cat && echo .)\n"
        "refs=${refs%.}\n"
        'printf %s "$refs" | ours "$@" || exit 1\n'
        "asked=yes\n"
        'printf %s "$refs" | theirs "$@"\n'
    ),
    "post-checkout": 'theirs "$@"\nanswer=$?\nours "$@"\nasked=yes\nexit "$answer"\n',
}

HOOKS: Final = tuple(_BODIES)

_SHELL: Final = re.compile(
    rb"#! *(?P<shell>(?:/usr/bin/env +|(?:/[\w.+-]+)*/)(?:sh|bash|dash|ash|ksh)(?: +-[a-z]+)*)[ \r]*"
)


# What a script learns from its name, and what only from its file. A script that ours sources has the name, but is not the
# file of that name: it would find ours there, or conclude that it was sourced.
_BY_NAME: Final = re.compile(
    rb"""(?:dirname|basename)(?:[ \t]+--)?[ \t]+(["']?)\$(?:0|\{0\})\1(?![\w$])|\$\{0(?:%/\*|##\*/)\}"""
)
_BY_FILE: Final = re.compile(rb"\$(?:0|\{[#!]?0\b)|BASH_SOURCE|BASH_ARGV|\.sh\.file|\([ \t]*return\b")


def needs_own_file(text: bytes) -> bool:
    """Return whether a shell script needs more than its name and its folder."""
    return _BY_FILE.search(_BY_NAME.sub(b"", text)) is not None


def parse_shell(first_line: bytes) -> str:
    """Return the shell that a `#!` line names, with its options, or ""."""
    match = _SHELL.fullmatch(first_line.rstrip(b"\n"))
    return match["shell"].decode() if match and not first_line.endswith(b"\r\n") else ""


def script_beside(hook: str, *, python: str, shell: str) -> bytes:
    """Return the script that takes the place of theirs, which is set aside beside it if there was one."""
    theirs = _SET_ASIDE.replace("@SHELL@", shell) if shell else _NO_THEIRS
    undo = f"mv '$0{ASIDE}' '$0'" if shell else "rm '$0'"
    return _script(hook, theirs.replace("@ASIDE@", ASIDE), python=python, undo=undo)


def script_redirected(hook: str, *, python: str, folder: str, undo: str) -> bytes:
    """Return the script in a folder of ours; `folder` is a shell line that sets the folder of theirs."""
    return _script(hook, _run_from_folder(hook, folder), python=python, undo=undo)


def script_forwarding(hook: str, *, folder: str) -> bytes:
    """Return the script that only runs theirs: git looks into one folder, also for hooks that are not ours."""
    return f'{_HEAD}{_run_from_folder(hook, folder)}\ntheirs "$@"\n'.encode("utf-8", "surrogateescape")


def _run_from_folder(hook: str, folder: str) -> str:
    return _ELSEWHERE.replace("@FOLDER@", folder).replace("@HOOK@", hook)


def _script(hook: str, theirs: str, *, python: str, undo: str) -> bytes:
    blocked = "" if hook == "post-checkout" else ", so this is blocked"
    ours = (
        _OURS.replace("@HOOK@", hook)
        .replace("@PYTHON@", shlex.quote(python))
        .replace("@BLOCKED@", blocked)
        # it stands between double quotes, where only $0 may be expanded
        .replace("@UNDO@", re.sub(r'(["`\\]|\$(?!0))', r"\\\1", undo))
    )
    return f"{_HEAD}{ours}{theirs}\n{_BODIES[hook]}".encode("utf-8", "surrogateescape")


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


class GitInstallPlan(Struct, frozen=True, kw_only=True):
    """The folder of ours, whether `core.hooksPath` points at it, the steps, and notes for the user."""

    folder: Path
    is_redirected: bool
    steps: tuple[InstallStep, ...] = ()
    notes: tuple[str, ...] = ()


class GitHookStatus(Struct, frozen=True, kw_only=True):
    """One hook as git would run it now; `theirs` is the file that runs beside ours, or instead of it."""

    hook: str
    path: Path
    is_ours: bool
    theirs: Path | None = None


def install(repository: Repository, *, python: str) -> GitInstallPlan:
    """Plan how git runs our scripts; there are no steps where it does already.

    Raises:
        HostError: It cannot be done without harm.
    """
    if repository.hooks_path is not None:
        return _plan_redirect(repository, python=python)
    shells = _detect_shells(repository)
    if shells is None:
        # ours in the forwarded folder would run as well
        back, _ = _plan_restore(repository)
        return _plan_redirect(repository, python=python, first=back)
    folder = repository.own_hooks
    # other programs keep the hooks they find under another name and run them from there: ours would run twice
    steps = [_removal_step(path) for path in _list_ours(folder) if path.name not in HOOKS]
    for hook, shell in shells.items():
        path, aside = folder / hook, folder / (hook + ASIDE)
        if shell and os.path.lexists(path) and not is_ours(path):
            what = f"set {hook} aside; ours runs it: {path} -> {aside}"
            steps.append(InstallStep(what=what, do=partial(_link_aside, path, aside)))
        steps += _write_steps(path, script_beside(hook, python=python, shell=shell))
    return GitInstallPlan(folder=folder, is_redirected=False, steps=tuple(steps))


def uninstall(repository: Repository) -> GitInstallPlan:
    """Plan how to remove ours and restore theirs; there are no steps where ours are not installed.

    Raises:
        HostError: What was changed cannot be read.
    """
    steps, notes = _plan_undo(repository)
    back, kept = _plan_restore(repository)
    folder, is_redirected = repository.own_hooks, bool(steps)
    return GitInstallPlan(folder=folder, is_redirected=is_redirected, steps=(*steps, *back), notes=(*notes, *kept))


def _plan_restore(repository: Repository) -> tuple[list[InstallStep], list[str]]:
    """Return the steps that restore the repository's own folder, and notes."""
    steps: list[InstallStep] = []
    notes: list[str] = []
    folder = repository.own_hooks
    if not _is_own_folder(repository):
        return steps, notes
    for path in _list_ours(folder):
        aside = path.with_name(path.name + ASIDE)
        back = os.path.lexists(aside)
        steps.append(_rename_step(aside, path, f"put {path.name} back") if back else _removal_step(path))
    for aside in sorted(folder.glob(f"*{ASIDE}")):
        path = aside.with_name(aside.name.removesuffix(ASIDE))
        if not os.path.lexists(path):
            steps.append(_rename_step(aside, path, f"put {path.name} back"))
        elif _is_same_file(path, aside):
            steps.append(_removal_step(aside))
        elif not is_ours(path):
            notes.append(f"{path.name} is not ours any more; what was there before us is kept in {aside}")
    return steps, notes


def list_hooks(repository: Repository) -> list[GitHookStatus]:
    """Return what git would run now for each hook that has an event."""
    state = read_state(repository)
    path = repository.hooks_path
    folder = repository.top / path.path if path is not None else repository.own_hooks
    is_redirected = _is_redirected(repository)
    their_folder = _find_their_folder(repository, state) if is_redirected else folder
    found: list[GitHookStatus] = []
    for hook in HOOKS:
        file = their_folder / (hook + ASIDE if is_ours(their_folder / hook) else hook)
        theirs = file if file.is_file() and os.access(file, os.X_OK) else None
        found.append(GitHookStatus(hook=hook, path=folder / hook, is_ours=is_ours(folder / hook), theirs=theirs))
    return found


def _list_ours(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if is_ours(path)] if folder.is_dir() else []


def _is_same_file(path: Path, aside: Path) -> bool:
    """Return whether another program only restored the hook that it had there before ours."""
    try:
        is_alike = path.is_symlink() is aside.is_symlink() and path.stat().st_mode == aside.stat().st_mode
        return is_alike and filecmp.cmp(path, aside, shallow=False)
    except OSError:
        return False


def _is_own_folder(repository: Repository) -> bool:
    return Path(os.path.realpath(repository.own_hooks)) == repository.own_hooks


def _detect_shells(repository: Repository) -> dict[str, str] | None:
    """Return the shell that each hook of theirs is written for, or "" where there is none.

    None where ours cannot stand beside them: the folder is a link to another one, or theirs needs its own file, as any
    program may that is no shell script.
    """
    if not _is_own_folder(repository):
        return None
    shells = {}
    for hook in HOOKS:
        path = repository.own_hooks / hook
        aside = path.with_name(hook + ASIDE)
        # an interrupted installation leaves nothing in its place
        theirs = aside if is_ours(path) or not os.path.lexists(path) else path
        is_replaced = theirs is path and os.path.lexists(aside)
        if is_replaced and not _is_same_file(path, aside):
            raise HostError(
                f"{path} was replaced by another program since we were installed, and {aside} is what was there "
                "before; remove the one you do not need, and try again"
            )
        if not os.path.lexists(theirs):
            shells[hook] = ""
            continue
        # a pipe or another oddity is no script, and neither is one that is too long
        text = read_regular_file(theirs, _LARGEST + 1) or b""
        text = text if len(text) <= _LARGEST else b""
        shells[hook] = parse_shell(text[: text.find(b"\n") + 1] or text)
        if not shells[hook] or needs_own_file(text):
            return None
    return shells


def _link_aside(path: Path, aside: Path) -> None:
    """Link a hook to its second name; until ours takes the first name it has both, so that git always finds one."""
    if os.path.lexists(aside):
        # it is the same file, as checked before
        aside.unlink()
    try:
        os.link(path, aside, follow_symlinks=False)
    except OSError:
        # not every file system has that
        path.rename(aside)


def _rename_step(path: Path, target: Path, what: str) -> InstallStep:
    return InstallStep(what=f"{what}: {path} -> {target}", do=lambda: path.replace(target))


def _plan_redirect(repository: Repository, *, python: str, first: list[InstallStep] | None = None) -> GitInstallPlan:
    state = read_state(repository)
    if state is None or not _is_redirected(repository):
        state = _capture_state(repository)
    folder = _our_hooks_folder(repository)
    theirs = _find_their_folder(repository, state)
    steps = list(first or ())
    for hook in HOOKS:
        text = script_redirected(hook, python=python, folder=state.theirs, undo=state.undo)
        steps += _write_steps(folder / hook, text)
    for hook in (*_FORWARDED, *(hook for hook in _FORWARDED_IF_USED if (theirs / hook).exists())):
        steps += _write_steps(folder / hook, script_forwarding(hook, folder=state.theirs))
    steps += _redirect_steps(repository, state)
    return GitInstallPlan(folder=folder, is_redirected=True, steps=tuple(steps))


# core.hooksPath


def _our_hooks_folder(repository: Repository) -> Path:
    """Return the folder that `core.hooksPath` points at."""
    return _our_folder(repository) / _HOOKS_FOLDER


def _our_folder(repository: Repository) -> Path:
    """Return the folder for our files: a work tree with a `core.hooksPath` of its own has its own folder."""
    current = repository.hooks_path
    return _our_folders(repository)[current is not None and current.scope == _WORKTREE]


def _our_folders(repository: Repository) -> tuple[Path, Path]:
    return repository.common / _FOLDER, repository.own / _TREE_FOLDER


def list_our_paths(common: Path) -> list[Path]:
    """Return what git depends on to run our scripts: scripts in its own folder, folders of ours, and its configuration.

    `common` is the folder that all work trees of the repository share.
    """
    folder = common / _HOOKS_FOLDER
    scripts = [folder / hook for hook in HOOKS if is_ours(folder / hook)]
    places = (common / _FOLDER, common / _TREE_FOLDER, *sorted(common.glob(f"worktrees/*/{_TREE_FOLDER}")))
    folders = [place for place in places if place.is_dir()]
    return [*scripts, *folders, *([common / "config"] if folders else [])]


def _is_redirected(repository: Repository) -> bool:
    """Return whether `core.hooksPath` points at our folder now."""
    return repository.hooks_path is not None and repository.hooks_path.path == str(_our_hooks_folder(repository))


def is_ours(path: Path) -> bool:
    """Return whether a file is one of our scripts."""
    return MARK in (read_regular_file(path, 200, follow_link=False) or b"")


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


def _capture_state(repository: Repository) -> HooksPathState:
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


def _find_their_folder(repository: Repository, state: HooksPathState | None) -> Path:
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


def _redirect_steps(repository: Repository, state: HooksPathState) -> Iterator[InstallStep]:
    """Yield the step that points `core.hooksPath` at our folder, and stores its old value."""
    if _is_redirected(repository):
        return
    path, folder, where = _our_folder(repository) / _STATE, _our_hooks_folder(repository), str(repository.top)

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


def _plan_undo(repository: Repository) -> tuple[list[InstallStep], list[str]]:
    """Return the steps that restore `core.hooksPath` and remove our folders, and notes."""
    steps: list[InstallStep] = []
    notes: list[str] = []
    for place in _our_folders(repository):
        state, folder = _read_state(place / _STATE), place / _HOOKS_FOLDER
        if state is not None:
            steps += _restore_steps(repository, state, folder)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if is_ours(path):
                steps.append(_removal_step(path))
            else:
                notes.append(f"another program put {path} there; move it to {_find_their_folder(repository, state)}")
        if state is not None:
            steps.append(_removal_step(place / _STATE))
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


def _write_steps(path: Path, text: bytes) -> Iterator[InstallStep]:
    """Yield the step that writes one of our scripts, unless it is there already."""
    try:
        is_there = path.read_bytes() == text and os.access(path, os.X_OK)
    except OSError:
        is_there = False
    if not is_there:
        yield InstallStep(what=f"write {path}", do=lambda: _write(path, text, mode=0o755))


def _removal_step(path: Path) -> InstallStep:
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
    replace_file(path, text, mode=mode)


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
