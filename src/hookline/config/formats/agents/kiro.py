"""Kiro: a list of hooks with triggers, the older file with `when` and `then`, and hooks inside an agent's file."""

import re
from collections.abc import Mapping
from typing import Final

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.formats.agents.reader import FIELDS, add_entry, is_runnable, resolve_event
from hookline.config.formats.agents.spec import (
    COMMAND,
    ENABLED,
    IGNORED,
    NAME,
    READS,
    RUNS,
    WEB,
    WRITES,
    AgentEvent,
    AgentFileSpec,
    ConfigEntry,
    MatchTarget,
    as_is,
    as_milliseconds,
    as_seconds,
    milliseconds,
    seconds_or_never,
    whole_seconds,
)
from hookline.config.keys import SHARED, Key, any_texts, anything, describe, nonempty_text, read_texts, text
from hookline.config.reader import FileOrigin, FileReader, describe_hook
from hookline.model.hook import Hook
from hookline.model.installed_entry import is_ours
from hookline.model.requirements import Caching

_GLOB: Final = re.compile(r"[\w*-]+", re.ASCII)
# what Kiro calls tools together
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "read": READS,
    "write": WRITES,
    "shell": RUNS,
    "web": WEB,
    "@mcp": ("mcp__.*",),
    "@builtin": ("builtin:.*",),
}


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


