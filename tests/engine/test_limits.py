import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.engine import limits
from hookline.engine.limits import DAY, MINUTE, LimitStatus, RateLimits, RunHistory
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate
from hookline.model.settings import Settings

NOW = 1_800_000_000.0


def closed(terms: RateLimits, past: RunHistory, now: float) -> LimitStatus | None:
    return next((one for one in limits.check_limits(terms, past, now) if not one.passed), None)


def runs_at(terms: RateLimits, moments: list[float]) -> list[float]:
    """Give the moments at which a hook would have run."""
    past, ran = RunHistory(), []
    for now in moments:
        if closed(terms, past, now) is None:
            past = limits.add_run(terms, past, now)
            ran.append(now)
    return ran


@pytest.mark.spec("D-11")
@given(limit=st.integers(1, 5), steps=st.lists(st.floats(0, 90, allow_nan=False, allow_subnormal=False), max_size=80))
def test_never_more_than_the_limit_in_any_minute_and_never_less_than_it_allows(limit: int, steps: list[float]) -> None:
    moments = [NOW]
    for step in steps:
        moments.append(moments[-1] + step)

    ran = runs_at(RateLimits(per_minute=limit), moments)

    for place, start in enumerate(ran):
        assert sum(1 for at in ran[place:] if at - MINUTE < start) <= limit
    for at in set(moments) - set(ran):
        assert sum(1 for one in ran if at - MINUTE < one <= at) == limit


@pytest.mark.spec("D-11")
def test_cooldown_counts_from_the_last_run_and_not_from_the_last_event() -> None:
    moments = [NOW, NOW + 4, NOW + 9.9, NOW + 10, NOW + 15, NOW + 20]

    assert runs_at(RateLimits(cooldown=10), moments) == [NOW, NOW + 10, NOW + 20]


def test_cooldown_longer_than_a_minute_is_remembered() -> None:
    terms = RateLimits(cooldown=3600, per_minute=2)

    assert runs_at(terms, [NOW, NOW + 61, NOW + 3599, NOW + 3600]) == [NOW, NOW + 3600]


def test_only_as_many_runs_are_remembered_as_the_limit_needs() -> None:
    terms, past = RateLimits(per_minute=3), RunHistory()
    for second in range(10):
        past = limits.add_run(terms, past, NOW + second * 30)

    assert len(past.runs) <= 3
    assert limits.add_run(RateLimits(breaker=2), RunHistory(), NOW) == RunHistory()


def test_lowered_limit_holds_at_once() -> None:
    past = RunHistory(runs=tuple(NOW - age for age in (50, 40, 30, 20, 10)))

    standing = closed(RateLimits(per_minute=2), past, NOW)

    assert standing == LimitStatus(Gate.RATE, passed=False, reason="5 of 2 runs in the last minute, the next in 40 s")


@pytest.mark.parametrize(
    "terms",
    [
        RateLimits(per_minute=1),
        RateLimits(cooldown=30),
        RateLimits(debounce=30),
        RateLimits(breaker=1, retry_after=30, lease=40),
    ],
    ids=["rate", "cooldown", "debounce", "breaker"],
)
@pytest.mark.parametrize("back", [1.0, 45.0, 3_600.0, 10 * DAY])
def test_clock_set_back_keeps_no_hook_from_running_for_ever(terms: RateLimits, back: float) -> None:
    past = limits.add_run(terms, RunHistory(), NOW)
    past = limits.add_result(terms, replace(past, seen=NOW), NOW, failed=True)
    now = NOW - back

    waited = next(second for second in range(1000) if closed(terms, past, now + second) is None)

    assert waited <= 2 * MINUTE


def test_breaker_opens_after_so_many_failures_in_a_row() -> None:
    terms = RateLimits(breaker=3, retry_after=10, lease=20)
    past = RunHistory()
    for failed in (True, True, False, True, True):
        past = limits.add_result(terms, past, NOW, failed=failed)
    assert closed(terms, past, NOW) is None

    past = limits.add_result(terms, past, NOW, failed=True)

    assert closed(terms, past, NOW + 4) == LimitStatus(
        Gate.BREAKER, passed=False, reason="paused after 3 failures in a row, tried again in 6 s", failed=True
    )


