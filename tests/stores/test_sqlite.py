import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from hookline.stores.sqlite import SqliteTraces
from tests.stores.programs import PRELUDE, line, run
from tests.waiting import PATIENCE, until


def stored(path: Path) -> list[tuple[str, int]]:
    """Read the file as any other program would."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT trace, json_extract(detail, '$.number') FROM records ORDER BY number")
        return [(trace, number) for trace, number in rows]


def has_records(reader: SqliteTraces, count: int) -> bool:
    return len(reader.records("one")) == count


def integrity(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


# --- written in the background


def test_each_record_is_stored_soon_though_nobody_flushes(path: Path, store: SqliteTraces) -> None:
    reader = SqliteTraces(path)
    for count in range(1, 6):
        store.write(line("one", count))

        # the thread is idle again by the time the next one is written
        until(partial(has_records, reader, count))


def test_taking_a_record_does_not_wait_for_the_disk(path: Path, store: SqliteTraces) -> None:
    store.write(line("one"))
    store.flush()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        begun = time.perf_counter()
        for number in range(10_000):
            store.write(line("two", number))
        spent = time.perf_counter() - begun
        other.execute("ROLLBACK")

    # two microseconds each would be 0.02 s; a disk that is waited for takes the busy timeout
    assert spent < 2
    assert len(store.records("two")) == 10_000


def test_idle_writer_never_wakes_up(path: Path) -> None:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs Linux' /proc to count how often a thread was woken")
    result = run(
        """
store.write(line("one"))
def switches():
    for thread in threading.enumerate():
        if thread.name == "hookline-traces":
            text = open(f"/proc/self/task/{thread.native_id}/status").read()
            return [line for line in text.splitlines() if "ctxt_switches" in line]
end = time.monotonic() + 30
while True:
    before = switches()
    time.sleep(0.5)
    if switches() == before or time.monotonic() > end:
        break
assert switches() == before, (before, switches())
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")


# --- the end of a program


@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(0)", "del store; gc.collect()", "raise SystemExit(0)", "store.close(); store.write(line('a', 50))"],
)
def test_program_that_ends_without_closing_loses_nothing(path: Path, ending: str) -> None:
    result = run(f"for number in range(50): store.write(line('a', number))\n{ending}", path)

    assert (result.returncode, result.stderr) == (0, "")
    assert stored(path)[:50] == [("a", number) for number in range(50)]
    assert len(stored(path)) == 50 + ("write" in ending)


def test_program_that_ends_with_an_unwritable_store_says_so_and_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    result = run("store.write(line('a')); store.write(line('a'))", tmp_path / "file" / "traces.db")

    assert result.returncode == 0
    assert "traces.db" in result.stderr
    assert "2 records wait in memory" in result.stderr
    assert "Traceback" not in result.stderr


def test_program_that_cannot_start_threads_still_stores_at_its_end(path: Path) -> None:
    # no machine has room for such a stack
    result = run("threading.stack_size(1 << 46)\nfor number in range(3): store.write(line('a', number))", path)

    assert result.returncode == 0
    assert result.stderr.count("traces are only stored when the program ends") == 1
    assert stored(path) == [("a", 0), ("a", 1), ("a", 2)]


