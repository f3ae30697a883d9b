"""How systems spell events and answers: one module each, two ways, without side effects."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects import (
    antigravity,
    claude_code,
    cli_agent,
    cline,
    codex_cli,
    copilot_cli,
    cursor,
    factory_droid,
    gemini_cli,
    hookline,
    kiro,
    ollama_cli,
    ollm,
    ollm_protocol,
    ollm_rpc,
    opencode,
    qwen_code,
    windsurf,
)
from hookline.ports import Dialect

_MODULES: Final[tuple[Dialect, ...]] = (
    ollm_protocol,
    ollm,
    ollm_rpc,
    ollama_cli,
    cli_agent,
    hookline,
    claude_code,
    codex_cli,
    qwen_code,
    factory_droid,
    antigravity,
    copilot_cli,
    gemini_cli,
    opencode,
    cursor,
    windsurf,
    cline,
    kiro,
)

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({module.SPEC.name: module for module in _MODULES})
