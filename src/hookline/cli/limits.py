"""`hookline limits`: how often hooks may still run, which are paused, and a way to reset them."""

import argparse
from typing import Final

from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._output import Table, pluralise, render
from hookline.cli._project import load_from_args
from hookline.engine.limits import LimitStatus
from hookline.errors import ConfigError
from hookline.views.hook_lookup import find_hook
from hookline.views.limits import list_limits


def run(args: argparse.Namespace) -> int:
    """Show the limits, or reset them."""
    if args.all and (args.hooks or not args.reset):
        raise ConfigError("--all goes with --reset, and without names")
    project = load_from_args(args)
    hooks = [find_hook(project, name) for name in args.hooks] or list(project.hooks)
    admission = project.engine.admission
    if args.reset:
        if not args.hooks and not args.all:
            raise ConfigError("name the hooks to reset, or say --all")
        forgotten = sum(admission.forget(hook) for hook in hooks) + (admission.forget_shared() if args.all else 0)
        text = f"forgotten: what was remembered of {pluralise(len(hooks), 'hook')}"
        return render(args, {"reset": [hook.id for hook in hooks], "forgotten": forgotten}, text)
    limits: list[tuple[str | None, LimitStatus]] = [*list_limits(project, hooks, alone=not args.hooks)]
    limits += [(None, limit) for limit in (() if args.hooks else admission.shared_limit_status())]
    value = [
        {"hook": hook, "limit": limit.gate, "passed": limit.passed, "reason": limit.reason} for hook, limit in limits
    ]
    rows = [
        [hook or "(all hooks)", limit.gate, "yes" if limit.passed else "NO", limit.reason] for hook, limit in limits
    ]
    nothing = "no limit: set once, per_minute, cooldown, debounce, breaker or budget of a hook"
    table = Table(["hook", "limit", "may run", "status"], rows)
    return render(args, {"limits": value}, table if rows else nothing)


COMMAND: Final = CliCommand(
    "show how often hooks may still run and which are paused, or let them start afresh",
    argument("hooks", "only these hooks, by id or name", nargs="*", metavar="HOOK"),
    flag("--reset", "forget the hooks' runs, failures and kept answers, and count anew"),
    flag("--all", "with --reset: all hooks, and what they may do together"),
    *COMMON,
    example="lint --reset",
    run=run,
)
