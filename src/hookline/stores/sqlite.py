"""Traces in one SQLite file: written by a thread, and readable at any time by all processes."""

import atexit
import logging
import os
import sqlite3
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.errors import StoreError
from hookline.model.record import Record, Step, text_size
from hookline.stores import counters
from hookline.stores._sqlite_file import USED, Layout, SqliteConnection, to_number, to_utf8, transaction
from hookline.stores.record_chain import GENESIS, HEAD, START, Link, extend, read_link, write_link

logger: Final = logging.getLogger(__name__)

BOUND: Final = 100_000  # records kept in memory while they cannot be stored
BATCH: Final = 100  # records that are stored at once
GATHER: Final = 0.05  # seconds to wait for that many
MOST_ROWS: Final = 1_000  # of one transaction, so that other processes get their turn
PAGE: Final = 5_000  # records that are read at once
FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 30.0
BUSY_TIMEOUT: Final = 1.0  # seconds until a retry later
LARGEST: Final = 256 * 1024 * 1024  # bytes of records; beyond that, the oldest are removed
MOST_WAITING: Final = 64 * 1024 * 1024  # bytes of records in memory while they cannot be stored, about
_FOREVER: Final = -1.0
# A program with a session per request and a full disk must not fill the memory with counts.
MOST_SESSIONS: Final = 1_000

_TABLES_OF_VERSION_2: Final = (
    "CREATE TABLE chain (name TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID",
    # names this chain in receipts
    "INSERT INTO chain VALUES ('id', 0, randomblob(16))",
    counters.TABLE,
)
_TABLES: Final = (
    """CREATE TABLE records (
        number INTEGER PRIMARY KEY,
        trace TEXT NOT NULL,
        step TEXT NOT NULL,
        at REAL NOT NULL,
        event TEXT NOT NULL,
        session TEXT NOT NULL,
        hook TEXT NOT NULL,
        detail TEXT NOT NULL,
        host TEXT NOT NULL DEFAULT '',
        project TEXT NOT NULL DEFAULT '',
        tool TEXT NOT NULL DEFAULT '',
        subject TEXT NOT NULL DEFAULT '',
        decision TEXT NOT NULL DEFAULT '',
        duration REAL NOT NULL DEFAULT 0,
        hash BLOB
    )""",
    *_TABLES_OF_VERSION_2,
    "CREATE INDEX records_by_trace ON records (trace)",
    "CREATE INDEX records_by_session ON records (session)",
    # records of events have no hook
    "CREATE INDEX records_by_hook ON records (hook, at) WHERE hook <> ''",
    "CREATE INDEX records_by_time ON records (at)",
)
# Version 2: agent, project, tool, subject, decision and duration became columns, and records became links of a chain, and are counted.
_TO_VERSION_2: Final = (
    *(
        f"ALTER TABLE records ADD COLUMN {name} TEXT NOT NULL DEFAULT ''"
        for name in ("host", "project", "tool", "subject")
    ),
    "ALTER TABLE records ADD COLUMN decision TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE records ADD COLUMN duration REAL NOT NULL DEFAULT 0",
    "ALTER TABLE records ADD COLUMN hash BLOB",
    *_TABLES_OF_VERSION_2,
    "DROP INDEX IF EXISTS records_blocked",
    """UPDATE records SET
        decision = coalesce(json_extract(detail, '$.decision'), ''),
        duration = coalesce(json_extract(detail, '$.duration'), 0),
        tool = coalesce(json_extract(detail, '$.tool'), '')
    WHERE json_valid(detail)""",
    # what the other records of a trace say
    f"""UPDATE records SET
        tool = coalesce((SELECT tool FROM records AS event WHERE event.trace = records.trace AND event.tool <> ''), ''),
        detail = json_set(detail, '$.failed', (
            SELECT count(*) FROM records AS run WHERE run.trace = records.trace AND run.step = '{Step.FAILED}'))
    WHERE step = '{Step.OUTCOME}' AND json_valid(detail)""",
)
# records of failed hooks, of blocked operations, of events as a whole, and of runs of hooks
FAILED: Final = f"step = '{Step.FAILED}'"
BLOCKED: Final = "step = 'outcome' AND decision IN ('deny', 'stop')"
OUTCOMES: Final = "step = 'outcome'"
RUNS: Final = f"step IN ('{Step.COMPLETED}', '{Step.FAILED}')"
_INDEXES: Final = (
    f"CREATE INDEX IF NOT EXISTS records_failed ON records (number) WHERE {FAILED}",
    f"CREATE INDEX IF NOT EXISTS records_blocked ON records (number) WHERE {BLOCKED}",
    # these two hold all that lists of sessions and figures of hooks need, so that neither reads the records
    f"CREATE INDEX IF NOT EXISTS records_outcomes ON records (session, at, host, project, decision) WHERE {OUTCOMES}",
    f"CREATE INDEX IF NOT EXISTS records_runs ON records (hook, at, host, duration, decision, step, event) WHERE {RUNS}",
)
# the application id is "hklt"
TRACES: Final = Layout(
    application=0x686B_6C74, schema=2, tables=_TABLES, indexes=_INDEXES, migrations={1: _TO_VERSION_2}
)
COLUMNS: Final = "trace, step, at, event, session, hook, detail, host, project, tool, subject, decision, duration"
_INSERT: Final = f"INSERT INTO records (number, {COLUMNS}, hash) VALUES ({', '.join('?' * 15)})"

