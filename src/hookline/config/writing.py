"""Write a hook in any format: what it becomes there, and everything that cannot be carried over."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import NODEFAULT, Struct, structs

from hookline.config.document import KeyPath
from hookline.config.formats import OF_AGENTS, grouped, native, ollm, per_file, when_then
from hookline.config.formats.when_then import COMMAND_EVENTS
from hookline.config.values import Key, slug
from hookline.config.vocabulary import Vocabulary
from hookline.errors import ConfigError
from hookline.model import run_command
from hookline.model.event import CUSTOM_PREFIX
from hookline.model.hook import KIND_BY_FIELD, Hook, Source
from hookline.model.policy import Caching, Needs


class Entry(Struct, frozen=True):
    """What is added to a file: the list it is added to, or nothing for the file as a whole, and the value.

    `event` is the event in the words of the file, where the value does not say it.
    """

    pointer: KeyPath
    value: Mapping[str, object]
    event: str = ""


class Wider(str):
    """A loss that makes a hook do more than it does now: run where it did not, or decide where it only looked on."""

    __slots__ = ()


class Written(Struct, frozen=True):
    """A hook in another format. Without entries it cannot be written there at all; `lost` says why.

    `around` is what a file has besides, if it is a new one. `wider` are those losses by which the hook would do more
    than it does now.
    """

    entries: tuple[Entry, ...]
    lost: tuple[str, ...] = ()
    around: Mapping[str, object] = {}
    wider: tuple[str, ...] = ()


class Target(Struct, frozen=True, kw_only=True):
    """Where a hook is written to: the dialect that is spoken there, its words, and what stands there already.

    A hook that is `alone` may be the whole of a new file, in the formats that have such files.
    """

    dialect: str
    vocabulary: Vocabulary
    document: object = None
    alone: bool = False


Writer = Callable[[Hook, Target], Written]
# hook, id, event and action of OLLM's event automation
_Shape = Callable[[Hook, str, str, Mapping[str, str]], Mapping[str, object]]

_DEFAULTS: Final[Mapping[str, object]] = {
    field.name: field.default for field in structs.fields(Hook) if field.default is not NODEFAULT
} | {"headers": {}, "env": {}}
# what says how a hook is reached, in the order files have it
_REACHED_BY: Final = ("command", "args", "module", "function", "url", "prompt", "steps", "raises")
# what every writer sees to itself, or what is about the file and not about the hook
_APART: Final = frozenset(
    {"id", "on", "name", "dialect", "kind", "call", "source", "layer", "root", "agents", "native_event"}
    | {"source_path", "source_line", "source_format", "source_pointer"}
)
# what keeps a hook from running, or its answers from counting
_HOLDS_BACK: Final = frozenset(
    {
        *("matcher", "files", "writes", "deletes", "reads", "runs", "urls", "condition", "needs", "schedule"),
        *("once", "per_minute", "cooldown", "debounce", "observe", "enabled", "trusted"),
    }
)
_TOOLS: Final = re.compile(r"[\w-]+(?:\|[\w-]+)*")


def write(hook: Hook, name: str, target: Target) -> Written:
    """Write a hook in a format of `WRITERS`.

    Raises:
        ConfigError: There is no such format.
    """
    if name not in WRITERS:
        raise ConfigError(f'there is no format "{name}" to write; there are {", ".join(WRITERS)}')
    if hook.call is not None:
        return Written((), (f"{hook.id}: a function of a running program cannot be written to a file",))
    written = WRITERS[name](hook, target)
    # of a hook that stays behind, details do not matter
    lost = written.lost if written.entries else (f"not written, {written.lost[0]}",)
    wider = tuple(str(reason) for reason in written.lost if isinstance(reason, Wider))
    return Written(written.entries, tuple(f"{hook.id}: {reason}" for reason in lost), written.around, wider)


def _native(hook: Hook, target: Target) -> Written:
    names, lost = event_names(hook.on, hook.dialect, target.vocabulary, own_first=False)
    lost += _other_event(hook, target.vocabulary)
    value: dict[str, object] = {**_title(hook), "on": _one_or_more(names)}
    fields = _fields(native.KEYS)
    carried, left = fields_of(hook, fields, apart={"command", "args", "module", "function", "matcher"})
    if _TOOLS.fullmatch(hook.matcher):
        value["tools"] = hook.matcher.split("|")
    elif hook.matcher:
        value["matcher"] = hook.matcher
    if hook.command and not hook.args:
        value["run"] = hook.command
    elif hook.command:
        value["run"] = [hook.command, *hook.args]
        if carried.pop("shell", False):
            lost.append("a shell and separate arguments; it is written without the shell")
    elif hook.module:
        value["call"] = f"{hook.module}:{hook.function}"
    if hook.dialect != target.dialect:
        value["dialect"] = hook.dialect
    return _one(("hook",), {**value, **carried}, [*lost, *left], names)


def _grouped(hook: Hook, target: Target) -> Written:
    names, lost = event_names(hook.on, target.dialect, target.vocabulary, own_first=True)
    carried, left = fields_of(_with_its_shell(hook, target), _fields(grouped.KEYS), apart={"matcher"})
    entry = {**_title(hook), "type": hook.kind, **carried}
    if not any(carried.get(field) for field in KIND_BY_FIELD):
        return Written((), (f"{hook.kind} hooks have no place in this format",))
    matcher = {"matcher": hook.matcher} if hook.matcher else {}
    entries = []
    for name in names:
        group = group_of(target.document, ("hooks", name), hook.matcher)
        where: KeyPath = ("hooks", name) if group is None else ("hooks", name, group, "hooks")
        entries.append(Entry(where, {**matcher, "hooks": [entry]} if group is None else entry))
    return Written(tuple(entries), (*lost, *left, *other_dialect(hook, target)))


def _ollm(hook: Hook, target: Target) -> Written:
    names, lost = event_names(hook.on, hook.dialect, target.vocabulary, own_first=False)
    carried, left = fields_of(hook, _fields(ollm.KEYS), apart=())
    if not any(carried.get(field) for field in KIND_BY_FIELD):
        return Written((), (f"{hook.kind} hooks have no place in this format",))
    events = {"event": names[0]} if len(names) == 1 else {"events": names}
    value = {"id": hook.id, "name": hook.name or hook.id, **events, **carried}
    if hook.dialect != target.dialect:
        value["dialect"] = hook.dialect
    return _one(_list_in(target), value, [*lost, *left], names)


def _modern(hook: Hook, target: Target) -> Written:
    return _automation(hook, target, _modern_value)


def _legacy(hook: Hook, target: Target) -> Written:
    written = _automation(hook, target, _legacy_value)
    lost = (Wider("there is no key for trusted"),) if _asks_first(hook) else ()
    return Written(written.entries, (*written.lost, *lost))


def _automation(hook: Hook, target: Target, shape: _Shape) -> Written:
    """Write OLLM's event automation, which asks the agent or runs one of the allowed programs."""
    names, lost = event_names(hook.on, when_then.DIALECT, target.vocabulary, own_first=True)
    target = structs.replace(target, dialect=when_then.DIALECT)
    apart = ("command", "args", "prompt", "plain", "files", "enabled", "trusted")
    _, left = fields_of(_with_its_shell(hook, target), {}, apart=apart)
    if hook.kind == "ask_agent":
        action = {"type": "askAgent", "prompt": hook.prompt}
    elif hook.kind == "command":
        action = {"type": "runCommand", "command": _as_line(hook)}
        if refused := run_command.objection(action["command"]):
            return Written((), (refused,))
        left += [] if hook.plain else ["here, text that a command prints is added to the conversation"]
    else:
        return Written((), (f"{hook.kind} hooks have no place in this format",))
    wrong = [name for name in names if hook.kind == "command" and name not in COMMAND_EVENTS]
    if wrong:
        lost.append(f"{', '.join(wrong)}: commands run at {' and '.join(sorted(COMMAND_EVENTS))} only")
    entries = []
    for name in names:
        if name not in wrong:
            ident = hook.id if len(names) == 1 else f"{hook.id}-{slug(name)}"
            entries.append(Entry(_list_in(target), shape(hook, ident, name, action)))
    return Written(tuple(entries), (*lost, *left, *other_dialect(hook, target)))


