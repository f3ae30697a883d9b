"""Hookline's own format: `[[hook]]` tables in TOML."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.scripts import command_of
from hookline.config.values import SHARED, Key, describe, ignored, one_or_more_texts, text, words
from hookline.model.hook import Hook


def _run(value: object) -> tuple[str, ...] | str:
    return text(value) if isinstance(value, str) else one_or_more_texts(value)


def _call(value: object) -> tuple[str, str]:
    module, _, function = text(value).partition(":")
    if not module or not function:
        raise ValueError(f'wanted "module:function", got {describe(value)}')
    return module, function


def _tools(value: object) -> str:
    # a star means the same to hooks of every dialect, also where matchers are regular expressions
    return "|".join(tool.replace("*", ".*") for tool in one_or_more_texts(value))


KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **SHARED,
        "on": Key(one_or_more_texts, vital=True),
        "tools": Key(_tools, "matcher", vital=True),
        "run": Key(_run, vital=True),
        "call": Key(_call, vital=True),
        "post": Key(text, "url", vital=True),
        "cwd": Key(text, "working_directory", vital=True),
        "dialect": Key(text, vital=True),
    }
)
_FIELDS: Final[Mapping[str, Key]] = MappingProxyType(
    {**KEYS, **{name: Key(ignored, name) for name in ("command", "args", "module", "function")}}
)
_TARGETS: Final = ("run", "call", "post")
_TABLES: Final[Mapping[str, object]] = {"hook": None}


def matches(document: object) -> bool:
    """Say whether a document has this shape."""
    return isinstance(document, Mapping) and "hook" in document


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every `[[hook]]` of a file."""
    reading = Reading(document, origin)
    settings = document.value if isinstance(document.value, Mapping) else {}
    for key in settings:
        if key not in _TABLES:
            reading.unknown((), key, _TABLES, owner="the file")
    hooks = settings.get("hook", [])
    if not isinstance(hooks, list):
        reading.error(("hook",), "a hook is written [[hook]], with two brackets")
        return [], reading.problems
    for place, entry in enumerate(hooks):
        _hook(reading, entry, ("hook", place))
    return reading.hooks, reading.problems


def _hook(reading: Reading, entry: object, where: KeyPath) -> None:
    if not isinstance(entry, Mapping):
        reading.error(where, f"wanted a table for a hook, got {describe(entry)}")
        return
    owner = owner_of(entry)
    values = reading.values(entry, KEYS, where, owner=owner)
    dialect = reading.dialect(values, where) if values is not None else ""
    if values is None or not dialect or not _is_complete(reading, values, where, owner=owner):
        return
    names = words(values, "on")
    on = reading.events(names, (*where, "on"), dialect=dialect)
    if on:
        reading.add({**values, **_target(values), "on": on, "dialect": dialect}, where, keys=_FIELDS, event=names[0])


def _target(values: Mapping[str, object]) -> dict[str, object]:
    """Spread `run` and `call` over the fields they stand for."""
    match values:
        case {"run": str() as line}:
            return {"command": line}
        case {"run": tuple()}:
            program, *args = words(values, "run")
            # a list is one word each, whatever the dialect makes of lines
            return {"command": command_of(program, args), "args": tuple(args), "shell": False}
        case {"call": (module, function)}:
            return {"module": module, "function": function}
        case _:
            return {}


def _is_complete(reading: Reading, values: Mapping[str, object], where: KeyPath, *, owner: str) -> bool:
    """Check what no single key can tell."""
    targets = [name for name in _TARGETS if values.get(name)]
    has_list = isinstance(values.get("run"), tuple)
    objections = [
        ("has no `on`: say at which event it runs", "on" not in values),
        (f"needs exactly one of run, call and post; it has {' and '.join(targets) or 'none'}", len(targets) != 1),
        ("has both tools and matcher; keep one", "tools" in values and "matcher" in values),
        ("gives a list to run and wants a shell; give the shell one line", has_list and values.get("shell") is True),
    ]
    for message, wrong in objections:
        if wrong:
            reading.error(where, f"{owner} {message}; the hook is not loaded")
    return not any(wrong for _, wrong in objections)
