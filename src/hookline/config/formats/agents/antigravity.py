"""Antigravity: bundles with a name and a switch, events in them, and groups of hooks at tools."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document
from hookline.config.formats.agents.claude_code import SPELLED
from hookline.config.formats.agents.entries import read_events
from hookline.config.formats.agents.style import GROUP, PLAIN, UNMATCHED, Entry, Style
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading
from hookline.config.values import describe
from hookline.config.vocabulary import quoted
from hookline.model.hook import Hook


def _finish(reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:  # noqa: ARG001
    # commands run in the folder that holds the file
    return {**fields, "working_directory": reading.origin.path.rpartition("/")[0]}


STYLE: Final = Style(
    keys=PLAIN,
    wrapper="",
    group_keys=GROUP,
    alone=True,
    moments=MappingProxyType(dict.fromkeys(("PreInvocation", "PostInvocation", "Stop"), UNMATCHED)),
    finish=_finish,
    spelled=SPELLED,
)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every bundle of a file; one that is switched off keeps its hooks, switched off as well."""
    reading = Reading(document, origin)
    if not isinstance(document.value, Mapping):
        reading.error((), f"wanted bundles of hooks, got {describe(document.value)}")
        return [], reading.problems
    for name, bundle in document.value.items():
        if isinstance(bundle, Mapping):
            read_events(reading, bundle, (name,), style=STYLE, off=bundle.get("enabled") is False)
        else:
            reading.warn((name,), f"wanted a bundle of hooks for {quoted(name)}, got {describe(bundle)}")
    return reading.hooks, reading.problems
