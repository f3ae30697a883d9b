import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from hookline import json_codec
from hookline.errors import StoreError
from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces
from tests.stores.programs import PRELUDE, line, run
from tests.waiting import until


def stored(path: Path) -> list[tuple[str, int]]:
    """Read the file as any other program would."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT trace, json_extract(detail, '$.number') FROM records ORDER BY number")
        return [(trace, number) for trace, number in rows]


def integrity(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


# --- full, broken, foreign


def test_full_queue_drops_the_oldest_and_stores_how_many(path: Path) -> None:
    store = SqliteTraces(path, bound=1_000, busy_timeout=0.2)
    store.write(line("first"))
    store.flush()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for number in range(5_000):
            store.write(line("flood", number))
        with pytest.raises(StoreError, match=r"keeps it locked \(1000 records wait in memory, 4000 older ones were"):
            store.flush()
        other.execute("ROLLBACK")
    store.flush()
    store.write(line("last"))
    store.close()

    numbers = [record.detail["number"] for record in store.records("flood")]
    warnings = store.records("dropped-s")
    assert numbers == list(range(4_000, 5_000))
    assert [(record.step, record.session, record.detail["dropped"]) for record in warnings] == [
        (Step.WARNING, "s", 4_000)
    ]


def test_file_that_is_no_database_is_named_and_left_alone_until_it_is_moved_away(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary, " * 1_000)
    store = SqliteTraces(path)
    store.write(line("one"))

    store.write(line("two"))

    with pytest.raises(StoreError, match="file is not a database: move the file away") as caught:
        store.flush()
    with pytest.raises(StoreError, match="move the file away"):
        store.flush()
    with pytest.raises(StoreError, match="move the file away"):
        store.records("one")
    with pytest.raises(StoreError, match="move the file away"):
        list(store.export())
    with pytest.raises(StoreError, match="2 records wait in memory"):
        store.close()

    assert str(path) in str(caught.value)
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert path.read_text() == "Dear diary, " * 1_000

    path.rename(path.with_suffix(".old"))
    store.flush()
    assert stored(path) == [("one", 0), ("two", 0)]
    store.close()


def test_store_recovers_by_itself_when_the_trouble_is_over(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary, " * 1_000)
    store = SqliteTraces(path)
    store.write(line("one"))
    with pytest.raises(StoreError):
        store.flush()

    path.unlink()

    until(lambda: path.exists() and stored_or_nothing(path))
    store.close()


def stored_or_nothing(path: Path) -> list[tuple[str, int]]:
    try:
        return stored(path)
    except sqlite3.Error:
        return []


def test_full_disk_keeps_the_records_until_there_is_room(path: Path) -> None:
    pytest.importorskip("resource", reason="needs limits on the size of files")
    result = run(
        """
import logging, resource
logging.basicConfig(stream=sys.stdout, format="logged: %(levelname)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store.write(line("a", 0))
store.flush()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
for number in range(1, 5_000):
    store.write(line("a", number))
for _ in range(2):
    try:
        store.flush()
    except StoreError as problem:
        assert "disk" in str(problem) and sys.argv[1] in str(problem), problem
        print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.flush()
print(len(store.records("a")))
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(result.stdout.split("\n")) == ["", "5000", "logged: ERROR", "refused", "refused"]
    assert stored(path) == [("a", number) for number in range(5_000)]
    assert integrity(path) == "ok"


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = SqliteTraces(tmp_path / "file" / "traces.db")
    store.write(line("one"))

    with pytest.raises(StoreError, match="make sure that the folder exists and that you may write there"):
        store.flush()

    (tmp_path / "file").unlink()
    store.close()
    assert stored(tmp_path / "file" / "traces.db") == [("one", 0)]


def test_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    store = SqliteTraces(tmp_path)
    store.write(line("one"))

    with pytest.raises(StoreError, match="this is a folder, name a file in it"):
        store.flush()
    with pytest.raises(StoreError, match="this is a folder, name a file in it"):
        store.traces()

    tmp_path.rmdir()
    store.close()


def test_damaged_file_is_reported_and_never_crashes(path: Path) -> None:
    store = SqliteTraces(path)
    for number in range(2_000):
        store.write(line("one", number))
    store.close()
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + os.urandom(len(raw) - 4096))

    store.write(line("two"))

    with pytest.raises(StoreError, match="malformed: move the file away"):
        store.flush()
    with pytest.raises(StoreError, match="malformed: move the file away"):
        store.records("one")
    path.unlink()
    store.close()
    assert stored(path) == [("two", 0)]


