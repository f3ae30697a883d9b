from hookline.core.budget import Budget, limited
from hookline.model.hook import Hook, Layer

HOOK = Hook(id="h", command="sh")


def test_hook_has_its_own_time_or_what_is_left() -> None:
    assert limited(5, None, HOOK) == 5
    assert limited(5, Budget(1000), HOOK) == 5
    assert 90 < limited(5000, Budget(100), HOOK) <= 100


def test_what_is_left_of_nothing_is_still_a_moment() -> None:
    assert limited(5, Budget(1e-9), HOOK) == 0.001


def test_managed_and_queued_hooks_are_not_limited() -> None:
    spent = Budget(1e-9)

    assert limited(5, spent, Hook(id="m", command="sh", layer=Layer.MANAGED)) == 5
    assert not spent.holds_for(Hook(id="b", command="sh", background=True))


def test_it_is_told_who_used_it_up_the_longest_first() -> None:
    budget = Budget(5)
    assert str(budget) == "the event's budget of 5 s was used up"

    for name, seconds in [("a", 1.0), ("b", 2.5), ("a", 2.0), ("c", 0.1), ("d", 0.2)]:
        budget.note(Hook(id=name, command="sh"), seconds)

    assert str(budget) == 'the event\'s budget of 5 s was used up by "a" (3 s), "b" (2.5 s)'
    assert budget.rest == 'all that was left of the event\'s budget of 5 s after "a" (3 s), "b" (2.5 s)'
