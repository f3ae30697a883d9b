"""Codecs of events: one for the documents of agents, and one for systems that keep an event's data in one object.

Tables say where each datum of an event stands in a system's document, both ways. The body of a document is the object that a
system leaves open for event data. Data with a row in the table are written to their place; everything else is written under its
own name, and under `extra` where that name is reserved, so that nothing is lost and nothing is mistaken for a field of the system.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, TypedDict, Unpack

from msgspec import UNSET, Struct
from msgspec.structs import asdict, force_setattr, replace

from hookline.dialects import _json_reader, _tools
from hookline.dialects._json_reader import JsonReader
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tools import DecodedCall, ToolMap, result_text
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EVENTS, Ability, Event, EventName, Session
from hookline.model.exchange import Reply, Request
from hookline.model.verdict import Decision, Verdict

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
            _open_group(body, field.group)[field.leaf] = value
            if field.mirror:
                body[field.mirror] = value
        for group, leaf, mark in self.marks:
            _open_group(body, group)[leaf] = mark
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
    """Return an object in the body, or the body itself for the empty name."""
    if not name:
        return body
    group = body.get(name)
    if not isinstance(group, dict):
        group = body[name] = {}
    return group


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

    `taken` are the names in the body that belong to the system, `taken_at` further ones of some events, and `objects` those of
    them that are objects, with the names in them that are not data. A map is built when it is first needed: a call is about one
    event of thirty.
    """

    @cache
    def build(name: str) -> FieldMap:
        rows = fields.get(name, ())
        paths = tuple((*path.rpartition(".")[::2], value) for path, value in marks.get(name, ()))
        groups = {group: set(known) for group, known in objects.items()}
        flat = {field.mirror for field in rows if field.mirror}
        for group, leaf in (*((row.group, row.leaf) for row in rows), *((group, leaf) for group, leaf, _ in paths)):
            (groups.setdefault(group, set()) if group else flat).add(leaf)
        return FieldMap(
            fields=rows,
            groups={group: frozenset(known) for group, known in groups.items()},
            marks=paths,
            scalars=scalars.get(name, {}),
            keys=frozenset(row.key for row in rows),
            reserved=frozenset({*taken, *taken_at.get(name, ()), *groups, *flat, EXTRA}),
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


# specs and codecs of agents

TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
FILE_EVENTS: Final = frozenset({EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED})
# the events at which a denial sends the agent back to work
TURN_ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})

# a native event -> what an answer can do there, separated by blanks, and the canonical events it stands for
EventTable = Mapping[str, tuple[str, *tuple[EventName, ...]]]


class AgentFacts(TypedDict, total=False):
    """The optional facts about an agent, as `DialectSpec` has them."""

    timeout: float
    matcher: MatcherStyle
    aliases: tuple[str, ...]
    runs_files_of: tuple[str, ...]
    mcp: str
    of_mcp: Mapping[str, frozenset[Ability]]
    event_tools: Mapping[str, tuple[str, ...]]
    by_mode: Mapping[str, str]
    own: frozenset[str]
    signature: Callable[[Mapping[str, object]], bool]


def agent_spec(
    name: str,
    title: str,
    *,
    events: EventTable,
    tools: ToolMap,
    matched: str = "",
    more_events: Mapping[str, EventName] = MappingProxyType({}),
    **facts: Unpack[AgentFacts],
) -> DialectSpec:
    """Build the spec of an agent.

    Where several native events stand for one canonical event, the first is the usual one. `matched` are pairs `tool=names`:
    the names that a matcher for a canonical tool is to catch, where these are not just the agent's names of it. A guard of
    writing and editing has to see every way to do it.
    """
    facts.setdefault("own", frozenset(tools.by_tool))
    pairs = (pair.split("=") for pair in matched.split())
    usual: dict[EventName, str] = {}
    more = dict(more_events)
    for native, (_, *names) in events.items():
        for canonical in names:
            if usual.setdefault(canonical, native) != native:
                more[native] = canonical
    return DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
        name=name,
        title=title,
        shell=True,
        events={canonical: usual[canonical] for canonical in EventName if canonical in usual},
        more_events=more,
        abilities={native: frozenset(map(Ability, row[0].split())) for native, row in events.items()},
        tools={**tools.names_by_tool(), **{tool: tuple(caught.split(",")) for tool, caught in pairs}},
        **facts,
    )


