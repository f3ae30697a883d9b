"""Antigravity: bundles with a name and a switch, events in them, and groups of hooks at tools."""

from collections.abc import Mapping
from typing import Final

from hookline.config.document import Document, Problem
from hookline.config.formats.agents.claude_code import WRITERS
from hookline.config.formats.agents.reader import read_events
from hookline.config.formats.agents.spec import GROUP, PLAIN, UNMATCHED, AgentFileSpec, ConfigEntry
from hookline.config.keys import describe
from hookline.config.known_names import quote
from hookline.config.reader import FileOrigin, FileReader
from hookline.model.hook import Hook


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:  # noqa: ARG001
    # commands run in the folder that holds the file
    return {**fields, "working_directory": reader.origin.path.rpartition("/")[0]}


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every bundle of a file; one that is switched off keeps its hooks, switched off as well."""
    reader = FileReader(document, origin)
    if not isinstance(document.value, Mapping):
        reader.error((), f"wanted bundles of hooks, got {describe(document.value)}")
        return [], reader.problems
    for name, bundle in document.value.items():
        if isinstance(bundle, Mapping):
            read_events(reader, bundle, (name,), spec=SPEC, off=bundle.get("enabled") is False)
        else:
            reader.warn((name,), f"wanted a bundle of hooks for {quote(name)}, got {describe(bundle)}")
    return reader.hooks, reader.problems


SPEC: Final = AgentFileSpec(
    read=read,
    project=(".agents/hooks.json",),
    home=(".gemini/config/hooks.json",),
    keys=PLAIN,
    wrapper="",
    group_keys=GROUP,
    allows_ungrouped=True,
    events=dict.fromkeys(("PreInvocation", "PostInvocation", "Stop"), UNMATCHED),
    finish=_finish,
    writers=WRITERS,
)
