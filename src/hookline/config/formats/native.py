"""Hookline's own format: `[[hook]]` tables in TOML."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from hookline.config import hook_tests, keys
from hookline.config.document import Document, KeyPath, Problem, Severity
from hookline.config.keys import SHARED, Key, describe, nonempty_text, one_or_more_texts
from hookline.config.reader import MCP_TABLE, FileOrigin, FileReader, KnownNames, ServerReader, describe_hook
from hookline.config.script_paths import quote_program
from hookline.errors import ConfigError
from hookline.model import names as model_names
from hookline.model.dialect import AGENTS
from hookline.model.event import EventName
from hookline.model.hook import (
    ACTIONS,
    DECISIONS,
    DEFAULT_PLATFORM,
    PLATFORMS,
    TARGETS,
    TEXT_TARGETS,
    THIS_PLATFORM,
    Hook,
    Layer,
    Source,
    Undo,
    choose_platform,
)
from hookline.model.language_models import PROVIDERS
from hookline.model.names import TOOL_NAMES
from hookline.model.plan import EFFECT_GATES
from hookline.model.requirements import Caching, Needs
from hookline.model.templates import TEMPLATE
from hookline.text import find_closest, quote, suggest


class PlatformCommand(Struct, frozen=True):
    """A command that differs by platform: the one that runs here, and the table of all, with a blank for that one."""

    command: tuple[str, ...] | str
    table: Mapping[str, str | list[str]]


def _run(value: object) -> tuple[str, ...] | str | PlatformCommand:
    if isinstance(value, Mapping):
        return _run_by_platform(value)
    return _run_here(value)


def _run_by_platform(value: Mapping[object, object]) -> PlatformCommand:
    known = (*PLATFORMS, DEFAULT_PLATFORM)
    commands: dict[str, tuple[str, ...] | str] = {}
    for name, command in value.items():
        if name not in known:
            raise ValueError(
                f"unknown platform {quote(str(name))}{suggest(str(name), known)}; there are {', '.join(known)}"
            )
        commands[str(name)] = _run_here(command)
    chosen = choose_platform(commands)
    if not chosen:
        raise ValueError(
            f'there is no command for {THIS_PLATFORM or sys.platform}: add {THIS_PLATFORM or DEFAULT_PLATFORM} = "…", or default = "…"'
        )
    table = {name: list(one) if isinstance(one, tuple) else one for name, one in commands.items()}
    return PlatformCommand(commands[chosen], {**table, chosen: ""})


def _undo(value: object) -> Undo:
    found = _run(value)
    if not isinstance(found, PlatformCommand):
        return found
    # the whole table: which of its commands runs is decided where it runs
    return {name: command or found.command for name, command in found.table.items()}


def _undo_function(value: object) -> Callable[..., object]:
    if not callable(value):
        raise ValueError(f"wanted a function, got {describe(value)}")  # noqa: TRY004 - one error for all
    return value


def _run_here(value: object) -> tuple[str, ...] | str:
    if not isinstance(value, str):
        return one_or_more_texts(value)
    if not value.strip():
        raise ValueError("wanted a command, got nothing")
    # without a shell a line is split at blanks, and a template is one word
    return TEMPLATE.sub(lambda found: f"{{{{{found[1]}}}}}", keys.text(value))


def _call(value: object) -> tuple[str, str]:
    module, _, function = keys.text(value).partition(":")
    if not module or not function:
        raise ValueError(f'wanted "module:function", got {describe(value)}')
    return module, function


def _tools(value: object) -> str:
    # a star means the same to hooks of every dialect, also where matchers are regular expressions
    return "|".join(tool.replace("*", ".*") for tool in one_or_more_texts(value))


_COMMAND: Final = (keys.SCHEMAS[nonempty_text], {"type": "array", "items": keys.NAME, "minItems": 1})
_COMMANDS: Final = {
    "type": "object",
    "properties": {name: {"anyOf": [*_COMMAND]} for name in (*PLATFORMS, DEFAULT_PLATFORM)},
    "additionalProperties": False,
    "minProperties": 1,
}
KEYS: Final[Mapping[str, Key]] = keys.make_keys(
    {
        "on": Key(one_or_more_texts, vital=True, about="The events it runs at."),
        "tools": Key(
            _tools,
            "matcher",
            vital=True,
            about="The tools it is for; * stands for anything.",
            schema=keys.SCHEMAS[one_or_more_texts],
        ),
        "run": Key(
            _run,
            vital=True,
            about='The command to run: one line, a list with one word each, or one for each platform, { windows = "…", default = "…" }.',
            schema={"anyOf": [*_COMMAND, _COMMANDS]},
        ),
        "undo": (
            _undo,
            True,
            "The command that takes back what it did, for `hookline rollback`; written as `run` is.",
            {"anyOf": [*_COMMAND, _COMMANDS]},
        ),
        "call": Key(
            _call,
            vital=True,
            about='The Python function to call: "module:function".',
            schema={"type": "string", "pattern": "^[^:]+:."},
        ),
        "post": Key(nonempty_text, "url", vital=True, about="The URL to send the event to."),
        **{
            one.key: Key(nonempty_text, field, vital=True, about=f"{one.about[0].upper()}{one.about[1:]}.")
            for field, one in TEXT_TARGETS.items()
        },
        "arguments": (keys.tool_arguments, True, "The arguments of the tool that `mcp` names; {{…}} is filled in."),
        "model": (
            keys.model_name,
            True,
            'The language model that a judge asks: "ollama:llama3.2", "openai:…", "anthropic:…".',
        ),
        "budget": (keys.model_budget, True, 'What a judge may spend in a day: "0.50/day", or "100k tokens/day".'),
        "redact": (
            keys.flag,
            True,
            "Whether secrets are masked in what a judge shows its model; true unless it is given.",
        ),
        "steps": (one_or_more_texts, True, "The hooks it consists of, by their ids; they run one after another."),
        "raise": Key(nonempty_text, "raises", vital=True, about="The event it raises, with what this event says."),
        "deny": (
            keys.decision,
            True,
            "Block, with this reason; {{args.command}} and other values of the event are filled in. No program runs.",
        ),
        "confirm": (keys.decision, True, "Ask the person first, with this question."),
        "allow": (keys.decision, True, "Allow without asking the person, with this reason."),
        "tell": (nonempty_text, True, "Show the person this text."),
        "context": (nonempty_text, True, "Add this text to the conversation, for the model."),
        "schedule": (
            nonempty_text,
            True,
            "When `hookline watch` starts it: minute, hour, day, month, weekday, as cron has them.",
        ),
        "cwd": Key(keys.text, "working_directory", vital=True, about="The folder it runs in."),
        "dialect": Key(keys.text, vital=True, about="The hook language it speaks; `hookline dialects` lists them."),
        "test": Key(
            hook_tests.list_tables,
            "tests",
            about="What it answers to an event; `hookline test --all` checks it.",
            schema=hook_tests.SCHEMA,
        ),
        **SHARED,
    }
)
_FIELDS: Final[Mapping[str, Key]] = {
    **KEYS,
    **{name: Key(keys.anything, name) for name in ("command", "args", "platforms", "module", "function")},
}
# the keys that say how a hook is reached, beside the answers of a rule
TARGET_KEYS: Final = tuple(
    name for name in KEYS if name not in ACTIONS and any(one.key == name for one in TARGETS.values())
)
# the keys that only events with a tool call can match
OF_TOOL_CALLS: Final = ("tools", *(str(gate) for gate in EFFECT_GATES))
# the keys of hooks that exist to decide
DECIDING: Final = (*DECISIONS, "judge")
# the keys that only judges have, and the models that they may name
OF_JUDGES: Final = ("model", "budget", "redact")
_MODELS: Final = ", ".join(f'"{provider}:NAME"' for provider in PROVIDERS)
# what may stand beside the hooks: settings have a reader of their own, files belong to a shared pack
TABLES: Final[Mapping[str, str]] = {
    "hook": "One hook each.",
    "settings": "How hooks run as a whole; read from your own files only.",
    "builtin": "Options of built-in hooks, a table each; read from your own files only.",
    "pack": "What a shared pack says of itself.",
    "file": "A file of a shared pack.",
    MCP_TABLE: "MCP servers, each with its name: [mcp.NAME].",
    "$schema": "The schema an editor completes this file with.",
}
# what other systems call the same, so that who comes from there is not left with "unknown key"
FOREIGN_KEYS: Final[Mapping[str, str]] = {
    other: ours
    for ours, others in {
        "on": ("event", "events", "when"),
        "tools": ("tool",),
        "files": ("file", "patterns", "path", "paths"),
        "runs": ("commands",),
        "run": ("command", "cmd", "script", "args"),
        "call": ("module", "function"),
        "post": ("url", "webhook"),
        "ask": ("prompt",),
        "if": ("condition",),
        "schedule": ("cron",),
        "raise": ("emit",),
        "deny": ("block", "reject", "forbid", "decision", "action", "reason"),
        "allow": ("permit", "approve"),
        "tell": ("message",),
        "cwd": ("working_directory",),
    }.items()
    for other in others
}


_ANSWERS: Final = frozenset(
    {"deny", "confirm", "allow", *(key for key, ours in FOREIGN_KEYS.items() if ours == "deny")}
)
_OF_RULES: Final = {"command": "runs", "cmd": "runs", "url": "urls"}


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every `[[hook]]` of a file."""
    reader = FileReader(document, origin)
    settings = document.value if isinstance(document.value, Mapping) else {}
    loose = {key: settings[key] for key in settings if key not in TABLES and (key in KEYS or key in FOREIGN_KEYS)}
    # a rule whose first line was forgotten
    loose = loose if loose.keys() & _ANSWERS else {}
    if loose:
        with reader.reading_hook(loose, (next(iter(loose)),)):
            named = " and ".join(loose)
            reader.error(
                (next(iter(loose)),), f"{named} stand outside of a hook: write [[hook]] above; the hook is not loaded"
            )
    for key, value in settings.items():
        if key in loose:
            continue
        entries = value if isinstance(value, list) else [value]
        misplaced = ""
        if key == "hook" and isinstance(value, list):
            for place, entry in enumerate(value):
                if isinstance(entry, Mapping):
                    with reader.reading_hook(entry, (key, place)):
                        _read_entry(reader, entry, (key, place))
                else:
                    reader.error((key, place), f"wanted a table for a hook, got {describe(entry)}")
        elif key == "hook":
            misplaced = "a hook is written [[hook]], with two brackets"
        elif key in TABLES:
            continue
        # hooks under another name: they are known by the name, or by what stands in them
        elif find_closest(key, ["hook", "hooks"]) or any(
            isinstance(entry, Mapping) and len(entry.keys() & KEYS.keys()) > 1 for entry in entries
        ):
            misplaced = f"a hook is written [[hook]], {'without an s' if key == 'hooks' else f'not [[{key}]]'}"
        else:
            reader.report_unknown_key((), key, TABLES, owner="the file")
        for place, entry in enumerate(entries if misplaced else ()):
            at = (key, place) if isinstance(value, list) else (key,)
            # the guards among them are kept as refused ones
            with reader.reading_hook(entry if isinstance(entry, Mapping) else {}, at):
                reader.error(at, f"{misplaced}; the hook is not loaded")
    servers = ServerReader(document, origin.path, is_ours=True)
    list(servers.read((MCP_TABLE,)))
    return reader.hooks, [*reader.problems, *servers.problems]