def _modern_value(hook: Hook, ident: str, event: str, action: Mapping[str, str]) -> Mapping[str, object]:
    return {
        "id": ident,
        "name": hook.name or ident,
        "eventType": event,
        "filePatterns": list(hook.files),
        "action": action,
        # an own hook without the word is trusted, and stays so
        "trusted": hook.source is Source.USER if hook.trusted is None else hook.trusted,
        "enabled": hook.enabled,
    }


def _legacy_value(hook: Hook, ident: str, event: str, action: Mapping[str, str]) -> Mapping[str, object]:
    patterns = {"patterns": list(hook.files)} if hook.files else {}
    switch = {} if hook.enabled else {"enabled": False}
    return {"name": hook.name or ident, "when": {"type": event, **patterns}, "then": action, **switch}


def _per_file(hook: Hook, target: Target) -> Written:
    """Write cli-agent's form with one hook a file; whoever writes it calls the file by `file_name`."""
    names, lost = event_names(hook.on, target.dialect, target.vocabulary, own_first=True)
    carried, left = fields_of(_with_its_shell(hook, target), _fields(per_file.KEYS), apart=())
    if hook.kind != "command":
        return Written((), (f"{hook.kind} hooks have no place in this format",))
    if target.document:
        raise ConfigError("this file is one definition, so no other fits in; write to a file of its own")
    title = {"id": hook.id, **_title(hook)} if hook.name else {}
    # said in the file, too, so that it counts whatever the file is called
    entries = tuple(Entry((), {**title, "type": name, **carried}, event=name) for name in names)
    return Written(entries, (*lost, *left, *other_dialect(hook, target)))


