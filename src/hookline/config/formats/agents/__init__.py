"""The files in which agents keep hooks: one module per agent in `AGENTS`, one spec per kind of file."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from hookline.config.document import Document, Problem
from hookline.config.formats.agents import reader
from hookline.config.formats.agents.spec import AgentFileSpec
from hookline.config.reader import FileOrigin
from hookline.model.agents import AGENTS, PLUGIN_AGENTS, module_name
from hookline.model.hook import Hook

# agent -> kind of file -> its spec; the first kind has the agent's name
FILE_SPECS_BY_AGENT: Final[Mapping[str, Mapping[str, AgentFileSpec]]] = {
    agent: {agent: module.SPEC, **getattr(module, "MORE_SPECS", {})}
    for agent in AGENTS
    if agent not in PLUGIN_AGENTS
    for module in (import_module(f"{__name__}.{module_name(agent)}"),)
}
FILE_SPECS: Final[Mapping[str, AgentFileSpec]] = {
    form: spec for specs in FILE_SPECS_BY_AGENT.values() for form, spec in specs.items()
}


def read(document: Document, *, origin: FileOrigin, form: str) -> tuple[list[Hook], list[Problem]]:
    """Read a file of one of these kinds."""
    spec = FILE_SPECS[form]
    return spec.read(document, origin=origin) if spec.read else reader.read(document, origin=origin, spec=spec)
