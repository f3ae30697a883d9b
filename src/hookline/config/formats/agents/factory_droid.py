"""Factory Droid: groups of hooks under events, without anything around them; a group may name commands."""

import json
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hookline.config.document import Document, Problem
from hookline.config.formats.agents import reader
from hookline.config.formats.agents.claude_code import WRITERS
from hookline.config.formats.agents.spec import GROUP, PLAIN, UNMATCHED, AgentFileSpec
from hookline.config.keys import Key, nonempty_text
from hookline.config.reader import FileOrigin
from hookline.model.hook import Hook


def _pattern(value: object) -> str:
    # a call without a command is passed over, as the agent does
    return f"has(args.command) && args.command.matches({json.dumps(nonempty_text(value))})"


GROUP_KEYS: Final[Mapping[str, Key]] = {
    **GROUP,
    "commandRegex": Key(_pattern, "condition", vital=True, about="Only for commands in which this is found."),
}


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file of hooks, or the `hooks` of a settings file."""
    is_wrapped = isinstance(document.value, Mapping) and isinstance(document.value.get("hooks"), Mapping)
    spec = replace(SPEC, wrapper="hooks") if is_wrapped else SPEC
    return reader.read(document, origin=origin, spec=spec)


SPEC: Final = AgentFileSpec(
    read=read,
    project=(".factory/hooks.json",),
    home=(".factory/hooks.json",),
    keys=PLAIN,
    wrapper="",
    group_keys=GROUP_KEYS,
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED, "SubagentStop": UNMATCHED},
    defaults={"parallel": True},
    writers=WRITERS,
)
