"""Parsers for the values of keys. Each raises ValueError with what was wanted."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Generic, Literal, TypeVar

from msgspec import Struct, structs

from hookline import json_codec
from hookline.model.hook import OnError, Priority, Unknown
from hookline.model.language_models import PROVIDERS, ModelBudget, ModelSettings, parse_budget, split_model
from hookline.model.names import AGENT_ALIASES, EVENT_NAMES
from hookline.model.requirements import FACTS, READERS, Caching, Needs, parse_variable, read_facts
from hookline.model.sandbox import LEVELS, PRIVATE, PROJECT, UNIX, Sandbox
from hookline.model.sandbox import SHARED as SHARED_TMP
from hookline.model.scope import ONCE_PER_TURN, WINDOW_PATTERN, find_agent, parse_window
from hookline.model.settings import Telemetry, Unapproved, find_url_problem
from hookline.model.templates import TEMPLATE
from hookline.text import quote, suggest

T = TypeVar("T")

# an hour: a hook that may take longer was probably given milliseconds
LONG: Final = 3600
# a year
LONGEST: Final = 31_536_000

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_NAME: Final = 40  # characters of a name that is derived
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
    raise wrong_value("a text", value)


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
    raise wrong_value("true or false", value)


def seconds(value: object) -> float:
    """Read a time: a number of seconds, or a text with its unit, such as "500ms"."""
    number = value
    if isinstance(value, str) and (found := re.fullmatch(_TIME, value)):
        number = float(found[1]) * _UNITS[found[2]]
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= LONGEST:
        return float(number)
    raise wrong_value('seconds above 0 and below a year, such as 5 or "500ms"', value)


def once(value: object) -> bool | Literal["turn"]:
    """Read how often: once in a session, in each turn, or without that limit."""
    if isinstance(value, bool):
        return value
    if value == ONCE_PER_TURN:
        return ONCE_PER_TURN
    if value == "session":
        return True
    raise wrong_value('true, false, "session" or "turn"', value)


def agents(value: object) -> tuple[str, ...]:
    """Read the names of agents."""
    return tuple(dict.fromkeys(map(find_agent, one_or_more_texts(value))))


def facts(value: object) -> tuple[str, ...]:
    """Read the names of facts."""
    return read_facts(one_or_more_texts(value))


def time_windows(value: object) -> tuple[str, ...]:
    """Read times of the day or week."""
    windows = one_or_more_texts(value)
    for window in windows:
        parse_window(window)
    return windows


def batch_window(value: object) -> float:
    """Read how long to wait for further events: true for a second, or a time."""
    if isinstance(value, bool):
        return 1.0 if value else 0.0
    return seconds(value)


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if isinstance(value, list):
        return tuple(text(item) for item in value)
    raise wrong_value("a list of texts", value)


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
        raise wrong_value("names with texts", value)
    for name in value:
        if not text(name) or "=" in name:
            raise wrong_value('names without "="', name)
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
            why = "it begins as JSON does, and is none: put templates inside its quotes, or write a table"
            raise ValueError(why) from None
    json.dumps(value, default=_refuse_json)
    if not isinstance(value, Mapping | list):
        raise wrong_value("a text or a table", value)
    return value


def tool_arguments(value: object) -> Mapping[str, object]:
    """Read the arguments of a tool: a table, whose texts may hold templates."""
    if not isinstance(value, Mapping):
        raise wrong_value("a table", value)
    json.dumps(value, default=_refuse_json)
    return value


def _refuse_json(value: object) -> object:
    raise ValueError(f"JSON has no value for {value}: write it as a text")


def decision(value: object) -> str | bool:
    """Read the words of a decision, or true where it needs none."""
    if value is True:
        return True
    if not isinstance(value, str):
        raise wrong_value("a text or true", value)
    return nonempty_text(value)


class WordReader(Generic[T]):
    """Reads one of these words; with `any_case`, in small or capital letters."""

    def __init__(self, words: Iterable[T], *, any_case: bool = False) -> None:
        self._by_word = {str(word): word for word in words}
        self._any_case = any_case
        self.schema: Mapping[str, object] = {"enum": [*self._by_word]}

    def __call__(self, value: object) -> T:
        """Read a word."""
        word = value.lower() if self._any_case and isinstance(value, str) else value
        if isinstance(word, str) and word in self._by_word:
            return self._by_word[word]
        *most, last = map(quote, self._by_word)
        raise wrong_value(f"{', '.join(most)} or {last}", value)


# what a failure means, what a hook that was never approved means, and what a hook does when it cannot be known whether
# a call is one that it is about
on_error: Final = WordReader(OnError, any_case=True)
read_unapproved: Final = WordReader(Unapproved, any_case=True)
unknown: Final = WordReader(Unknown, any_case=True)


def priority(value: object) -> int:
    """Read a place in the order: a name or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return Priority[value.upper()]
    raise wrong_value("critical, high, normal, low or a whole number", value)


