"""Lint hooks: report those that cannot start, can never run, or hardly do what was meant."""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hookline import caller_context
from hookline.conditions.compiler import PolicyCondition
from hookline.debug.explain import resolve_program, uses_shell
from hookline.debug.samples import sample
from hookline.dialects import DIALECTS
from hookline.effects import event_paths
from hookline.effects.patterns import find_unlikely_words
from hookline.effects.tools import find_effects
from hookline.engine.admission import is_cached
from hookline.engine.engine import Engine
from hookline.engine.planner import find_misspelt_names
from hookline.errors import ConfigError, StoreError
from hookline.kinds.command.command import can_run_warm
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EVENTS, Event, EventName, EventSpec
from hookline.model.hook import DECISIONS, OWN_DIALECT, TEXT_TARGETS, Hook, Layer, OnError
from hookline.model.language_models import find_model_settings
from hookline.model.names import (
    alternatives,
    find_unknown_tools,
    is_mcp_name,
    is_word,
    known_tools,
)
from hookline.model.plan import EFFECT_GATES, Gate
from hookline.model.requirements import FACTS, NOTES
from hookline.model.templates import EFFECTS, CallFacts, body_texts, find_names, template_values
from hookline.model.templates import FACTS as GATHERED
from hookline.requirements import find_missing
from hookline.text import find_closest, shell_quote
from hookline.trust.reachability import analyse_reach

Weight = Literal["error", "warning", "note"]

_ANYTHING: Final = frozenset({"", "*", ".*"})
_EVERYWHERE: Final = frozenset({Layer.MANAGED, Layer.USER})
_MCP: Final = "mcp__"
_BUILTIN: Final = "builtin:"
_NEARLY_THE_SAME: Final = 0.8
# gates that a scheduled event cannot pass
_NARROW: Final = frozenset({Gate.MATCHER, Gate.FILES, *EFFECT_GATES})
_RETRY_AFTER: Final = Hook(id="", kind="none").retry_after
# keys that keep a hook from running for some events
_LIMITS: Final = ("once", "per_minute", "cooldown", "debounce")


class LintFinding(Struct, frozen=True):
    """A finding for the author of a hook."""

    hook: Hook
    weight: Weight
    message: str


def lint_hooks(hooks: Iterable[Hook], *, engine: Engine) -> Iterator[LintFinding]:
    """Yield the findings of all enabled hooks."""
    for hook in hooks:
        # the loader has reported invalid hooks
        if hook.enabled and not hook.invalid:
            for check in CHECKS:
                for weight, message in check(hook, engine):
                    yield LintFinding(hook, weight, f'hook "{hook.id}" {message}')


def parse_event_name(event: str) -> EventName:
    """Return the event of an entry of `on`, which may be `custom:NAME`."""
    return EventName(event.partition(":")[0])


