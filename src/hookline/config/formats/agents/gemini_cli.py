"""Gemini CLI: groups of hooks under events in `settings.json`, times in milliseconds."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents.reader import iter_texts
from hookline.config.formats.agents.spec import (
    COMMAND,
    ENV,
    GROUP,
    IGNORED,
    NAME,
    PLAIN,
    UNMATCHED,
    WORD,
    AgentFileSpec,
    as_is,
    as_milliseconds,
    milliseconds,
)
from hookline.config.keys import Key, flag

KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    "name": NAME,
    "env": ENV,
    "timeout": Key(milliseconds, "timeout", about="How long it may take, in milliseconds."),
    "description": IGNORED,
}


def _not(value: object) -> bool:
    return not flag(value)


GROUP_KEYS: Final[Mapping[str, Key]] = {
    **GROUP,
    "sequential": Key(_not, "parallel", about="Whether they run one after another."),
}


def _config(settings: Mapping[str, object]) -> Mapping[str, object]:
    found = settings.get("hooksConfig")
    return found if isinstance(found, Mapping) else {}


def _off(settings: Mapping[str, object]) -> str:
    return '"hooksConfig.enabled" switches its hooks off' if _config(settings).get("enabled") is False else ""


def _is_off(settings: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    disabled = set(iter_texts(_config(settings).get("disabled")))
    return entry.get("name") in disabled or entry.get("command") in disabled if disabled else False


SPEC: Final = AgentFileSpec(
    project=(".gemini/settings.json",),
    home=(".gemini/settings.json",),
    keys=KEYS,
    group_keys=GROUP_KEYS,
    agent_only={"runtime": "it is a function of a running program", "plugin": "the agent does not run it itself"},
    events={
        **dict.fromkeys(("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"), UNMATCHED),
        **dict.fromkeys(("BeforeToolSelection", "Notification"), UNMATCHED),
        **dict.fromkeys(("SessionStart", "SessionEnd", "PreCompress"), WORD),
    },
    defaults={"parallel": True},
    why_disabled=_off,
    is_disabled=_is_off,
    writers={
        "name": ("name", as_is),
        "command": COMMAND,
        "timeout": ("timeout", as_milliseconds),
        "env": ("env", as_is),
    },
)
