"""Event fields as tables: where each datum of an event stands in a system's document, both ways.

The body of a document is the object a system leaves open for event data. Data with a row in the table go to
their place there; everything else goes in under its own name, and under `extra` where that name is taken, so
that nothing is lost and nothing can pass for something else.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, Struct

from hookline.dialects import _read
from hookline.dialects._tools import Toolbox
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.session import Session

EXTRA: Final = "extra"
# what systems without a place for it are told when a tool failed and did not say why: hooks test for truth
NO_MESSAGE: Final = "the tool failed without a message"

_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})


class Field(Struct, frozen=True):
    """One datum and its place: `name` or `group.name` in the body.

    `mirror` is a second name for the same value, `default` the session's attribute that stands in for a missing
    datum, `time` says that the document has ISO 8601 where we count milliseconds, and `in_ms` that it counts
    milliseconds where we count seconds.
    """

    key: str
    path: str
    mirror: str = ""
    default: str = ""
    time: bool = False
    in_ms: bool = False


class _Place(Struct, frozen=True):
    key: str
    group: str
    leaf: str
    mirror: str
    default: str
    time: bool
    in_ms: bool

    def said(self, value: object) -> object:
        """Give a value as the document has it."""
        if self.time:
            return _read.to_iso(value)
        return _read.to_ms(value) if self.in_ms else value

    def understood(self, value: object, where: str, *, dialect: str) -> object:
        """Give a value of the document as we have it."""
        if self.time and value is not None:
            at = ".".join(part for part in (where, self.group, self.leaf) if part)
            return _read.from_iso(value, at, dialect=dialect)
        return _read.from_ms(value) if self.in_ms else value


class Shape(Struct, frozen=True, kw_only=True):
    """The places of one kind of event's data, worked out once.

    `groups` are the objects inside the body with the names we know in them, `marks` are constants that tell
    events apart, `scalars` are groups that may also come as a plain value, which is then the named datum.
    """

    places: tuple[_Place, ...]
    groups: Mapping[str, frozenset[str]]
    marks: tuple[tuple[str, str, object], ...]
    scalars: Mapping[str, str]
    known: frozenset[str]
    taken: frozenset[str]

    def write(
        self, data: Mapping[str, object], body: dict[str, object], *, session: Session, taken: Collection[str] = ()
    ) -> None:
        """Put an event's data into the body."""
        for place in self.places:
            value = data.get(place.key, UNSET)
            if value is UNSET:
                value = getattr(session, place.default) if place.default else None
                if not value:
                    continue
            value = place.said(value)
            (_group(body, place.group) if place.group else body)[place.leaf] = value
            if place.mirror:
                body[place.mirror] = value
        for group, leaf, mark in self.marks:
            _group(body, group)[leaf] = mark
        for key, value in data.items():
            if key in self.known:
                continue
            if key in self.taken or key in taken:
                self._set_aside(body, key, value=value)
            else:
                body[key] = value

    def _set_aside(self, body: dict[str, object], key: str, *, value: object) -> None:
        known = self.groups.get(key)
        # most are dicts, and to find out that one is a mapping takes five times as long
        if known is not None and isinstance(value, (dict, Mapping)) and value and known.isdisjoint(value):
            _group(body, key).update(value)
        else:
            _group(body, EXTRA)[key] = value

    def read(self, body: dict[str, object], where: str, *, dialect: str) -> dict[str, object]:
        """Take an event's data out of the body, which is used up.

        Raises:
            DialectError: A value is not what the document says.
        """
        data: dict[str, object] = {}
        groups = {name: self._open_group(name, body, data=data, dialect=dialect, where=where) for name in self.groups}
        for place in self.places:
            source = groups[place.group] if place.group else body
            value = source.pop(place.leaf, UNSET)
            if place.mirror and place.mirror in body and (value is UNSET or _read.same(value, body[place.mirror])):
                value = body.pop(place.mirror)
            if value is not UNSET:
                data[place.key] = place.understood(value, where, dialect=dialect)
        for group, leaf, mark in self.marks:
            if leaf in groups[group] and _read.same(groups[group][leaf], mark):
                del groups[group][leaf]
        aside = body.pop(EXTRA, None)
        if not isinstance(aside, dict):
            aside = {} if aside is None else {EXTRA: aside}
        for key, value in (*body.items(), *aside.items()):
            data.setdefault(key, value)
        for name, rest in groups.items():
            if rest:
                data[f"{name}_details" if name in data else name] = rest
        return data

    def _open_group(
        self, name: str, body: dict[str, object], *, data: dict[str, object], dialect: str, where: str
    ) -> dict[str, object]:
        value = body.pop(name, None)
        if name in self.scalars and value is not None and not isinstance(value, dict):
            data[self.scalars[name]] = value
            return {}
        return dict(_read.obj(value, f"{where}.{name}" if where else name, dialect=dialect))


