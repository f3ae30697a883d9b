"""Export a hook to any format, and report everything that is lost."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec import NODEFAULT, Struct, structs

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.formats import grouped, native, ollm
from hookline.config.formats.agent_files import AgentEvent, AgentFileSpec, MatchTarget
from hookline.config.formats.agent_specs import FILE_SPECS
from hookline.config.formats.ollm import COMMAND_EVENTS
from hookline.config.keys import Key, slug, to_file_value
from hookline.config.reader import KnownNames, canonical_tools
from hookline.errors import ConfigError
from hookline.model import ollm_run_command
from hookline.model.event import CUSTOM_PREFIX
from hookline.model.hook import TARGETS, Hook, OnError, Source


class ExportEntry(Struct, frozen=True):
    """What is added to a file: the list it is added to, or nothing for the file as a whole, and the value.

    `event` is the event in the words of the file, where the value does not say it.
    """

    pointer: KeyPath
    value: Mapping[str, object]
    event: str = ""


class WideningLoss(str):
    """A loss that makes a hook run or decide in more cases than it does now."""

    __slots__ = ()


class ExportResult(Struct, frozen=True):
    """A hook in another format. Without entries it cannot be written there at all; `losses` says why.

    `header` is what a file has besides, if it is a new one. `widening` are those losses by which the hook would do more
    than it does now.
    """

    entries: tuple[ExportEntry, ...]
    losses: tuple[str, ...] = ()
    header: Mapping[str, object] = {}
    widening: tuple[str, ...] = ()


class ExportTarget(Struct, frozen=True, kw_only=True):
    """The target of an export: its dialect, the known names, and the existing document.

    A hook that is `alone` may be the whole of a new file, in the formats that have such files.
    """

    dialect: str
    known_names: KnownNames
    document: object = None
    alone: bool = False


Writer = Callable[[Hook, ExportTarget], ExportResult]

_DEFAULTS: Final[Mapping[str, object]] = {
    field.name: field.default for field in structs.fields(Hook) if field.default is not NODEFAULT
} | {"headers": {}, "env": {}, "platforms": {}, "arguments": {}}
# what says how a hook is reached, in the order files have it
_REACHED_BY: Final = (*TARGETS, "args", "function")
# what every writer sees to itself, or what is about the file and not about the hook
_NOT_EXPORTED: Final = frozenset(
    {
        *("id", "on", "name", "dialect", "kind", "call", "undo_call", "source", "layer", "root", "run_by", "server"),
        *("native_event", "model_url", "source_path", "source_line", "source_format", "source_pointer"),
    }
)
# what keeps a hook from running, or its answers from counting
_RESTRICTING: Final = frozenset(
    {
        *(
            "matcher",
            "files",
            "writes",
            "deletes",
            "reads",
            "runs",
            "urls",
            "unknown",
            "condition",
            "needs",
            "schedule",
        ),
        *("agents", "branches", "between", "once", "per_minute", "cooldown", "debounce", "batch"),
        *("observe", "enabled", "trusted"),
    }
)
_TOOLS: Final = re.compile(r"[\w-]+(?:\|[\w-]+)*")


def write(hook: Hook, name: str, target: ExportTarget) -> ExportResult:
    """Write a hook in a format of `WRITERS`.

    Raises:
        ConfigError: There is no such format.
    """
    if name not in WRITERS:
        raise ConfigError(f'there is no format "{name}" to write; there are {", ".join(WRITERS)}')
    if hook.call is not None:
        return ExportResult((), (f"{hook.id}: a function of a running program cannot be written to a file",))
    written = WRITERS[name](hook, target)
    # of a hook that stays behind, details do not matter
    lost = written.losses if written.entries else (f"not written, {written.losses[0]}",)
    wider = tuple(str(reason) for reason in written.losses if isinstance(reason, WideningLoss))
    return ExportResult(written.entries, tuple(f"{hook.id}: {reason}" for reason in lost), written.header, wider)


def _native(hook: Hook, target: ExportTarget) -> ExportResult:
    names, lost = _spell_events(hook.on, hook.dialect, target.known_names, own_first=False)
    own = target.known_names.names.get(hook.dialect, {})
    given = next((name for name, events in own.items() if set(events) & set(hook.on)), "")
    if hook.native_event not in {"", given}:
        lost.append(f"it was written for {hook.native_event}, and would be sent {given or 'the canonical event'}")
    value: dict[str, object] = {**_title(hook), "on": names[0] if len(names) == 1 else names}
    apart = {"command", "args", "platforms", "module", "function", "matcher"}
    carried, left = _export_fields(hook, _fields(native.KEYS), apart=apart)
    if (hook.deny or hook.confirm or hook.judge) and hook.on_error is OnError.BLOCK:
        # follows from the action
        carried.pop("on_error", None)
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
    if hook.platforms:
        value["run"] = {name: command or value["run"] for name, command in hook.platforms.items()}
    if hook.dialect != target.dialect:
        value["dialect"] = hook.dialect
    entries = (ExportEntry(("hook",), {**value, **carried}),) if names else ()
    return ExportResult(entries, (*lost, *left))


def _group_entries(hook: Hook, target: ExportTarget) -> ExportResult:
    names, lost = _spell_events(hook.on, target.dialect, target.known_names, own_first=True)
    carried, left = _export_fields(_with_explicit_shell(hook, target), _fields(grouped.KEYS), apart={"matcher"})
    if not any(carried.get(field) for field in TARGETS):
        return _refuse_kind(hook)
    entry = {**_title(hook), "type": hook.kind, **carried}
    entries = tuple(_in_group(("hooks", name), entry, target, matcher=hook.matcher) for name in names)
    return ExportResult(entries, (*lost, *left, *_other_dialect_loss(hook, target)))


def _ollm(hook: Hook, target: ExportTarget) -> ExportResult:
    names, lost = _spell_events(hook.on, hook.dialect, target.known_names, own_first=False)
    carried, left = _export_fields(hook, _fields(ollm.KEYS), apart=())
    if not any(carried.get(field) for field in TARGETS):
        return _refuse_kind(hook)
    events = {"event": names[0]} if len(names) == 1 else {"events": names}
    value = {"id": hook.id, "name": hook.name or hook.id, **events, **carried}
    if hook.dialect != target.dialect:
        value["dialect"] = hook.dialect
    where = _definition_list(target)
    return ExportResult((ExportEntry(where, value),) if names else (), (*lost, *left))


def _automation(hook: Hook, target: ExportTarget, *, is_modern: bool) -> ExportResult:
    """Write OLLM's event automation, which asks the agent or runs one of the allowed programs."""
    names, lost = _spell_events(hook.on, ollm.AUTOMATION_DIALECT, target.known_names, own_first=True)
    target = structs.replace(target, dialect=ollm.AUTOMATION_DIALECT)
    apart = ("command", "args", "prompt", "plain", "files", "enabled", "trusted")
    _, left = _export_fields(_with_explicit_shell(hook, target), {}, apart=apart)
    if hook.kind == "ask_agent":
        action = {"type": "askAgent", "prompt": hook.prompt}
    elif hook.kind == "command":
        action = {
            "type": "runCommand",
            "command": shlex.join([hook.command, *hook.args]) if hook.args else hook.command,
        }
        if refused := ollm_run_command.why_command_refused(action["command"]):
            return ExportResult((), (refused,))
        left += [] if hook.plain else ["here, text that a command prints is added to the conversation"]
    else:
        return _refuse_kind(hook)
    wrong = [name for name in names if hook.kind == "command" and name not in COMMAND_EVENTS]
    if wrong:
        lost.append(f"{', '.join(wrong)}: commands run at {' and '.join(sorted(COMMAND_EVENTS))} only")
    left += _other_dialect_loss(hook, target)
    if not is_modern and _needs_approval(hook):
        left.append(WideningLoss("there is no key for trusted"))
    entries = []
    for event in names:
        if event in wrong:
            continue
        ident = hook.id if len(names) == 1 else f"{hook.id}-{slug(event)}"
        value: dict[str, object] = {"name": hook.name or ident}
        if is_modern:
            value = {"id": ident, **value, "eventType": event, "filePatterns": list(hook.files), "action": action}
            # no file makes a hook trusted that did not say so before
            value |= {"trusted": hook.trusted is True, "enabled": hook.enabled}
        else:
            patterns = {"patterns": list(hook.files)} if hook.files else {}
            value |= {"when": {"type": event, **patterns}, "then": action}
            value |= {} if hook.enabled else {"enabled": False}
        entries.append(ExportEntry(_definition_list(target), value))
    return ExportResult(tuple(entries), (*lost, *left))


