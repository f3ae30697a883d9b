"""The composition root: the only module that knows every dialect, kind and store."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.config.file_patterns import file_patterns, follow_links, list_files
from hookline.dialects import DIALECTS, SHELL_DIALECTS, TEMPLATE_DIALECTS
from hookline.engine.components import Components, Condition
from hookline.kinds.command.command import Command
from hookline.kinds.judge import ModelJudge
from hookline.kinds.mcp import Mcp
from hookline.kinds.notify import Notify
from hookline.kinds.python import Function, Python
from hookline.kinds.rule import AskAgent, RaiseEvent, Rule
from hookline.kinds.webhook import Webhook
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.names import EVENT_NAMES
from hookline.model.settings import Settings
from hookline.ports import StateStore
from hookline.process.containment import Containment
from hookline.stores.state import MemoryState

if TYPE_CHECKING:
    from hookline.config.reader import KnownNames


def make_components(
    *,
    always_isolated: bool = False,
    protected: tuple[str, ...] = (),
    state_root: str = "",
    data: Path | None = None,
    settings: Settings | None = None,
    state: StateStore | None = None,
) -> Components:
    """Return the components that Hookline ships, with new instances of every kind.

    With `always_isolated`, no Python code of a hook runs in this process. No contained hook reads what is `protected`. Hooks
    keep their state in `state_root`; `data` is the data folder of the user, which has the logins at MCP servers. `settings` and
    `state` are those of the engine, for the kinds that need them.
    """
    containment = Containment(protected, state_root=state_root)
    command = Command(shell_dialects=SHELL_DIALECTS, template_dialects=TEMPLATE_DIALECTS, containment=containment)
    return Components(
        dialects=DIALECTS,
        kinds={
            "ask_agent": AskAgent(),
            "command": command,
            "function": Function(),
            "mcp": Mcp(command, data),
            "judge": ModelJudge(settings or Settings(), state or make_state()),
            "notify": Notify(),
            "python": Python((), always_isolated=always_isolated, containment=containment),
            "raise_event": RaiseEvent(),
            "rule": Rule(),
            "webhook": Webhook(),
        },
        file_patterns=file_patterns,
        follow_links=follow_links,
        list_files=list_files,
        conditions=_condition,
        missing=_missing,
        gather_facts=_gather_facts,
        read_options=_read_options,
        read_hook=_read_hook,
    )


def make_state() -> StateStore:
    """Return an in-memory state store."""
    return MemoryState()


def _read_options(options: Mapping[str, object]) -> dict[str, object]:
    """Read the options of a function that becomes a hook."""
    # not at the top: many engines only have hooks from files
    from hookline.config.formats.native import read_function_options  # noqa: PLC0415

    return read_function_options(options)


def _read_hook(options: Mapping[str, object]) -> Hook:
    """Read a hook that a program describes with the keys of hookline.toml."""
    from hookline.config.formats.native import read_hook  # noqa: PLC0415 - as above

    return read_hook(options, known_names())


def known_names() -> "KnownNames":
    """Return the names of all dialects, which readers of configuration files need."""
    from hookline.config.reader import KnownNames  # noqa: PLC0415 - as above

    return KnownNames(names=EVENT_NAMES, tools=native_tools(), shell_dialects=SHELL_DIALECTS)


async def _missing(hook: Hook, cwd: str) -> str:
    """Check the requirements of a hook."""
    # not at the top: most hooks have none
    from hookline.requirements import find_missing  # noqa: PLC0415

    return await find_missing(hook, cwd)


async def _gather_facts(wanted: Collection[str], event: Event) -> Mapping[str, object]:
    """Gather the facts that hooks ask for."""
    from hookline.facts import gather_facts  # noqa: PLC0415 - most hooks ask for none

    return await gather_facts(wanted, event)


def _condition(text: str) -> Condition:
    """Compile a condition with our subset of CEL, and with the full library where that is not enough."""
    # not at the top: most hooks have no condition
    from hookline.conditions.compiler import PolicyCondition  # noqa: PLC0415
    from hookline.conditions.parser import BeyondError  # noqa: PLC0415

    try:
        return PolicyCondition(text)
    except BeyondError as problem:
        from hookline.config.full_cel import compile_with_cel  # noqa: PLC0415 - a large optional library

        return compile_with_cel(text, trouble=problem.message)


def native_tools() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the names of each canonical tool, by dialect."""
    return {name: dialect.SPEC.tools for name, dialect in DIALECTS.items()}


def shell_dialects() -> frozenset[str]:
    """Return the dialects whose commands are shell lines."""
    return SHELL_DIALECTS


def native_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the canonical events of each native event name, by dialect."""
    return EVENT_NAMES
