import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.ordering import HookNames, Order, arrange
from hookline.model.hook import Hook, Layer, Priority, Source


def hook(named: str, **fields: object) -> Hook:
    return Hook(**{"id": named, "on": "before_tool", "command": "sh"} | fields)  # type: ignore[arg-type]


def ordered(*hooks: Hook) -> Order:
    places = {made.id: place for place, made in enumerate(hooks)}
    return arrange(hooks, rank=lambda made: (made.priority, 0, places[made.id]))


def names(order: Order) -> list[str]:
    return sorted(order.places, key=order.places.__getitem__)


@pytest.mark.spec("O-26", "D-10")
def test_without_a_word_of_others_the_priority_decides() -> None:
    order = ordered(hook("low", priority=Priority.LOW), hook("a"), hook("high", priority=Priority.HIGH), hook("b"))

    assert names(order) == ["high", "a", "b", "low"]


@pytest.mark.spec("O-25")
@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ([hook("a", after=("c",)), hook("b"), hook("c"), hook("d")], ["b", "c", "a", "d"]),
        ([hook("a"), hook("b"), hook("c", before=("a",)), hook("d")], ["c", "a", "b", "d"]),
        ([hook("a", after=("b", "c")), hook("b", after=("c",)), hook("c")], ["c", "b", "a"]),
        ([hook("a", after=("b",)), hook("b", priority=Priority.LOW), hook("c")], ["c", "b", "a"]),
        ([hook("a"), hook("b", before=("guard",)), hook("guard", priority=Priority.CRITICAL)], ["b", "guard", "a"]),
        ([hook("x"), hook("a", before=("b",)), hook("b", before=("c",)), hook("c", priority=0)], ["a", "b", "c", "x"]),
        ([hook("a", after=("nobody",)), hook("b", before=("nobody",))], ["a", "b"]),
    ],
    ids=[
        "after waits",
        "before is drawn forward",
        "all of them",
        "beats priority",
        "guard stays first",
        "far",
        "unknown",
    ],
)
def test_hook_that_speaks_of_others_is_the_one_that_moves(hooks: list[Hook], expected: list[str]) -> None:
    order = ordered(*hooks)

    assert (names(order), order.cycles) == (expected, ())


def test_hook_may_be_named_by_a_name_that_only_one_has() -> None:
    order = ordered(hook("one", after=("Format",)), hook("two", name="Format"))
    unclear = ordered(hook("one", after=("Format",)), hook("two", name="Format"), hook("three", name="Format"))

    assert names(order) == ["two", "one"]
    assert names(unclear) == ["one", "two", "three"]


def test_what_is_missing_is_told_with_the_nearest_name() -> None:
    known = HookNames([hook("format", name="Format it"), hook("other", name="Twice"), hook("third", name="Twice")])

    assert known.describe_missing("formt", by=hook("x")) == 'there is no hook "formt" (did you mean "format"?)'
    assert known.describe_missing("zzz", by=hook("x")) == 'there is no hook "zzz"'
    assert known.describe_missing("Twice", by=hook("x")) == '2 hooks have the name "Twice"; say the id: other, third'
    assert known.find("Twice", by=hook("x")) is None


@pytest.mark.parametrize(
    ("hooks", "told"),
    [
        ([hook("a", after=("a",))], '"a" after "a"'),
        ([hook("a", after=("b",)), hook("b", after=("a",))], '"a" after "b" after "a"'),
        (
            [hook("a", after=("b",)), hook("b", after=("c",)), hook("c", after=("a",))],
            '"a" after "b" after "c" after "a"',
        ),
        ([hook("a", before=("b",)), hook("b", before=("a",))], '"a" after "b" after "a"'),
    ],
)
def test_circle_is_named_and_its_hooks_keep_the_order_of_their_ranks(hooks: list[Hook], told: str) -> None:
    order = ordered(hook("first"), *hooks, hook("last", after=("a",)))

    assert [cycle.describe(hooks[0].id) for cycle in order.cycles] == [told]
    assert names(order) == ["first", *(made.id for made in hooks), "last"]


def test_nobody_undoes_the_order_of_a_persons_hooks_by_closing_a_circle() -> None:
    mine = {"source": Source.USER, "layer": Layer.USER}
    order = ordered(
        hook("lint", after=("format",), **mine), hook("format", **mine), hook("x", after=("lint",), before=("format",))
    )

    assert names(order)[:2] == ["format", "lint"]
    assert order.follows("lint", ["format"])
    assert len(order.cycles) == 1


