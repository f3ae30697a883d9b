"""Codecs of events: one for the documents of agents, and one for systems that keep an event's data in one object."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline.dialects import _json_reader, _mcp, _tool_calls, _tool_results
from hookline.dialects._field_map import EventNames, Field, FieldMap, FieldMaps, field_maps
from hookline.dialects._json_reader import JsonReader
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tool_calls import DecodedCall
from hookline.dialects._tool_map import ToolMap
from hookline.errors import DialectError
from hookline.model.capability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.event import EVENTS, Event, EventName, Session
from hookline.model.verdict import Decision, Outcome, Verdict

TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
# the events at which a denial sends the agent back to work
TURN_ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})


def build_event(
    dialect: str,
    name: EventName,
    data: Mapping[str, object],
    *,
    call: DecodedCall,
    session: Session,
    cwd: str,
    timestamp: int = 0,
    native_name: str = "",
) -> Event:
    """Build the event of a decoded document."""
    return Event(
        name=name,
        data=data,
        tool=call.tool,
        args=call.args,
        session=session,
        cwd=cwd,
        timestamp=timestamp,
        native_tool=call.native_tool,
        native_name=native_name,
        host=dialect,
        native_args=call.native_args,
    )


class AgentCodec(Struct, frozen=True, kw_only=True):
    """The tables of one agent, and what its documents have in common with those of other agents.

    A dialect takes the call, the session and the directory out of a document; what is left are the event's data.
    """

    spec: DialectSpec
    names: EventNames
    tools: ToolMap
    field_maps: Mapping[EventName, FieldMap] = {}

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

    def canonical_name(self, native: str) -> EventName | None:
        """Return the canonical event that a native name stands for."""
        return self.spec.more_events.get(native) or self.names.known.get(native)

    def native_name(self, event: Event, wanted: str = "") -> str:
        """Return the native name of an event: the one the hook is configured for, the one the agent sent, or the usual one."""
        if wanted in (self.spec.abilities or ()) and self.canonical_name(wanted) is event.name:
            return wanted
        return (event.native_name if event.host == self.spec.name else "") or self.names.encode(event)

    def decode_call(self, name: str, args: object, *, cwd: str, server: str = "", tool: str = "") -> DecodedCall:
        """Return a call in canonical form; a `server` and `tool` beside the name overrule the name."""
        call = _tool_calls.normalise_call(self.tools, name, args, cwd=cwd)
        if not server or not tool:
            return call
        bare = dict(args) if isinstance(args, Mapping) else call.args
        return DecodedCall(_mcp.join_name(server, tool), bare, name, args)

    def encode_call(self, event: Event) -> tuple[str, object]:
        """Return the tool and arguments of an event for a hook of this agent."""
        name, args = _tool_calls.encode_call(self.tools, event, dialect=self.spec.name)
        if event.host != self.spec.name and (parts := _mcp.split_name(event.tool)) is not None:
            name = self.spec.mcp.format(server=parts[0], tool=parts[1])
        return name, args

    def apply_rewrite(self, outcome: Outcome, event: Event) -> object:
        """Return the whole arguments for the agent, UNSET where no hook changed them."""
        return _tool_calls.apply_rewrite(self.tools, outcome, event)

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
        name, foreign = self.names.decode(native, document)
        timestamp = self._take_time(document, iso=iso)
        data = self.field_maps[name].read(document, "", self.reader)
        if foreign:
            data.setdefault("event_name", foreign)
        return build_event(
            self.spec.name,
            name,
            data,
            call=call,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
            native_name=foreign,
        )

    def build_native_event(
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
        if name is EventName.CUSTOM:
            data.setdefault("event_name", native)
        native_name = "" if self.spec.events.get(name) == native or name == native else native
        return build_event(
            self.spec.name,
            name,
            data,
            call=call,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
            native_name=native_name,
        )

    def write_data(self, event: Event, document: dict[str, object]) -> dict[str, object]:
        """Write an event's data to a document that has everything else."""
        data = dict(_tool_results.with_text(event, dialect=self.spec.name).data)
        if event.name is EventName.CUSTOM and data.get("event_name") == event.native_name:
            data.pop("event_name", None)
        self.field_maps[event.name].write(data, document, session=event.session)
        return document

    def _take_time(self, document: dict[str, object], *, iso: bool) -> int:
        """Remove the time from a document; one that we would write differently stays among the data."""
        value = document.get("timestamp")
        try:
            moment = self.reader.read_time(value, "timestamp")
        except DialectError:
            return 0
        if value is not None and value == (_json_reader.to_iso(moment) if iso else moment):
            del document["timestamp"]
        return moment


def join_blocks(texts: Iterable[str]) -> str:
    """Join texts with a blank line between them."""
    return "\n\n".join(filter(None, texts))


