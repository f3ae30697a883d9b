"""Tool calls of real agents, both ways: tables of the names and arguments that a system has for the canonical tools.

Where a call has an argument under the system's name and another under ours, the two trade places, so that a hook always
finds the real value under the name that its document promises. Otherwise a call is changed only where a hook changed it: unknown
keys, relative paths and odd types go back as they came.
"""

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

from hookline import json_codec
from hookline.model.dialect import MCP_PREFIX
from hookline.model.event import OTHER, TOOLS, Event
from hookline.model.verdict import Effect, EffectKind, Outcome

_BUILTIN: Final = "builtin:"

ArgsFunction = Callable[[dict[str, object]], dict[str, object]]


class UnsupportedRewriteError(Exception):
    """A hook changed arguments in a way that the called tool cannot express."""


class ArgsCodec(Struct, frozen=True):
    """A two-way conversion of arguments beyond renaming."""

    to_native: ArgsFunction
    to_canonical: ArgsFunction


def _invert(keys: Mapping[str, str]) -> dict[str, str]:
    return {native: key for key, native in keys.items()}


class ToolRow(Struct, frozen=True):
    """One canonical tool in one system: its native names, the one to send first, and its arguments.

    `keys` maps canonical to native argument names, and `also` further native spellings to the canonical name. `codecs` are
    applied after renaming. Where a native name stands for several canonical tools, `when` chooses by the arguments.
    """

    tool: str
    names: tuple[str, ...]
    keys: Mapping[str, str] = {}
    codecs: tuple[ArgsCodec, ...] = ()
    also: Mapping[str, str] = {}
    when: Callable[[Mapping[str, object]], bool] | None = None
    back: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        """Derive the map back from native to canonical argument names."""
        force_setattr(self, "back", _invert(self.keys))

    def to_native(self, args: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments under the system's names."""
        native = _rename(args, self.keys, back=self.back) if self.keys else dict(args)
        for codec in self.codecs:
            native = codec.to_native(native)
        return native

    def to_canonical(self, native: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments under our names.

        Raises:
            UnsupportedRewriteError: The tool has no arguments for this.
        """
        args = dict(native)
        for spelling, canonical in self.also.items():
            usual = self.keys.get(canonical, canonical)
            if spelling in args and usual not in args and canonical not in args:
                args[usual] = args.pop(spelling)
        for codec in reversed(self.codecs):
            args = codec.to_canonical(args)
        return _rename(args, self.back, back=self.keys) if self.keys else args

    def find_key(self, key: str, args: Mapping[str, object]) -> str:
        """Return the name under which a call already has the argument of this native name."""
        canonical = self.back.get(key, key)
        others = (spelling for spelling, meaning in self.also.items() if meaning == canonical)
        return next((name for name in (key, canonical, *others) if name in args), key)


def parse_pairs(text: str) -> dict[str, str]:
    """Return a table that is written as `key=value` pairs, separated by blanks."""
    return dict(pair.split("=") for pair in text.split())


def tool_row(
    tool: str,
    names: str,
    *,
    keys: str = "",
    codecs: tuple[ArgsCodec, ...] = (),
    also: str = "",
    when: Callable[[Mapping[str, object]], bool] | None = None,
) -> ToolRow:
    """Build a row from texts: names are separated by blanks, and pairs of `keys` and `also` are `ours=theirs`."""
    return ToolRow(tool, tuple(names.split()), parse_pairs(keys), codecs=codecs, also=parse_pairs(also), when=when)


_ANY: Final = ToolRow("", ())


class ToolMap(Struct, frozen=True):
    """All rows of one system, by either name; `shared` has the rows of native names that stand for several tools."""

    by_native: Mapping[str, ToolRow]
    by_tool: Mapping[str, ToolRow]
    shared: Mapping[str, tuple[ToolRow, ...]] = {}

    def encode(self, event: Event) -> tuple[str, dict[str, object]]:
        """Return an event's tool and arguments under the names that the system's hooks expect."""
        name, row = self._sent_row(event)
        return name, row.to_native(event.args)

    def decode(self, name: str, args: Mapping[str, object]) -> tuple[str, dict[str, object], str]:
        """Return the canonical tool and arguments, and the native name where the tool does not imply it."""
        bare = _strip_builtin(name)
        row = self._row_for_args(_fold(bare), args)
        tool = row.tool if row else bare
        sent = self.by_tool.get(tool)
        usual = sent.names[0] if sent else tool
        return tool, (row or _ANY).to_canonical(args), "" if name == usual else name

    def has_tool(self, name: str, args: Mapping[str, object]) -> bool:
        """Return whether the table lists a native tool."""
        return self._row_for_args(_fold(_strip_builtin(name)), args) is not None

    def rewrite_effects(self, event: Event, changed: Mapping[str, object]) -> tuple[Effect, ...]:
        """Return the effects of arguments that a hook changed, under its dialect's names.

        Raises:
            UnsupportedRewriteError: The event's tool has no arguments for this.
        """
        row = self._sent_row(event)[1]
        native = row.to_native(event.args)
        before = row.to_canonical(native)
        for key, value in changed.items():
            # a hook may also use the canonical name of an argument
            native[key if key in native else row.keys.get(key, str(key))] = value
        changes = find_changes(before, row.to_canonical(native))
        return tuple(Effect(EffectKind.REWRITE, value, ("args", key)) for key, value in changes.items())

    def changed_args(self, outcome: Outcome, event: Event) -> dict[str, object]:
        """Return the arguments that an outcome changes, under the calling agent's names."""
        final = final_args(outcome, event)
        if final is None:
            return {}
        row = self.called_row(event)[1]
        return find_changes(row.to_native(event.args), row.to_native(final))

    def names_by_tool(self) -> dict[str, tuple[str, ...]]:
        """Return every native name of every canonical tool, the one to send first."""
        names: dict[str, list[str]] = {}
        several = (row for rows in self.shared.values() for row in rows)
        for row in (*self.by_tool.values(), *self.by_native.values(), *several):
            names.setdefault(row.tool, []).extend(row.names)
        return {tool: tuple(dict.fromkeys(native)) for tool, native in names.items()}

    def _sent_row(self, event: Event) -> tuple[str, ToolRow]:
        """Return what hooks are sent: the usual name for other spellings of a tool, but not for other tools."""
        usual = self.by_tool.get(event.tool)
        if usual is not None and not event.native_tool:
            return usual.names[0], usual
        name, row = self.called_row(event)
        if row is usual:
            return row.names[0], row
        wanted = _fold(_strip_builtin(name))
        return next((native for native in row.names if _fold(native) == wanted), name), row

    def called_row(self, event: Event) -> tuple[str, ToolRow]:
        """Return the native name that the agent called, and its row."""
        if event.native_tool:
            bare = _strip_builtin(event.native_tool)
            several = (row for row in self.shared.get(_fold(bare), ()) if row.tool == event.tool)
            row = next(several, None) or self.by_native.get(_fold(bare))
            if row is not None and row.tool == event.tool:
                return event.native_tool, row
            if row is None and event.tool in {bare, f"{OTHER}{bare}"}:
                return event.native_tool, _ANY
        row = self.by_tool.get(event.tool)
        return (row.names[0], row) if row is not None else (event.tool, _ANY)

    def _row_for_args(self, name: str, args: Mapping[str, object]) -> ToolRow | None:
        several = (row for row in self.shared.get(name, ()) if row.when is None or row.when(args))
        return next(several, None) or self.by_native.get(name)


def tool_map(*rows: ToolRow) -> ToolMap:
    """Index rows by both names; where several claim a name or a tool, the first has it."""
    by_native: dict[str, ToolRow] = {}
    by_tool: dict[str, ToolRow] = {}
    shared: dict[str, tuple[ToolRow, ...]] = {}
    for row in rows:
        by_tool.setdefault(row.tool, row)
        for name in row.names:
            by_native.setdefault(_fold(name), row)
            if row.when is not None:
                shared[_fold(name)] = (*shared.get(_fold(name), ()), row)
    return ToolMap(by_native, by_tool, shared)


def final_args(outcome: Outcome, event: Event) -> Mapping[str, object] | None:
    """Return the arguments after an outcome's rewrites, None where it has none."""
    if outcome.args is not None:
        return outcome.args
    changes = {
        effect.path[1]: effect.value
        for effect in outcome.effects
        if effect.kind is EffectKind.REWRITE and effect.path[:1] == ("args",) and len(effect.path) > 1
    }
    return {**event.args, **changes} if changes else None


def final_output(outcome: Outcome) -> object:
    """Return the output that replaces the tool's, or UNSET."""
    if outcome.output is not UNSET:
        return outcome.output
    outputs = [
        effect.value for effect in outcome.effects if effect.kind is EffectKind.REWRITE and effect.path == ("output",)
    ]
    return outputs[-1] if outputs else UNSET


def find_changes(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments that are new or have another value."""
    return {
        key: value
        for key, value in after.items()
        if key not in before or json_codec.dump(before[key]) != json_codec.dump(value)
    }


def _strip_builtin(name: str) -> str:
    return name.removeprefix(_BUILTIN) or name


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _rename(args: Mapping[str, object], keys: Mapping[str, str], *, back: Mapping[str, str]) -> dict[str, object]:
    renamed: dict[str, object] = {}
    for key, value in args.items():
        target = keys.get(key)
        if target is None:
            twin = back.get(key)
            target = twin if twin is not None and twin in args else key
        renamed[target] = value
    return renamed


# conversions that several systems share


def without(args: Mapping[str, object], *keys: str) -> dict[str, object]:
    """Return arguments without some of them."""
    return {key: value for key, value in args.items() if key not in keys}


def as_int(value: object) -> int:
    """Return a whole number unchanged, and 0 for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# thirty years: a larger number is not a timeout and stays unchanged
_LONGEST: Final = 1_000_000_000


def milliseconds(key: str) -> ArgsCodec:
    """Convert one argument between seconds, which canonical tools count, and milliseconds."""

    def to_ms(args: dict[str, object]) -> dict[str, object]:
        value = args.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _LONGEST:
            return args
        return {**args, key: round(value * 1000)}

    def to_seconds(args: dict[str, object]) -> dict[str, object]:
        value = args.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _LONGEST * 1000:
            return args
        seconds = value / 1000
        return {**args, key: int(seconds) if seconds.is_integer() else seconds}

    return ArgsCodec(to_ms, to_seconds)


TIMEOUT_MS: Final = milliseconds("timeout")


def _count_to_last(args: dict[str, object]) -> dict[str, object]:
    if "startLine" in args or "endLine" in args:
        return args
    native = _rename(args, {"offset": "startLine", "limit": "endLine"}, back={})
    first, count = as_int(native.get("startLine")), as_int(native.get("endLine"))
    if first > 0 and count > 0:
        native["endLine"] = first + count - 1
    return native


def _last_to_count(args: dict[str, object]) -> dict[str, object]:
    if "offset" in args or "limit" in args:
        return args
    canonical = _rename(args, {"startLine": "offset", "endLine": "limit"}, back={})
    first, last = as_int(canonical.get("offset")), as_int(canonical.get("limit"))
    if 0 < first <= last:
        canonical["limit"] = last - first + 1
    return canonical


LINES: Final = ArgsCodec(_count_to_last, _last_to_count)


def _shift_offset(step: int, args: dict[str, object]) -> dict[str, object]:
    first = args.get("offset")
    return args if not isinstance(first, int) or isinstance(first, bool) else {**args, "offset": first + step}


# the system counts lines from 0, canonical tools from 1
FROM_ZERO: Final = ArgsCodec(partial(_shift_offset, -1), partial(_shift_offset, 1))


def _urls_to_url(args: dict[str, object]) -> dict[str, object]:
    match args.get("urls"):
        case [str(url)]:
            return {**without(args, "urls", "url"), "url": url, **({"urls": args["url"]} if "url" in args else {})}
        case _:
            return args


def _url_to_urls(args: dict[str, object]) -> dict[str, object]:
    url = args.get("url")
    if not isinstance(url, str):
        return args
    return {**without(args, "urls", "url"), "urls": [url], **({"url": args["urls"]} if "urls" in args else {})}


ONE_URL: Final = ArgsCodec(_urls_to_url, _url_to_urls)


def convert(
    ours: str, theirs: str, to_theirs: Callable[[object], object], to_ours: Callable[[object], object]
) -> ArgsCodec:
    """Convert one argument to another of the system; a value that is converted to UNSET stays as it is."""

    def move(
        source: str, target: str, change: Callable[[object], object], args: dict[str, object]
    ) -> dict[str, object]:
        value = change(args[source]) if source in args and target not in args else UNSET
        return args if value is UNSET else {**without(args, source), target: value}

    return ArgsCodec(partial(move, ours, theirs, to_theirs), partial(move, theirs, ours, to_ours))


def one_of(many: str, one: str) -> ArgsCodec:
    """Convert a list of one to the system's single value; a longer list stays a list."""
    return convert(
        many,
        one,
        lambda values: (
            values[0] if isinstance(values, list) and len(values) == 1 and isinstance(values[0], str) else UNSET
        ),
        lambda value: [value] if isinstance(value, str) else UNSET,
    )


_MODES: Final = {"overwrite": True, "create": False}
OVERWRITE: Final = convert(
    "mode",
    "overwrite",
    lambda mode: _MODES.get(mode, UNSET) if isinstance(mode, str) else UNSET,
    lambda overwrite: ("overwrite" if overwrite else "create") if isinstance(overwrite, bool) else UNSET,
)


def edits(keys: Mapping[str, str]) -> ArgsCodec:
    """Rename the parts of each edit in a list of edits."""
    back = _invert(keys)

    def rename_in(args: dict[str, object], names: Mapping[str, str], twins: Mapping[str, str]) -> dict[str, object]:
        items = args.get("edits")
        if not isinstance(items, list):
            return args
        renamed = [_rename(item, names, back=twins) if isinstance(item, dict) else item for item in items]
        return {**args, "edits": renamed}

    return ArgsCodec(lambda args: rename_in(args, keys, back), lambda args: rename_in(args, back, keys))


_EDIT: Final = ("old", "new", "replace_all")


def _edit_to_edits(args: dict[str, object]) -> dict[str, object]:
    if "edits" in args:
        return args
    return {**without(args, *_EDIT), "edits": [{key: args[key] for key in _EDIT if key in args}]}


def _edits_to_edit(args: dict[str, object]) -> dict[str, object]:
    match args.get("edits"):
        case [dict() as edit]:
            return {**without(args, "edits"), **edit}
        case _:
            raise UnsupportedRewriteError("the tool makes exactly one edit, the hook asks for another number of them")


ONE_EDIT: Final = ArgsCodec(_edit_to_edits, _edits_to_edit)


def rename(keys: Mapping[str, str]) -> ArgsCodec:
    """Rename arguments after other conversions, which know them by another name than the system's."""
    back = _invert(keys)
    return ArgsCodec(lambda args: _rename(args, keys, back=back), lambda args: _rename(args, back, back=keys))


# calls and results of agents

# arguments of canonical tools that are paths: absolute and without `..`, whatever the agent wrote
_PATHS: Final = ("path", "paths", "cwd", "to", "save_to")
# the argument that stands for a whole argument list that is not an object
PLAIN: Final = "input"


class DecodedCall(Struct, frozen=True):
    """A canonical tool call; `native_tool` is the agent's tool where ours does not imply it, `native_args` its arguments."""

    tool: str = ""
    args: dict[str, object] = {}
    native_tool: str = ""
    native_args: object = None


NO_CALL: Final = DecodedCall()


def normalise_call(tools: ToolMap, name: str, native_args: object, *, cwd: str) -> DecodedCall:
    """Return a call as a canonical tool with canonical argument names and absolute paths.

    A tool that the agent's table does not list is never a canonical tool, even under the same name: what it does is unknown.
    """
    given = {} if native_args is None else native_args if isinstance(native_args, Mapping) else {PLAIN: native_args}
    tool, args, native = tools.decode(name, given)
    if tool in TOOLS and not tools.has_tool(name, given):
        tool, native = f"{OTHER}{tool}", name
    return DecodedCall(tool, make_paths_absolute(args, cwd), native, native_args)


def normalise_server_call(server: str, tool: str, native_args: object, *, native_tool: str) -> DecodedCall:
    """Return a call of an MCP server's tool, whose arguments may be JSON in a text and keep their names."""
    args = parse_text(native_args)
    given = args if isinstance(args, dict) else {} if args is None else {PLAIN: args}
    return DecodedCall(join_name(server, tool), given, native_tool, native_args)


def apply_rewrite(tools: ToolMap, outcome: Outcome, event: Event) -> object:
    """Return the whole arguments for the agent, UNSET where no hook changed them."""
    final = final_args(outcome, event)
    if final is None:
        return UNSET
    if event.native_args is None:
        return tools.called_row(event)[1].to_native(final)
    changed = apply_changes(tools, event, final)
    return UNSET if json_codec.dump(changed) == json_codec.dump(event.native_args) else changed


def apply_changes(tools: ToolMap, event: Event, final: Mapping[str, object]) -> object:
    """Apply to the agent's own arguments what differs between them and the final ones."""
    native = event.native_args
    name = event.native_tool or tools.encode(event)[0]
    before = normalise_call(tools, name, native, cwd=event.cwd).args
    if json_codec.dump(before) == json_codec.dump(final):
        return native
    row = tools.called_row(event)[1]
    old, new = row.to_native(before), row.to_native(final)
    whole = dict(native) if isinstance(native, Mapping) else {PLAIN: native}
    for key, value in find_changes(old, new).items():
        whole[row.find_key(key, whole)] = value
    for key in old.keys() - new.keys():
        whole.pop(row.find_key(key, whole), None)
    if isinstance(native, Mapping):
        return whole
    # a plain value stays one unless the change needs a named argument
    return whole[PLAIN] if whole.keys() == {PLAIN} else {key: whole[key] for key in whole if key != PLAIN or key in new}


def make_paths_absolute(args: dict[str, object], cwd: str) -> dict[str, object]:
    """Return arguments with absolute paths; `~` and paths in an unknown directory are left alone."""
    changed: dict[str, object] = {key: _make_absolute(args[key], cwd) for key in _PATHS if key in args}
    return {**args, **changed} if changed else args


def _make_absolute(value: object, cwd: str) -> object:
    if isinstance(value, list):
        return [_make_absolute(item, cwd) for item in value]
    if not isinstance(value, str) or not value or value.startswith("~"):
        return value
    path = posixpath.join(cwd, value)
    # normpath keeps two leading slashes, which mean the same as one on every supported system
    return posixpath.normpath(path).replace("//", "/") if path.startswith("/") else value


def as_edit(args: Mapping[str, object]) -> dict[str, object]:
    """Return a change of a file as one edit, in the words of most agents; a change of the whole file has no old text."""
    new = next((args[key] for key in ("new", "content", "text", "patch", "source") if args.get(key) is not None), "")
    return {"old_string": args.get("old", ""), "new_string": new}


# tools of MCP servers, whose names every agent spells in its own way


def join_name(server: str, tool: str) -> str:
    """Return the canonical name of a server's tool; an agent that does not name the server leaves it empty."""
    return f"{MCP_PREFIX}{server}__{tool}"


def split_name(tool: str) -> tuple[str, str] | None:
    """Return the server and its tool, None for a tool that is not a server's."""
    if not tool.startswith(MCP_PREFIX):
        return None
    server, _, name = tool.removeprefix(MCP_PREFIX).partition("__")
    return server, name


# JSON that agents put into texts


def parse_text(text: object) -> object:
    """Parse a JSON object or list that came as a text; any other value is returned unchanged."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json_codec.load(text)
    except ValueError:
        return text


def to_text(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json_codec.dump(value).decode("utf-8", "replace")


def to_same_text(value: object, *, text: object) -> object:
    """Return the text that a value was parsed from, or a new one if the value has changed since."""
    is_same = isinstance(text, str) and json_codec.dump(parse_text(text)) == json_codec.dump(value)
    return text if is_same else to_text(value)


def result_text(result: object) -> str:
    """Return a tool's result as the text that a model reads of it, and as JSON where it has no such text.

    One agent sends a text, another an object with streams, a third a list of parts.
    """
    match result:
        case {"stdout": str(printed), **more}:
            complaint = more.get("stderr")
            return "\n".join(filter(None, (printed, complaint if isinstance(complaint, str) else "")))
        case {"llmContent": inner} | {"content": list(inner)}:
            return result_text(inner)
        case [*parts] if parts:
            texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
            strings = [text for text in texts if isinstance(text, str)]
            if len(strings) == len(parts):
                return "\n".join(filter(None, strings))
    return to_text(result)
