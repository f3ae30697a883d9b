"""Tools and their arguments under a system's own names, both ways.

A row says how one system calls one canonical tool. Where a call has both the system's name of an argument and
ours, the two trade places, so that a hook always finds the real value under the name its document promises.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

from hookline import wire
from hookline.model.event import Event
from hookline.model.tools import OTHER
from hookline.model.verdict import Effect, EffectKind, Outcome

_BUILTIN: Final = "builtin:"

Reshape = Callable[[dict[str, object]], dict[str, object]]


class UnfitError(Exception):
    """A changed call that the tool it was made for cannot express."""


class Change(Struct, frozen=True):
    """A change of arguments beyond renaming: there and back."""

    to_native: Reshape
    to_canonical: Reshape


def _swapped(keys: Mapping[str, str]) -> dict[str, str]:
    return {native: key for key, native in keys.items()}


class Row(Struct, frozen=True, kw_only=True):
    """One canonical tool in one system: its names, the one that is sent first, and its arguments.

    `also` are other spellings that the system has for an argument, each with our name of it. Where one name of a system
    stands for several of our tools, `when` says by the arguments which of them is meant.
    """

    tool: str
    names: tuple[str, ...]
    keys: Mapping[str, str] = {}
    changes: tuple[Change, ...] = ()
    also: Mapping[str, str] = {}
    when: Callable[[Mapping[str, object]], bool] | None = None
    back: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        """Work out the way back once."""
        force_setattr(self, "back", _swapped(self.keys))

    def to_native(self, args: Mapping[str, object]) -> dict[str, object]:
        """Give the arguments as the system calls them."""
        native = _renamed(args, self.keys, back=self.back) if self.keys else dict(args)
        for change in self.changes:
            native = change.to_native(native)
        return native

    def to_canonical(self, native: Mapping[str, object]) -> dict[str, object]:
        """Give the arguments as we call them.

        Raises:
            UnfitError: The tool has no arguments for this.
        """
        args = self._usual(native) if self.also else dict(native)
        for change in reversed(self.changes):
            args = change.to_canonical(args)
        return _renamed(args, self.back, back=self.keys) if self.keys else args

    def spelling(self, key: str, said: Mapping[str, object]) -> str:
        """Give the name under which a call already has the argument of this native name."""
        ours = self.back.get(key, key)
        other = (spelled for spelled, meant in self.also.items() if meant == ours)
        return next((name for name in (key, ours, *other) if name in said), key)

    def _usual(self, native: Mapping[str, object]) -> dict[str, object]:
        """Bring other spellings of an argument to the usual one, where that is not there itself."""
        args = dict(native)
        for spelled, ours in self.also.items():
            usual = self.keys.get(ours, ours)
            if spelled in args and usual not in args and ours not in args:
                args[usual] = args.pop(spelled)
        return args


class Toolbox(Struct, frozen=True):
    """All rows of one system, found by either name."""

    by_native: Mapping[str, Row]
    by_tool: Mapping[str, Row]
    # names that stand for several of our tools, with all their rows
    shared: Mapping[str, tuple[Row, ...]] = {}

    def call(self, event: Event) -> tuple[str, dict[str, object]]:
        """Say an event's tool call in the system's words: the name its document promises, whatever the host says."""
        name, row = self._sent(event)
        return name, row.to_native(event.args)

    def native(self, event: Event, args: Mapping[str, object]) -> dict[str, object]:
        """Give other arguments of an event's tool under the host's names."""
        return self._row(event)[1].to_native(args)

    def understand(self, name: str, args: Mapping[str, object]) -> tuple[str, dict[str, object], str]:
        """Give our tool and arguments, and the system's name where ours does not tell it."""
        bare = _bare(name)
        row = self._meant(_folded(bare), args)
        tool = row.tool if row else bare
        sent = self.by_tool.get(tool)
        usual = sent.names[0] if sent else tool
        return tool, (row or _ANY).to_canonical(args), "" if name == usual else name

    def knows(self, name: str, args: Mapping[str, object]) -> bool:
        """Say whether the system's own table has a tool."""
        return self._meant(_folded(_bare(name)), args) is not None

    def spelling(self, event: Event, key: str, said: Mapping[str, object]) -> str:
        """Give the name under which an event's call already has the argument of this native name."""
        return self._row(event)[1].spelling(key, said)

    def rewrites(self, event: Event, changed: Mapping[str, object]) -> tuple[Effect, ...]:
        """Turn arguments a hook changed, under its own names, into effects on ours.

        Raises:
            UnfitError: The event's tool has no arguments for this.
        """
        row = self._sent(event)[1]
        native = row.to_native(event.args)
        before = row.to_canonical(native)
        for key, value in changed.items():
            # a hook that uses our name for an argument means the argument
            native[key if key in native else row.keys.get(key, str(key))] = value
        after = row.to_canonical(native)
        return tuple(
            Effect(EffectKind.REWRITE, value, ("args", key))
            for key, value in after.items()
            if key not in before or wire.dump(before[key]) != wire.dump(value)
        )

    def changed(self, outcome: Outcome, event: Event) -> dict[str, object]:
        """Give the arguments an outcome changes, under the host's names."""
        final = final_args(outcome, event)
        if final is None:
            return {}
        row = self._row(event)[1]
        before = row.to_native(event.args)
        return {
            key: value
            for key, value in row.to_native(final).items()
            if key not in before or wire.dump(before[key]) != wire.dump(value)
        }

    def names(self) -> dict[str, tuple[str, ...]]:
        """List every name of every canonical tool, the one that is sent first."""
        found: dict[str, list[str]] = {}
        several = (row for rows in self.shared.values() for row in rows)
        for row in (*self.by_tool.values(), *self.by_native.values(), *several):
            found.setdefault(row.tool, []).extend(row.names)
        return {tool: tuple(dict.fromkeys(names)) for tool, names in found.items()}

    def _sent(self, event: Event) -> tuple[str, Row]:
        """Find what hooks are told. Other spellings of a tool are its usual name to them; other tools stay others."""
        usual = self.by_tool.get(event.tool)
        if usual is not None and not event.native_tool:
            return usual.names[0], usual
        name, row = self._row(event)
        if row is usual:
            return row.names[0], row
        wanted = _folded(_bare(name))
        return next((known for known in row.names if _folded(known) == wanted), name), row

    def _meant(self, name: str, args: Mapping[str, object]) -> Row | None:
        several = (row for row in self.shared.get(name, ()) if row.when is None or row.when(args))
        return next(several, None) or self.by_native.get(name)

    def _named(self, name: str, tool: str) -> Row | None:
        several = (row for row in self.shared.get(name, ()) if row.tool == tool)
        return next(several, None) or self.by_native.get(name)

    def _row(self, event: Event) -> tuple[str, Row]:
        if event.native_tool:
            bare = _bare(event.native_tool)
            row = self._named(_folded(bare), event.tool)
            if row is not None and row.tool == event.tool:
                return event.native_tool, row
            if row is None and event.tool in {bare, f"{OTHER}{bare}"}:
                return event.native_tool, _ANY
        row = self.by_tool.get(event.tool)
        return (row.names[0], row) if row is not None else (event.tool, _ANY)


