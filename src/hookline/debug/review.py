"""What only shows when a hook is seen as a whole: that it cannot start, can never run, or hardly does what was meant."""

import asyncio
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, Literal

from msgspec import Struct

from hookline.core import paths
from hookline.core.caching import is_cached
from hookline.core.conditions.condition import compile_condition
from hookline.core.effects.tools import effects_of
from hookline.core.engine import Engine
from hookline.debug.explain import Asked, ModuleFile, Specs, found_program
from hookline.debug.samples import sample
from hookline.display import typed
from hookline.errors import ConfigError, StoreError
from hookline.kinds.command import may_be_warm
from hookline.model.context import context_of
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EVENTS, Event, EventName, EventSpec
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.plan import OF_EFFECTS, Gate
from hookline.needs import find_missing

Weight = Literal["error", "warning", "note"]

_ANYTHING: Final = frozenset({"", "*", ".*"})
_EVERYWHERE: Final = frozenset({Layer.MANAGED, Layer.USER})
_MCP: Final = "mcp__"
_BUILTIN: Final = "builtin:"
_WORD: Final = re.compile(r"[\w-]+")
_NEARLY_THE_SAME: Final = 0.8
# what the clock has nothing to show to
_NARROW: Final = frozenset({Gate.MATCHER, Gate.FILES, *OF_EFFECTS})
_RETRY_AFTER: Final = Hook(id="", kind="none").retry_after
# what keeps a hook from being asked, though all is well with it
_LIMITS: Final = ("once", "per_minute", "cooldown", "debounce")


class Finding(Struct, frozen=True):
    """One thing to tell the person who wrote a hook."""

    hook: Hook
    weight: Weight
    message: str


class Reviewed(Struct, frozen=True, kw_only=True):
    """What a check looks at: one hook, and what it will meet."""

    hook: Hook
    engine: Engine
    specs: Specs
    module_file: ModuleFile | None = None

    @property
    def events(self) -> tuple[EventSpec, ...]:
        """What may happen at the events of the hook."""
        return tuple(EVENTS[event_name(event)] for event in self.hook.on)


Check = Callable[[Reviewed], Iterator[tuple[Weight, str]]]


def review(
    hooks: Iterable[Hook], *, engine: Engine, specs: Specs, module_file: ModuleFile | None = None
) -> Iterator[Finding]:
    """Look at hooks as a whole; one that is switched off does no harm. For `module_file` see `explain`."""
    for hook in hooks:
        if hook.enabled:
            seen = Reviewed(hook=hook, engine=engine, specs=specs, module_file=module_file)
            for check in CHECKS:
                for weight, message in check(seen):
                    yield Finding(hook, weight, f'hook "{hook.id}" {message}')


def event_name(event: str) -> EventName:
    """Give the event of a hook's `on`, which may be one custom event."""
    return EventName(event.partition(":")[0])


