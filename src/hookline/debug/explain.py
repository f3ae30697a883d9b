"""Explain why a hook would run for an event or not: the answer of every gate, with its reason."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.debug.resolve_program import ResolvedProgram, find_module, find_program
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.kinds.python import Python
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer, describe_actions
from hookline.model.plan import Gate
from hookline.trust.policy import TrustStatus

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


def explain(hook: Hook, event: Event, *, engine: Engine) -> Explanation:
    """Check every gate, also those behind a closed one."""
    if hook.facts:
        # in a thread: the caller may have a running event loop
        with ThreadPoolExecutor(max_workers=1) as pool:
            event = pool.submit(asyncio.run, engine.runner.gather_facts(hook.facts, event)).result()
    answers = tuple(answer for gate in GATES for answer in gate(hook, event, engine))
    return Explanation(hook=hook, event=event, gates=answers)


def uses_shell(hook: Hook) -> bool:
    """Return whether a command is a shell line."""
    return hook.shell if hook.shell is not None else DIALECTS[hook.dialect].SPEC.shell and not hook.args


def _check_enabled(hook: Hook, _event: Event, engine: Engine) -> Iterator[GateAnswer]:
    # an engine with managed hooks is enabled, and its registry lacks the hooks that are switched off
    if not engine.settings.enabled or not engine.registry.has_hook(hook.id):
        reason = "all hooks are switched off, by HOOKS_ENABLED or by your settings"
        yield GateAnswer("hooks", passed=False, reason=reason)
    elif hook.layer is Layer.MANAGED:
        yield GateAnswer("hooks", passed=True, reason="it is managed, and stays on when all hooks are switched off")
    else:
        yield GateAnswer("hooks", passed=True, reason="hooks are switched on")


def _check_plan(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    # gates that are only reported for hooks with this field
    fields = {Gate.CONDITION: hook.condition, Gate.HOST: hook.run_by, Gate.AGENTS: hook.agents}
    for result in engine.planner.gates(hook, event):
        if fields.get(result.gate, True):
            yield GateAnswer(str(result.gate), result.passed, result.reason)


def _check_trust(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    clearance = engine.trust.decide(hook, cwd=event.cwd)
    reason = clearance.reason_denied or _TRUST_REASONS[clearance.status]
    yield GateAnswer("trust", not clearance.reason_denied, reason)


def _check_needs(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    if hook.needs is None:
        return
    # checking needs has effects, which an untrusted hook must not cause
    if engine.trust.reason_denied(hook, cwd=event.cwd):
        yield GateAnswer("needs", passed=True, reason="looked at once it is trusted")
        return
    # in a thread: the caller may have a running event loop
    with ThreadPoolExecutor(max_workers=1) as pool:
        missing = pool.submit(asyncio.run, engine.admission.missing(hook, event)).result()
    yield GateAnswer("needs", not missing, missing or "everything it needs is there")


def _check_scopes(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    for one in engine.admission.scope_status(hook, event):
        yield GateAnswer(str(one.gate), one.passed, one.reason)


def _check_limits(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    try:
        standing = engine.admission.limit_status(hook, event)
    except StoreError as problem:
        yield GateAnswer("limits", passed=True, reason=f"not known, so it runs without them: {problem}")
        return
    for one in standing:
        yield GateAnswer(str(one.gate), one.passed, one.reason)


def _check_command(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    refusal = engine.runner.refusal(hook)
    yield GateAnswer("command", not refusal, refusal or "may be run as it is written")
    if hook.kind == "rule":
        yield GateAnswer("answer", passed=True, reason=f"{describe_actions(hook)} (a constant answer, no program runs)")
    # a refused command is not resolved
    if hook.kind in _UNCHECKED and not refusal:
        program = resolve_program(hook, event)
        where = " with ".join(filter(None, (program.program, program.script)))
        yield GateAnswer("file", not program.trouble, program.trouble or where or _UNCHECKED[hook.kind])


def resolve_program(hook: Hook, event: Event) -> ResolvedProgram:
    """Find the program, script or module that a hook would start."""
    if hook.kind == "python":
        return find_module(hook, Python().file(hook, event))
    return find_program(hook, shell=uses_shell(hook), cwd=event.cwd)


# In the order in which the engine checks them. A new gate is a function and a row here.
GATES: Final[Sequence[Callable[[Hook, Event, Engine], Iterator[GateAnswer]]]] = (
    *(_check_enabled, _check_plan, _check_trust, _check_scopes, _check_needs, _check_limits, _check_command),
)
