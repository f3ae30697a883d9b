"""New hooks from templates: a script that runs as it is, an event to try it with, and its entry in `hookline.toml`.

A template knows no dialect. Where an event keeps what is looked at, and how an answer is said, is asked of the
dialect itself with marked texts, so that a new dialect has its templates at once.
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

from hookline import wire
from hookline.debug.samples import sample
from hookline.dialects import DIALECTS
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

# templates answer with one line of JSON, whatever they say; agents have answers that are silence, or an exit code
SPEAKING: Final = tuple(name for name, dialect in DIALECTS.items() if not dialect.SPEC.is_agent)
TEMPLATES: Final = ("logging", "validation", "context", "policy")
FOLDER: Final = "hooks"

# markers that no document of a dialect has by itself
_TEXT: Final = "@@text@@"
_ID: Final = "@@id@@"
_CHECKED: Final = "@@checked@@"

_PLACEHOLDER: Final = re.compile(r"@([a-z_]+)@")
_ALONE: Final = re.compile(r"^@([a-z_]+)@\n\n?", re.MULTILINE)

Rule = tuple[str, str, object]


class Check(Struct, frozen=True, kw_only=True):
    """What a template looks at in an event, and its first rules: pattern, reason, and what the rule is about."""

    what: str
    deny: Rule
    ask: Rule
    allow: Rule
    field: str = ""
    argument: str = ""


class _Checks(Struct, frozen=True):
    events: Mapping[EventName, str]
    checks: Mapping[str, Check]


class Language(Struct, frozen=True, kw_only=True):
    """How one language is written: its files, its program, and its literals.

    `answer` writes a document in which marked texts are variables, `keys` the way to a value in an event.
    """

    ending: str
    program: str
    answer: Callable[[object], str]
    keys: Callable[[tuple[str, ...]], str]
    pattern: Callable[[str], str]
    text: Callable[[str], str]


class Plan(Struct, frozen=True, kw_only=True):
    """What to make: `on` is the event as the person spells it, `event` the canonical one."""

    name: str
    event: EventName
    on: str
    language: str
    template: str
    dialect: str


def script(plan: Plan) -> str:
    """Write the hook."""
    language = LANGUAGES[plan.language]
    text = _read(f"{plan.language}/{plan.template}{language.ending}.tmpl")
    values = _values(plan, language)
    return _filled(text, values)


def script_name(plan: Plan) -> str:
    """Name the hook's file, counted from the folder of its `hookline.toml`."""
    return f"{FOLDER}/{plan.name}{LANGUAGES[plan.language].ending}"


def payload(plan: Plan, *, decision: str = "deny") -> bytes:
    """Write an event that the hook's first rules say this about, as its dialect says it, on lines for people."""
    event = _about(plan, getattr(check_of(plan.event), decision)[2])
    return msgspec.json.format(_document(plan, event), indent=2) + b"\n"


def entry(plan: Plan) -> dict[str, object]:
    """Give the hook's table in `hookline.toml`."""
    table: dict[str, object] = {"name": plan.name, "on": plan.on}
    judges = plan.template in {"validation", "policy"}
    if judges and check_of(plan.event).argument:
        table["tools"] = ["shell"]
    table["run"] = [LANGUAGES[plan.language].program, script_name(plan)]
    if plan.dialect != "hookline":
        table["dialect"] = plan.dialect
    if judges and EVENTS[plan.event].can_block:
        # a guard that falls over must not open the door
        table["on_error"] = "block"
    return table


def check_of(event: EventName) -> Check:
    """Say what the templates look at in an event."""
    found = _checks()
    return found.checks[found.events[event]]


@cache
def _checks() -> _Checks:
    return msgspec.toml.decode(_read("checks.toml"), type=_Checks)


def _read(name: str) -> str:
    return resources.files("hookline").joinpath("templates", *name.split("/")).read_text("utf-8")


def _values(plan: Plan, language: Language) -> dict[str, str]:
    check = check_of(plan.event)
    blocks = EVENTS[plan.event].can_block
    values = {
        "name": plan.name,
        "event": plan.on,
        "dialect": plan.dialect,
        "what": check.what,
        "object": "deny" if blocks else "warn the person",
        "objection": "deny" if blocks else "warn",
        "path": language.keys(_path(plan)),
    }
    for name in ("deny", "ask", "allow"):
        pattern, reason, _ = getattr(check, name)
        values[f"{name}_pattern"] = language.pattern(pattern)
        values[f"{name}_reason"] = language.text(reason)
    answers = {name: _answer(plan, name) for name in _OUTCOMES}
    values |= {name: language.answer(document) for name, document in answers.items()}
    wants_id = plan.language == "bash" and _ID in wire.dump(answers["pass"]).decode()
    values["reader"] = _piece("reader", values)
    values["quoted"] = _piece("quoted", values)
    values["id_reader"] = values["reader"] if wants_id else ""
    values["id"] = "id=$(look_up json id)" if wants_id else ""
    return values


