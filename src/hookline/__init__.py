"""Run hooks for AI agents: any hook, any agent, one answer.

Every name is imported when it is first used: a program that needs one of them, as the one that agents call at each
step, does not wait for all of them.
"""

from importlib import import_module as _import_module

# what type checkers take for true and everybody else for what it says; `typing` would cost more than all of this
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookline.engine.bus import MessageBus
    from hookline.engine.confirmation import PersonAnswer, Question
    from hookline.engine.engine import Engine, HookEventHandler
    from hookline.engine.metrics import HookDebugger
    from hookline.engine.planner import HookPlanner
    from hookline.engine.registry import HookRegistry
    from hookline.engine.runner import Execution, HookRunner
    from hookline.engine.translator import HookTranslator
    from hookline.errors import Blocked, ConditionError, ConfigError, DialectError, EngineError, HostError, StoreError
    from hookline.model.event import EVENTS, Event, EventName, EventSpec, Session
    from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
    from hookline.model.hook import Hook, Layer, OnError, Priority, Source
    from hookline.model.plan import Gate, Plan, Skip
    from hookline.model.record import Record, Step
    from hookline.model.requirements import Caching, Needs
    from hookline.model.settings import Settings
    from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, OutcomeCode, Verdict
    from hookline.text import sanitize
    from hookline.trust.approval_store import Approval
    from hookline.trust.policy import TrustedHooks, TrustedHooksConfig
    from hookline.version import __version__
else:
    _HOMES = {
        "engine.bus": "MessageBus",
        "engine.confirmation": "PersonAnswer Question",
        "engine.engine": "Engine HookEventHandler",
        "engine.metrics": "HookDebugger",
        "engine.planner": "HookPlanner",
        "engine.registry": "HookRegistry",
        "engine.runner": "Execution HookRunner",
        "engine.translator": "HookTranslator",
        "errors": "Blocked ConditionError ConfigError DialectError EngineError HostError StoreError",
        "model.event": "EVENTS Event EventName EventSpec Session",
        "model.exchange": "Answer Failure FailureKind Reply Request",
        "model.hook": "Hook Layer OnError Priority Source",
        "model.plan": "Gate Plan Skip",
        "model.record": "Record Step",
        "model.requirements": "Caching Needs",
        "model.settings": "Settings",
        "model.verdict": "Decision Effect EffectKind Outcome OutcomeCode Verdict",
        "text": "sanitize",
        "trust.approval_store": "Approval",
        "trust.policy": "TrustedHooks TrustedHooksConfig",
        "version": "__version__",
    }
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        """Import what is asked for, and keep it."""
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        """List everything that is public, and what is here already."""
        return sorted({*globals(), *__all__})


del TYPE_CHECKING

__all__ = [
    "EVENTS",
    "Answer",
    "Approval",
    "Blocked",
    "Caching",
    "ConditionError",
    "ConfigError",
    "Decision",
    "DialectError",
    "Effect",
    "EffectKind",
    "Engine",
    "EngineError",
    "Event",
    "EventName",
    "EventSpec",
    "Execution",
    "Failure",
    "FailureKind",
    "Gate",
    "Hook",
    "HookDebugger",
    "HookEventHandler",
    "HookPlanner",
    "HookRegistry",
    "HookRunner",
    "HookTranslator",
    "HostError",
    "Layer",
    "MessageBus",
    "Needs",
    "OnError",
    "Outcome",
    "OutcomeCode",
    "PersonAnswer",
    "Plan",
    "Priority",
    "Question",
    "Record",
    "Reply",
    "Request",
    "Session",
    "Settings",
    "Skip",
    "Source",
    "Step",
    "StoreError",
    "TrustedHooks",
    "TrustedHooksConfig",
    "Verdict",
    "__version__",
    "sanitize",
]