def count(value: object) -> int:
    """Read a whole number above 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise wrong_value("a whole number above 0", value)


def count_or_none(value: object) -> int:
    """Read a whole number; 0 is none at all."""
    return 0 if value == 0 and type(value) is int else count(value)


def needs(value: object) -> Needs:
    """Read what has to be there: a table with lists of tools, files, services and variables."""
    given = {name: one_or_more_texts(item) for name, item in _parts(value, READERS).items()}
    for name, items in given.items():
        for item in items:
            READERS[name](item)
    return Needs(**given)


def caching(value: object) -> Caching:
    """Read how long an answer holds: a time, or a table that also says what the answer depends on."""
    if not isinstance(value, Mapping):
        return Caching(seconds=seconds(value))
    # the field has another name than the key
    given = _parts(
        {"seconds" if name == "for" else name: item for name, item in value.items()}, Caching.__struct_fields__
    )
    if "seconds" not in given:
        raise ValueError('wanted `for`, the time an answer holds, such as for = "10m"')
    lists = {name: one_or_more_texts(item) for name, item in given.items() if name != "seconds"}
    return Caching(seconds=seconds(given["seconds"]), **lists)


_BYTES: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SIZE: Final = r"([0-9]+(?:\.[0-9]+)?) ?(B|KB|MB|GB)"


def size(value: object) -> int:
    """Read a size: a number of bytes, or a text with its unit, such as "512MB"."""
    if isinstance(value, str) and (found := re.fullmatch(_SIZE, value, re.IGNORECASE)):
        value = int(float(found[1]) * _BYTES[found[2].upper()])
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise wrong_value('a size above 0, such as "512MB"', value)


def _writable(value: object) -> tuple[str, ...]:
    paths = any_texts(value)
    for path in paths:
        if any(sign in path.removesuffix("/**") for sign in "*?[") or path == "/":
            raise wrong_value('folders, such as "build/**", or files to write', path)
    return paths


def _readable(value: object) -> tuple[str, ...] | None:
    return None if value == "all" else _writable(value)


def _network(value: object) -> bool | tuple[str, ...]:
    from hookline.process.connect_proxy import parse_host  # noqa: PLC0415 - only few hooks name hosts

    if isinstance(value, str):
        raise wrong_value('true, false or a list of hosts, such as ["api.example.com:443"]', value)
    hosts = flag_or_texts(value)
    for host in () if isinstance(hosts, bool) else hosts:
        if host != UNIX:
            parse_host(host)
    return hosts


def _variables(value: object) -> tuple[str, ...]:
    return tuple(map(parse_variable, any_texts(value)))


def _memory(value: object) -> int:
    found = size(value)
    if found < _BYTES["MB"]:
        raise wrong_value('a size of at least 1MB, in which a program can start, such as "512MB"', value)
    return found


# the keys of `sandbox`, and how each is read
_SANDBOX: Final[Mapping[str, Callable[[object], object]]] = {
    "level": WordReader([name for name in LEVELS if name != "none"]),
    "write": _writable,
    "read": _readable,
    "net": _network,
    "env": _variables,
    "memory": _memory,
    "cpu": seconds,
    "processes": count,
    "file_size": size,
    "open_files": count,
    "tmp": WordReader((PRIVATE, SHARED_TMP)),
    "user": nonempty_text,
    "required": flag,
}


sandbox_level: Final = WordReader(LEVELS)


def sandbox(value: object) -> Sandbox:
    """Read what the process of a hook may do: a level, or a table that says what differs from one."""
    if isinstance(value, str):
        return LEVELS[sandbox_level(value)]
    if not isinstance(value, Mapping):
        levels = ", ".join(map(quote, LEVELS))
        raise wrong_value(f"a level ({levels}) or a table", value)
    given = _read_parts(value, _SANDBOX)
    return structs.replace(LEVELS[str(given.get("level", PROJECT))], **given)


def _endpoint(value: object) -> str:
    url = nonempty_text(value)
    if problem := find_url_problem(url):
        raise ValueError(problem)
    return url


def headers(value: object) -> Mapping[str, str]:
    """Read the headers of a request."""
    found = table(value)
    for name, item in found.items():
        # what HTTP allows as the name of a header
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise wrong_value("the name of a header", name)
        if not item.isprintable():
            raise ValueError(f"wanted a value on one line for the header {quote(name)}")
    return found


# the keys of `telemetry`, and how each is read
_TELEMETRY: Final[Mapping[str, Callable[[object], object]]] = {
    "endpoint": _endpoint,
    "headers": headers,
    "traces": flag,
    "metrics": flag,
    "service_name": nonempty_text,
    "arguments": flag,
    "timeout": seconds,
}


def telemetry(value: object) -> Telemetry:
    """Read where traces and metrics are exported to; an empty table leaves all of it to the variables of OpenTelemetry."""
    build: Callable[..., Telemetry] = Telemetry
    return build(**(_read_parts(value, _TELEMETRY) if value != {} else {}))


def model_name(value: object) -> str:
    """Read the name of a language model, such as "ollama:llama3.2"."""
    name = nonempty_text(value)
    split_model(name)
    return name


def model_budget(value: object) -> ModelBudget:
    """Read what may be spent on language models in a day, such as "0.50/day" or "100k tokens/day"."""
    return parse_budget(text(value))


def _price(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    raise wrong_value("the price of a million tokens, such as 0.15", value)


def _variable(value: object) -> str:
    return parse_variable(text(value))


# the keys of each table in `models`, and how each is read
_MODEL: Final[Mapping[str, Callable[[object], object]]] = {
    "url": _endpoint,
    "key_env": _variable,
    "input": _price,
    "output": _price,
}


def models(value: object) -> Mapping[str, ModelSettings]:
    """Read where language models are reached and what they cost: a table for each model, or for all of a provider."""
    if not isinstance(value, Mapping):
        raise wrong_value("a table for each model", value)
    build: Callable[..., ModelSettings] = ModelSettings
    found: dict[str, ModelSettings] = {}
    for name, item in value.items():
        try:
            if name not in PROVIDERS:
                model_name(name)
            found[name] = build(**_read_parts(item, _MODEL))
        except ValueError as problem:
            raise ValueError(f"{quote(str(name))}: {problem}") from None
    return found


def _parts(value: object, known: Collection[str]) -> dict[str, object]:
    if not isinstance(value, Mapping) or not value:
        found = "an empty one" if value == {} else describe(value)
        raise ValueError(f"wanted a table with some of {', '.join(known)}, got {found}")
    for name in value:
        if name not in known:
            raise ValueError(f"unknown key {quote(str(name))}{suggest(str(name), known)}")
    return dict(value)


def _read_parts(value: object, readers: Mapping[str, Callable[[object], object]]) -> dict[str, object]:
    """Read each value of a table; an error names its key."""
    given: dict[str, object] = {}
    for name, item in _parts(value, readers).items():
        try:
            given[name] = readers[name](item)
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None
    return given


def anything(value: object) -> object:
    """Accept any value: the key is for people or for other programs."""
    return value


def describe(value: object) -> str:
    """Return what a value is, in the words of the file it stands in."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {quote(value)}"
        case int() | float():
            return f"the number {str(value)[:20] if isinstance(value, int) else value}"
        case list():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def wrong_value(wanted: str, value: object) -> ValueError:
    """Return the error for a value that is not what a key wants."""
    return ValueError(f"wanted {wanted}, got {describe(value)}")


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
        case Sandbox():
            level = LEVELS[value.level]
            parts = structs.asdict(value).items()
            given = {name: to_file_value(item) for name, item in parts if item != getattr(level, name)}
            if "read" in given and value.read is None:
                given["read"] = "all"
            level_key = {} if value.level == PROJECT else {"level": value.level}
            return {**level_key, **given} if given else value.level
        case Needs():
            return {name: list(names) for name, names in structs.asdict(value).items() if names}
        case float() if value == int(value):
            return int(value)
        case int() if type(value) not in {int, bool}:
            return int(value)
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case str() | ModelBudget():
            return str(value)
        case _:
            return value


