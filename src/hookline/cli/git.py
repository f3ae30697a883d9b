"""`hookline git`: have git run hooks before a commit, on its message, before a push and after a checkout."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from hookline.bridge.fallback import find_lost_guard
from hookline.cli._command import COMMON, DRY_RUN, CliCommand, ExitCode, argument, flag
from hookline.cli._output import Table, pluralise, print_error, render
from hookline.cli._project import find_root
from hookline.cli._run_hooks import print_failures, print_missed_hooks, run_until_terminated
from hookline.cli._terminal import open_prompt
from hookline.cli.hosts import check_interpreter
from hookline.errors import HostError
from hookline.model.installed_entry import PROOF, PROVE
from hookline.project import load_project
from hookline.sources import git_install as plans
from hookline.sources.git_events import GIT_EVENTS, GitCall, raise_events
from hookline.sources.git_install import HOOKS
from hookline.sources.git_repository import Repository, lock_repository, open_repository
from hookline.text import shell_quote
from hookline.user_dirs import working_folder

# a hook may commit, which runs the hooks again, but not without end
_DEPTH: Final = "HOOKLINE_GIT_DEPTH"
_DEEPEST: Final = 5
_WHAT: Final = {"pre-commit": "commit", "commit-msg": "commit", "pre-push": "push", "post-checkout": "checkout"}


def _install(args: argparse.Namespace) -> int:
    check_interpreter(sys.executable, module=__name__)
    with lock_repository(find_root(args)) as repository:
        plan = plans.install(repository, python=sys.executable)
        return _carry_out(args, repository, plan, done="git asks the hooks now")


def _uninstall(args: argparse.Namespace) -> int:
    with lock_repository(find_root(args)) as repository:
        return _carry_out(args, repository, plans.uninstall(repository), done="git does not ask the hooks any more")


def _carry_out(args: argparse.Namespace, repository: Repository, plan: plans.GitInstallPlan, *, done: str) -> int:
    if not args.dry_run:
        for step in plan.steps:
            try:
                step.do()
            except OSError as problem:
                raise HostError(f"could not {step.what}: {problem.strerror or problem}; call again to go on") from None
    value = {
        "changed": bool(plan.steps) and not args.dry_run,
        "repository": str(repository.top),
        "folder": str(plan.folder),
        "redirected": plan.is_redirected,
        "steps": [step.what for step in plan.steps],
        "notes": plan.notes,
    }
    summary = f"nothing was written; it would be {pluralise(len(plan.steps), 'step')}" if args.dry_run else done
    return render(
        args,
        value,
        *(f"would {step.what}" if args.dry_run else step.what for step in plan.steps),
        *(f"note: {note}" for note in plan.notes),
        summary if plan.steps else "nothing to change",
    )


def _status(args: argparse.Namespace) -> int:
    repository = open_repository(find_root(args))
    found = plans.list_hooks(repository)
    problems = _find_problems(repository, found)
    events = {one.hook: [event.name for event in GIT_EVENTS[one.hook]] for one in found}
    value = {
        "installed": all(one.is_ours for one in found),
        "repository": str(repository.top),
        "hooks": [
            {
                "hook": one.hook,
                "events": events[one.hook],
                "path": str(one.path),
                "ours": one.is_ours,
                "theirs": str(one.theirs) if one.theirs else None,
            }
            for one in found
        ],
        "problems": problems,
    }
    rows = [
        (one.hook, ", ".join(events[one.hook]), "yes" if one.is_ours else "no", str(one.theirs or "-")) for one in found
    ]
    return render(args, value, Table(("hook", "events", "ours", "theirs"), rows), *problems)


def _find_problems(repository: Repository, found: list[plans.GitHookStatus]) -> list[str]:
    """Return what keeps our scripts from running, or makes outdated ones run."""
    if not any(one.is_ours for one in found):
        path = repository.hooks_path
        left = bool(plans.uninstall(repository).steps)
        if left and path is not None:
            where = f"git looks into {path.path} now ({path.scope} configuration)"
            return [f"ours do not run any more: {where}; `hookline git install` puts them beside it"]
        return ["ours do not run; `hookline git install` changes that"]
    try:
        is_current = not plans.install(repository, python=sys.executable).steps
    except HostError as problem:
        return [str(problem)]
    outdated = "some are missing or were made for another Python; `hookline git install` renews them"
    return [] if is_current else [outdated]


def _run(args: argparse.Namespace) -> int:
    # count in the environment how often a hook of git has called git again
    text = os.environ.get(_DEPTH, "")
    depth = int(text) if text.isdecimal() else 0
    if depth >= _DEEPEST:
        message = f"a hook calls git, which asks the same hook again, {depth} times by now; it is not asked again"
        raise HostError(message)
    os.environ[_DEPTH] = str(depth + 1)
    stdin = sys.stdin.buffer.read() if args.of_git == "pre-push" and sys.stdin is not None else b""
    call = GitCall(folder=str(working_folder()), words=tuple(args.words), stdin=stdin, environ=os.environ)
    code = run_until_terminated(_ask(args.of_git, call))
    return code + PROOF if args.prove and code != ExitCode.TERMINATED else code


async def _ask(hook: str, call: GitCall) -> int:
    prompt = open_prompt()
    blocked = False
    project = load_project(Path(call.folder), approve=prompt)
    async with project.engine as engine:
        # git passes nothing on to an agent, so messages for the agent wait in the inbox
        engine.agent_listens = False
        # a commit runs two hooks; one of them reports problems
        for problem in engine.problems if hook != "pre-commit" else ():
            print_error(f"hookline: {problem}")
        if prompt is not None:
            prompt.set_context(engine.trust, cwd=call.folder)
        async for _, outcome in raise_events(engine, hook, call):
            # everything on stderr: stdout of a hook belongs to git
            for text in (*outcome.context, *outcome.messages):
                print_error(text, broken=True)
            print_failures(outcome)
            print_missed_hooks(outcome)
            if outcome.blocked:
                blocking = [verdict for verdict in outcome.verdicts if verdict.blocks and not verdict.observed]
                names = ", ".join(f'"{verdict.hook}"' for verdict in blocking)
                print_error(f"hookline: this {_WHAT[hook]} is blocked{f' by {names}' if names else ''}:")
                print_error(outcome.reason, broken=True)
            blocked = blocked or outcome.blocked
    lost = find_lost_guard(project)
    if lost and not blocked and hook != "post-checkout":
        print_error(
            f"hookline: a hook may be missing, so this {_WHAT[hook]} is blocked: {lost}; `hookline check` says more"
        )
        blocked = True
    if blocked and hook == "commit-msg":
        file = shell_quote(call.words[0])
        print_error(f"hookline: git keeps your message: git commit -eF {file} takes it up again")
    return ExitCode.BLOCKED if blocked else 0


COMMAND: Final = CliCommand(
    "let git ask the hooks: before a commit, about its message, before a push, after a checkout",
    example="install",
    actions={
        "install": CliCommand("let git run our hooks beside those that are there", DRY_RUN, *COMMON, run=_install),
        "uninstall": CliCommand(
            "remove our scripts, and restore what was there before", DRY_RUN, *COMMON, run=_uninstall
        ),
        "status": CliCommand("show what git runs now", *COMMON, run=_status),
        "run": CliCommand(
            "called by the git hook scripts: ask the hooks, exit code 2 when they deny",
            flag(PROVE, f"add {PROOF} to the exit code of an answer, which shows that it is one"),
            argument("of_git", f"one of {', '.join(HOOKS)}", choices=HOOKS, metavar="HOOK"),
            argument("words", "what git says to its hook", nargs=argparse.REMAINDER, metavar="ARG"),
            example="pre-commit",
            run=_run,
        ),
    },
)