def _read_entry(reader: FileReader, entry: Mapping[str, object], where: KeyPath) -> None:
    owner = describe_hook(entry)
    slips = [key for key in entry if key in FOREIGN_KEYS]
    for key in slips:
        # of a rule, the command and the address are those of the call
        meant = _OF_RULES.get(key, "") if entry.keys() & _ANSWERS else ""
        ours = f"here it is {quote(meant or FOREIGN_KEYS[key])}"
        reader.error((*where, key), f"unknown key {quote(key)} in {owner}: {ours}; the hook is not loaded")
    values = reader.read_keys(
        {key: entry[key] for key in entry if key not in FOREIGN_KEYS}, KEYS, where, owner=owner, is_ours=True
    )
    if slips or values is None:
        said = entry.get("on")
        names = tuple(name for name in (said if isinstance(said, list) else [said]) if isinstance(name, str))
        # report both mistakes, so that the user mends them together
        _events(reader, names, (*where, "on"), dialect=reader.origin.dialect)
        return
    if isinstance(by_platform := values.get("run"), PlatformCommand):
        values |= {"run": by_platform.command, "platforms": by_platform.table}
    dialect = reader.resolve_dialect(values, where)
    if not dialect or not _is_complete(reader, values, where, owner=owner):
        return
    default = EventName.SCHEDULED if "schedule" in values else EventName.BEFORE_TOOL
    names = keys.read_texts(values, "on") or (default,)
    on = _events(reader, names, (*where, "on"), dialect=dialect)
    try:
        matcher = model_names.narrow_matcher(names, str(values.get("tools", "") or values.get("matcher", "")))
    except ConfigError as problem:
        reader.error((*where, "on"), f"{owner}: {problem.message}; the hook is not loaded")
        return
    if values.get("dialect") in AGENTS:
        matcher = _spell_for_agent(dialect, matcher)
    if not on:
        return
    values |= {"matcher": matcher, "on": on, "dialect": dialect}
    # `run` and `call` stand for several fields
    match values:
        case {"run": str() as line}:
            values["command"] = line
        case {"run": tuple()}:
            program, *args = keys.read_texts(values, "run")
            # a list is one word each, whatever the dialect makes of lines
            values |= {"command": quote_program(program, args), "args": tuple(args), "shell": False}
        case {"call": (module, function)}:
            values |= {"module": module, "function": function}
    _check_tests(reader, entry.get("test"), on, (*where, "test"), owner=owner)
    reader.add_hook(values, where, keys=_FIELDS, event=names[0])