def slug(name: str) -> str:
    """Make an id out of a name: "Lint on Save" becomes "lint-on-save"."""
    return re.sub(r"[^\w.:]+", "-", name.lower()).strip("-")


def derive_rule_name(actions: Mapping[str, str]) -> str:
    """Return a name for a rule without one: the beginning of its first text, without templates."""
    words: list[str] = []
    for word in slug(re.sub(r"\{\{.*?\}\}", " ", next(iter(actions.values()), ""))).split("-"):
        if len("-".join([*words, word])) > _LONGEST_NAME and words:
            break
        words.append(word[:_LONGEST_NAME])
    return "-".join(filter(None, words)).strip(".:-")


_TEXT: Final = {"type": "string"}
_NUMBER_OR_TEXT: Final = {"type": ["string", "number"]}
# a text that says something
NAME: Final[Mapping[str, object]] = {"type": "string", "minLength": 1}

_SOME_NAMES: Final = {"anyOf": [NAME, {"type": "array", "items": NAME, "minItems": 1}]}
_A_TIME: Final = (
    {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
    {"type": "string", "pattern": f"^{_TIME}$"},
)

_SIZE_TEXT: Final = {"type": "string", "pattern": f"^{_SIZE.replace('(B|', '([bB]|')}$"}
_ANY_NAMES: Final = {"anyOf": [NAME, {"type": "array", "items": NAME}]}
_AGENT: Final = {"enum": [*EVENT_NAMES, *AGENT_ALIASES]}
_FACT: Final = {"enum": [*FACTS]}
_WINDOW: Final = {"type": "string", "pattern": WINDOW_PATTERN}

_OF_PLAIN_VALUES: Final[Mapping[Callable[[object], object], Mapping[str, object]]] = {
    text: _TEXT,
    nonempty_text: {"type": "string", "pattern": r"\S"},
    version: _NUMBER_OR_TEXT,
    flag: {"type": "boolean"},
    seconds: {"anyOf": [*_A_TIME]},
    batch_window: {"anyOf": [{"type": "boolean"}, *_A_TIME]},
    texts: {"type": "array", "items": _TEXT},
    flag_or_texts: {"anyOf": [{"type": "boolean"}, {"type": "array", "items": _TEXT}]},
    one_or_more_texts: _SOME_NAMES,
    agents: {"anyOf": [_AGENT, {"type": "array", "items": _AGENT, "minItems": 1}]},
    time_windows: {"anyOf": [_WINDOW, {"type": "array", "items": _WINDOW, "minItems": 1}]},
    facts: {"anyOf": [_FACT, {"type": "array", "items": _FACT, "minItems": 1}]},
    once: {"enum": [True, False, "session", ONCE_PER_TURN]},
    any_texts: _ANY_NAMES,
    table: {"type": "object", "propertyNames": {"pattern": "^[^=]+$"}, "additionalProperties": _NUMBER_OR_TEXT},
    decision: {"anyOf": [{"type": "string", "pattern": r"\S"}, {"const": True}]},
    request_body: {"type": ["string", "object", "array"]},
    tool_arguments: {"type": "object"},
    headers: {"type": "object", "additionalProperties": _NUMBER_OR_TEXT},
    priority: {"anyOf": [{"enum": [name.lower() for name in Priority.__members__]}, {"type": "integer"}]},
    count: {"type": "integer", "minimum": 1},
    count_or_none: {"type": "integer", "minimum": 0},
    model_name: {"type": "string", "pattern": f"^({'|'.join(PROVIDERS)}):."},
    model_budget: {"type": "string", "pattern": "/ ?day$"},
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
    size: {"anyOf": [{"type": "integer", "minimum": 1}, _SIZE_TEXT]},
    _memory: {"anyOf": [{"type": "integer", "minimum": _BYTES["MB"]}, _SIZE_TEXT]},
    _readable: _ANY_NAMES,
    _writable: _ANY_NAMES,
    _variables: _ANY_NAMES,
    _network: {"anyOf": [{"type": "boolean"}, {"type": "array", "items": _TEXT}]},
    _endpoint: {"type": "string", "pattern": "^https?://"},
    _price: {"type": "number", "minimum": 0},
    _variable: NAME,
}


def schema_of(read: Callable[[object], object]) -> Mapping[str, object]:
    """Return what an editor checks a value with that is read like this."""
    return read.schema if isinstance(read, WordReader) else SCHEMAS[read]


def _table_schema(readers: Mapping[str, Callable[[object], object]], *, least: int = 1) -> dict[str, object]:
    properties = {
        name: read.schema if isinstance(read, WordReader) else _OF_PLAIN_VALUES[read] for name, read in readers.items()
    }
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": least}


# by how a value is read
SCHEMAS: Final[Mapping[Callable[[object], object], Mapping[str, object]]] = {
    **_OF_PLAIN_VALUES,
    needs: _table_schema(dict.fromkeys(Needs.__struct_fields__, one_or_more_texts)),
    telemetry: _table_schema(_TELEMETRY, least=0),
    sandbox: {"anyOf": [sandbox_level.schema, _table_schema(_SANDBOX)]},
    models: {
        "type": "object",
        "propertyNames": {"pattern": f"^({'|'.join(PROVIDERS)})(:.+)?$"},
        "additionalProperties": _table_schema(_MODEL),
    },
}


_Read = Callable[[object], object]
Row = Key | tuple[_Read, bool, str] | tuple[_Read, bool, str, Mapping[str, object]]


def make_keys(rows: Mapping[str, Row]) -> dict[str, Key]:
    """Return a table of keys; a row sets the field of its own name: how it is read, whether it is vital, help text, schema."""
    return {name: row if isinstance(row, Key) else Key(row[0], name, *row[1:]) for name, row in rows.items()}


# how JSON formats say what a hook runs
RUNNERS: Final[Mapping[str, Key]] = make_keys(
    {
        "command": (text, True, "The program to run, or a whole line where its dialect has lines.", NAME),
        "args": (texts, True, "The arguments of the program, one word each."),
        "working_directory": (text, True, "The folder it runs in."),
        "module": (text, True, "The Python module of the function to call.", NAME),
        "function": (text, True, "The function to call in the module."),
        "url": (text, True, "The URL to send the event to.", NAME),
    }
)
# those of them that say how a hook is reached; it needs exactly one
TARGETS: Final = ("command", "module", "url")

# where a file is one definition, what an editor wants to know stands in the definition
SCHEMA_KEY: Final[Mapping[str, Key]] = {"$schema": Key(text, about="The schema an editor completes this file with.")}

# what every format calls the same
SHARED: Final[Mapping[str, Key]] = make_keys(
    {
        "id": Key(text, about="What commands and traces call it; made of the name unless it is given."),
        "name": Key(text, about="What people call it."),
        "matcher": (text, True, "Which tools, or other subjects of the event, it is for."),
        "files": (one_or_more_texts, True, "Runs only for these files: patterns as in a .gitignore."),
        "writes": (one_or_more_texts, True, "Runs only for tool calls that may write one of these files."),
        "deletes": (one_or_more_texts, True, "Runs only for tool calls that may delete one of these files."),
        "reads": (one_or_more_texts, True, "Runs only for tool calls that may read one of these files."),
        "runs": (one_or_more_texts, True, 'Runs only for tool calls that may run such a command: "git push".'),
        "urls": (one_or_more_texts, True, 'Runs only for tool calls that may reach such a host or URL: "example.com".'),
        "unknown": (
            unknown,
            True,
            "What it does when a call cannot be known: skip it, match it, or have the user confirm it.",
        ),
        "timeout": (seconds, False, 'How long it may take, in seconds, or with a unit: "500ms", "2m".'),
        "env": (table, True, "Environment variables it gets on top."),
        "headers": (table, True, "Headers of the web request."),
        "header_env": (texts, True, "Variables that the URL and headers may name, as $NAME or ${NAME}."),
        "body": (
            request_body,
            True,
            'What the web request sends in place of the event: a text, or a table; { text = "{{message}}" }.',
        ),
        "method": (text, True, "Method of the web request; POST unless it is given."),
        "shell": (flag, True, "Whether the command is a line for a shell."),
        "plain": (flag, True, "Text that the command prints is added to the conversation."),
        "includes": (one_or_more_texts, True, "Files that belong to it though its command does not name them."),
        "isolated": (flag, True, "Whether a Python function runs in a process of its own."),
        "on_error": (on_error, False, "What its failure means: block the operation, or continue without it."),
        "priority": (priority, False, "Its place in the order: a name, or a number; lower runs earlier."),
        "parallel": (flag, False, "Whether it may run beside its neighbours that say the same."),
        "if": Key(
            nonempty_text,
            "condition",
            vital=True,
            about='Runs only when this expression over the event is true: args.command.startsWith("git ").',
        ),
        "after": (one_or_more_texts, False, "Runs after these hooks, named by their ids."),
        "before": (one_or_more_texts, False, "Runs before these hooks, named by their ids."),
        "agents": (agents, True, 'Runs only under these agents: "claude", "codex".'),
        "branches": (
            one_or_more_texts,
            True,
            'Runs only on these branches of git: "main", "release/*"; "!main" is any other.',
        ),
        "between": (
            time_windows,
            True,
            'Runs only at these times of the day or week: "09:00-18:00", "mon-fri 22:00-06:00".',
        ),
        "once": (once, False, 'Runs once in a session, or, with "turn", once in each turn of the agent.'),
        "per_minute": (count, False, "Runs at most this often in any minute."),
        "cooldown": (seconds, False, "How long it rests after each run."),
        "debounce": (
            seconds,
            False,
            "How long the same file or subject must have been quiet; in the background, the last of several events counts.",
        ),
        "batch": (
            batch_window,
            False,
            "Runs once, in the background, for all files of events that come within a second, or this time.",
        ),
        "breaker": (count, False, "After so many failures in a row it pauses."),
        "retry_after": (seconds, False, "How long it pauses before it is tried again."),
        "needs": (needs, False, "Tools, files, services and variables that must be there."),
        "sandbox": (
            sandbox,
            True,
            'What its process may do: "read-only", "project", "none", or a table; { net = ["api.example.com:443"] }.',
        ),
        "facts": (facts, True, "What is gathered for it once per event: git, transcript, diff."),
        "state": (
            flag,
            True,
            "It has a private folder, HOOKLINE_STATE, and one for the session, HOOKLINE_SESSION_STATE.",
        ),
        "cache": (caching, False, "How long its answer holds, and what the answer depends on."),
        "background": (flag, False, "The agent does not wait for it: it runs from a queue, at least once."),
        "persistent": (flag, True, "The command stays and answers one event per line."),
        "warm": (flag, False, "The command is a Python script, run in a process that was made ahead."),
        "observe": (flag, True, "Record what it would do, and enforce nothing."),
        "enabled": (flag, True, "Whether it runs at all."),
        "version": (version, False, "The version of the hook itself."),
        "source_version": (version, False, "The version of the system it was written for."),
        "description": Key(anything, about="For people; it means nothing to the program."),
    }
)