_ANY: Final = Row(tool="", names=())


def toolbox(rows: Iterable[Row]) -> Toolbox:
    """Arrange rows for finding; where several claim a name or a tool, the first has it."""
    by_native: dict[str, Row] = {}
    by_tool: dict[str, Row] = {}
    shared: dict[str, tuple[Row, ...]] = {}
    for row in rows:
        by_tool.setdefault(row.tool, row)
        for name in row.names:
            by_native.setdefault(_folded(name), row)
            if row.when is not None:
                shared[_folded(name)] = (*shared.get(_folded(name), ()), row)
    return Toolbox(by_native, by_tool, shared)


def final_args(outcome: Outcome, event: Event) -> Mapping[str, object] | None:
    """Give the arguments as an outcome leaves them; None where it does not change any."""
    if outcome.args is not None:
        return outcome.args
    changes = {
        effect.path[1]: effect.value
        for effect in outcome.effects
        if effect.kind is EffectKind.REWRITE and effect.path[:1] == ("args",) and len(effect.path) > 1
    }
    return {**event.args, **changes} if changes else None


def final_output(outcome: Outcome) -> object:
    """Give the output an outcome puts in place of the tool's, or UNSET."""
    if outcome.output is not UNSET:
        return outcome.output
    outputs = [
        effect.value for effect in outcome.effects if effect.kind is EffectKind.REWRITE and effect.path == ("output",)
    ]
    return outputs[-1] if outputs else UNSET


def _bare(name: str) -> str:
    return name.removeprefix(_BUILTIN) or name


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _renamed(args: Mapping[str, object], keys: Mapping[str, str], *, back: Mapping[str, str]) -> dict[str, object]:
    renamed: dict[str, object] = {}
    for key, value in args.items():
        target = keys.get(key)
        if target is None:
            twin = back.get(key)
            target = twin if twin is not None and twin in args else key
        renamed[target] = value
    return renamed