def _check_tests(reader: FileReader, tests: object, on: tuple[str, ...], where: KeyPath, *, owner: str) -> None:
    """Report mistakes in the tests of a hook; the hook itself is in force without them."""
    for place, table in enumerate(tests if isinstance(tests, list) else ()):
        if isinstance(table, Mapping):
            try:
                hook_tests.read_test(table, on)
            except hook_tests.HookTestError as problem:
                reader.warn((*where, place, *problem.where), f"test {place + 1} of {owner}: {problem}")


def _events(reader: FileReader, names: tuple[str, ...], where: KeyPath, *, dialect: str) -> tuple[str, ...]:
    """Resolve the names of events in the words of any system; unknown ones are reported."""
    plain = tuple(name for name in names if not model_names.tools_of_event(name))
    about_tools = (event for name in names if name not in plain for event in model_names.resolve_events(name))
    return tuple(dict.fromkeys((*reader.resolve_events(plain, where, dialect=dialect), *about_tools)))


def _spell_for_agent(agent: str, matcher: str) -> str:
    """Return a matcher whose words the agent knows: a name of another agent becomes the canonical one."""
    own = {name.casefold() for names in TOOL_NAMES[agent].values() for name in names}
    words = model_names.alternatives(matcher)
    if not all(model_names.is_word(word) and model_names.is_known_tool(word) for word in words):
        return matcher
    return "|".join(
        name
        for word in words
        for name in ([word] if word.casefold() in own else sorted(model_names.resolve_tools(word)))
    )