def test_forgotten_store_is_collected_stores_the_rest_and_ends_its_thread(path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteTraces(path)
    store.write(line("one"))
    (thread,) = set(threading.enumerate()) - before
    gone = weakref.ref(store)

    del store
    gc.collect()

    assert gone() is None
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert stored(path) == [("one", 0)]


def test_close_ends_the_thread_and_folds_the_log_into_the_file(path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteTraces(path)
    store.write(line("one"))
    store.close()

    assert set(threading.enumerate()) <= before
    assert [file.name for file in path.parent.iterdir()] == ["traces.db"]


# --- killed


@pytest.mark.parametrize("reader", [False, True], ids=["alone", "while being read"])
def test_killed_program_leaves_a_sound_file_with_everything_it_had_flushed(path: Path, reader: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    program = """
number = 0
while True:
    for _ in range(70):
        store.write(line("a", number))
        number += 1
    store.flush()
    print(number, flush=True)
    for _ in range(300):
        store.write(line("a", number))
        number += 1
"""
    command = [sys.executable, "-c", PRELUDE + program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(5)]
        open_reader = sqlite3.connect(path, isolation_level=None) if reader else None
        if open_reader:
            open_reader.execute("BEGIN")
            open_reader.execute("SELECT count(*) FROM records").fetchone()
        acknowledged += [int(child.stdout.readline()) for _ in range(20)]
        child.kill()
        acknowledged += [int(text) for text in child.stdout.read().split("\n") if text.isdigit()]
        child.wait(PATIENCE)
    if open_reader:
        open_reader.close()

    found = stored(path)

    assert integrity(path) == "ok"
    assert found == [("a", number) for number in range(len(found))]
    # the last line may have been cut off in the middle by the kill: "37" of "370"
    assert len(found) >= acknowledged[-2]
    store = SqliteTraces(path)
    store.write(line("after"))
    store.close()
    assert len(store.records("after")) == 1


# --- other processes


def test_file_is_readable_by_another_process_while_it_is_written(path: Path, store: SqliteTraces) -> None:
    for number in range(1_500):
        store.write(line("one", number))
    store.flush()
    store.write(line("two"))

    result = run(
        "print(len(store.records('one')), len(list(store.export())) >= 1500, store.traces(session='s')[-1])", path
    )

    assert (result.stdout, result.stderr) == ("1500 True one\n", "")
    assert len(store.records("two")) == 1


def test_processes_that_make_the_file_at_the_same_time_all_store(path: Path) -> None:
    program = """
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    store.write(line(sys.argv[2], number))
    store.flush()
store.close()
"""
    names = [f"process-{number}" for number in range(6)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PRELUDE + program, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)

    assert [child.returncode for child in children] == [0] * 6
    found = stored(path)
    for name in names:
        assert [number for trace, number in found if trace == name] == list(range(20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("ending", ["store.flush(); os._exit(0)", "sys.exit(0)", "store.close(); os._exit(0)"])
def test_forked_child_stores_its_own_records_and_only_those(path: Path, ending: str) -> None:
    result = run(
        f"""
for number in range(500):
    store.write(line("before", number))
children = []
for name in ("child-1", "child-2"):
    store.write(line("pending", len(children)))
    child = os.fork()
    if child == 0:
        for number in range(300):
            store.write(line(name, number))
        {ending}
    children.append(child)
    for number in range(300):
        store.write(line("parent-" + name, number))
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")
    found = stored(path)
    expected = {
        "before": 500,
        "pending": 2,
        "child-1": 300,
        "child-2": 300,
        "parent-child-1": 300,
        "parent-child-2": 300,
    }
    for trace, count in expected.items():
        assert [number for name, number in found if name == trace] == list(range(count)), trace
    assert len(found) == sum(expected.values())
    assert integrity(path) == "ok"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux' /proc to see open files")
def test_forked_child_inherits_no_open_database(path: Path) -> None:
    result = run(
        """
store.write(line("one"))
store.flush()
def opened():
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [link for link in links if os.path.lexists(link) and sys.argv[1] in os.readlink(link)]
assert opened()
child = os.fork()
if child == 0:
    os._exit(len(opened()))
assert os.waitpid(child, 0)[1] == 0
store.write(line("two"))
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert stored(path) == [("one", 0), ("two", 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_of_multiprocessing_that_just_ends_loses_nothing(path: Path) -> None:
    result = run(
        """
import multiprocessing
def work():
    for number in range(50):
        store.write(line("child", number))
store.write(line("parent"))
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join(30)
assert child.exitcode == 0
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(stored(path)) == [("child", number) for number in range(50)] + [("parent", 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_in_the_middle_of_heavy_writing_neither_hang_nor_lose_nor_double(path: Path) -> None:
    result = run(
        """
done = threading.Event()
def write():
    number = 0
    while not done.is_set() and number < 50_000:
        store.write(line("parent", number))
        number += 1
    print(number)
writer = threading.Thread(target=write)
writer.start()
for count in range(15):
    child = os.fork()
    if child == 0:
        store.write(line("child", count))
        store.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
writer.join(30)
""",
        path,
    )

    assert (result.returncode, result.stderr) == (0, "")
    found = stored(path)
    assert [number for name, number in found if name == "child"] == list(range(15))
    assert [number for name, number in found if name == "parent"] == list(range(int(result.stdout)))
