"""Traces of calls in processes of their own: left beside the database, and found in it by whoever looks next."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.model.record import Record, Step
from hookline.stores import spool
from hookline.stores.history import History, Question
from hookline.stores.spool import Spool
from hookline.stores.sqlite import SqliteTraces


def line(trace: str, step: Step = Step.EVENT) -> Record:
    return Record(trace, step, 1.5, "before_tool", "s1", "one", {"said": "ä\udcff", "many": [1, 2.5, None]})


def leave(database: Path, *traces: str) -> None:
    for trace in traces:
        store = Spool(database)
        store.write(line(trace))
        store.write(line(trace, Step.OUTCOME))
        store.close()


def files(database: Path) -> list[Path]:
    return sorted(database.with_suffix(".spool").glob("*"))


def test_what_is_left_is_found_by_whoever_reads_next(tmp_path: Path) -> None:
    database = tmp_path / "data" / "traces.db"
    leave(database, "a", "b")
    assert len(files(database)) == 2
    assert not database.exists()

    store = SqliteTraces(database)
    assert store.traces() == ["b", "a"]
    assert [record.step for record in store.records("a")] == [Step.EVENT, Step.OUTCOME]
    found = store.records("b")[0]
    store.close()

    direct = SqliteTraces(tmp_path / "other.db")
    direct.write(line("b"))
    direct.flush()
    assert direct.records("b")[0] == found
    direct.close()
    assert files(database) == []


def test_whoever_writes_next_takes_it_in_before_its_own(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    leave(database, "a")
    store = SqliteTraces(database)
    store.write(line("b"))
    store.close()
    assert files(database) == []
    with sqlite3.connect(database) as connection:
        assert [row[0] for row in connection.execute("SELECT DISTINCT trace FROM records ORDER BY number")] == [
            "a",
            "b",
        ]
    connection.close()


def test_what_people_ask_about_includes_it(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    leave(database, "a", "b")
    history = History(database)
    assert [summary.trace for summary in history.traces(Question())] == ["b", "a"]
    assert files(database) == []
    leave(database, "c")
    assert history.prune(keep=0) == 6


def test_a_trace_that_was_taken_in_is_not_taken_again(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    leave(database, "a")
    left = files(database)[0]
    raw = left.read_bytes()
    store = SqliteTraces(database)
    assert len(store.records("a")) == 2
    # somebody was killed after the transaction and before the file was removed
    left.write_bytes(raw)
    assert len(store.records("a")) == 2
    store.close()
    assert files(database) == []


def test_what_is_half_written_or_no_record_is_left_out(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    leave(database, "a")
    folder = database.with_suffix(".spool")
    (folder / "1-1.part").write_bytes(b'["half"')
    (folder / "2-2.jsonl").write_bytes(b'nonsense\n["too", "short"]\n[{}, 1, 2, 3, 4, 5, 6]\n')
    store = SqliteTraces(database)
    assert store.traces() == ["a"]
    store.close()
    assert [path.name for path in files(database)] == ["1-1.part"]


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    database = tmp_path / "data" / "traces.db"
    leave(database, "a")
    assert stat.S_IMODE(files(database)[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(database.with_suffix(".spool").stat().st_mode) == 0o700
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700


def test_a_call_without_traces_leaves_nothing(tmp_path: Path) -> None:
    Spool(tmp_path / "traces.db").close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "traces.spool").write_text("a file")
    store = Spool(tmp_path / "traces.db")
    store.write(line("a"))
    with pytest.raises(StoreError, match=r"traces\.spool"):
        store.flush()


def test_the_oldest_go_where_nobody_ever_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_MOST", 3)
    database = tmp_path / "traces.db"
    leave(database, *map(str, range(6)))
    spool._make_room(  # noqa: SLF001 - done now and then
        database.with_suffix(".spool")
    )
    assert len(files(database)) == 3
    store = SqliteTraces(database)
    assert store.traces() == ["5", "4", "3"]
    store.close()


def test_it_is_waiting_only_when_it_is_whole(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    assert not spool.is_waiting(database)
    os.mkdir(database.with_suffix(".spool"))  # noqa: PTH102
    (database.with_suffix(".spool") / "1-1.part").touch()
    assert not spool.is_waiting(database)
    leave(database, "a")
    assert spool.is_waiting(database)


def test_a_large_record_is_kept_whole(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    said = {"said": "x" * 9_000_000}
    store = Spool(database)
    store.write(Record("a", Step.EVENT, 1.5, "before_tool", "s1", "one", said))
    store.write(line("a", Step.OUTCOME))
    store.close()
    reader = SqliteTraces(database)
    first, last = reader.records("a")
    reader.close()
    assert first.detail == said
    assert last.step is Step.OUTCOME


def test_what_waited_for_long_does_not_take_newer_records_with_it(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    store = SqliteTraces(database)
    store.write(Record("new", Step.EVENT, 100.0, "before_tool"))
    store.flush()
    leave(database, "old")
    history = History(database)
    assert history.prune(older_than=50.0) == 2
    assert store.traces() == ["new"]
    store.close()
