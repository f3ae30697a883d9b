"""Make events out of the names and fields that people and programs say."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from hookline.core.registry import event_key
from hookline.core.translator import take_tool
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.session import Session

_NAMES: Final = {str(name): name for name in EventName}

_REMEMBERED: Final = 256


class Moments:
    """Know every name that any dialect has for an event or a tool."""

    def __init__(self, specs: Mapping[str, DialectSpec]) -> None:
        self._specs = specs
        self._named: dict[str, tuple[str, str]] = {}

    # Both are made when they are first needed: an engine that is only given events in our words needs neither, and
    # each would import every dialect.
    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        specs = self._specs.values()
        return {native: name for spec in specs for name, native in reversed(list(spec.events.items()))}

    @cached_property
    def _tools(self) -> Mapping[str, str]:
        return _tool_names(self._specs.values())

    def resolve(self, name: str) -> str:
        """Give the canonical name of an event that any dialect knows; another name stays as it is."""
        return self._aliases.get(name, name) if name not in _NAMES else name

    def listened(self, name: str) -> tuple[str, ...]:
        """Give every canonical event a dialect's name stands for: some tell events apart by what is in them."""
        shared = [one for spec in self._specs.values() for one, native in spec.events.items() if native == name]
        return (name,) if name in _NAMES or not shared else tuple(dict.fromkeys(map(str, shared)))

    def _name(self, tool: str) -> tuple[str, str]:
        """Give the canonical name of a tool, and the one it was called by where that is another; remembered."""
        # what is remembered is given to all who say the same, in whatever kind of text
        tool = str.__str__(tool)
        canonical = self._tools.get(tool.casefold()) if tool else None
        if len(self._named) >= _REMEMBERED:
            self._named.clear()
        found = self._named[tool] = (tool, "") if canonical is None else (canonical, tool)
        return found

    def event(
        self,
        name: str,
        data: Mapping[str, object] | None,
        *,
        tool: str,
        args: Mapping[str, object] | None,
        session: Session,
        cwd: str,
        at: float,
        id: str,  # noqa: A002 - the word everybody uses
    ) -> Event:
        """Make an event.

        Raises:
            ConfigError: There is no such event.
        """
        canonical = name if name in _NAMES else event_key(self.resolve(name))
        fields = dict(data) if data else {}
        if canonical not in _NAMES:
            fields["event_name"] = canonical.partition(":")[2]
            canonical = EventName.CUSTOM
        if not tool or args is None:
            tool, given = take_tool(fields, tool)
            args = given if args is None else args
        tool, native = self._named.get(tool) or self._name(tool)
        return Event(
            name=_NAMES[canonical],
            data=fields,
            tool=tool,
            native_tool=native,
            args=dict(args) if args else {},
            session=session,
            cwd=cwd,
            timestamp=int(at * 1000),
            id=id,
        )


def _tool_names(specs: Iterable[DialectSpec]) -> dict[str, str]:
    """Say which canonical tool every dialect's name stands for; a name that is canonical itself stands for itself."""
    specs = list(specs)
    canonical = {tool for spec in specs for tool in spec.tools}
    return {
        native.casefold(): tool
        for spec in reversed(specs)
        # a name of several tools stands for the first of them
        for tool, names in reversed(list(spec.tools.items()))
        for native in names
        if native.casefold() not in canonical
    }