NEWEST: Final = "SELECT coalesce(max(number), 0) FROM records"

# records in one transaction, so that other writers get their turn in between
REMOVED_AT_ONCE: Final = 5_000
# transactions between two measurements of the file
MOST_ROUNDS: Final = 4

_STEPS: Final[Mapping[str, Step]] = MappingProxyType({step.value: step for step in Step})
Row = tuple[str, str, float, str, str, str, str, str, str, str, str, str, float]


class DropCounter:
    """Counts the records that a full store dropped, by session, until a warning about them is stored."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._at = 0.0
        # reentrant: a signal handler or a finalizer may write during a write
        self._lock = threading.RLock()

    def make_room(self, queue: deque[Record], bound: int) -> None:
        """Drop the oldest records of a queue that holds more than `bound`."""
        with self._lock:
            try:
                while len(queue) > bound:
                    session = queue.popleft().session
                    key = session if session in self._counts or len(self._counts) < MOST_SESSIONS else ""
                    self._counts[key] = self._counts.get(key, 0) + 1
                    self._at = time.time()
            except IndexError:
                return  # another thread emptied it

    def counts(self) -> Mapping[str, int]:
        """Return how many were dropped, by session."""
        with self._lock:
            return dict(self._counts)

    def forget(self, counts: Mapping[str, int]) -> None:
        """Subtract counts whose warnings are stored."""
        with self._lock:
            for session, count in counts.items():
                left = self._counts.pop(session, 0) - count
                if left > 0:
                    self._counts[session] = left

    def warnings(self, counts: Mapping[str, int]) -> list[Record]:
        """Return a warning for each session, so that its export shows the loss."""
        return [
            Record(
                trace=f"dropped-{session}" if session else "dropped",
                step=Step.WARNING,
                at=self._at,
                event="",
                session=session,
                detail={"message": f"the trace store was full: {count} older records were dropped", "dropped": count},
            )
            for session, count in counts.items()
        ]


class SqliteTraces:
    """Stores records in one file.

    `write` only puts a record into a queue; a thread stores the queue soon. Records that cannot be stored stay in memory, up
    to `bound`, and are retried. A closed store opens again when it is written to. A file with more than `largest` bytes
    loses its oldest records. Methods that read raise `StoreError` when the file cannot be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bound: int = BOUND,
        busy_timeout: float = BUSY_TIMEOUT,
        largest: int = LARGEST,
    ) -> None:
        self._writer = _Writer(path, bound=bound, busy_timeout=busy_timeout, largest=largest)
        self._read = self._writer.file.read
        # The thread refers to the writer and not to the store, so that an unused store is collected and ends it.
        weakref.finalize(self, self._writer.retire).atexit = False

    def write(self, record: Record) -> None:
        """Queue a record; it is stored soon."""
        self._writer.put(record)

    def flush(self) -> None:
        """Wait until every queued record is stored.

        Raises:
            StoreError: They could not be stored; they are kept and retried.
        """
        self._writer.store()

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """Return the ids of traces, the newest first."""
        self._store_queue()
        where, values = _session_filter(session)
        found: dict[str, None] = {}
        with self._read() as connection:
            query = f"SELECT trace FROM records WHERE {where} ORDER BY number DESC"
            # GROUP BY would read the whole table; the newest traces are in its last few rows.
            for (trace,) in connection.execute(query, values) if limit > 0 else ():
                found[trace] = None
                if len(found) == limit:
                    break
        return list(found)

    def records(self, trace: str) -> list[Record]:
        """Return the records of a trace, in order."""
        self._store_queue()
        with self._read() as connection:
            return read_trace(connection, trace)

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Yield every record as a line of JSON, oldest first, without those that are written meanwhile."""
        self._store_queue()
        where, values = _session_filter(session)
        last = self._writer.file.fetch(NEWEST)[0][0]
        for _, *row in read_pages(self._writer.file, f"{where} AND number <= ?", (*values, last)):
            yield json_codec.dump(asdict(row_to_record(tuple(row))))

    def close(self) -> None:
        """Store the queue and close the file.

        Raises:
            StoreError: Something could not be stored; it is retried when the process exits.
        """
        self._writer.close()

    def _store_queue(self) -> None:
        """Store the queue before reading, so that a process finds its own records; failures are logged already."""
        if not self._writer.failing:
            with suppress(StoreError):
                self._writer.store()


class _Writer:
    """The queue, and the thread that empties it."""

    def __init__(self, path: str | os.PathLike[str], *, bound: int, busy_timeout: float, largest: int) -> None:
        self.file = SqliteConnection(path, TRACES, busy_timeout=busy_timeout, in_child=self._reset)
        self._largest = largest
        self._bound = bound
        self._reset()

    def _reset(self) -> None:
        """Start empty, also in a forked child: the parent stores its own queue."""
        self._queue: deque[Record] = deque()
        self._dropped = DropCounter()
        self._thread: threading.Thread | None = None
        self._ending = False
        self._retired = False
        self.failing = False
        self._cancel_at_exit: Callable[[], None] = lambda: None
        # reentrant: a finalizer may write or fork at any time
        self._lifecycle = threading.RLock()
        # A lock used as an event: releasing it wakes the thread, and never blocks.
        self._wakeup = threading.Lock()
        self._wakeup.acquire()
        # The length of the queue at which `put` does more than append: 1 while the thread is idle, BATCH while it waits
        # for more, beyond the bound while it stores.
        self._alarm = 1

    def put(self, record: Record) -> None:
        """Append to the queue, and wake the thread if necessary."""
        self._queue.append(record)
        if len(self._queue) < self._alarm:
            return
        thread = self._thread
        if thread is None or not thread.is_alive():
            self._start()
        if self.failing:
            self._limit_size()
        if len(self._queue) > self._bound:
            # The thread is not woken: it is storing, or waits for its retry.
            self._dropped.make_room(self._queue, self._bound)
        elif not self.failing:
            self._wake()

    def _limit_size(self) -> None:
        """Drop the oldest queued records beyond MOST_WAITING bytes; check again after some more."""
        size = 0
        for newer, record in enumerate(reversed(tuple(self._queue))):
            size += text_size(record.detail)
            if size > MOST_WAITING:
                self._dropped.make_room(self._queue, newer)
                break
        self._alarm = min(len(self._queue) + BATCH // 4, self._bound + 1)

    def _wake(self) -> None:
        if self._wakeup.locked():
            with suppress(RuntimeError):  # another thread just did
                self._wakeup.release()

    def _start(self) -> None:
        with self._lifecycle:
            if self._thread is not None and self._thread.is_alive():
                return
            self._cancel_at_exit()
            self._cancel_at_exit = _register_at_exit(self.finish)
            self._ending = False
            thread = threading.Thread(target=self._work, name="hookline-traces", daemon=True)
            try:
                thread.start()
            except RuntimeError as problem:
                self._log_once(f"{self.file.path}: traces are only stored when the program ends: {problem}")
            else:
                self._thread = thread

    def _work(self) -> None:
        """Store batches until the writer ends."""
        retry = FIRST_RETRY
        try:
            while not self._ending:
                if not self._queue:
                    self._wait(_FOREVER, alarm=1)
                    continue
                self._wait(GATHER, alarm=BATCH)
                try:
                    self.store()
                    retry = FIRST_RETRY
                except StoreError:
                    self._wait(retry, alarm=min(len(self._queue) + BATCH // 4, self._bound + 1))
                    retry = min(retry * 2, LAST_RETRY)
        finally:
            self._alarm = 1  # the next record starts another thread
        if self._retired:
            self.finish()

    def _wait(self, seconds: float, *, alarm: int) -> None:
        # No lost wake-up: this sets the alarm before it reads the length, and `put` appends before it reads the alarm.
        self._alarm = alarm
        if len(self._queue) < alarm and not self._ending:
            self._wakeup.acquire(timeout=seconds)
        self._alarm = self._bound + 1

    def store(self) -> None:
        """Store the queue, from any thread."""
        try:
            with self.file.lock():
                left = len(self._queue)
                while left > 0:
                    left -= self._store_batch(min(left, MOST_ROWS))
        except StoreError as problem:
            dropped = sum(self._dropped.counts().values())
            lost = f", {dropped} older ones were dropped" if dropped else ""
            error = StoreError(f"{problem} ({len(self._queue)} records wait in memory{lost})")
            self._log_once(str(error))
            raise error from problem.__cause__ or problem
        self.failing = False

    def _store_batch(self, most: int) -> int:
        batch: list[Record] = []
        dropped = self._dropped.counts()
        try:
            # IndexError: another thread trimmed a full queue
            with suppress(IndexError):
                batch.extend(self._queue.popleft() for _ in range(most))
            rows = [_record_to_row(record) for record in (*self._dropped.warnings(dropped), *batch)]
            with self.file.transaction() as connection:
                _insert(connection, rows)
        except BaseException:
            self._queue.extendleft(reversed(batch))
            self._dropped.make_room(self._queue, self._bound)
            self._limit_size()
            self.file.close()
            raise
        self._dropped.forget(dropped)
        with self.file.open() as connection:
            # in batches, so that other processes get their turn
            while _make_room(connection, self._largest):
                pass
        return most

    def _log_once(self, text: str) -> None:
        """Log the first of several failures in a row."""
        if not self.failing:
            self.failing = True
            logger.error("%s", text)

    def close(self) -> None:
        """End the thread, store what is left, close the file."""
        # checked before the lock: its holder may be waiting for this thread
        if self._thread is not threading.current_thread():
            with self._lifecycle:
                if self._thread is not None:
                    self._ending = True
                    self._wake()
                    self._thread.join()
                    self._thread = None
                    self._alarm = 1
        try:
            self.store()
        finally:
            self.file.close()
        self._cancel_at_exit()

    def retire(self) -> None:
        """Let the thread finish; called by the garbage collector, and must not block."""
        self._retired = True
        self._ending = True
        self._wake()

    def finish(self) -> None:
        """Close, and log a failure."""
        try:
            self.close()
        except StoreError as problem:
            logger.error("%s", problem)  # noqa: TRY400 - the text says all, a traceback at exit helps nobody


def _register_at_exit(finish: Callable[[], None]) -> Callable[[], None]:
    """Call a function when the process exits; return a function that cancels it."""
    if "multiprocessing.util" in sys.modules:
        from multiprocessing import parent_process, util  # noqa: PLC0415 - loaded already, or not needed

        # Before Python 3.13, a forked child of multiprocessing does not run atexit.
        if parent_process() is not None:
            return util.Finalize(None, finish, exitpriority=0).cancel
    atexit.register(finish)
    return partial(atexit.unregister, finish)


def read_pages(
    file: SqliteConnection, where: str, values: Sequence[object] = (), *, after: int = 0, columns: str = COLUMNS
) -> Iterator[tuple[Any, ...]]:
    """Yield the numbers and columns of records in order, from after a number on.

    They are read page by page: a long read transaction would block checkpoints of the write-ahead log.
    """
    query = f"SELECT number, {columns} FROM records WHERE number > ? AND {where} ORDER BY number LIMIT {PAGE}"
    while page := file.fetch(query, (after, *values)):
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _session_filter(session: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for one session, or for all, and its values."""
    return ("session = ?", (to_utf8(session),)) if session else ("true", ())


