"""Tables of event fields and event names: where each datum of an event stands in a system's document, both ways.

The body of a document is the object that a system leaves open for event data. Data with a row in the table are written to
their place; everything else is written under its own name, and under `extra` where that name is reserved, so that nothing is
lost and nothing is mistaken for a field of the system.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

from hookline.dialects import _json_reader
from hookline.dialects._json_reader import JsonReader
from hookline.model.event import Event, EventName, Session

EXTRA: Final = "extra"
# the error of a failed tool without a message, for systems whose hooks test whether there is one
NO_MESSAGE: Final = "the tool failed without a message"


class Field(Struct, frozen=True):
    """One datum and its place in the body: `name` or `group.name`.

    `mirror` is a second name for the same value, `default` the attribute of the session that replaces a missing datum. With
    `time` the document has ISO 8601 where events count milliseconds, with `in_ms` milliseconds where events count seconds.
    """

    key: str
    path: str
    mirror: str = ""
    default: str = ""
    time: bool = False
    in_ms: bool = False

    @property
    def group(self) -> str:
        """The object in the body, empty for the body itself."""
        return self.path.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        """The name in the group."""
        return self.path.rpartition(".")[2]

    def encode(self, value: object) -> object:
        """Return a value as documents have it."""
        if self.time:
            return _json_reader.to_iso(value)
        return _json_reader.to_ms(value) if self.in_ms else value

    def decode(self, value: object, where: str, reader: JsonReader) -> object:
        """Return a document's value as events have it."""
        if self.time and value is not None:
            return reader.read_time(value, f"{where}.{self.path}" if where else self.path)
        return _json_reader.from_ms(value) if self.in_ms else value


class FieldMap(Struct, frozen=True, kw_only=True):
    """The fields of one kind of event.

    `groups` are the objects in the body with the names that are known in them, `marks` are constants that distinguish
    events, and `scalars` are groups that may also be a plain value, which is then the named datum. `reserved` are the names
    in the body that other data cannot have.
    """

    fields: tuple[Field, ...]
    groups: Mapping[str, frozenset[str]]
    marks: tuple[tuple[str, str, object], ...]
    scalars: Mapping[str, str]
    keys: frozenset[str]
    reserved: frozenset[str]

    def write(
        self, data: Mapping[str, object], body: dict[str, object], *, session: Session, reserved: Collection[str] = ()
    ) -> None:
        """Write an event's data to the body."""
        for field in self.fields:
            value = data.get(field.key, UNSET)
            if value is UNSET:
                value = getattr(session, field.default) if field.default else None
                if not value:
                    continue
            value = field.encode(value)
            (_open_group(body, field.group) if field.group else body)[field.leaf] = value
            if field.mirror:
                body[field.mirror] = value
        for group, leaf, mark in self.marks:
            (_open_group(body, group) if group else body)[leaf] = mark
        for key, value in data.items():
            if key in self.keys:
                continue
            if key not in self.reserved and key not in reserved:
                body[key] = value
                continue
            known = self.groups.get(key)
            if known is not None and isinstance(value, Mapping) and value and known.isdisjoint(value):
                _open_group(body, key).update(value)
            else:
                _open_group(body, EXTRA)[key] = value

    def read(self, body: dict[str, object], where: str, reader: JsonReader) -> dict[str, object]:
        """Return an event's data from the body, which is consumed.

        Raises:
            DialectError: A value has another type than the document's.
        """
        data: dict[str, object] = {}
        groups: dict[str, dict[str, object]] = {}
        for name in self.groups:
            value = body.pop(name, None)
            if name in self.scalars and value is not None and not isinstance(value, dict):
                data[self.scalars[name]] = value
                value = None
            groups[name] = dict(reader.read_object(value, f"{where}.{name}" if where else name))
        for field in self.fields:
            value = (groups[field.group] if field.group else body).pop(field.leaf, UNSET)
            mirror = body.get(field.mirror, UNSET) if field.mirror else UNSET
            if mirror is not UNSET and (value is UNSET or _json_reader.is_equal(value, mirror)):
                value = body.pop(field.mirror)
            if value is not UNSET:
                data[field.key] = field.decode(value, where, reader)
        for group, leaf, mark in self.marks:
            part = groups[group] if group else body
            if leaf in part and _json_reader.is_equal(part[leaf], mark):
                del part[leaf]
        extra = body.pop(EXTRA, None)
        if not isinstance(extra, dict):
            extra = {} if extra is None else {EXTRA: extra}
        for key, value in (*body.items(), *extra.items()):
            data.setdefault(key, value)
        for name, rest in groups.items():
            if rest:
                data[f"{name}_details" if name in data else name] = rest
        return data


