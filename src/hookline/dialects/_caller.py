"""Which agent wrote a document: agents run each other's settings files, and say their own words there.

What stands in a document is evidence. Claude Code's language is spoken by many, so that what is left when nothing else
is found only counts where nobody else was named. The environment counts last: an agent that was started by another one
inherits all of it.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

Document = Mapping[str, object]

_PASCAL: Final = re.compile(r"[A-Z][A-Za-z]*")
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][A-Za-z]*)?")
_SNAKE: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")
# events that no other agent has
_GEMINI: Final = frozenset(
    {
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "BeforeTool",
        "AfterTool",
        "PreCompress",
    }
)
_GEMINI_TOO: Final = frozenset({"SessionStart", "SessionEnd", "Notification"})
_DROID_MODES: Final = frozenset({"off", "spec", "auto-low", "auto-medium", "auto-high"})

# what agents put into the environment of their hooks, and nobody else does
ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CURSOR_VERSION": "cursor",
        "FACTORY_PROJECT_DIR": "factory-droid",
        "DROID_PROJECT_DIR": "factory-droid",
        "QWEN_PROJECT_DIR": "qwen-code",
        "GEMINI_SESSION_ID": "gemini-cli",
        "CLAUDECODE": "claude-code",
    }
)


class _Sign(Struct, frozen=True):
    """What tells one agent; None is one that we have no dialect for. Signs that are not `sure` overrule nobody."""

    agent: str | None
    is_there: Callable[[Document], bool]
    sure: bool = True


def caller(document: Document, environ: Mapping[str, str] = MappingProxyType({}), *, said: str = "") -> str | None:
    """Name the agent that wrote a document; None where it is none that we know.

    `said` is the agent that somebody named already: it is given back unless the document is clearly another's.
    """
    sign = _sign(document)
    if sign is not None and sign.sure:
        return sign.agent
    if said:
        return said
    hinted = next((agent for name, agent in ENVIRONMENT.items() if environ.get(name)), None)
    return hinted or (sign.agent if sign is not None else None)


def _sign(document: Document) -> _Sign | None:
    """Find the first sign that is there. An agent's documents look alike, and what decides is a small part of them."""
    shape: list[object] = [*document]
    for name in _LOOKED_AT:
        value = document.get(name)
        shape.append(value if isinstance(value, str) else type(value))
    path = str(document.get("transcript_path")).replace("\\", "/")
    shape += [isinstance(document.get("timestamp"), str), _is_number(document)]
    shape += [f"/{folder}/" in path for folder in _FOLDERS]
    key = tuple(shape)
    if key not in _KNOWN:
        if len(_KNOWN) >= _REMEMBERED:
            _KNOWN.clear()
        _KNOWN[key] = next((sign for sign in _SIGNS if sign.is_there(document)), None)
    return _KNOWN[key]


def _has(*keys: str) -> Callable[[Document], bool]:
    return lambda document: all(key in document for key in keys)


def _event(document: Document) -> str:
    name = document.get("hook_event_name")
    return name if isinstance(name, str) else ""


def _is_like(spelling: re.Pattern[str], key: str = "hook_event_name") -> Callable[[Document], bool]:
    def is_there(document: Document) -> bool:
        name = document.get(key)
        return isinstance(name, str) and spelling.fullmatch(name) is not None

    return is_there


def _both(*tests: Callable[[Document], bool]) -> Callable[[Document], bool]:
    return lambda document: all(test(document) for test in tests)


def _either(*tests: Callable[[Document], bool]) -> Callable[[Document], bool]:
    return lambda document: any(test(document) for test in tests)


def _lacks(*keys: str) -> Callable[[Document], bool]:
    return lambda document: not any(key in document for key in keys)


def _is_number(document: Document) -> bool:
    when = document.get("timestamp")
    return isinstance(when, int | float) and not isinstance(when, bool)


def _is_written(document: Document) -> bool:
    return isinstance(document.get("timestamp"), str)


def _is_named(*names: str) -> Callable[[Document], bool]:
    return lambda document: _event(document) in names


def _is_in_mode(document: Document) -> bool:
    mode = document.get("permission_mode")
    return isinstance(mode, str) and mode in _DROID_MODES


def _keeps_its_talks_in(folder: str) -> Callable[[Document], bool]:
    return lambda document: f"/{folder}/" in str(document.get("transcript_path")).replace("\\", "/")


# what signs look at besides the names of keys, the time and the folder of the transcript
_LOOKED_AT: Final = ("hook_event_name", "hookEventName", "permission_mode")
_FOLDERS: Final = (".codex", ".factory")
_REMEMBERED: Final = 512
_IS_PASCAL: Final = _is_like(_PASCAL)
_NAMELESS: Final = _lacks("hook_event_name", "hookEventName")

_KNOWN: Final[dict[tuple[object, ...], _Sign | None]] = {}

# the first that is there decides
_SIGNS: Final = (
    # also where it runs a hook of Claude Code's files
    _Sign("cursor", _has("cursor_version")),
    _Sign("windsurf", _has("agent_action_name")),
    _Sign("cline", _has("clineVersion")),
    # it is our own plugin that says it
    _Sign("opencode", _has("hook", "input", "output")),
    # OpenHands, Goose, Crush
    _Sign(None, _has("event_type", "working_dir")),
    _Sign(None, _both(_has("event"), _NAMELESS)),
    _Sign("antigravity", _both(_NAMELESS, _either(_has("toolCall"), _has("conversationId", "workspacePaths")))),
    # Grok
    _Sign(None, _is_like(_SNAKE, "hookEventName")),
    # its older versions; the others that write the name so are VS Code
    _Sign(
        "factory-droid",
        _both(_is_like(_PASCAL, "hookEventName"), _either(_has("transcriptPath"), _has("permissionMode"))),
    ),
    _Sign(None, _has("hookEventName")),
    # it names one of its events, the others not
    _Sign("copilot-cli", _both(_has("sessionId"), _is_number)),
    _Sign("cursor", _both(_is_like(_CAMEL), _has("conversation_id"))),
    _Sign("kiro", _is_like(_CAMEL)),
    _Sign("gemini-cli", _is_named(*_GEMINI)),
    _Sign("codex-cli", _both(_IS_PASCAL, _has("turn_id", "model"))),
    # Augment
    _Sign(None, _both(_IS_PASCAL, _has("conversation_id", "workspace_roots"))),
    _Sign("qwen-code", _both(_IS_PASCAL, _is_written, _has("permission_mode"))),
    _Sign("gemini-cli", _both(_is_named(*_GEMINI_TOO), _is_written, _has("transcript_path"))),
    # VS Code, where it writes the name as others do
    _Sign(None, _both(_IS_PASCAL, _is_written, _has("transcript_path", "tool_name"))),
    _Sign("copilot-cli", _both(_IS_PASCAL, _is_written)),
    _Sign("factory-droid", _both(_IS_PASCAL, _is_in_mode)),
    # Devin
    _Sign(None, _both(_IS_PASCAL, _has("prompt_id"), _lacks("transcript_path"))),
    _Sign("codex-cli", _both(_IS_PASCAL, _keeps_its_talks_in(".codex")), sure=False),
    _Sign("factory-droid", _both(_IS_PASCAL, _keeps_its_talks_in(".factory")), sure=False),
    _Sign("codex-cli", _both(_is_named("SessionStart"), _has("model", "permission_mode")), sure=False),
    _Sign("claude-code", _IS_PASCAL, sure=False),
)
