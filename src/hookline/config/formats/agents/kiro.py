"""Kiro: a list of hooks with triggers, the older file with `when` and `then`, and hooks inside an agent's file."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.formats.agents.entries import FIELDS, add, moment_of, runs_here
from hookline.config.formats.agents.style import (
    ASIDE,
    COMMAND,
    NAME,
    READS,
    RUNS,
    SWITCH,
    WEB,
    WRITES,
    Aim,
    Entry,
    Moment,
    Style,
    as_milliseconds,
    as_said,
    as_seconds,
    milliseconds,
    seconds_or_never,
    whole_seconds,
)
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.values import SHARED, Key, any_texts, describe, filled, ignored, text, words
from hookline.model.hook import Hook
from hookline.model.ours import is_ours
from hookline.model.policy import Caching

_GLOB: Final = re.compile(r"[\w*-]+", re.ASCII)
# what Kiro calls tools together
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "read": READS,
        "write": WRITES,
        "shell": RUNS,
        "web": WEB,
        "@mcp": ("mcp__.*",),
        "@builtin": ("builtin:.*",),
    }
)


def _matcher(value: object) -> str:
    """Read a matcher: names with stars or a pattern, categories, and `@server/tool`."""
    said = text(value)
    return "|".join(_tools(word.strip()) for word in said.split("|")) if "(" not in said else said


def _tools(word: str) -> str:
    """Read one name of a matcher; a star in what is otherwise a name stands for anything."""
    if word in _CATEGORIES:
        return "|".join(dict.fromkeys((*_CATEGORIES[word], *(() if word.startswith("@") else (word,)))))
    if not word.startswith("@"):
        return word.replace("*", ".*") if _GLOB.fullmatch(word) else word
    server, _, tool = word[1:].partition("/")
    return f"mcp__{server}__{tool or '*'}".replace("*", ".*")


def _cache(value: object) -> Caching | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Caching(seconds=float(value)) if value else None
    raise ValueError(f"wanted seconds, got {describe(value)}")


_FILE: Final = Aim.PATH
_MOMENTS: Final[Mapping[str, Moment]] = MappingProxyType(
    {
        "SessionStart": Moment(on=("session_start",), aim=Aim.NOTHING),
        "AgentSpawn": Moment(on=("session_start",), aim=Aim.NOTHING),
        "SessionEnd": Moment(on=("session_end",), aim=Aim.NOTHING),
        "UserPromptSubmit": Moment(on=("before_agent",), aim=Aim.NOTHING),
        "Stop": Moment(on=("after_agent",), aim=Aim.NOTHING),
        "PreToolUse": Moment(on=("before_tool",)),
        "PostToolUse": Moment(on=("after_tool",)),
        "PostFileCreate": Moment(on=("file_created",), aim=_FILE),
        "PostFileSave": Moment(on=("file_edited",), aim=_FILE),
        "PostFileDelete": Moment(on=("file_deleted",), aim=_FILE),
    }
)
_TIMED: Final = Key(seconds_or_never, "timeout", about="How long it may take, in seconds; 0 for as long as it likes.")
_PROMPT: Final = Key(filled, "prompt", vital=True, about="What to ask the agent.")
_COMMAND: Final = Key(filled, "command", vital=True, about="The line to run.")
KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "name": NAME,
        "trigger": Key(filled, vital=True, about="The event it runs at."),
        "matcher": SHARED["matcher"],
        "action": Key(ignored, about="What it does."),
        "timeout": _TIMED,
        "enabled": SWITCH,
        "description": ASIDE,
        "confirm": ASIDE,
        "command": _COMMAND,
        "prompt": _PROMPT,
    }
)
ACTION: Final[Mapping[str, Key]] = MappingProxyType(
    {"type": Key(text, vital=True, about="Run a command, or ask the agent."), "command": _COMMAND, "prompt": _PROMPT}
)


def _finish(_reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:
    moment = _MOMENTS.get(entry.event) or _LEGACY_MOMENTS.get(entry.event)
    if fields.get("matcher") and (moment is None or moment.aim is Aim.SUBJECT):
        fields["matcher"] = _matcher(fields["matcher"])
    return fields


STYLE: Final = Style(
    keys=KEYS,
    alone=True,
    types=MappingProxyType({"command": "command", "agent": "prompt"}),
    moments=_MOMENTS,
    finish=_finish,
    spelled=MappingProxyType(
        {
            "name": ("name", as_said),
            "command": COMMAND,
            "prompt": ("prompt", as_said),
            "timeout": ("timeout", as_seconds),
            "enabled": ("enabled", as_said),
        }
    ),
    around=MappingProxyType({"version": "v1"}),
)

AGENT: Final = Style(
    keys=MappingProxyType(
        {
            "command": _COMMAND,
            "matcher": SHARED["matcher"],
            "timeout_ms": Key(milliseconds, "timeout", about="How long it may take, in milliseconds."),
            "cache_ttl_seconds": Key(_cache, "cache", about="How long an answer holds; 0 for not at all."),
            "only_when_turn_complete": ASIDE,
            "max_output_size": ASIDE,
            "description": ASIDE,
        }
    ),
    alone=True,
    moments=MappingProxyType(
        {
            "agentSpawn": Moment(on=("session_start",), aim=Aim.NOTHING),
            "userPromptSubmit": Moment(on=("before_agent",), aim=Aim.NOTHING),
            "stop": Moment(on=("after_agent",), aim=Aim.NOTHING),
            "preToolUse": Moment(on=("before_tool",)),
            "postToolUse": Moment(on=("after_tool",)),
        }
    ),
    finish=_finish,
    spelled=MappingProxyType({"command": COMMAND, "timeout": ("timeout_ms", as_milliseconds)}),
)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read a file with a list of hooks."""
    reading = Reading(document, origin)
    value = document.value
    hooks = value.get("hooks") if isinstance(value, Mapping) else None
    if not isinstance(hooks, list):
        reading.error((), f'wanted an object with a list "hooks", got {describe(value)}')
        return [], reading.problems
    for number, entry in enumerate(hooks):
        where: KeyPath = ("hooks", number)
        if isinstance(entry, Mapping):
            _hook(reading, entry, where)
        else:
            reading.error(where, f"wanted an object for a hook, got {describe(entry)}")
    return reading.hooks, reading.problems