def _group(body: dict[str, object], name: str) -> dict[str, object]:
    group = body.get(name)
    if not isinstance(group, dict):
        group = body[name] = {}
    return group


def shape(
    fields: Iterable[Field] = (),
    *,
    taken: Iterable[str] = (),
    marks: Iterable[tuple[str, object]] = (),
    scalars: Mapping[str, str] = MappingProxyType({}),
    objects: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> Shape:
    """Work out the shape of one kind of event from its table.

    `taken` are names in the body that belong to the system, `objects` those of them that are objects, with
    the names in them that are not data.
    """
    places = tuple(_place(field) for field in fields)
    marked = tuple((*_split(path), value) for path, value in marks)
    groups = {name: set(known) for name, known in objects.items()}
    for group, leaf in (*((p.group, p.leaf) for p in places), *((group, leaf) for group, leaf, _ in marked)):
        if group:
            groups.setdefault(group, set()).add(leaf)
    flat = {name for place in places if not place.group for name in (place.leaf, place.mirror) if name}
    return Shape(
        places=places,
        groups={name: frozenset(known) for name, known in groups.items()},
        marks=marked,
        scalars=scalars,
        known=frozenset(place.key for place in places),
        taken=frozenset({*taken, *groups, *flat, EXTRA}),
    )


def _place(field: Field) -> _Place:
    group, leaf = _split(field.path)
    return _Place(field.key, group, leaf, field.mirror, field.default, field.time, field.in_ms)


def _split(path: str) -> tuple[str, str]:
    group, _, leaf = path.rpartition(".")
    return group, leaf


class Shapes(dict[EventName, Shape]):
    """The shapes of all events, each worked out when one of its name first comes: a call is about one of thirty."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[EventName], Shape]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: EventName) -> Shape:
        made = self[name] = self._make(name)
        return made


def shapes_with_error(
    fields: Mapping[EventName, tuple[Field, ...]],
    *,
    taken: tuple[str, ...],
    objects: Mapping[str, frozenset[str]],
) -> Shapes:
    """Say how all events look in a system in which a tool that failed is one that ran and has an `error` beside it."""
    return Shapes(
        # other data of that name beside a result would turn the event into a failed one
        lambda name: shape(
            fields.get(name, ()),
            taken=(*taken, "error") if name is EventName.AFTER_TOOL else taken,
            objects=objects,
        )
    )


def failed_by_error(body: Mapping[str, object]) -> EventName:
    """Tell a tool that failed from one that ran by the `error` beside it."""
    return EventName.TOOL_FAILED if body.get("error") else EventName.AFTER_TOOL


class Names(Struct, frozen=True):
    """A system's event names, both ways; `choose` tells events apart that share one name there."""

    native: Mapping[EventName, str]
    known: Mapping[str, EventName]
    choose: Mapping[str, Callable[[Mapping[str, object]], EventName]]

    def say(self, event: Event) -> str:
        """Give the event's name in this system."""
        if event.name is EventName.CUSTOM and self.is_foreign(event):
            return event.native_name
        return self.native.get(event.name) or str(event.name)

    def is_foreign(self, event: Event) -> bool:
        """Tell whether the event goes by a name that only its own system knows."""
        return event.name is EventName.CUSTOM and event.native_name != "" and event.native_name not in self.known

    def understand(self, native: str, body: Mapping[str, object]) -> tuple[EventName, str]:
        """Give the event's canonical name, and the system's own where that does not tell it."""
        if native in self.choose:
            return self.choose[native](body), ""
        name = self.known.get(native)
        return (name, "") if name is not None else (EventName.CUSTOM, native)


def names(
    native: Mapping[EventName, str],
    choose: Mapping[str, Callable[[Mapping[str, object]], EventName]] = MappingProxyType({}),
) -> Names:
    """Arrange event names for finding; canonical names are understood everywhere."""
    known: dict[str, EventName] = {}
    for name, theirs in native.items():
        known.setdefault(theirs, name)
    for name in EventName:
        known.setdefault(name.value, name)
    return Names(native, known, choose)


class Layout(Struct, frozen=True, kw_only=True):
    """How one system's documents carry events: names, tools, shapes, and the keys of a tool call.

    `tool` and `args` are the body's keys for the tool's name and its arguments; all are written, the first
    that is there is read. `where` is the body's place in the document, for messages.
    """

    dialect: str
    where: str
    names: Names
    tools: Toolbox
    shapes: Mapping[EventName, Shape]
    foreign: Shape
    tool: tuple[str, ...]
    args: tuple[str, ...]

    def write(self, event: Event, body: dict[str, object], *, flatten: bool = False) -> None:
        """Put an event's tool call and data into the body, where the session already is."""
        foreign = event.name is EventName.CUSTOM and self.names.is_foreign(event)
        shape_ = self.foreign if foreign else self.shapes[event.name]
        arguments: dict[str, object] = {}
        if event.tool or event.args or event.name in _TOOL_EVENTS:
            tool, arguments = self.tools.call(event)
            for key in self.tool:
                body[key] = tool
            for key in self.args:
                body[key] = arguments
        if event.cwd:
            body["cwd"] = event.cwd
        flat = self.flat(arguments, event.name, shape_) if flatten and event.tool else ()
        shape_.write(_told(event) if foreign else event.data, body, session=event.session, taken=flat)
        for key in flat:
            body[key] = arguments[key]

    def flat(self, arguments: Iterable[str], name: EventName, shape_: Shape) -> list[str]:
        """List the arguments that can also stand in the body itself without passing for something else."""
        fields = EVENTS[name].fields
        return [key for key in arguments if key not in shape_.taken and key not in fields]

    def read(
        self, native: str, body: dict[str, object], *, session: Session, timestamp: int, flat_args: Collection[str] = ()
    ) -> Event:
        """Make the event of a body, which is used up; `flat_args` are the names that may be arguments there.

        Raises:
            DialectError: Something is missing or not what the document says.
        """
        name, native_name = self.names.understand(native, body)
        shape_ = self.foreign if native_name else self.shapes[name]
        tool, args, native_tool = self._call(name, body, shape_=shape_, flat_args=flat_args)
        cwd = _read.text(body.pop("cwd", None), self._at("cwd"), dialect=self.dialect)
        if "error" in EVENTS[name].fields and "error" not in shape_.groups:
            _flatten_error(body)
        data = shape_.read(body, self.where, dialect=self.dialect)
        if native_name:
            data.setdefault("event_name", native_name)
        return Event(
            name=name,
            data=data,
            tool=tool,
            args=args,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
            native_tool=native_tool,
            native_name=native_name,
        )

    def _call(
        self, name: EventName, body: dict[str, object], *, shape_: Shape, flat_args: Collection[str]
    ) -> tuple[str, dict[str, object], str]:
        tool = _first(body, self.tool)
        arguments = _first(body, self.args)
        absent = tool is UNSET or tool is None
        if absent and name in _TOOL_EVENTS:
            raise _read.wrong(None, self._at(self.tool[0]), dialect=self.dialect, wanted="the tool's name")
        spoken = "" if absent else _read.text(tool, self._at(self.tool[0]), dialect=self.dialect)
        given = _read.obj(None if arguments is UNSET else arguments, self._at(self.args[0]), dialect=self.dialect)
        if flat_args and spoken:
            flat = self.flat(flat_args if arguments is UNSET else given, name, shape_)
            found = {key: body.pop(key) for key in flat if key in body and _is_flat(key, body, given, arguments)}
            given = found if arguments is UNSET else given
        return self.tools.understand(spoken, given)

    def _at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key


def _is_flat(key: str, body: Mapping[str, object], given: Mapping[str, object], arguments: object) -> bool:
    return arguments is UNSET or _read.same(body[key], given[key])


def _first(body: dict[str, object], keys: tuple[str, ...]) -> object:
    """Take out all keys that say the same and give the value; a key that says something else stays."""
    value: object = UNSET
    for key in keys:
        if key in body and (value is UNSET or _read.same(value, body[key])):
            value = body.pop(key)
    return value


_ERROR_PARTS: Final = {"message": "error", "type": "error_type", "code": "error_code", "stack": "error_stack"}


def _flatten_error(body: dict[str, object]) -> None:
    """Take apart an error that came as an object where the document has a text."""
    error = body.get("error")
    if isinstance(error, dict):
        del body["error"]
        for key, value in error.items():
            body.setdefault(_ERROR_PARTS.get(key, f"error_{key}"), value)


def _told(event: Event) -> Mapping[str, object]:
    """Leave out the event's name where the document's own field says the same."""
    return {key: value for key, value in event.data.items() if key != "event_name" or value != event.native_name}


# sessions

SESSION_TEXTS: Final = ("id", "user", "model", "provider")
SESSION_OBJECTS: Final = ("config", "agent", "profile")
SESSION_KEYS: Final = frozenset({*SESSION_TEXTS, "startTime", *SESSION_OBJECTS})
_NOBODY: Final = Session()


def write_session(session: Session, *, without: Collection[str] = ()) -> dict[str, object]:
    """Give what is known about a session."""
    written: dict[str, object] = {}
    if session == _NOBODY:
        return written
    for key in SESSION_TEXTS:
        if (value := getattr(session, key)) and key not in without:
            written[key] = value
    if session.started:
        written["startTime"] = _read.to_iso(session.started)
    for key in SESSION_OBJECTS:
        if (value := getattr(session, key)) and key not in without:
            written[key] = dict(value)
    return written


def read_session(
    body: dict[str, object], where: str, *, dialect: str, known: Mapping[str, str] = MappingProxyType({})
) -> Session:
    """Take the session out of the body, leaving there what is no part of a session.

    `known` are the texts the document has elsewhere; they win.

    Raises:
        DialectError: A value is not what the document says.
    """
    found = dict(_read.obj(body.pop("session", None), where, dialect=dialect))
    if not found:
        return session_of(known, {}, started=0)
    at = found.pop("startTime", None)
    started = 0 if at is None else _read.from_iso(at, f"{where}.startTime", dialect=dialect)
    texts = {key: _read.text(found.pop(key, None), f"{where}.{key}", dialect=dialect) for key in SESSION_TEXTS}
    objects = {key: _read.obj(found.pop(key, None), f"{where}.{key}", dialect=dialect) for key in SESSION_OBJECTS}
    if found:
        body["session"] = found
    texts.update((key, value) for key, value in known.items() if value)
    return session_of(texts, objects, started=started)


def session_of(texts: Mapping[str, str], objects: Mapping[str, Mapping[str, object]], *, started: int) -> Session:
    """Make a session of checked values."""
    nothing: Mapping[str, object] = {}
    return Session(
        id=texts.get("id", ""),
        user=texts.get("user", ""),
        started=started,
        model=texts.get("model", ""),
        provider=texts.get("provider", ""),
        config=objects.get("config", nothing),
        agent=objects.get("agent", nothing),
        profile=objects.get("profile", nothing),
    )
