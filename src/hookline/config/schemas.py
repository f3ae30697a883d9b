"""JSON Schemas of all formats, generated from the tables of the readers."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import combinations
from typing import Final

from msgspec import Struct

from hookline.config import settings
from hookline.config.formats import grouped, native, ollm
from hookline.config.keys import TARGETS, Key, schema_of
from hookline.config.reader import MCP_TABLE, SERVER_KEYS, KnownNames
from hookline.model.event import CUSTOM_PREFIX, EVENTS, EventName
from hookline.model.hook import ACTIONS, DECISIONS
from hookline.model.names import known_events, resolve_events, tools_of_event

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, object]

# dialects whose own files are grouped
_GROUPED: Final = ("ollama-cli", "cli-agent")
_CUSTOM: Final[Schema] = {"type": "string", "pattern": f"^{CUSTOM_PREFIX}."}


class SchemaSpec(Struct, frozen=True):
    """One schema: what it is of, and how it is made."""

    title: str
    make: Callable[[KnownNames], Schema]


def schema(name: str, known: KnownNames) -> Schema:
    """Make the schema of one format; `KeyError` when there is none of this name."""
    named = ALL[name]
    return {"$schema": DRAFT, "title": named.title, **named.make(known)}


def _object(keys: Mapping[str, Key], /, *, required: Iterable[str] = (), **special: Schema) -> Schema:
    """Make the schema of an object with these keys; `special` ones depend on more than their value."""
    properties = {
        name: {
            **(schema_of(key.read) if key.schema is None else key.schema),
            "description": key.about,
            **special.get(name, {}),
        }
        for name, key in keys.items()
    }
    return _closed_object(properties, required=list(required)) if required else _closed_object(properties)


def _closed_object(properties: Mapping[str, object], **more: object) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _require_each(names: Iterable[str]) -> list[object]:
    return [{"required": [name]} for name in names]


# events


def _meaning(canonical: Iterable[str]) -> str:
    return "; ".join(f"{EVENTS[EventName(name)].when} ({name})" for name in canonical)


def _event_names(known: KnownNames, dialects: Iterable[str], *, has_tools: bool = False) -> dict[str, str]:
    """Return every name of an event with what it stands for: those of these dialects, canonical ones, all others.

    Names that are about certain tools are among the others only where a hook can be narrowed to the tools.
    """
    names: dict[str, str] = {}
    for dialect in dialects:
        for native_name, canonical in known.names.get(dialect, {}).items():
            names.setdefault(native_name, _meaning(canonical))
    for name in known_events():
        if has_tools or not tools_of_event(name):
            names.setdefault(name, _meaning(resolve_events(name)))
    return names


def _event(known: KnownNames, dialects: Iterable[str], *, has_tools: bool = False) -> Schema:
    names = _event_names(known, dialects, has_tools=has_tools)
    return {"anyOf": [*({"const": name, "description": when} for name, when in names.items()), _CUSTOM]}


def _all_events(known: KnownNames, *, has_tools: bool = False) -> dict[str, object]:
    """Define `events`: every name of every system, from which editors complete."""
    event = _event(known, (), has_tools=has_tools)
    return {"events": {"anyOf": [event, {"type": "array", "items": event, "minItems": 1}]}}


_ANY_EVENTS: Final[Schema] = {"anyOf": [{"$ref": "#/$defs/events"}]}


# formats


def _native(known: KnownNames) -> Schema:
    hook = _object(native.KEYS, on=_ANY_EVENTS, dialect={"enum": [*known.names]})
    hook["oneOf"] = [*_require_each(native.TARGET_KEYS), {"anyOf": _require_each(ACTIONS)}]
    # a decision that narrows by tools or effects is about tool calls
    decides = {"allOf": [{"anyOf": _require_each(native.DECIDING)}, {"anyOf": _require_each(native.OF_TOOL_CALLS)}]}
    hook["anyOf"] = [*_require_each(("on", "schedule")), decides]
    hook["dependentRequired"] = {
        "arguments": ["mcp"],
        "judge": ["model"],
        **{name: ["judge"] for name in native.OF_JUDGES},
    }
    pairs = [("tools", "matcher"), *combinations(DECISIONS, 2), *(("undo", name) for name in ACTIONS)]
    hook["not"] = {"anyOf": [{"required": list(pair)} for pair in pairs]}
    tables: dict[str, Schema] = {name: {"description": about} for name, about in native.TABLES.items()}
    tables["hook"] |= {"type": "array", "items": hook}
    tables[settings.TABLE] |= _closed_object({name: schema_of(read) for name, read in settings.KEYS.items()})
    tables[settings.OPTIONS] |= {"type": "object", "additionalProperties": {"type": "object"}}
    tables[MCP_TABLE] |= {"type": "object", "additionalProperties": _object(SERVER_KEYS)}
    return _closed_object(tables, **{"$defs": _all_events(known, has_tools=True)})


def _group(known: KnownNames, *, dialects: tuple[str, ...]) -> Schema:
    hook = _object(grouped.KEYS)
    hook["oneOf"] = _require_each(TARGETS)
    hook["allOf"] = [
        {"if": {"required": ["type"], "properties": {"type": {"const": kind}}}, "then": {"required": [field]}}
        for kind, field in grouped.FIELD_BY_TYPE.items()
    ]
    group = _object(grouped.GROUP_KEYS, required=["hooks"], hooks={"type": "array", "items": hook})
    names = _event_names(known, dialects)
    groups = {"type": "array", "items": {"$ref": "#/$defs/group"}}
    events = _closed_object(
        {name: {**groups, "description": when} for name, when in names.items()},
        patternProperties={f"^{CUSTOM_PREFIX}.": groups},
    )
    # what else stands in an agent's settings is the agent's own business
    return {"type": "object", "properties": {"hooks": events}, "$defs": {"group": group}}


def _automation_entry(known: KnownNames, *, modern: bool) -> Schema:
    event = _event(known, (ollm.AUTOMATION_DIALECT,))
    action = _object(ollm.ACTION, required=["type"])
    action["allOf"] = [
        {"if": {"properties": {"type": {"const": kind}}}, "then": {"required": [field]}}
        for kind, field in ollm.ACTIONS.items()
    ]
    runs: Schema = {"required": ["type"], "properties": {"type": {"const": "runCommand"}}}
    at: Schema = {"enum": sorted(ollm.COMMAND_EVENTS)}
    if modern:
        entry = _object(ollm.MODERN, required=["eventType", "action"], eventType=event, action=action)
        entry["anyOf"] = _require_each(("name", "id"))
        condition, consequence = {"action": runs}, {"eventType": at}
    else:
        when = _object(ollm.WHEN, required=["type"], type=event)
        entry = _object(ollm.LEGACY, required=["name", "when", "then"], when=when, then=action)
        condition, consequence = {"then": runs}, {"when": {"properties": {"type": at}}}
    entry["if"], entry["then"] = {"properties": condition}, {"properties": consequence}
    return entry


def _files_of(entry: Schema) -> list[object]:
    """Return the shapes a file of definitions may have: one, a list, or a list under "hooks"."""
    several: Schema = {"type": "array", "items": entry}
    beside = {name: {"description": about} for name, about in ollm.WRAPPER_KEYS.items()}
    around = _closed_object({**beside, "hooks": {**several, **beside["hooks"]}}, required=["hooks"])
    return [entry, several, around]


def _automation(known: KnownNames, *, modern: bool) -> Schema:
    entry = _automation_entry(known, modern=modern)
    return {"anyOf": _files_of({"$ref": "#/$defs/hook"}), "$defs": {"hook": entry}}


def _ollm(known: KnownNames) -> Schema:
    bare = _object(ollm.KEYS, event=_ANY_EVENTS, events=_ANY_EVENTS, dialect={"enum": [*known.names]})
    bare["oneOf"] = _require_each(TARGETS)
    named: Schema = {"anyOf": _require_each(("event", "events"))}
    forms = [{"allOf": [{"$ref": "#/$defs/definition"}, named]}, {"$ref": "#/$defs/legacy"}, {"$ref": "#/$defs/modern"}]
    one: Schema = {"$ref": "#/$defs/definition"}
    by_event = {"anyOf": [one, {"type": "array", "items": one}]}
    names = _event_names(known, ("ollm",))
    under_events = _closed_object({name: {**by_event, "description": when} for name, when in names.items()})
    wrapped = {"type": "object", "properties": {"hooks": under_events}, "required": ["hooks"]}
    return {
        "anyOf": [*_files_of({"$ref": "#/$defs/hook"}), under_events, wrapped],
        "$defs": {
            "hook": {"anyOf": forms},
            "definition": bare,
            "legacy": _automation_entry(known, modern=False),
            "modern": _automation_entry(known, modern=True),
            **_all_events(known),
        },
    }


def _per_file(known: KnownNames) -> Schema:
    event = _event(known, ("cli-agent",))
    one = _object(grouped.PER_FILE_KEYS, required=["command"], type={"anyOf": [event, {"const": "command"}]})
    one["patternProperties"] = {f"^{grouped.COMMENT}": {}}
    several = _group(known, dialects=("cli-agent",))
    definitions = several.pop("$defs")
    return {"anyOf": [one, {**several, "required": ["hooks"]}], "$defs": definitions}


ALL: Final[Mapping[str, SchemaSpec]] = {
    "native": SchemaSpec("Hookline's own hooks: hookline.toml", _native),
    "grouped": SchemaSpec("Hooks in an agent's settings", partial(_group, dialects=_GROUPED)),
    **{
        f"grouped:{dialect}": SchemaSpec(f"Hooks in the settings of {dialect}", partial(_group, dialects=(dialect,)))
        for dialect in _GROUPED
    },
    "ollm": SchemaSpec("OLLM's hook definitions: .ollm/hooks/*.json", _ollm),
    "when_then": SchemaSpec("OLLM's event automation: name, when, then", partial(_automation, modern=False)),
    "modern": SchemaSpec("OLLM's event automation: eventType and action", partial(_automation, modern=True)),
    "per_file": SchemaSpec("cli-agent's hook files: .config/agent/hooks/pre-NAME.json", _per_file),
}
