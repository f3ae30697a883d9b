"""Put the parts together: the only module that knows all of them."""

from collections.abc import Mapping

from hookline.config.patterns import file_patterns
from hookline.core.parts import Parts
from hookline.dialects import DIALECTS
from hookline.kinds.ask_agent import AskAgent
from hookline.kinds.command import Command
from hookline.kinds.function import Function
from hookline.kinds.python import Python
from hookline.kinds.webhook import Webhook


def make_parts() -> Parts:
    """Make the tables of everything Hookline ships; what is kept between calls belongs to one engine."""
    return Parts(
        dialects=DIALECTS,
        kinds={
            "ask_agent": AskAgent(),
            "command": Command(shell_dialects=shell_dialects(), template_dialects=_template_dialects()),
            "function": Function(),
            "python": Python(()),
            "webhook": Webhook(),
        },
        file_patterns=file_patterns,
    )


def shell_dialects() -> frozenset[str]:
    """Name the dialects whose commands are shell lines."""
    return frozenset(name for name, dialect in DIALECTS.items() if dialect.SPEC.shell)


def _template_dialects() -> frozenset[str]:
    return frozenset(name for name, dialect in DIALECTS.items() if dialect.SPEC.templates)


def native_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Say for each dialect which canonical events each of its own names stands for."""
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    for dialect in DIALECTS.values():
        own = names.setdefault(dialect.SPEC.name, {})
        for canonical, native in dialect.SPEC.events.items():
            own[native] = (*own.get(native, ()), str(canonical))
    return names
