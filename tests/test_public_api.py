"""The public door is a list that people decided on, here a second time, so that nothing enters by accident."""

import importlib
from types import ModuleType
from typing import Final

import pytest

import hookline

# In the order ruff gives `__all__`: CONSTANTS, then Classes, then functions.
PUBLIC: Final = (
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
)


def _rank(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name.lstrip("_")[:1].isupper() else 2, name)


def test_public_names_are_those_decided_on() -> None:
    assert tuple(hookline.__all__) == PUBLIC


def test_public_names_are_sorted_and_unique() -> None:
    assert list(hookline.__all__) == sorted(set(hookline.__all__), key=_rank)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(hookline, name)

    if callable(value):
        text = (value.__doc__ or "").strip()
        # Structs and dataclasses without a docstring get their signature instead, which tells nobody anything.
        assert text, f"hookline.{name} has no docstring"
        assert not text.startswith(f"{name}("), f"hookline.{name} has no docstring of its own"


def test_nothing_else_is_public() -> None:
    # pytest adds names with "@" to the modules of a package that has a plugin
    public = {name for name in dir(hookline) if not name.startswith(("_", "@"))}
    parts = {
        name
        for name, value in vars(hookline).items()
        if isinstance(value, ModuleType) and value.__name__ == f"hookline.{name}"
    }

    assert public - parts - set(hookline.__all__) == set()


def test_star_import_gives_exactly_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from hookline import *", namespace)  # noqa: S102 - no other way to write it inside a function
    namespace.pop("__builtins__")

    assert set(namespace) == set(PUBLIC)


def test_public_classes_live_where_their_module_says() -> None:
    for name in PUBLIC:
        value = getattr(hookline, name)
        if isinstance(value, type):
            home = importlib.import_module(value.__module__)
            assert getattr(home, value.__name__) is value, f"hookline.{name} cannot be pickled or looked up"
