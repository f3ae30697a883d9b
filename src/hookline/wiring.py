"""Put the parts together: the only module that knows all of them."""

from collections.abc import Callable, Collection, Mapping

from hookline.config.patterns import file_patterns, follow_links
from hookline.core.parts import Condition, Parts
from hookline.dialects import DIALECTS, SHELL_DIALECTS, TEMPLATE_DIALECTS
from hookline.kinds.ask_agent import AskAgent
from hookline.kinds.command import Command
from hookline.kinds.function import Function
from hookline.kinds.python import Python
from hookline.kinds.raise_event import RaiseEvent
from hookline.kinds.webhook import Webhook
from hookline.model.hook import Hook
from hookline.ports import Kind, StateStore
from hookline.stores.memory_state import MemoryState


def make_parts(*, always_isolated: bool = False, only: Collection[str] | None = None) -> Parts:
    """Make the tables of everything Hookline ships; what is kept between calls belongs to one engine.

    With `always_isolated`, no Python of a hook runs in this process. With `only`, there are no other kinds than these.
    """
    # functions, so that what is not made is not looked up either: see bridge/cold/bundle.py
    makers: Mapping[str, Callable[[], Kind]] = {
        "ask_agent": lambda: AskAgent(),  # noqa: PLW0108
        "command": lambda: Command(shell_dialects=shell_dialects(), template_dialects=TEMPLATE_DIALECTS),
        "function": lambda: Function(),  # noqa: PLW0108
        "python": lambda: Python((), always_isolated=always_isolated),
        "raise_event": lambda: RaiseEvent(),  # noqa: PLW0108
        "webhook": lambda: Webhook(),  # noqa: PLW0108
    }
    return Parts(
        dialects=DIALECTS,
        kinds={name: make() for name, make in makers.items() if only is None or name in only},
        file_patterns=file_patterns,
        follow_links=follow_links,
        conditions=_condition,
        missing=_missing,
    )


def make_state() -> StateStore:
    """Make what is remembered between events where nobody names a better place."""
    return MemoryState()


async def _missing(hook: Hook, cwd: str) -> str:
    """Look for what a hook needs."""
    # most hooks need nothing
    from hookline.needs import find_missing  # noqa: PLC0415

    return await find_missing(hook, cwd)


def _condition(text: str) -> Condition:
    """Read a condition by ourselves, and with the whole of CEL where that is not enough."""
    # most hooks have no condition
    from hookline.core.conditions.condition import compile_condition  # noqa: PLC0415
    from hookline.core.conditions.problems import BeyondError  # noqa: PLC0415

    try:
        return compile_condition(text)
    except BeyondError as problem:
        from hookline.config.cel import compile_with_cel  # noqa: PLC0415 - a large library, which few have

        return compile_with_cel(text, trouble=problem.message)


def native_tools() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Say for each dialect how it calls each of our tools."""
    return {name: dialect.SPEC.tools for name, dialect in DIALECTS.items()}


def shell_dialects() -> frozenset[str]:
    """Name the dialects whose commands are shell lines."""
    return SHELL_DIALECTS


def native_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Say for each dialect which canonical events each of its own names stands for."""
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    for dialect in DIALECTS.values():
        own = names.setdefault(dialect.SPEC.name, {})
        for canonical, native in dialect.SPEC.events.items():
            own[native] = (*own.get(native, ()), str(canonical))
        for native, canonical in dialect.SPEC.more_events.items():
            own.setdefault(native, (str(canonical),))
    return names
