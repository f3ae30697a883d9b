from types import MappingProxyType

import pytest

from hookline.conditions.compiler import PolicyCondition
from hookline.conditions.parser import BeyondError
from hookline.errors import ConditionError, ConfigError
from hookline.model.event import Event, EventName
from hookline.model.templates import event_context

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls", "n": 3, "token": None})


@pytest.mark.spec("A-21")
def test_condition_is_read_once_and_asked_for_every_event() -> None:
    condition = PolicyCondition('tool == "shell" && args.command.startsWith("rm ")')

    answers = [
        condition(event_context(Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": command})))
        for command in ("rm -rf /", "ls", "rm x")
    ]
    assert answers == [True, False, True]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 + 1", "a value that was calculated"),
        ('"yes"', "a string"),
        ("null", "null"),
        ("[true]", "a list"),
        ('{"a": true}', "a map"),
        ("size(tool)", "an int"),
        ("args.paths.map(p, true)", "a list"),
    ],
)
def test_what_can_never_be_true_or_false_is_refused_when_it_is_read(text: str, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"a condition is true or false, but this is {kind}"):
        PolicyCondition(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tool", "it gives a string ('shell'), not true or false"),
        ("args.n", "it gives an int (3), not true or false"),
        ("args.token", "it gives null (null), not true or false"),
    ],
)
def test_nothing_but_a_boolean_is_an_answer(text: str, why: str) -> None:
    with pytest.raises(ConditionError) as caught:
        PolicyCondition(text)(event_context(CALL))

    assert str(caught.value) == why


def test_value_without_a_bottom_is_an_error_and_no_crash() -> None:
    deep: object = 1
    for _ in range(50_000):
        deep = [deep]

    with pytest.raises(ConditionError, match="nested too deeply"):
        PolicyCondition("a == b")({"a": deep, "b": [deep]})


def test_facts_are_what_the_condition_looks_at() -> None:
    condition = PolicyCondition('tool == "x" || has(args.a) || args.n > 1 && ["v"].exists(v, v == cwd)')

    assert condition.facts(event_context(CALL)) == "tool is 'shell', there is no args.a, args.n is 3, cwd is ''"
    assert condition.names == {"tool", "args", "cwd"}


def test_facts_are_few_and_leave_the_variables_of_loops_out() -> None:
    condition = PolicyCondition("a == 1 && b == 1 && c == 1 && d == 1 && e == 1 && f.exists(x, x.y == e)")

    assert condition.facts(dict.fromkeys("abcdef", 0)) == "a is 0, b is 0, c is 0, d is 0"
    assert condition.names == set("abcdef")


def test_any_mapping_will_do() -> None:
    assert PolicyCondition("a.b == 1")(MappingProxyType({"a": MappingProxyType({"b": 1})}))


def test_more_of_cel_is_for_others() -> None:
    with pytest.raises(BeyondError):
        PolicyCondition("tool.lowerAscii() == 'shell'")


class Odd:
    """A value of a program, as an array is."""

    __hash__ = None  # type: ignore[assignment] # as arrays are

    def __eq__(self, _other: object) -> bool:
        raise ValueError("which of them?")

    def __str__(self) -> str:
        raise ValueError("not this one")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("args.odd == args.odd2", "a value of the event cannot be compared: ValueError"),
        ("args.odd", "it gives a Odd (a Odd), not true or false"),
        ("args.huge", "it gives an int (a number of 16610 bits), not true or false"),
        ("args.huge > 1.5", "a number of 16610 bits does not fit into a double"),
        ("nam == 1", 'there is no "nam" at this event (did you mean "name"?)'),
    ],
)
def test_whatever_a_program_puts_into_its_events_is_an_error_at_most(text: str, why: str) -> None:
    odd = {"odd": Odd(), "odd2": Odd(), "huge": 10**5000}
    context = event_context(Event(name=EventName.BEFORE_TOOL, tool="shell", args=odd, data={7: 7, "name": 1}))  # type: ignore[dict-item]
    condition = PolicyCondition(text)

    with pytest.raises(ConditionError) as caught:
        condition(context)

    assert str(caught.value) == why
    assert condition.facts(context)