def _per_file(hook: Hook, target: ExportTarget) -> ExportResult:
    """Write cli-agent's format with one hook per file; the caller names the file by `file_name`."""
    names, lost = _spell_events(hook.on, target.dialect, target.known_names, own_first=True)
    carried, left = _export_fields(_with_explicit_shell(hook, target), _fields(grouped.PER_FILE_KEYS), apart=())
    if hook.kind != "command":
        return _refuse_kind(hook)
    if target.document:
        raise ConfigError("this file is one definition, so no other fits in; write to a file of its own")
    title = {"id": hook.id, **_title(hook)} if hook.name else {}
    # said in the file, too, so that it counts whatever the file is called
    entries = tuple(ExportEntry((), {**title, "type": name, **carried}, event=name) for name in names)
    return ExportResult(entries, (*lost, *left, *_other_dialect_loss(hook, target)))


def file_name(hook: Hook, event: str) -> str:
    """Name the file of a hook that has one of its own: `pre-guard.json`."""
    stem = slug(hook.name or hook.id).replace(":", "-")
    prefixes = grouped.PREFIXES.get(event, ("",))
    return f"{stem}.json" if stem.startswith(prefixes) else f"{prefixes[0]}{stem}.json"


def _refuse_kind(hook: Hook) -> ExportResult:
    """Say that a hook of this kind cannot be written in a format."""
    why = f"{hook.kind} hooks have no place in this format"
    if hook.kind == "rule":
        answer = next(iter(hook.actions))
        why = f"this format has no constant answers such as {answer}; leave the rule in hookline.toml"
    return ExportResult((), (why,))