_FILE: Final = MatchTarget.PATH
_MOMENTS: Final[Mapping[str, AgentEvent]] = {
    "SessionStart": AgentEvent(on=("session_start",), matches=MatchTarget.NOTHING),
    "AgentSpawn": AgentEvent(on=("session_start",), matches=MatchTarget.NOTHING),
    "SessionEnd": AgentEvent(on=("session_end",), matches=MatchTarget.NOTHING),
    "UserPromptSubmit": AgentEvent(on=("before_agent",), matches=MatchTarget.NOTHING),
    "Stop": AgentEvent(on=("after_agent",), matches=MatchTarget.NOTHING),
    "PreToolUse": AgentEvent(on=("before_tool",)),
    "PostToolUse": AgentEvent(on=("after_tool",)),
    "PostFileCreate": AgentEvent(on=("file_created",), matches=_FILE),
    "PostFileSave": AgentEvent(on=("file_edited",), matches=_FILE),
    "PostFileDelete": AgentEvent(on=("file_deleted",), matches=_FILE),
}
_TIMED: Final = Key(seconds_or_never, "timeout", about="How long it may take, in seconds; 0 for as long as it likes.")
_PROMPT: Final = Key(nonempty_text, "prompt", vital=True, about="What to ask the agent.")
_COMMAND: Final = Key(nonempty_text, "command", vital=True, about="The line to run.")
KEYS: Final[Mapping[str, Key]] = {
    "name": NAME,
    "trigger": Key(nonempty_text, vital=True, about="The event it runs at."),
    "matcher": SHARED["matcher"],
    "action": Key(anything, about="What it does."),
    "timeout": _TIMED,
    "enabled": ENABLED,
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
    agent_event = _MOMENTS.get(entry.event) or _LEGACY_MOMENTS.get(entry.event)
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
        if isinstance(entry, Mapping):
            _hook(reader, entry, where)
        else:
            reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
    return reader.hooks, reader.problems


def _hook(reader: FileReader, entry: Mapping[str, object], where: KeyPath) -> None:
    owner = describe_hook(entry)
    action = entry.get("action")
    if not isinstance(action, Mapping):
        reader.error(where, f'{owner} needs an object "action", got {describe(action)}; the hook is not loaded')
        return
    if is_ours(str(action.get("command", ""))) or not is_runnable(
        reader, action, (*where, "action"), spec=SPEC, owner=owner
    ):
        return
    values = reader.read_keys(entry, {key: KEYS[key] for key in KEYS if key not in ACTION}, where, owner=owner)
    does = reader.read_keys(action, ACTION, (*where, "action"), owner=f'"action" of {owner}')
    if values is None or does is None:
        return
    trigger = str(values.get("trigger", ""))
    agent_event = resolve_event(reader, trigger, (*where, "trigger"), spec=SPEC)
    if agent_event is not None:
        given = {**values, **{name: value for name, value in does.items() if name != "type"}}
        one = ConfigEntry(event=trigger, values=given, where=where, owner=owner)
        add_entry(reader, one, spec=SPEC, agent_event=agent_event, shared={})


# the older file

_LEGACY_MOMENTS: Final[Mapping[str, AgentEvent]] = {
    "fileEdited": AgentEvent(on=("file_edited",), matches=MatchTarget.NOTHING),
    "fileCreated": AgentEvent(on=("file_created",), matches=MatchTarget.NOTHING),
    "fileDeleted": AgentEvent(on=("file_deleted",), matches=MatchTarget.NOTHING),
    "userTriggered": AgentEvent(on=("user_triggered",), matches=MatchTarget.NOTHING),
    "promptSubmit": AgentEvent(on=("before_agent",), matches=MatchTarget.NOTHING),
    "agentStop": AgentEvent(on=("after_agent",), matches=MatchTarget.NOTHING),
    "preToolUse": AgentEvent(on=("before_tool",)),
    "postToolUse": AgentEvent(on=("after_tool",)),
}
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
        "timeout": Key(whole_seconds, "timeout", about="How long it may take, in seconds."),
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
    parts = {name: _part(reader, entry, name, owner=owner) for name in _PARTS}
    values = reader.read_keys(entry, LEGACY_SPEC.keys, (), owner=owner)
    when, then = parts["when"], parts["then"]
    if values is not None and when is not None and then is not None:
        _legacy(reader, values, when, then, owner=owner)
    return reader.hooks, reader.problems


def _part(reader: FileReader, entry: Mapping[str, object], name: str, *, owner: str) -> dict[str, object] | None:
    part = entry.get(name)
    if not isinstance(part, Mapping):
        reader.error((name,), f'{owner} needs an object "{name}", got {describe(part)}; the hook is not loaded')
        return None
    if name == "then" and not is_runnable(reader, part, (name,), spec=LEGACY_SPEC, owner=owner):
        return None
    return reader.read_keys(part, _PARTS[name], (name,), owner=f'"{name}" of {owner}')


def _legacy(
    reader: FileReader, values: dict[str, object], when: Mapping[str, object], then: Mapping[str, object], *, owner: str
) -> None:
    event = str(when.get("type", ""))
    agent_event = resolve_event(reader, event, ("when", "type"), spec=LEGACY_SPEC)
    if agent_event is None or is_ours(str(then.get("command", ""))):
        return
    limit = next((name for name in ("patterns", "toolTypes") if when.get(name) == ()), "")
    if limit:
        reader.warn(("when", limit), f"{owner} never runs: it is for none of them")
        return
    types = read_texts(when, "toolTypes")
    given = {
        **values,
        **{name: value for name, value in then.items() if name != "type"},
        **({"files": when["patterns"]} if when.get("patterns") else {}),
        **({"matcher": "|".join(types)} if types else {}),
    }
    add_entry(
        reader,
        ConfigEntry(event=event, values=given, where=(), owner=owner),
        spec=LEGACY_SPEC,
        agent_event=agent_event,
        shared={},
    )


SPEC: Final = AgentFileSpec(
    read=read,
    project=(".kiro/hooks/*.json",),
    home=(".kiro/hooks/*.json",),
    keys=KEYS,
    allows_ungrouped=True,
    types={"command": "command", "agent": "prompt"},
    events=_MOMENTS,
    finish=_finish,
    writers={
        "name": ("name", as_is),
        "command": COMMAND,
        "prompt": ("prompt", as_is),
        "timeout": ("timeout", as_seconds),
        "enabled": ("enabled", as_is),
    },
    header={"version": "v1"},
)
AGENT_SPEC: Final = AgentFileSpec(
    project=(".kiro/agents/*.json",),
    home=(".kiro/agents/*.json",),
    stem="default",
    keys={
        "command": _COMMAND,
        "matcher": SHARED["matcher"],
        "timeout_ms": Key(milliseconds, "timeout", about="How long it may take, in milliseconds."),
        "cache_ttl_seconds": Key(_cache, "cache", about="How long an answer holds; 0 for not at all."),
        "only_when_turn_complete": IGNORED,
        "max_output_size": IGNORED,
        "description": IGNORED,
    },
    allows_ungrouped=True,
    events={
        "agentSpawn": AgentEvent(on=("session_start",), matches=MatchTarget.NOTHING),
        "userPromptSubmit": AgentEvent(on=("before_agent",), matches=MatchTarget.NOTHING),
        "stop": AgentEvent(on=("after_agent",), matches=MatchTarget.NOTHING),
        "preToolUse": AgentEvent(on=("before_tool",)),
        "postToolUse": AgentEvent(on=("after_tool",)),
    },
    finish=_finish,
    writers={"command": COMMAND, "timeout": ("timeout_ms", as_milliseconds)},
)
LEGACY_SPEC: Final = AgentFileSpec(
    project=(".kiro/hooks/*.kiro.hook",),
    read=read_legacy,
    keys={
        "name": NAME,
        "enabled": ENABLED,
        **dict.fromkeys(("description", "version", "when", "then", "shortName", "workspaceFolderName"), IGNORED),
        "files": FIELDS["files"],
        "matcher": SHARED["matcher"],
        "command": _COMMAND,
        "prompt": _PROMPT,
        "timeout": FIELDS["timeout"],
    },
    types={"runCommand": "command", "askAgent": "prompt"},
    events=_LEGACY_MOMENTS,
    finish=_finish,
)
MORE_SPECS: Final[Mapping[str, AgentFileSpec]] = {"kiro-legacy": LEGACY_SPEC, "kiro-agent": AGENT_SPEC}