def rules_at(rules: ReplyRules, spec: DialectSpec, event: Event) -> ReplyRules:
    """Return the reply rules at an event: where the agent cannot be blocked, the exit code for it is a failure."""
    able = (spec.abilities or {}).get(spec.native(event), frozenset[Ability]())
    return rules if Ability.BLOCK in able or event.name not in spec.events else replace(rules, deny_exit=0)


def ignore_allow(verdict: Verdict, spec: DialectSpec, event: Event) -> Verdict:
    """Drop an allow that the hook's own agent ignores: it must not skip a permission prompt of another agent."""
    if verdict.decision is not Decision.ALLOW or Ability.ALLOW in (spec.abilities or {}).get(spec.native(event), ()):
        return verdict
    return replace(verdict, decision=Decision.PASS, reason="")


# systems that keep an event's data in one object


class BodyCodec(Struct, frozen=True, kw_only=True):
    """The tables of one system whose documents have a body with the call and the data of an event.

    `tool` and `args` are the body's keys of the tool's name and its arguments; all are written, the first that is there is
    read. `where` is the path of the body in the document, for errors. `foreign` has the fields of unknown events.
    """

    dialect: str
    where: str
    names: EventNames
    tools: ToolMap
    field_maps: Mapping[EventName, FieldMap]
    foreign: FieldMap
    tool: tuple[str, ...]
    args: tuple[str, ...]

    def write(self, event: Event, body: dict[str, object], *, flatten: bool = False) -> None:
        """Write an event's call and data to the body, which already has the session."""
        is_foreign = self.names.is_foreign(event)
        fields = self.foreign if is_foreign else self.field_maps[event.name]
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
        name, native_name = self.names.decode(native, body)
        fields = self.foreign if native_name else self.field_maps[name]
        call = self._read_call(name, body, fields, flat_args)
        cwd = reader.read_text(body.pop("cwd", None), self._path("cwd"))
        if "error" in EVENTS[name].fields and "error" not in fields.groups:
            _flatten_error(body)
        data = fields.read(body, self.where, reader)
        if native_name:
            data.setdefault("event_name", native_name)
        return build_event(
            "", name, data, call=call, session=session, cwd=cwd, timestamp=timestamp, native_name=native_name
        )

    def _read_call(
        self, name: EventName, body: dict[str, object], fields: FieldMap, flat_args: Collection[str]
    ) -> DecodedCall:
        reader = JsonReader(self.dialect)
        tool, arguments = _pop_first(body, self.tool), _pop_first(body, self.args)
        if (tool is UNSET or tool is None) and name in TOOL_EVENTS:
            raise reader.error(None, self._path(self.tool[0]), wanted="the tool's name")
        native = reader.read_text(None if tool is UNSET else tool, self._path(self.tool[0]))
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


_ERROR_PARTS: Final = {"message": "error", "type": "error_type", "code": "error_code", "stack": "error_stack"}


def _flatten_error(body: dict[str, object]) -> None:
    """Split an error that came as an object where the document has a text."""
    error = body.get("error")
    if isinstance(error, dict):
        del body["error"]
        for key, value in error.items():
            body.setdefault(_ERROR_PARTS.get(key, f"error_{key}"), value)


def field_maps_with_error(
    fields: Mapping[EventName, tuple[Field, ...]], *, taken: tuple[str, ...], objects: Mapping[str, frozenset[str]]
) -> FieldMaps:
    """Build the field maps of a system in which a failed tool is one that ran and has an `error` beside its result.

    Other data named `error` would turn the event of a tool that ran into one of a tool that failed.
    """
    return field_maps(
        fields, taken=lambda name: (*taken, "error") if name is EventName.AFTER_TOOL else taken, objects=objects
    )


# sessions

SESSION_TEXTS: Final = ("id", "user", "model", "provider")
SESSION_OBJECTS: Final = ("config", "agent", "profile")
SESSION_KEYS: Final = frozenset({*SESSION_TEXTS, "startTime", *SESSION_OBJECTS})


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
    if not found:
        return build_session(known, {}, started=0)
    started = reader.read_time(found.pop("startTime", None), f"{where}.startTime")
    texts = {key: reader.read_text(found.pop(key, None), f"{where}.{key}") for key in SESSION_TEXTS}
    objects = {key: reader.read_object(found.pop(key, None), f"{where}.{key}") for key in SESSION_OBJECTS}
    if found:
        body["session"] = found
    texts.update((key, value) for key, value in known.items() if value)
    return build_session(texts, objects, started=started)


def build_session(texts: Mapping[str, str], objects: Mapping[str, Mapping[str, object]], *, started: int) -> Session:
    """Build a session of checked values."""
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
