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
ACTION: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="Run a command, or ask the agent."),
    "command": _COMMAND,
    "prompt": _PROMPT,
}


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
        where: KeyPath = ("hooks", number)
        if not isinstance(entry, Mapping):
            reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
            continue
        owner = describe_hook(entry)
        action = entry.get("action")
        if not isinstance(action, Mapping):
            reader.error(where, f'{owner} needs an object "action", got {describe(action)}; the hook is not loaded')
            continue
        at = (*where, "action")
        if is_ours(str(action.get("command", ""))) or not files.is_runnable(reader, action, at, spec=SPEC, owner=owner):
            continue
        values = reader.read_keys(entry, {key: KEYS[key] for key in KEYS if key not in ACTION}, where, owner=owner)
        does = reader.read_keys(action, ACTION, at, owner=f'"action" of {owner}')
        if values is None or does is None:
            continue
        trigger = str(values.get("trigger", ""))
        agent_event = files.resolve_event(reader, trigger, (*where, "trigger"), spec=SPEC)
        if agent_event is not None:
            does.pop("type", None)
            one = ConfigEntry(event=trigger, values={**values, **does}, where=where, owner=owner)
            files.add_entry(reader, one, spec=SPEC, agent_event=agent_event, shared={})
    return reader.hooks, reader.problems


# the older file

_PARTS: Final[Mapping[str, Mapping[str, Key]]] = {
    "when": {
        "type": Key(nonempty_text, vital=True, about="The event it runs at."),
        "patterns": Key(any_texts, "files", vital=True, about="Only for these files."),
        "toolTypes": Key(any_texts, vital=True, about="Only for these tools."),
    },
    "then": {
        "type": Key(text, vital=True, about="Ask the agent, or run a command."),
        "command": _COMMAND,
        "prompt": _PROMPT,
        "timeout": Key(files.whole_seconds, "timeout", about="How long it may take, in seconds."),
    },
}


def read_legacy(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file that is one hook with `when` and `then`."""
    reader = FileReader(document, origin)
    entry = document.value
    if not isinstance(entry, Mapping):
        reader.error((), f"wanted an object for a hook, got {describe(entry)}")
        return [], reader.problems
    owner = describe_hook(entry)
    parts = []
    for name, keys in _PARTS.items():
        part = entry.get(name)
        if not isinstance(part, Mapping):
            reader.error((name,), f'{owner} needs an object "{name}", got {describe(part)}; the hook is not loaded')
        elif name != "then" or files.is_runnable(reader, part, (name,), spec=LEGACY_SPEC, owner=owner):
            parts.append(reader.read_keys(part, keys, (name,), owner=f'"{name}" of {owner}'))
    values = reader.read_keys(entry, LEGACY_SPEC.keys, (), owner=owner)
    match parts:
        case [dict() as when, dict() as then] if values is not None:
            _add_legacy(reader, values, when, then, owner=owner)
    return reader.hooks, reader.problems


def _add_legacy(
    reader: FileReader, values: dict[str, object], when: dict[str, object], then: dict[str, object], *, owner: str
) -> None:
    event = str(when.get("type", ""))
    agent_event = files.resolve_event(reader, event, ("when", "type"), spec=LEGACY_SPEC)
    if agent_event is None or is_ours(str(then.get("command", ""))):
        return
    limit = next((name for name in ("patterns", "toolTypes") if when.get(name) == ()), "")
    if limit:
        reader.warn(("when", limit), f"{owner} never runs: it is for none of them")
        return
    then.pop("type", None)
    if when.get("patterns"):
        then["files"] = when["patterns"]
    if types := read_texts(when, "toolTypes"):
        then["matcher"] = "|".join(types)
    one = ConfigEntry(event=event, values={**values, **then}, where=(), owner=owner)
    files.add_entry(reader, one, spec=LEGACY_SPEC, agent_event=agent_event, shared={})


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
