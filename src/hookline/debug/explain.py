"""Why a hook would run for an event, or would not: every gate, with yes or no and the reason."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.core.engine import Engine
from hookline.core.trust import Standing
from hookline.debug.program import Program, find_module, find_program
from hookline.errors import StoreError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer
from hookline.model.plan import Gate

Specs = Mapping[str, DialectSpec]
ModuleFile = Callable[[Hook, Event], str]

# kinds that start something which may not be there, and what to say where nobody can look
_FOUND: Final = MappingProxyType(
    {"command": "the shell looks for what its line names", "python": "an installed module"}
)

_MAY: Final = MappingProxyType(
    {
        Standing.TRUSTED: "needs no approval: it is yours, or you trust this workspace",
        Standing.APPROVED: "approved as it is now",
        Standing.ONCE: "approved for this once",
    }
)


class Answered(Struct, frozen=True):
    """One gate: its name, whether the hook gets through, and why."""

    gate: str
    passed: bool
    reason: str


class Asked(Struct, frozen=True, kw_only=True):
    """What every gate is asked about."""

    hook: Hook
    event: Event
    engine: Engine
    specs: Specs
    module_file: ModuleFile | None = None


class Explanation(Struct, frozen=True, kw_only=True):
    """All gates a hook has to pass for one event, in order."""

    hook: Hook
    event: Event
    gates: tuple[Answered, ...]

    @property
    def runs(self) -> bool:
        """Whether the hook would run."""
        return self.closed is None

    @property
    def closed(self) -> Answered | None:
        """The first gate that is closed."""
        return next((answer for answer in self.gates if not answer.passed), None)


def explain(
    hook: Hook, event: Event, *, engine: Engine, specs: Specs, module_file: ModuleFile | None = None
) -> Explanation:
    """Ask every gate, also those behind a closed one: whoever opens the first wants to know about the next.

    `module_file` says which file a Python hook is; without it such a hook is taken to be there.
    """
    asked = Asked(hook=hook, event=event, engine=engine, specs=specs, module_file=module_file)
    answers = tuple(answer for gate in GATES for answer in gate(asked))
    return Explanation(hook=hook, event=event, gates=answers)


def uses_shell(hook: Hook, specs: Specs) -> bool:
    """Say whether a command is a line for a shell."""
    spec = specs.get(hook.dialect)
    return hook.shell if hook.shell is not None else bool(spec and spec.shell and not hook.args)


def _hooks_on(asked: Asked) -> Iterator[Answered]:
    engine, hook = asked.engine, asked.hook
    # an engine that has managed hooks is on; those that were switched off are not in it
    if not engine.settings.enabled or not engine.registry.has_hook(hook.id):
        reason = "all hooks are switched off, by HOOKS_ENABLED or by your settings"
        yield Answered("hooks", passed=False, reason=reason)
    elif hook.layer is Layer.MANAGED:
        yield Answered("hooks", passed=True, reason="it is managed, and stays on when all hooks are switched off")
    else:
        yield Answered("hooks", passed=True, reason="hooks are switched on")


# gates that say nothing about most hooks, and what those have that they are about
_ABOUT: Final[Mapping[Gate, Callable[[Hook], object]]] = MappingProxyType(
    {Gate.CONDITION: attrgetter("condition"), Gate.HOST: attrgetter("agents")}
)


def _planned(asked: Asked) -> Iterator[Answered]:
    for result in asked.engine.planner.gates(asked.hook, asked.event):
        about = _ABOUT.get(result.gate)
        if about is None or about(asked.hook):
            yield Answered(str(result.gate), result.passed, result.reason)


def _trusted(asked: Asked) -> Iterator[Answered]:
    clearance = asked.engine.trust.clearance(asked.hook, cwd=asked.event.cwd)
    reason = clearance.objection or _MAY[clearance.standing]
    yield Answered("trust", not clearance.objection, reason)


def _has_its_needs(asked: Asked) -> Iterator[Answered]:
    if asked.hook.needs is None:
        return
    # nothing is looked for, and nobody is called, on behalf of a hook that may not run
    if asked.engine.trust.objection(asked.hook, cwd=asked.event.cwd):
        yield Answered("needs", passed=True, reason="looked at once it is trusted")
        return
    # whoever asks may be inside a loop of their own
    with ThreadPoolExecutor(max_workers=1) as pool:
        lacking = pool.submit(asyncio.run, asked.engine.doorkeeper.missing(asked.hook, asked.event)).result()
    yield Answered("needs", not lacking, lacking or "everything it needs is there")


def _within_limits(asked: Asked) -> Iterator[Answered]:
    try:
        standing = asked.engine.doorkeeper.standing(asked.hook, asked.event)
    except StoreError as problem:
        yield Answered("limits", passed=True, reason=f"not known, so it runs without them: {problem}")
        return
    for one in standing:
        yield Answered(str(one.gate), one.passed, one.reason)


def _allowed(asked: Asked) -> Iterator[Answered]:
    refusal = asked.engine.runner.refusal(asked.hook)
    yield Answered("command", not refusal, refusal or "may be run as it is written")


def _there(asked: Asked) -> Iterator[Answered]:
    hook = asked.hook
    # what may not run is not looked for: its words are not what its author thinks
    if hook.kind not in _FOUND or asked.engine.runner.refusal(hook):
        return
    found = found_program(asked)
    where = " with ".join(filter(None, (found.program, found.script)))
    yield Answered("file", not found.trouble, found.trouble or where or _FOUND[hook.kind])


def found_program(asked: Asked) -> Program:
    """Look for what a hook would start."""
    hook, event = asked.hook, asked.event
    if hook.kind == "python" and asked.module_file is not None:
        return find_module(hook, asked.module_file(hook, event))
    return find_program(hook, shell=uses_shell(hook, asked.specs), cwd=event.cwd)


# In the order an event meets them. A new reason not to run is a function and a row here.
GATES: Final[tuple[Callable[[Asked], Iterator[Answered]], ...]] = (
    _hooks_on,
    _planned,
    _trusted,
    _has_its_needs,
    _within_limits,
    _allowed,
    _there,
)
