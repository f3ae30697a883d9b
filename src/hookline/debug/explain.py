"""Explain why a hook would run for an event or not: the answer of every gate, with its reason."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.debug.resolve_program import ResolvedProgram, find_module, find_program
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer, describe_actions
from hookline.model.plan import Gate
from hookline.trust.policy import TrustStatus

Specs = Mapping[str, DialectSpec]
ModuleFile = Callable[[Hook, Event], str]

# kinds that start something that may be missing, and what to report if that cannot be checked
_UNCHECKED: Final = MappingProxyType(
    {"command": "the shell looks for what its line names", "python": "an installed module"}
)

_TRUST_REASONS: Final = MappingProxyType(
    {
        TrustStatus.TRUSTED: "needs no approval: it is yours, or you trust this workspace",
        TrustStatus.APPROVED: "approved as it is now",
        TrustStatus.ONCE: "approved for this once",
    }
)


class GateAnswer(Struct, frozen=True):
    """The answer of one gate, with its reason."""

    gate: str
    passed: bool
    reason: str


class GateContext(Struct, frozen=True, kw_only=True):
    """What every gate looks at."""

    hook: Hook
    event: Event
    engine: Engine
    specs: Specs
    module_file: ModuleFile | None = None


class Explanation(Struct, frozen=True, kw_only=True):
    """The answers of all gates for a hook and an event, in order."""

    hook: Hook
    event: Event
    gates: tuple[GateAnswer, ...]

    @property
    def runs(self) -> bool:
        """Whether the hook would run."""
        return self.closed is None

    @property
    def closed(self) -> GateAnswer | None:
        """The first gate that is closed."""
        return next((answer for answer in self.gates if not answer.passed), None)


def explain(
    hook: Hook, event: Event, *, engine: Engine, specs: Specs, module_file: ModuleFile | None = None
) -> Explanation:
    """Check every gate, also those behind a closed one.

    `module_file` returns the file of a Python hook; without it such a hook is assumed to exist.
    """
    context = GateContext(hook=hook, event=event, engine=engine, specs=specs, module_file=module_file)
    answers = tuple(answer for gate in GATES for answer in gate(context))
    return Explanation(hook=hook, event=event, gates=answers)


def uses_shell(hook: Hook, specs: Specs) -> bool:
    """Return whether a command is a shell line."""
    spec = specs.get(hook.dialect)
    return hook.shell if hook.shell is not None else bool(spec and spec.shell and not hook.args)


def _check_enabled(context: GateContext) -> Iterator[GateAnswer]:
    engine, hook = context.engine, context.hook
    # an engine with managed hooks is enabled, and its registry lacks the hooks that are switched off
    if not engine.settings.enabled or not engine.registry.has_hook(hook.id):
        reason = "all hooks are switched off, by HOOKS_ENABLED or by your settings"
        yield GateAnswer("hooks", passed=False, reason=reason)
    elif hook.layer is Layer.MANAGED:
        yield GateAnswer("hooks", passed=True, reason="it is managed, and stays on when all hooks are switched off")
    else:
        yield GateAnswer("hooks", passed=True, reason="hooks are switched on")


# gates that are only reported for hooks with this field
_ONLY_WITH: Final[Mapping[Gate, Callable[[Hook], object]]] = MappingProxyType(
    {Gate.CONDITION: attrgetter("condition"), Gate.HOST: attrgetter("agents")}
)


def _check_plan(context: GateContext) -> Iterator[GateAnswer]:
    for result in context.engine.planner.gates(context.hook, context.event):
        get_field = _ONLY_WITH.get(result.gate)
        if get_field is None or get_field(context.hook):
            yield GateAnswer(str(result.gate), result.passed, result.reason)


def _check_trust(context: GateContext) -> Iterator[GateAnswer]:
    clearance = context.engine.trust.decide(context.hook, cwd=context.event.cwd)
    reason = clearance.reason_denied or _TRUST_REASONS[clearance.status]
    yield GateAnswer("trust", not clearance.reason_denied, reason)


def _check_needs(context: GateContext) -> Iterator[GateAnswer]:
    if context.hook.needs is None:
        return
    # checking needs has effects, which an untrusted hook must not cause
    if context.engine.trust.reason_denied(context.hook, cwd=context.event.cwd):
        yield GateAnswer("needs", passed=True, reason="looked at once it is trusted")
        return
    # in a thread: the caller may have a running event loop
    with ThreadPoolExecutor(max_workers=1) as pool:
        missing = pool.submit(asyncio.run, context.engine.admission.missing(context.hook, context.event)).result()
    yield GateAnswer("needs", not missing, missing or "everything it needs is there")


def _check_limits(context: GateContext) -> Iterator[GateAnswer]:
    try:
        standing = context.engine.admission.limit_status(context.hook, context.event)
    except StoreError as problem:
        yield GateAnswer("limits", passed=True, reason=f"not known, so it runs without them: {problem}")
        return
    for one in standing:
        yield GateAnswer(str(one.gate), one.passed, one.reason)


def _check_command(context: GateContext) -> Iterator[GateAnswer]:
    refusal = context.engine.runner.refusal(context.hook)
    yield GateAnswer("command", not refusal, refusal or "may be run as it is written")


def _check_program(context: GateContext) -> Iterator[GateAnswer]:
    hook = context.hook
    if hook.kind == "rule":
        yield GateAnswer("answer", passed=True, reason=f"{describe_actions(hook)} (a constant answer, no program runs)")
    # a refused command is not resolved
    if hook.kind not in _UNCHECKED or context.engine.runner.refusal(hook):
        return
    program = resolve_program(context)
    where = " with ".join(filter(None, (program.program, program.script)))
    yield GateAnswer("file", not program.trouble, program.trouble or where or _UNCHECKED[hook.kind])


def resolve_program(context: GateContext) -> ResolvedProgram:
    """Find the program, script or module that a hook would start."""
    hook, event = context.hook, context.event
    if hook.kind == "python" and context.module_file is not None:
        return find_module(hook, context.module_file(hook, event))
    return find_program(hook, shell=uses_shell(hook, context.specs), cwd=event.cwd)


# In the order in which the engine checks them. A new gate is a function and a row here.
GATES: Final[tuple[Callable[[GateContext], Iterator[GateAnswer]], ...]] = (
    _check_enabled,
    _check_plan,
    _check_trust,
    _check_needs,
    _check_limits,
    _check_command,
    _check_program,
)