def read_trace(connection: sqlite3.Connection, trace: str) -> list[Record]:
    """Return the records of a trace, in order."""
    query = f"SELECT {COLUMNS} FROM records WHERE trace = ? ORDER BY number"
    return [row_to_record(row) for row in connection.execute(query, (to_utf8(trace),))]


def _record_to_row(record: Record) -> Row:
    """Return the row of a record; must never fail, as a record that cannot be stored would block all others."""
    trace, step, event, session, hook = map(
        to_utf8, (record.trace, record.step, record.event, record.session, record.hook)
    )
    decided = record.decision
    if decided and record.detail.get("observed"):
        decided = f"observed {decided}"
    host, project, tool, subject, decision = map(
        to_utf8, (record.host, record.project, record.tool, record.subject, decided)
    )
    detail = json_codec.dump(record.detail).decode()
    at = to_number(record.at)
    # an answer from the cache says nothing about how long its hook takes
    duration = 0.0 if record.detail.get("cached") else max(0.0, to_number(record.duration))
    return trace, step, at, event, session, hook, detail, host, project, tool, subject, decision, duration


def _insert(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Insert rows as the next links of the chain and count them, in a transaction of the caller."""
    head = read_link(connection, HEAD) or Link()
    # a file of an earlier version has records that are not in the chain
    newest = int(connection.execute(NEWEST).fetchone()[0])
    linked, head = extend(Link(max(head.number, newest), head.hash), rows)
    connection.executemany(_INSERT, linked)
    write_link(connection, HEAD, head)
    counted = ((row[1], row[3], row[5], row[6], row[7], row[11], row[12]) for row in rows)
    counters.add_counts(connection, counters.count_rows(counted))


def row_to_record(row: Row) -> Record:
    """Return the record of a row."""
    trace, name, at, event, session, hook, raw, host, project, tool, subject, _decision, _duration = row
    try:
        loaded = json_codec.load(raw)
        detail = loaded if isinstance(loaded, dict) else {}
    except ValueError:
        detail = {"message": "this detail is damaged", "raw": raw}
    step = _STEPS.get(name)
    if step is None:
        # written by another version of Hookline
        step, detail = Step.WARNING, {**detail, "step": name}
    return Record(trace, step, to_number(at), event, session, hook, detail, host, project, tool, subject)


def _make_room(connection: sqlite3.Connection, largest: int) -> int:
    """Remove records of the oldest quarter if the file uses more than `largest` bytes; return how many.

    The file does not shrink, but its free pages are used again.
    """
    if connection.execute(USED).fetchone()[0] <= largest:
        return 0
    first, last = connection.execute("SELECT min(number), max(number) FROM records").fetchone()
    if first is None:
        return 0
    removed = 0
    for _ in range(MOST_ROUNDS):
        count = remove_records(connection, first + (last - first) // 4)
        removed += count
        if not count:
            break
    return removed


def remove_records(connection: sqlite3.Connection, number: int) -> int:
    """Remove a batch of the oldest records, up to a number; return how many.

    Only the oldest are ever removed, and the hash of the last of them is kept: the chain of the others starts there.
    """
    with transaction(connection):
        oldest = "SELECT number FROM records WHERE number <= ? ORDER BY number LIMIT ?"
        last = connection.execute(f"SELECT max(number) FROM ({oldest})", (number, REMOVED_AT_ONCE)).fetchone()[0]
        if last is None:
            return 0
        (known,) = connection.execute("SELECT hash FROM records WHERE number = ?", (last,)).fetchone()
        # a record of before the chain has no hash
        write_link(connection, START, Link(last, known or GENESIS))
        return connection.execute("DELETE FROM records WHERE number <= ?", (last,)).rowcount
