"""Gemini CLI: groups of hooks under events in `settings.json`, times in milliseconds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.entries import texts_in
from hookline.config.formats.agents.style import (
    ASIDE,
    COMMAND,
    ENV,
    GROUP,
    NAME,
    PLAIN,
    UNMATCHED,
    WORD,
    Style,
    as_milliseconds,
    as_said,
    milliseconds,
)
from hookline.config.values import Key, flag

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        "name": NAME,
        "env": ENV,
        "timeout": Key(milliseconds, "timeout", about="How long it may take, in milliseconds."),
        "description": ASIDE,
    }
)


def _not(value: object) -> bool:
    return not flag(value)


GROUP_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {**GROUP, "sequential": Key(_not, "parallel", about="Whether they run one after another.")}
)


def _config(settings: Mapping[str, object]) -> Mapping[str, object]:
    found = settings.get("hooksConfig")
    return found if isinstance(found, Mapping) else {}


def _off(settings: Mapping[str, object]) -> str:
    return '"hooksConfig.enabled" switches its hooks off' if _config(settings).get("enabled") is False else ""


def _is_off(settings: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    disabled = set(texts_in(_config(settings).get("disabled")))
    return entry.get("name") in disabled or entry.get("command") in disabled if disabled else False


STYLE: Final = Style(
    keys=KEYS,
    group_keys=GROUP_KEYS,
    elsewhere=MappingProxyType(
        {"runtime": "it is a function of a running program", "plugin": "the agent does not run it itself"}
    ),
    moments=MappingProxyType(
        {
            **dict.fromkeys(("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"), UNMATCHED),
            **dict.fromkeys(("BeforeToolSelection", "Notification"), UNMATCHED),
            **dict.fromkeys(("SessionStart", "SessionEnd", "PreCompress"), WORD),
        }
    ),
    defaults=MappingProxyType({"parallel": True}),
    off=_off,
    is_off=_is_off,
    spelled=MappingProxyType(
        {
            "name": ("name", as_said),
            "command": COMMAND,
            "timeout": ("timeout", as_milliseconds),
            "env": ("env", as_said),
        }
    ),
)
