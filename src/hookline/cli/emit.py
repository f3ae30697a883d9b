"""`hookline emit`: the shell's door to the engine."""

import argparse
import asyncio
from typing import Final

from msgspec.structs import replace

from hookline import wire
from hookline.cli._approval import add_no_input, hint, question
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, say, say_bytes, say_json
from hookline.cli._payload import add_payload, payload
from hookline.cli._project import add_project, project_of
from hookline.cli._watching import add_watching, watched, watching, with_others
from hookline.core.engine import Engine
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.report import described
from hookline.model.session import Session
from hookline.model.verdict import Outcome
from hookline.workspace import load_engine

HELP: Final = "say that a moment has come, and run the hooks that want it"
EXAMPLE: Final = """hookline emit before_tool --tool shell --args '{"command": "ls"}' --json"""

BLOCKED: Final = 2

_HOST: Final = Hook(id="host", kind="host")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("event", metavar="EVENT", help="the event; `hookline events` lists them")
    add_payload(parser)
    parser.add_argument("--session", default="", metavar="ID", help="the session this belongs to")
    add_project(parser)
    parser.add_argument(
        "--dialect",
        choices=sorted(DIALECTS),
        help="speak as a host of this dialect: --data is its document, and the answer on stdout is in its words",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    add_no_input(parser)
    add_watching(parser)


def run(args: argparse.Namespace) -> int:
    """Emit the event: 0 when the operation may go on, 2 when it is blocked."""
    try:
        return asyncio.run(_emit(args))
    except asyncio.CancelledError:
        return TERMINATED


async def _emit(args: argparse.Namespace) -> int:
    end_hooks_with_us()
    data, arguments = payload(args)
    asker = question(no_input=args.no_input)
    async with load_engine(project_of(args), approve=asker) as engine:
        for problem in engine.problems:
            complain(f"hookline: {problem}")
        event = _event(args, engine, data=data, arguments=arguments)
        if asker is not None:
            asker.about(engine.trust, cwd=event.cwd)
        watching(args, engine)
        outcome = with_others(args, engine, event, await engine.handle(event))
        await watched(args, engine, outcome)
        return _report(args, event, outcome)


def _event(
    args: argparse.Namespace, engine: Engine, *, data: dict[str, object] | None, arguments: dict[str, object] | None
) -> Event:
    session = Session(id=args.session)
    if args.dialect is None:
        return engine.event(args.event, data, tool=args.tool, args=arguments, session=session)
    dialect = DIALECTS[args.dialect]
    wanted = engine.resolve(args.event)
    if data is None:
        event = engine.event(wanted, None, tool=args.tool, args=arguments, session=session)
        # said and read again in the host's dialect, its names for tools and arguments become ours
        return replace(dialect.decode_event(dialect.encode_event(event, _HOST).body), cwd=event.cwd)
    event = dialect.decode_event(wire.dump(data))
    native = dialect.SPEC.events.get(event.name, event.name)
    if args.event not in {event.name, native, event.native_name}:
        raise ConfigError(f'--data says the event is "{native}", the call says "{args.event}"')
    return replace(
        event,
        cwd=event.cwd or engine.cwd,
        tool=args.tool or event.tool,
        args=arguments if arguments is not None else event.args,
        session=replace(event.session, id=args.session or event.session.id),
    )


def _report(args: argparse.Namespace, event: Event, outcome: Outcome) -> int:
    if args.json:
        say_json(described(outcome))
    elif args.dialect:
        say_bytes(DIALECTS[args.dialect].encode_outcome(outcome, event).stdout)
    else:
        for text in (*outcome.context, *outcome.messages, *outcome.follow_ups):
            say(text, broken=True)
    if not args.json:
        for verdict in outcome.failures:
            complain(f'hook "{verdict.hook}" failed: {verdict.failure.message if verdict.failure else ""}')
        for skip in outcome.skipped:
            if skip.gate == "trust":
                complain(f'hook "{skip.hook.id}" did not run: {skip.reason}; {hint(skip.hook)}')
    if outcome.blocked:
        complain(outcome.reason, broken=True)
        return BLOCKED
    return 0
