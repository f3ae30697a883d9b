"""New hooks from templates: a script that runs as it is, an event to try it with, and its entry in `hookline.toml`.

A template knows no dialect. Where an event keeps a value, and how an answer is written, is found by encoding marked
texts with the dialect, so that a new dialect has its templates at once.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.debug.samples import sample
from hookline.dialects import DIALECTS
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

# Templates answer with one line of JSON; the dialects of agents have answers that are empty, or an exit code.
SUPPORTED_DIALECTS: Final = tuple(name for name, dialect in DIALECTS.items() if not dialect.SPEC.is_agent)
TEMPLATES: Final = ("logging", "validation", "context", "policy")
FOLDER: Final = "hooks"

# markers that no dialect uses itself
_TEXT: Final = "@@text@@"
_ID: Final = "@@id@@"
_CHECKED: Final = "@@checked@@"

_PLACEHOLDER: Final = re.compile(r"@([a-z_]+)@")
_ALONE: Final = re.compile(r"^@([a-z_]+)@\n\n?", re.MULTILINE)

Rule = tuple[str, str, object]


class TemplateCheck(Struct, frozen=True, kw_only=True):
    """What a template checks in an event, and its first rules: pattern, reason, and a value that matches."""

    what: str
    deny: Rule
    ask: Rule
    allow: Rule
    field: str = ""
    argument: str = ""


class _Checks(Struct, frozen=True):
    events: Mapping[EventName, str]
    checks: Mapping[str, TemplateCheck]


class Language(Struct, frozen=True, kw_only=True):
    """A programming language: its files, its program, and its literals.

    `answer` writes a document in which marked texts are variables, `keys` the path to a value in an event.
    """

    ending: str
    program: str
    answer: Callable[[object], str]
    keys: Callable[[tuple[str, ...]], str]
    pattern: Callable[[str], str]
    text: Callable[[str], str]


class NewHook(Struct, frozen=True, kw_only=True):
    """The hook to make: `on` is the event as the user spells it, `event` the canonical one."""

    name: str
    event: EventName
    on: str
    language: str
    template: str
    dialect: str


def make_script(plan: NewHook) -> str:
    """Return the text of the hook."""
    language = LANGUAGES[plan.language]
    text = _read(f"{plan.language}/{plan.template}{language.ending}.tmpl")
    values = _make_values(plan, language)
    return _fill(text, values)


def get_script_name(plan: NewHook) -> str:
    """Return the hook's file, relative to the folder of its `hookline.toml`."""
    return f"{FOLDER}/{plan.name}{LANGUAGES[plan.language].ending}"


def make_payload(plan: NewHook, *, decision: str = "deny") -> bytes:
    """Return an indented event, in the hook's dialect, for which the hook's first rules decide this."""
    event = _make_event(plan, getattr(find_check(plan.event), decision)[2])
    return msgspec.json.format(_encode_event(plan, event), indent=2) + b"\n"


def make_entry(plan: NewHook) -> dict[str, object]:
    """Return the hook's table in `hookline.toml`."""
    table: dict[str, object] = {"name": plan.name, "on": plan.on}
    judges = plan.template in {"validation", "policy"}
    if judges and find_check(plan.event).argument:
        table["tools"] = ["shell"]
    table["run"] = [LANGUAGES[plan.language].program, get_script_name(plan)]
    if plan.dialect != "hookline":
        table["dialect"] = plan.dialect
    if judges and EVENTS[plan.event].can_block:
        # a guard fails closed
        table["on_error"] = "block"
    return table


def find_check(event: EventName) -> TemplateCheck:
    """Return what the templates check in an event."""
    checks = _load_checks()
    return checks.checks[checks.events[event]]


@cache
def _load_checks() -> _Checks:
    return msgspec.toml.decode(_read("checks.toml"), type=_Checks)


def _read(name: str) -> str:
    return resources.files("hookline").joinpath("templates", *name.split("/")).read_text("utf-8")


def _make_values(plan: NewHook, language: Language) -> dict[str, str]:
    check = find_check(plan.event)
    blocks = EVENTS[plan.event].can_block
    values = {
        "name": plan.name,
        "event": plan.on,
        "dialect": plan.dialect,
        "what": check.what,
        "object": "deny" if blocks else "warn the person",
        "objection": "deny" if blocks else "warn",
        "path": language.keys(_find_path(plan)),
    }
    for name in ("deny", "ask", "allow"):
        pattern, reason, _ = getattr(check, name)
        values[f"{name}_pattern"] = language.pattern(pattern)
        values[f"{name}_reason"] = language.text(reason)
    answers = {name: _encode_answer(plan, name) for name in _OUTCOMES}
    values |= {name: language.answer(document) for name, document in answers.items()}
    wants_id = plan.language == "bash" and _ID in json_codec.dump(answers["pass"]).decode()
    values["reader"] = _fill_piece("reader", values)
    values["quoted"] = _fill_piece("quoted", values)
    values["id_reader"] = values["reader"] if wants_id else ""
    values["id"] = "id=$(look_up json id)" if wants_id else ""
    return values