class AgentCodec(Struct, frozen=True, kw_only=True):
    """The tables of one agent, and what its documents have in common with those of other agents.

    A dialect takes the call, the session and the directory out of a document; what is left are the event's data. With
    `has_iso_time`, documents have a `timestamp` in ISO 8601.
    """

    spec: DialectSpec
    names: EventNames
    tools: ToolMap
    field_maps: FieldMaps
    has_iso_time: bool = False

    @property
    def reader(self) -> JsonReader:
        """The reader of this agent's documents."""
        return JsonReader(self.spec.name)

    def read_name(self, value: object, given: str, *, where: str) -> str:
        """Return the native name of an event: the one in the document, else the one the launcher was called with.

        Raises:
            DialectError: There is neither.
        """
        native = self.reader.read_text(value, where) or given
        if not native:
            raise self.reader.error(None, where, wanted="the event's name, as the agent calls it")
        return native

    def native_name(self, event: Event, wanted: str = "") -> str:
        """Return the native name of an event: the one the hook is configured for, the one the agent sent, or the usual one."""
        if wanted in self.spec.abilities and self.names.decode(wanted, event.data) is event.name:
            return wanted
        return (event.native_name if event.host == self.spec.name else "") or self.names.encode(event)

    def abilities_at(self, event: Event) -> frozenset[Ability] | None:
        """Return what an answer can do at an event, None for an unknown one."""
        return self.spec.abilities.get(self.native_name(event))

    # events

    def decode_call(self, name: str, args: object, *, cwd: str, server: str = "", tool: str = "") -> DecodedCall:
        """Return a call in canonical form; a `server` and `tool` beside the name overrule the name."""
        call = _tools.normalise_call(self.tools, name, args, cwd=cwd)
        if not server or not tool:
            return call
        bare = dict(args) if isinstance(args, Mapping) else call.args
        return DecodedCall(_tools.join_name(server, tool), bare, name, args)

    def decode_document(
        self,
        native: str,
        document: dict[str, object],
        *,
        session: Session,
        cwd: str,
        call: DecodedCall,
        iso: bool = True,
    ) -> Event:
        """Return the event of the rest of a document, which is consumed; its time is in ISO 8601 or in milliseconds.

        Raises:
            DialectError: A value has another type than the agent's.
        """
        name = self.names.decode(native, document)
        timestamp = self.reader.take_time(document, "timestamp", iso=iso)
        data = self.field_maps(name).read(document, "", self.reader)
        return self.build_event(name, native, data, call=call, session=session, cwd=cwd, timestamp=timestamp)

    def build_event(
        self,
        name: EventName,
        native: str,
        data: dict[str, object],
        *,
        call: DecodedCall,
        session: Session,
        cwd: str,
        timestamp: int = 0,
    ) -> Event:
        """Build an event that keeps its native name where the canonical one does not imply it."""
        native_name = "" if native in {self.spec.events.get(name), name} else native
        if name is EventName.CUSTOM and native_name:
            data.setdefault("event_name", native)
        return Event(
            name=name,
            data=data,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
            native_name=native_name,
            host=self.spec.name,
            **asdict(call),
        )

    def encode_call(self, event: Event) -> tuple[str, object]:
        """Return the tool and arguments for a hook: for a hook of the calling agent's dialect, as the agent wrote them."""
        name, args = self.tools.encode(event)
        if event.host != self.spec.name:
            server = _tools.split_name(event.tool)
            return self.spec.mcp.format(server=server[0], tool=server[1]) if server else name, args
        if event.native_args is None:
            return name, args
        return event.native_tool or name, _tools.apply_changes(self.tools, event, event.args)

    def write_data(
        self, event: Event, document: dict[str, object], data: dict[str, object] | None = None
    ) -> dict[str, object]:
        """Write an event's data and time to a document that has everything else; a result of another agent is written as a text."""
        if data is None:
            data = fit_result(event, self.spec.name)
        if event.name is EventName.CUSTOM and data.get("event_name") == self.native_name(event):
            del data["event_name"]
        if self.has_iso_time and event.timestamp:
            document["timestamp"] = _json_reader.to_iso(event.timestamp)
        self.field_maps(event.name).write(data, document, session=event.session)
        return document

    # answers of hooks

    def read_reply(self, rules: ReplyRules, reply: Reply, request: Request) -> Verdict:
        """Return the verdict of a reply, as far as the hook's own agent heeds it at the event.

        Where the agent cannot be blocked, the exit code that denies is a failure. An allow that it ignores must not skip a
        permission prompt of another agent.

        Raises:
            DialectError: The hook succeeded, and its output is not an answer.
        """
        able = self.abilities_at(request.event)
        if able is not None and Ability.BLOCK not in able:
            rules = replace(rules, deny_exit=0)
        verdict = rules.read_reply(reply, request)
        if verdict.decision is not Decision.ALLOW or Ability.ALLOW in (able or ()):
            return verdict
        return replace(verdict, decision=Decision.PASS, reason="")