def _agents(hook: Hook, target: Target, *, form: str) -> Written:
    from hookline.config.agents_writing import write_agents  # noqa: PLC0415 - many tables, for those who migrate

    return write_agents(hook, target, form=form)


WRITERS: Final[Mapping[str, Writer]] = MappingProxyType(
    {
        "native": _native,
        "grouped": _grouped,
        "ollm": _ollm,
        "modern": _modern,
        "when_then": _legacy,
        "per_file": _per_file,
        **{name: partial(_agents, form=name) for name in OF_AGENTS if name != "kiro-legacy"},
    }
)


def file_name(hook: Hook, event: str) -> str:
    """Name the file of a hook that has one of its own: `pre-guard.json`."""
    stem = slug(hook.name or hook.id).replace(":", "-")
    prefixes = per_file.PREFIXES.get(event, ("",))
    return f"{stem}.json" if stem.startswith(prefixes) else f"{prefixes[0]}{stem}.json"


def _title(hook: Hook) -> dict[str, object]:
    """Give the name, and the id where it does not follow from the name."""
    if not hook.name:
        return {}
    return {"name": hook.name} if slug(hook.name) == hook.id else {"name": hook.name, "id": hook.id}


def _fields(keys: Mapping[str, Key]) -> dict[str, str]:
    """Say which key carries which field; of two, such as `tools` and `matcher`, the one called like the field."""
    found: dict[str, str] = {}
    for name, key in keys.items():
        if key.field and (key.field not in found or name == key.field):
            found[key.field] = name
    return found


def fields_of(hook: Hook, fields: Mapping[str, str], *, apart: Collection[str]) -> tuple[dict[str, object], list[str]]:
    """Give what the format has a key for, and name what it has none for."""
    said = {name: getattr(hook, name) for name in hook.__struct_fields__ if name not in _APART and name not in apart}
    said = {name: value for name, value in said.items() if value != _DEFAULTS[name]}
    ordered = sorted(said, key=lambda name: _REACHED_BY.index(name) if name in _REACHED_BY else len(_REACHED_BY))
    values = {fields[name]: _plain(said[name]) for name in ordered if name in fields}
    left = [name for name in ordered if name not in fields and (name != "trusted" or _asks_first(hook))]
    return values, [(Wider if name in _HOLDS_BACK else str)(f"there is no key for {name}") for name in left]


def _asks_first(hook: Hook) -> bool:
    """Say whether `trusted` changes anything: only a person's own hook runs without being asked about."""
    return hook.trusted is False and hook.source is Source.USER


