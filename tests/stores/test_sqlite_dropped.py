from collections import deque

from hookline.model.record import Record, Step
from hookline.stores.sqlite import MOST_SESSIONS, DropCounter


def line(trace: str, session: str) -> Record:
    return Record(trace, Step.EVENT, 1.0, "before_tool", session)


def test_full_queue_drops_the_oldest_and_says_how_many_of_which_session() -> None:
    dropped = DropCounter()
    queue = deque(line(f"trace-{number}", f"s{number % 2}") for number in range(7))

    dropped.make_room(queue, 3)

    assert [record.trace for record in queue] == ["trace-4", "trace-5", "trace-6"]
    assert dropped.counts() == {"s0": 2, "s1": 2}
    warning, _ = dropped.warnings(dropped.counts())
    assert (warning.trace, warning.step, warning.session) == ("dropped-s0", Step.WARNING, "s0")
    assert warning.detail["dropped"] == 2
    assert "2 older records were dropped" in str(warning.detail["message"])


def test_counts_whose_warnings_are_stored_are_forgotten() -> None:
    dropped = DropCounter()
    dropped.make_room(deque([line("one", "s"), line("two", "s")]), 0)
    counts = dropped.counts()
    dropped.make_room(deque([line("three", "s")]), 0)

    dropped.forget(counts)

    assert dropped.counts() == {"s": 1}


def test_counts_of_very_many_sessions_stay_bounded_and_add_up() -> None:
    dropped = DropCounter()

    dropped.make_room(deque(line("one", f"session-{number}") for number in range(3_000)), 1)

    counts = dropped.counts()
    assert len(counts) <= MOST_SESSIONS + 1
    assert sum(counts.values()) == 2_999
