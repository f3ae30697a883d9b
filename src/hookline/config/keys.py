"""Parsers for the values of keys. Each raises ValueError with what was wanted."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, structs

from hookline import json_codec
from hookline.config.known_names import quote, suggest
from hookline.model.hook import OnError, Priority, Unknown
from hookline.model.requirements import READERS, Caching, Needs
from hookline.model.settings import CHOICES, Unapproved
from hookline.model.templates import TEMPLATE

# an hour: a hook that may take longer was probably given milliseconds
LONG: Final = 3600
# a year
LONGEST: Final = 31_536_000

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME: Final = r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)"


class Key(Struct, frozen=True):
    """One key of a format.

    `field` is the field of `Hook` it sets; a key without one is read by its format. A `vital` key decides
    what runs and when: a hook whose vital key cannot be read is not loaded, because guessing would run
    something the user did not write. Every other key falls back to its default.

    `about` is its help text. `schema` is what an editor checks its value with; without
    one it follows from how the value is read (see `SCHEMAS`).
    """

    read: Callable[[object], object]
    field: str = ""
    vital: bool = False
    about: str = ""
    schema: Mapping[str, object] | None = None


def text(value: object) -> str:
    """Read a text."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError(f"wanted a text, got {describe(value)}")


def nonempty_text(value: object) -> str:
    """Read a text that says something."""
    if not text(value).strip():
        raise ValueError("wanted words, got nothing")
    return text(value)


def version(value: object) -> str:
    """Read a version, which people also write as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else text(value)


def flag(value: object) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    raise ValueError(f"wanted true or false, got {describe(value)}")


def seconds(value: object) -> float:
    """Read a time: a number of seconds, or a text with its unit, such as "500ms"."""
    number = _with_unit(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= LONGEST:
        return float(number)
    raise ValueError(f'wanted seconds above 0 and below a year, such as 5 or "500ms", got {describe(value)}')


def _with_unit(text: str) -> float | None:
    found = re.fullmatch(_TIME, text)
    return float(found[1]) * _UNITS[found[2]] if found else None


BATCH_WINDOW: Final = 1.0


def batch_window(value: object) -> float:
    """Read how long to wait for further events: true, or a time."""
    if isinstance(value, bool):
        return BATCH_WINDOW if value else 0.0
    return seconds(value)


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if isinstance(value, list):
        return tuple(text(item) for item in value)
    raise ValueError(f"wanted a list of texts, got {describe(value)}")


def one_or_more_texts(value: object) -> tuple[str, ...]:
    """Read one text, or a list of them that is not empty."""
    found = (text(value),) if isinstance(value, str) else texts(value)
    if not all(found) or not found:
        raise ValueError("wanted at least one name, got nothing")
    return found


def any_texts(value: object) -> tuple[str, ...]:
    """Read one text, or a list of them that may be empty."""
    return one_or_more_texts(value) if value != [] else ()


def flag_or_texts(value: object) -> bool | tuple[str, ...]:
    """Read true or false, or a list of texts."""
    return value if isinstance(value, bool) else texts(value)


def table(value: object) -> Mapping[str, str]:
    """Read names with texts; numbers are taken as they are written."""
    if not isinstance(value, Mapping):
        raise ValueError(f"wanted names with texts, got {describe(value)}")  # noqa: TRY004 - one error for all
    for name in value:
        if not text(name) or "=" in name:
            raise ValueError(f'wanted names without "=", got {describe(name)}')
    return {name: version(item) for name, item in value.items()}


def request_body(value: object) -> object:
    """Read what a web request sends: a text, or a table as JSON; a text that is JSON is taken for the JSON it is.

    A template is only ever a part of a text, so that no value can change the structure around it.
    """
    if isinstance(value, str):
        if not TEMPLATE.sub("x", value).lstrip().startswith(("{", "[")):
            return text(value)
        try:
            value = json_codec.load(value)
        except ValueError:
            raise ValueError(
                "it begins as JSON does, and is none: put templates inside its quotes, or write a table"
            ) from None
    _check_json(value)
    if not isinstance(value, Mapping | list):
        raise ValueError(f"wanted a text or a table, got {describe(value)}")  # noqa: TRY004 - one error for all
    return value


def _check_json(value: object) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _check_json(item)
    elif isinstance(value, list):
        for item in value:
            _check_json(item)
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise ValueError(f"JSON has no value for {value}: write it as a text")


def on_error(value: object) -> OnError:
    """Read what a failure means."""
    try:
        return OnError(text(value).lower())
    except ValueError:
        raise ValueError(f'wanted "block" or "continue", got {describe(value)}') from None


def read_unapproved(value: object) -> Unapproved:
    """Read what a hook that was never approved means."""
    try:
        return Unapproved(text(value).lower())
    except ValueError:
        raise ValueError(f'wanted "warn" or "block", got {describe(value)}') from None


def unknown(value: object) -> Unknown:
    """Read what a hook does when it cannot be known whether a call is one that it is about."""
    try:
        return Unknown(text(value).lower())
    except ValueError:
        raise ValueError(f'wanted "skip", "match" or "confirm", got {describe(value)}') from None


def priority(value: object) -> int:
    """Read a place in the order: a name or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return Priority[value.upper()]
    raise ValueError(f"wanted critical, high, normal, low or a whole number, got {describe(value)}")


