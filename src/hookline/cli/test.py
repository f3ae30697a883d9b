"""`hookline test HOOK`: run one hook for real, and show everything it answered; or run the tests beside hooks."""

import argparse
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._edit_session import SANDBOX
from hookline.cli._output import (
    CellStyle,
    TextStyle,
    format_span,
    print_error,
    print_fields,
    print_json,
    print_line,
    style_word,
)
from hookline.cli._project import (
    EVENT_OPTIONS,
    build_event,
    describe_usage,
    load_from_args,
    parse_dialect,
    parse_events,
    read_event_options,
    truncate,
)
from hookline.cli._run_hooks import VERBOSE_OPTIONS, run_until_terminated, start_live_view
from hookline.cli._terminal import NO_INPUT, open_prompt
from hookline.config.document import Severity
from hookline.debug.explain import explain
from hookline.dialects import DIALECTS
from hookline.engine import merge
from hookline.engine.engine import Engine
from hookline.engine.runner import Execution
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.exchange import Answer, Reply
from hookline.model.hook import Hook, Source
from hookline.model.plan import Plan
from hookline.model.sandbox import Sandbox
from hookline.project import Project
from hookline.replay.hook_tests import run_hook_tests
from hookline.trust.policy import suggest_approval
from hookline.views import find_hook

FAILED: Final = 1
_SHOWN: Final = 200
_STYLES: Final[Mapping[str, CellStyle]] = {
    "hook": TextStyle.BOLD,
    "would not run": TextStyle.WARN,
    "verdict": style_word,
    "failed": TextStyle.BAD,
    "stderr": TextStyle.DIM,
    "exit code": lambda code: TextStyle.NONE if code == "0" else TextStyle.WARN,
}
# gates that keep the hook from being tried; the others are only reported
_HOOK_GATES: Final = frozenset({"trust", "command", "file"})


def run(args: argparse.Namespace) -> int:
    """Try the hook, or run the tests that stand beside it.

    Raises:
        ConfigError: The options contradict each other, or there is no such hook.
    """
    describes_event = bool(args.event or args.data or args.tool or args.args or args.host or args.sandbox)
    if args.all == (args.hook is not None):
        raise ConfigError("name one hook, or give --all to run the tests of all hooks")
    if args.all and describes_event:
        raise ConfigError("--all runs the tests that are defined with hooks, which say themselves what is given")
    if not describes_event:
        project = load_from_args(args)
        if args.all:
            return run_until_terminated(_run_tests(args, project, project.hooks))
        hook = find_hook(project, args.hook)
        if hook.tests:
            return run_until_terminated(_run_tests(args, project, (hook,)))
    return run_until_terminated(_try(args))


async def _run_tests(args: argparse.Namespace, project: Project, hooks: Sequence[Hook]) -> int:
    try:
        results = await run_hook_tests(project, [hook for hook in hooks if hook.tests], uncontained=args.uncontained)
    finally:
        await project.close()
    # a hook that is not loaded has tests that nothing runs
    broken = [problem for problem in project.problems if args.all and problem.severity is Severity.ERROR]
    failed = [result for result in results if not result.passed]
    untested = sum(not hook.tests and hook.source is not Source.BUILTIN for hook in hooks)
    if args.json:
        print_json(
            {
                "passed": len(results) - len(failed),
                "failed": len(failed),
                "untested": untested,
                "problems": [str(problem) for problem in broken],
                "tests": [{**asdict(result), "passed": result.passed} for result in results],
            }
        )
        return FAILED if failed or broken else 0
    for hook, group in groupby(results, key=lambda result: result.hook):
        print_line(hook, marks=[(hook, TextStyle.BOLD)])
        for result in group:
            word, style = ("ok", TextStyle.GOOD) if result.passed else ("failed", TextStyle.BAD)
            title = f"{result.name}: {result.given} -> {result.expected}" if result.given else result.name
            print_line(f"  {word:<6} {title}", marks=[(word, style)])
            for line in result.problems:
                print_line(f"         {line}")
    for problem in broken:
        print_error(str(problem))
    without = f"{untested} {'hook has' if untested == 1 else 'hooks have'} no [[hook.test]]"
    summary = without if untested else "every hook has a test"
    print_line(f"{len(results) - len(failed)} passed, {len(failed)} failed; {summary}")
    return FAILED if failed or broken else 0