def _fill_piece(name: str, values: Mapping[str, str]) -> str:
    return _fill(_read(f"bash/_{name}.sh.tmpl"), values).rstrip("\n")


def _fill(text: str, values: Mapping[str, str]) -> str:
    # a line with only an empty placeholder goes, with the empty line after it
    text = _ALONE.sub(lambda match: match[0] if values[match[1]] else "", text)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _make_message(text: str) -> Outcome:
    return Outcome(effects=(Effect(EffectKind.MESSAGE, text),))


# the answers of templates, for events that can be blocked and for others
_OUTCOMES: Final[Mapping[str, tuple[Outcome, Outcome]]] = {
    "pass": (Outcome(), Outcome()),
    "deny": (Outcome(decision=Decision.DENY, reasons=(_TEXT,)), _make_message(_TEXT)),
    "ask": (Outcome(decision=Decision.ASK, reasons=(_TEXT,)), _make_message(_TEXT)),
    "allow": (Outcome(decision=Decision.ALLOW, reasons=(_TEXT,)), Outcome()),
    "context": (Outcome(effects=(Effect(EffectKind.CONTEXT, _TEXT),)),) * 2,
}


def _encode_answer(plan: NewHook, name: str) -> object:
    """Return the answer in the dialect, with marked texts."""
    event = sample(plan.event)
    # used by the dialect with request ids, whose answers repeat them
    marked = replace(event, data={**event.data, "jsonrpc_id": _ID})
    outcome = _OUTCOMES[name][0 if EVENTS[plan.event].can_block else 1]
    return json_codec.load(DIALECTS[plan.dialect].encode_outcome(outcome, marked).stdout)


def _find_path(plan: NewHook) -> tuple[str, ...]:
    """Return the shortest path to the checked value in the dialect's document."""
    document = json_codec.load(_encode_event(plan, _make_event(plan, _CHECKED)))
    return min(_find_paths(document, ()), key=len)


def _find_paths(value: object, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    if value == _CHECKED:
        return [path]
    if not isinstance(value, dict):
        return []
    return [found for key, item in value.items() for found in _find_paths(item, (*path, key))]


def _make_event(plan: NewHook, value: object) -> Event:
    """Return a sample of the event with this as the checked value."""
    check = find_check(plan.event)
    key, _, custom = plan.on.partition(":")
    event = sample(f"{plan.event}:{custom}" if key == "custom" and custom else plan.event)
    if check.argument:
        return replace(event, tool="shell", args={check.argument: value})
    return replace(event, data={**event.data, check.field: value})


def _encode_event(plan: NewHook, event: Event) -> bytes:
    hook = Hook(id=plan.name, name=plan.name, kind="command", command=plan.name)
    return DIALECTS[plan.dialect].encode_event(event, hook).body


def _write_json(document: object, variables: Mapping[str, str]) -> str:
    text = json.dumps(document)
    for marker, variable in variables.items():
        text = text.replace(f'"{marker}"', variable)
    return text


def _write_python(document: object) -> str:
    text = _write_json(document, {_TEXT: "text", _ID: 'event["id"]'})
    return text.replace(": true", ": True").replace(": false", ": False")


def _write_node(document: object) -> str:
    return _write_json(document, {_TEXT: "text", _ID: "event.id"})


def _write_bash(document: object) -> str:
    return _write_json(document, {_TEXT: "$text", _ID: "$id"})


def _join_keys(path: tuple[str, ...]) -> str:
    return ", ".join(json.dumps(key) for key in path)


def _quote_raw(pattern: str) -> str:
    return f"r'{pattern}'" if '"' in pattern else f'r"{pattern}"'


def _quote_slashes(pattern: str) -> str:
    escaped = pattern.replace("/", r"\/")
    return f"/{escaped}/"


def _quote_single(text: str) -> str:
    return f"'{text}'"


LANGUAGES: Final[Mapping[str, Language]] = {
    "python": Language(
        ending=".py", program="python3", answer=_write_python, keys=_join_keys, pattern=_quote_raw, text=json.dumps
    ),
    "node": Language(
        ending=".cjs", program="node", answer=_write_node, keys=_join_keys, pattern=_quote_slashes, text=json.dumps
    ),
    "bash": Language(
        ending=".sh", program="bash", answer=_write_bash, keys=" ".join, pattern=_quote_single, text=_quote_single
    ),
}