def _check_start(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    cwd = engine.cwd
    found = resolve_program(hook, Event(name=parse_event_name(hook.on[0]), cwd=cwd))
    if not found.trouble or engine.runner.refusal(hook):
        return
    # a user's own hook may be meant for other projects, which have the script
    if hook.layer in _EVERYWHERE and (found.script or found.program).startswith(f"{cwd}/"):
        yield "note", f"cannot start in this project: {found.trouble}"
    else:
        yield "error", f"cannot start: {found.trouble}"


def _check_shell_programs(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report missing programs of a shell line, which the shell would only report when it runs them."""
    if hook.kind != "command" or not uses_shell(hook):
        return
    started = analyse_reach(hook, engine.cwd).started
    for path in started.files:
        # `_check_start` has checked the first one
        is_other = path in hook.command and not hook.command.startswith(path)
        if path.startswith("/") and is_other and not Path(path).exists():
            yield "error", f"cannot start: {path} does not exist"
    search = hook.env.get("PATH") or caller_context.environ().get("PATH", os.defpath)
    for name in started.programs:
        # not if the line itself checks for the program
        is_asked = re.search(rf"\b(?:command -v|which|type|hash)\b[^;|&]*{re.escape(name)}", hook.command)
        if not is_asked and shutil.which(name, path=search) is None:
            yield "warning", f'names a program that is not on PATH: "{name}"'


def _check_matcher(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report matchers that look at nothing, or that name tools which no agent has."""
    subjects = {spec.subject for spec in _get_specs(hook)}
    if hook.matcher in _ANYTHING:
        return
    if not any(subjects):
        yield "warning", f"can never run: {_join(hook.on)} has nothing that a matcher could look at"
    if subjects != {"tool"}:
        return
    # every name of every tool by its lower-case form; the spelling of the hook's own dialect comes first
    spec = DIALECTS[hook.dialect].SPEC
    spelled = [name for names in spec.tools.values() for name in names]
    names = {**known_tools(), **{name.lower(): name for name in reversed(spelled)}}
    words = [word.removeprefix(_BUILTIN) for word in alternatives(hook.matcher)]
    if not all(map(is_word, words)):
        # a pattern counts as unknown if it matches no tool
        calls = (Event(name=EventName.BEFORE_TOOL, tool=native) for native in names.values())
        gates = (result for call in calls for result in engine.planner.gates(hook, call))
        is_known = _MCP in hook.matcher.lower() or any(one.gate is Gate.MATCHER and one.passed for one in gates)
        unknown = [] if is_known else [hook.matcher]
    elif spec.matcher is MatcherStyle.SEARCH:
        unknown = [word for word in words if not any(word.lower() in name for name in names) and not is_mcp_name(word)]
    else:
        unknown = find_unknown_tools(hook.matcher)
    for word in unknown:
        near = find_closest(word, names, cutoff=_NEARLY_THE_SAME)
        # an agent may have tools of its own, so a name that resembles no known one may be right
        if near:
            yield "warning", f'waits for a tool "{word}", and there is none (did you mean "{names[near]}"?)'
        else:
            yield "note", f'waits for a tool "{word}", which none of the systems we know has'


def _check_commands(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report patterns of commands that are probably misspelt, and would never match."""
    for pattern in hook.runs:
        if unlikely := find_unlikely_words(pattern):
            yield "warning", f'has runs = ["{pattern}"]: {unlikely}'


def _check_paths(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    events = [sample(event, hook=hook, fits=event_paths.list_event_paths) for event in hook.on]
    if hook.files and not any(map(event_paths.list_event_paths, events)):
        yield "warning", f"can never run: it has `files`, and {_join(hook.on)} names no file"
    for kind, done in _DONE.items():

        def has_effect(event: Event, kind: str = kind) -> bool:
            effects = find_effects(event)
            return bool(getattr(effects, kind)) or kind in effects.unknown

        if getattr(hook, kind) and not any(has_effect(sample(event, hook=hook, fits=has_effect)) for event in hook.on):
            yield "warning", f"can never run: it has `{kind}`, and nothing is {done} at {_join(hook.on)}"


_DONE: Final = {"writes": "written", "deletes": "deleted", "reads": "read", "runs": "run", "urls": "fetched"}
# events that are too late for decisions
_TOO_LATE: Final = frozenset({EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.AFTER_MODEL})
# events at which an agent asks the user, so that `allow` has an effect
_PERMITS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})


def _check_decision(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report decisions of a rule or a judge at events that ignore them, with what is possible there."""
    decision = next((name for name in (*DECISIONS, "judge") if getattr(hook, name)), "")
    if not decision:
        return
    can_decide = [
        event in _PERMITS if decision == "allow" else EVENTS[event].can_block and event not in _TOO_LATE
        for event in map(parse_event_name, hook.on)
    ]
    useless = [event for event, can in zip(hook.on, can_decide, strict=True) if not can]
    if decision == "allow":
        advice = f"the person is asked at {_join(sorted(_PERMITS))} only"
    elif any(parse_event_name(event) in _TOO_LATE for event in useless):
        advice = "it is done by then; `context` tells the model and `tell` the person, and before_tool decides in time"
    else:
        advice = "nothing can be stopped there; `context` tells the model and `tell` the person"
    if useless:
        weight: Weight = "error" if not any(can_decide) else "warning"
        yield weight, f"has `{decision}`, which means nothing at {_join(useless)}: {advice}"


def _check_templates(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report templates that no event of the hook can fill."""
    events = [parse_event_name(event) for event in hook.on]
    known: dict[str, object] = {GATHERED: {**FACTS, NOTES: ()}}
    facts = CallFacts(files=("/",), effects=dict.fromkeys(_OF_EFFECTS))
    for event in events:
        known |= dict.fromkeys(EVENTS[event].fields)
        known |= template_values(sample(event, hook=hook, fits=event_paths.list_event_paths), facts)
    run = " ".join((hook.command, *hook.args)) if hook.dialect == OWN_DIALECT else ""
    body, arguments = (" ".join(body_texts(value)) for value in (hook.body, hook.arguments))
    texts = {target.key: getattr(hook, field) for field, target in TEXT_TARGETS.items()}
    for key, text in {"run": run, "body": body, "arguments": arguments, **texts, **hook.actions}.items():
        for path in find_names(text) if isinstance(text, str) else ():
            name = ".".join(path)
            # the fields of a value if they are fixed
            words: Iterable[str] | None = None
            if len(path) > 1 and path[0] in _FIXED:
                found = known.get(path[0])
                words = _OF_FILES if path[0] == "file" else found if isinstance(found, Mapping) else None
            wrong = path[0] not in known or (words is not None and path[1] not in words)
            # a custom event may have any field
            if wrong and (EventName.CUSTOM not in events or path[0] in known):
                candidates = [*known, *(f"{path[0]}.{word}" for word in words or ()), "file.path", "args.command"]
                # the name of an argument alone is what people write first
                usual = next((one for one in ("args.command", "file.path") if one.endswith(f".{name}")), "")
                near = usual or find_closest(name, candidates, cutoff=_NEARLY_THE_SAME)
                hint = f' (did you mean "{near}"?)' if near else ""
                yield "warning", f"names {{{{{name}}}}} in `{key}`, and {_join(hook.on)} has no such value{hint}"


_OF_EFFECTS: Final = (*EFFECT_GATES, "unknown")
_OF_FILES: Final = ("path", "content", "changes")
_FIXED: Final = frozenset({"file", EFFECTS, GATHERED, "event", "session"})


def _check_keys(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report keys that mean nothing, or not what was meant, beside other keys of the hook."""
    blocks = hook.on_error is OnError.BLOCK
    limits = [f"`{name}`" for name in _LIMITS if getattr(hook, name)]
    if hook.prompt and any(event in _PERMITS for event in hook.on):
        yield "note", "has `ask`, which gives the agent something to do; to ask the person first, write `confirm`"
    if hook.kind not in {"rule", "judge"} and blocks and not any(spec.can_block for spec in _get_specs(hook)):
        yield "warning", f'has on_error "block", and {_join(hook.on)} cannot be blocked'
    if limits and blocks:
        yield "warning", f'has on_error "block", and {_join(limits)}: what it is not asked about is not blocked'
    if hook.cache is not None and not is_cached(hook):
        why = "in the background" if hook.background else "by way of other hooks"
        yield "warning", f"has `cache`, which means nothing here: what it does, it does {why}, each time"
    elif hook.cache is not None and hook.kind in {"ask_agent", "rule"}:
        yield "warning", "has `cache`, which saves nothing: to fill in a text takes no time, and one kept grows old"
    budget = hook.budget
    if budget is not None and not budget.in_tokens and hook.model.startswith("ollama:"):
        prices = find_model_settings(hook.model, engine.settings.models)
        if not (prices.input or prices.output):
            text = f'`{hook.model}` has no price, so it never ends: write "100k tokens/day", or set a price in your settings'
            yield "warning", f"has a budget in money, and {text}"
    if hook.background and blocks:
        text = "and runs in the background: by then the event is answered, so it blocks nothing"
        yield "warning", f'has on_error "block", {text}'
    if hook.retry_after != _RETRY_AFTER and not hook.breaker:
        yield "warning", "has `retry_after`, which means nothing without `breaker`: it never pauses"


def _check_schedule(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report hooks whose schedule never starts them."""
    if not hook.schedule:
        if EventName.SCHEDULED in hook.on:
            yield "warning", "waits for scheduled, and has no `schedule`: `hookline watch` never starts it"
        return
    skipped = engine.planner.plan_single(hook, sample(EventName.SCHEDULED, hook=hook)).skipped
    # `_check_paths` reports these
    reported = {Gate.FILES, *EFFECT_GATES} if hook.on == (EventName.SCHEDULED,) else set()
    for skip in skipped:
        if skip.gate in _NARROW - reported:
            yield "warning", f"is never started by its `schedule`, which has no tool and no file: {skip.reason}"


def _check_raised_event(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    raised = hook.raises
    if not raised or engine.runner.refusal(hook):
        return
    get = engine.registry.get_hooks_for_event
    listening = {one.id for one in (*get(raised), *get(EventName.CUSTOM))}
    if hook.observe:
        yield "warning", f"is only observed, so it never raises {raised}"
    elif hook.id in listening:
        yield "warning", f"raises {raised}, which it runs at itself: it does not run again, and others run twice"
    elif not listening:
        yield "note", f"raises {raised}, and no hook runs at that"


def _check_condition_names(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report misspelled names in a condition; events may have fields of their own, so others are not reported."""
    # conditions in full CEL expose no names, and the loader has reported syntax errors
    with suppress(ConfigError):
        names = PolicyCondition(hook.condition).names if hook.condition else frozenset()
        for name, near in find_misspelt_names(names):
            yield "warning", f'has an `if` that asks for "{name}", and no event has that (did you mean "{near}"?)'


def _check_names(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report other hooks that the hook names in vain; the loader has reported missing steps."""
    names = engine.planner.names()
    for word in ("after", "before"):
        for name in getattr(hook, word):
            # not if all hooks are switched off, as then none is known
            if names.find(name, by=hook) is None and engine.registry.has_hook(hook.id):
                yield "warning", f"is to run {word} one that does not exist: {names.describe_missing(name, by=hook)}"
    for name in hook.steps:
        step = names.find(name, by=hook)
        if step is not None and not step.enabled:
            yield "warning", f'does without its step "{name}", which is switched off'
        elif step is not None and step.background:
            yield "note", f'does not wait for its step "{name}", which runs in the background'


def _check_dialect(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    spec = DIALECTS[hook.dialect].SPEC
    foreign = [event for event in hook.on if parse_event_name(event) not in spec.events]
    if foreign:
        yield "note", f"gets {_join(foreign)} under our name: {spec.title} has no name for it"


def _check_approval(hook: Hook, engine: Engine) -> Iterator[tuple[Weight, str]]:
    # `hookline check` reports unreadable approvals once
    with suppress(StoreError):
        objection = engine.trust.reason_denied(hook, cwd=engine.cwd)
        if objection:
            # an unapproved guard is an error, so that a check in CI fails
            weight: Weight = "error" if engine.runner.fails_closed(hook) else "note"
            look = f"look at it with `hookline trust show {shell_quote(hook.id)}`"
            yield weight, f"does not run yet: {objection}; {look}"
        # checking needs has effects, which an unapproved hook must not cause
        elif hook.needs is not None and (missing := asyncio.run(find_missing(hook, engine.cwd))):
            yield "warning", f"cannot run now: {missing}"


def _check_process(hook: Hook, _engine: Engine) -> Iterator[tuple[Weight, str]]:
    """Report ways to run a command that its kind does not have."""
    if hook.persistent and hook.kind != "command":
        yield "warning", f"is persistent, which only commands can be; its kind is {hook.kind}"
    if hook.warm and hook.persistent:
        yield "warning", "is warm and persistent: a command that stays is started once anyway"
    elif hook.warm and (hook.kind != "command" or not can_run_warm(hook)):
        yield "warning", "is warm, which only a command that runs a Python script can be; it is started as others are"


def _get_specs(hook: Hook) -> list[EventSpec]:
    return [EVENTS[parse_event_name(event)] for event in hook.on]


def _join(names: Iterable[str]) -> str:
    return " or ".join(names)


# A new check is a function and a row here.
CHECKS: Final[Sequence[Callable[[Hook, Engine], Iterator[tuple[Weight, str]]]]] = (
    *(_check_start, _check_matcher, _check_commands, _check_paths, _check_condition_names, _check_decision),
    *(_check_templates, _check_keys, _check_names, _check_schedule, _check_raised_event, _check_dialect),
    *(_check_approval, _check_shell_programs, _check_process),
)
