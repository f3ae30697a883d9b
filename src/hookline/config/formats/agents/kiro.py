"""Kiro: a list of hooks with triggers, the older file with `when` and `then`, and hooks inside an agent's file."""

import re
from collections.abc import Mapping
from typing import Final

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.formats.agents import reader as files
from hookline.config.formats.agents.reader import IGNORED, AgentEvent, AgentFileSpec, ConfigEntry, MatchTarget
from hookline.config.keys import LONG, SHARED, Key, any_texts, anything, describe, nonempty_text, read_texts, text
from hookline.config.reader import FileOrigin, FileReader, describe_hook
from hookline.model.hook import Hook
from hookline.model.installed_entry import is_ours
from hookline.model.requirements import Caching

_GLOB: Final = re.compile(r"[\w*-]+", re.ASCII)
# what Kiro calls tools together
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "read": files.READS,
    "write": files.WRITES,
    "shell": files.RUNS,
    "web": files.WEB,
    "@mcp": ("mcp__.*",),
    "@builtin": ("builtin:.*",),
}


def _matcher(value: object) -> str:
    """Read a matcher: names with stars or a pattern, categories, and `@server/tool`."""
    said = text(value)
    if "(" in said:
        return said
    found: list[str] = []
    for word in map(str.strip, said.split("|")):
        if word in _CATEGORIES:
            found += dict.fromkeys((*_CATEGORIES[word], *(() if word.startswith("@") else (word,))))
        elif word.startswith("@"):
            server, _, tool = word[1:].partition("/")
            found.append(f"mcp__{server}__{tool or '*'}".replace("*", ".*"))
        else:
            # a star in what is otherwise a name stands for anything
            found.append(word.replace("*", ".*") if _GLOB.fullmatch(word) else word)
    return "|".join(found)


def _cache(value: object) -> Caching | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Caching(seconds=float(value)) if value else None
    raise ValueError(f"wanted seconds, got {describe(value)}")


def _seconds_or_never(value: object) -> float:
    """Read a time of which 0 means that the hook may take as long as it likes."""
    return float(LONG) if value == 0 and not isinstance(value, bool) else files.whole_seconds(value)


def _events(rows: Mapping[str, str], *, matches: MatchTarget = MatchTarget.NOTHING) -> dict[str, AgentEvent]:
    return {name: AgentEvent(on=(on,), matches=matches) for name, on in rows.items()}


_EVENTS: Final[Mapping[str, AgentEvent]] = {
    **_events(
        {
            "SessionStart": "session_start",
            "AgentSpawn": "session_start",
            "SessionEnd": "session_end",
            "UserPromptSubmit": "before_agent",
            "Stop": "after_agent",
        }
    ),
    **_events({"PreToolUse": "before_tool", "PostToolUse": "after_tool"}, matches=MatchTarget.SUBJECT),
    **_events(
        {"PostFileCreate": "file_created", "PostFileSave": "file_edited", "PostFileDelete": "file_deleted"},
        matches=MatchTarget.PATH,
    ),
}
_LEGACY_EVENTS: Final[Mapping[str, AgentEvent]] = {
    **_events(
        {
            "fileEdited": "file_edited",
            "fileCreated": "file_created",
            "fileDeleted": "file_deleted",
            "userTriggered": "user_triggered",
            "promptSubmit": "before_agent",
            "agentStop": "after_agent",
        }
    ),
    **_events({"preToolUse": "before_tool", "postToolUse": "after_tool"}, matches=MatchTarget.SUBJECT),
}
_TIMED: Final = Key(_seconds_or_never, "timeout", about="How long it may take, in seconds; 0 for as long as it likes.")
_PROMPT: Final = Key(nonempty_text, "prompt", vital=True, about="What to ask the agent.")
_COMMAND: Final = files.PLAIN["command"]
KEYS: Final[Mapping[str, Key]] = {
    "name": files.NAME,
    "trigger": Key(nonempty_text, vital=True, about="The event it runs at."),
    "matcher": SHARED["matcher"],
    "action": Key(anything, about="What it does."),
    "timeout": _TIMED,
    "enabled": files.ENABLED,
    "description": IGNORED,
    "confirm": IGNORED,
    "command": _COMMAND,
    "prompt": _PROMPT,
}
_ACTION: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="Run a command, or ask the agent."),
    "command": _COMMAND,
    "prompt": _PROMPT,
}
# the older file
_WHEN: Final[Mapping[str, Key]] = {
    "type": Key(nonempty_text, vital=True, about="The event it runs at."),
    "patterns": Key(any_texts, "files", vital=True, about="Only for these files."),
    "toolTypes": Key(any_texts, vital=True, about="Only for these tools."),
}
_THEN: Final[Mapping[str, Key]] = {**_ACTION, "timeout": files.PLAIN["timeout"]}


