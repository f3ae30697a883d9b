"""`hookline git`: let git ask the hooks before a commit, about its message, before a push and after a checkout."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hookline.cli._approval import hint, question
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, counted, say, say_json, table
from hookline.cli._project import add_json, add_project, project_of
from hookline.cli._python import check_python
from hookline.display import typed
from hookline.errors import HostError
from hookline.folders import here
from hookline.model.verdict import Outcome
from hookline.sources.git import install as plans
from hookline.sources.git.moments import MOMENTS, Call, raised
from hookline.sources.git.repository import Repository, changing, open_repository
from hookline.sources.git.shims import HOOKS
from hookline.workspace import load_engine

HELP: Final = "let git ask the hooks: before a commit, about its message, before a push, after a checkout"
EXAMPLE: Final = "hookline git install"

_BLOCKED: Final = 2

# a commit of a hook may well make another one, but not for ever
_DEPTH: Final = "HOOKLINE_GIT_DEPTH"
_DEEPEST: Final = 5
_WHAT: Final = {"pre-commit": "commit", "commit-msg": "commit", "pre-push": "push", "post-checkout": "checkout"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, words in (
        ("install", "let git run our hooks beside those that are there"),
        ("uninstall", "take ours away, and put everything back as it was"),
        ("status", "show what git runs now"),
    ):
        one = actions.add_parser(name, help=words, description=words)
        if name != "status":
            one.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        add_project(one)
        add_json(one)
    words = "what git's own scripts call: ask the hooks, exit code 2 when they say no"
    one = actions.add_parser("run", help=words, description=words)
    one.add_argument("of_git", choices=HOOKS, metavar="HOOK", help=f"one of {', '.join(HOOKS)}")
    one.add_argument("words", nargs=argparse.REMAINDER, metavar="ARG", help="what git says to its hook")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return _ACTIONS[args.action](args)


def _install(args: argparse.Namespace) -> int:
    check_python(sys.executable, module=__name__)
    with changing(_folder(args)) as repository:
        plan = plans.install(repository, python=sys.executable)
        return _carry_out(args, repository, plan, done="git asks the hooks now")


def _uninstall(args: argparse.Namespace) -> int:
    with changing(_folder(args)) as repository:
        return _carry_out(args, repository, plans.uninstall(repository), done="git does not ask the hooks any more")


def _folder(args: argparse.Namespace) -> Path:
    return (project_of(args) or here()).absolute()


def _carry_out(args: argparse.Namespace, repository: Repository, plan: plans.Plan, *, done: str) -> int:
    if not args.dry_run:
        for step in plan.steps:
            try:
                step.do()
            except OSError as problem:
                raise HostError(f"could not {step.what}: {problem.strerror or problem}; call again to go on") from None
    if args.json:
        say_json(
            {
                "changed": bool(plan.steps) and not args.dry_run,
                "repository": str(repository.top),
                "folder": str(plan.folder),
                "redirected": plan.is_redirected,
                "steps": [step.what for step in plan.steps],
                "notes": plan.notes,
            }
        )
        return 0
    for step in plan.steps:
        say(f"would {step.what}" if args.dry_run else step.what)
    for note in plan.notes:
        say(f"note: {note}")
    if not plan.steps:
        say("nothing to change")
    else:
        say(f"nothing was written; it would be {counted(len(plan.steps), 'step')}" if args.dry_run else done)
    return 0


def _status(args: argparse.Namespace) -> int:
    repository = open_repository(_folder(args))
    found = plans.found(repository)
    problems = _problems(repository, found)
    if args.json:
        say_json(
            {
                "installed": all(one.is_ours for one in found),
                "repository": str(repository.top),
                "hooks": [
                    {
                        "hook": one.hook,
                        "events": [moment.event for moment in MOMENTS[one.hook]],
                        "path": str(one.path),
                        "ours": one.is_ours,
                        "theirs": str(one.theirs) if one.theirs else None,
                    }
                    for one in found
                ],
                "problems": problems,
            }
        )
        return 0
    rows = [
        (
            one.hook,
            ", ".join(moment.event for moment in MOMENTS[one.hook]),
            "yes" if one.is_ours else "no",
            str(one.theirs) if one.theirs else "-",
        )
        for one in found
    ]
    table(("hook", "events", "ours", "theirs"), rows)
    for problem in problems:
        say(problem)
    return 0


def _problems(repository: Repository, found: list[plans.Found]) -> list[str]:
    """Say what keeps ours from running, or makes it run in an old form."""
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
    return (
        [] if is_current else ["some are missing or were made for another Python; `hookline git install` renews them"]
    )


def _run(args: argparse.Namespace) -> int:
    _go_deeper()
    stdin = sys.stdin.buffer.read() if args.of_git == "pre-push" and sys.stdin is not None else b""
    call = Call(folder=str(here()), words=tuple(args.words), stdin=stdin, environ=os.environ)
    try:
        return asyncio.run(_ask(args.of_git, call))
    except asyncio.CancelledError:
        return TERMINATED


def _go_deeper() -> None:
    """Count how often a hook that git asked us about has called git again.

    Raises:
        HostError: It does so without end.
    """
    said = os.environ.get(_DEPTH, "")
    depth = int(said) if said.isdecimal() else 0
    if depth >= _DEEPEST:
        raise HostError(
            f"a hook calls git, which asks the same hook again, {depth} times by now; it is not asked again"
        )
    os.environ[_DEPTH] = str(depth + 1)


async def _ask(hook: str, call: Call) -> int:
    end_hooks_with_us()
    asker = question()
    blocked = False
    async with load_engine(Path(call.folder), approve=asker) as engine:
        # git passes nothing on to an agent, so what is said to one waits in the inbox
        engine.agent_listens = False
        # of the two hooks of one commit, one says it
        for problem in engine.problems if hook != "pre-commit" else ():
            complain(f"hookline: {problem}")
        if asker is not None:
            asker.about(engine.trust, cwd=call.folder)
        async for _, outcome in raised(engine, hook, call):
            _report(outcome, what=_WHAT[hook])
            blocked = blocked or outcome.blocked
    if blocked and hook == "commit-msg":
        file = typed(call.words[0])
        complain(f"hookline: git keeps your message: git commit -eF {file} takes it up again")
    return _BLOCKED if blocked else 0


def _report(outcome: Outcome, *, what: str) -> None:
    """Show everything on stderr: stdout of a hook belongs to git."""
    for text in (*outcome.context, *outcome.messages):
        complain(text, broken=True)
    for verdict in outcome.failures:
        complain(f'hook "{verdict.hook}" failed: {verdict.failure.message if verdict.failure else ""}')
    for skip in outcome.skipped:
        if skip.gate == "trust":
            complain(f'hook "{skip.hook.id}" did not run: {skip.reason}; {hint(skip.hook)}')
    if outcome.blocked:
        said = [verdict for verdict in outcome.verdicts if verdict.blocks and not verdict.observed]
        names = ", ".join(f'"{verdict.hook}"' for verdict in said)
        complain(f"hookline: this {what} is blocked{f' by {names}' if names else ''}:")
        complain(outcome.reason, broken=True)


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "install": _install,
    "uninstall": _uninstall,
    "status": _status,
    "run": _run,
}