def test_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    store = SqliteTraces(path)
    store.write(line("one"))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreError, match=r"newer Hookline \(schema 99, this one knows 2\): update Hookline"):
        store.traces()
    store.write(line("two"))
    with pytest.raises(StoreError, match="newer Hookline"):
        store.close()

    assert stored(path) == [("one", 0)]
    path.unlink()
    store.close()


def test_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()
    before = path.read_bytes()
    store = SqliteTraces(path)
    store.write(line("one"))

    with pytest.raises(StoreError, match="belongs to another program: choose another file"):
        store.flush()
    with pytest.raises(StoreError, match="belongs to another program"):
        store.traces()

    assert path.read_bytes() == before
    path.unlink()
    store.close()


def test_deleted_file_is_made_anew(path: Path, store: SqliteTraces) -> None:
    store.write(line("one"))
    store.flush()
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()

    store.write(line("two"))
    store.flush()

    assert stored(path) == [("two", 0)]


# --- what is in the file


class Grumpy:
    """Cannot even be printed."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


def test_record_that_cannot_be_stored_whole_does_not_keep_others_waiting(store: SqliteTraces) -> None:
    store.write(Record("one", Step.EVENT, float("nan"), "custom", detail={"grumpy": Grumpy()}))
    store.write(Record("two\udcff", Step.EVENT, 10**400, "custom", "s\udcff", "h\x00k", {"text": "\udcff"}))
    store.write(line("three"))
    store.flush()

    assert store.records("one") == [Record("one", Step.EVENT, 0.0, "custom", detail={"grumpy": "<Grumpy>"})]
    assert store.records("two\udcff") == [
        Record("two?", Step.EVENT, 0.0, "custom", "s?", "h\x00k", {"text": "?"}),
    ]
    assert store.records("three") == [line("three")]


def test_unknown_step_and_damaged_detail_are_shown_not_lost(path: Path, store: SqliteTraces) -> None:
    store.write(line("one"))
    store.write(line("two"))
    store.flush()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE records SET step = 'teleported' WHERE trace = 'one'")
        connection.execute("UPDATE records SET detail = '{\"number\": ' WHERE trace = 'two'")
        connection.commit()

    (one,) = store.records("one")
    (two,) = store.records("two")
    assert (one.step, one.detail) == (Step.WARNING, {"number": 0, "step": "teleported"})
    assert two.detail == {"message": "this detail is damaged", "raw": '{"number": '}


def test_only_the_owner_can_read_the_files(path: Path, store: SqliteTraces) -> None:
    store.write(line("one"))
    store.flush()
    store.traces()

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert len(list(path.parent.iterdir())) == 3


def test_file_that_others_could_read_is_made_private(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    path.chmod(0o644)
    store = SqliteTraces(path)
    store.write(line("one"))
    store.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_store_that_is_never_written_to_touches_nothing(path: Path) -> None:
    store = SqliteTraces(path)
    before = set(threading.enumerate())

    assert store.traces() == []
    store.flush()
    store.close()

    assert not path.parent.exists()
    assert set(threading.enumerate()) <= before


def test_store_stays_where_it_was_opened_when_the_program_moves(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        PRELUDE + "os.makedirs('elsewhere'); os.chdir('elsewhere'); store.write(line('one'))",
        "traces.db",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)

    assert stored(tmp_path / "traces.db") == [("one", 0)]


def test_file_is_found_whatever_its_name(tmp_path: Path) -> None:
    store = SqliteTraces(tmp_path / "a?b#c%20 ü.db")
    store.write(line("one"))
    store.flush()

    assert store.traces() == ["one"]
    store.close()


def test_export_ends_though_writing_goes_on(store: SqliteTraces) -> None:
    for number in range(3_000):
        store.write(line("one", number))
    count = 0
    for text in store.export():
        assert json_codec.load(text)
        store.write(line("meanwhile", count))
        store.flush() if count % 500 == 0 else None
        count += 1

    assert count == 3_000


def test_questions_are_answered_from_an_index(path: Path, store: SqliteTraces) -> None:
    store.write(line("one"))
    store.flush()
    questions = {
        "SELECT * FROM records WHERE trace = 'x' ORDER BY number": "records_by_trace",
        "SELECT * FROM records WHERE session = 'x' ORDER BY number DESC": "records_by_session",
        "SELECT * FROM records WHERE hook = 'x' AND hook <> '' ORDER BY at": "records_by_hook",
        "SELECT * FROM records WHERE at > 5": "records_by_time",
    }
    with closing(sqlite3.connect(path)) as connection:
        for question, index in questions.items():
            (plan,) = connection.execute(f"EXPLAIN QUERY PLAN {question}").fetchall()
            assert index in plan[3]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
