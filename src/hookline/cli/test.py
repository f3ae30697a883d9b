"""`hookline test` and `hookline trigger`: try one hook and show what it answered, run the tests beside hooks, or start a hook by hand."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, ExitCode, argument, flag, parse_dialect, parse_events
from hookline.cli._edit_session import SANDBOX
from hookline.cli._output import (
    CellStyle,
    Table,
    TextStyle,
    format_span,
    print_error,
    print_fields,
    print_json,
    print_line,
    render,
    style_word,
)
from hookline.cli._project import (
    EVENT_OPTIONS,
    build_event,
    describe_location,
    describe_usage,
    hook_error,
    load_from_args,
    read_event_options,
    read_object,
    truncate,
)
from hookline.cli._run_hooks import (
    VERBOSE_OPTIONS,
    finish_live_view,
    print_failures,
    redirect_stdout_to_stderr,
    run_until_terminated,
    start_live_view,
)
from hookline.cli._terminal import NO_INPUT, open_prompt
from hookline.config.document import Severity
from hookline.debug.explain import explain
from hookline.dialects import DIALECTS
from hookline.engine import merge
from hookline.engine.engine import Engine
from hookline.engine.runner import Execution
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, Event, EventName
from hookline.model.exchange import Answer, Reply
from hookline.model.hook import Hook, Source
from hookline.model.plan import Plan
from hookline.model.sandbox import Sandbox
from hookline.model.verdict import Outcome, outcome_to_json
from hookline.project import Project
from hookline.replay.hook_tests import run_hook_tests
from hookline.text import quote, shell_quote
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
    "test": CliCommand(
        "run the tests beside a hook; or run one hook for real with a sample event, or your own, and show what it said; "
        "exit 0 when the tests passed or it gave an answer, be it a no, and 1 when one failed or may not run",
        argument("hook", "the hook's id or name", nargs="?"),
        flag("--all", "run the tests of all hooks, [[hook.test]], without effects"),
        flag("--uncontained", "run tests even where this machine cannot contain the processes of hooks"),
        argument("--event", "the event, instead of the hook's first", default="", metavar="E"),
        *EVENT_OPTIONS,
        argument(
            "--as",
            "also show what a host of this dialect would get",
            dest="host",
            type=parse_dialect,
            metavar="DIALECT",
        ),
        SANDBOX,
        *COMMON,
        NO_INPUT,
        *VERBOSE_OPTIONS,
        example="""guard --tool shell --args '{"command": "rm -rf /"}'""",
        run=run,
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
