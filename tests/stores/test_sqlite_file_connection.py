import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.stores import _sqlite_file
from hookline.stores._sqlite_file import Layout, SqliteConnection

LAYOUT = Layout(application=0x686B_6C78, schema=1, tables=("CREATE TABLE words (word TEXT NOT NULL)",))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[SqliteConnection]:
    opened = SqliteConnection(tmp_path / "data" / "words.db", LAYOUT, busy_timeout=10.0, durable=False)
    yield opened
    opened.close()


def add(kept: SqliteConnection, *words: str) -> None:
    with kept.transaction() as connection:
        connection.executemany("INSERT INTO words VALUES (?)", [(word,) for word in words])


def words(kept: SqliteConnection) -> list[str]:
    with kept.read() as connection:
        return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY rowid")]


def test_reading_makes_no_file(kept: SqliteConnection) -> None:
    assert words(kept) == []
    assert not kept.path.exists()


def test_file_is_the_owners_alone_and_opens_again_after_close(kept: SqliteConnection) -> None:
    add(kept, "one")
    kept.close()
    kept.close()
    add(kept, "two")

    assert words(kept) == ["one", "two"]
    assert kept.path.stat().st_mode & 0o077 == 0


def test_transaction_counts_as_a_whole_or_not_at_all(kept: SqliteConnection) -> None:
    add(kept, "one")

    with suppress(RuntimeError), kept.transaction() as connection:
        connection.execute("INSERT INTO words VALUES ('two')")
        raise RuntimeError

    add(kept, "three")
    assert words(kept) == ["one", "three"]


def test_wrong_statement_is_a_store_error_and_the_next_one_works(kept: SqliteConnection) -> None:
    add(kept, "one")

    with pytest.raises(StoreError, match=r"words\.db"), kept.transaction() as connection:
        connection.execute("INSERT INTO nowhere VALUES (1)")

    add(kept, "two")
    assert words(kept) == ["one", "two"]


def test_file_that_was_moved_away_is_made_again(kept: SqliteConnection) -> None:
    add(kept, "old")
    for path in list(kept.path.parent.iterdir()):
        path.rename(path.with_name(f"away-{path.name}"))

    assert words(kept) == []
    add(kept, "new")

    assert words(kept) == ["new"]


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_disk_is_waited_for_where_that_was_asked(tmp_path: Path, *, durable: bool, level: int) -> None:
    kept = SqliteConnection(tmp_path / "words.db", LAYOUT, busy_timeout=1.0, durable=durable)

    with kept.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    kept.close()


def test_locked_file_is_an_error_with_advice(kept: SqliteConnection) -> None:
    add(kept, "one")
    other = SqliteConnection(kept.path, LAYOUT, busy_timeout=0.01, durable=False)

    with kept.transaction(), pytest.raises(StoreError, match="end the program that keeps it locked"):
        add(other, "two")

    other.close()


def test_threads_take_turns(kept: SqliteConnection) -> None:
    threads = [threading.Thread(target=add, args=(kept, str(number))) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(words(kept), key=int) == [str(number) for number in range(20)]


def test_whether_something_was_stored_is_known_without_making_anything(kept: SqliteConnection) -> None:
    assert not kept.exists()
    assert not kept.path.parent.exists()

    add(kept, "one")

    assert kept.exists()


def test_folder_that_cannot_be_looked_into_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("x" * 300)
    kept = SqliteConnection(tmp_path / "data" / "words.db", LAYOUT, busy_timeout=1.0, durable=False)

    with pytest.raises(StoreError, match="you may write there"):
        kept.exists()
    with pytest.raises(StoreError, match="you may write there"):
        words(kept)
    with pytest.raises(StoreError, match="you may write there"):
        add(kept, "one")


def test_files_that_nobody_needs_any_more_leave_nothing_behind(tmp_path: Path) -> None:
    before = len(_sqlite_file.FORK_HANDLERS._alive)  # noqa: SLF001 - a worker that runs for days opens thousands
    opened = [
        SqliteConnection(tmp_path / f"{number}.db", LAYOUT, busy_timeout=1.0, durable=False) for number in range(20)
    ]
    for one in opened:
        add(one, "one")
        one.close()
    assert len(_sqlite_file.FORK_HANDLERS._alive) == before + 20  # noqa: SLF001

    known = [weakref.ref(one) for one in opened]
    del opened, one
    gc.collect()

    assert [ref() for ref in known] == [None] * 20
    assert len(_sqlite_file.FORK_HANDLERS._alive) <= before  # noqa: SLF001
