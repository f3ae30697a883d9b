"""Whether a changed, removed or moved record is found, in the real file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hookline.model.record import Record, Step
from hookline.stores.record_chain import GENESIS, Entry, Link, check, next_hash
from hookline.stores.sqlite import SqliteTraces
from hookline.stores.trace_queries import TraceFilter, TraceQueries

COUNT = 50


def write(path: Path, count: int = COUNT) -> None:
    with closing(SqliteTraces(path)) as store:
        for number in range(count):
            store.write(
                Record(f"t{number}", Step.OUTCOME, 1_700_000_000.0 + number, "before_tool", "s", "", {"n": number})
            )


DIGEST = b"x" * 32


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_chain_of_several_processes_holds(path: Path) -> None:
    for _ in range(3):
        write(path)
    checked = TraceQueries(path).verify()
    assert (checked.holds, checked.records, checked.unchained) == (True, 3 * COUNT, 0)


@pytest.mark.parametrize(
    ("statements", "number", "problem"),
    [
        (["UPDATE records SET detail = '{\"n\":99}' WHERE number = 20"], 20, "was changed"),
        (["UPDATE records SET decision = 'allow' WHERE number = 20"], 20, "was changed"),
        (["UPDATE records SET at = at + 1 WHERE number = 20"], 20, "was changed"),
        (["DELETE FROM records WHERE number = 20"], 21, "follows record 19: 1 between them is missing"),
        (["DELETE FROM records WHERE number IN (20, 21)"], 22, "follows record 19: 2 between them are missing"),
        (["DELETE FROM records WHERE number > 40"], 40, "is the last one: 10 more were written after it"),
        (["DELETE FROM records WHERE number < 5"], 5, "follows record 0: 4 between them are missing"),
        (
            [
                "UPDATE records SET number = 1000 WHERE number = 20",
                "UPDATE records SET number = 20 WHERE number = 21",
                "UPDATE records SET number = 21 WHERE number = 1000",
            ],
            20,
            "stands in another place",
        ),
        (
            [
                "INSERT INTO records (trace, step, at, event, session, hook, detail) VALUES ('x','outcome',0,'','','','{}')"
            ],
            51,
            "has no hash",
        ),
    ],
)
def test_change_behind_our_back_is_found_where_it_is(
    statements: list[str], number: int, problem: str, path: Path
) -> None:
    write(path)
    change(path, *statements)

    checked = TraceQueries(path).verify()

    assert not checked.holds
    assert checked.breaks[0].number == number
    assert problem in checked.breaks[0].problem


def test_chain_goes_on_after_a_break_and_all_breaks_are_named(path: Path) -> None:
    write(path)
    change(path, "UPDATE records SET detail = '{}' WHERE number IN (10, 30)", "DELETE FROM records WHERE number = 20")
    write(path)

    assert [one.number for one in TraceQueries(path).verify().breaks] == [10, 21, 30]


@pytest.mark.parametrize(
    "prune", [lambda traces: traces.prune(keep=10), lambda traces: traces.prune(older_than=1_700_000_040.0)]
)
def test_removing_the_oldest_keeps_the_chain(prune: Callable[[TraceQueries], int], path: Path) -> None:
    write(path)
    assert prune(TraceQueries(path)) == COUNT - 10
    write(path, 5)

    checked = TraceQueries(path).verify()
    assert (checked.holds, checked.records, checked.first.number) == (True, 15, 40)


def test_removing_everything_keeps_the_numbers_and_the_chain(path: Path) -> None:
    write(path)
    TraceQueries(path).prune(keep=0)
    write(path, 5)

    checked = TraceQueries(path).verify()
    assert (checked.holds, checked.records, checked.head.number) == (True, 5, COUNT + 5)


def test_file_of_the_first_version_is_migrated_and_its_records_are_outside_the_chain(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE records (number INTEGER PRIMARY KEY, trace TEXT NOT NULL, step TEXT NOT NULL,
                at REAL NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL, hook TEXT NOT NULL, detail TEXT NOT NULL);
            CREATE INDEX records_by_trace ON records (trace);
            CREATE INDEX records_by_session ON records (session);
            CREATE INDEX records_by_hook ON records (hook, at) WHERE hook <> '';
            CREATE INDEX records_by_time ON records (at);
            CREATE INDEX records_blocked ON records (number) WHERE step = 'outcome' AND instr(detail, 'deny') > 0;
            PRAGMA application_id = 1751870580; PRAGMA user_version = 1;
            INSERT INTO records VALUES
                (1, 'a', 'event', 5.0, 'before_tool', 's', '', '{"tool":"shell","args":{"command":"ls"}}'),
                (2, 'a', 'hook_execution_error', 5.5, 'before_tool', 's', 'guard', '{"decision":"deny","duration":0.5}'),
                (3, 'a', 'outcome', 5.5, 'before_tool', 's', '', '{"decision":"deny","duration":0.5,"ran":1}'),
                (4, 'b', 'outcome', 6.0, 'before_tool', 's', '', 'no json');"""
        )

    # reading is enough
    (blocked,) = TraceQueries(path).traces(TraceFilter(), blocked=True)
    write(path, 3)

    assert (blocked.trace, blocked.at, blocked.tool, blocked.decision, blocked.failed) == ("a", 5.0, "shell", "deny", 1)
    traces = TraceQueries(path)
    checked = traces.verify()
    assert (checked.holds, checked.records, checked.unchained) == (True, 3, 4)
    # once the chain has begun, what comes before it cannot be added to
    traces.prune(keep=4)
    assert (traces.verify().holds, traces.count()) == (True, 4)


def test_record_that_is_there_twice_is_named() -> None:
    hashes = [next_hash(GENESIS, DIGEST)]
    hashes.append(next_hash(hashes[0], DIGEST))
    first, second = (Entry(number=number, at=0.0, digest=DIGEST, hash=hashes[number - 1]) for number in (1, 2))

    checked = check(Link(), [first, second, second], Link(2, hashes[1]))

    assert [(one.number, one.problem) for one in checked.breaks] == [
        (2, "follows record 2: it is there twice, or was moved")
    ]