def _finish(_reading: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    agent_event = _EVENTS.get(entry.event) or _LEGACY_EVENTS.get(entry.event)
    if fields.get("matcher") and (agent_event is None or agent_event.matches is MatchTarget.SUBJECT):
        fields["matcher"] = _matcher(fields["matcher"])
    return fields


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file with a list of hooks."""
    reader = FileReader(document, origin)
    value = document.value
    hooks = value.get("hooks") if isinstance(value, Mapping) else None
    if not isinstance(hooks, list):
        reader.error((), f'wanted an object with a list "hooks", got {describe(value)}')
        return [], reader.problems
    for number, entry in enumerate(hooks):
        _read_hook(reader, entry, ("hooks", number), spec=SPEC)
    return reader.hooks, reader.problems


def read_legacy(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file that is one hook with `when` and `then`."""
    reader = FileReader(document, origin)
    _read_hook(reader, document.value, (), spec=LEGACY_SPEC)
    return reader.hooks, reader.problems


def _read_hook(reader: FileReader, entry: object, where: KeyPath, *, spec: AgentFileSpec) -> None:
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return
    owner = describe_hook(entry)
    is_legacy = spec is LEGACY_SPEC
    at = (*where, "then" if is_legacy else "action")
    action = entry.get(at[-1])
    if isinstance(action, Mapping) and is_ours(str(action.get("command", ""))):
        return
    is_runnable = not isinstance(action, Mapping) or files.is_runnable(reader, action, at, spec=spec, owner=owner)
    values = reader.read_keys(
        entry, {key: spec.keys[key] for key in spec.keys if key not in _ACTION}, where, owner=owner
    )
    when = reader.read_part(entry, _WHEN, (*where, "when"), owner=owner) if is_legacy else {}
    does = reader.read_part(entry, _THEN if is_legacy else _ACTION, at, owner=owner) if is_runnable else None
    if values is None or when is None or does is None:
        return
    event = str(when.get("type", "") if is_legacy else values.get("trigger", ""))
    place = (*where, "when", "type") if is_legacy else (*where, "trigger")
    agent_event = files.resolve_event(reader, event, place, spec=spec)
    limit = next((name for name in ("patterns", "toolTypes") if when.get(name) == ()), "")
    if agent_event is not None and limit:
        reader.warn((*where, "when", limit), f"{owner} never runs: it is for none of them")
    elif agent_event is not None:
        given = {**values, **does}
        given.pop("type", None)
        if when.get("patterns"):
            given["files"] = when["patterns"]
        if types := read_texts(when, "toolTypes"):
            given["matcher"] = "|".join(types)
        one = ConfigEntry(event=event, values=given, where=where, owner=owner)
        files.add_entry(reader, one, spec=spec, agent_event=agent_event, shared={})


SPEC: Final = AgentFileSpec(
    read=read,
    project=(".kiro/hooks/*.json",),
    home=(".kiro/hooks/*.json",),
    keys=KEYS,
    allows_ungrouped=True,
    types={"command": "command", "agent": "prompt"},
    events=_EVENTS,
    finish=_finish,
    writers={**files.WRITERS, "name": "name", "prompt": "prompt", "enabled": "enabled"},
    header={"version": "v1"},
)
AGENT_SPEC: Final = AgentFileSpec(
    project=(".kiro/agents/*.json",),
    home=(".kiro/agents/*.json",),
    stem="default",
    keys={
        "command": _COMMAND,
        "matcher": SHARED["matcher"],
        "timeout_ms": Key(files.milliseconds, "timeout", about="How long it may take, in milliseconds."),
        "cache_ttl_seconds": Key(_cache, "cache", about="How long an answer holds; 0 for not at all."),
        "only_when_turn_complete": IGNORED,
        "max_output_size": IGNORED,
        "description": IGNORED,
    },
    allows_ungrouped=True,
    events={
        **_events({"agentSpawn": "session_start", "userPromptSubmit": "before_agent", "stop": "after_agent"}),
        **_events({"preToolUse": "before_tool", "postToolUse": "after_tool"}, matches=MatchTarget.SUBJECT),
    },
    finish=_finish,
    writers={"command": "command", "timeout": "timeout_ms"},
    converters={"timeout": files.as_milliseconds},
)
LEGACY_SPEC: Final = AgentFileSpec(
    project=(".kiro/hooks/*.kiro.hook",),
    read=read_legacy,
    keys={
        "name": files.NAME,
        "enabled": files.ENABLED,
        **dict.fromkeys(("description", "version", "when", "then", "shortName", "workspaceFolderName"), IGNORED),
        "files": files.FIELDS["files"],
        "matcher": SHARED["matcher"],
        "command": _COMMAND,
        "prompt": _PROMPT,
        "timeout": files.FIELDS["timeout"],
    },
    types={"runCommand": "command", "askAgent": "prompt"},
    events=_LEGACY_EVENTS,
    finish=_finish,
)
