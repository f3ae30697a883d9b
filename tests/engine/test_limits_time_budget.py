from hookline.engine.limits import TimeBudget
from hookline.model.hook import Hook, Layer

HOOK = Hook(id="h", command="sh")


def test_hook_has_its_own_time_or_what_is_left() -> None:
    assert TimeBudget(1000).limit(5, HOOK) == 5
    assert 90 < TimeBudget(100).limit(5000, HOOK) <= 100


def test_what_is_left_of_nothing_is_still_a_moment() -> None:
    assert TimeBudget(1e-9).limit(5, HOOK) == 0.001


def test_managed_and_queued_hooks_are_not_limited() -> None:
    spent = TimeBudget(1e-9)

    assert spent.limit(5, Hook(id="m", command="sh", layer=Layer.MANAGED)) == 5
    assert not spent.applies_to(Hook(id="b", command="sh", background=True))


def test_it_is_told_who_used_it_up_the_longest_first() -> None:
    budget = TimeBudget(5)
    assert str(budget) == "the event's budget of 5 s was used up"

    for name, seconds in [("a", 1.0), ("b", 2.5), ("a", 2.0), ("c", 0.1), ("d", 0.2)]:
        budget.spend(Hook(id=name, command="sh"), seconds)

    assert str(budget) == 'the event\'s budget of 5 s was used up by "a" (3 s), "b" (2.5 s)'
    assert budget.remainder == 'all that was left of the event\'s budget of 5 s after "a" (3 s), "b" (2.5 s)'
