import time

import pytest

from hookline.model.event import Event, EventName
from hookline.model.job import Job
from hookline.worker import MOST_ATTEMPTS, Dead, Retry, _retry_denied, backoff, retry_or_give_up


def job(*, attempts: int = 1, redelivered: int = 0, age: float = 0.0) -> Job:
    return Job(
        id="j",
        hook="h",
        source="s",
        project="/p",
        event=Event(name=EventName.SETUP),
        attempts=attempts,
        redelivered=redelivered,
        created=time.time() - age,
    )


def test_pauses_grow_and_are_never_quite_the_same() -> None:
    pauses = [backoff(failures) for failures in (1, 2, 3, 4)]

    assert pauses == sorted(pauses)
    assert len({backoff(1) for _ in range(50)}) > 1
    assert all(4.0 <= backoff(1) <= 6.0 for _ in range(200))
    assert backoff(0) <= 6.0


def test_deaths_of_workers_are_no_failures_of_the_hook() -> None:
    assert isinstance(retry_or_give_up(job(attempts=MOST_ATTEMPTS + 3, redelivered=4), "no"), Retry)
    assert retry_or_give_up(job(attempts=MOST_ATTEMPTS), "no") == Dead("given up after 5 failures, the last: no")


@pytest.mark.parametrize(("age", "wait"), [(0.0, 5.0), (60.0, 60.0), (7200.0, 600.0)])
def test_hook_that_is_held_back_waits_longer_the_longer_it_has_waited(age: float, wait: float) -> None:
    result = _retry_denied(job(age=age), "docker is not there")

    assert isinstance(result, Retry)
    assert not result.began
    assert abs(result.due - time.time() - wait) < 2.0


def test_hook_that_is_held_back_for_a_day_is_given_up() -> None:
    assert _retry_denied(job(age=90_000), "docker is not there") == Dead("given up after a day: docker is not there")
