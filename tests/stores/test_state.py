import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.ports import StateStore, StateValue
from hookline.stores.state import MemoryState, SqliteState


class Clock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data" / "state.db"


@pytest.fixture(params=["memory", "sqlite"])
def state(request: pytest.FixtureRequest, place: Path, clock: Clock) -> Iterator[StateStore]:
    makers: dict[str, Callable[[], StateStore]] = {
        "memory": lambda: MemoryState(clock=clock),
        "sqlite": lambda: SqliteState(place, clock=clock),
    }
    made = makers[request.param]()
    yield made
    made.close()


def put(state: StateStore, key: str, value: bytes, until: float = 9e9, *, spare: bool = False) -> None:
    state.change([], lambda _found, _now: ({key: StateValue(value, until, spare=spare)}, None))


def add_one(state: StateStore, key: str) -> int:
    def decide(found: object, _now: float) -> tuple[dict[str, StateValue], int]:
        assert isinstance(found, dict)
        number = int(found.get(key, b"0")) + 1
        return {key: StateValue(str(number).encode(), 9e9)}, number

    return state.change([key], decide)


def test_what_was_changed_is_read(state: StateStore) -> None:
    assert state.read(["a", "b"]) == {}

    put(state, "a", b"\x00one")

    assert state.read(["a", "b"]) == {"a": b"\x00one"}
    put(state, "a", b"two")
    assert state.read(["a"]) == {"a": b"two"}


def test_deciding_sees_only_the_keys_it_asked_for_and_the_time(state: StateStore, clock: Clock) -> None:
    put(state, "a", b"1")
    put(state, "b", b"2")
    clock.now = 1234.0

    seen = state.change(["a", "c"], lambda found, now: ({}, (dict(found), now)))

    assert seen == ({"a": b"1"}, 1234.0)


def test_what_is_over_is_not_given_any_more(state: StateStore, clock: Clock) -> None:
    put(state, "a", b"1", until=1010.0)
    clock.now = 1009.9
    assert state.read(["a"]) == {"a": b"1"}

    clock.now = 1010.0

    assert state.read(["a"]) == {}
    assert state.change(["a"], lambda found, _now: ({}, dict(found))) == {}


def test_failing_decision_changes_nothing(state: StateStore) -> None:
    put(state, "a", b"1")

    def fail(_found: object, _now: float) -> tuple[dict[str, StateValue], None]:
        raise RuntimeError("no decision")

    with pytest.raises(RuntimeError, match="no decision"):
        state.change(["a"], fail)
    assert state.read(["a"]) == {"a": b"1"}
    assert add_one(state, "b") == 1


def test_forgetting_takes_everything_that_begins_alike(state: StateStore) -> None:
    for key in ("once:a:1", "once:a:2", "once:ab:1", "other"):
        put(state, key, b"x")

    assert state.forget(["once:a:", "nothing"]) == 2
    assert set(state.read(["once:a:1", "once:ab:1", "other"])) == {"once:ab:1", "other"}


