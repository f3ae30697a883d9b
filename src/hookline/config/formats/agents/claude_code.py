"""Claude Code: groups of hooks under events in `settings.json`."""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.rules import rule
from hookline.config.formats.agents.style import (
    ASIDE,
    COMMAND,
    GROUP,
    LATER,
    PLAIN,
    SECONDS,
    UNMATCHED,
    Aim,
    Entry,
    Moment,
    Style,
    all_off,
    as_said,
)
from hookline.config.reading import Reading
from hookline.config.scripts import command_of
from hookline.config.values import SHARED, Key, describe, filled, on_error, text, texts

_PLACE: Final = re.compile(r"\$\{(\w+)\}")
# at these, a rule can be asked; at any other event a hook with one never runs
_RULED: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})
_SHELLS: Final = ("bash", "powershell")


def _shell(value: object) -> str:
    if value in _SHELLS:
        return text(value)
    raise ValueError(f"wanted bash or powershell, got {describe(value)}")


WEB: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "url": Key(filled, "url", vital=True, about="The URL to send the event to."),
        "headers": SHARED["headers"],
        "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
    }
)
KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        **WEB,
        "args": Key(texts, "args", vital=True, about="Words of its own: then no shell reads the command."),
        "shell": Key(_shell, vital=True, about="The shell that reads the line."),
        "if": Key(filled, vital=True, about="A permission rule: it runs only for such calls."),
        "async": LATER,
        "asyncRewake": LATER,
        "onFailure": Key(on_error, "on_error", about="What its failure means."),
        "once": ASIDE,
        "statusMessage": ASIDE,
        "description": ASIDE,
    }
)
ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prompt": "the agent asks a model of its own",
        "agent": "the agent starts another agent",
        "mcp_tool": "the agent calls a tool of a server it is connected to",
    }
)


def finish(reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:
    """See to rules, shells, words of their own, and variables in headers."""
    values = entry.values
    if values.get("shell") == "powershell" and "args" not in values:
        reading.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    if values.get("asyncRewake"):
        reading.note((*entry.where, "asyncRewake"), f"{entry.owner} cannot wake other agents; they go on without it")
    if "args" in values:
        fields |= _words(str(fields.get("command", "")), tuple(map(str, texts(list(values["args"])))))  # type: ignore[call-overload]
    if "if" in values:
        ruled = _ruled(reading, entry, str(values["if"]))
        if ruled is None:
            return None
        fields |= ruled
    return with_variables(entry, fields)


def _ruled(reading: Reading, entry: Entry, said: str) -> dict[str, object] | None:
    place = (*entry.where, "if")
    if entry.event not in _RULED:
        reading.warn(place, f"{entry.owner} never runs: at this event there is no call that its rule could be about")
        return None
    try:
        return rule(said)
    except ValueError as problem:
        reading.warn(place, f"the rule of {entry.owner}: {problem}; the hook is not loaded, so it runs only there")
        return None


def with_variables(entry: Entry, fields: dict[str, object]) -> dict[str, object]:
    """Let headers name the variables they may; where they name none, they are as they stand."""
    headers = fields.get("headers")
    if isinstance(headers, Mapping) and any("$" in str(value) for value in headers.values()):
        allowed = entry.values.get("allowedEnvVars", ())
        fields["header_env"] = allowed
    return fields


def _words(program: str, args: tuple[str, ...]) -> dict[str, object]:
    """Give a command in words of its own; with placeholders in them, a shell fills these in and splits nothing."""
    if not any(_PLACE.search(word) for word in (program, *args)):
        return {"command": command_of(program, args), "args": args, "shell": False}
    return {"command": " ".join(map(_quoted, (program, *args))), "args": ()}


def _quoted(word: str) -> str:
    if not _PLACE.search(word):
        return shlex.quote(word)
    plain = re.sub(r'([\\"`$])', r"\\\1", word)
    return '"' + re.sub(r"\\\$\{(\w+)\}", r"${\1}", plain) + '"'


# what writes have in common among those who write like Claude Code
SPELLED: Final = MappingProxyType({"command": COMMAND, "timeout": SECONDS})

STYLE: Final = Style(
    keys=KEYS,
    group_keys=GROUP,
    types=MappingProxyType({"command": "command", "http": "url"}),
    elsewhere=ELSEWHERE,
    moments=MappingProxyType({"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED, "FileChanged": Moment(aim=Aim.FILES)}),
    defaults=MappingProxyType({"parallel": True}),
    finish=finish,
    off=all_off,
    spelled=MappingProxyType(
        {
            **SPELLED,
            "url": ("url", as_said),
            "headers": ("headers", as_said),
            "header_env": ("allowedEnvVars", as_said),
            "background": ("async", as_said),
            "on_error": ("onFailure", str),
        }
    ),
)