def _open_group(body: dict[str, object], name: str) -> dict[str, object]:
    group = body.get(name)
    if not isinstance(group, dict):
        group = body[name] = {}
    return group


def field_map(
    fields: Iterable[Field] = (),
    *,
    taken: Iterable[str] = (),
    marks: Iterable[tuple[str, object]] = (),
    scalars: Mapping[str, str] = MappingProxyType({}),
    objects: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> FieldMap:
    """Build the field map of one kind of event.

    `taken` are the names in the body that belong to the system, `objects` those of them that are objects, with the names in
    them that are not data.
    """
    rows = tuple(fields)
    paths = tuple((*path.rpartition(".")[::2], value) for path, value in marks)
    groups = {name: set(known) for name, known in objects.items()}
    flat = {field.mirror for field in rows if field.mirror}
    for group, leaf in (*((field.group, field.leaf) for field in rows), *((group, leaf) for group, leaf, _ in paths)):
        (groups.setdefault(group, set()) if group else flat).add(leaf)
    return FieldMap(
        fields=rows,
        groups={name: frozenset(known) for name, known in groups.items()},
        marks=paths,
        scalars=scalars,
        keys=frozenset(field.key for field in rows),
        reserved=frozenset({*taken, *groups, *flat, EXTRA}),
    )


FieldMaps = Callable[[str], FieldMap]


def field_maps(
    fields: Mapping[str, tuple[Field, ...]],
    *,
    taken: tuple[str, ...],
    taken_at: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    marks: Mapping[str, tuple[tuple[str, object], ...]] = MappingProxyType({}),
    scalars: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    objects: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> FieldMaps:
    """Return a function from an event's name to its field map; a name without rows has only what all events share.

    `taken_at` are further taken names of some events. A map is built when it is first needed: a call is about one event of
    thirty.
    """

    @cache
    def build(name: str) -> FieldMap:
        return field_map(
            fields.get(name, ()),
            taken=(*taken, *taken_at.get(name, ())),
            marks=marks.get(name, ()),
            scalars=scalars.get(name, {}),
            objects=objects,
        )

    return build


def parse_events(text: str) -> dict[EventName, str]:
    """Return a table of event names that is written as `ours=theirs` pairs, separated by blanks."""
    return {EventName(ours): theirs for ours, theirs in (pair.split("=") for pair in text.split())}


class EventNames(Struct, frozen=True):
    """A system's event names, both ways; the canonical names are valid in every system.

    `choose` distinguishes events that share a name there, and `more` are further names of events.
    """

    native: Mapping[EventName, str]
    choose: Mapping[str, Callable[[Mapping[str, object]], EventName]] = {}
    more: Mapping[str, EventName] = {}
    known: Mapping[str, EventName] = {}

    def __post_init__(self) -> None:
        """Derive the map back; the first of several events has their name."""
        usual = {theirs: name for name, theirs in reversed(tuple(self.native.items()))}
        force_setattr(self, "known", {**{name.value: name for name in EventName}, **usual})

    def encode(self, event: Event) -> str:
        """Return the event's name in this system."""
        return event.native_name if self.is_foreign(event) else self.native.get(event.name) or str(event.name)

    def is_foreign(self, event: Event) -> bool:
        """Return whether the event has a name that only its own system knows."""
        return event.name is EventName.CUSTOM and event.native_name != "" and event.native_name not in self.known

    def decode(self, native: str, body: Mapping[str, object]) -> EventName:
        """Return the event's canonical name, `custom` for an unknown one."""
        if native in self.choose:
            return self.choose[native](body)
        return self.more.get(native) or self.known.get(native, EventName.CUSTOM)


def tool_event_by_error(body: Mapping[str, object]) -> EventName:
    """Return `tool_failed` for a tool with an `error` beside its result, else `after_tool`."""
    return EventName.TOOL_FAILED if body.get("error") else EventName.AFTER_TOOL