def event_names(
    on: Iterable[str], dialect: str, vocabulary: Vocabulary, *, own_first: bool
) -> tuple[list[str], list[str]]:
    """Spell canonical events for a dialect; what has no name there, or a name that means more, is said."""
    wanted = tuple(on)
    own = vocabulary.names.get(dialect, {})
    found: dict[str, None] = {}
    lost: list[str] = []
    for event in wanted:
        theirs = [name for name, events in own.items() if event in events]
        canonical = [event] if not own_first and event in vocabulary.events(event, dialect=dialect) else []
        names = [*theirs, *canonical] if own_first else [*canonical, *theirs]
        exact = [name for name in names if set(vocabulary.events(name, dialect=dialect)) <= set(wanted)]
        chosen = (exact or names)[:1]
        if not chosen and event.startswith(CUSTOM_PREFIX) and not own_first:
            chosen = [event]
        if not chosen:
            lost.append(f"the event {event} has no name in {dialect}")
        elif not exact:
            more = ", ".join(sorted(set(vocabulary.events(chosen[0], dialect=dialect)) - set(wanted)))
            lost.append(Wider(f"{chosen[0]} stands for {more}, too"))
        found |= dict.fromkeys(chosen)
    return list(found), lost


def _with_its_shell(hook: Hook, target: Target) -> Hook:
    """Say whether a shell reads the line, where the dialect of the goal would make something else of it."""
    by_default = target.vocabulary.shell_dialects
    same = (hook.dialect in by_default) == (target.dialect in by_default)
    if hook.kind != "command" or hook.args or hook.shell is not None or same:
        return hook
    return structs.replace(hook, shell=hook.dialect in by_default)


def other_dialect(hook: Hook, target: Target) -> list[str]:
    """Say that a hook would be spoken to in another language than its own."""
    if hook.dialect == target.dialect:
        return []
    return [f"it speaks {hook.dialect}; hooks in this file are spoken to in {target.dialect}"]


def _other_event(hook: Hook, vocabulary: Vocabulary) -> list[str]:
    """Say that a hook would be told of another of its agent's events than the one it was written for."""
    own = vocabulary.names.get(hook.dialect, {})
    told = next((name for name, events in own.items() if set(events) & set(hook.on)), "")
    if hook.native_event in {"", told}:
        return []
    return [f"it was written for {hook.native_event}, and would be told of {told or 'the event in our words'}"]


def group_of(document: object, where: KeyPath, matcher: str) -> int | None:
    """Find the group of an event that has the same matcher, so that hooks that belong together stay together."""
    groups = document
    for step in where:
        groups = groups.get(step) if isinstance(groups, Mapping) else None
    for place, group in enumerate(groups if isinstance(groups, list) else ()):
        if isinstance(group, Mapping) and isinstance(group.get("hooks"), list) and group.get("matcher", "") == matcher:
            return place
    return None


def _list_in(target: Target) -> KeyPath:
    """Say where a file of definitions has its list.

    Raises:
        ConfigError: It has none, because the file is one definition.
    """
    match target.document:
        case list():
            return ()
        case {"hooks": list()}:
            return ("hooks",)
        case None | {} if not target.document:
            return () if target.alone else ("hooks",)
        case _:
            raise ConfigError("this file is one definition, so no other fits in; write to a file of its own")


def _one(pointer: KeyPath, value: Mapping[str, object], lost: list[str], names: list[str]) -> Written:
    return Written((Entry(pointer, value),) if names else (), tuple(lost))


def _one_or_more(names: list[str]) -> object:
    return names[0] if len(names) == 1 else names


def _as_line(hook: Hook) -> str:
    import shlex  # noqa: PLC0415 - only for a command with arguments of its own

    return hook.command if not hook.args else shlex.join([hook.command, *hook.args])


def _plain(value: object) -> object:
    """Give a field as files have it."""
    match value:
        case Caching():
            depends = {name: list(getattr(value, name)) for name in ("by", "files", "env") if getattr(value, name)}
            return {"for": _plain(value.seconds), **depends} if depends else _plain(value.seconds)
        case Needs():
            return {name: list(names) for name, names in structs.asdict(value).items() if names}
        case float() if value == int(value):
            return int(value)
        case int() if type(value) not in {int, bool}:
            return int(value)
        case _:
            return next((make(value) for kind, make in _PLAINLY.items() if isinstance(value, kind)), value)


_PLAINLY: Final[Mapping[type, Callable[..., object]]] = MappingProxyType({tuple: list, Mapping: dict, str: str})
