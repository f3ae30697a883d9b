"""JSON Schemas of all formats, made of the very tables that the readers use, so that editors know what we know."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config import settings
from hookline.config.formats import grouped, native, ollm, per_file, when_then
from hookline.config.reading import AROUND
from hookline.config.values import SCHEMAS, TARGETS, Key
from hookline.config.vocabulary import Vocabulary
from hookline.model.event import CUSTOM_PREFIX, EVENTS, EventName

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, object]

# dialects whose own files are grouped
_GROUPED: Final = ("ollama-cli", "cli-agent")
_CUSTOM: Final[Schema] = {"type": "string", "pattern": f"^{CUSTOM_PREFIX}."}


class Named(Struct, frozen=True):
    """One schema: what it is of, and how it is made."""

    title: str
    make: Callable[[Vocabulary], Schema]


def schema(name: str, vocabulary: Vocabulary) -> Schema:
    """Make the schema of one format; `KeyError` when there is none of this name."""
    named = ALL[name]
    return {"$schema": DRAFT, "title": named.title, **named.make(vocabulary)}


def _value(key: Key) -> Schema:
    found = SCHEMAS[key.read] if key.schema is None else key.schema
    return {**found, "description": key.about}


def _object(keys: Mapping[str, Key], /, *, required: Iterable[str] = (), **special: Schema) -> Schema:
    """Make the schema of an object with these keys; `special` ones depend on more than their value."""
    properties = {name: {**_value(key), **special.get(name, {})} for name, key in keys.items()}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


# events


def _meaning(canonical: Iterable[str]) -> str:
    found = [f"{EVENTS[EventName(name)].when} ({name})" for name in canonical]
    return "; ".join(found)


def _event_names(vocabulary: Vocabulary, dialects: Iterable[str]) -> dict[str, str]:
    """Give every name an event has in these dialects, canonical ones last, with what it stands for."""
    names: dict[str, str] = {}
    for dialect in dialects:
        for native_name, canonical in vocabulary.names.get(dialect, {}).items():
            names.setdefault(native_name, _meaning(canonical))
    for name in EventName:
        names.setdefault(str(name), _meaning((name,)))
    return names


def _event(vocabulary: Vocabulary, dialects: Iterable[str]) -> Schema:
    names = _event_names(vocabulary, dialects)
    return {"anyOf": [*({"const": name, "description": when} for name, when in names.items()), _CUSTOM]}


def _one_or_more(event: Schema) -> Schema:
    return {"anyOf": [event, {"type": "array", "items": event, "minItems": 1}]}


def _all_events(vocabulary: Vocabulary) -> dict[str, object]:
    """Define the events of each dialect, and `events`: those of all of them, from which editors complete."""
    own: dict[str, object] = {}
    for dialect in vocabulary.names:
        known: Schema = {"enum": [*_event_names(vocabulary, (dialect,))]}
        own[f"events-{dialect}"] = _one_or_more({"anyOf": [known, _CUSTOM]})
    return {"events": _one_or_more(_event(vocabulary, vocabulary.names)), **own}


_ANY_EVENTS: Final[Schema] = {"anyOf": [{"$ref": "#/$defs/events"}]}


def _as_its_dialect_says(vocabulary: Vocabulary, keys: Iterable[str], *, default: str) -> list[Schema]:
    """Let a hook name only events that its dialect knows; without a dialect, those of the default one."""
    rules: list[Schema] = []
    for dialect in vocabulary.names:
        says: Schema = {"properties": {"dialect": {"const": dialect}}}
        required: Schema = {} if dialect == default else {"required": ["dialect"]}
        known: Schema = {"$ref": f"#/$defs/events-{dialect}"}
        rules.append({"if": {**says, **required}, "then": {"properties": dict.fromkeys(keys, known)}})
    return rules


# formats

_ONE_TARGET: Final = [{"required": [field]} for field in TARGETS]


def _native(vocabulary: Vocabulary) -> Schema:
    hook = _object(native.KEYS, on=_ANY_EVENTS, dialect={"enum": [*vocabulary.names]})
    hook["allOf"] = _as_its_dialect_says(vocabulary, ["on"], default="hookline")
    hook["oneOf"] = [{"required": [target]} for target in native.TARGETS]
    hook["anyOf"] = [{"required": ["on"]}, {"required": ["schedule"]}]
    hook["not"] = {"required": ["tools", "matcher"]}
    tables: dict[str, Schema] = {name: {"description": about} for name, about in native.TABLES.items()}
    tables["hook"] |= {"type": "array", "items": hook}
    tables[settings.TABLE] |= {
        "type": "object",
        "properties": {name: SCHEMAS[read] for name, read in settings.KEYS.items()},
        "additionalProperties": False,
    }
    return {"type": "object", "properties": tables, "additionalProperties": False, "$defs": _all_events(vocabulary)}


def _group(vocabulary: Vocabulary, *, dialects: tuple[str, ...]) -> Schema:
    hook = _object(grouped.KEYS)
    hook["oneOf"] = _ONE_TARGET
    hook["allOf"] = [
        {"if": {"required": ["type"], "properties": {"type": {"const": kind}}}, "then": {"required": [field]}}
        for kind, field in grouped.FIELD_BY_TYPE.items()
    ]
    group = _object(grouped.GROUP_KEYS, required=["hooks"], hooks={"type": "array", "items": hook})
    names = _event_names(vocabulary, dialects)
    groups = {"type": "array", "items": {"$ref": "#/$defs/group"}}
    events: Schema = {
        "type": "object",
        "properties": {name: {**groups, "description": when} for name, when in names.items()},
        "patternProperties": {f"^{CUSTOM_PREFIX}.": groups},
        "additionalProperties": False,
    }
    # what else stands in an agent's settings is the agent's own business
    return {"type": "object", "properties": {"hooks": events}, "$defs": {"group": group}}


def _automation_entry(vocabulary: Vocabulary, *, modern: bool) -> Schema:
    event = _event(vocabulary, (when_then.DIALECT,))
    action = _object(when_then.ACTION, required=["type"])
    action["allOf"] = [
        {"if": {"properties": {"type": {"const": kind}}}, "then": {"required": [field]}}
        for kind, field in when_then.ACTIONS.items()
    ]
    runs: Schema = {"required": ["type"], "properties": {"type": {"const": "runCommand"}}}
    at: Schema = {"enum": sorted(when_then.COMMAND_EVENTS)}
    if modern:
        entry = _object(when_then.MODERN, required=["eventType", "action"], eventType=event, action=action)
        entry["anyOf"] = [{"required": ["name"]}, {"required": ["id"]}]
        condition, consequence = {"action": runs}, {"eventType": at}
    else:
        when = _object(when_then.WHEN, required=["type"], type=event)
        entry = _object(when_then.LEGACY, required=["name", "when", "then"], when=when, then=action)
        condition, consequence = {"then": runs}, {"when": {"properties": {"type": at}}}
    entry["if"], entry["then"] = {"properties": condition}, {"properties": consequence}
    return entry


def _files_of(entry: Schema) -> list[object]:
    """Give the shapes a file of definitions may have: one, a list, or a list under "hooks"."""
    several: Schema = {"type": "array", "items": entry}
    beside = {name: {"description": about} for name, about in AROUND.items()}
    around: Schema = {
        "type": "object",
        "properties": {**beside, "hooks": {**several, **beside["hooks"]}},
        "required": ["hooks"],
        "additionalProperties": False,
    }
    return [entry, several, around]


def _automation(vocabulary: Vocabulary, *, modern: bool) -> Schema:
    entry = _automation_entry(vocabulary, modern=modern)
    return {"anyOf": _files_of({"$ref": "#/$defs/hook"}), "$defs": {"hook": entry}}


def _ollm(vocabulary: Vocabulary) -> Schema:
    bare = _object(ollm.KEYS, event=_ANY_EVENTS, events=_ANY_EVENTS, dialect={"enum": [*vocabulary.names]})
    bare["allOf"] = _as_its_dialect_says(vocabulary, ["event", "events"], default="ollm")
    bare["oneOf"] = _ONE_TARGET
    named: Schema = {"anyOf": [{"required": ["event"]}, {"required": ["events"]}]}
    forms = [
        {"allOf": [{"$ref": "#/$defs/definition"}, named]},
        {"$ref": "#/$defs/legacy"},
        {"$ref": "#/$defs/modern"},
    ]
    one: Schema = {"$ref": "#/$defs/definition"}
    by_event = {"anyOf": [one, {"type": "array", "items": one}]}
    names = _event_names(vocabulary, ("ollm",))
    under_events: Schema = {
        "type": "object",
        "properties": {name: {**by_event, "description": when} for name, when in names.items()},
        "additionalProperties": False,
    }
    wrapped = {"type": "object", "properties": {"hooks": under_events}, "required": ["hooks"]}
    return {
        "anyOf": [*_files_of({"$ref": "#/$defs/hook"}), under_events, wrapped],
        "$defs": {
            "hook": {"anyOf": forms},
            "definition": bare,
            "legacy": _automation_entry(vocabulary, modern=False),
            "modern": _automation_entry(vocabulary, modern=True),
            **_all_events(vocabulary),
        },
    }


def _per_file(vocabulary: Vocabulary) -> Schema:
    event = _event(vocabulary, ("cli-agent",))
    one = _object(per_file.KEYS, required=["command"], type={"anyOf": [event, {"const": "command"}]})
    one["patternProperties"] = {f"^{per_file.COMMENT}": {}}
    several = _group(vocabulary, dialects=("cli-agent",))
    definitions = several.pop("$defs")
    return {"anyOf": [one, {**several, "required": ["hooks"]}], "$defs": definitions}


ALL: Final[Mapping[str, Named]] = MappingProxyType(
    {
        "native": Named("Hookline's own hooks: hookline.toml", _native),
        "grouped": Named("Hooks in an agent's settings", partial(_group, dialects=_GROUPED)),
        **{
            f"grouped:{dialect}": Named(f"Hooks in the settings of {dialect}", partial(_group, dialects=(dialect,)))
            for dialect in _GROUPED
        },
        "ollm": Named("OLLM's hook definitions: .ollm/hooks/*.json", _ollm),
        "when_then": Named("OLLM's event automation: name, when, then", partial(_automation, modern=False)),
        "modern": Named("OLLM's event automation: eventType and action", partial(_automation, modern=True)),
        "per_file": Named("cli-agent's hook files: .config/agent/hooks/pre-NAME.json", _per_file),
    }
)
