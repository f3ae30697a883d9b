"""Factory Droid: groups of hooks under events, without anything around them; a group may name commands."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document
from hookline.config.formats.agents import entries
from hookline.config.formats.agents.claude_code import SPELLED
from hookline.config.formats.agents.style import GROUP, PLAIN, UNMATCHED, Style
from hookline.config.problem import Problem
from hookline.config.reading import Origin
from hookline.config.values import Key, filled
from hookline.model.hook import Hook


def _pattern(value: object) -> str:
    # a call without a command is passed over, as the agent does
    return f"has(args.command) && args.command.matches({json.dumps(filled(value))})"


GROUP_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **GROUP,
        "commandRegex": Key(_pattern, "condition", vital=True, about="Only for commands in which this is found."),
    }
)

STYLE: Final = Style(
    keys=PLAIN,
    wrapper="",
    group_keys=GROUP_KEYS,
    moments=MappingProxyType({"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED, "SubagentStop": UNMATCHED}),
    defaults=MappingProxyType({"parallel": True}),
    spelled=SPELLED,
)
_WRAPPED: Final = Style(
    keys=STYLE.keys,
    group_keys=STYLE.group_keys,
    moments=STYLE.moments,
    defaults=STYLE.defaults,
    spelled=STYLE.spelled,
)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read a file of hooks, or the `hooks` of a settings file."""
    wrapped = isinstance(document.value, Mapping) and isinstance(document.value.get("hooks"), Mapping)
    return entries.read(document, origin=origin, style=_WRAPPED if wrapped else STYLE)
