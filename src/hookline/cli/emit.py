"""`hookline emit` and `hookline trigger`: raise an event from a shell, or start one hook by hand."""

import argparse
import sys
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.cli._command import COMMON, PROJECT, CliCommand, ExitCode, argument, flag
from hookline.cli._output import Table, print_bytes, print_error, print_json, print_line, render
from hookline.cli._project import (
    EVENT_OPTIONS,
    EventArgs,
    describe_location,
    hook_error,
    load_from_args,
    parse_dialect,
    read_event_options,
    read_object,
)
from hookline.cli._run_hooks import (
    VERBOSE_OPTIONS,
    add_unmatched,
    finish_live_view,
    print_failures,
    print_missed_hooks,
    redirect_stdout_to_stderr,
    run_until_terminated,
    start_live_view,
)
from hookline.cli._terminal import NO_INPUT, open_prompt
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Outcome, outcome_to_json
from hookline.text import quote, shell_quote
from hookline.trust.policy import suggest_approval
from hookline.views import find_hook

_HOST: Final = Hook(id="host", kind="host")


async def _emit(args: argparse.Namespace) -> int:
    """Emit the event; return 0 if the operation may go on, 2 if it is blocked."""
    options = read_event_options(args)
    prompt = open_prompt(no_input=args.no_input)
    async with load_from_args(args, approve=prompt, traced=True).engine as engine:
        for problem in engine.problems:
            print_error(f"hookline: {problem}")
        event = _build_event(args, engine, options)
        if prompt is not None:
            prompt.set_context(engine.trust, cwd=event.cwd)
        start_live_view(args, engine)
        with redirect_stdout_to_stderr():
            outcome = await engine.handle(event, host_asks=bool(args.dialect))
        outcome = add_unmatched(args, engine, event, outcome)
        await finish_live_view(args, engine, outcome)
        return _report_outcome(args, event, outcome)


def _build_event(args: argparse.Namespace, engine: Engine, options: EventArgs) -> Event:
    session = Session(id=args.session)
    if args.dialect is None:
        return engine.event(args.event, options.data, tool=options.tool, args=options.args, session=session)
    dialect = DIALECTS[args.dialect]
    wanted = engine.resolve(args.event)
    if options.data is None:
        event = engine.event(wanted, None, tool=options.tool, args=options.args, session=session)
        # a round trip through the dialect turns its names of tools and arguments into canonical ones
        return replace(dialect.decode_event(dialect.encode_event(event, _HOST).body), cwd=event.cwd)
    event = dialect.decode_event(json_codec.dump(options.data))
    native = dialect.SPEC.events.get(event.name, event.name)
    if args.event not in {event.name, native, event.native_name}:
        raise ConfigError(f'--data says the event is "{native}", the call says "{args.event}"')
    return replace(
        event,
        cwd=event.cwd or engine.cwd,
        tool=options.tool or event.tool,
        args=options.args if options.args is not None else event.args,
        session=replace(event.session, id=args.session or event.session.id),
    )


def _report_outcome(args: argparse.Namespace, event: Event, outcome: Outcome) -> int:
    if args.json:
        print_json(outcome_to_json(outcome))
    elif args.dialect:
        print_bytes(DIALECTS[args.dialect].encode_outcome(outcome, event).stdout)
    else:
        for text in (*outcome.context, *outcome.messages, *outcome.follow_ups):
            print_line(text, broken=True)
    if not args.json:
        print_failures(outcome)
        print_missed_hooks(outcome)
    if args.dialect and outcome.decision is Decision.ASK:
        # the answer tells the host to ask
        return 0
    if outcome.blocked:
        print_error(outcome.reason, broken=True)
        return ExitCode.BLOCKED
    return 0


def _list_startable(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    hooks = [hook for hook in project.hooks if EventName.USER_TRIGGERED in hook.on and hook.enabled]
    rows = [(hook.id, hook.kind, describe_location(hook, project)) for hook in hooks]
    value = [
        {"id": hook.id, "name": hook.name or None, "kind": hook.kind, "file": row[-1]}
        for hook, row in zip(hooks, rows, strict=True)
    ]
    nothing = 'no hook can be started by hand; one that can says `on = "user_triggered"`'
    return render(args, value, Table(("hook", "kind", "file"), rows, nothing=nothing))


def _trigger(args: argparse.Namespace) -> int:
    """Start the hook; return 0 if it ran, 2 if it denied."""
    if args.list:
        return _list_startable(args)
    if args.hook is None:
        raise ConfigError("name the hook; `hookline trigger --list` shows those that can be started by hand")
    return run_until_terminated(_start(args))


async def _start(args: argparse.Namespace) -> int:
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
        return _report_run(args, hook, outcome)


def _report_run(args: argparse.Namespace, hook: Hook, outcome: Outcome) -> int:
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


COMMANDS: Final = {
    "emit": CliCommand(
        "raise an event and run its hooks",
        argument("event", "the event; `hookline events` lists them"),
        *EVENT_OPTIONS,
        argument("--session", "the session this belongs to", default="", metavar="ID"),
        PROJECT,
        argument(
            "--dialect",
            "act as an agent of this dialect: --data is its document, and the answer on stdout is in its format",
            type=parse_dialect,
        ),
        flag("--json", "print the outcome as one JSON object"),
        NO_INPUT,
        *VERBOSE_OPTIONS,
        example="""before_tool --tool shell --args '{"command": "ls"}' --json""",
        run=lambda args: run_until_terminated(_emit(args)),
    ),
    "trigger": CliCommand(
        "start one hook by hand, with the event user_triggered",
        argument("hook", "the hook; --list shows those that can be started", nargs="?"),
        flag("--list", "show the hooks that can be started by hand"),
        argument("--input", "what to say to the hook; - reads it from stdin", metavar="TEXT|-"),
        argument("--data", "further fields of the event", metavar="JSON|@FILE|-"),
        *COMMON,
        NO_INPUT,
        *VERBOSE_OPTIONS,
        example='release-notes --input "since v1.4"',
        run=_trigger,
    ),
}
