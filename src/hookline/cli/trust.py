"""`hookline trust`: approvals of hooks, and the hooks that wait for one."""

import argparse
import asyncio
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import asdict, replace

from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._loosening import TOKEN, store_token
from hookline.cli._output import Table, print_bytes, print_error, print_json, print_line, render, write_bytes_exact
from hookline.cli._project import load_from_args
from hookline.cli._terminal import open_prompt
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.project import Project
from hookline.trust.approval_store import Approval
from hookline.trust.policy import TrustDecision, TrustStatus
from hookline.views import find_hook
from hookline.views.approval_screen import (
    Fact,
    approval_to_json,
    describe_approval,
    lay_out,
    list_changes,
    list_facts,
    list_files,
    trust_to_json,
)

_COLUMNS: Final = 110
_SHORT: Final = 12

# A shorter prefix of a digest could be the name of a hook.
_SHORTEST_DIGEST: Final = 8

_MAY_RUN: Final = frozenset({TrustStatus.TRUSTED, TrustStatus.APPROVED, TrustStatus.ONCE})


def _list(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    clearances = [(hook, _decide(project, hook)) for hook in project.hooks]
    waiting = [(hook, clearance) for hook, clearance in clearances if clearance.status not in _MAY_RUN]
    repositories = {clearance.repository for _, clearance in clearances}
    approvals = []
    for approval in project.trust.get_approvals():
        use = "no such hook" if approval.repository in repositories else "another repository"
        if any(clearance.approval == approval for _, clearance in clearances):
            use = "in use"
        elif any(clearance.earlier == approval for _, clearance in clearances):
            use = "the hook changed"
        approvals.append((approval, use))
    value = {
        "hooks": [
            {
                "id": hook.id,
                "name": hook.name,
                "file": hook.source_path,
                "line": hook.source_line,
                "standing": clearance.status,
                "objection": clearance.reason_denied or None,
                "digest": clearance.fingerprint.digest if clearance.fingerprint is not None else None,
            }
            for hook, clearance in clearances
        ],
        "approvals": [{**(approval_to_json(approval) or {}), "use": use} for approval, use in approvals],
    }
    text: list[str | Table] = []
    if waiting:
        rows = [
            [hook.id, clearance.reason_denied, f"{hook.source_path}:{hook.source_line}"] for hook, clearance in waiting
        ]
        text.append("waiting for you (`hookline trust show HOOK`, then `hookline trust approve HOOK`):")
        text += [Table(["hook", "why", "file"], rows), ""]
    if approvals:
        rows = [
            [one.hook, one.digest[:_SHORT], describe_approval(one), use, one.repository, one.note]
            for one, use in approvals
        ]
        text.append(Table(["approved", "digest", "given", "use", "repository", "note"], rows))
    render(args, value, *(text or ["nothing was approved, and nothing waits for approval"]))
    # a guard that waits for approval is missing
    return 1 if any(hook.enabled and project.fails_closed(hook) for hook, _ in waiting) else 0


def _show(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    trust, cwd = project.trust, str(project.root)
    by_digest = [one for one in trust.get_approvals() if one.digest.startswith(args.hook)]
    is_known = any(args.hook in {hook.id, hook.name} for hook in project.hooks)
    if by_digest and not is_known and len(args.hook) >= _SHORTEST_DIGEST:
        if len(by_digest) != 1:
            raise ConfigError(f"{len(by_digest)} approvals begin with {args.hook}; give more of the digest")
        value = approval_to_json(by_digest[0]) or {}
        lines = [f"  {label:<13}{field}" for label, field in value.items() if label != "at" and field]
        return render(args, value, *lines, f"  {'given':<13}{describe_approval(by_digest[0])}")
    hook = find_hook(project, args.hook)
    clearance = _decide(project, hook)
    if clearance.fingerprint is None:
        clearance = replace(clearance, fingerprint=trust.fingerprint(hook, cwd=cwd))
    changes = trust.diff(hook, cwd=cwd)
    if args.json:
        print_json({**trust_to_json(hook, clearance, cwd=cwd), "changes": [asdict(one) for one in changes]})
        return 0
    _print_facts([*list_facts(hook, clearance, cwd=cwd), *list_changes(changes)])
    _print_facts(list_files(clearance) if args.script else ())
    print_line()
    approval = clearance.approval
    why = f"approved {describe_approval(approval)}" if approval is not None else "hooks from there are trusted"
    print_line(f"It does not run: {clearance.reason_denied}." if clearance.reason_denied else f"It may run: {why}.")
    return 0


def _print_facts(shown: Iterable[Fact]) -> None:
    for line in lay_out(shown, _COLUMNS):
        # not masked: a mask could hide what would run
        print_line(line, masked=False)


def _approve(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    cwd = str(project.root)
    if args.all == bool(args.hooks):
        raise ConfigError("name the hooks to approve, or say --all")
    if args.digest and len(args.hooks) != 1:
        raise ConfigError("--digest goes with exactly one hook")
    waiting = [hook for hook in project.hooks if args.all and _decide(project, hook).status not in _MAY_RUN]
    hooks = waiting if args.all else [find_hook(project, name) for name in args.hooks]
    prompt = None if args.yes or args.digest else open_prompt()
    if prompt is not None:
        prompt.set_context(project.trust, cwd=cwd)
    elif not args.yes and not args.digest:
        raise ConfigError(
            "there is no terminal to ask at; look at the hook with `hookline trust show HOOK`, "
            "then approve it with --yes, or with --digest DIGEST so that only what you saw counts"
        )
    done: list[Approval] = []
    for hook in hooks:
        clearance = _decide(project, hook)
        if clearance.fingerprint is None or clearance.status is TrustStatus.APPROVED:
            if not args.json:
                print_line(f"{hook.id}: may run already")
            continue
        digest = args.digest or clearance.fingerprint.digest
        approval = (
            project.trust.approve(hook, cwd=cwd, digest=digest, note=args.note)
            if prompt is None
            else asyncio.run(prompt.ask_to_store(hook, digest, note=args.note))
        )
        if approval is None:
            print_error(f"{hook.id}: not approved")
            continue
        done.append(approval)
    render(
        args,
        {"approved": [approval_to_json(approval) for approval in done]},
        *(f"approved {approval.hook}  {approval.digest[:_SHORT]}  {approval.runs}" for approval in done),
    )
    if done or not hooks or args.all:
        return 0
    # a refused approval is an error; a hook that may run anyway is none
    return 1 if any(_decide(project, hook).reason_denied for hook in hooks) else 0


def _revoke(args: argparse.Namespace) -> int:
    if args.all == bool(args.hooks):
        raise ConfigError("name what to take back, by hook or digest, or say --all")
    trust = load_from_args(args).engine.trust
    if args.all:
        gone = trust.get_approvals()
        asyncio.run(trust.clear_approvals())
    else:
        gone = trust.revoke(*args.hooks)
    render(
        args,
        {"revoked": [approval_to_json(approval) for approval in gone]},
        *(f"revoked {approval.hook}  {approval.digest[:_SHORT]}  {approval.repository}" for approval in gone),
    )
    if not gone and not args.all:
        raise ConfigError(f"there is no approval of {', '.join(args.hooks)}; `hookline trust list` shows them all")
    return 0


def _diff(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    hook = find_hook(project, args.hook)
    clearance = _decide(project, hook)
    changes = project.trust.diff(hook, cwd=str(project.root))
    if args.json:
        print_json({"id": hook.id, "standing": clearance.status, "changes": [asdict(one) for one in changes]})
    elif changes:
        _print_facts(list_changes(changes))
    elif clearance.approval is not None or clearance.fingerprint is None:
        print_line("nothing changed since it was approved")
    else:
        print_line("it was never approved, so there is nothing to compare")
    return 0


def _export(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    names = [find_hook(project, name).id for name in args.hooks] or None
    raw = project.trust.export(names, exact=args.exact)
    if args.output is None:
        write_bytes_exact(raw)
        return 0
    # only the owner may change the file: it decides which hooks run elsewhere
    try:
        handle = os.open(args.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"{args.output} is there already; remove it or choose another name") from None
    except OSError as problem:
        raise ConfigError(f"cannot write {args.output}: {problem.strerror}") from None
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
    text = f"wrote {args.output}; keep it outside of the checkout, `hookline trust import` reads it nowhere else"
    return render(args, {"output": str(args.output)}, text)


def _import(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    added = project.trust.import_approvals(args.file, workspace=project.root)
    return render(
        args,
        {"imported": [approval_to_json(approval) for approval in added]},
        *(f"imported {approval.hook}  {approval.digest[:_SHORT]}  {approval.repository}" for approval in added),
        f"{len(added)} approvals from {args.file}",
    )


def _workspace(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    settings = project.engine.settings
    root = project.root.resolve()
    folders = [folder for folder in settings.trusted_workspaces if root.is_relative_to(Path(folder).resolve())]
    by = "trust_workspace" if settings.trust_workspace else "trusted_workspaces" if folders else None
    return render(
        args,
        {"root": str(project.root), "trusted": by is not None, "by": by},
        f"{project.root} is not trusted as a whole: each of its hooks needs your approval"
        if by is None
        else f"{project.root} is trusted as a whole, by {by} in your settings: its hooks run without approval",
    )


def _decide(project: Project, hook: Hook) -> TrustDecision:
    return project.trust.decide(hook, cwd=str(project.root))


def _token(args: argparse.Namespace) -> int:
    token = secrets.token_urlsafe(24)
    store_token(token)
    if args.json:
        print_json({"variable": TOKEN, "token": token})
    else:
        # not masked
        print_bytes(f"{TOKEN}={token}\n".encode())
        print_error("with it, an agent may approve and disable hooks; the token before it no longer counts")
    return 0


COMMAND: Final = CliCommand(
    "list, give and revoke approvals of hooks that are not your own",
    *COMMON,
    example="approve lint",
    default_action="list",
    actions={
        "list": CliCommand("list approvals, and the hooks that wait for one", run=_list),
        "show": CliCommand(
            "show everything about a hook, or an approval",
            argument("hook", "a hook of this project, or the digest of an approval", metavar="HOOK|DIGEST"),
            flag("--script", "show its files, too"),
            example="lint --script",
            run=_show,
        ),
        "approve": CliCommand(
            "approve hooks exactly as they are now",
            argument("hooks", "the hooks to approve, as they are now", nargs="*", metavar="HOOK"),
            flag("--all", "every hook of this project that waits for approval"),
            flag("--yes", "do not ask; for hooks you have looked at"),
            argument("--digest", "approve only if this is still the hook's digest; does not ask", default=""),
            argument("--note", "why, kept with the approval", default="", metavar="TEXT"),
            example="lint --note 'read it'",
            run=_approve,
        ),
        "revoke": CliCommand(
            "take approvals back",
            argument("hooks", "what to take back", nargs="*", metavar="HOOK|DIGEST"),
            flag("--all", "every approval, of every repository"),
            example="lint",
            run=_revoke,
        ),
        "diff": CliCommand(
            "show what changed since the approval", argument("hook", "the hook that changed"), example="lint", run=_diff
        ),
        "export": CliCommand(
            "write approvals to a file, for CI or another machine",
            argument("hooks", "only the approvals of these hooks", nargs="*", metavar="HOOK"),
            argument("--output", "write to this new file instead of stdout", type=Path, metavar="FILE"),
            flag("--exact", "also compare programs: for machines that are alike"),
            example="--output ~/approvals.json",
            run=_export,
        ),
        "import": CliCommand(
            "take over approvals from a file outside of the project",
            argument("file", "what `hookline trust export` wrote, outside of the project", type=Path),
            example="~/approvals.json",
            run=_import,
        ),
        "token": CliCommand("make a token with which an agent may run commands that loosen guards", run=_token),
        "workspace": CliCommand("say whether this folder is trusted as a whole", run=_workspace),
    },
)