def _starts(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    cwd = seen.engine.cwd
    event = Event(name=event_name(hook.on[0]), cwd=cwd)
    found = found_program(
        Asked(hook=hook, event=event, engine=seen.engine, specs=seen.specs, module_file=seen.module_file)
    )
    if not found.trouble or seen.engine.runner.refusal(hook):
        return
    # a person's own hook may be meant for other projects, which have the script it names
    if hook.layer in _EVERYWHERE and (found.script or found.program).startswith(f"{cwd}/"):
        yield "note", f"cannot start in this project: {found.trouble}"
    else:
        yield "error", f"cannot start: {found.trouble}"


def _has_a_subject(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.matcher not in _ANYTHING and not any(spec.subject for spec in seen.events):
        yield "warning", f"can never run: {_listed(hook.on)} has nothing that a matcher could look at"


def _knows_a_tool(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.matcher in _ANYTHING or any(spec.subject != "tool" for spec in seen.events):
        return
    names = _tool_names(seen)
    for word in _unknown_tools(seen, names):
        near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=_NEARLY_THE_SAME)
        # an agent may have tools of its own, so a name that is like none we know is no slip
        if near:
            yield "warning", f'waits for a tool "{word}", and there is none (did you mean "{names[near[0]]}"?)'
        else:
            yield "note", f'waits for a tool "{word}", which none of the systems we know has'


def _unknown_tools(seen: Reviewed, names: Mapping[str, str]) -> list[str]:
    """Give the names in a matcher that no tool has; a pattern counts as one, and one that fits any tool is known."""
    matcher = seen.hook.matcher
    words = [word.strip().removeprefix(_BUILTIN) for word in matcher.split("|")]
    if all(_WORD.fullmatch(word) for word in words):
        spec = seen.specs.get(seen.hook.dialect)
        searched = spec is not None and spec.matcher is MatcherStyle.SEARCH
        known = (lambda word: any(word in name for name in names)) if searched else names.__contains__
        return [word for word in words if not known(word.lower()) and not word.startswith(_MCP)]
    fits = (_matches(seen, native) for native in names.values())
    return [] if _MCP in matcher.lower() or any(fits) else [matcher]


def _matches(seen: Reviewed, name: str) -> bool:
    results = seen.engine.planner.gates(seen.hook, Event(name=EventName.BEFORE_TOOL, tool=name))
    return any(result.gate is Gate.MATCHER and result.passed for result in results)


def _tool_names(seen: Reviewed) -> dict[str, str]:
    """Give every name of every tool, by the same in small letters; how the hook's own system spells it comes first."""
    own = seen.specs.get(seen.hook.dialect)
    specs = [*([own] if own else []), *seen.specs.values()]
    natives = [name for spec in specs for spelled in spec.tools.values() for name in spelled]
    names: dict[str, str] = {}
    for name in (*natives, *(tool for spec in specs for tool in spec.tools)):
        names.setdefault(name.lower(), name)
    return names


def _has_paths(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    events = [sample(event, hook=hook, fits=paths.named) for event in hook.on]
    if hook.files and not any(map(paths.named, events)):
        yield "warning", f"can never run: it has `files`, and {_listed(hook.on)} names no file"
    for kind, done in _DONE.items():
        does = partial(_does, kind)
        if getattr(hook, kind) and not any(does(sample(event, hook=hook, fits=does)) for event in hook.on):
            yield "warning", f"can never run: it has `{kind}`, and nothing is {done} at {_listed(hook.on)}"


_DONE: Final = {"writes": "written", "deletes": "deleted", "reads": "read", "runs": "run", "urls": "fetched"}


def _does(kind: str, event: Event) -> bool:
    """Say whether a call may have such an effect."""
    effects = effects_of(event)
    return bool(getattr(effects, kind)) or kind in effects.vague


def _can_block(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.on_error is OnError.BLOCK and not any(spec.can_block for spec in seen.events):
        yield "warning", f'has on_error "block", and {_listed(hook.on)} cannot be blocked'


def _is_asked(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    """Point out guards that are not asked beyond their own limits."""
    hook = seen.hook
    limits = [f"`{name}`" for name in _LIMITS if getattr(hook, name)]
    if limits and hook.on_error is OnError.BLOCK:
        yield "warning", f'has on_error "block", and {_listed(limits)}: what it is not asked about is not blocked'


def _can_be_kept(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.cache is not None and not is_cached(hook):
        why = "in the background" if hook.background else "by way of other hooks"
        yield "warning", f"has `cache`, which means nothing here: what it does, it does {why}, each time"
    elif hook.cache is not None and hook.prompt:
        yield "warning", "has `cache`, which saves nothing: to fill in a prompt takes no time, and one kept grows old"


def _is_waited_for(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    if seen.hook.background and seen.hook.on_error is OnError.BLOCK:
        yield (
            "warning",
            'has on_error "block", and runs in the background: by then the event is answered, so it blocks nothing',
        )


def _ever_pauses(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    if seen.hook.retry_after != _RETRY_AFTER and not seen.hook.breaker:
        yield "warning", "has `retry_after`, which means nothing without `breaker`: it never pauses"


def _has_its_time(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    """Point at hooks that wait for the clock in vain."""
    hook = seen.hook
    if not hook.schedule:
        if EventName.SCHEDULED in hook.on:
            yield "warning", "waits for scheduled, and has no `schedule`: `hookline watch` never starts it"
        return
    skipped = seen.engine.planner.only(hook, sample(EventName.SCHEDULED, hook=hook)).skipped
    # of files that no event of the hook names, another check tells
    told = {Gate.FILES, *OF_EFFECTS} if hook.on == (EventName.SCHEDULED,) else set()
    for skip in skipped:
        if skip.gate in _NARROW - told:
            yield "warning", f"is never started by its `schedule`, which has no tool and no file: {skip.reason}"


def _is_heard(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook, raised = seen.hook, seen.hook.raises
    if not raised or seen.engine.runner.refusal(hook):
        return
    get = seen.engine.registry.get_hooks_for_event
    listening = {one.id for one in (*get(raised), *get(EventName.CUSTOM))}
    if hook.observe:
        yield "warning", f"is only observed, so it never raises {raised}"
    elif hook.id in listening:
        yield "warning", f"raises {raised}, which it runs at itself: it does not run again, and others run twice"
    elif not listening:
        yield "note", f"raises {raised}, and no hook runs at that"


def _asks_for_what_is_there(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    """Point at slips in a condition; what else an event has is up to whoever sends it."""
    hook = seen.hook
    # what only all of CEL reads tells no names, and what nobody reads was told when it was loaded
    with suppress(ConfigError):
        names = compile_condition(hook.condition).names if hook.condition else frozenset()
        known = {field for spec in EVENTS.values() for field in spec.fields}
        known.update(*(context_of(sample(event, hook=hook, fits=paths.named), effects={}) for event in hook.on))
        for name in sorted(names - known):
            near = difflib.get_close_matches(name, known, n=1, cutoff=_NEARLY_THE_SAME)
            if near:
                yield (
                    "warning",
                    f'has an `if` that asks for "{name}", and no event has that (did you mean "{near[0]}"?)',
                )


def _knows_the_others(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    names = seen.engine.planner.names()
    for word in ("after", "before"):
        for name in getattr(seen.hook, word):
            # where all hooks are switched off none is known, and that is said elsewhere
            if names.find(name, by=seen.hook) is None and seen.engine.registry.has_hook(seen.hook.id):
                missing = names.missing(name, by=seen.hook)
                yield "warning", f"is to run {word} one that does not exist: {missing}"


def _has_all_its_steps(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    """Point at steps that are left out each time; those that nobody has were told when the hook was loaded."""
    names = seen.engine.planner.names()
    for name in seen.hook.steps:
        step = names.find(name, by=seen.hook)
        if step is not None and not step.enabled:
            yield "warning", f'does without its step "{name}", which is switched off'
        elif step is not None and step.background:
            yield "note", f'does not wait for its step "{name}", which runs in the background'


def _said_in_its_dialect(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    spec = seen.specs.get(seen.hook.dialect)
    foreign = [event for event in seen.hook.on if spec and event_name(event) not in spec.events]
    if spec and foreign:
        yield "note", f"gets {_listed(foreign)} under our name: {spec.title} has no name for it"


def _is_approved(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    # approvals that cannot be read are one problem, not one of each hook
    with suppress(StoreError):
        objection = seen.engine.trust.objection(seen.hook, cwd=seen.engine.cwd)
        if objection:
            yield "note", f"does not run yet: {objection}; look at it with `hookline trust show {typed(seen.hook.id)}`"


def _has_what_it_needs(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.needs is None:
        return
    # to look has effects, and nobody who was not approved has any
    with suppress(StoreError):
        if not seen.engine.trust.objection(hook, cwd=seen.engine.cwd):
            missing = asyncio.run(find_missing(hook, seen.engine.cwd))
            if missing:
                yield "warning", f"cannot run now: {missing}"


def _can_stay(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    if seen.hook.persistent and seen.hook.kind != "command":
        yield "warning", f"is persistent, which only commands can be; its kind is {seen.hook.kind}"


def _can_be_warm(seen: Reviewed) -> Iterator[tuple[Weight, str]]:
    hook = seen.hook
    if hook.warm and hook.persistent:
        yield "warning", "is warm and persistent: a command that stays is started once anyway"
    elif hook.warm and (hook.kind != "command" or not may_be_warm(hook)):
        yield "warning", "is warm, which only a command that runs a Python script can be; it is started as others are"


def _listed(names: Iterable[str]) -> str:
    return " or ".join(names)


# A new check is a function and a row here.
CHECKS: Final[tuple[Check, ...]] = (
    _starts,
    _has_a_subject,
    _knows_a_tool,
    _has_paths,
    _asks_for_what_is_there,
    _can_block,
    _knows_the_others,
    _has_all_its_steps,
    _is_asked,
    _can_be_kept,
    _is_waited_for,
    _ever_pauses,
    _has_its_time,
    _is_heard,
    _said_in_its_dialect,
    _is_approved,
    _has_what_it_needs,
    _can_stay,
    _can_be_warm,
)
