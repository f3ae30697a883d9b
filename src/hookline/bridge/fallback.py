"""The answer to an agent when its hooks could not be asked: neither an accidental yes nor an accidental no."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hookline.bridge.call import GUARDED, Call, IfBroken
from hookline.config.document import Problem
from hookline.config.loader import read_text
from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.errors import ConfigError, StoreError
from hookline.model.event import Ability, Event
from hookline.model.hook import OWN_DIALECT
from hookline.model.plan import Gate, Plan
from hookline.model.scope import is_for_agent
from hookline.model.verdict import Decision, Outcome
from hookline.model.workspace_paths import USER_SOURCES
from hookline.ports import Dialect
from hookline.project import Project
from hookline.text import sanitize
from hookline.user_dirs import parents_in_repository

# words of a file that defines a hook which fails closed
_GUARD_WORDS: Final = re.compile(r"\b(?:block|deny|confirm)\b")
_LONGEST: Final = 600  # characters of what went wrong
_DENIALS: Final = frozenset({Ability.BLOCK, Ability.STOP})


def fails_closed(call: Call, project: Project | None) -> bool:
    """Return whether to block a call whose hooks could not be asked.

    The entry's `--if-broken` decides. Without it, block if a hook fails closed, if a file that could not be read may define one
    that does, or if not even that can be found out.
    """
    if call.if_broken is IfBroken.BLOCK:
        return True
    if call.if_broken is IfBroken.ALLOW:
        # `hookline install` may have found no guard when it wrote the entry, and there is one by now
        is_automatic = project is not None and _is_automatic(call.dialect.SPEC.name, project, IfBroken.ALLOW)
        return project is not None and is_automatic and _has_guards(project)
    return project is None or _has_guards(project)


def find_outdated(call: Call, project: Project) -> str:
    """Return a notice if the entries of an agent still allow what a guard of the user should block; empty if not."""
    if call.if_broken is not IfBroken.ALLOW:
        return ""
    own = (hook for hook in project.hooks if hook.enabled and not hook.implicit and hook.source in USER_SOURCES)
    guard = next((hook for hook in own if project.fails_closed(hook)), None)
    if guard is None or not _is_automatic(call.dialect.SPEC.name, project, IfBroken.ALLOW):
        return ""
    name = call.dialect.SPEC.name
    return (
        f'the entries of {call.dialect.SPEC.title} were installed before the guard "{guard.id}", and would allow everything '
        f"where Hookline cannot be run; `hookline install {name}` brings them up to date"
    )


def _is_automatic(host: str, project: Project, policy: IfBroken) -> bool:
    """Return whether `hookline install` itself chose what an agent does where Hookline cannot answer."""
    from hookline.hosts.backup import list_automatic  # noqa: PLC0415 - slow to import, and few calls want it

    return any(backup.host == host for backup in list_automatic(project.folders.data, policy))


def find_lost_guard(project: Project) -> str:
    """Return why a guard may be missing where no agent asks, as under git; empty where none is."""
    whole = {file.path for file in project.loaded.loaded_files if file.hooks}
    is_guarded = _has_guards(project)
    # a file that could not be read may define any hook
    lost = (problem for problem in _list_losses(project, "") if is_guarded or problem.path not in whole)
    return str(next(lost, ""))


def _has_guards(project: Project) -> bool:
    if any(project.fails_closed(hook) for hook in project.hooks if hook.enabled and not hook.implicit):
        return True
    for path in {problem.path for problem in project.loaded.lost}:
        # a file whose hooks were lost may define one that fails closed, judging by its words
        try:
            if _GUARD_WORDS.search(read_text(path)):
                return True
        except ConfigError:
            return True
    return False


async def can_deny(project: Project, event: Event) -> bool:
    """Return whether a hook that may run could deny an event: if so, an unreadable one is not allowed."""
    if event.name not in GUARDED:
        return False
    hooks = [
        hook
        for hook in project.registry.get_hooks_for_event(event.name)
        # an agent runs the hooks of its own files by itself
        if hook.enabled and not (hook.background or hook.observe or event.host in hook.run_by)
        if is_for_agent(hook.agents, event.host)
        # the hook that guards the others has nothing to guard where there are none
        if not hook.implicit
        if not hook.actions or {"deny", "confirm"} & hook.actions.keys()
    ]
    try:
        vetted = await project.trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
    except Exception:  # noqa: BLE001 - a guard that cannot be vetted may deny
        return bool(hooks)
    return bool(vetted.stages) or any(skip.failed for skip in vetted.skipped)


def fallback_outcome(dialect: Dialect, event: Event, why: str, *, is_blocked: bool) -> Outcome:
    """Return the answer to an event whose hooks could not be asked."""
    able = dialect.SPEC.able(event) or frozenset()
    if not is_blocked or event.name not in GUARDED or not able & _DENIALS:
        return Outcome()
    shown = sanitize(why, longest=_LONGEST)
    reason = f"hookline could not ask the hooks, so this is blocked: {shown}; `hookline doctor` says more"
    return degrade(Outcome(decision=Decision.DENY, reasons=(reason,)), event, able)


def find_unasked_guard(project: Project, event: Event, outcome: Outcome) -> str:
    """Return why a configured guard may not have been asked; empty when all of them were."""
    unread = next(_list_losses(project, event.host), None)
    if unread is not None:
        return str(unread)
    for file in project.loaded.loaded_files:
        is_empty = not file.hooks and file.dialect == OWN_DIALECT and _is_emptied(file.path, project)
        if is_empty and _is_automatic(event.host, project, IfBroken.BLOCK):
            return (
                f"{file.path} is empty, as a crash leaves it: restore it, or delete it if you want no hooks of your own"
            )
    if any(skip.gate is Gate.TRUST for skip in outcome.skipped):
        try:
            project.trust.get_approvals()
        except StoreError as problem:
            # no approval counts then, and a guard may be among the approved hooks
            return str(problem)
    return ""


def _is_emptied(path: str, project: Project) -> bool:
    """Return whether a file of the user or the administrator has no byte in it."""
    is_own = any(
        folder and Path(path).is_relative_to(folder) for folder in (project.folders.config, project.folders.managed)
    )
    try:
        return is_own and not Path(path).stat().st_size
    except OSError:
        return False


def _list_losses(project: Project, host: str) -> Iterator[Problem]:
    """List the problems that may have cost a guard of a trusted source."""
    if not project.loaded.lost:
        return
    files = {file.path: file for file in project.loaded.loaded_files}
    settings, root = project.settings, project.root
    approved: frozenset[str] | None = None
    around = (root, *parents_in_repository(root, home=project.folders.home))
    is_trusted = settings.trust_workspace or any(root.is_relative_to(one) for one in settings.trusted_workspaces)
    for problem in project.loaded.lost:
        file = files.get(problem.path)
        if (
            file is not None
            and DIALECTS[file.dialect].SPEC.is_agent
            and (not host or file.hooks or DIALECTS[host].SPEC.runs_itself((file.dialect,)))
        ):
            # the agent runs the hooks of this file itself, and another agent's hooks are no loss here
            continue
        is_managed = _is_below(problem, project.folders.managed)
        if not (settings.enabled or settings.guards_only) and not is_managed:
            continue
        is_own = is_managed or _is_below(problem, project.folders.config)
        if not is_own and any(_is_below(problem, folder.resolve()) for folder in around):
            # a clone must not stop an agent with a broken file: no hook in it was approved
            if approved is None:
                try:
                    approved = frozenset(approval.source_path for approval in project.trust.get_approvals())
                except StoreError:
                    # the approvals cannot be read: all of these files may have been approved
                    approved = frozenset(problem.path for problem in project.loaded.lost)
            if problem.path not in approved and not is_trusted:
                continue
        yield problem


def _is_below(problem: Problem, folder: Path | None) -> bool:
    return folder is not None and Path(problem.path).is_relative_to(folder)
