"""How systems spell events and answers: one module each, two ways, without side effects."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects import claude_code, cli_agent, hookline, ollama_cli, ollm, ollm_protocol, ollm_rpc
from hookline.ports import Dialect

_MODULES: Final[tuple[Dialect, ...]] = (
    ollm_protocol,
    ollm,
    ollm_rpc,
    ollama_cli,
    cli_agent,
    hookline,
    claude_code,
)

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({module.SPEC.name: module for module in _MODULES})