def count(value: object) -> int:
    """Read a whole number above 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError(f"wanted a whole number above 0, got {describe(value)}")


def count_or_none(value: object) -> int:
    """Read a whole number; 0 is none at all."""
    return 0 if value == 0 and type(value) is int else count(value)


def _choice(name: str, value: object) -> str:
    words = CHOICES[name]
    if value in words:
        return str(value)
    raise ValueError(f"wanted {' or '.join(map(quote, words))}, got {describe(value)}")


def composition(value: object) -> str:
    """Read how the answers of several hooks become one."""
    return _choice("composition", value)


def on_conflict(value: object) -> str:
    """Read what becomes of a conflict between hooks."""
    return _choice("on_conflict", value)


def no_hooks(value: object) -> str:
    """Read the answer at an event without hooks."""
    return _choice("no_hooks", value)


def needs(value: object) -> Needs:
    """Read what has to be there: a table with lists of tools, files, services and variables."""
    given = {name: one_or_more_texts(item) for name, item in _parts(value, Needs).items()}
    for name, items in given.items():
        for item in items:
            READERS[name](item)
    return Needs(**given)


def caching(value: object) -> Caching:
    """Read how long an answer holds: a time, or a table that also says what the answer depends on."""
    if not isinstance(value, Mapping):
        return Caching(seconds=seconds(value))
    given = _parts({_FOR.get(name, name): item for name, item in value.items()}, Caching)
    if "seconds" not in given:
        raise ValueError('wanted `for`, the time an answer holds, such as for = "10m"')
    lists = {name: one_or_more_texts(item) for name, item in given.items() if name != "seconds"}
    return Caching(seconds=seconds(given["seconds"]), **lists)


# what people write, where the field has another name
_FOR: Final = {"for": "seconds"}


def _parts(value: object, struct: type[Struct]) -> dict[str, object]:
    known = [field.name for field in structs.fields(struct)]
    if not isinstance(value, Mapping) or not value:
        found = "an empty one" if value == {} else describe(value)
        raise ValueError(f"wanted a table with some of {', '.join(known)}, got {found}")
    for name in value:
        if name not in known:
            raise ValueError(f"unknown key {quote(str(name))}{suggest(str(name), known)}")
    return dict(value)


def anything(value: object) -> object:
    """Accept any value: the key is for people or for other programs."""
    return value


def describe(value: object) -> str:
    """Return what a value is, in the words of the file it stands in."""
    if value is None:
        return "nothing"
    for kind, say in _DESCRIPTIONS:
        if isinstance(value, kind):
            return say(value)
    return f"a {type(value).__name__}"


_DESCRIPTIONS: Final[tuple[tuple[type, Callable[[object], str]], ...]] = (
    (bool, lambda value: "true" if value else "false"),
    (str, lambda value: f"the text {quote(str(value))}"),
    (int, lambda value: f"the number {str(value)[:20]}"),
    (float, lambda value: f"the number {value}"),
    (list, lambda _value: "a list"),
    (Mapping, lambda _value: "an object"),
)


def read_texts(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return the texts that were read for a key; none when it is not there."""
    found = values.get(key)
    return found if isinstance(found, tuple) else ()


def to_file_value(value: object) -> object:
    """Return a field as files have it."""
    match value:
        case Caching():
            depends = {name: list(getattr(value, name)) for name in ("by", "files", "env") if getattr(value, name)}
            return {"for": to_file_value(value.seconds), **depends} if depends else to_file_value(value.seconds)
        case Needs():
            return {name: list(names) for name, names in structs.asdict(value).items() if names}
        case float() if value == int(value):
            return int(value)
        case int() if type(value) not in {int, bool}:
            return int(value)
        case _:
            return next((make(value) for kind, make in _PLAIN_TYPES.items() if isinstance(value, kind)), value)


