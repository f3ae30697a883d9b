"""Run hooks for AI agents: any hook, any agent, one answer."""

from hookline.core.approvals import Approval
from hookline.core.asking import Question
from hookline.core.bus import MessageBus
from hookline.core.debugger import HookDebugger
from hookline.core.engine import Engine
from hookline.core.handler import HookEventHandler
from hookline.core.planner import HookPlanner
from hookline.core.registry import HookRegistry
from hookline.core.runner import Execution, HookRunner
from hookline.core.translator import HookTranslator
from hookline.core.trust import TrustedHooks, TrustedHooksConfig
from hookline.display import sanitize
from hookline.errors import Blocked, ConditionError, ConfigError, DialectError, EngineError, HostError, StoreError
from hookline.model.event import EVENTS, Event, EventName, EventSpec
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, Layer, OnError, Priority, Source
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.policy import Caching, Needs
from hookline.model.record import Record, Step
from hookline.model.session import Session
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from hookline.version import __version__

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
