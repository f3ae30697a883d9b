import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces
from hookline.stores.trace_queries import TraceFilter, TraceQueries

START = 1_700_000_000.0


def trace(name: str, at: float, *, hook: str = "lint", decision: str = "pass", session: str = "") -> list[Record]:
    failed = decision == "failed"
    end = Step.FAILED if failed else Step.COMPLETED
    outcome = {"decision": "pass" if failed else decision, "reasons": ["why"], "duration": 0.5}
    counts = {"ran": 1, "failed": int(failed), "skipped": 1}
    about = {"host": "claude-code", "project": "/home/ada/shop", "tool": "shell", "subject": "ls"}
    return [
        Record(name, Step.EVENT, at, "before_tool", session, "", {"tool": "shell", "args": {"command": "ls"}}, **about),
        Record(name, Step.STARTED, at, "before_tool", session, hook, {"dialect": "ollm"}),
        Record(name, end, at + 0.5, "before_tool", session, hook, {"decision": decision, "duration": 0.5}),
        Record(name, Step.SKIPPED, at + 0.5, "before_tool", session, "other", {"gate": "matcher", "reason": "no"}),
        Record(name, Step.OUTCOME, at + 0.5, "before_tool", session, "", outcome | counts, **about),
    ]


@pytest.fixture
def history(path: Path, store: SqliteTraces) -> TraceQueries:
    for number, (hook, decision) in enumerate((("lint", "pass"), ("guard", "deny"), ("lint", "failed"))):
        for record in trace(f"t{number}", START + number, hook=hook, decision=decision, session=f"s{number % 2}"):
            store.write(record)
    store.flush()
    return TraceQueries(path)


@pytest.mark.spec("D-15")
def test_trace_is_summed_up_in_one_line(history: TraceQueries) -> None:
    newest, middle, oldest = history.traces(TraceFilter())

    assert [one.trace for one in (newest, middle, oldest)] == ["t2", "t1", "t0"]
    assert (middle.at, middle.event, middle.tool, middle.session) == (START + 1, "before_tool", "shell", "s1")
    assert (middle.host, middle.project, middle.subject) == ("claude-code", "/home/ada/shop", "ls")
    assert (middle.decision, middle.blocked, middle.reasons, middle.duration) == ("deny", True, ("why",), 0.5)
    assert (newest.ran, newest.failed, newest.skipped, newest.blocked) == (1, 1, 1, False)


def test_question_narrows_what_is_given(history: TraceQueries) -> None:
    def found(question: TraceFilter) -> list[str]:
        return [one.trace for one in history.traces(question)]

    assert found(TraceFilter(hook="lint")) == ["t2", "t0"]
    assert found(TraceFilter(session="s1")) == ["t1"]
    assert found(TraceFilter(event="notification")) == []
    assert found(TraceFilter(since=START + 1)) == ["t2", "t1"]
    assert found(TraceFilter(hook="lint", since=START + 1)) == ["t2"]
    assert [one.trace for one in islice(history.traces(TraceFilter()), 1)] == ["t2"]


def test_trace_is_found_by_the_beginning_of_its_name_where_that_is_clear(path: Path, store: SqliteTraces) -> None:
    for name in ("abc-1", "abd-2"):
        store.write(Record(name, Step.EVENT, START, "before_tool"))
    store.flush()
    history = TraceQueries(path)

    assert [record.trace for record in history.records("abc")] == ["abc-1"]
    assert history.records("ab") == []
    assert history.records("") == []
    assert [record.trace for record in history.records("abd-2")] == ["abd-2"]


def test_last_run_of_each_hook_is_known(history: TraceQueries) -> None:
    last = history.last_of_each()

    assert {hook: record.at for hook, record in last.items()} == {"lint": START + 2.5, "guard": START + 1.5}
    assert last["lint"].step is Step.FAILED
    assert set(history.last_of_each((Step.SKIPPED,))) == {"other"}


def test_runs_leave_out_everything_but_the_ends_of_runs(history: TraceQueries) -> None:
    assert [(run.hook, run.step) for run in history.runs(TraceFilter())] == [
        ("lint", Step.COMPLETED),
        ("guard", Step.COMPLETED),
        ("lint", Step.FAILED),
    ]