def _title(hook: Hook) -> dict[str, object]:
    """Return the name, and the id where it does not follow from the name."""
    if not hook.name:
        return {}
    return {"name": hook.name} if slug(hook.name) == hook.id else {"name": hook.name, "id": hook.id}


def _fields(keys: Mapping[str, Key]) -> dict[str, str]:
    """Return which key carries which field; of two, such as `tools` and `matcher`, the one called like the field."""
    found: dict[str, str] = {}
    for name, key in keys.items():
        if key.field and (key.field not in found or name == key.field):
            found[key.field] = name
    return found


def _export_fields(
    hook: Hook, fields: Mapping[str, str], *, apart: Collection[str]
) -> tuple[dict[str, object], list[str]]:
    """Return what the format has a key for, and name what it has none for."""
    said = {
        name: getattr(hook, name) for name in hook.__struct_fields__ if name not in _NOT_EXPORTED and name not in apart
    }
    said = {name: value for name, value in said.items() if value != _DEFAULTS[name]}
    ordered = sorted(said, key=lambda name: _REACHED_BY.index(name) if name in _REACHED_BY else len(_REACHED_BY))
    values = {fields[name]: to_file_value(said[name]) for name in ordered if name in fields}
    left = [name for name in ordered if name not in fields and (name != "trusted" or _needs_approval(hook))]
    return values, [(WideningLoss if name in _RESTRICTING else str)(f"there is no key for {name}") for name in left]


def _needs_approval(hook: Hook) -> bool:
    """Return whether `trusted` changes anything: only a user's own hook runs without being asked about."""
    return hook.trusted is False and hook.source is Source.USER


def _spell_events(
    on: Iterable[str], dialect: str, vocabulary: KnownNames, *, own_first: bool
) -> tuple[list[str], list[str]]:
    """Return a dialect's names of canonical events, and the losses: events without a name, and names that mean more."""
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
            lost.append(WideningLoss(f"{chosen[0]} stands for {more}, too"))
        found |= dict.fromkeys(chosen)
    return list(found), lost


