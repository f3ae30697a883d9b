import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.job import InboxMessage
from hookline.model.verdict import EffectKind
from hookline.stores.queue import (
    BUSY_TIMEOUT,
    INBOX_TIMEOUT,
    LETTER_EXPIRY,
    LONGEST_LETTER,
    MOST_LETTERS,
    SqliteQueue,
)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[SqliteQueue]:
    opened = SqliteQueue(tmp_path / "queue.db")
    yield opened
    opened.close()


def texts(letters: list[InboxMessage]) -> list[str]:
    return [letter.text for letter in letters]


def post(queue: SqliteQueue, *said: str, project: str = "/a") -> None:
    queue.post([InboxMessage(project=project, text=text) for text in said])


@pytest.mark.spec("D-05")
def test_letters_are_handed_over_once_in_order_and_to_their_project(queue: SqliteQueue) -> None:
    post(queue, "one", "two")
    post(queue, "elsewhere", project="/b")
    post(queue, "three")

    assert texts(queue.collect("/a")) == ["one", "two", "three"]
    assert queue.collect("/a") == []
    assert texts(queue.letters()) == ["elsewhere"]


def test_letter_keeps_what_is_known_about_it(queue: SqliteQueue) -> None:
    now = time.time()
    sent = InboxMessage(project="/a", text="hi", kind=EffectKind.CONTEXT, hook="lint", trace="t1", created=now)
    queue.post([sent])

    [got] = queue.letters("/a")

    assert got.id
    assert (got.kind, got.hook, got.trace, got.created, got.text) == (EffectKind.CONTEXT, "lint", "t1", now, "hi")


def test_agent_is_given_a_few_at_a_time(queue: SqliteQueue) -> None:
    post(queue, *map(str, range(25)))

    handed = [texts(queue.collect("/a")) for _ in range(4)]

    assert [len(some) for some in handed] == [10, 10, 5, 0]
    assert [text for some in handed for text in some] == [str(number) for number in range(25)]


def test_oldest_letters_of_a_full_inbox_go(queue: SqliteQueue) -> None:
    post(queue, "mine", project="/b")
    post(queue, *map(str, range(MOST_LETTERS + 7)))

    kept = texts(queue.letters("/a"))

    assert (len(kept), kept[0]) == (MOST_LETTERS, "7")
    assert texts(queue.letters("/b")) == ["mine"]


def test_letter_nobody_came_for_in_time_is_not_handed_over(queue: SqliteQueue) -> None:
    old = time.time() - LETTER_EXPIRY - 1
    queue.post([InboxMessage(project="/a", text="old", created=old), InboxMessage(project="/a", text="new")])

    assert texts(queue.letters("/a")) == ["new"]
    assert texts(queue.collect("/a")) == ["new"]


def test_long_letter_is_cut_and_odd_text_is_kept(queue: SqliteQueue) -> None:
    post(queue, "x" * (LONGEST_LETTER + 5), "caf\udce9")

    first, second = queue.collect("/a")

    assert len(first.text) == LONGEST_LETTER
    assert first.text.endswith("x…")
    assert second.text == "caf?"


def test_letter_can_be_dropped(queue: SqliteQueue) -> None:
    post(queue, "one", "two")
    first = queue.letters()[0]

    assert queue.drop([first.id]) == 1
    assert texts(queue.letters()) == ["two"]


def test_inbox_that_somebody_keeps_locked_is_given_up_before_a_job_would_be(queue: SqliteQueue) -> None:
    post(queue, "one")
    ready, done = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(queue.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ready.set()
            done.wait(60)
            other.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    assert ready.wait(60)
    try:
        with pytest.raises(StoreError, match="end the program that keeps it locked"):
            queue.collect("/a")
        putting = threading.Thread(target=post, args=(queue, "two"))
        putting.start()
    finally:
        done.set()
        holder.join()
    putting.join()

    assert INBOX_TIMEOUT < BUSY_TIMEOUT
    assert texts(queue.collect("/a")) == ["one", "two"]


def test_agent_that_comes_by_sees_to_jobs_that_were_left(tmp_path: Path) -> None:
    woken: list[bool] = []
    queue = SqliteQueue(tmp_path / "queue.db", wake=lambda: woken.append(True))
    queue.put(Hook(id="a", command="true"), Event(name=EventName.SETUP), project="/a")

    queue.collect("/a")

    assert len(woken) == 2
    queue.close()
