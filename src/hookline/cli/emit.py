"""`hookline emit`: raise an event from a shell."""

import argparse
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.cli._command import PROJECT, CliCommand, ExitCode, argument, flag, parse_dialect
from hookline.cli._output import print_bytes, print_error, print_json, print_line
from hookline.cli._project import EVENT_OPTIONS, EventArgs, load_from_args, read_event_options
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
from hookline.model.event import Event, Session
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Outcome, outcome_to_json

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


COMMAND: Final = CliCommand(
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
)