_PLAIN_TYPES: Final[Mapping[type, Callable[..., object]]] = {tuple: list, Mapping: dict, str: str}


def slug(name: str) -> str:
    """Make an id out of a name: "Lint on Save" becomes "lint-on-save"."""
    return re.sub(r"[^\w.:]+", "-", name.lower()).strip("-")


_TEXT: Final = {"type": "string"}
_NUMBER_OR_TEXT: Final = {"type": ["string", "number"]}
# a text that says something
NAME: Final[Mapping[str, object]] = {"type": "string", "minLength": 1}

_SOME_NAMES: Final = {"anyOf": [NAME, {"type": "array", "items": NAME, "minItems": 1}]}
_A_TIME: Final = (
    {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
    {"type": "string", "pattern": f"^{_TIME}$"},
)

# what an editor checks a value with, by how the value is read
SCHEMAS: Final[Mapping[Callable[[object], object], Mapping[str, object]]] = {
    text: _TEXT,
    nonempty_text: {"type": "string", "pattern": r"\S"},
    version: _NUMBER_OR_TEXT,
    flag: {"type": "boolean"},
    seconds: {"anyOf": [*_A_TIME]},
    batch_window: {"anyOf": [{"type": "boolean"}, *_A_TIME]},
    texts: {"type": "array", "items": _TEXT},
    flag_or_texts: {"anyOf": [{"type": "boolean"}, {"type": "array", "items": _TEXT}]},
    one_or_more_texts: _SOME_NAMES,
    any_texts: {"anyOf": [NAME, {"type": "array", "items": NAME}]},
    table: {"type": "object", "propertyNames": {"pattern": "^[^=]+$"}, "additionalProperties": _NUMBER_OR_TEXT},
    on_error: {"enum": [*OnError]},
    request_body: {"type": ["string", "object", "array"]},
    read_unapproved: {"enum": [*Unapproved]},
    unknown: {"enum": [*Unknown]},
    priority: {"anyOf": [{"enum": [name.lower() for name in Priority.__members__]}, {"type": "integer"}]},
    count: {"type": "integer", "minimum": 1},
    composition: {"enum": list(CHOICES["composition"])},
    on_conflict: {"enum": list(CHOICES["on_conflict"])},
    no_hooks: {"enum": list(CHOICES["no_hooks"])},
    count_or_none: {"type": "integer", "minimum": 0},
    needs: {
        "type": "object",
        "properties": {field.name: _SOME_NAMES for field in structs.fields(Needs)},
        "additionalProperties": False,
        "minProperties": 1,
    },
    caching: {
        "anyOf": [
            *_A_TIME,
            {
                "type": "object",
                "properties": {"for": {"anyOf": [*_A_TIME]}, **dict.fromkeys(("by", "files", "env"), _SOME_NAMES)},
                "required": ["for"],
                "additionalProperties": False,
            },
        ]
    },
    anything: {},
}

# how JSON formats say what a hook runs
RUNNERS: Final[Mapping[str, Key]] = {
    "command": Key(
        text,
        "command",
        vital=True,
        about="The program to run, or a whole line where its dialect has lines.",
        schema=NAME,
    ),
    "args": Key(texts, "args", vital=True, about="The arguments of the program, one word each."),
    "working_directory": Key(text, "working_directory", vital=True, about="The folder it runs in."),
    "module": Key(text, "module", vital=True, about="The Python module of the function to call.", schema=NAME),
    "function": Key(text, "function", vital=True, about="The function to call in the module."),
    "url": Key(text, "url", vital=True, about="The URL to send the event to.", schema=NAME),
}
# those of them that say how a hook is reached; it needs exactly one
TARGETS: Final = ("command", "module", "url")

# where a file is one definition, what an editor wants to know stands in the definition
SCHEMA_KEY: Final[Mapping[str, Key]] = {"$schema": Key(text, about="The schema an editor completes this file with.")}

# what every format calls the same
SHARED: Final[Mapping[str, Key]] = {
    "id": Key(text, about="What commands and traces call it; made of the name unless it is given."),
    "name": Key(text, about="What people call it."),
    "matcher": Key(text, "matcher", vital=True, about="Which tools, or other subjects of the event, it is for."),
    "files": Key(
        one_or_more_texts, "files", vital=True, about="Runs only for these files: patterns as in a .gitignore."
    ),
    "writes": Key(
        one_or_more_texts, "writes", vital=True, about="Runs only for tool calls that may write one of these files."
    ),
    "deletes": Key(
        one_or_more_texts, "deletes", vital=True, about="Runs only for tool calls that may delete one of these files."
    ),
    "reads": Key(
        one_or_more_texts, "reads", vital=True, about="Runs only for tool calls that may read one of these files."
    ),
    "runs": Key(
        one_or_more_texts, "runs", vital=True, about='Runs only for tool calls that may run such a command: "git push".'
    ),
    "urls": Key(
        one_or_more_texts,
        "urls",
        vital=True,
        about='Runs only for tool calls that may reach such a host or URL: "example.com".',
    ),
    "unknown": Key(
        unknown,
        "unknown",
        vital=True,
        about="What it does when a call cannot be known: skip it, match it, or have the user confirm it.",
    ),
    "timeout": Key(seconds, "timeout", about='How long it may take, in seconds, or with a unit: "500ms", "2m".'),
    "env": Key(table, "env", vital=True, about="Environment variables it gets on top."),
    "headers": Key(table, "headers", vital=True, about="Headers of the web request."),
    "header_env": Key(
        texts, "header_env", vital=True, about="Variables that the URL and headers may name, as $NAME or ${NAME}."
    ),
    "body": Key(
        request_body,
        "body",
        vital=True,
        about='What the web request sends in place of the event: a text, or a table; { text = "{{message}}" }.',
    ),
    "method": Key(text, "method", vital=True, about="Method of the web request; POST unless it is given."),
    "shell": Key(flag, "shell", vital=True, about="Whether the command is a line for a shell."),
    "plain": Key(flag, "plain", vital=True, about="Text that the command prints is added to the conversation."),
    "includes": Key(
        one_or_more_texts,
        "includes",
        vital=True,
        about="Files that belong to it though its command does not name them.",
    ),
    "isolated": Key(flag, "isolated", vital=True, about="Whether a Python function runs in a process of its own."),
    "on_error": Key(on_error, "on_error", about="What its failure means: block the operation, or continue without it."),
    "priority": Key(priority, "priority", about="Its place in the order: a name, or a number; lower runs earlier."),
    "parallel": Key(flag, "parallel", about="Whether it may run beside its neighbours that say the same."),
    "if": Key(
        nonempty_text,
        "condition",
        vital=True,
        about='Runs only when this expression over the event is true: args.command.startsWith("git ").',
    ),
    "after": Key(one_or_more_texts, "after", about="Runs after these hooks, named by their ids."),
    "before": Key(one_or_more_texts, "before", about="Runs before these hooks, named by their ids."),
    "once": Key(flag, "once", about="Runs once in a session."),
    "per_minute": Key(count, "per_minute", about="Runs at most this often in any minute."),
    "cooldown": Key(seconds, "cooldown", about="How long it rests after each run."),
    "debounce": Key(
        seconds,
        "debounce",
        about="How long the same file or subject must have been quiet; in the background, the last of several events counts.",
    ),
    "batch": Key(
        batch_window,
        "batch",
        about="Runs once, in the background, for all files of events that come within a second, or this time.",
    ),
    "breaker": Key(count, "breaker", about="After so many failures in a row it pauses."),
    "retry_after": Key(seconds, "retry_after", about="How long it pauses before it is tried again."),
    "needs": Key(needs, "needs", about="Tools, files, services and variables that must be there."),
    "cache": Key(caching, "cache", about="How long its answer holds, and what the answer depends on."),
    "background": Key(flag, "background", about="Nobody waits for it: it runs from a queue, at least once."),
    "persistent": Key(flag, "persistent", vital=True, about="The command stays and answers one event per line."),
    "warm": Key(flag, "warm", about="The command is a Python script, run in a process that was made ahead."),
    "observe": Key(flag, "observe", vital=True, about="Record what it would do, and enforce nothing."),
    "enabled": Key(flag, "enabled", vital=True, about="Whether it runs at all."),
    "version": Key(version, "version", about="The version of the hook itself."),
    "source_version": Key(version, "source_version", about="The version of the system it was written for."),
    "description": Key(anything, about="For people; it means nothing to the program."),
}