def test_what_came_after_a_record_is_given_with_numbers(history: TraceQueries, store: SqliteTraces) -> None:
    number = history.newest()
    assert history.after(number, TraceFilter()) == []

    store.write(Record("new", Step.EVENT, START, "notification"))
    store.flush()

    assert [(count, record.trace) for count, record in history.after(number, TraceFilter())] == [(number + 1, "new")]
    assert history.after(number, TraceFilter(event="before_tool")) == []


def test_trace_of_a_program_that_was_ended_is_unfinished(path: Path, store: SqliteTraces) -> None:
    for record in (*trace("whole", START), *trace("ended", START + 9)[:2]):
        store.write(record)
    store.flush()

    found = TraceQueries(path).traces(TraceFilter())
    assert [(one.trace, one.decision) for one in found] == [("ended", "unfinished"), ("whole", "pass")]


def test_old_records_are_removed_and_nothing_else(history: TraceQueries, path: Path) -> None:
    assert history.prune(older_than=START + 1) == 5

    assert [one.trace for one in history.traces(TraceFilter())] == ["t2", "t1"]
    assert history.prune(keep=5) == 5
    assert [one.trace for one in history.traces(TraceFilter())] == ["t2"]
    assert history.prune(keep=100) == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_removed_records_are_not_left_in_the_file(history: TraceQueries, path: Path, store: SqliteTraces) -> None:
    store.write(Record("secret", Step.EVENT, START, "before_tool", detail={"text": "tea-and-biscuits"}))
    store.close()
    assert b"tea-and-biscuits" in path.read_bytes()

    history.prune(older_than=START + 100)

    assert b"tea-and-biscuits" not in path.read_bytes()


def test_file_that_is_not_there_is_an_empty_history(tmp_path: Path) -> None:
    history = TraceQueries(tmp_path / "traces.db")

    assert list(history.traces(TraceFilter())) == []
    assert (history.newest(), history.count(), history.prune(keep=1), history.damage()) == (0, 0, 0, "")
    assert not history.path.exists()


def test_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    path.write_text("this is not a database at all, but long enough to be looked at as one" * 20)

    with pytest.raises(StoreError, match=r"traces\.db"):
        list(TraceQueries(path).traces(TraceFilter()))
    with pytest.raises(StoreError, match=r"traces\.db"):
        TraceQueries(path).prune(keep=1)


def test_file_that_holds_too_much_loses_its_oldest_records_when_it_is_opened(path: Path) -> None:
    store = SqliteTraces(path)
    for number in range(4_000):
        store.write(Record(f"t{number:04}", Step.EVENT, START + number, "before_tool", detail={"text": "x" * 100}))
    store.close()

    for _ in range(2):
        small = SqliteTraces(path, largest=100_000)
        small.write(Record("newest", Step.EVENT, START, "before_tool"))
        small.close()

    left = [one.trace for one in TraceQueries(path).traces(TraceFilter())]
    assert left[0] == "newest"
    assert left[-1] > "t1000"
    assert "t3999" in left


def test_file_of_a_common_size_loses_nothing(path: Path) -> None:
    for number in range(3):
        store = SqliteTraces(path)
        store.write(Record(f"t{number}", Step.EVENT, START, "before_tool"))
        store.close()

    assert TraceQueries(path).count() == 3


def test_time_that_is_no_number_is_shown_as_none(path: Path, store: SqliteTraces) -> None:
    store.write(Record("odd", Step.EVENT, START, "before_tool"))
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE records SET at = 'yesterday'")

    (record,) = TraceQueries(path).records("odd")

    assert record.at == 0.0


def test_session_is_known_by_its_first_prompt(path: Path, store: SqliteTraces) -> None:
    for number, (event, subject) in enumerate(
        (("session_start", "startup"), ("before_agent", "add an index"), ("before_agent", "and a test"))
    ):
        store.write(Record(f"t{number}", Step.OUTCOME, START + number, event, "s1", subject=subject))
    store.flush()
    queries = TraceQueries(path)
    assert queries.first_prompt("s1") == "add an index"
    assert queries.first_prompt("s2") == ""


def test_unfinished_traces_are_found_by_that_word(path: Path, store: SqliteTraces) -> None:
    for record in (*trace("whole", START), *trace("killed", START + 1)[:2]):
        store.write(record)
    store.flush()
    queries = TraceQueries(path)
    assert [one.trace for one in queries.traces(TraceFilter(decision="unfinished"))] == ["killed"]
    assert [one.trace for one in queries.traces(TraceFilter(decision="unfinished,pass"))] == ["killed", "whole"]
