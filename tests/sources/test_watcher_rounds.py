import pytest

from hookline.sources.watcher import LAST_ROUND, ROUND_WAITS, ROUNDS_AT_ONCE, LoopGuard, required_quiet


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_change_while_nothing_runs_is_somebodys_own() -> None:
    assert LoopGuard(2.0).number == 0


def test_a_change_while_hooks_run_is_one_round_further() -> None:
    rounds = LoopGuard(2.0)

    with rounds.running(0):
        assert rounds.number == 1
        with rounds.running(3):
            assert rounds.number == 4


def test_a_change_right_after_hooks_ran_may_be_theirs_and_a_later_one_is_not() -> None:
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    with rounds.running(4):
        pass

    clock.now += 1.9
    assert rounds.number == 5
    clock.now += 0.2
    assert rounds.number == 0


def test_what_ended_long_ago_does_not_make_later_rounds_longer() -> None:
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    with rounds.running(4):
        pass
    clock.now += 10

    with rounds.running(0):
        assert rounds.number == 1


def test_a_round_that_waited_for_quiet_still_counts() -> None:
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    with rounds.running(ROUNDS_AT_ONCE):
        pass
    clock.now += 10

    with rounds.running(ROUNDS_AT_ONCE + 1):
        assert rounds.number == ROUNDS_AT_ONCE + 2


def test_quiet_is_counted_from_the_end_of_the_last_run() -> None:
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    assert rounds.quiet == float("inf")
    with rounds.running():
        clock.now += 5
        assert rounds.quiet == 0
    clock.now += 3
    assert rounds.quiet == pytest.approx(3)


def test_the_first_rounds_run_at_once_the_next_wait_longer_and_longer_and_then_none_runs() -> None:
    assert [required_quiet(number) for number in range(ROUNDS_AT_ONCE + 1)] == [0.0] * (ROUNDS_AT_ONCE + 1)
    assert tuple(required_quiet(number) for number in range(ROUNDS_AT_ONCE + 1, LAST_ROUND + 1)) == ROUND_WAITS
    assert sorted(ROUND_WAITS) == list(ROUND_WAITS)
    assert required_quiet(LAST_ROUND + 1) is None


def test_a_hook_that_always_changes_a_file_ends_whatever_the_times() -> None:
    """Play a loop through: each run makes a change, which is looked at as the rounds say."""
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    number, runs = 0, 0
    while (wait := required_quiet(number)) is not None:
        clock.now += wait
        with rounds.running(number):
            runs += 1
            clock.now += 30
        clock.now += 0.3
        number = rounds.number

    assert runs == LAST_ROUND + 1


def test_a_clock_that_starts_a_hook_again_and_again_does_not_make_saves_count_for_more() -> None:
    clock = Clock()
    rounds = LoopGuard(2.0, clock=clock)
    numbers = []
    with rounds.running(0):  # something that never ends
        for _ in range(20):
            clock.now += 5
            numbers.append(rounds.number)
            with rounds.running(numbers[-1]):
                clock.now += 1

    assert numbers == [1] * 20
