"""Tests beside a hook: `[[hook.test]]` with `given` and `expect`."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from hookline.config import keys
from hookline.config.document import KeyPath
from hookline.config.keys import describe
from hookline.model.event import EVENTS, TOOL_SPECS, EventName
from hookline.model.names import known_events, resolve_events, resolve_tools
from hookline.model.verdict import DECISION_WORDS, Decision, Expectation
from hookline.text import quote, suggest

_KEYS: Final = ("given", "expect", "name")
# what may be given besides the arguments of the tool and the fields of the event
_GIVEN: Final = ("event", "tool", "args", "data", "cwd")
_EXPECTED: Final = ("decision", "reason", "args", "context", "message")
_TEXT: Final = {"type": "string"}

SCHEMA: Final[Mapping[str, object]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "given": {
                "type": "object",
                "properties": {name: {} if name in {"args", "data"} else _TEXT for name in _GIVEN},
            },
            "expect": {
                "anyOf": [
                    {"enum": [*DECISION_WORDS]},
                    {
                        "type": "object",
                        "properties": {
                            "decision": {"enum": [*DECISION_WORDS]},
                            "args": {"type": "object"},
                            **dict.fromkeys(("reason", "context", "message"), _TEXT),
                        },
                        "additionalProperties": False,
                        "minProperties": 1,
                    },
                ]
            },
        },
        "required": ["expect"],
        "additionalProperties": False,
    },
}


class HookTest(Struct, frozen=True, kw_only=True):
    """One test of a hook: the event that is given, as far as the test describes it, and the answer that is expected."""

    event: str
    tool: str = ""
    args: Mapping[str, object] = {}
    data: Mapping[str, object] = {}
    cwd: str = ""
    expect: Expectation
    name: str = ""


class HookTestError(ValueError):
    """A mistake in a test, and the keys that lead to it."""

    def __init__(self, message: str, *where: str) -> None:
        super().__init__(message)
        self.where: KeyPath = where


def list_tables(value: object) -> tuple[Mapping[str, object], ...]:
    """Read the tests of a hook as they stand there; each is read when the hook's events are known."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise keys.wrong_value("[[hook.test]], with two brackets", value)
    return tuple(value)


def read_test(table: Mapping[str, object], on: Iterable[str]) -> HookTest:
    """Read one test of a hook for these events.

    Raises:
        HookTestError: A key is unknown, or a value cannot be used.
    """
    _reject_unknown(table, _KEYS, "a test")
    if "expect" not in table:
        raise HookTestError(f"a test needs `expect`: {', '.join(DECISION_WORDS)}, or a table")
    given = _read_table(table.get("given", {}), "given")
    event = _find_event(given, tuple(on))
    spec = EVENTS[EventName(event.partition(":")[0])]
    args, data = (dict(_read_table(given.get(name, {}), "given", name)) for name in ("args", "data"))
    tool = _read_text(given, "tool") if spec.subject == "tool" else ""
    known_args = _list_arguments(tool) if spec.subject == "tool" else ()
    is_open = bool(tool) and not known_args
    frame = _GIVEN if spec.subject == "tool" else tuple(name for name in _GIVEN if name not in {"tool", "args"})
    for name, value in given.items():
        if name in frame:
            continue
        if name in spec.fields:
            data[name] = value
        elif name in known_args or is_open:
            args[name] = value
        else:
            nearest = suggest(name, (*known_args, *spec.fields, *frame))
            others = "arguments belong in args" if spec.subject == "tool" else "fields belong in data"
            message = f"unknown key {quote(name)} in given for {event}{nearest}; other {others} = {{ … }}"
            raise HookTestError(message, "given", name)
    return HookTest(
        event=event,
        tool=tool,
        args=args,
        data=data,
        cwd=_read_text(given, "cwd"),
        expect=read_expectation(table["expect"]),
        name=_read_text(table, "name", inside=()),
    )


def read_expectation(value: object) -> Expectation:
    """Read what a test expects: the word of a decision, or a table.

    Raises:
        HookTestError: It is neither, or a key or a decision is unknown.
    """
    if isinstance(value, str):
        return Expectation(decision=_read_decision(value))
    table = _read_table(value, "expect")
    _reject_unknown(table, _EXPECTED, "expect", "expect")
    if not table:
        raise HookTestError("expect is empty; name the decision that is expected", "expect")
    decision = _read_text(table, "decision", inside=("expect",))
    return Expectation(
        decision=_read_decision(decision) if decision else None,
        args=_read_table(table.get("args", {}), "expect", "args"),
        **{name: _read_text(table, name, inside=("expect",)) for name in ("reason", "context", "message")},
    )


def _find_event(given: Mapping[str, object], on: tuple[str, ...]) -> str:
    named = _read_text(given, "event")
    if not named:
        return on[0]
    found = (named,) if named in on else resolve_events(named)
    if not found:
        raise HookTestError(f"there is no event {quote(named)}{suggest(named, known_events())}", "given", "event")
    return next((event for event in found if event in on), found[0])


def _list_arguments(tool: str) -> tuple[str, ...]:
    """Return the names of a tool's arguments: those of every tool where none is named, none where no system has the tool."""
    tools = resolve_tools(tool) if tool else TOOL_SPECS
    return tuple(dict.fromkeys(name.rstrip("?") for one in tools for name in TOOL_SPECS[one].arguments))


def _read_decision(word: str) -> Decision:
    if word not in DECISION_WORDS:
        known = ", ".join(DECISION_WORDS)
        raise HookTestError(
            f"there is no decision {quote(word)}{suggest(word, DECISION_WORDS)}; there are {known}", "expect"
        )
    return DECISION_WORDS[word]


def _reject_unknown(table: Mapping[str, object], known: tuple[str, ...], owner: str, *where: str) -> None:
    for name in table:
        if name not in known:
            message = f"unknown key {quote(name)} in {owner}{suggest(name, known)}; there are {', '.join(known)}"
            raise HookTestError(message, *where, name)


def _read_table(value: object, *where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise HookTestError(f"{where[-1]}: wanted a table, got {describe(value)}", *where)
    return value


def _read_text(table: Mapping[str, object], name: str, *, inside: tuple[str, ...] = ("given",)) -> str:
    try:
        return keys.text(table.get(name, ""))
    except ValueError as problem:
        raise HookTestError(f"{name}: {problem}", *inside, name) from None
