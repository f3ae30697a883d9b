"""Plan how git runs our scripts beside the hooks that are there, and the way back: each change is a step.

Where a repository has its hooks in its own folder, ours go there, and a shell script of the same name is set aside and
run by ours: that works in every work tree, also after the repository was moved. Any other folder is not ours to write
to: it may be under version control, or shared by all repositories of the user. Then `core.hooksPath` points at a folder
of ours, whose scripts run theirs in place.
"""

import filecmp
import os
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import HostError
from hookline.sources.git import hooks_path
from hookline.sources.git.hooks_path import InstallStep, is_ours
from hookline.sources.git.repository import Repository
from hookline.sources.git.scripts import (
    ASIDE,
    HOOKS,
    needs_own_file,
    parse_shell,
    script_beside,
    script_forwarding,
    script_redirected,
)
from hookline.trust.file_cache import read_regular_file

_LARGEST: Final = 1_048_576

# Hooks of theirs that a folder of ours forwards. Those in the second list have an effect by existing at all, or run so
# often that it would be felt, and are forwarded only where they are in use.
_FORWARDED: Final = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-merge-commit", "prepare-commit-msg", "post-commit"),
    *("pre-rebase", "post-merge", "post-rewrite", "pre-auto-gc", "sendemail-validate"),
    *("pre-receive", "update", "post-receive", "post-update"),
)
_FORWARDED_IF_USED: Final = ("reference-transaction", "post-index-change", "push-to-checkout", "proc-receive")


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
    steps = [hooks_path.removal_step(path) for path in _list_ours(folder) if path.name not in HOOKS]
    for hook, shell in shells.items():
        path, aside = folder / hook, folder / (hook + ASIDE)
        if shell and os.path.lexists(path) and not is_ours(path):
            what = f"set {hook} aside; ours runs it: {path} -> {aside}"
            steps.append(InstallStep(what=what, do=partial(_link_aside, path, aside)))
        steps += hooks_path.write_steps(path, script_beside(hook, python=python, shell=shell))
    return GitInstallPlan(folder=folder, is_redirected=False, steps=tuple(steps))


def uninstall(repository: Repository) -> GitInstallPlan:
    """Plan how to remove ours and restore theirs; there are no steps where ours are not installed.

    Raises:
        HostError: What was changed cannot be read.
    """
    steps, notes = hooks_path.plan_undo(repository)
    back, kept = _plan_restore(repository)
    return GitInstallPlan(
        folder=repository.own_hooks,
        is_redirected=bool(steps),
        steps=(*steps, *back),
        notes=(*notes, *kept),
    )


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
        steps.append(_rename_step(aside, path, f"put {path.name} back") if back else hooks_path.removal_step(path))
    for aside in sorted(folder.glob(f"*{ASIDE}")):
        path = aside.with_name(aside.name.removesuffix(ASIDE))
        if not os.path.lexists(path):
            steps.append(_rename_step(aside, path, f"put {path.name} back"))
        elif _is_same_file(path, aside):
            steps.append(hooks_path.removal_step(aside))
        elif not is_ours(path):
            notes.append(f"{path.name} is not ours any more; what was there before us is kept in {aside}")
    return steps, notes


def list_hooks(repository: Repository) -> list[GitHookStatus]:
    """Return what git would run now for each hook that has an event."""
    state = hooks_path.read_state(repository)
    path = repository.hooks_path
    folder = repository.top / path.path if path is not None else repository.own_hooks
    is_redirected = hooks_path.is_redirected(repository)
    return [
        GitHookStatus(
            hook=hook,
            path=folder / hook,
            is_ours=is_ours(folder / hook),
            theirs=_find_theirs(
                hooks_path.find_their_folder(repository, state) / hook if is_redirected else folder / hook
            ),
        )
        for hook in HOOKS
    ]


def _find_theirs(path: Path) -> Path | None:
    aside = path.with_name(path.name + ASIDE)
    file = aside if is_ours(path) else path
    return file if file.is_file() and os.access(file, os.X_OK) else None


def _list_ours(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if is_ours(path)] if folder.is_dir() else []


def _is_same_file(path: Path, aside: Path) -> bool:
    """Return whether another program only restored the hook that it had there before ours."""
    try:
        kinds = {path.is_symlink(), aside.is_symlink()}
        return (
            len(kinds) == 1 and path.stat().st_mode == aside.stat().st_mode and filecmp.cmp(path, aside, shallow=False)
        )
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
    state = hooks_path.read_state(repository)
    if state is None or not hooks_path.is_redirected(repository):
        state = hooks_path.capture_state(repository)
    folder = hooks_path.our_hooks_folder(repository)
    theirs = hooks_path.find_their_folder(repository, state)
    steps = list(first or ())
    for hook in HOOKS:
        text = script_redirected(hook, python=python, folder=state.theirs, undo=state.undo)
        steps += hooks_path.write_steps(folder / hook, text)
    for hook in (*_FORWARDED, *(hook for hook in _FORWARDED_IF_USED if (theirs / hook).exists())):
        steps += hooks_path.write_steps(folder / hook, script_forwarding(hook, folder=state.theirs))
    steps += hooks_path.redirect_steps(repository, state)
    return GitInstallPlan(folder=folder, is_redirected=True, steps=tuple(steps))
