"""Get git to run us beside the hooks that are there, and back: each change as a step that can be shown or done.

Where a repository has its hooks in its own folder, ours go there, and a shell script of the same name is set aside
and run by ours: that works in every work tree, also after the repository was moved. Everywhere else their folder is
not ours to write to: it may be under version control, or shared by all repositories of the person. Then git is told
to look into a folder of ours, whose scripts run theirs from where they are.
"""

import filecmp
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import HostError
from hookline.sources.git import redirect
from hookline.sources.git.redirect import Step, is_ours
from hookline.sources.git.repository import Repository
from hookline.sources.git.shims import ASIDE, HOOKS, beside, instead, needs_its_file, passed_on, shell_of

_LARGEST: Final = 1_048_576

# Hooks of theirs that a folder of ours has to pass on; those in the second list do something by being there at all, or
# are run so often that it would be felt, and are passed on where they are in use.
_PASSED_ON: Final = (
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-merge-commit",
    "prepare-commit-msg",
    "post-commit",
    "pre-rebase",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "sendemail-validate",
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
)
_WHERE_USED: Final = ("reference-transaction", "post-index-change", "push-to-checkout", "proc-receive")


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be done: in which folder ours are, whether git is sent there, the steps, and what to know."""

    folder: Path
    is_redirected: bool
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()


class Found(Struct, frozen=True, kw_only=True):
    """One hook as git would find it now; `theirs` is the file that runs beside ours, or instead of it."""

    hook: str
    path: Path
    is_ours: bool
    theirs: Path | None = None


def install(repository: Repository, *, python: str) -> Plan:
    """Plan what makes git run us; no steps when it does already.

    Raises:
        HostError: It cannot be done without harm.
    """
    if redirect.is_in_force(repository):
        return _redirected(repository, python=python)
    if repository.hooks_path is not None:
        return _redirected(repository, python=python)
    shells = _shells(repository)
    if shells is None:
        # ours in the folder that is passed on to would run as well
        back, _ = _put_back(repository)
        return _redirected(repository, python=python, first=back)
    folder = repository.own_hooks
    # other programs keep what they find under another name and run it from there, which would be twice
    steps = [redirect.removed(path) for path in _ours(folder) if path.name not in HOOKS]
    steps += [step for hook in HOOKS for step in _beside(folder / hook, shells[hook], python=python)]
    return Plan(folder=folder, is_redirected=False, steps=tuple(steps))


def uninstall(repository: Repository) -> Plan:
    """Plan what takes us away and puts back what was there; no steps when we are not there.

    Raises:
        HostError: What was changed cannot be read.
    """
    steps, notes = redirect.undone(repository)
    is_redirected = bool(steps)
    back, kept = _put_back(repository)
    return Plan(
        folder=repository.own_hooks,
        is_redirected=is_redirected,
        steps=(*steps, *back),
        notes=(*notes, *kept),
    )


def _put_back(repository: Repository) -> tuple[list[Step], list[str]]:
    """Plan what makes the repository's own folder as it was before us."""
    steps: list[Step] = []
    notes: list[str] = []
    folder = repository.own_hooks
    if not _is_its_own(repository):
        return steps, notes
    for path in _ours(folder):
        aside = path.with_name(path.name + ASIDE)
        back = os.path.lexists(aside)
        steps.append(_renamed(aside, path, f"put {path.name} back") if back else redirect.removed(path))
    for aside in sorted(folder.glob(f"*{ASIDE}")):
        path = aside.with_name(aside.name.removesuffix(ASIDE))
        if not os.path.lexists(path):
            steps.append(_renamed(aside, path, f"put {path.name} back"))
        elif _is_same(path, aside):
            steps.append(redirect.removed(aside))
        elif not is_ours(path):
            notes.append(f"{path.name} is not ours any more; what was there before us is kept in {aside}")
    return steps, notes