def test_one_try_at_a_time_after_the_pause() -> None:
    terms = RateLimits(breaker=1, retry_after=10, lease=20)
    past = limits.add_result(terms, RunHistory(), NOW, failed=True)
    now = NOW + 10
    assert closed(terms, past, now) is None

    past = limits.add_run(terms, past, now)

    standing = closed(terms, past, now + 1)
    assert standing is not None
    assert standing.reason == "paused after a failure, and being tried again right now"
    # whoever tried it was killed: after a while, another one may
    assert closed(terms, past, now + 19.9) is not None
    assert closed(terms, past, now + 20) is None


def test_success_closes_the_breaker_and_failure_opens_it_again() -> None:
    terms = RateLimits(breaker=2, retry_after=10, lease=20)
    past = limits.add_result(terms, limits.add_result(terms, RunHistory(), NOW, failed=True), NOW, failed=True)
    tried = limits.add_run(terms, past, NOW + 10)

    assert limits.add_result(terms, tried, NOW + 11, failed=False) == RunHistory()
    again = limits.add_result(terms, tried, NOW + 11, failed=True)
    assert again.opened == NOW + 11
    assert closed(terms, again, NOW + 20) is not None
    assert closed(terms, again, NOW + 21) is None


def test_late_failure_of_an_earlier_run_does_not_make_the_pause_longer() -> None:
    terms = RateLimits(breaker=1, retry_after=10, lease=20)
    past = limits.add_result(terms, RunHistory(), NOW, failed=True)

    late = limits.add_result(terms, past, NOW + 9, failed=True)

    assert closed(terms, late, NOW + 10) is None


def test_hooks_of_one_event_do_not_have_to_rest_from_each_other() -> None:
    terms = limits.shared_limits(Settings(cooldown=5))
    past = limits.add_run(terms, RunHistory(), NOW, event="one")

    assert list(limits.check_limits(terms, past, NOW, event="one")) == []
    assert [one.reason for one in limits.check_limits(terms, past, NOW + 1, event="two")] == [
        "all hooks together: 4 s left of 5 s"
    ]


def test_only_what_is_set_is_asked_and_in_order() -> None:
    terms = RateLimits(breaker=1, debounce=1, cooldown=1, per_minute=1)

    gates = [one.gate for one in limits.check_limits(terms, RunHistory(), NOW)]

    assert gates == [Gate.BREAKER, Gate.DEBOUNCE, Gate.COOLDOWN, Gate.RATE]
    assert list(limits.check_limits(RateLimits(), RunHistory(), NOW)) == []


def test_in_the_background_the_queue_waits_for_quiet() -> None:
    hook = Hook(id="h", on="after_tool", command="x", debounce=5, background=True, source=Source.USER)

    assert limits.limits_of(hook, lease=1).debounce == 0
    assert limits.limits_of(replace(hook, background=False), lease=1).debounce == 5


def test_failures_are_remembered_for_longer_than_runs() -> None:
    terms = RateLimits(breaker=3, per_minute=1)

    assert limits.history_expiry(terms, RunHistory(runs=(NOW,)), NOW) == NOW + MINUTE
    assert limits.history_expiry(terms, RunHistory(failures=1), NOW) > NOW + DAY


def test_what_cannot_be_read_is_forgotten() -> None:
    past = RunHistory(runs=(1.0, 2.0), failures=3, event="e")

    assert limits.decode_history(limits.encode_history(past)) == past
    assert limits.decode_history(b"\xff damaged") == RunHistory()
    assert limits.decode_history(None) == RunHistory()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1 ms"),
        (0.2, "200 ms"),
        (1.2, "2 s"),
        (120, "120 s"),
        (121, "3 min"),
        (7_200, "120 min"),
        (86_400, "24 h"),
    ],
)
def test_times_are_rounded_up(seconds: float, text: str) -> None:
    assert limits.format_seconds(seconds) == text


def test_killed_try_keeps_nobody_from_trying_for_longer_than_it_may_take() -> None:
    terms = limits.limits_of(Hook(id="h", command="true", breaker=1, retry_after=600), lease=15)
    past = limits.add_result(terms, RunHistory(), 1000.0, failed=True)
    # somebody tries it, and is never heard of again
    past = limits.add_probe(terms, past, 1600.0)

    assert not limits.breaker_status(terms, past, 1614.0).passed
    assert limits.breaker_status(terms, past, 1616.0).passed