def test_threads_do_not_come_between_each_other(state: StateStore) -> None:
    threads = [threading.Thread(target=lambda: [add_one(state, "n") for _ in range(100)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert state.read(["n"]) == {"n": b"600"}


def test_closed_store_opens_again(state: StateStore) -> None:
    put(state, "a", b"1")
    state.close()

    assert state.read(["a"]) == {"a": b"1"}
    assert add_one(state, "n") == 1


def test_memory_is_bounded_and_keeps_what_is_short_and_lasts_longest(clock: Clock) -> None:
    state = MemoryState(clock=clock, bound=8)
    put(state, "long", b"xx", until=9e9, spare=True)
    for number in range(8):
        put(state, str(number), b"x", until=2000.0 + number)

    kept = state.read(["long", *(str(number) for number in range(8))])

    assert set(kept) == {"2", "3", "4", "5", "6", "7"}


def test_what_is_counted_outlives_answers_and_sessions_in_memory(clock: Clock) -> None:
    state = MemoryState(clock=clock, bound=100)
    # many runs take more room than an answer
    put(state, "counted", b"x" * 9000, until=1060.0)
    for number in range(150):
        put(state, f"session {number}", b"", until=9e9 + number)
        put(state, f"answer {number}", b"{}", until=9e9, spare=True)

    assert set(state.read(["counted", "session 149"])) == {"counted", "session 149"}


def test_nothing_is_made_before_something_is_to_be_remembered(place: Path) -> None:
    state = SqliteState(place)

    assert state.read(["a"]) == {}
    assert state.forget([""]) == 0
    state.close()
    assert not place.parent.exists()


def test_sqlite_is_only_loaded_when_it_is_needed(place: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hookline.stores.state import SqliteState; "
        "s = SqliteState(Path(sys.argv[1])); s.read(['a']); s.close(); assert 'sqlite3' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program, str(place)], check=True, timeout=60)


def test_file_is_for_the_owner_alone(place: Path) -> None:
    with closing(SqliteState(place)) as state:
        put(state, "a", b"secret")

        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_what_is_over_leaves_the_file(place: Path, clock: Clock) -> None:
    with closing(SqliteState(place, clock=clock)) as state:
        for number in range(50):
            put(state, str(number), b"x", until=1100.0)
    clock.now = 1200.0

    with closing(SqliteState(place, clock=clock)) as state:
        put(state, "new", b"x", until=1300.0)

    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("SELECT key FROM state").fetchall() == [("new",)]


def test_file_that_grew_too_large_loses_the_longest_values(place: Path, clock: Clock) -> None:
    with closing(SqliteState(place, clock=clock)) as state:
        put(state, "counted", b"x", until=1001.0)
        put(state, "often", b"x" * 9000, until=1001.0)
        for number in range(2500):
            put(state, f"{number:05}", b"x" * 200, until=2000.0 + number, spare=True)

    with closing(SqliteState(place, clock=clock, largest=100_000)) as state:
        put(state, "new", b"x", until=9000.0)

        kept = state.read(["counted", "often", *(f"{number:05}" for number in range(2500))])
    assert len(kept) == 502
    assert {"counted", "often", "02499"} <= set(kept)


def test_folder_that_cannot_be_looked_into_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("x" * 300)
    state = SqliteState(tmp_path / "data" / "state.db")

    for call in (lambda: state.read(["a"]), lambda: state.forget(["a"]), lambda: put(state, "a", b"x")):
        with pytest.raises(StoreError, match="you may write there"):
            call()


@pytest.mark.spec("D-11")
def test_processes_do_not_come_between_each_other(place: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hookline.ports import StateValue; "
        "from hookline.stores.state import SqliteState\n"
        "state = SqliteState(Path(sys.argv[1]))\n"
        "def one(found, now):\n"
        "    return {'n': StateValue(str(int(found.get('n', b'0')) + 1).encode(), 9e9)}, None\n"
        "for _ in range(300): state.change(['n'], one)\n"
        "state.close()\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(place)]) for _ in range(4)]

    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0, 0]
    with closing(SqliteState(place)) as state:
        assert state.read(["n"]) == {"n": b"1200"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_and_parent_go_on(place: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from hookline.ports import StateValue; "
        "from hookline.stores.state import SqliteState\n"
        "state = SqliteState(Path(sys.argv[1]))\n"
        "def one(found, now):\n"
        "    return {'n': StateValue(str(int(found.get('n', b'0')) + 1).encode(), 9e9)}, None\n"
        "state.change(['n'], one)\n"
        "child = os.fork()\n"
        "for _ in range(50): state.change(['n'], one)\n"
        "state.close()\n"
        "if child: sys.exit(os.waitpid(child, 0)[1])\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(place)], check=True, timeout=60)

    with closing(SqliteState(place)) as state:
        assert state.read(["n"]) == {"n": b"101"}


def test_locked_file_is_an_error_after_a_while(place: Path) -> None:
    with closing(SqliteState(place, busy_timeout=0.1)) as state:
        put(state, "a", b"1")
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            with pytest.raises(StoreError, match=r"locked.*end the program that keeps it locked"):
                put(state, "a", b"2")
            # reading waits for nobody
            assert state.read(["a"]) == {"a": b"1"}
        put(state, "a", b"3")
        assert state.read(["a"]) == {"a": b"3"}


def test_file_of_another_program_is_left_alone(place: Path) -> None:
    place.parent.mkdir()
    with closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = place.read_bytes()

    with closing(SqliteState(place)) as state, pytest.raises(StoreError, match="belongs to another program"):
        put(state, "a", b"1")
    assert place.read_bytes() == before


def test_damaged_file_is_an_error_that_says_what_to_do(place: Path) -> None:
    place.parent.mkdir()
    place.write_bytes(b"not a database, but long enough to look like one" * 100)

    with closing(SqliteState(place)) as state, pytest.raises(StoreError, match="move the file away"):
        put(state, "a", b"1")


def test_deleted_file_is_made_again(place: Path) -> None:
    with closing(SqliteState(place)) as state:
        put(state, "a", b"1", until=9e9)
        for file in place.parent.iterdir():
            file.unlink()

        put(state, "b", b"2", until=9e9)

        assert state.read(["a", "b"]) == {"b": b"2"}
        assert place.exists()