def _piece(name: str, values: Mapping[str, str]) -> str:
    return _filled(_read(f"bash/_{name}.sh.tmpl"), values).rstrip("\n")


def _filled(text: str, values: Mapping[str, str]) -> str:
    # a line that has nothing to say goes, with the empty one after it
    text = _ALONE.sub(lambda found: found[0] if values[found[1]] else "", text)
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _tell(text: str) -> Outcome:
    return Outcome(effects=(Effect(EffectKind.MESSAGE, text),))


# what each answer of a template means, where the event can be blocked and where it cannot
_OUTCOMES: Final[Mapping[str, tuple[Outcome, Outcome]]] = {
    "pass": (Outcome(), Outcome()),
    "deny": (Outcome(decision=Decision.DENY, reasons=(_TEXT,)), _tell(_TEXT)),
    "ask": (Outcome(decision=Decision.ASK, reasons=(_TEXT,)), _tell(_TEXT)),
    "allow": (Outcome(decision=Decision.ALLOW, reasons=(_TEXT,)), Outcome()),
    "context": (Outcome(effects=(Effect(EffectKind.CONTEXT, _TEXT),)),) * 2,
}


def _answer(plan: Plan, name: str) -> object:
    """Ask the dialect how an answer is said; the texts in it are marked."""
    event = sample(plan.event)
    # only the dialect that numbers its requests looks at this, and its answers carry it
    marked = replace(event, data={**event.data, "jsonrpc_id": _ID})
    outcome = _OUTCOMES[name][0 if EVENTS[plan.event].can_block else 1]
    return wire.load(DIALECTS[plan.dialect].encode_outcome(outcome, marked).stdout)


def _path(plan: Plan) -> tuple[str, ...]:
    """Ask the dialect where it keeps what is looked at: the shortest way there."""
    document = wire.load(_document(plan, _about(plan, _CHECKED)))
    return min(_ways(document, ()), key=len)


def _ways(value: object, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    if value == _CHECKED:
        return [path]
    if not isinstance(value, dict):
        return []
    return [way for key, item in value.items() for way in _ways(item, (*path, key))]


def _about(plan: Plan, value: object) -> Event:
    """Give a sample of the event in which this is what a template looks at."""
    check = check_of(plan.event)
    key, _, custom = plan.on.partition(":")
    event = sample(f"{plan.event}:{custom}" if key == "custom" and custom else plan.event)
    if check.argument:
        return replace(event, tool="shell", args={check.argument: value})
    return replace(event, data={**event.data, check.field: value})


def _document(plan: Plan, event: Event) -> bytes:
    hook = Hook(id=plan.name, name=plan.name, kind="command", command=plan.name)
    return DIALECTS[plan.dialect].encode_event(event, hook).body


def _written(document: object, variables: Mapping[str, str]) -> str:
    text = json.dumps(document)
    for marker, variable in variables.items():
        text = text.replace(f'"{marker}"', variable)
    return text


def _python(document: object) -> str:
    text = _written(document, {_TEXT: "text", _ID: 'event["id"]'})
    return text.replace(": true", ": True").replace(": false", ": False")


def _node(document: object) -> str:
    return _written(document, {_TEXT: "text", _ID: "event.id"})


def _bash(document: object) -> str:
    return _written(document, {_TEXT: "$text", _ID: "$id"})


def _listed(path: tuple[str, ...]) -> str:
    return ", ".join(json.dumps(key) for key in path)


def _raw(pattern: str) -> str:
    return f"r'{pattern}'" if '"' in pattern else f'r"{pattern}"'


def _slashed(pattern: str) -> str:
    escaped = pattern.replace("/", r"\/")
    return f"/{escaped}/"


def _single(text: str) -> str:
    return f"'{text}'"


LANGUAGES: Final[Mapping[str, Language]] = {
    "python": Language(ending=".py", program="python3", answer=_python, keys=_listed, pattern=_raw, text=json.dumps),
    "node": Language(ending=".cjs", program="node", answer=_node, keys=_listed, pattern=_slashed, text=json.dumps),
    "bash": Language(ending=".sh", program="bash", answer=_bash, keys=" ".join, pattern=_single, text=_single),
}
