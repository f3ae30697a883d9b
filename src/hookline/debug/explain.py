"""Why a hook would run for an event, or would not: every gate, with yes or no and the reason."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.core.engine import Engine
from hookline.core.trust import Standing
from hookline.debug.program import find_program
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer

Specs = Mapping[str, DialectSpec]

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


def explain(hook: Hook, event: Event, *, engine: Engine, specs: Specs) -> Explanation:
    """Ask every gate, also those behind a closed one: whoever opens the first wants to know about the next."""
    asked = Asked(hook=hook, event=event, engine=engine, specs=specs)
    answers = tuple(answer for gate in GATES for answer in gate(asked))
    return Explanation(hook=hook, event=event, gates=answers)


def uses_shell(hook: Hook, specs: Specs) -> bool:
    """Say whether a command is a line for a shell."""
    spec = specs.get(hook.dialect)
    return hook.shell if hook.shell is not None else bool(spec and spec.shell and not hook.args)


def _hooks_on(asked: Asked) -> Iterator[Answered]:
    if asked.engine.settings.enabled:
        yield Answered("hooks", passed=True, reason="hooks are switched on")
    elif asked.hook.layer is Layer.MANAGED:
        yield Answered("hooks", passed=True, reason="all hooks are switched off, but a managed one stays on")
    else:
        reason = "all hooks are switched off, by HOOKS_ENABLED or by your settings"
        yield Answered("hooks", passed=False, reason=reason)


def _planned(asked: Asked) -> Iterator[Answered]:
    for result in asked.engine.planner.gates(asked.hook, asked.event):
        yield Answered(str(result.gate), result.passed, result.reason)


def _trusted(asked: Asked) -> Iterator[Answered]:
    clearance = asked.engine.trust.clearance(asked.hook, cwd=asked.event.cwd)
    reason = clearance.objection or _MAY[clearance.standing]
    yield Answered("trust", not clearance.objection, reason)


def _allowed(asked: Asked) -> Iterator[Answered]:
    refusal = asked.engine.runner.refusal(asked.hook)
    yield Answered("command", not refusal, refusal or "may be run as it is written")


def _there(asked: Asked) -> Iterator[Answered]:
    hook = asked.hook
    # what may not run is not looked for: its words are not what its author thinks
    if hook.kind == "command" and not asked.engine.runner.refusal(hook):
        found = find_program(hook, shell=uses_shell(hook, asked.specs), cwd=asked.event.cwd)
        where = " with ".join(filter(None, (found.program, found.script)))
        yield Answered("file", not found.trouble, found.trouble or where or "the shell looks for what its line names")


# In the order an event meets them. A new reason not to run is a function and a row here.
GATES: Final[tuple[Callable[[Asked], Iterator[Answered]], ...]] = (
    _hooks_on,
    _planned,
    _trusted,
    _allowed,
    _there,
)