def _with_explicit_shell(hook: Hook, target: ExportTarget) -> Hook:
    """Return whether a shell reads the line, where the dialect of the goal would make something else of it."""
    by_default = target.known_names.shell_dialects
    same = (hook.dialect in by_default) == (target.dialect in by_default)
    if hook.kind != "command" or hook.args or hook.shell is not None or same:
        return hook
    return structs.replace(hook, shell=hook.dialect in by_default)


def _other_dialect_loss(hook: Hook, target: ExportTarget) -> list[str]:
    """Return a loss if the target file implies another dialect than the hook's."""
    if hook.dialect == target.dialect:
        return []
    return [f"it speaks {hook.dialect}; hooks in this file are spoken to in {target.dialect}"]


def _in_group(where: KeyPath, entry: Mapping[str, object], target: ExportTarget, *, matcher: str) -> ExportEntry:
    """Add to the group that has the same matcher, so that hooks that belong together stay together, or to a new one."""
    groups = edit.value_at(target.document, where)
    for place, group in enumerate(groups if isinstance(groups, list) else ()):
        if isinstance(group, Mapping) and isinstance(group.get("hooks"), list) and group.get("matcher", "") == matcher:
            return ExportEntry((*where, place, "hooks"), entry)
    return ExportEntry(where, {**({"matcher": matcher} if matcher else {}), "hooks": [entry]})


def _definition_list(target: ExportTarget) -> KeyPath:
    """Return where a file of definitions has its list.

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


# Files of agents: under their events, with their names of tools, in their unit of time.

# what the entry of each kind of hook calls its type
_TYPE_NAMES: Final[Mapping[str, str]] = {"command": "command", "webhook": "http", "ask_agent": "agent"}
_TARGET_FIELDS: Final[Mapping[str, str]] = {"command": "command", "webhook": "url", "ask_agent": "prompt"}
# a bundle has to be called something, and what `hookline install` writes is called otherwise
_BUNDLE_NAME: Final = "carried"
# what is said by where an entry stands, or is the agent's own way
_SET_BY_POSITION: Final = frozenset({"command", "args", "shell", "matcher", "name", "parallel", "enabled", "method"})


def _write_agent(hook: Hook, target: ExportTarget, *, spec: AgentFileSpec) -> ExportResult:
    """Write a hook in one of the forms that agents' files have."""
    if _TARGET_FIELDS.get(hook.kind) not in spec.writers:
        return _refuse_kind(hook)
    if not hook.enabled and "enabled" not in spec.writers:
        return ExportResult((), ("it is switched off, and hooks in this file have no switch",))
    # what the entry says whatever the event, and what it cannot say
    plain, lost = _export_fields(hook, spec.writers, apart=_SET_BY_POSITION)
    entry: dict[str, object] = {"name": hook.name or hook.id} if "name" in spec.writers else {}
    if "type" in spec.keys or "action" in spec.keys:
        entry["type"] = _TYPE_NAMES[hook.kind]
    if hook.command:
        entry[spec.writers["command"]] = shell_line(hook, target)
    for field, convert in spec.converters.items():
        if spec.writers[field] in plain:
            plain[spec.writers[field]] = convert(getattr(hook, field))
    entry |= plain
    if hook.method != "POST":
        lost.append("there is no key for method")
    if not hook.enabled:
        entry["enabled"] = False
    entries: list[ExportEntry] = []
    for event, agent_event in _agent_events(hook, target, spec, lost):
        matcher = _agent_matcher(hook, target, agent_event, lost, event=event)
        matched = {**entry, **({"matcher": matcher} if matcher else {})}
        top = _BUNDLE_NAME if spec.bundles else spec.wrapper
        where: KeyPath = (top, event) if top else (event,)
        if "trigger" in spec.keys:
            # a list of hooks that name their event
            action = {key: matched.pop(key) for key in ("type", "command", "prompt") if key in matched}
            name = {"name": matched.pop("name")}
            entries.append(ExportEntry(("hooks",), {**name, "trigger": event, **matched, "action": action}))
        elif spec.allows_ungrouped and (not spec.bundles or agent_event.matches is MatchTarget.NOTHING):
            entries.append(ExportEntry(where, matched))
        else:
            entries.append(_in_group(where, entry, target, matcher=matcher))
    return ExportResult(tuple(entries), (*dict.fromkeys(lost), *_other_dialect_loss(hook, target)), spec.header)


