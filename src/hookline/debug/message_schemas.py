"""JSON Schemas of the events and answers of every dialect, derived from what its codec writes.

No dialect has a schema of its own: sample events and outcomes are encoded, and the schema describes the documents. What an agent
may send or a hook may answer beyond that is open, so that a new field of an agent breaks no hook.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.debug.samples import TIME, TOOLS, complete_event
from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.errors import DialectError
from hookline.events import TYPED_EVENTS
from hookline.model.event import EVENTS, Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.ports import Dialect

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, object]
KeyPath = tuple[str, ...]

_HOOK: Final = Hook(id="sample", name="sample", kind="command", command="sample")
# stands in objects whose keys are free, and in texts that are free
_FREE: Final = "hookline-sample"
_TOOL: Final = "hookline_sample_tool"
# what a field of any type may hold
_ANY: Final[tuple[object, ...]] = (_FREE, {_FREE: 1}, [1, _FREE, {}], 1.5, True, None)
# the names of types in JSON
_TYPES: Final[Mapping[type, str]] = {
    NoneType: "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
}


def event_schema(name: EventName, dialect: str, native: str = "") -> Schema:
    """Return the schema of what a hook of a dialect reads at an event; `native` is the agent's own name of it."""
    module = DIALECTS[dialect]
    names = {native} if native else {*_native_names(module, name), str(name)}
    hook = replace(_HOOK, native_event=native)
    documents = [json_codec.load(module.encode_event(one, hook).body) for one in _list_events(name, module, native)]
    documents += tuple(_list_variants(documents, module, native or module.SPEC.events.get(name, str(name))))
    schema = _infer(documents, names)
    return {
        "$schema": DRAFT,
        "title": f"{native or module.SPEC.events.get(name, name)} of {module.SPEC.title}: {EVENTS[name].when}",
        **schema,
        **_describe_calls(documents, schema, names),
    }


def answer_schema(name: EventName, dialect: str, native: str = "") -> Schema:
    """Return the schema of what a hook of a dialect prints at an event, and of what the agent is answered."""
    module = DIALECTS[dialect]
    documents: list[object] = []
    codes: set[int] = set()
    for event in _list_decoded(name, module, native):
        for outcome in _list_outcomes(event):
            answer = module.encode_outcome(degrade(outcome, event, module.SPEC.able(event)), event)
            codes.add(answer.exit_code)
            # a line each, where an agent reads several; a text is none of them
            documents += (json_codec.load(line) for line in answer.stdout.splitlines() if line.startswith(b"{"))
    # an answer may have any of the parts, and an empty one is no opinion
    schema = _drop_required(_infer(documents, None)) if documents else {"type": "object"}
    return {
        "$schema": DRAFT,
        "title": f"Answer to {native or module.SPEC.events.get(name, name)} of {module.SPEC.title}",
        "description": f"One JSON document on stdout; nothing is no opinion. Exit codes: {', '.join(map(str, sorted(codes)))}.",
        **schema,
    }


# samples


def _native_names(module: Dialect, name: EventName) -> list[str]:
    spec = module.SPEC
    usual = [spec.events[name]] if name in spec.events else []
    # another spelling of an event is another document, which is described by that name only
    others = (native for native in spec.abilities if spec.more_events.get(native) is name)
    return [*usual, *others]


def _list_events(name: EventName, module: Dialect, native: str) -> Iterator[Event]:
    """Yield an event with all that it can have, with values of every type, as every tool, and with the least it can have."""
    names = (native,) if native else ("", *_native_names(module, name)[1:])
    for called in names:
        for event in _list_calls(name, module):
            full = replace(event, cwd="/work", native_name=called, host=module.SPEC.name if called else "")
            yield full
            for field, kind in TYPED_EVENTS[name].fields.items():
                for value in _sample_values(kind):
                    yield replace(full, data={**full.data, field: value})
            yield replace(full, data={}, session=Session(), host=module.SPEC.name, cwd="", timestamp=0)


def _list_calls(name: EventName, module: Dialect) -> Iterator[Event]:
    if EVENTS[name].subject != "tool":
        yield complete_event(name)
        return
    own = module.SPEC.own_tools
    for tool in TOOLS:
        if not own or tool in own:
            yield complete_event(name, tool=tool, args=TOOLS[tool])
    for tool in (_TOOL, "mcp__sample__tool"):
        yield complete_event(name, tool=tool, args={_FREE: 1})


def _sample_values(kind: object) -> Sequence[object]:
    if kind is object:
        return _ANY
    if kind in {str, int, float, bool}:
        return ()
    return ([_FREE, {}],) if kind != Mapping[str, object] else ({_FREE: 1},)


def _list_variants(documents: Sequence[object], module: Dialect, native: str) -> Iterator[object]:
    """Yield documents that the dialect reads though it never writes them: arguments as JSON in a text, and without a call."""
    for document in documents:
        paths = dict(_walk(document))
        calls = [path for path, value in paths.items() if value in (_TOOL, {_FREE: 1})]
        if _TOOL not in paths.values() or not isinstance(document, dict):
            continue
        texts: object = document
        for path in calls:
            if paths[path] != _TOOL:
                texts = _replace_at(texts, path, f'{{"{_FREE}":1}}')
        event = _decode(module, texts, native)
        if event is not None and event.args == {_FREE: 1}:
            yield texts
        without = {key: value for key, value in document.items() if (key,) not in calls}
        if without != document and _decode(module, without, native) is not None:
            yield without


def _decode(module: Dialect, document: object, native: str) -> Event | None:
    try:
        return module.decode_event(json_codec.dump(document), native)
    except DialectError:
        return None