def decides_about_tools(values: Mapping[str, object]) -> bool:
    """Return whether a hook without `on` can only mean tool calls: a decision that narrows by tools or effects."""
    return any(values.get(key) for key in DECIDING) and any(values.get(key) for key in OF_TOOL_CALLS)


def _is_complete(reader: FileReader, values: Mapping[str, object], where: KeyPath, *, owner: str) -> bool:
    """Check what no single key can tell."""
    targets = [name for name in TARGET_KEYS if values.get(name)]
    actions = [name for name in ACTIONS if values.get(name)]
    decisions = [name for name in DECISIONS if values.get(name)]
    found = " and ".join([*targets, *actions]) or "none"
    has_list = isinstance(values.get("run"), tuple)
    of_judges = [name for name in OF_JUDGES if name in values]
    has_event = "on" in values or "schedule" in values or decides_about_tools(values)
    objections = [
        ('has no `on`: say at which event it runs, such as on = "before_tool"', not has_event),
        (
            f"needs exactly one of {', '.join((*TARGET_KEYS, *ACTIONS))}; it has {found}",
            len(targets) + bool(actions) != 1,
        ),
        (f"can have only one of {', '.join(DECISIONS)}; it has {' and '.join(decisions)}", len(decisions) > 1),
        ("has a constant answer, which cannot wait in the background", actions and values.get("background") is True),
        (
            "has `batch`, which runs in the background; leave background out",
            values.get("batch") and values.get("background") is False,
        ),
        (
            f"has `undo`, and does nothing that can be taken back: {' and '.join(actions)} is a constant answer",
            actions and "undo" in values,
        ),
        ("has arguments, which only `mcp` takes", "arguments" in values and not values.get("mcp")),
        (f"has `judge` and no model: write model = {_MODELS}", values.get("judge") and not values.get("model")),
        (
            f"has {' and '.join(of_judges)}, which only a hook with `judge` can have",
            of_judges and not values.get("judge"),
        ),
        ("has both tools and matcher; keep one", "tools" in values and "matcher" in values),
        ("gives a list to run and wants a shell; give the shell one line", has_list and values.get("shell") is True),
    ]
    for message, wrong in objections:
        if wrong:
            reader.error(where, f"{owner} {message}; the hook is not loaded")
    return not any(wrong for _, wrong in objections)


