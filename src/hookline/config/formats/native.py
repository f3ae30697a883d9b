"""Hookline's own format: `[[hook]]` tables in TOML."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.scripts import command_of
from hookline.config.values import (
    NAME,
    SCHEMAS,
    SHARED,
    Key,
    describe,
    filled,
    ignored,
    one_or_more_texts,
    text,
    words,
)
from hookline.config.vocabulary import quoted
from hookline.model.event import EventName
from hookline.model.hook import Hook


def _run(value: object) -> tuple[str, ...] | str:
    if not isinstance(value, str):
        return one_or_more_texts(value)
    if not value.strip():
        raise ValueError("wanted a command, got nothing")
    return text(value)


def _call(value: object) -> tuple[str, str]:
    module, _, function = text(value).partition(":")
    if not module or not function:
        raise ValueError(f'wanted "module:function", got {describe(value)}')
    return module, function


def _tools(value: object) -> str:
    # a star means the same to hooks of every dialect, also where matchers are regular expressions
    return "|".join(tool.replace("*", ".*") for tool in one_or_more_texts(value))


_SOME: Final = SCHEMAS[one_or_more_texts]

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "on": Key(one_or_more_texts, vital=True, about="The events it runs at."),
        "tools": Key(_tools, "matcher", vital=True, about="The tools it is for; * stands for anything.", schema=_SOME),
        "run": Key(
            _run,
            vital=True,
            about="The command to run: one line, or a list with one word each.",
            schema={"anyOf": [SCHEMAS[filled], {"type": "array", "items": NAME, "minItems": 1}]},
        ),
        "call": Key(
            _call,
            vital=True,
            about='The Python function to call: "module:function".',
            schema={"type": "string", "pattern": "^[^:]+:."},
        ),
        "post": Key(filled, "url", vital=True, about="The URL to send the event to."),
        "ask": Key(
            filled,
            "prompt",
            vital=True,
            about="What to ask the agent; {{file.path}} and other values of the event are filled in.",
        ),
        "steps": Key(
            one_or_more_texts,
            "steps",
            vital=True,
            about="The hooks it consists of, by their ids; they run one after another.",
        ),
        "raise": Key(filled, "raises", vital=True, about="The event it raises, with what this event says."),
        "schedule": Key(
            filled,
            "schedule",
            vital=True,
            about="When `hookline watch` starts it: minute, hour, day, month, weekday, as cron has them.",
        ),
        "cwd": Key(text, "working_directory", vital=True, about="The folder it runs in."),
        "dialect": Key(text, vital=True, about="The hook language it speaks; `hookline dialects` lists them."),
        **SHARED,
    }
)
_FIELDS: Final[Mapping[str, Key]] = MappingProxyType(
    {**KEYS, **{name: Key(ignored, name) for name in ("command", "args", "module", "function")}}
)
TARGETS: Final = ("run", "call", "post", "ask", "steps", "raise")
# what may stand beside the hooks: settings have a reader of their own, files belong to a shared pack
TABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hook": "One hook each.",
        "settings": "How hooks run as a whole; read from your own files only.",
        "pack": "What a shared pack says of itself.",
        "file": "A file of a shared pack.",
        "$schema": "The schema an editor completes this file with.",
    }
)
# what other systems call the same, so that who comes from there is not left with "unknown key"
SLIPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "event": "on",
        "events": "on",
        "when": "on",
        "tool": "tools",
        "file": "files",
        "patterns": "files",
        "command": "run",
        "cmd": "run",
        "script": "run",
        "args": "run",
        "module": "call",
        "function": "call",
        "url": "post",
        "webhook": "post",
        "prompt": "ask",
        "condition": "if",
        "cron": "schedule",
        "emit": "raise",
        "working_directory": "cwd",
    }
)


def matches(document: object) -> bool:
    """Say whether a document has this shape."""
    return isinstance(document, Mapping) and "hook" in document


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every `[[hook]]` of a file."""
    reading = Reading(document, origin)
    settings = document.value if isinstance(document.value, Mapping) else {}
    for key, value in settings.items():
        if key == "hooks":
            reading.error((key, 0) if isinstance(value, list) else (key,), "a hook is written [[hook]], without an s")
        elif key not in TABLES:
            reading.unknown((), key, TABLES, owner="the file")
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
    slips = [key for key in entry if key in SLIPS]
    for key in slips:
        ours = f"here it is {quoted(SLIPS[key])}"
        reading.error((*where, key), f"unknown key {quoted(key)} in {owner}: {ours}; the hook is not loaded")
    values = reading.values({key: entry[key] for key in entry if key not in SLIPS}, KEYS, where, owner=owner)
    if slips or values is None:
        return
    dialect = reading.dialect(values, where)
    if not dialect or not _is_complete(reading, values, where, owner=owner):
        return
    names = words(values, "on") or (EventName.SCHEDULED,)
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
    targets = [name for name in TARGETS if values.get(name)]
    has_list = isinstance(values.get("run"), tuple)
    objections = [
        ("has no `on`: say at which event it runs", "on" not in values and "schedule" not in values),
        (f"needs exactly one of {', '.join(TARGETS)}; it has {' and '.join(targets) or 'none'}", len(targets) != 1),
        ("has both tools and matcher; keep one", "tools" in values and "matcher" in values),
        ("gives a list to run and wants a shell; give the shell one line", has_list and values.get("shell") is True),
    ]
    for message, wrong in objections:
        if wrong:
            reading.error(where, f"{owner} {message}; the hook is not loaded")
    return not any(wrong for _, wrong in objections)
