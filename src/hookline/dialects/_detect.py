"""Detect which agent wrote a document: some agents also run the settings files of another, in their own dialect."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects import DIALECTS

# variables that only one agent sets for its hooks
ENVIRONMENT: Final = (
    *("CURSOR_VERSION", "FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "QWEN_PROJECT_DIR", "GEMINI_SESSION_ID"),
    "CLAUDECODE",
)
# agents whose settings files others run, as their specs say, so that no other dialect is imported to find out
_READERS: Final = {"claude-code": ("cursor", "copilot-cli")}
# a key that documents of such an agent have at events that can be denied, and those of its readers lack
_OWN_KEYS: Final = {"claude-code": "permission_mode"}


def detect_agent(
    document: Mapping[str, object], _environ: Mapping[str, str] = MappingProxyType({}), *, named: str
) -> str | None:
    """Return the agent that wrote a document where it is not the one that the installed command names.

    The environment is no evidence: an agent that another agent started inherits all of it.
    """
    readers = () if _OWN_KEYS.get(named) in document else _READERS.get(named, ())
    specs = (DIALECTS[agent].SPEC for agent in readers)
    return next((spec.name for spec in specs if spec.signature is not None and spec.signature(document)), None)
