"""Detect which agent wrote a document: agents also run each other's settings files, in their own dialect.

The document is evidence. Many agents speak Claude Code's dialect, so a signature that is only a remainder does not overrule a
named agent. The environment counts last: an agent that another agent started inherits all of it.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

Document = Mapping[str, object]
_Test = Callable[[Document], bool]

_PASCAL: Final = re.compile(r"[A-Z][A-Za-z]*")
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][A-Za-z]*)?")
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")
# events that no other agent has
_GEMINI: Final = (
    *("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool", "AfterTool"),
    "PreCompress",
)
_DROID_MODES: Final = frozenset({"off", "spec", "auto-low", "auto-medium", "auto-high"})

# variables that only one agent sets for its hooks
ENVIRONMENT: Final[Mapping[str, str]] = {
    "CURSOR_VERSION": "cursor",
    "FACTORY_PROJECT_DIR": "factory-droid",
    "DROID_PROJECT_DIR": "factory-droid",
    "QWEN_PROJECT_DIR": "qwen-code",
    "GEMINI_SESSION_ID": "gemini-cli",
    "CLAUDECODE": "claude-code",
}


class _Signature(Struct, frozen=True):
    """Evidence of one agent; None is an agent without a dialect here. If not `sure`, it overrules no named agent."""

    agent: str | None
    matches: _Test
    sure: bool = True


def detect_agent(
    document: Document, environ: Mapping[str, str] = MappingProxyType({}), *, named: str = ""
) -> str | None:
    """Return the agent that wrote a document, None for an unknown one.

    `named` is the agent that the installed command names: it is returned unless the document clearly is another agent's.
    """
    signature = next((signature for signature in _SIGNATURES if signature.matches(document)), None)
    if signature is not None and signature.sure:
        return signature.agent
    if named:
        return named
    hint = next((agent for name, agent in ENVIRONMENT.items() if environ.get(name)), None)
    return hint or (signature.agent if signature is not None else None)


def _has(*keys: str) -> _Test:
    return lambda document: all(key in document for key in keys)


def _lacks(*keys: str) -> _Test:
    return lambda document: not any(key in document for key in keys)


def _both(*tests: _Test) -> _Test:
    return lambda document: all(test(document) for test in tests)


def _either(*tests: _Test) -> _Test:
    return lambda document: any(test(document) for test in tests)


def _is_like(spelling: re.Pattern[str], key: str = "hook_event_name") -> _Test:
    def matches(document: Document) -> bool:
        name = document.get(key)
        return isinstance(name, str) and spelling.fullmatch(name) is not None

    return matches


def _is_event(*names: str) -> _Test:
    return lambda document: document.get("hook_event_name") in names


def _has_time_number(document: Document) -> bool:
    time = document.get("timestamp")
    return isinstance(time, int | float) and not isinstance(time, bool)


def _has_time_text(document: Document) -> bool:
    return isinstance(document.get("timestamp"), str)


def _has_droid_mode(document: Document) -> bool:
    mode = document.get("permission_mode")
    return isinstance(mode, str) and mode in _DROID_MODES


def _has_transcript_in(folder: str) -> _Test:
    return lambda document: f"/{folder}/" in str(document.get("transcript_path")).replace("\\", "/")


_IS_PASCAL: Final = _is_like(_PASCAL)
_NAMELESS: Final = _lacks("hook_event_name", "hookEventName")

# the first that matches decides
_SIGNATURES: Final = (
    # also where it runs a hook of Claude Code's files
    _Signature("cursor", _has("cursor_version")),
    _Signature("windsurf", _has("agent_action_name")),
    _Signature("cline", _has("clineVersion")),
    # written by our own plugin
    _Signature("opencode", _has("hook", "input", "output")),
    # OpenHands, Goose, Crush
    _Signature(None, _has("event_type", "working_dir")),
    _Signature(None, _both(_has("event"), _NAMELESS)),
    _Signature("antigravity", _both(_NAMELESS, _either(_has("toolCall"), _has("conversationId", "workspacePaths")))),
    # Grok
    _Signature(None, _is_like(_SNAKE, "hookEventName")),
    # its older versions; the other agent with this spelling is VS Code
    _Signature(
        "factory-droid",
        _both(_is_like(_PASCAL, "hookEventName"), _either(_has("transcriptPath"), _has("permissionMode"))),
    ),
    _Signature(None, _has("hookEventName")),
    # it names one of its events, the others not
    _Signature("copilot-cli", _both(_has("sessionId"), _has_time_number)),
    _Signature("cursor", _both(_is_like(_CAMEL), _has("conversation_id"))),
    _Signature("kiro", _is_like(_CAMEL)),
    _Signature("gemini-cli", _is_event(*_GEMINI)),
    _Signature("codex-cli", _both(_IS_PASCAL, _has("turn_id", "model"))),
    # Augment
    _Signature(None, _both(_IS_PASCAL, _has("conversation_id", "workspace_roots"))),
    _Signature("qwen-code", _both(_IS_PASCAL, _has_time_text, _has("permission_mode"))),
    _Signature(
        "gemini-cli",
        _both(_is_event("SessionStart", "SessionEnd", "Notification"), _has_time_text, _has("transcript_path")),
    ),
    # VS Code, where it spells the name as others do
    _Signature(None, _both(_IS_PASCAL, _has_time_text, _has("transcript_path", "tool_name"))),
    _Signature("copilot-cli", _both(_IS_PASCAL, _has_time_text)),
    _Signature("factory-droid", _both(_IS_PASCAL, _has_droid_mode)),
    # Devin
    _Signature(None, _both(_IS_PASCAL, _has("prompt_id"), _lacks("transcript_path"))),
    _Signature("codex-cli", _both(_IS_PASCAL, _has_transcript_in(".codex")), sure=False),
    _Signature("factory-droid", _both(_IS_PASCAL, _has_transcript_in(".factory")), sure=False),
    _Signature("codex-cli", _both(_is_event("SessionStart"), _has("model", "permission_mode")), sure=False),
    _Signature("claude-code", _IS_PASCAL, sure=False),
)