# changes that several systems share


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int:
    """Give a number that counts lines, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _to_ms(key: str, args: dict[str, object]) -> dict[str, object]:
    if key not in args:
        return args
    seconds = _number(args.get(key))
    if seconds is None or not abs(seconds) < _LONGEST:
        return args
    return {**args, key: round(seconds * 1000)}


def _to_s(key: str, args: dict[str, object]) -> dict[str, object]:
    milliseconds = _number(args.get(key))
    if milliseconds is None or not abs(milliseconds) < _LONGEST * 1000:
        return args
    seconds = milliseconds / 1000
    return {**args, key: int(seconds) if seconds.is_integer() else seconds}


def milliseconds(key: str) -> Change:
    """Count milliseconds in one argument where we count seconds."""
    return Change(partial(_to_ms, key), partial(_to_s, key))


# thirty years: anything beyond is no timeout, and is handed on as it is
_LONGEST: Final = 1_000_000_000
TIMEOUT_MS: Final = milliseconds("timeout")


def _count_to_last(args: dict[str, object]) -> dict[str, object]:
    if "startLine" in args or "endLine" in args:
        return args
    native = _renamed(args, {"offset": "startLine", "limit": "endLine"}, back={})
    first, count = _whole(native.get("startLine")), _whole(native.get("endLine"))
    if first > 0 and count > 0:
        native["endLine"] = first + count - 1
    return native


def _last_to_count(args: dict[str, object]) -> dict[str, object]:
    if "offset" in args or "limit" in args:
        return args
    ours = _renamed(args, {"startLine": "offset", "endLine": "limit"}, back={})
    first, last = _whole(ours.get("offset")), _whole(ours.get("limit"))
    if 0 < first <= last:
        ours["limit"] = last - first + 1
    return ours


LINES: Final = Change(_count_to_last, _last_to_count)


def _counted(step: int, args: dict[str, object]) -> dict[str, object]:
    first = args.get("offset")
    return args if not isinstance(first, int) or isinstance(first, bool) else {**args, "offset": first + step}


# the first line is line 0 there, and line 1 to us
FROM_ZERO: Final = Change(partial(_counted, -1), partial(_counted, 1))


def _urls_to_url(args: dict[str, object]) -> dict[str, object]:
    match args.get("urls"):
        case [str(url)]:
            native = {key: value for key, value in args.items() if key not in {"urls", "url"}}
            return {**native, "url": url, **({"urls": args["url"]} if "url" in args else {})}
        case _:
            return args


def _url_to_urls(args: dict[str, object]) -> dict[str, object]:
    url = args.get("url")
    if not isinstance(url, str):
        return args
    ours = {key: value for key, value in args.items() if key not in {"urls", "url"}}
    return {**ours, "urls": [url], **({"url": args["urls"]} if "urls" in args else {})}


ONE_URL: Final = Change(_urls_to_url, _url_to_urls)


def one_of(many: str, one: str) -> Change:
    """Give the system's one value where we have a list of them; a longer list stays one."""

    def to_native(args: dict[str, object]) -> dict[str, object]:
        match args.get(many):
            case [str(value)] if one not in args:
                return {**{key: args[key] for key in args if key != many}, one: value}
            case _:
                return args

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        value = args.get(one)
        if not isinstance(value, str) or many in args:
            return args
        return {**{key: args[key] for key in args if key != one}, many: [value]}

    return Change(to_native, to_canonical)


_OVERWRITE: Final = {"overwrite": True, "create": False}
_MODES: Final = {True: "overwrite", False: "create"}


def _mode_to_overwrite(args: dict[str, object]) -> dict[str, object]:
    mode = args.get("mode")
    if not isinstance(mode, str) or mode not in _OVERWRITE or "overwrite" in args:
        return args
    return {**{key: value for key, value in args.items() if key != "mode"}, "overwrite": _OVERWRITE[mode]}


def _overwrite_to_mode(args: dict[str, object]) -> dict[str, object]:
    overwrite = args.get("overwrite")
    if not isinstance(overwrite, bool) or "mode" in args:
        return args
    return {**{key: value for key, value in args.items() if key != "overwrite"}, "mode": _MODES[overwrite]}


OVERWRITE: Final = Change(_mode_to_overwrite, _overwrite_to_mode)


def edits(keys: Mapping[str, str]) -> Change:
    """Rename the parts of each edit in a list of edits."""
    back = _swapped(keys)

    def renaming(names: Mapping[str, str], twins: Mapping[str, str]) -> Reshape:
        def reshape(args: dict[str, object]) -> dict[str, object]:
            items = args.get("edits")
            if not isinstance(items, list):
                return args
            renamed = [_renamed(item, names, back=twins) if isinstance(item, dict) else item for item in items]
            return {**args, "edits": renamed}

        return reshape

    return Change(renaming(keys, back), renaming(back, keys))


_EDIT: Final = ("old", "new", "replace_all")


def _edit_to_edits(args: dict[str, object]) -> dict[str, object]:
    if "edits" in args:
        return args
    rest = {key: value for key, value in args.items() if key not in _EDIT}
    return {**rest, "edits": [{key: args[key] for key in _EDIT if key in args}]}


def _edits_to_edit(args: dict[str, object]) -> dict[str, object]:
    match args.get("edits"):
        case [dict() as edit]:
            return {**{key: value for key, value in args.items() if key != "edits"}, **edit}
        case _:
            raise UnfitError("the tool makes exactly one edit, the hook asks for another number of them")


ONE_EDIT: Final = Change(_edit_to_edits, _edits_to_edit)


def renaming(keys: Mapping[str, str]) -> Change:
    """Rename arguments after all other changes were made: what a change calls by one name, the system by another."""
    back = _swapped(keys)

    def reshape(names: Mapping[str, str], twins: Mapping[str, str]) -> Reshape:
        return lambda args: _renamed(args, names, back=twins)

    return Change(reshape(keys, back), reshape(back, keys))
