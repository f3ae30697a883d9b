"""Find the version of the agent that makes a call, where the agent says it."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from hookline.files import read_regular_file
from hookline.model.event import Event, EventName

# bytes at the beginning of a transcript, whose first line describes the session
_HEAD: Final = 16_384
_CLI_VERSION: Final = re.compile(rb'"cli_version"\s*:\s*"([^"\\]{1,40})"')
# "claude-code_2-1-325_harness"
_AGENT_VARIABLE: Final = re.compile(r"claude-code_(\d+(?:-\d+)*)_")
# reading a file is for events that a session has few of
_RARE: Final = frozenset({EventName.SESSION_START, EventName.AFTER_AGENT})


def find_agent_version(event: Event, environ: Mapping[str, str]) -> str:
    """Return the version of the agent that raised an event; empty where the agent does not say it."""
    find = _FINDERS.get(event.host)
    return find(event, environ) if find is not None else ""


def _from_variable(_event: Event, environ: Mapping[str, str]) -> str:
    found = _AGENT_VARIABLE.match(environ.get("AI_AGENT", ""))
    return found[1].replace("-", ".") if found is not None else ""


def _from_payload(event: Event, _environ: Mapping[str, str]) -> str:
    version = event.data.get("cursor_version")
    return version[:40] if isinstance(version, str) else ""


def _from_transcript(event: Event, _environ: Mapping[str, str]) -> str:
    path = event.data.get("transcript_path")
    if event.name not in _RARE or not isinstance(path, str) or not path:
        return ""
    found = _CLI_VERSION.search(read_regular_file(path, _HEAD) or b"")
    return found[1].decode("utf-8", "replace") if found is not None else ""


_FINDERS: Final[Mapping[str, Callable[[Event, Mapping[str, str]], str]]] = {
    "claude-code": _from_variable,
    "codex-cli": _from_transcript,
    "cursor": _from_payload,
}
