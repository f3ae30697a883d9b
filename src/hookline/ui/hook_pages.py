"""The hooks of a project, and what a user may do with them on the page."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import asdict

from hookline.bridge.guarded_paths import find_guarded_if_installed
from hookline.builtin.catalogue import BUILTINS, strip_prefix
from hookline.config.formats.agents import FILE_SPECS
from hookline.errors import ConfigError, StoreError
from hookline.http_server import HTTPException
from hookline.model.hook import Hook, Layer
from hookline.project import Project, load_project
from hookline.stores.trace_queries import HookFigures
from hookline.text import escape, sanitize
from hookline.trust.fingerprint import HookFingerprint
from hookline.trust.policy import TrustDecision, TrustStatus, suggest_approval
from hookline.ui.page_json import figures_to_json
from hookline.views.approval_screen import ApprovalScreen, list_facts, list_files
from hookline.views.hook_lookup import find_hook
from hookline.views.hook_view import HookView, describe_containment, describe_target, problems_to_json

_NOTE = "approved on the page of hookline ui"


@contextmanager
def open_project(path: str) -> Iterator[Project]:
    """Load the project in a folder as it is now, in a thread.

    Raises:
        HTTPException: There is no such folder.
    """
    root = Path(path)
    if "\0" in path or not root.is_absolute() or not root.is_dir():
        raise HTTPException(400, sanitize(f"there is no folder {path}"))
    project = load_project(root, traced=False, guarded=find_guarded_if_installed(root))
    try:
        yield project
    finally:
        asyncio.run(project.close())


def list_hooks(path: str, figures: Mapping[str, HookFigures]) -> Mapping[str, object]:
    """Return every hook of a project, also the built-in ones that are off, and the problems of its files."""
    with open_project(path) as project:
        known = {hook.id for hook in project.hooks}
        hooks = (*project.hooks, *(hook for hook in project.builtins if hook.id not in known))
        return {
            "project": str(project.root),
            "hooks": [_hook_to_json(hook, project, figures.get(hook.id)) for hook in hooks],
            "problems": problems_to_json(project.problems),
        }


def _hook_to_json(hook: Hook, project: Project, figures: HookFigures | None) -> Mapping[str, object]:
    trust, problem = _decide(hook, project)
    view = HookView(hook, project, trust)
    reason = trust.reason_denied if trust is not None else problem
    is_active = project.is_active(hook)
    off = "" if is_active else "all hooks are switched off in your settings"
    why = (
        "it is switched off"
        if not hook.enabled
        else off or reason or project.components.refusal(hook) or view.find_trouble()
    )
    return {
        **{name: getattr(hook, name) for name in ("id", "kind", "source", "layer", "enabled")},
        "agents": hook.agents or hook.run_by,
        "description": hook.name,
        "target": describe_target(hook),
        "events": hook.on,
        "path": hook.source_path,
        "line": hook.source_line,
        "active": not why,
        "why_inactive": why,
        "guard": project.fails_closed(hook),
        "trust": {"state": view.state, "reason": reason},
        "sandbox": {"level": hook.containment.level, "words": describe_containment(hook)},
        "can_toggle": _can_toggle(hook),
        "figures": figures_to_json(figures) if figures is not None else None,
    }


def _decide(hook: Hook, project: Project) -> tuple[TrustDecision | None, str]:
    try:
        return project.trust.decide(hook, cwd=str(project.root)), ""
    except StoreError as problem:
        return None, str(problem)


def _can_toggle(hook: Hook) -> bool:
    """Return whether `hookline enable` and `disable` can change the file of a hook."""
    if hook.layer is Layer.MANAGED:
        return False
    if hook.run_by and hook.source_format in FILE_SPECS:
        return "enabled" in FILE_SPECS[hook.source_format].keys
    return strip_prefix(hook.id) in BUILTINS or bool(hook.source_path)


def show_approval(path: str, name: str) -> Mapping[str, object]:
    """Return what the approval screen of the terminal says about a hook, whole and without masks.

    A mask could hide what would run; every character that could hide something is escaped.
    """
    with open_project(path) as project:
        hook, cwd = _find(project, name), str(project.root)
        screen = ApprovalScreen.build(hook, project.trust, cwd=cwd)
        clearance = screen.clearance
        facts = [*list_facts(hook, clearance, cwd=cwd), *list_files(clearance)]
        return {
            "id": escape(hook.id),
            "state": HookView(hook, project, clearance).state,
            "facts": [{"label": one.label, "lines": [line._asdict() for line in one.lines]} for one in facts],
            "diffs": [{"path": escape(one.name), "unified": escape(one.text, tabs=True)} for one in screen.changes],
            "digest": _make_digest(clearance.fingerprint) if clearance.fingerprint is not None else "",
            "mend": escape(clearance.mend or (suggest_approval(hook) if clearance.reason_denied else "")),
        }


def _make_digest(fingerprint: HookFingerprint) -> str:
    """Return the digest of all that an approval covers: the definition, the files, and the programs that are found now."""
    programs = hashlib.sha256(repr([asdict(one) for one in fingerprint.programs]).encode("utf-8", "surrogatepass"))
    return f"{fingerprint.digest}.{programs.hexdigest()[:16]}"


def approve(path: str, name: str, digest: str) -> Mapping[str, object]:
    """Approve a hook exactly as it was shown.

    Raises:
        HTTPException: It changed since, or cannot be approved.
    """
    with open_project(path) as project:
        hook, cwd = _find(project, name), str(project.root)
        decision = project.trust.decide(hook, cwd=cwd)
        if decision.fingerprint is None or decision.status is TrustStatus.APPROVED:
            return {"message": f"{hook.id} may run already"}
        if digest != _make_digest(decision.fingerprint):
            raise HTTPException(409, sanitize(f"{hook.id} is no longer what you looked at; look again"))
        try:
            project.trust.approve(hook, cwd=cwd, digest=decision.fingerprint.digest, note=_NOTE)
        except ConfigError as problem:
            raise HTTPException(409, sanitize(str(problem))) from None
        return {"message": f"{hook.id} is approved as you saw it"}


def revoke(path: str, name: str) -> Mapping[str, object]:
    """Take back the approval of a hook as it is now.

    Raises:
        HTTPException: There is none.
    """
    with open_project(path) as project:
        hook = _find(project, name)
        decision = project.trust.decide(hook, cwd=str(project.root))
        if decision.approval is None:
            raise HTTPException(409, sanitize(f"{hook.id} has no approval that could be taken back"))
        project.trust.revoke(decision.approval.digest)
        return {"message": f"the approval of {hook.id} is taken back"}


def _find(project: Project, name: str) -> Hook:
    try:
        return find_hook(project, name)
    except ConfigError as problem:
        raise HTTPException(404, sanitize(str(problem))) from None