def test_waiting_goes_through_hooks_in_between() -> None:
    order = ordered(hook("a"), hook("b", after=("a",)), hook("c", after=("b",)), hook("d"))

    assert order.follows("c", ["a"])
    assert not order.follows("a", ["b", "c", "d"])
    assert not order.follows("d", ["a"])


NAMES = st.sampled_from("abcdef")
LISTS = st.lists(
    st.tuples(
        NAMES, st.lists(NAMES, max_size=2), st.lists(NAMES, max_size=1), st.integers(0, 2), st.sampled_from(Source)
    )
)


@given(LISTS)
def test_every_hook_has_a_place_and_every_order_holds_unless_it_is_part_of_a_circle(
    made: list[tuple[str, list[str], list[str], int, Source]],
) -> None:
    hooks = {
        name: hook(name, after=tuple(after), before=tuple(before), priority=priority, source=source)
        for name, after, before, priority, source in made
    }
    order = ordered(*hooks.values())

    assert set(order.places) == set(hooks)
    assert sorted(order.places.values()) == list(range(len(hooks)))
    for name, firsts in order.waits.items():
        assert all(order.places[first] < order.places[name] for first in firsts)
    if not order.cycles:
        for made_hook in hooks.values():
            assert {name for name in made_hook.after if name in hooks} <= order.waits.get(made_hook.id, frozenset())


def test_ten_thousand_hooks_in_a_row_and_as_many_circles_are_put_in_order() -> None:
    row = [hook(f"r{number}", after=(f"r{number + 1}",)) for number in range(5000)]
    circles = [hook(f"c{number}", after=(f"c{number ^ 1}",)) for number in range(5000)]
    order = ordered(*row, *circles)

    assert len(order.cycles) == 2500
    assert order.places["r4999"] < order.places["r0"]
    assert order.follows("r0", ["r4999"])


MINE = {"source": Source.USER, "layer": Layer.USER}


@pytest.mark.parametrize(
    "theirs",
    [
        [hook("w", before=("guard",), after=("late",))],
        [hook("w", after=("late",)), hook("v", after=("w",), before=("guard",))],
        [hook("w", before=("guard",), after=("after-v",)), hook("v", after=("late",))],
    ],
    ids=["between", "in a row", "through one of the person's"],
)
def test_nobody_makes_a_persons_hooks_change_places_by_standing_between_them(theirs: list[Hook]) -> None:
    guard = hook("guard", priority=Priority.CRITICAL, **MINE)
    after_v = hook("after-v", after=("v",), **MINE)
    late = hook("late", priority=Priority.LOW, **MINE)
    order = ordered(guard, hook("middle", **MINE), after_v, late, *theirs)

    mine = [name for name in names(order) if name in {"guard", "middle", "late"}]
    assert mine == ["guard", "middle", "late"]
    assert len(order.cycles) == 1
    # nobody waits for what was only kept in its place
    assert not order.follows("late", ["guard"])


def test_person_may_make_hooks_change_places_and_a_project_may_where_nobody_else_is_moved() -> None:
    between = hook("x", before=("guard",), after=("late",), **MINE)
    mine = ordered(hook("guard", priority=0, **MINE), hook("late", priority=Priority.LOW, **MINE), between)
    theirs = ordered(hook("first", **MINE), hook("last", **MINE), hook("w", after=("first",), before=("last",)))

    assert (names(mine), mine.cycles) == (["late", "x", "guard"], ())
    assert (names(theirs), theirs.cycles) == (["first", "w", "last"], ())


def test_name_means_the_hook_that_is_trusted_as_much_as_whoever_says_it() -> None:
    guard = hook("g", name="guard", **MINE)
    same_name, same_id = hook("w", name="guard"), hook("guard")
    mine, theirs = hook("mine", after=("guard",), **MINE), hook("theirs")

    assert HookNames([guard, same_name]).find("guard", by=mine) is guard
    assert HookNames([guard, same_id]).find("guard", by=mine) is guard
    assert HookNames([guard, same_name]).find("guard", by=theirs) is None
    assert HookNames([guard, same_id]).find("guard", by=theirs) is same_id
    # where nobody else is called so, those who are trusted less may be meant
    assert HookNames([same_name]).find("guard", by=mine) is same_name
    assert names(ordered(mine, guard, same_id)) == ["g", "mine", "guard"]
