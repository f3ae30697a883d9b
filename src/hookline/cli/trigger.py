"""`hookline trigger`: start one hook by hand."""

import argparse
import asyncio
import sys
from typing import Final

from hookline.cli._about import place
from hookline.cli._approval import add_no_input, hint, question
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, say, say_json, table
from hookline.cli._payload import fields
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.cli._watching import add_watching, watched, watching
from hookline.config.vocabulary import quoted
from hookline.display import typed
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import Hook
from hookline.model.report import described
from hookline.model.verdict import Outcome, Verdict
from hookline.workspace import Opened

HELP: Final = "start one hook by hand, with the event user_triggered"
EXAMPLE: Final = 'hookline trigger release-notes --input "since v1.4"'

_BLOCKED: Final = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hook", metavar="HOOK", nargs="?", help="the hook; --list shows those that can be started")
    parser.add_argument("--list", action="store_true", help="show the hooks that can be started by hand")
    parser.add_argument("--input", metavar="TEXT|-", help="what to say to the hook; - reads it from stdin")
    parser.add_argument("--data", metavar="JSON|@FILE|-", help="further fields of the event")
    add_project(parser)
    add_json(parser)
    add_no_input(parser)
    add_watching(parser)


def run(args: argparse.Namespace) -> int:
    """Start the hook: 0 when it ran, 2 when it says no."""
    if args.list:
        return _list(args)
    if args.hook is None:
        raise ConfigError("name the hook; `hookline trigger --list` shows those that can be started by hand")
    try:
        return asyncio.run(_trigger(args))
    except asyncio.CancelledError:
        return TERMINATED


def _list(args: argparse.Namespace) -> int:
    project = opened(args)
    rows = [(hook, place(hook, project)) for hook in project.loaded.hooks if _can_be_started(hook)]
    if args.json:
        say_json([{"id": hook.id, "name": hook.name or None, "kind": hook.kind, "file": at} for hook, at in rows])
    elif rows:
        table(("hook", "kind", "file"), [(hook.id, hook.kind, at) for hook, at in rows])
    else:
        say('no hook can be started by hand; one that can says `on = "user_triggered"`')
    return 0


def _can_be_started(hook: Hook) -> bool:
    return EventName.USER_TRIGGERED in hook.on and hook.enabled


async def _trigger(args: argparse.Namespace) -> int:
    end_hooks_with_us()
    said = _input(args)
    data = {**(fields(args.data, "--data") or {}), **said}
    asker = question(no_input=args.no_input)
    project = opened(args, approve=asker, traced=True)
    async with project.engine as engine:
        for problem in engine.problems:
            complain(f"hookline: {problem}")
        hook = _wanted(project, args.hook)
        event = engine.event(EventName.USER_TRIGGERED, {**data, "hook": hook.name or hook.id})
        if asker is not None:
            asker.about(engine.trust, cwd=event.cwd)
        watching(args, engine)
        outcome = await engine.start(hook, event)
        await watched(args, engine, outcome)
        return _report(args, hook, outcome)


def _input(args: argparse.Namespace) -> dict[str, object]:
    if args.input is None:
        return {}
    if args.input != "-":
        return {"input": args.input}
    if args.data == "-":
        raise ConfigError("--input and --data cannot both be read from stdin")
    if sys.stdin is None:
        raise ConfigError("--input is to be read from stdin, which is closed")
    return {"input": sys.stdin.buffer.read().decode("utf-8", "replace")}


def _wanted(project: Opened, name: str) -> Hook:
    """Find the hook, which must be one that expects to be started by a person.

    Raises:
        ConfigError: There is none of this name, it waits for other events, or hooks are switched off.
    """
    hook = hook_named(project, name)
    if EventName.USER_TRIGGERED not in hook.on:
        raise ConfigError(
            f"hook {quoted(hook.id)} waits for {', '.join(hook.on)} and would not know what to do with this; "
            f"`hookline test {typed(hook.id)}` tries it with a sample, and "
            '`on = [..., "user_triggered"]` lets it be started by hand',
            path=hook.source_path,
            line=hook.source_line,
        )
    if not project.engine.registry.has_hook(hook.id):
        raise ConfigError("hooks are switched off (HOOKS_ENABLED, or `enabled` in the settings), so it does not run")
    return hook


def _report(args: argparse.Namespace, hook: Hook, outcome: Outcome) -> int:
    if args.json:
        say_json(described(outcome))
        return _BLOCKED if outcome.blocked else _code(outcome)
    for text in (*outcome.context, *outcome.messages, *outcome.follow_ups):
        say(text, broken=True)
    for verdict in outcome.failures:
        complain(f'hook "{verdict.hook}" failed: {verdict.failure.message if verdict.failure else ""}')
    for skip in outcome.skipped:
        advice = f"; {hint(skip.hook)}" if skip.gate == "trust" else ""
        complain(f'hook "{skip.hook.id}" did not run: {skip.reason}{advice}')
    if outcome.blocked:
        complain(outcome.reason, broken=True)
        return _BLOCKED
    if outcome.verdicts and not (outcome.failures or outcome.context or outcome.messages or outcome.follow_ups):
        say(f'hook "{hook.id}" {_how(outcome.verdicts[0])}')
    return _code(outcome)


def _how(verdict: Verdict) -> str:
    if verdict.job:
        return f"was put into the queue: hookline queue show {verdict.job}"
    return "was not asked: it gave this answer before" if verdict.cached else "ran"


def _code(outcome: Outcome) -> int:
    """A person who starts a hook wants it to run: one that did not, or fell over, is an error."""
    return 1 if outcome.failures or not outcome.verdicts else 0