def _list_decoded(name: EventName, module: Dialect, native: str) -> Iterator[Event]:
    """Yield the events that are answered, as they are read from a document; results are a text and an object."""
    hook = replace(_HOOK, native_event=native)
    native = native or module.SPEC.events.get(name, str(name))
    for result in (_FREE, {"output": _FREE}):
        event = complete_event(name, data={"result": result} if "result" in EVENTS[name].fields else None, cwd="/work")
        event = replace(event, native_name=native if name is EventName.CUSTOM else "", timestamp=TIME)
        raw = module.encode_event(event, hook).body
        yield module.decode_event(raw, native)


def _list_outcomes(event: Event) -> Iterator[Outcome]:
    """Yield an outcome for each decision and each effect, and for all effects together."""
    effects = [Effect(kind, _FREE) for kind in (EffectKind.CONTEXT, EffectKind.MESSAGE, EffectKind.ASK_AGENT)]
    effects.append(Effect(EffectKind.DATA, _FREE, (_FREE,)))
    changed = {**event.args, _FREE: 1}
    for decision in Decision:
        plain = Outcome(decision=decision, reasons=(_FREE,))
        yield plain
        yield replace(plain, effects=tuple(effects))
        if event.spec.rewrites == "args":
            rewrite = Effect(EffectKind.REWRITE, 1, ("args", _FREE))
            yield replace(plain, args=changed, effects=(*effects, rewrite))
        if event.spec.rewrites == "output":
            for value in (_FREE, {_FREE: 1}):
                yield replace(plain, output=value, effects=(*effects, Effect(EffectKind.REWRITE, value, ("output",))))


# inference


def _infer(values: Sequence[object], names: Iterable[str] | None) -> Schema:
    """Return the schema that describes all of these values; `names` are the only texts of a field that holds one of them.

    Without `names`, texts are free only where one of them has the mark of a sample, and else those that were seen.
    """
    known = None if names is None else frozenset(names)
    kinds = {_TYPES.get(type(value), "object") for value in values}
    # nothing is known of a field that was never there, or that holds anything
    if kinds == {"null"} or len(kinds - {"null"}) >= len(_ANY) - 1:
        return {}
    schema: Schema = {"type": sorted(kinds) if len(kinds) > 1 else next(iter(kinds))}
    if "string" in kinds:
        texts = {value for value in values if isinstance(value, str)}
        is_closed = texts <= known if known is not None else not any(_FREE in text for text in texts)
        if is_closed and kinds == {"string"}:
            schema = {"const": next(iter(texts))} if len(texts) == 1 else {"enum": sorted(texts)}
    objects = [value for value in values if isinstance(value, dict)]
    if objects and not any(_FREE in value for value in objects):
        keys = dict.fromkeys(key for value in objects for key in value)
        schema["properties"] = {key: _infer([value[key] for value in objects if key in value], names) for key in keys}
        schema["required"] = [key for key in keys if all(key in value for value in objects)]
    items = [item for value in values if isinstance(value, list) for item in value]
    if items and all(isinstance(item, str) for item in items):
        schema["items"] = {"type": "string"}
    return schema


def _drop_required(schema: Schema) -> Schema:
    properties = schema.get("properties")
    kept = {key: value for key, value in schema.items() if key != "required"}
    if isinstance(properties, dict):
        kept["properties"] = {key: _drop_required(value) for key, value in properties.items()}
    return kept


def _describe_calls(documents: Sequence[object], schema: Schema, names: Iterable[str]) -> Schema:
    """Return what depends on the tool: its arguments, where the tool's name is or, for agents that have none, the event's."""
    paths = [path for document in documents for path, value in _walk(document) if value == _TOOL]
    names = frozenset(names)
    paths = paths or [
        path for document in documents for path, value in _walk(document) if isinstance(value, str) and value in names
    ]
    if not paths:
        return {}
    by_word: dict[str, list[object]] = {}
    for document in documents:
        word = dict(_walk(document)).get(paths[0])
        if isinstance(word, str) and word != _TOOL and _FREE not in json_codec.dump(document).decode():
            by_word.setdefault(word, []).append(document)
    cases = [
        {"if": _nest(paths[0], {"const": word}), "then": {"properties": found}}
        for word, group in by_word.items()
        if len(by_word) > 1 and (found := _list_differences(schema, _drop_required(_infer(group, names)), paths[0]))
    ]
    return {"allOf": cases} if cases else {}


def _list_differences(general: Schema, special: Schema, left_out: KeyPath) -> Schema:
    """Return the properties of a schema that say more than those of another; `left_out` leads to one that does not count."""
    ours, theirs = general.get("properties"), special.get("properties")
    theirs = theirs if isinstance(theirs, dict) else {}
    found: Schema = {}
    for key, value in theirs.items():
        known = ours.get(key) if isinstance(ours, dict) else None
        if left_out == (key,) or value == known or (known is not None and _drop_required(known) == value):
            continue
        if isinstance(known, dict) and isinstance(known.get("properties"), dict):
            rest = left_out[1:] if left_out[:1] == (key,) else ()
            if inner := _list_differences(known, value, rest):
                found[key] = {"properties": inner}
        elif known is None:
            found[key] = value
        elif "properties" in value:
            found[key] = {"properties": value["properties"]}
    return found


def _nest(path: KeyPath, schema: Schema) -> Schema:
    for key in reversed(path):
        schema = {"properties": {key: schema}, "required": [key]}
    return schema


def _walk(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield every text and every free object in a document's objects, and where it is."""
    if isinstance(value, dict) and _FREE not in value:
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, str | dict):
        yield path, value


def _replace_at(document: object, path: KeyPath, value: object) -> object:
    if not path or not isinstance(document, dict):
        return value
    return {**document, path[0]: _replace_at(document[path[0]], path[1:], value)}
