"""Detect which agent wrote a document: some agents also run the settings files of another, in their own dialect."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects import DIALECTS
from hookline.model.agents import FILE_READERS

# variables that only one agent sets for its hooks
ENVIRONMENT: Final = (
    *("CURSOR_VERSION", "FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "QWEN_PROJECT_DIR", "GEMINI_SESSION_ID"),
    "CLAUDECODE",
)
# a key that documents of an agent have at events that can be denied, and those of the readers of its files lack
_OWN_KEYS: Final = {"claude-code": "permission_mode"}


def detect_agent(
    document: Mapping[str, object], _environ: Mapping[str, str] = MappingProxyType({}), *, named: str
) -> str | None:
    """Return the agent that wrote a document where it is not the one that the installed command names.

    The environment is no evidence: an agent that another agent started inherits all of it.
    """
    readers = () if _OWN_KEYS.get(named) in document else FILE_READERS.get(named, ())
    specs = (DIALECTS[agent].SPEC for agent in readers)
    return next((spec.name for spec in specs if spec.signature is not None and spec.signature(document)), None)
