"""What an agent is told when its hooks could not be asked: neither a yes nor a no that nobody meant."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hookline.bridge.call import Call, IfBroken
from hookline.config.problem import Problem
from hookline.core.fitting import fit
from hookline.dialects import DIALECTS
from hookline.display import sanitize
from hookline.errors import StoreError
from hookline.folders import between
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.hook import OnError
from hookline.model.plan import Gate
from hookline.model.verdict import Decision, Outcome
from hookline.ports import Dialect
from hookline.workspace import Opened

# The moments at which something is about to happen. The end of a turn is none: an agent is never kept at work by a
# failure of ours.
GUARDED: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT})

_LONGEST: Final = 600  # characters of what went wrong
_NOES: Final = frozenset({Ability.BLOCK, Ability.STOP})


def blocks(call: Call, project: Opened | None) -> bool:
    """Say whether what cannot be asked about is to be blocked.

    Where nobody said so, it is when one of the hooks blocks if it fails itself, or when not even that can be found out.
    """
    if call.if_broken is not None:
        return call.if_broken is IfBroken.BLOCK
    if project is None:
        return True
    hooks = (hook for hook in project.loaded.hooks if hook.enabled)
    return any((hook.on_error or DIALECTS[hook.dialect].SPEC.on_error) is OnError.BLOCK for hook in hooks)


def answer_without_hooks(dialect: Dialect, event: Event, why: str, *, is_blocked: bool) -> Outcome:
    """Give the answer to an event that nobody could be asked about."""
    able = dialect.SPEC.able(event) or frozenset()
    if not is_blocked or event.name not in GUARDED or not able & _NOES:
        return Outcome()
    told = sanitize(why, longest=_LONGEST)
    reason = f"hookline could not ask the hooks, so this is blocked: {told}; `hookline doctor` says more"
    return fit(Outcome(decision=Decision.DENY, reasons=(reason,)), event, able)


def unheard(project: Opened, event: Event, outcome: Outcome) -> str:
    """Say why a guard that somebody configured may not have been asked; empty when all of them were."""
    unread = next(_lost(project, event), None)
    if unread is not None:
        return str(unread)
    if any(skip.gate is Gate.TRUST for skip in outcome.skipped):
        try:
            project.engine.trust.get_approvals()
        except StoreError as problem:
            # nothing that was approved counts then, and a guard may be among it
            return str(problem)
    return ""


def _lost(project: Opened, event: Event) -> Iterator[Problem]:
    """List the problems that may have cost us a guard of somebody who is to be trusted."""
    spec = DIALECTS[event.host].SPEC
    files = {file.path: file for file in project.loaded.found}
    approved: frozenset[str] | None = None
    for problem in project.loaded.lost:
        file = files.get(problem.path)
        if (
            file is not None
            and DIALECTS[file.dialect].SPEC.is_agent
            and (spec.runs_itself((file.dialect,)) or file.hooks)
        ):
            # the agent runs what stands in it by itself; and what another agent has and we have not is no loss here
            continue
        if not project.settings.enabled and not _is_managed(problem, project):
            continue
        if _is_of_project(problem, project):
            # a clone must not bring an agent to a halt with a broken file: nobody approved anything in it
            approved = _approved(project) if approved is None else approved
            if problem.path not in approved and not _is_trusted(project):
                continue
        yield problem


def _approved(project: Opened) -> frozenset[str]:
    try:
        return frozenset(approval.source_path for approval in project.engine.trust.get_approvals())
    except StoreError:
        # nobody can say what was approved: all of it may have been
        return frozenset(problem.path for problem in project.loaded.lost)


def _is_trusted(project: Opened) -> bool:
    trusted = project.settings.trusted_workspaces
    return project.settings.trust_workspace or any(project.root.is_relative_to(folder) for folder in trusted)


def _is_managed(problem: Problem, project: Opened) -> bool:
    managed = project.folders.managed
    return managed is not None and Path(problem.path).is_relative_to(managed)


def _is_of_project(problem: Problem, project: Opened) -> bool:
    path = Path(problem.path)
    folders = project.folders
    if path.is_relative_to(folders.config) or _is_managed(problem, project):
        return False
    around = (project.root, *between(project.root, home=folders.home))
    return any(path.is_relative_to(folder.resolve()) for folder in around)