def found(repository: Repository) -> list[Found]:
    """Say what git would run now for each hook that we have an event for."""
    state = redirect.read_state(repository)
    path = repository.hooks_path
    folder = repository.top / path.path if path is not None else repository.own_hooks
    is_redirected = redirect.is_in_force(repository)
    return [
        Found(
            hook=hook,
            path=folder / hook,
            is_ours=is_ours(folder / hook),
            theirs=_theirs(redirect.their_folder(repository, state) / hook if is_redirected else folder / hook),
        )
        for hook in HOOKS
    ]


def _theirs(path: Path) -> Path | None:
    aside = path.with_name(path.name + ASIDE)
    file = aside if is_ours(path) else path
    return file if file.is_file() and os.access(file, os.X_OK) else None


def _ours(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if is_ours(path)] if folder.is_dir() else []


def _is_same(path: Path, aside: Path) -> bool:
    """Say whether another program only put back what it had there before us."""
    try:
        kinds = {path.is_symlink(), aside.is_symlink()}
        return (
            len(kinds) == 1 and path.stat().st_mode == aside.stat().st_mode and filecmp.cmp(path, aside, shallow=False)
        )
    except OSError:
        return False


def _is_its_own(repository: Repository) -> bool:
    real = Path(os.path.realpath(repository.own_hooks))
    return real == repository.own_hooks


def _shells(repository: Repository) -> dict[str, str] | None:
    """Say for each hook which shell theirs is written for, or that there is none.

    None when ours cannot stand beside them: the folder is a link to another one, or theirs asks for the file it is in,
    which any program may do that is no shell script.
    """
    if not _is_its_own(repository):
        return None
    shells = {}
    for hook in HOOKS:
        path = repository.own_hooks / hook
        aside = path.with_name(hook + ASIDE)
        # where somebody was cut short after setting it aside, there is nothing in its place
        theirs = aside if is_ours(path) or not os.path.lexists(path) else path
        is_replaced = theirs is path and os.path.lexists(aside)
        if is_replaced and not _is_same(path, aside):
            raise HostError(
                f"{path} was replaced by another program since we were installed, and {aside} is what was there "
                "before; remove the one you do not need, and try again"
            )
        if not os.path.lexists(theirs):
            shells[hook] = ""
            continue
        text = _text(theirs)
        shells[hook] = shell_of(text[: text.find(b"\n") + 1] or text)
        if not shells[hook] or needs_its_file(text):
            return None
    return shells


def _text(path: Path) -> bytes:
    """Read a script; what cannot be read, or is too long for one, is none."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1)
    except OSError:
        return b""
    return text if len(text) <= _LARGEST else b""


def _beside(path: Path, shell: str, *, python: str) -> Iterator[Step]:
    if shell and os.path.lexists(path) and not is_ours(path):
        aside = path.with_name(path.name + ASIDE)
        yield Step(what=f"set {path.name} aside; ours runs it: {path} -> {aside}", do=lambda: _keep_beside(path, aside))
    yield from redirect.written(path, beside(path.name, python=python, shell=shell))


def _keep_beside(path: Path, aside: Path) -> None:
    """Give a hook its second name; until ours takes the first one it has both, so that git always finds one of them."""
    if os.path.lexists(aside):
        # it is the same, as was seen before
        aside.unlink()
    try:
        os.link(path, aside, follow_symlinks=False)
    except OSError:
        # not every file system has that
        path.rename(aside)


def _renamed(path: Path, target: Path, what: str) -> Step:
    return Step(what=f"{what}: {path} -> {target}", do=lambda: path.replace(target))


def _redirected(repository: Repository, *, python: str, first: list[Step] | None = None) -> Plan:
    state = redirect.read_state(repository)
    if state is None or not redirect.is_in_force(repository):
        state = redirect.first_state(repository)
    folder = redirect.our_folder(repository)
    theirs = redirect.their_folder(repository, state)
    steps = list(first or ())
    for hook in HOOKS:
        text = instead(hook, python=python, folder=state.theirs, undo=state.undo)
        steps += redirect.written(folder / hook, text)
    for hook in (*_PASSED_ON, *(hook for hook in _WHERE_USED if (theirs / hook).exists())):
        steps += redirect.written(folder / hook, passed_on(hook, folder=state.theirs))
    steps += redirect.told(repository, state)
    return Plan(folder=folder, is_redirected=True, steps=tuple(steps))
