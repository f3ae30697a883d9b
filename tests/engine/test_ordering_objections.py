import pytest

from hookline import ConfigError, Engine, Hook, Source
from hookline.engine.ordering import find_relation_problems


def hook(named: str, **fields: object) -> Hook:
    made = {"id": named, "on": "before_tool", "source": Source.USER, "source_path": "hookline.toml", "source_line": 7}
    command = {} if "steps" in fields else {"command": "sh"}
    return Hook(**made | command | fields)  # type: ignore[arg-type] # field by field


@pytest.mark.spec("O-25")
def test_circle_is_refused_by_name_with_its_place_and_nothing_of_it_stays() -> None:
    engine = Engine()
    engine.add(hook("a", after=("b",)))

    with pytest.raises(ConfigError) as caught:
        engine.add(hook("fine"), hook("b", after=("c",)), hook("c", after=("a",)))

    assert caught.value.message == 'hook "b" cannot be put in order: "b" after "c" after "a" after "b"'
    assert (caught.value.path, caught.value.line) == ("hookline.toml", 7)
    assert list(engine.registry.get_all_hooks()["before_tool"]) == [hook("a", after=("b",))]


@pytest.mark.spec("O-32")
def test_list_that_contains_itself_is_refused_by_name() -> None:
    engine = Engine()
    engine.add(hook("outer", steps=("inner",)))

    with pytest.raises(ConfigError, match='hook "inner" contains itself: "inner" → "outer" → "inner"'):
        engine.add(hook("inner", steps=("outer",)))


def test_step_may_be_registered_after_the_list() -> None:
    engine = Engine()
    engine.add(hook("all", steps=("one",)))
    assert [found.message for found in find_relation_problems([hook("all", steps=("one",))], engine.planner)] == [
        'cannot run all of its steps: there is no hook "one"'
    ]

    engine.add(hook("one"))
    assert list(find_relation_problems([hook("all", steps=("one",))], engine.planner)) == []


@pytest.mark.parametrize("last", [hook("x"), hook("y", name="x")])
def test_hook_that_says_nothing_may_close_the_circle_of_others(last: Hook) -> None:
    engine = Engine()
    engine.add(hook("a", after=("x",)), hook("b", before=("x",), after=("a",)))

    with pytest.raises(ConfigError, match="cannot be put in order"):
        engine.add(last)

    engine.add(hook("z"))
    assert [found.id for found in engine.planner.plan(engine.event("before_tool", tool="shell")).hooks] == [
        "a",
        "b",
        "z",
    ]


def test_nothing_stays_of_a_call_whose_last_hook_is_broken() -> None:
    engine = Engine()
    for broken in (hook("b", condition="(("), hook("b", on="nope"), hook("a", matcher="x")):
        with pytest.raises(ConfigError):
            engine.add(hook("a"), broken)

        assert engine.registry.get_hook_count() == 0


def test_hook_of_a_stranger_keeps_nobody_from_registering_a_guard() -> None:
    engine = Engine()
    engine.add(hook("late", priority=300), hook("theirs", before=("guard",), after=("late",), source=Source.WORKSPACE))

    engine.add(hook("guard", priority=0))

    assert [found.id for found in engine.planner.plan(engine.event("before_tool", tool="shell")).hooks] == [
        "guard",
        "theirs",
        "late",
    ]


def test_hook_that_would_move_others_is_refused_with_the_way_round() -> None:
    engine = Engine()
    engine.add(hook("late", priority=300), hook("guard", priority=0))

    with pytest.raises(ConfigError, match='hook "x" cannot be put in order: "x" after "late" after "guard" after "x"'):
        engine.add(hook("x", after=("late",), before=("guard",), source=Source.WORKSPACE))
