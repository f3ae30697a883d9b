"""`hookline test HOOK`: run one hook for real, and show everything it said."""

import argparse
import asyncio
from collections.abc import Mapping
from typing import Final

from hookline import wire
from hookline.cli._about import SPECS, cut, module_file
from hookline.cli._approval import add_no_input, hint, question
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, say, say_json
from hookline.cli._payload import add_payload, payload
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.cli._samples import Given, given_event
from hookline.cli._times import span
from hookline.cli._watching import add_watching, watching
from hookline.core import merge
from hookline.core.runner import Execution
from hookline.debug.explain import Explanation, explain
from hookline.dialects import DIALECTS
from hookline.model.event import Event
from hookline.model.exchange import Answer
from hookline.model.hook import Hook

HELP: Final = (
    "run one hook for real with a sample event, or your own, and show what it said; "
    "exit 0 when it gave an answer, be it a no, and 1 when it failed or may not run"
)
EXAMPLE: Final = """hookline test guard --tool shell --args '{"command": "rm -rf /"}'"""

FAILED: Final = 1
_SHOWN: Final = 200
# gates that also keep a hook from being tried; what the others say of an event is said, and the hook is tried
_OF_THE_HOOK: Final = frozenset({"trust", "command", "file"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hook", metavar="HOOK", help="the hook's id or name")
    parser.add_argument("--event", default="", metavar="E", help="the event, instead of the hook's first")
    add_payload(parser)
    parser.add_argument(
        "--as", dest="host", choices=sorted(DIALECTS), help="also show what a host of this dialect would get"
    )
    add_project(parser)
    add_json(parser)
    add_no_input(parser)
    add_watching(parser)


def run(args: argparse.Namespace) -> int:
    """Try the hook."""
    try:
        return asyncio.run(_try(args))
    except asyncio.CancelledError:
        return TERMINATED


async def _try(args: argparse.Namespace) -> int:
    end_hooks_with_us()
    data, arguments = payload(args)
    asker = question(no_input=args.no_input)
    project = opened(args, approve=asker)
    async with project.engine as engine:
        hook = hook_named(project, args.hook)
        event = given_event(project, hook, args.event or hook.on[0], Given(tool=args.tool, data=data, args=arguments))
        if asker is not None:
            asker.about(engine.trust, cwd=event.cwd)
        objection = engine.trust.objection(hook, cwd=event.cwd)
        if objection and not await engine.trust.request_approval(hook, cwd=event.cwd):
            return _not_run(args, hook, objection)
        explanation = explain(hook, event, engine=engine, specs=SPECS, module_file=module_file)
        watching(args, engine)
        # a try uses up no limit and leaves no job behind, also where the hook leads to others
        engine.runner.doorkeeper = engine.runner.enqueue = None
        execution = await engine.runner.execute_hook_with_metadata(hook, event)
        await engine.drain()
        if args.json:
            say_json(_described(args, execution, event, explanation))
        else:
            _tell(args, execution, event, explanation)
        return FAILED if execution.verdict.failure is not None else 0


def _not_run(args: argparse.Namespace, hook: Hook, objection: str) -> int:
    if args.json:
        say_json({"id": hook.id, "ran": False, "objection": objection})
    complain(f'hook "{hook.id}" was not run: {objection}; {hint(hook)}')
    return FAILED


def _answer(args: argparse.Namespace, execution: Execution, event: Event) -> Answer | None:
    if args.host is None:
        return None
    after = merge.carry(event, [execution.verdict])
    return DIALECTS[args.host].encode_outcome(merge.merge(event, after, [execution.verdict]), event)


def _unmet(explanation: Explanation) -> list[str]:
    return [one.reason for one in explanation.gates if not one.passed and one.gate not in _OF_THE_HOOK]


def _described(
    args: argparse.Namespace, execution: Execution, event: Event, explanation: Explanation
) -> Mapping[str, object]:
    verdict, reply = execution.verdict, execution.reply
    answer = _answer(args, execution, event)
    return {
        "id": execution.hook.id,
        "ran": True,
        "event": {"name": event.name, "tool": event.tool or None, "args": event.args, "data": event.data},
        "would_not_run": _unmet(explanation),
        "verdict": verdict.decision.word,
        "blocks": verdict.blocks,
        "reason": verdict.reason or None,
        "effects": [{"kind": one.kind, "path": one.path, "value": one.value} for one in verdict.effects],
        "failure": {"kind": verdict.failure.kind, "message": verdict.failure.message} if verdict.failure else None,
        "notes": verdict.notes,
        "argv": reply.argv,
        "stdout": reply.stdout.decode("utf-8", "replace"),
        "stderr": reply.stderr.decode("utf-8", "replace"),
        "exit_code": reply.exit_code,
        "duration": execution.duration,
        "answer": {
            "dialect": args.host,
            "stdout": answer.stdout.decode("utf-8", "replace"),
            "stderr": answer.stderr.decode("utf-8", "replace"),
            "exit_code": answer.exit_code,
        }
        if answer
        else None,
    }


def _tell(args: argparse.Namespace, execution: Execution, event: Event, explanation: Explanation) -> None:
    verdict, reply = execution.verdict, execution.reply
    about = f"tool {event.tool} {wire.dump(event.args).decode()}" if event.tool else wire.dump(event.data).decode()
    lines = [
        ("hook", f"{execution.hook.id}, dialect {execution.hook.dialect}"),
        ("event", f"{event.name}, {cut(about, _SHOWN)}"),
        *(("would not run", reason) for reason in _unmet(explanation)),
        ("verdict", verdict.decision.word + (" (blocks)" if verdict.blocks else "")),
        ("reason", verdict.reason),
        *((effect.kind, _effect(effect.path, effect.value)) for effect in verdict.effects),
        ("failed", f"{verdict.failure.kind}: {verdict.failure.message}" if verdict.failure else ""),
        *(("note", note) for note in verdict.notes),
        ("stdout", reply.stdout.decode("utf-8", "replace")),
        ("stderr", reply.stderr.decode("utf-8", "replace")),
        ("exit code", str(reply.exit_code) if reply.argv else ""),
        ("took", span(execution.duration)),
    ]
    answer = _answer(args, execution, event)
    if answer is not None:
        lines.append((f"{args.host} gets", answer.stdout.decode("utf-8", "replace") or "nothing on stdout"))
        lines.append(("", answer.stderr.decode("utf-8", "replace")))
        lines.append(("", f"exit code {answer.exit_code}"))
    _columns(lines)


def _effect(path: tuple[str, ...], value: object) -> str:
    text = value if isinstance(value, str) else wire.dump(value).decode()
    return f"{'.'.join(path)} = {text}" if path else text


def _columns(lines: list[tuple[str, str]]) -> None:
    width = max(len(label) for label, _ in lines)
    for label, text in lines:
        for place, line in enumerate(text.splitlines()):
            say(f"{label if place == 0 else '':<{width}}  {line}")
