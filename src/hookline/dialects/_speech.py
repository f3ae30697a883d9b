"""What the documents of agents share that do not speak Claude Code's language: a moment, a call, and everything else.

Each agent has its own keys; its module takes the call, the session and the folder out of the document, and what is left
are the event's data.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.dialects import _calls, _mcp, _read, _results
from hookline.dialects._fields import Field, Names, Shape, Shapes, shape
from hookline.dialects._reply import Manners
from hookline.dialects._tools import Toolbox
from hookline.errors import DialectError
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.session import Session
from hookline.model.verdict import Decision, Outcome, Verdict

TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
# the events at which a no sends the agent back to work
ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})


class Said(Struct, frozen=True):
    """A tool call in our words, and its arguments exactly as the agent said them."""

    call: _calls.Call
    args: object


NO_CALL: Final = Said(_calls.Call("", {}, ""), None)


class Speech(Struct, frozen=True, kw_only=True):
    """One agent's tables. `mcp` is how it spells the tools of MCP servers."""

    dialect: str
    names: Names
    tools: Toolbox
    shapes: Mapping[EventName, Shape]
    mcp: str

    def name(self, said: object, given: str, *, where: str) -> str:
        """Give the agent's own name of an event: the one in the document, else the one it was called with.

        Raises:
            DialectError: There is neither.
        """
        native = _read.text(said, where, dialect=self.dialect) or given
        if not native:
            raise _read.wrong(None, where, dialect=self.dialect, wanted="the event's name, as the agent calls it")
        return native

    def heard(self, name: str, args: object, *, cwd: str, server: str = "", tool: str = "") -> Said:
        """Understand a call; where the agent says which server's tool it is, the name does not have to tell."""
        call = _calls.understood(self.tools, name, {} if args is None else args, cwd=cwd)
        if server and tool:
            # whatever the name looks like: a server may be called like one of the agent's own tools begins
            bare = dict(args) if isinstance(args, Mapping) else call.args
            call = _calls.Call(_mcp.joined(server, tool), bare, name)
        return Said(call, args)

    def told(self, event: Event) -> tuple[str, object]:
        """Say an event's call to a hook of this agent."""
        name, args = _calls.resaid(self.tools, event, dialect=self.dialect)
        if event.host != self.dialect and (parts := _mcp.split(event.tool)) is not None:
            name = self.mcp.format(server=parts[0], tool=parts[1])
        return name, args

    def rewritten(self, outcome: Outcome, event: Event) -> object:
        """Give the whole call as the agent is to make it, UNSET where nothing was changed."""
        return _calls.rewritten(self.tools, outcome, event)

    def event(
        self, native: str, document: dict[str, object], *, session: Session, cwd: str, said: Said, iso: bool = True
    ) -> Event:
        """Make the event of a document, which is used up; its time is in ISO 8601, or counts milliseconds.

        Raises:
            DialectError: A value is not what the agent sends.
        """
        name, foreign = self.names.understand(native, document)
        timestamp = _time(document, dialect=self.dialect, iso=iso)
        data = self.shapes[name].read(document, "", dialect=self.dialect)
        if foreign:
            data.setdefault("event_name", foreign)
        return Event(
            name=name,
            data=data,
            tool=said.call.tool,
            args=said.call.args,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
            native_tool=said.call.native_tool,
            native_name=foreign,
            host=self.dialect,
            native_args=said.args,
        )

    def write(self, event: Event, document: dict[str, object]) -> dict[str, object]:
        """Put an event's data into a document that has all the rest."""
        data = dict(_results.in_texts(event, dialect=self.dialect).data)
        if event.name is EventName.CUSTOM and data.get("event_name") == event.native_name:
            data.pop("event_name", None)
        self.shapes[event.name].write(data, document, session=event.session)
        return document


def shapes(
    fields: Mapping[EventName, tuple[Field, ...]],
    *,
    taken: Iterable[str],
    scalars: Mapping[EventName, Mapping[str, str]] | None = None,
    objects: Mapping[str, frozenset[str]] | None = None,
) -> Shapes:
    """Say how every event looks, by its table."""
    plain, groups, names = scalars or {}, objects or {}, tuple(taken)
    return Shapes(lambda name: shape(fields.get(name, ()), taken=names, scalars=plain.get(name, {}), objects=groups))


def _time(document: dict[str, object], *, dialect: str, iso: bool) -> int:
    """Take the time out of a document; one that we would write otherwise stays among the data as it is."""
    said = document.get("timestamp")
    try:
        moment = 0 if said is None else _read.from_iso(said, "timestamp", dialect=dialect)
    except DialectError:
        return 0
    if said == (_read.to_iso(moment) if iso else moment):
        del document["timestamp"]
    return moment


def blocks(texts: Iterable[str]) -> str:
    """Make one text of several, with a blank line between them."""
    return "\n\n".join(filter(None, texts))


def blocking(manners: Manners, spec: DialectSpec, event: Event) -> Manners:
    """Give how a hook answers at an event: where its agent cannot be told no, the code for it is a failure like others."""
    able = (spec.abilities or {}).get(spec.native(event), frozenset[Ability]())
    return manners if Ability.BLOCK in able or event.name not in spec.events else replace(manners, deny_exit=0)


def heeded(verdict: Verdict, spec: DialectSpec, event: Event) -> Verdict:
    """Take away a yes that the hook's own agent takes for nothing: it skips nobody's permission elsewhere."""
    if verdict.decision is not Decision.ALLOW or Ability.ALLOW in (spec.abilities or {}).get(spec.native(event), ()):
        return verdict
    return replace(verdict, decision=Decision.PASS, reason="")
