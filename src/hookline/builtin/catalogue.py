"""The hooks that come with Hookline: what each is for, and as hooks that can be planned and run.

They are ordinary hooks that call a function of this program. Their modules are imported with the first call.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, OnError, Priority, Source
from hookline.model.verdict import Verdict

PREFIX: Final = "builtin:"

Judge = Callable[[Event], Verdict | None]


class BuiltinScope(Struct, frozen=True, kw_only=True):
    """Where the hooks are used: the project, the user's home, and the directories that decide which hooks run."""

    root: str
    home: str
    protected: tuple[str, ...] = ()


class Builtin(Struct, frozen=True, kw_only=True):
    """One hook that comes with Hookline. A guard that fails blocks."""

    name: str
    about: str
    on: tuple[EventName, ...]
    judge: Callable[[BuiltinScope], Judge]
    guards: bool = False

    @property
    def id(self) -> str:
        """Its name in commands and settings."""
        return f"{PREFIX}{self.name}"


def _read_only(scope: BuiltinScope) -> Judge:
    def judge(event: Event) -> Verdict | None:
        from hookline.builtin import allow_readonly  # noqa: PLC0415 - loaded with the first call

        return allow_readonly.judge(event, root=scope.root, home=scope.home)

    return judge


def _dangerous(scope: BuiltinScope) -> Judge:
    def judge(event: Event) -> Verdict | None:
        from hookline.builtin import deny_dangerous  # noqa: PLC0415 - loaded with the first call

        return deny_dangerous.judge(event, root=scope.root, home=scope.home, protected=scope.protected)

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
BUILTINS: Final[Mapping[str, Builtin]] = {builtin.name: builtin for builtin in _TABLE}


def strip_prefix(name: str) -> str:
    """Return the short name of a built-in hook, which settings may write with its prefix."""
    return name.removeprefix(PREFIX)


def builtin_hooks(scope: BuiltinScope, *, on: Iterable[str] = (), managed: Iterable[str] = ()) -> tuple[Hook, ...]:
    """Return every built-in hook, enabled where it is named; the administrator's are managed."""
    wanted, enforced = {strip_prefix(name) for name in on}, {strip_prefix(name) for name in managed}
    return tuple(
        Hook(
            id=one.id,
            name=one.id,
            on=tuple(map(str, one.on)),
            call=one.judge(scope),
            # a guard runs before other hooks spend time on the call
            priority=Priority.CRITICAL if one.guards else Priority.HIGH,
            on_error=OnError.BLOCK if one.guards else OnError.CONTINUE,
            enabled=one.name in wanted | enforced,
            source=Source.BUILTIN,
            layer=Layer.MANAGED if one.name in enforced else Layer.USER,
            root=scope.root,
        )
        for one in _TABLE
    )
