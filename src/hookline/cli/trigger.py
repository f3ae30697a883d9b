"""`hookline trigger`: start one hook by hand."""

import argparse
import sys
from typing import Final

from hookline.cli._command import COMMON, CliCommand, ExitCode, argument, flag
from hookline.cli._describe import describe_location
from hookline.cli._output import Table, print_error, print_json, print_line, render
from hookline.cli._project import hook_error, load_from_args, read_object
from hookline.cli._run_hooks import (
    VERBOSE_OPTIONS,
    finish_live_view,
    print_failures,
    redirect_stdout_to_stderr,
    run_until_terminated,
    start_live_view,
)
from hookline.cli._terminal import NO_INPUT, open_prompt
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import Hook
from hookline.model.verdict import Outcome, outcome_to_json
from hookline.text import quote, shell_quote
from hookline.trust.policy import suggest_approval
from hookline.views.hook_lookup import find_hook


def run(args: argparse.Namespace) -> int:
    """Start the hook; return 0 if it ran, 2 if it denied."""
    if args.list:
        return _list(args)
    if args.hook is None:
        raise ConfigError("name the hook; `hookline trigger --list` shows those that can be started by hand")
    return run_until_terminated(_trigger(args))


def _list(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    hooks = [hook for hook in project.hooks if EventName.USER_TRIGGERED in hook.on and hook.enabled]
    rows = [(hook.id, hook.kind, describe_location(hook, project)) for hook in hooks]
    value = [
        {"id": hook.id, "name": hook.name or None, "kind": hook.kind, "file": row[-1]}
        for hook, row in zip(hooks, rows, strict=True)
    ]
    nothing = 'no hook can be started by hand; one that can says `on = "user_triggered"`'
    return render(args, value, Table(("hook", "kind", "file"), rows) if rows else nothing)


async def _trigger(args: argparse.Namespace) -> int:
    if args.input == args.data == "-":
        raise ConfigError("--input and --data cannot both be read from stdin")
    data = read_object(args.data, "--data") or {}
    if args.input == "-" and sys.stdin is None:
        raise ConfigError("--input is to be read from stdin, which is closed")
    if args.input is not None:
        text = sys.stdin.buffer.read().decode("utf-8", "replace") if args.input == "-" else args.input
        data["input"] = text
    prompt = open_prompt(no_input=args.no_input)
    project = load_from_args(args, approve=prompt, traced=True)
    async with project.engine as engine:
        for problem in engine.problems:
            print_error(f"hookline: {problem}")
        hook = find_hook(project, args.hook)
        if EventName.USER_TRIGGERED not in hook.on:
            raise hook_error(
                hook,
                f"hook {quote(hook.id)} waits for {', '.join(hook.on)} and would not know what to do with this; "
                f"`hookline test {shell_quote(hook.id)}` tries it with a sample, and "
                '`on = [..., "user_triggered"]` lets it be started by hand',
            )
        if not project.is_active(hook):
            switch = "HOOKS_ENABLED, or `enabled` in the settings"
            raise ConfigError(f"hooks are switched off ({switch}), so it does not run")
        event = engine.event(EventName.USER_TRIGGERED, {**data, "hook": hook.name or hook.id})
        if prompt is not None:
            prompt.set_context(engine.trust, cwd=event.cwd)
        start_live_view(args, engine)
        with redirect_stdout_to_stderr():
            outcome = await engine.start(hook, event)
        await finish_live_view(args, engine, outcome)
        return _report(args, hook, outcome)


def _report(args: argparse.Namespace, hook: Hook, outcome: Outcome) -> int:
    # a user who starts a hook wants it to run: a hook that did not run, or failed, is an error
    code = ExitCode.BLOCKED if outcome.blocked else 1 if outcome.failures or not outcome.verdicts else 0
    if args.json:
        print_json(outcome_to_json(outcome))
        return code
    texts = (*outcome.context, *outcome.messages, *outcome.follow_ups)
    for text in texts:
        print_line(text, broken=True)
    print_failures(outcome)
    for skip in outcome.skipped:
        advice = f"; {suggest_approval(skip.hook)}" if skip.gate == "trust" else ""
        print_error(f'hook "{skip.hook.id}" did not run: {skip.reason}{advice}')
    if outcome.blocked:
        print_error(outcome.reason, broken=True)
    elif outcome.verdicts and not outcome.failures and not texts:
        verdict = outcome.verdicts[0]
        ran = "was not asked: it gave this answer before" if verdict.cached else "ran"
        result = f"was put into the queue: hookline queue show {verdict.job}" if verdict.job else ran
        print_line(f'hook "{hook.id}" {result}')
    return code


COMMAND: Final = CliCommand(
    "start one hook by hand, with the event user_triggered",
    argument("hook", "the hook; --list shows those that can be started", nargs="?"),
    flag("--list", "show the hooks that can be started by hand"),
    argument("--input", "what to say to the hook; - reads it from stdin", metavar="TEXT|-"),
    argument("--data", "further fields of the event", metavar="JSON|@FILE|-"),
    *COMMON,
    NO_INPUT,
    *VERBOSE_OPTIONS,
    example='release-notes --input "since v1.4"',
    run=run,
)