async def _try(args: argparse.Namespace) -> int:
    options = read_event_options(args)
    prompt = open_prompt(no_input=args.no_input)
    project = load_from_args(args, approve=prompt)
    async with project.engine as engine:
        hook = find_hook(project, args.hook)
        name = args.event
        wanted = {name, *map(str, parse_events(name))} if name and not name.startswith(CUSTOM_PREFIX) else {name}
        if name and not any(on in wanted or on.partition(":")[0] in wanted for on in hook.on):
            raise ConfigError(f'hook "{hook.id}" is not for {engine.resolve(name)}; it is for {", ".join(hook.on)}')
        event = build_event(project, hook, name or hook.on[0], options)
        if prompt is not None:
            prompt.set_context(engine.trust, cwd=event.cwd)
        objection = engine.trust.reason_denied(hook, cwd=event.cwd)
        if objection and not await engine.trust.request_approval(hook, cwd=event.cwd):
            if args.json:
                print_json({"id": hook.id, "ran": False, "objection": objection})
            print_error(f'hook "{hook.id}" was not run: {objection}; {suggest_approval(hook)}')
            return FAILED
        gates = explain(hook, event, engine=engine).gates
        unmet = [one.reason for one in gates if not one.passed and one.gate not in _HOOK_GATES]
        start_live_view(args, engine)
        # a try uses up no limit and leaves no job behind, also where the hook leads to others
        execution = await _execute(engine, hook, event, args.sandbox)
        await engine.drain()
        answer = None
        if args.host is not None:
            outcome = merge.merge(event, merge.apply_changes(event, [execution.verdict]), [execution.verdict])
            answer = DIALECTS[args.host].encode_outcome(outcome, event)
        if args.json:
            print_json(_to_json(execution, event, unmet, answer, dialect=args.host))
        else:
            fields = _list_fields(execution, event, unmet, answer, dialect=args.host)
            print_fields(fields, column=max(len(label) for label, _ in fields), styles=_STYLES)
        return FAILED if execution.verdict.failure is not None else 0


async def _execute(engine: Engine, hook: Hook, event: Event, sandbox: Sandbox | None) -> Execution:
    runner = engine.runner.for_trial()
    if sandbox is None:
        return await runner.execute_hook_with_metadata(hook, event)
    # approved is the hook as it stands in its file
    vetted = await engine.trust.vet(Plan(((hook,),)), event)
    if vetted.skipped:
        return await runner.execute_hook_with_metadata(hook, event)
    return await runner.execute_vetted(replace(hook, sandbox=sandbox), event, vetted.sealed.get(hook.id))


def _to_json(
    execution: Execution, event: Event, unmet: list[str], answer: Answer | None, *, dialect: str
) -> Mapping[str, object]:
    verdict, reply = execution.verdict, execution.reply
    return {
        "id": execution.hook.id,
        "ran": True,
        "event": {"name": event.name, "tool": event.tool or None, "args": event.args, "data": event.data},
        "would_not_run": unmet,
        "verdict": verdict.decision.word,
        "blocks": verdict.blocks,
        "reason": verdict.reason or None,
        "effects": [{"kind": one.kind, "path": one.path, "value": one.value} for one in verdict.effects],
        "failure": asdict(verdict.failure) if verdict.failure else None,
        "notes": verdict.notes,
        "usage": asdict(verdict.usage) if verdict.usage else None,
        "argv": reply.argv,
        "layers": reply.sandbox,
        **_output_to_json(reply),
        "duration": execution.duration,
        "answer": {"dialect": dialect, **_output_to_json(answer)} if answer else None,
    }


def _output_to_json(output: Reply | Answer) -> dict[str, object]:
    return {"stdout": _decode(output.stdout), "stderr": _decode(output.stderr), "exit_code": output.exit_code}


def _list_fields(
    execution: Execution, event: Event, unmet: list[str], answer: Answer | None, *, dialect: str
) -> list[tuple[str, str]]:
    verdict, reply = execution.verdict, execution.reply
    about = f"tool {event.tool} {_to_text(event.args)}" if event.tool else _to_text(event.data)
    fields = [
        ("hook", f"{execution.hook.id}, dialect {execution.hook.dialect}"),
        ("event", f"{event.name}, {truncate(about, _SHOWN)}"),
        *(("would not run", reason) for reason in unmet),
        ("verdict", verdict.decision.word + (" (blocks)" if verdict.blocks else "")),
        ("reason", verdict.reason),
        *(
            (one.kind, f"{'.'.join(one.path)} = {_to_text(one.value)}" if one.path else _to_text(one.value))
            for one in verdict.effects
        ),
        ("failed", f"{verdict.failure.kind}: {verdict.failure.message}" if verdict.failure else ""),
        *(("note", note) for note in verdict.notes),
        ("stdout", _decode(reply.stdout)),
        ("stderr", _decode(reply.stderr)),
        ("layers", ", ".join(reply.sandbox)),
        ("model", describe_usage(verdict.usage) if verdict.usage else ""),
        ("exit code", str(reply.exit_code) if reply.argv else ""),
        ("took", format_span(execution.duration)),
    ]
    if answer is not None:
        fields += [
            (f"{dialect} gets", _decode(answer.stdout) or "nothing on stdout"),
            ("", _decode(answer.stderr)),
            ("", f"exit code {answer.exit_code}"),
        ]
    return fields


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json_codec.dump(value).decode()


COMMAND: Final = CliCommand(
    "run the tests beside a hook; or run one hook for real with a sample event, or your own, and show what it said; "
    "exit 0 when the tests passed or it gave an answer, be it a no, and 1 when one failed or may not run",
    argument("hook", "the hook's id or name", nargs="?"),
    flag("--all", "run the tests of all hooks, [[hook.test]], without effects"),
    flag("--uncontained", "run tests even where this machine cannot contain the processes of hooks"),
    argument("--event", "the event, instead of the hook's first", default="", metavar="E"),
    *EVENT_OPTIONS,
    argument(
        "--as", "also show what a host of this dialect would get", dest="host", type=parse_dialect, metavar="DIALECT"
    ),
    SANDBOX,
    *COMMON,
    NO_INPUT,
    *VERBOSE_OPTIONS,
    example="""guard --tool shell --args '{"command": "rm -rf /"}'""",
    run=run,
)