def _hook(reading: Reading, entry: Mapping[str, object], where: KeyPath) -> None:
    owner = owner_of(entry)
    action = entry.get("action")
    if not isinstance(action, Mapping):
        reading.error(where, f'{owner} needs an object "action", got {describe(action)}; the hook is not loaded')
        return
    if is_ours(str(action.get("command", ""))) or not runs_here(
        reading, action, (*where, "action"), style=STYLE, owner=owner
    ):
        return
    values = reading.values(entry, {key: KEYS[key] for key in KEYS if key not in ACTION}, where, owner=owner)
    does = reading.values(action, ACTION, (*where, "action"), owner=f'"action" of {owner}')
    if values is None or does is None:
        return
    trigger = str(values.get("trigger", ""))
    moment = moment_of(reading, trigger, (*where, "trigger"), style=STYLE)
    if moment is not None:
        given = {**values, **{name: value for name, value in does.items() if name != "type"}}
        one = Entry(event=trigger, values=given, where=where, owner=owner)
        add(reading, one, style=STYLE, moment=moment, shared={})


# the older file

_LEGACY_MOMENTS: Final[Mapping[str, Moment]] = MappingProxyType(
    {
        "fileEdited": Moment(on=("file_edited",), aim=Aim.NOTHING),
        "fileCreated": Moment(on=("file_created",), aim=Aim.NOTHING),
        "fileDeleted": Moment(on=("file_deleted",), aim=Aim.NOTHING),
        "userTriggered": Moment(on=("user_triggered",), aim=Aim.NOTHING),
        "promptSubmit": Moment(on=("before_agent",), aim=Aim.NOTHING),
        "agentStop": Moment(on=("after_agent",), aim=Aim.NOTHING),
        "preToolUse": Moment(on=("before_tool",)),
        "postToolUse": Moment(on=("after_tool",)),
    }
)
_PARTS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {
        "when": MappingProxyType(
            {
                "type": Key(filled, vital=True, about="The event it runs at."),
                "patterns": Key(any_texts, "files", vital=True, about="Only for these files."),
                "toolTypes": Key(any_texts, vital=True, about="Only for these tools."),
            }
        ),
        "then": MappingProxyType(
            {
                "type": Key(text, vital=True, about="Ask the agent, or run a command."),
                "command": _COMMAND,
                "prompt": _PROMPT,
                "timeout": Key(whole_seconds, "timeout", about="How long it may take, in seconds."),
            }
        ),
    }
)
LEGACY: Final = Style(
    keys=MappingProxyType(
        {
            "name": NAME,
            "enabled": SWITCH,
            **dict.fromkeys(("description", "version", "when", "then", "shortName", "workspaceFolderName"), ASIDE),
            "files": FIELDS["files"],
            "matcher": SHARED["matcher"],
            "command": _COMMAND,
            "prompt": _PROMPT,
            "timeout": FIELDS["timeout"],
        }
    ),
    types=MappingProxyType({"runCommand": "command", "askAgent": "prompt"}),
    moments=_LEGACY_MOMENTS,
    finish=_finish,
)


def read_legacy(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read a file that is one hook with `when` and `then`."""
    reading = Reading(document, origin)
    entry = document.value
    if not isinstance(entry, Mapping):
        reading.error((), f"wanted an object for a hook, got {describe(entry)}")
        return [], reading.problems
    owner = owner_of(entry)
    parts = {name: _part(reading, entry, name, owner=owner) for name in _PARTS}
    values = reading.values(entry, LEGACY.keys, (), owner=owner)
    when, then = parts["when"], parts["then"]
    if values is not None and when is not None and then is not None:
        _legacy(reading, values, when, then, owner=owner)
    return reading.hooks, reading.problems


def _part(reading: Reading, entry: Mapping[str, object], name: str, *, owner: str) -> dict[str, object] | None:
    part = entry.get(name)
    if not isinstance(part, Mapping):
        reading.error((name,), f'{owner} needs an object "{name}", got {describe(part)}; the hook is not loaded')
        return None
    if name == "then" and not runs_here(reading, part, (name,), style=LEGACY, owner=owner):
        return None
    return reading.values(part, _PARTS[name], (name,), owner=f'"{name}" of {owner}')


def _legacy(
    reading: Reading,
    values: dict[str, object],
    when: Mapping[str, object],
    then: Mapping[str, object],
    *,
    owner: str,
) -> None:
    event = str(when.get("type", ""))
    moment = moment_of(reading, event, ("when", "type"), style=LEGACY)
    if moment is None or is_ours(str(then.get("command", ""))):
        return
    limit = next((name for name in ("patterns", "toolTypes") if when.get(name) == ()), "")
    if limit:
        reading.warn(("when", limit), f"{owner} never runs: it is for none of them")
        return
    types = words(when, "toolTypes")
    given = {
        **values,
        **{name: value for name, value in then.items() if name != "type"},
        **({"files": when["patterns"]} if when.get("patterns") else {}),
        **({"matcher": "|".join(types)} if types else {}),
    }
    add(reading, Entry(event=event, values=given, where=(), owner=owner), style=LEGACY, moment=moment, shared={})
