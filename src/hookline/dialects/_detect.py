"""Detect which agent wrote a document: some agents also run the settings files of another, in their own dialect."""

from collections.abc import Mapping
from typing import Final

from hookline.dialects import DIALECTS
from hookline.model.dialect import FILE_READERS

# variables that only one agent sets for its hooks
ENVIRONMENT: Final = (
    *("CURSOR_VERSION", "FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "QWEN_PROJECT_DIR", "GEMINI_SESSION_ID"),
    "CLAUDECODE",
)
# keys that documents of an agent have, and those of a reader of its files lack, at events that can be denied
_OWN_KEYS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("claude-code", "cursor"): ("permission_mode",),
    ("claude-code", "copilot-cli"): ("permission_mode", "tool_use_id"),
}


def detect_agent(document: Mapping[str, object], *, named: str) -> str | None:
    """Return the agent that wrote a document where it is not the one that the installed command names.

    The environment is no evidence: an agent that another agent started inherits all of it.
    """
    for agent in FILE_READERS.get(named, ()):
        signature = DIALECTS[agent].SPEC.signature
        has_own_key = any(key in document for key in _OWN_KEYS.get((named, agent), ()))
        if signature is not None and signature(document) and not has_own_key:
            return agent
    return None
