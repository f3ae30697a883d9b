"""`hookline trust`: what a person allowed to run, and what waits for them."""

import argparse
import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from hookline.cli._approval import Question, question
from hookline.cli._facts import Fact, approval_json, as_json, changed, facts, rendered, said, scripts
from hookline.cli._output import complain, hand_over, say, say_json, table
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.core.approvals import Approval
from hookline.core.trust import Clearance, Standing
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.workspace import Opened

HELP: Final = "see, give and take back approvals: what of others may run here"
EXAMPLE: Final = "hookline trust approve lint"

_COLUMNS: Final = 110
_SHORT: Final = 12

# A shorter beginning of a digest could be anybody's name.
_DIGEST: Final = 8

_MAY_RUN: Final = frozenset({Standing.TRUSTED, Standing.APPROVED, Standing.ONCE})

Action = Callable[[argparse.Namespace], int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (act, text, example) in _ACTIONS.items():
        epilog = f"example:\n  hookline trust {name} {example}".rstrip()
        one = actions.add_parser(
            name,
            help=text,
            description=text,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.set_defaults(act=act)
        add_project(one)
        add_json(one)
        _ARGUMENTS.get(name, _no_more)(one)


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    act: Action = args.act
    return act(args)


def _list(args: argparse.Namespace) -> int:
    project = opened(args)
    clearances = [(hook, _clearance(project, hook)) for hook in project.loaded.hooks]
    approvals = [(approval, _use(approval, clearances)) for approval in project.engine.trust.get_approvals()]
    if args.json:
        hooks = [_standing_json(hook, clearance) for hook, clearance in clearances]
        given = [{**(approval_json(approval) or {}), "use": use} for approval, use in approvals]
        say_json({"hooks": hooks, "approvals": given})
        return 0
    waiting = [(hook, clearance) for hook, clearance in clearances if clearance.standing not in _MAY_RUN]
    if waiting:
        say("waiting for you (`hookline trust show HOOK`, then `hookline trust approve HOOK`):")
        table(["hook", "why", "file"], [[hook.id, clearance.objection, _place(hook)] for hook, clearance in waiting])
        say()
    if approvals:
        rows = [
            [approval.hook, approval.digest[:_SHORT], said(approval), use, approval.repository, approval.note]
            for approval, use in approvals
        ]
        table(["approved", "digest", "given", "use", "repository", "note"], rows)
    if not waiting and not approvals:
        say("nothing was approved, and nothing waits for approval")
    return 0


def _use(approval: Approval, clearances: Sequence[tuple[Hook, Clearance]]) -> str:
    """Say what an approval is good for here and now."""
    if any(clearance.approval == approval for _, clearance in clearances):
        return "in use"
    if any(clearance.earlier == approval for _, clearance in clearances):
        return "the hook changed"
    repositories = {clearance.repository for _, clearance in clearances}
    return "no such hook" if approval.repository in repositories else "another repository"


def _show(args: argparse.Namespace) -> int:
    project = opened(args)
    hook = _hook_of(project, args.hook)
    if hook is None:
        return _show_approval(args, _approval_of(project, args.hook))
    clearance = _clearance(project, hook, whole=True)
    changes = project.engine.trust.diff(hook, cwd=str(project.root))
    if args.json:
        listed = [{"kind": one.kind, "name": one.name, "text": one.text} for one in changes]
        say_json({**as_json(hook, clearance, cwd=str(project.root)), "changes": listed})
        return 0
    shown = [*facts(hook, clearance, cwd=str(project.root)), *changed(changes)]
    if args.script:
        shown += scripts(clearance)
    _lay_out(shown)
    say()
    say(f"It does not run: {clearance.objection}." if clearance.objection else f"It may run: {_because(clearance)}.")
    return 0


def _lay_out(shown: Iterable[Fact]) -> None:
    for line in rendered(shown, _COLUMNS):
        # a mask could hide what would run from the person who is to judge it
        say(line, masked=False)


def _because(clearance: Clearance) -> str:
    if clearance.approval is not None:
        return f"approved {said(clearance.approval)}"
    return "hooks from there are trusted"


def _show_approval(args: argparse.Namespace, approval: Approval) -> int:
    if args.json:
        say_json(approval_json(approval))
        return 0
    for label, value in (approval_json(approval) or {}).items():
        if label != "at" and value:
            say(f"  {label:<13}{value}")
    say(f"  {'given':<13}{said(approval)}")
    return 0


def _approve(args: argparse.Namespace) -> int:
    project = opened(args)
    hooks = _chosen(project, args)
    asker = None if args.yes or args.digest else _asker(project)
    done: list[Approval] = []
    for hook in hooks:
        clearance = _clearance(project, hook)
        if clearance.identity is None or clearance.standing is Standing.APPROVED:
            if not args.json:
                say(f"{hook.id}: may run already")
            continue
        digest = args.digest or clearance.identity.digest
        approval = (
            project.engine.trust.approve(hook, cwd=str(project.root), digest=digest, note=args.note)
            if asker is None
            else asyncio.run(asker.approved(hook, digest, note=args.note))
        )
        if approval is None:
            complain(f"{hook.id}: not approved")
            continue
        done.append(approval)
    _report_approved(args, done)
    return 0 if done or not hooks or args.all else _nothing_to_approve(project, hooks)


def _nothing_to_approve(project: Opened, hooks: Sequence[Hook]) -> int:
    """Tell a no, which is an error for whoever wanted the yes, from what may run anyway."""
    return 1 if any(_clearance(project, hook).objection for hook in hooks) else 0


def _report_approved(args: argparse.Namespace, done: Sequence[Approval]) -> None:
    if args.json:
        say_json({"approved": [approval_json(approval) for approval in done]})
        return
    for approval in done:
        say(f"approved {approval.hook}  {approval.digest[:_SHORT]}  {approval.runs}")


def _chosen(project: Opened, args: argparse.Namespace) -> list[Hook]:
    if args.all == bool(args.hooks):
        raise ConfigError("name the hooks to approve, or say --all")
    if args.digest and len(args.hooks) != 1:
        raise ConfigError("--digest goes with exactly one hook")
    if not args.all:
        return [hook_named(project, name) for name in args.hooks]
    return [hook for hook in project.loaded.hooks if _clearance(project, hook).standing not in _MAY_RUN]


def _asker(project: Opened) -> Question:
    asker = question()
    if asker is None:
        raise ConfigError(
            "there is no terminal to ask at; look at the hook with `hookline trust show HOOK`, "
            "then approve it with --yes, or with --digest DIGEST so that only what you saw counts"
        )
    asker.about(project.engine.trust, cwd=str(project.root))
    return asker


def _revoke(args: argparse.Namespace) -> int:
    if args.all == bool(args.hooks):
        raise ConfigError("name what to take back, by hook or digest, or say --all")
    trust = opened(args).engine.trust
    if args.all:
        gone = trust.get_approvals()
        asyncio.run(trust.clear_approvals())
    else:
        gone = trust.revoke(*args.hooks)
    if args.json:
        say_json({"revoked": [approval_json(approval) for approval in gone]})
    else:
        for approval in gone:
            say(f"revoked {approval.hook}  {approval.digest[:_SHORT]}  {approval.repository}")
    if not gone and not args.all:
        raise ConfigError(f"there is no approval of {', '.join(args.hooks)}; `hookline trust list` shows them all")
    return 0


def _diff(args: argparse.Namespace) -> int:
    project = opened(args)
    hook = hook_named(project, args.hook)
    clearance = _clearance(project, hook)
    changes = project.engine.trust.diff(hook, cwd=str(project.root))
    if args.json:
        listed = [{"kind": one.kind, "name": one.name, "text": one.text} for one in changes]
        say_json({"id": hook.id, "standing": clearance.standing, "changes": listed})
    elif changes:
        _lay_out(changed(changes))
    else:
        known = clearance.approval is not None or clearance.identity is None
        say(
            "nothing changed since it was approved"
            if known
            else "it was never approved, so there is nothing to compare"
        )
    return 0


def _export(args: argparse.Namespace) -> int:
    project = opened(args)
    names = [hook_named(project, name).id for name in args.hooks] or None
    raw = project.engine.trust.export(names, exact=args.exact)
    if args.output is None:
        hand_over(raw)
        return 0
    _write(args.output, raw)
    if args.json:
        say_json({"output": str(args.output)})
    else:
        say(f"wrote {args.output}; keep it outside of the checkout, `hookline trust import` reads it nowhere else")
    return 0


def _write(path: Path, raw: bytes) -> None:
    """Write a file only its owner may change: whoever changes it decides what runs elsewhere."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"{path} is there already; remove it or choose another name") from None
    except OSError as problem:
        raise ConfigError(f"cannot write {path}: {problem.strerror}") from None
    with os.fdopen(handle, "wb") as file:
        file.write(raw)


def _import(args: argparse.Namespace) -> int:
    project = opened(args)
    added = project.engine.trust.import_approvals(args.file, workspace=project.root)
    if args.json:
        say_json({"imported": [approval_json(approval) for approval in added]})
        return 0
    for approval in added:
        say(f"imported {approval.hook}  {approval.digest[:_SHORT]}  {approval.repository}")
    say(f"{len(added)} approvals from {args.file}")
    return 0


def _workspace(args: argparse.Namespace) -> int:
    project = opened(args)
    settings = project.engine.settings
    root = project.root.resolve()
    folders = [folder for folder in settings.trusted_workspaces if root.is_relative_to(Path(folder).resolve())]
    by = "trust_workspace" if settings.trust_workspace else "trusted_workspaces" if folders else None
    if args.json:
        say_json({"root": str(project.root), "trusted": by is not None, "by": by})
    elif by is None:
        say(f"{project.root} is not trusted as a whole: each of its hooks needs your approval")
    else:
        say(f"{project.root} is trusted as a whole, by {by} in your settings: its hooks run without approval")
    return 0


def _clearance(project: Opened, hook: Hook, *, whole: bool = False) -> Clearance:
    trust = project.engine.trust
    found = trust.clearance(hook, cwd=str(project.root))
    if whole and found.identity is None:
        from msgspec.structs import replace  # noqa: PLC0415 - only `show` wants to know it of trusted hooks

        return replace(found, identity=trust.identity(hook, cwd=str(project.root)))
    return found


def _hook_of(project: Opened, name: str) -> Hook | None:
    known = any(name in {hook.id, hook.name} for hook in project.loaded.hooks)
    digests = any(approval.digest.startswith(name) for approval in project.engine.trust.get_approvals())
    return None if not known and digests and len(name) >= _DIGEST else hook_named(project, name)


def _approval_of(project: Opened, digest: str) -> Approval:
    found = [one for one in project.engine.trust.get_approvals() if one.digest.startswith(digest)]
    if len(found) != 1:
        raise ConfigError(f"{len(found)} approvals begin with {digest}; give more of the digest")
    return found[0]


def _standing_json(hook: Hook, clearance: Clearance) -> Mapping[str, object]:
    return {
        "id": hook.id,
        "name": hook.name,
        "file": hook.source_path,
        "line": hook.source_line,
        "standing": clearance.standing,
        "objection": clearance.objection or None,
        "digest": clearance.identity.digest if clearance.identity is not None else None,
    }


def _place(hook: Hook) -> str:
    return f"{hook.source_path}:{hook.source_line}"


def _no_more(_parser: argparse.ArgumentParser) -> None:
    """Take nothing more."""


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hook", metavar="HOOK|DIGEST", help="a hook of this project, or the digest of an approval")
    parser.add_argument("--script", action="store_true", help="show its files, too")


def _approve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hooks", nargs="*", metavar="HOOK", help="the hooks to approve, as they are now")
    parser.add_argument("--all", action="store_true", help="every hook of this project that waits for approval")
    parser.add_argument("--yes", action="store_true", help="do not ask; for hooks you have looked at")
    parser.add_argument("--digest", default="", help="approve only if this is still the hook's digest; does not ask")
    parser.add_argument("--note", default="", metavar="TEXT", help="why, kept with the approval")


def _revoke_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hooks", nargs="*", metavar="HOOK|DIGEST", help="what to take back")
    parser.add_argument("--all", action="store_true", help="every approval, of every repository")


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hook", metavar="HOOK", help="the hook that changed")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hooks", nargs="*", metavar="HOOK", help="only the approvals of these hooks")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this new file instead of stdout")
    parser.add_argument("--exact", action="store_true", help="also compare programs: for machines that are alike")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="what `hookline trust export` wrote, outside of the project"
    )


_ACTIONS: Final[Mapping[str, tuple[Action, str, str]]] = {
    "list": (_list, "list approvals, and the hooks that wait for one", ""),
    "show": (_show, "show everything about a hook, or an approval", "lint --script"),
    "approve": (_approve, "approve hooks exactly as they are now", "lint --note 'read it'"),
    "revoke": (_revoke, "take approvals back", "lint"),
    "diff": (_diff, "show what changed since the approval", "lint"),
    "export": (_export, "write approvals to a file, for CI or another machine", "--output ~/approvals.json"),
    "import": (_import, "take over approvals from a file outside of the project", "~/approvals.json"),
    "workspace": (_workspace, "say whether this folder is trusted as a whole", ""),
}

_ARGUMENTS: Final[Mapping[str, Callable[[argparse.ArgumentParser], None]]] = {
    "show": _show_arguments,
    "approve": _approve_arguments,
    "revoke": _revoke_arguments,
    "diff": _diff_arguments,
    "export": _export_arguments,
    "import": _import_arguments,
}
