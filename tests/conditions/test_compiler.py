import random
from collections.abc import Mapping

import pytest

from hookline.conditions.compiler import BUDGET, MOST_ROUNDS, EvaluationBudget, compile_node, needs_budget
from hookline.conditions.parser import parse
from hookline.errors import ConditionError, ConfigError

EVENT: Mapping[str, object] = {
    "tool": "shell",
    "args": {"command": "rm -rf build", "paths": ["src/a.py", ".env"], "timeout": 90},
    "session": {"model": "a"},
    "file": {},
    "big": list(range(200)),
}


def value(text: str) -> object:
    return compile_node(parse(text), text)({**EVENT, BUDGET: EvaluationBudget()})


def trouble(text: str) -> str:
    with pytest.raises(ConditionError) as caught:
        value(text)
    return str(caught.value)


@pytest.mark.spec("A-21")
@pytest.mark.parametrize(
    "text",
    [
        'tool == "shell" && args.command.contains("rm ")',
        'tool in ["shell", "bash"]',
        'args.paths.exists(p, p.endsWith(".env"))',
        'args.paths.all(p, p.matches(r"^[a-z./]+$"))',
        'args.command.matches(r"\\brm\\s+-[a-z]*r")',
        "size(args.command) > 10 && args.paths.size() == 2",
        "has(args.timeout) && args.timeout > 60",
        "!has(file.path)",
        'has(file.path) ? file.path.startsWith("src/") : tool != ""',
        'session.model in ["a", "b"]',
        '"timeout" in args',
        'args["command"] == args.command',
        'args.paths.filter(p, p.startsWith("src/")) == ["src/a.py"]',
        'args.paths.map(p, p.startsWith("src/"), size(p)) == [8]',
        'args.paths.exists_one(p, p == ".env")',
        'args == {"command": "rm -rf build", "paths": ["src/a.py", ".env"], "timeout": 90.0}',
        'nobody == 1 || tool == "shell"',
        '!(nobody == 1 && tool == "write_file")',
    ],
)
def test_policies_of_real_life_hold(text: str) -> None:
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nobody", 'there is no "nobody" at this event'),
        ("tol", 'there is no "tol" at this event (did you mean "tool"?)'),
        ("args.comand", 'args has no "comand" (did you mean "command"?)'),
        ("tool.name", 'tool is a string and has no "name"'),
        ("has(tool.name)", "tool is a string and has no fields"),
        ("args.paths[2]", "there is no item 2 in a list of 2"),
        ('args.paths["a"]', "the index of a list is an int, not a string"),
        ("tool[0]", "a string has no items"),
        ("tool && true", "&& needs true or false, not a string ('shell')"),
        ("!tool", "! needs true or false, not a string ('shell')"),
        ("tool ? 1 : 2", "? needs true or false, not a string ('shell')"),
        ("-tool", "- needs a number, not a string"),
        ("args.timeout.contains('9')", '"contains" is about texts, not an int (90)'),
        (
            'args.paths.contains("a")',
            '"contains" is about texts, not a list (a list of 2); an item of a list is found with "in"',
        ),
        ("tool.matches(1)", '"matches" is about texts, not an int (1)'),
        ("tool.matches(tool + '(')", "'shell(' is no regular expression: missing ): shell("),
        ("tool.all(x, true)", '"all" looks through a list or a map, not a string'),
        ("[1].filter(x, x)", "filter needs true or false, not an int (1)"),
        ("1 / 0", "division by zero"),
        ("nobody || tool", 'there is no "nobody" at this event'),
    ],
)
def test_what_cannot_be_decided_says_why(text: str, why: str) -> None:
    assert trouble(text) == why


def test_pattern_in_the_text_is_read_before_any_event_comes() -> None:
    with pytest.raises(ConfigError, match=r"is no regular expression: .* at column 14: tool.matches\(-->"):
        compile_node(parse('tool.matches("(")'), 'tool.matches("(")')


def test_loops_share_their_rounds_so_that_nobody_can_send_a_list_that_hangs_them() -> None:
    assert value("big.exists(a, a == 199)") is True
    assert (
        trouble("big.all(a, big.all(b, big.all(c, true)))") == f"its loops would look at more than {MOST_ROUNDS} items"
    )
    # errors inside a loop are put off; this one is not
    assert trouble("big.exists(a, big.exists(b, big.exists(c, false)))").startswith("its loops would look at")


def test_loops_beside_each_other_share_their_rounds_too() -> None:
    loop = "big.all(a, big.exists(b, b == 20))"

    assert value(loop) is True
    assert trouble(f"{loop} && {loop} && {loop}").startswith("its loops would look at")


def test_condition_that_takes_too_long_is_given_up() -> None:
    # each search is costly by itself, and errors are put off, so these would be asked ten thousand times
    costly = " || ".join(f'text.matches("a[ab]{{{400 + count}}}b[ab]{{500}}c")' for count in range(5))
    condition = f"big.exists(a, big.exists(b, {costly}))"
    text = "".join(random.Random(7).choices("ab", k=50_000))  # noqa: S311 - no secret
    asked = compile_node(parse(condition), condition)

    with pytest.raises(ConditionError, match="its loops and patterns take longer than 1 s"):
        asked({**EVENT, "text": text, BUDGET: EvaluationBudget()})


def test_pattern_is_not_searched_for_when_nothing_is_left() -> None:
    budget = EvaluationBudget()
    with pytest.raises(ConditionError):
        budget.spend(MOST_ROUNDS + 1)

    with pytest.raises(ConditionError, match="its loops would look at"):
        compile_node(parse('tool.matches("shell")'), "")({**EVENT, BUDGET: budget})


def test_only_what_may_take_long_needs_a_budget() -> None:
    assert not needs_budget(parse("a.b == 1 && c.contains('x')"))
    assert needs_budget(parse("a.b == 1 && (c ? d.matches('x') : e)"))
    assert needs_budget(parse("!(a.exists(x, x))"))


def test_variable_of_a_loop_hides_a_name_of_the_event_only_inside() -> None:
    assert value('args.paths.exists(tool, tool == ".env") && tool == "shell"') is True


def test_asking_changes_nothing_of_the_event() -> None:
    before = repr(EVENT)
    value("big.map(tool, tool + 1)")

    assert repr(EVENT) == before