def shell_line(hook: Hook, target: ExportTarget) -> str:
    """Return a command as the line that a shell reads, whatever reads it where it stands now."""
    if hook.args:
        return shlex.join([hook.command, *hook.args])
    if hook.shell or (hook.shell is None and hook.dialect in target.known_names.shell_dialects):
        return hook.command
    try:
        return shlex.join(shlex.split(hook.command))
    except ValueError:
        return hook.command


def _agent_events(
    hook: Hook, target: ExportTarget, spec: AgentFileSpec, lost: list[str]
) -> Iterable[tuple[str, AgentEvent]]:
    """Return the agent's own events at which the hook would run, with what each is about."""
    if hook.dialect == target.dialect and hook.native_event in {
        *spec.events,
        *target.known_names.names.get(target.dialect, {}),
    }:
        return [(hook.native_event, spec.events.get(hook.native_event, AgentEvent()))]
    tools = set(_agent_tools(hook, target))
    found: dict[str, AgentEvent] = {}
    for event in hook.on:
        own = {name: about for name, about in spec.events.items() if event in about.on}
        general = [name for name, about in own.items() if not about.tools]
        narrow = {
            name: about
            for name, about in own.items()
            if about.tools and (not tools or not tools.isdisjoint(about.tools))
        }
        if not general:
            names, why = _spell_events((event,), target.dialect, target.known_names, own_first=True)
            # an event that is only about some tools does for all of them where there is no other
            general = [name for name in names if name not in own]
            lost += why if not general and not narrow else []
        found |= {name: spec.events.get(name, AgentEvent()) for name in general[:1]} or narrow
    return found.items()


def _agent_tools(hook: Hook, target: ExportTarget) -> tuple[str, ...]:
    """Return the canonical tools of a hook's matcher; none if it has no matcher, or one that is not a list of names."""
    found = canonical_tools(hook.matcher, hook.dialect, target.known_names.tools) if hook.matcher else ()
    return found if "" not in found else ()


def _agent_matcher(hook: Hook, target: ExportTarget, agent_event: AgentEvent, lost: list[str], *, event: str) -> str:
    """Return the matcher in the agent's words, or as it stands where it is more than names."""
    if not hook.matcher:
        return ""
    tools = _agent_tools(hook, target)
    if agent_event.matches is not MatchTarget.SUBJECT:
        others = [tool for tool in agent_event.tools if tool not in tools]
        if len(others) == len(agent_event.tools) or not tools:
            lost.append(WideningLoss(f"the matcher {hook.matcher}: there is none at this event"))
        elif others:
            # the agent's own word for what the hook is about
            lost.append(f"{event} is about {', '.join(others)}, too")
        return ""
    if hook.dialect == target.dialect or not tools:
        if hook.dialect != target.dialect:
            lost.append(f"the matcher {hook.matcher} is more than a list of names; it is written unchanged")
        return hook.matcher
    names = target.known_names.tools.get(target.dialect, {})
    nameless = [tool for tool in tools if not names.get(tool)]
    if nameless:
        lost.append(f"the tools {', '.join(nameless)} have no name in {target.dialect}")
    return "|".join(dict.fromkeys(names[tool][0] for tool in tools if names.get(tool))) or "|".join(tools)


WRITERS: Final[Mapping[str, Writer]] = {
    "native": _native,
    "grouped": _group_entries,
    "ollm": _ollm,
    "modern": partial(_automation, is_modern=True),
    "when_then": partial(_automation, is_modern=False),
    "per_file": _per_file,
    **{name: partial(_write_agent, spec=spec) for name, spec in FILE_SPECS.items() if spec.writers},
}
