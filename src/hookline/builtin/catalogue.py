"""The hooks that come with Hookline: what each is for, and as hooks that can be planned and run.

They are ordinary hooks that call a function of this program. What they judge with is loaded when they are first asked.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, OnError, Priority, Source
from hookline.model.verdict import Verdict

PREFIX: Final = "builtin:"

Judge = Callable[[Event], Verdict | None]


class Place(Struct, frozen=True, kw_only=True):
    """Where the hooks are used: the project, the person's home, and the folders that decide which hooks run."""

    root: str
    home: str
    protected: tuple[str, ...] = ()


class Builtin(Struct, frozen=True, kw_only=True):
    """One hook that comes with Hookline. A guard that falls over blocks."""

    name: str
    about: str
    on: tuple[EventName, ...]
    judge: Callable[[Place], Judge]
    guards: bool = False

    @property
    def id(self) -> str:
        """What people call it."""
        return f"{PREFIX}{self.name}"


def _read_only(place: Place) -> Judge:
    def judge(event: Event) -> Verdict | None:
        from hookline.builtin import read_only  # noqa: PLC0415 - loaded when it is first asked

        return read_only.judge(event, root=place.root, home=place.home)

    return judge


def _dangerous(place: Place) -> Judge:
    def judge(event: Event) -> Verdict | None:
        from hookline.builtin import dangerous  # noqa: PLC0415 - loaded when it is first asked

        return dangerous.judge(event, root=place.root, home=place.home, protected=place.protected)

    return judge


_TABLE: Final = (
    Builtin(
        name="read-only",
        about="says yes, where a person would be asked, to what only reads files of the project",
        on=(EventName.PERMISSION_REQUEST,),
        judge=_read_only,
    ),
    Builtin(
        name="dangerous",
        about="says no to what hardly anybody ever wants, such as deleting a home folder",
        on=(EventName.PERMISSION_REQUEST, EventName.BEFORE_TOOL),
        judge=_dangerous,
        guards=True,
    ),
)
BUILTINS: Final[Mapping[str, Builtin]] = MappingProxyType({one.name: one for one in _TABLE})


def bare(name: str) -> str:
    """Give the short name of a built-in hook, which settings may write with its prefix, too."""
    return name.removeprefix(PREFIX)


def builtin_hooks(place: Place, *, on: Iterable[str] = (), managed: Iterable[str] = ()) -> tuple[Hook, ...]:
    """Give every built-in hook, switched on where it is named; the administrator's are managed."""
    wanted, theirs = {bare(name) for name in on}, {bare(name) for name in managed}
    return tuple(
        Hook(
            id=one.id,
            name=one.id,
            on=tuple(map(str, one.on)),
            call=one.judge(place),
            # a guard is asked before anybody spends time on the call
            priority=Priority.CRITICAL if one.guards else Priority.HIGH,
            on_error=OnError.BLOCK if one.guards else OnError.CONTINUE,
            enabled=one.name in wanted | theirs,
            source=Source.BUILTIN,
            layer=Layer.MANAGED if one.name in theirs else Layer.USER,
            root=place.root,
        )
        for one in _TABLE
    )