def fit_result(
    event: Event, dialect: str, convert: Callable[[object, str], object] = lambda result, _tool: result_text(result)
) -> dict[str, object]:
    """Return an event's data, with the result of another agent's tool converted for hooks of this dialect."""
    data = dict(event.data)
    if event.name is EventName.AFTER_TOOL and event.host not in {"", dialect} and data.get("result") is not None:
        data["result"] = convert(data["result"], event.tool)
    return data


# a program does not start with a longer variable in its environment
_LONGEST_VARIABLE: Final = 65_536


def fit_environment(values: Mapping[str, object]) -> dict[str, str]:
    """Return the texts that an environment can hold: a guard has to start whatever the prompt contains."""
    texts = {name: value.replace("\0", "") for name, value in values.items() if isinstance(value, str)}
    return {
        name: text for name, text in texts.items() if text and len(text.encode("utf-8", "replace")) <= _LONGEST_VARIABLE
    }


def join_blocks(texts: Iterable[str]) -> str:
    """Join texts with a blank line between them."""
    return "\n\n".join(filter(None, texts))


class BodyCodec(Struct, frozen=True, kw_only=True):
    """The tables of one system whose documents have a body with the call and the data of an event.

    `tool` and `args` are the body's keys of the tool's name and its arguments; all are written, the first that is there is
    read. `where` is the path of the body in the document, for errors.
    """

    dialect: str
    where: str
    names: EventNames
    tools: ToolMap
    field_maps: FieldMaps
    tool: tuple[str, ...]
    args: tuple[str, ...]

    def write(self, event: Event, body: dict[str, object], *, flatten: bool = False) -> None:
        """Write an event's call and data to the body, which already has the session."""
        is_foreign = self.names.is_foreign(event)
        fields = self.field_maps("" if is_foreign else event.name)
        arguments: dict[str, object] = {}
        if event.tool or event.args or event.name in TOOL_EVENTS:
            tool, arguments = self.tools.encode(event)
            body.update(dict.fromkeys(self.tool, tool))
            body.update(dict.fromkeys(self.args, arguments))
        if event.cwd:
            body["cwd"] = event.cwd
        flat = _flat_keys(arguments, event.name, fields) if flatten and event.tool else ()
        data = event.data
        if is_foreign and data.get("event_name") == event.native_name:
            data = {key: value for key, value in data.items() if key != "event_name"}
        fields.write(data, body, session=event.session, reserved=flat)
        for key in flat:
            body[key] = arguments[key]

    def read(
        self, native: str, body: dict[str, object], *, session: Session, timestamp: int, flat_args: Collection[str] = ()
    ) -> Event:
        """Return the event of a body, which is consumed; `flat_args` are the names that may be arguments there.

        Raises:
            DialectError: Something is missing or has another type than the document's.
        """
        reader = JsonReader(self.dialect)
        name = self.names.decode(native, body)
        native_name = "" if native in self.names.known else native
        fields = self.field_maps("" if native_name else name)
        call = self._read_call(name, body, fields, flat_args)
        cwd = reader.read_text(body.pop("cwd", None), self._path("cwd"))
        if "error" in EVENTS[name].fields and "error" not in fields.groups and isinstance(body.get("error"), dict):
            # an object where the document has a text
            for key, value in reader.read_object(body.pop("error"), "error").items():
                body.setdefault(_ERROR_PARTS.get(key, f"error_{key}"), value)
        data = fields.read(body, self.where, reader)
        if native_name:
            data.setdefault("event_name", native_name)
        return Event(
            name=name, data=data, session=session, cwd=cwd, timestamp=timestamp, native_name=native_name, **asdict(call)
        )

    def _read_call(
        self, name: EventName, body: dict[str, object], fields: FieldMap, flat_args: Collection[str]
    ) -> DecodedCall:
        reader = JsonReader(self.dialect)
        tool, arguments = _pop_first(body, self.tool), _pop_first(body, self.args)
        tool = None if tool is UNSET else tool
        if tool is None and name in TOOL_EVENTS:
            raise reader.error(None, self._path(self.tool[0]), wanted="the tool's name")
        native = reader.read_text(tool, self._path(self.tool[0]))
        given = reader.read_object(None if arguments is UNSET else arguments, self._path(self.args[0]))
        if flat_args and native:
            flat = _flat_keys(flat_args if arguments is UNSET else given, name, fields)
            found = {
                key: body.pop(key)
                for key in flat
                if key in body and (arguments is UNSET or _json_reader.is_equal(body[key], given[key]))
            }
            given = found if arguments is UNSET else given
        return DecodedCall(*self.tools.decode(native, given))

    def _path(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key


_ERROR_PARTS: Final = {"message": "error", "type": "error_type", "code": "error_code", "stack": "error_stack"}
# In systems where a failed tool is one that ran and has an `error` beside its result, other data of that name would turn the
# event of a tool that ran into one of a tool that failed.
ERROR_TAKEN: Final[Mapping[str, tuple[str, ...]]] = {EventName.AFTER_TOOL: ("error",)}


def _flat_keys(arguments: Iterable[str], name: EventName, fields: FieldMap) -> list[str]:
    """Return the arguments that can also stand in the body itself without being mistaken for data."""
    return [key for key in arguments if key not in fields.reserved and key not in EVENTS[name].fields]


def _pop_first(body: dict[str, object], keys: tuple[str, ...]) -> object:
    """Remove all keys with the same value and return it; a key with another value stays."""
    value: object = UNSET
    for key in keys:
        if key in body and (value is UNSET or _json_reader.is_equal(value, body[key])):
            value = body.pop(key)
    return value


# sessions

SESSION_TEXTS: Final = ("id", "user", "model", "provider")
SESSION_OBJECTS: Final = ("config", "agent", "profile")
# the session in a body, and the names in it that are not data
SESSION: Final = {"session": frozenset({*SESSION_TEXTS, "startTime", *SESSION_OBJECTS})}
# for values that were checked one by one
new_session: Final[Callable[..., Session]] = Session


def write_session(session: Session, *, without: Collection[str] = ()) -> dict[str, object]:
    """Return the known facts about a session."""
    texts: dict[str, object] = {key: getattr(session, key) for key in SESSION_TEXTS if key not in without}
    started = {"startTime": _json_reader.to_iso(session.started)} if session.started else {}
    objects = {key: dict(getattr(session, key)) for key in SESSION_OBJECTS if key not in without}
    return {key: value for key, value in {**texts, **started, **objects}.items() if value}


def read_session(
    body: dict[str, object], where: str, reader: JsonReader, *, known: Mapping[str, str] = MappingProxyType({})
) -> Session:
    """Remove the session from the body, leaving there what does not belong to it; texts in `known` overrule the session's.

    Raises:
        DialectError: A value has another type than the document's.
    """
    found = dict(reader.read_object(body.pop("session", None), where))
    started = reader.read_time(found.pop("startTime", None), f"{where}.startTime")
    texts = {key: reader.read_text(found.pop(key, None), f"{where}.{key}") for key in SESSION_TEXTS}
    objects = {key: reader.read_object(found.pop(key, None), f"{where}.{key}") for key in SESSION_OBJECTS}
    if found:
        body["session"] = found
    texts.update((key, value) for key, value in known.items() if value)
    return new_session(started=started, **texts, **objects)
