"""The readers of one file: of its hooks, and of its MCP servers; and the names that both may use."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.document import Document, KeyPath, Problem, Severity
from hookline.config.edit import value_at
from hookline.config.keys import (
    LONG,
    SHARED,
    Key,
    describe,
    flag,
    headers,
    make_keys,
    nonempty_text,
    slug,
    table,
    text,
    texts,
)
from hookline.errors import ConfigError
from hookline.model.dialect import AGENTS
from hookline.model.event import CUSTOM_PREFIX, EVENTS, EventName
from hookline.model.hook import INVALID, OWN_DIALECT, Hook, Layer, OnError, Source
from hookline.model.mcp_server import McpServer, find_server_problem
from hookline.model.names import (
    CLOSED_DIALECTS,
    find_unknown_tools,
    known_events,
    known_tools,
    resolve_events,
    resolve_tools,
    tools_of_event,
)
from hookline.text import find_closest, quote, suggest

# dialect -> the dialect's own event name -> the canonical events it stands for
Names = Mapping[str, Mapping[str, tuple[str, ...]]]
# dialect -> canonical tool -> the dialect's own names of it
Tools = Mapping[str, Mapping[str, tuple[str, ...]]]

_CANONICAL: Final = frozenset(name.value for name in EventName)


class KnownNames(Struct, frozen=True, kw_only=True):
    """The names of all dialects, passed in because `config` does not import dialects.

    `shell_dialects` are those whose commands are shell lines unless a hook says otherwise. `tools` says how each dialect
    calls our tools.
    """

    names: Names = {}
    tools: Tools = {}
    shell_dialects: Collection[str] = ()

    def events(self, name: str, *, dialect: str) -> tuple[str, ...]:
        """Return the canonical events a name stands for; none when it is unknown."""
        own = self.names.get(dialect, {})
        if name in own:
            return own[name]
        known = name in _CANONICAL or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX))
        return (name,) if known else ()

    def events_in_any_dialect(self, name: str, *, dialect: str) -> tuple[str, ...]:
        """Return the canonical events that a name stands for: in the dialect, else in any system."""
        return self.events(name, dialect=dialect) or resolve_events(name)

    def describe_unknown_event(self, name: str, *, dialect: str) -> str:
        """Return the message for an unknown event, with the nearest known one."""
        own = self.names.get(dialect, {})
        return f"unknown event {quote(name)}{suggest(name, [*own, *_CANONICAL]) or suggest(name, known_events())}"


def canonical_tools(matcher: str, dialect: str, tools: Tools) -> tuple[str, ...]:
    """Return the tools a matcher means in our words, where it is a list of names; else nothing that could be a tool."""
    own = tools.get(dialect, {})
    bare = matcher.removeprefix("^(?:").removesuffix(")$") if matcher.startswith("^(?:") else matcher
    found: dict[str, None] = {}
    for word in (part.strip() for part in bare.split("|")):
        ours = next((tool for tool, names in own.items() if word == tool or word in names), "")
        if not ours and any(word in others for others in tools.values()):
            # our own names are understood everywhere
            ours = word
        if not ours:
            return ("", matcher)
        found[ours] = None
    return tuple(sorted(found))


# A file with more problems than this is not a hook configuration, and finding the nearest right word for
# each of a hundred thousand keys would take minutes.
MOST_PROBLEMS: Final = 100

# fields of a hook that a format sets itself, whatever its keys of these names say
_SET_BY_FORMAT: Final = frozenset({"on", "dialect", "source"})
# what follows from where the hook stands, and from what it is called
_SET_BY_PLACE: Final = frozenset({"id", "name", "layer", "root", "implicit"})
_FIELDS: Final = frozenset(
    name for name in Hook.__struct_fields__ if name not in _SET_BY_PLACE and not name.startswith("source_")
)
# how far a source is trusted without an approval
TRUST_RANK: Final[Mapping[Source, int]] = {
    Source.BUILTIN: 3,
    Source.USER: 2,
    Source.WORKSPACE: 1,
    Source.DOWNLOADED: 0,
    Source.EXTENSION: 0,
}


class FileOrigin(Struct, frozen=True, kw_only=True):
    """The file that is read: its path, format, owner, and the default dialect of its hooks.

    `root` is the folder its relative names are counted from. `agent` is the agent whose own file it is: hooks that stand
    there are run by the agent itself.
    """

    path: str
    dialect: str
    source: Source = Source.WORKSPACE
    layer: Layer = Layer.PROJECT
    root: str = ""
    format: str = ""
    agent: str = ""
    known_names: KnownNames = KnownNames()


class FileReader:
    """Collect the hooks of one document, and a problem for everything in it that is not in force."""

    def __init__(self, document: Document, origin: FileOrigin) -> None:
        self.document = document
        self.origin = origin
        self.hooks: list[Hook] = []
        self._problems: list[Problem] = []
        self._suppressed = 0
        self._counts: dict[str, int] = {}
        for path, line in document.repeated:
            self._report(line, f"{quote(str(path[-1]))} is given a second time here; the earlier one is not in force")

    @property
    def is_full(self) -> bool:
        """Whether so much is wrong that details no longer help."""
        return len(self._problems) >= MOST_PROBLEMS

    @property
    def problems(self) -> list[Problem]:
        """Everything to report."""
        if not self._suppressed:
            return self._problems
        return [*self._problems, Problem(self.origin.path, 0, f"{self._suppressed} more problems in this file")]

    def error(self, where: KeyPath, message: str) -> None:
        """Report something that is not in force."""
        self._report(self.document.line_of(where), message)

    def warn(self, where: KeyPath, message: str) -> None:
        """Report something that is in force, but hardly as it was meant."""
        self._report(self.document.line_of(where), message, Severity.WARNING)

    def note(self, where: KeyPath, message: str) -> None:
        """Report something good to know."""
        self._report(self.document.line_of(where), message, Severity.NOTE)

    def _report(self, line: int, message: str, severity: Severity = Severity.ERROR) -> None:
        if self.is_full:
            self._suppressed += 1
        else:
            self._problems.append(Problem(self.origin.path, line, message, severity))

    def report_unknown_key(self, where: KeyPath, key: str, known: Mapping[str, object], *, owner: str) -> None:
        """Report a key that means nothing here."""
        nearest = "" if self.is_full else suggest(key, known)
        self.warn((*where, key), f"unknown key {quote(key)} in {owner}{nearest}")

    def read_keys(
        self, entry: Mapping[str, object], keys: Mapping[str, Key], where: KeyPath, *, owner: str, is_ours: bool = False
    ) -> dict[str, object] | None:
        """Read the keys of one entry; None when one that decides what runs cannot be read.

        A key that is unknown may have been meant to narrow the hook down. In a format of ours every such key keeps the hook
        from being loaded; in a format of others, which have keys that we do not know, only one that looks like a key that
        narrows.
        """
        found: dict[str, object] = {}
        usable = True
        for name, value in entry.items():
            key = keys.get(name)
            if key is None:
                if is_ours or find_closest(name, _LIKE_NARROWING, cutoff=_NEARLY):
                    nearest = "" if self.is_full else suggest(name, keys)
                    message = f"unknown key {quote(name)} in {owner}{nearest}; the hook is not loaded"
                    self.error((*where, name), message)
                    usable = False
                else:
                    self.report_unknown_key(where, name, keys, owner=owner)
                continue
            try:
                found[name] = key.read(value)
            except ValueError as problem:
                usable = usable and not key.vital
                outcome = "the hook is not loaded" if key.vital else "the default holds"
                if name == "on_error":
                    # who wrote the key meant a guard more likely than not
                    found[name], outcome = OnError.BLOCK, "its failures block"
                self.error((*where, name), f"{name} of {owner}: {problem}; {outcome}")
        timeout = found.get("timeout")
        if isinstance(timeout, float) and timeout > LONG:
            self.warn((*where, "timeout"), f"timeout of {owner} is {timeout:g} seconds; seconds are meant here")
        return found if usable else None

    def read_part(
        self, entry: Mapping[str, object], keys: Mapping[str, Key], where: KeyPath, *, owner: str
    ) -> dict[str, object] | None:
        """Read the keys of an object inside of an entry; None when there is none, or as for `read_keys`."""
        name = str(where[-1])
        part = entry.get(name)
        if isinstance(part, Mapping):
            return self.read_keys(part, keys, where, owner=f'"{name}" of {owner}')
        found = describe(part) if name in entry else "none"
        self.error(where, f'{owner} needs an object "{name}", got {found}; the hook is not loaded')
        return None

    def read_group(
        self, group: Mapping[str, object], keys: Mapping[str, Key], where: KeyPath, *, event: str
    ) -> Iterator[tuple[Mapping[str, object], KeyPath, dict[str, object]]]:
        """Yield the hooks of a group, each with its place and with what the keys of the group say."""
        owner = f"a group of {quote(event)}"
        values = self.read_keys(group, keys, where, owner=owner)
        hooks = group["hooks"]
        if not isinstance(hooks, list):
            self.error((*where, "hooks"), f"wanted a list of hooks in {owner}, got {describe(hooks)}")
        elif values is not None:
            for place, hook in enumerate(hooks):
                at = (*where, "hooks", place)
                if isinstance(hook, Mapping):
                    yield hook, at, values
                else:
                    self.error(at, f"wanted an object for a hook of {quote(event)}, got {describe(hook)}")

    @contextmanager
    def reading_hook(self, entry: Mapping[str, object], where: KeyPath, *, on: tuple[str, ...] = ()) -> Iterator[None]:
        """Read one hook inside; where that fails and the hook is a guard, keep a hook that is refused in its place.

        `on` are its events, where they do not stand in the entry itself.
        """
        hooks, problems, more = len(self.hooks), len(self._problems), self._suppressed
        yield
        fresh = self._problems[problems:]
        self._problems[problems:] = [replace(problem, settled=True) for problem in fresh]
        wrong = [problem for problem in fresh if problem.severity is Severity.ERROR]
        if len(self.hooks) > hooks or not (wrong or self._suppressed > more) or not self._is_guard(entry):
            return
        line = self.document.line_of(where)
        why = wrong[0] if wrong else Problem(self.origin.path, line, "there are too many mistakes in this file")
        place = f"{why.path}:{why.line}" if why.line else why.path
        message = why.message.removesuffix("; the hook is not loaded")
        # a matcher that names a tool that does not exist narrows nothing
        matcher = "|".join(_texts_of(entry.get("tools", entry.get("matcher", ""))))
        kept: dict[str, object] = {
            "matcher": "" if find_unknown_tools(matcher) or _find_permission_rule(matcher) else matcher
        }
        for name in (*NARROWING[1:], *SCOPES):
            if name in entry:
                with suppress(ValueError):
                    kept[SHARED[name].field] = SHARED[name].read(entry[name])
        kept |= {name: entry[name] for name in ("id", "name") if isinstance(entry.get(name), str)}
        if not on:
            said = next((entry[key] for key in ("on", "event", "events", "eventType", "type") if key in entry), ())
            found = dict.fromkeys(event for name in _texts_of(said) for event in resolve_events(name))
            # what cannot be understood is about tool calls more likely than not
            on = tuple(found) or (EventName.BEFORE_TOOL,)
        kept |= {"on": on, "kind": INVALID, "on_error": OnError.BLOCK}
        kept["invalid"] = f"{message}; it is not in force: mend {place}, then `hookline check`"
        kept["run_by"] = (self.origin.agent,) if self.origin.agent else ()
        self.add_hook(kept, where, keys={}, event=on[0])

    def _is_guard(self, entry: Mapping[str, object]) -> bool:
        """Return whether an entry is a guard, as far as its words say: what fails closed, or denies or asks by itself."""
        if any(entry.get(key) is value for key, value in (("enabled", False), ("observe", True), ("background", True))):
            return False
        dialect = entry.get("dialect", self.origin.dialect)
        return (
            self.origin.layer is Layer.MANAGED
            or dialect in CLOSED_DIALECTS
            or any(_is_guarding_key(str(key), value) for key, value in entry.items())
        )

    def resolve_events(self, names: tuple[str, ...], where: KeyPath, *, dialect: str) -> tuple[str, ...]:
        """Resolve event names; unknown ones are reported."""
        found: dict[str, None] = {}
        vocabulary = self.origin.known_names
        for name in names:
            events = vocabulary.events(name, dialect=dialect)
            if not events and not tools_of_event(name):
                # a name that is about certain tools alone would be asked about more than it says
                events = resolve_events(name)
            if not events:
                message = "" if self.is_full else vocabulary.describe_unknown_event(name, dialect=dialect)
                self.error(where, message)
            found |= dict.fromkeys(events)
        return tuple(found)

    def resolve_dialect(self, values: Mapping[str, object], where: KeyPath) -> str:
        """Return which dialect a hook speaks; empty when it names one that does not exist."""
        name = str(values.get("dialect", self.origin.dialect))
        known = self.origin.known_names.names
        if name in known or name == self.origin.dialect:
            return name
        self.error((*where, "dialect"), f"unknown dialect {quote(name)}{suggest(name, known)}; the hook is not loaded")
        return ""

    def check_trusted(self, values: Mapping[str, object], where: KeyPath, *, owner: str) -> None:
        """Return what becomes of `trusted: true`: a file cannot vouch for itself."""
        if values.get("trusted") and TRUST_RANK[self.origin.source] < TRUST_RANK[Source.USER]:
            self.note(
                (*where, "trusted"),
                f"{owner} calls itself trusted; only hooks in your own folders are, so it still has to be approved",
            )

    def add_hook(self, values: Mapping[str, object], where: KeyPath, *, keys: Mapping[str, Key], event: str) -> None:
        """Add a hook made of what was read; `event` is the event as the file spells it.

        A value that stands under no key of the file is a field of the hook, or its `format`.
        """
        build: Callable[..., Hook] = Hook
        origin = self.origin
        fields: dict[str, object] = {"source": origin.source, "dialect": origin.dialect}
        for name, value in values.items():
            if name in keys and keys[name].field:
                fields[keys[name].field] = value
            elif name in _SET_BY_FORMAT or (name in _FIELDS and name not in keys):
                fields[name] = value
        if fields.get("args") and fields.get("shell") is False and fields["dialect"] != OWN_DIALECT:
            # words of their own are never a line; said or not, it is the same hook
            del fields["shell"]
        ident = str(values.get("id", "")) or slug(str(values.get("name", "")))
        if not ident:
            self._counts[event] = self._counts.get(event, 0) + 1
            stem = os.path.splitext(os.path.basename(origin.path))[0]  # noqa: PTH119, PTH122 - asked a thousand times
            if origin.agent:
                # many agents have a file called settings
                stem = origin.agent if origin.layer is Layer.PROJECT else f"{origin.agent}-{origin.layer}"
            ident = f"{stem}:{event}:{self._counts[event]}"
        try:
            hook = build(
                id=ident,
                name=str(values.get("name", "") or values.get("id", "")),
                source_path=origin.path,
                source_line=self.document.line_of(where),
                source_format=str(values.get("format", origin.format)),
                source_pointer=where,
                layer=origin.layer,
                root=origin.root,
                **fields,
            )
        except ConfigError as problem:
            self.error(where, problem.message)
        else:
            if self._check_tools(hook, where):
                self.hooks.append(hook)

    def _check_tools(self, hook: Hook, where: KeyPath) -> bool:
        """Return whether the tools of a guard exist; any other hook for a tool that does not exist does no harm."""
        if hook.dialect == OWN_DIALECT and not hook.invalid and (rule := _find_permission_rule(hook.matcher)):
            self.error(where, f"{rule}; the hook is not loaded")
            return False
        if not hook.matcher or not is_guard(hook) or hook.dialect in AGENTS or hook.invalid:
            return True
        if any(EVENTS[EventName(event.partition(":")[0])].subject != "tool" for event in hook.on):
            return True
        for word in find_unknown_tools(hook.matcher):
            keys = ((*where, key) for key in ("tools", "matcher"))
            place = next((key for key in keys if value_at(self.document.value, key) is not None), where)
            own = f'a tool of your own is written "other:{word}"'
            near = find_closest(word, known_tools().values(), cutoff=_NEARLY)
            if near:
                message = f"there is no tool {quote(word)} (did you mean {quote(near)}?); {own}; the hook is not loaded"
                self.error(place, message)
                return False
            self.warn(place, f"no agent that we know has a tool {quote(word)}; {own}")
        return True


# what narrows a hook down to some of its events
NARROWING: Final = ("matcher", "files", "writes", "deletes", "reads", "runs", "urls", "if")
# the agents, branches and hours it is for
SCOPES: Final = ("agents", "branches", "between")
# what people write in place of these, and may mean by them
_LIKE_NARROWING: Final = frozenset(
    {*NARROWING, "tools", "match", "pattern", "patterns", "filter", "only", "paths", "globs", "condition"}
)
_NEARLY: Final = 0.75
# `Bash(git push:*)`, as agents write permissions
_PERMISSION_RULE: Final = re.compile(r"\b([A-Za-z_]\w*)\(([^()|]+)\)")
_KEYS_OF_TOOLS: Final[Mapping[str, frozenset[str]]] = {
    "runs": frozenset({"shell"}),
    "writes": frozenset({"edit_file", "write_file", "multi_edit", "notebook_edit", "apply_patch"}),
    "reads": frozenset({"read_file", "read_files", "grep", "glob", "list_dir"}),
    "urls": frozenset({"web_fetch"}),
}
_GUARDING: Final = ("deny", "confirm", "judge", "block", "forbid", "reject")


def _find_permission_rule(matcher: str) -> str:
    """Return what is wrong with a matcher that is written like a permission rule of an agent, or ""."""
    for name, inside in _PERMISSION_RULE.findall(matcher):
        tools = resolve_tools(name)
        key = next((key for key, covered in _KEYS_OF_TOOLS.items() if covered & tools), "")
        text = re.sub(r"[ :]*\.?\*$", "", inside) if key == "runs" else inside
        if key and re.search(r"[\s:/.*~-]", re.sub(r"^[.*+?]+$", "", inside)):
            value = text.removeprefix("domain:") or "…"
            return (
                f"{quote(f'{name}({inside})')} is a permission rule of an agent, and matchers are names of tools: "
                f'write tools = ["{name}"] and {key} = ["{value}"]'
            )
    return ""


def is_guard(hook: Hook) -> bool:
    """Return whether a hook may have to be missed by its events: it fails closed, or the administrator wants it."""
    if hook.on_error is None:
        return hook.layer is Layer.MANAGED or hook.dialect in CLOSED_DIALECTS
    return hook.on_error is OnError.BLOCK


def _texts_of(said: object) -> list[str]:
    """Return one text or a list of texts, whatever else stands there."""
    return [word for word in (said if isinstance(said, list) else [said]) if isinstance(word, str)]


def _is_guarding_key(key: str, value: object) -> bool:
    """Return whether a key with this value makes a guard of a hook, also where the key is misspelt."""
    if find_closest(key, ("on_error", "on_failure"), cutoff=_NEARLY):
        # only a clear word makes it no guard
        return not isinstance(value, str) or value.lower() != OnError.CONTINUE
    if find_closest(key, ("fail_closed", "required"), cutoff=_NEARLY):
        return value is not False
    if key in {"decision", "action"}:
        return isinstance(value, str) and value.lower() in _GUARDING
    return bool(value) and bool(find_closest(key, _GUARDING, cutoff=_NEARLY))


def describe_hook(entry: Mapping[str, object]) -> str:
    """Name a hook in a message: by its id, its name, or not at all."""
    name = entry.get("id") or entry.get("name")
    return f"hook {quote(name)}" if isinstance(name, str) else "a hook"


# MCP servers, in our own keys or in those of agents

MCP_TABLE: Final = "mcp"
_SSE: Final = "it speaks the retired SSE transport; only stdio and streamable HTTP are supported"

SERVER_KEYS: Final[Mapping[str, Key]] = make_keys(
    {
        "command": (nonempty_text, True, "The program to start; it is spoken to through its stdin and stdout."),
        "args": (texts, True, "The arguments of the program, one word each."),
        "env": (table, True, "Variables of the program; ${NAME} is one of your own."),
        "cwd": (text, True, "The folder that the program runs in."),
        "url": (nonempty_text, True, "The URL of a server that speaks streamable HTTP."),
        "headers": (headers, True, "Headers to send; ${NAME} is a variable of your own."),
        "enabled": (flag, False, "Whether the server may be used."),
    }
)
# how agents spell these keys
_FOREIGN_KEYS: Final[Mapping[str, str]] = {"httpUrl": "url", "serverUrl": "url", "http_headers": "headers"}
_BARE_VARIABLE: Final = re.compile(r"\$(\w+)")


class ServerReader:
    """Reads the servers of one document, in our keys or in those of agents."""

    def __init__(self, document: Document, path: str, *, is_ours: bool) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._path = path
        self._is_ours = is_ours

    def read(self, pointer: KeyPath, *, bare_variables: bool = False) -> Iterator[McpServer]:
        """Yield the servers of the table at a place; `problems` has what is wrong with the others."""
        entries = value_at(self._document.value, pointer)
        if entries is None:
            return
        if not isinstance(entries, Mapping):
            self._report(pointer, f"wanted a table for each MCP server, as in [mcp.NAME], got {describe(entries)}")
            return
        for name, entry in entries.items():
            where = (*pointer, name)
            if not isinstance(entry, Mapping):
                self._report(where, f"wanted a table for the MCP server {quote(name)}, got {describe(entry)}")
                continue
            given = entry if self._is_ours else _translate(entry, bare_variables=bare_variables)
            if given.get("enabled", True) is False:
                continue
            values = self._read_keys(name, given, where)
            if values is not None:
                yield self._build(name, values, where)

    def _read_keys(self, name: str, entry: Mapping[str, object], where: KeyPath) -> dict[str, object] | None:
        values: dict[str, object] = {}
        is_usable = True
        owner = f"the MCP server {quote(name)}"
        for key, value in entry.items():
            if key == "problem" and not self._is_ours:
                values[key] = value
                continue
            if key not in SERVER_KEYS:
                if self._is_ours:
                    self._report((*where, key), f"unknown key {quote(key)} in {owner}{suggest(key, SERVER_KEYS)}")
                continue
            try:
                values[key] = SERVER_KEYS[key].read(value)
            except ValueError as problem:
                is_usable = False
                self._report((*where, key), f"{key} of {owner}: {problem}; the server is not loaded")
        values.pop("enabled", None)
        if "/" in name or not name:
            is_usable = False
            self._report(where, f'{owner} has a "/" in its name, or none; hooks could not name it')
        return values if is_usable else None

    def _build(self, name: str, values: Mapping[str, object], where: KeyPath) -> McpServer:
        build: Callable[..., McpServer] = McpServer
        server = build(name=name, line=self._line_of(where), **values)
        problem = find_server_problem(server)
        if problem and self._is_ours:
            self._report(where, f"the MCP server {quote(name)} cannot be used: {problem}")
        return replace(server, problem=problem)

    def _report(self, where: KeyPath, message: str) -> None:
        # what is wrong in an agent's file is the agent's business
        severity = Severity.ERROR if self._is_ours else Severity.NOTE
        self.problems.append(Problem(self._path, self._line_of(where), message, severity, settled=True))

    def _line_of(self, where: KeyPath) -> int:
        return self._document.line_of(where) if self._document.lines else 0


def _translate(entry: Mapping[str, object], *, bare_variables: bool) -> dict[str, object]:
    """Return an entry of an agent's file with our keys; keys that mean nothing to us are left out."""
    given = {_FOREIGN_KEYS.get(key, key): value for key, value in entry.items()}
    found: dict[str, object] = {key: given[key] for key in SERVER_KEYS if key in given}
    if given.get("disabled") is True:
        found["enabled"] = False
    if given.get("type", given.get("transport")) == "sse":
        found["problem"] = _SSE
    named = given.get("env_http_headers")
    variables = dict(named) if isinstance(named, Mapping) else {}
    if isinstance(given.get("bearer_token_env_var"), str):
        found["headers"] = {"Authorization": f"Bearer ${{{given['bearer_token_env_var']}}}"}
    if variables:
        own = found.get("headers")
        own = dict(own) if isinstance(own, Mapping) else {}
        found["headers"] = {**own, **{name: f"${{{variable}}}" for name, variable in variables.items()}}
    return {key: _brace_variables(value) for key, value in found.items()} if bare_variables else found


def _brace_variables(value: object) -> object:
    if isinstance(value, str):
        return _BARE_VARIABLE.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_brace_variables(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _brace_variables(item) for name, item in value.items()}
    return value