# keys that are words of Python, with the underscore that Python wants there
_KEYWORDS: Final = {"if_": "if", "raise_": "raise"}
_SPELLED: Final = {key: option for option, key in _KEYWORDS.items()}
# what a function of the program cannot have: it is called in this process, at once, and it is the action
_NOT_FOR_FUNCTIONS: Final = frozenset(
    {
        *(*TARGET_KEYS, *ACTIONS, "on", "dialect", "schedule", "background", "cwd", "env", "shell", "plain"),
        *("headers", "header_env", "body", "method", "includes", "arguments", "isolated", "persistent", "warm"),
        *("source_version", "sandbox", "state", "test", *OF_JUDGES),
    }
)
FUNCTION_KEYS: Final[Mapping[str, Key]] = {
    **{name: key for name, key in KEYS.items() if name not in _NOT_FOR_FUNCTIONS},
    "undo": Key(_undo_function, "undo_call", vital=True),
}


def read_function_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of `Hook` that the options of a function set.

    Raises:
        ConfigError: An option is unknown, or its value cannot be used.
    """
    values = _to_file_values(options)
    for name in values:
        if name in _NOT_FOR_FUNCTIONS:
            raise ConfigError(f"the option {_quote_option(name)} means nothing for a function; see `engine.hook`")
    _reject_foreign_keys(values)
    reader = FileReader(Document(values), FileOrigin(path="", dialect="hookline"))
    found = reader.read_keys(values, FUNCTION_KEYS, (), owner="the function")
    _raise_first_problem(reader.problems)
    if "tools" in values and "matcher" in values:
        raise ConfigError("the function has both tools and matcher; keep one")
    fields = {key.field: value for name, value in (found or {}).items() if (key := FUNCTION_KEYS[name]).field}
    return {**fields, **{name: value for name, value in (found or {}).items() if name in {"id", "name"}}}


def read_hook(options: Mapping[str, object], vocabulary: KnownNames) -> Hook:
    """Return the hook that a program describes as a `[[hook]]` of a file would.

    Raises:
        ConfigError: An option is unknown, its value cannot be used, or the hook as a whole cannot be meant.
    """
    values = _to_file_values(options)
    _reject_foreign_keys(values)
    if not values.get("id"):
        texts = {key: text for key in ACTIONS if isinstance(text := values.get(key), str)}
        values["id"] = keys.derive_rule_name(texts) or "rule"
    origin = FileOrigin(
        path="", dialect="hookline", source=Source.BUILTIN, layer=Layer.PROGRAM, format="native", known_names=vocabulary
    )
    hooks, problems = read(Document({"hook": [values]}), origin=origin)
    _raise_first_problem(problems)
    return hooks[0]


def _to_file_values(options: Mapping[str, object]) -> dict[str, object]:
    """Return options as a file would hold them; None stands for an option that was not given."""
    given = {_KEYWORDS.get(name, name): _to_plain(value) for name, value in options.items() if value is not None}
    # no hooks to run after or before is no mistake; an empty list of patterns would apply to nothing, or to everything
    return {name: value for name, value in given.items() if value != [] or name not in {"after", "before"}}


def _to_plain(value: object) -> object:
    match value:
        case Caching() | Needs():
            return keys.to_file_value(value)
        case timedelta():
            return value.total_seconds()
        case PurePath():
            return str(value)
        case Mapping():
            return {key: _to_plain(item) for key, item in value.items()}
        case Sequence() | AbstractSet() if not isinstance(value, str | bytes):
            return [_to_plain(item) for item in value]
        case _:
            return value


def _reject_foreign_keys(values: Mapping[str, object]) -> None:
    for name in values:
        if name in FOREIGN_KEYS:
            raise ConfigError(f"there is no option {quote(name)}: here it is {_quote_option(FOREIGN_KEYS[name])}")


def _quote_option(name: str) -> str:
    return quote(_SPELLED.get(name, name))


def _raise_first_problem(problems: Iterable[Problem]) -> None:
    """Raise the first problem as an error, without the part about what happens to a hook in a file."""
    for problem in problems:
        if problem.severity is not Severity.NOTE:
            raise ConfigError(_IN_A_FILE.sub("", problem.message))


_IN_A_FILE: Final = re.compile(r"; (?:the default holds|the hook is not loaded|its failures block)$")
