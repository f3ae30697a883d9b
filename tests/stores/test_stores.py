"""The contract every store keeps."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline import json_codec
from hookline.model.record import Record, Step
from hookline.ports import TraceStore
from hookline.stores.sqlite import SqliteTraces


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    opened: TraceStore = SqliteTraces(tmp_path / "traces.db")
    yield opened
    opened.close()


def line(trace: str, number: int = 0, *, session: str = "", step: Step = Step.EVENT) -> Record:
    return Record(trace, step, 1_700_000_000.25 + number, "before_tool", session, "lint", {"number": number})


@pytest.mark.spec("O-30")
def test_records_of_a_trace_come_back_whole_and_in_order(store: TraceStore) -> None:
    written = [line("one", number, session="s", step=step) for number, step in enumerate(Step)]
    for record in written:
        store.write(record)
        store.write(line("another"))

    store.flush()

    assert store.records("one") == written


def test_record_is_found_right_after_it_was_written(store: TraceStore) -> None:
    store.write(line("one"))

    assert store.records("one") == [line("one")]
    assert store.traces() == ["one"]
    assert len(list(store.export())) == 1


def test_traces_are_listed_newest_first(store: TraceStore) -> None:
    for trace in ("one", "two", "three", "one"):
        store.write(line(trace))
    store.flush()

    assert store.traces() == ["one", "three", "two"]
    assert store.traces(limit=2) == ["one", "three"]
    assert store.traces(limit=0) == []


def test_traces_of_one_session_leave_out_the_others(store: TraceStore) -> None:
    for number in range(10):
        store.write(line(f"trace-{number}", session=f"s{number % 2}"))
    store.flush()

    assert store.traces(session="s1") == ["trace-9", "trace-7", "trace-5", "trace-3", "trace-1"]
    assert store.traces(session="s1", limit=1) == ["trace-9"]
    assert store.traces(session="unknown") == []


def test_export_gives_one_line_of_json_per_record_oldest_first(store: TraceStore) -> None:
    for number in range(2_500):
        store.write(line("one", number, session=f"s{number % 2}"))
    store.flush()

    lines = list(store.export())

    assert [json_codec.load(text) for text in lines[:1]] == [
        {
            "trace": "one",
            "step": "event",
            "at": 1_700_000_000.25,
            "event": "before_tool",
            "session": "s0",
            "hook": "lint",
            "detail": {"number": 0},
            "host": "",
            "project": "",
            "tool": "",
            "subject": "",
        }
    ]
    assert [numbered(text) for text in lines] == list(range(2_500))
    assert [numbered(text) for text in store.export(session="s1")] == list(range(1, 2_500, 2))
    assert not any(b"\n" in text for text in lines)


def test_store_without_records_is_empty(store: TraceStore) -> None:
    store.flush()

    assert store.traces() == []
    assert store.records("one") == []
    assert list(store.export()) == []


def test_closed_store_keeps_its_records_and_takes_more(store: TraceStore) -> None:
    store.write(line("one"))
    store.close()
    store.close()
    store.write(line("two"))
    store.close()

    assert store.traces() == ["two", "one"]


def test_records_written_by_many_threads_all_arrive_each_thread_in_order(store: TraceStore) -> None:
    def write(name: str) -> None:
        for number in range(500):
            store.write(line(name, number))

    threads = [threading.Thread(target=write, args=(f"thread-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    store.flush()

    for number in range(8):
        assert store.records(f"thread-{number}") == [line(f"thread-{number}", count) for count in range(500)]


def test_detail_that_is_no_json_is_exported_as_text(store: TraceStore) -> None:
    endless: list[object] = []
    endless.append(endless)
    strange: list[dict[str, object]] = [
        {"path": "caf\udce9"},
        {"object": object()},
        {"endless": endless},
        {"set": {1}, "big": 10**30, "nan": float("nan")},
    ]
    for detail in strange:
        store.write(Record("one\udcff", Step.EVENT, 1.0, "custom", detail=detail))
    store.flush()

    documents = [json_codec.load(text) for text in store.export()]

    assert len(documents) == len(strange)
    assert all(isinstance(document, dict) and isinstance(document["detail"], dict) for document in documents)


def test_stores_in_memory_do_not_load_sqlite() -> None:
    program = "import sys, hookline.stores.state; assert 'sqlite3' not in sys.modules"

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def numbered(text: bytes) -> object:
    document = json_codec.load(text)
    assert isinstance(document, dict)
    return document["detail"]["number"]
