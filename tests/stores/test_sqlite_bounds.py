"""Traces and memory stay bounded by bytes while a program goes on."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from hookline.engine import metrics
from hookline.engine.metrics import HookDebugger
from hookline.errors import StoreError
from hookline.model.record import Record, Step
from hookline.stores import sqlite
from hookline.stores.sqlite import BLOCKED, FAILED, SqliteTraces
from hookline.stores.trace_queries import TraceFilter, TraceQueries


def record(number: int, size: int) -> Record:
    return Record(f"t{number}", Step.EVENT, time.time(), "before_tool", "s", "h", {"args": {"content": "x" * size}})


def test_file_stays_within_its_bound_while_a_program_keeps_it_open(tmp_path: Path) -> None:
    store = SqliteTraces(tmp_path / "traces.db", largest=4_000_000)
    for number in range(600):
        store.write(record(number, 50_000))
        if number % 20 == 0:
            store.flush()
    store.flush()

    assert sum(file.stat().st_size for file in tmp_path.glob("traces.db")) < 8_000_000
    assert TraceQueries(tmp_path / "traces.db").records("t599")
    store.close()


@pytest.mark.spec("D-15")
def test_file_of_small_records_stays_within_its_bound(tmp_path: Path) -> None:
    path, largest = tmp_path / "traces.db", 1_000_000
    store = SqliteTraces(path, largest=largest)
    about = {"host": "claude-code", "project": "/home/ada/shop", "tool": "shell", "subject": "git status"}
    for number in range(10_000):
        store.write(Record(f"trace-{number:05}", Step.OUTCOME, time.time(), "before_tool", "session", "", {}, **about))
        if number % 500 == 0:
            store.flush()
    store.close()

    # a batch of records may be beyond the bound before the oldest are removed
    assert path.stat().st_size < largest * 1.5
    assert TraceQueries(path).count() > 1_000


def test_debugger_forgets_the_oldest_records_once_they_are_large_together() -> None:
    seen = HookDebugger()
    for number in range(400):
        seen(record(number, 200_000))

    kept = seen.executions(limit=1_000)

    assert 0 < sum(len(str(one.detail)) for one in kept) < 2 * metrics.LARGEST
    assert kept[0].trace == "t399"


def test_records_that_cannot_be_stored_are_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MOST_WAITING", 1_000_000)
    place = tmp_path / "file"
    place.write_text("no folder")
    store = SqliteTraces(place / "traces.db")
    store.write(record(0, 10))
    with pytest.raises(StoreError):
        store.flush()

    for number in range(500):
        store.write(record(number, 20_000))
    with pytest.raises(StoreError, match="older ones were dropped"):
        store.flush()

    place.unlink()
    store.flush()
    kept = sum(len(str(one.detail)) for number in range(500) for one in store.records(f"t{number}"))
    assert kept < 2_000_000
    store.close()


@pytest.mark.parametrize("narrow", [{"failed": True}, {"blocked": True}])
def test_failed_and_blocked_traces_are_found_by_an_index(tmp_path: Path, narrow: dict[str, bool]) -> None:
    path = tmp_path / "traces.db"
    store = SqliteTraces(path)
    details = ((Step.COMPLETED, "pass"), (Step.FAILED, "deny"))
    for number, (step, decision) in enumerate(details * 3):
        store.write(Record(f"t{number}", step, time.time(), "before_tool", "s", "h", {}))
        store.write(Record(f"t{number}", Step.OUTCOME, time.time(), "before_tool", "s", "", {"decision": decision}))
    store.close()

    assert [one.trace for one in TraceQueries(path).traces(TraceFilter(), **narrow)] == ["t5", "t3", "t1"]
    assert [one.trace for one in TraceQueries(path).traces(TraceFilter(hook="other"), **narrow)] == []
    condition = FAILED if "failed" in narrow else BLOCKED
    with closing(sqlite3.connect(path)) as connection:
        query = f"SELECT trace FROM records WHERE {condition} ORDER BY number DESC"  # noqa: S608 - constants only
        plan = connection.execute(f"EXPLAIN QUERY PLAN {query}")
        assert "records_failed" in (told := str(plan.fetchall())) or "records_blocked" in told
