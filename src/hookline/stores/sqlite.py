"""Traces in one SQLite file: written by a thread, and readable at any time by all processes."""

import atexit
import logging
import os
import sqlite3
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.errors import StoreError
from hookline.model.record import Record, text_size
from hookline.stores._sqlite_file import (
    FORK_HANDLERS,
    explain_error,
    file_identity,
    open_reader,
    open_to_write,
    to_utf8,
)
from hookline.stores._trace_table import (
    COLUMNS,
    INSERT,
    TRACES,
    Row,
    make_room,
    record_to_row,
    row_to_record,
    session_filter,
)
from hookline.stores.memory import DropCounter

logger: Final = logging.getLogger(__name__)

BOUND: Final = 100_000  # records kept in memory while they cannot be stored
BATCH: Final = 100  # records that are stored at once
GATHER: Final = 0.05  # seconds to wait for that many
MOST_ROWS: Final = 1_000  # of one transaction, so that other processes get their turn
FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 30.0
BUSY_TIMEOUT: Final = 1.0  # seconds until a retry later
LARGEST: Final = 256 * 1024 * 1024  # bytes of records; beyond that, the oldest are removed
MOST_WAITING: Final = 64 * 1024 * 1024  # bytes of records in memory while they cannot be stored, about
LOOKS: Final = 16  # the file is measured after each 1/16 of its bound
_FOREVER: Final = -1.0


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
        # absolute: the process may change its working directory
        self._path = Path(path).absolute()
        self._busy_timeout = busy_timeout
        self._writer = _Writer(self._path, bound=bound, busy_timeout=busy_timeout, largest=largest)
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
        where, values = session_filter(session)
        found: dict[str, None] = {}
        with self._read() as connection:
            query = f"SELECT trace FROM records WHERE {where} ORDER BY number DESC"  # noqa: S608 - constants only
            # GROUP BY would read the whole table; the newest traces are in its last few rows.
            for (trace,) in connection.execute(query, values) if limit > 0 else ():
                found[trace] = None
                if len(found) == limit:
                    break
        return list(found)

    def records(self, trace: str) -> list[Record]:
        """Return the records of a trace, in order."""
        self._store_queue()
        query = f"SELECT {COLUMNS} FROM records WHERE trace = ? ORDER BY number"  # noqa: S608 - constants only
        with self._read() as connection:
            return [row_to_record(row) for row in connection.execute(query, (to_utf8(trace),))]

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Yield every record as a line of JSON, oldest first, without those that are written meanwhile."""
        self._store_queue()
        where, values = session_filter(session)
        query = (
            f"SELECT number, {COLUMNS} FROM records WHERE {where} AND number > ? AND number <= ? "  # noqa: S608 - constants only
            f"ORDER BY number LIMIT {MOST_ROWS}"
        )
        with self._read() as connection:
            last = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()[0]
        number = 0
        # Page by page: a long read transaction would block checkpoints of the write-ahead log.
        while number < last:
            with self._read() as connection:
                page = connection.execute(query, (*values, number, last)).fetchall()
            for row in page:
                yield json_codec.dump(asdict(row_to_record(row[1:])))
            number = page[-1][0] if page else last

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

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        # locked: a fork waits until no thread is inside SQLite
        with self._writer.lock(), open_reader(self._path, self._busy_timeout, TRACES) as connection:
            yield connection


class _Writer:
    """The queue, and the thread that empties it."""

    def __init__(self, path: Path, *, bound: int, busy_timeout: float, largest: int) -> None:
        self._path = path
        self._largest = largest
        self._bound = bound
        self._busy_timeout = busy_timeout
        self._reset()

    def _reset(self) -> None:
        """Start empty, also in a forked child: the parent stores its own queue."""
        self._queue: deque[Record] = deque()
        self._dropped = DropCounter()
        self._thread: threading.Thread | None = None
        self._ending = False
        self._retired = False
        self.failing = False
        self._connection: sqlite3.Connection | None = None
        self._written = 0
        self._identity = (0, 0)
        self._cancel_at_exit = _do_nothing
        # Both are reentrant: a finalizer may write or fork at any time.
        self._lifecycle = threading.RLock()
        self._storing = threading.RLock()
        # A lock used as an event: releasing it wakes the thread, and never blocks.
        self._wakeup = threading.Lock()
        self._wakeup.acquire()
        # The length of the queue at which `put` does more than append: 1 while the thread is idle, BATCH while it waits
        # for more, beyond the bound while it stores.
        self._alarm = 1

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out the thread and forks."""
        with self._storing:
            yield

    def put(self, record: Record) -> None:
        """Append to the queue, and wake the thread if necessary."""
        self._queue.append(record)
        if len(self._queue) >= self._alarm:
            self._on_alarm()

    def _on_alarm(self) -> None:
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
            FORK_HANDLERS.add(self)
            self._cancel_at_exit()
            self._cancel_at_exit = _register_at_exit(self.finish)
            self._ending = False
            thread = threading.Thread(target=self._work, name="hookline-traces", daemon=True)
            try:
                thread.start()
            except RuntimeError as problem:
                self._log_once(f"{self._path}: traces are only stored when the program ends: {problem}")
            else:
                self._thread = thread

    def _work(self) -> None:
        """Store batches until the writer ends."""
        try:
            self._store_batches()
        finally:
            self._alarm = 1  # the next record starts another thread
        if self._retired:
            self.finish()

    def _store_batches(self) -> None:
        retry = FIRST_RETRY
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

    def _wait(self, seconds: float, *, alarm: int) -> None:
        # No lost wake-up: this sets the alarm before it reads the length, and `put` appends before it reads the alarm.
        self._alarm = alarm
        if len(self._queue) < alarm and not self._ending:
            self._wakeup.acquire(timeout=seconds)
        self._alarm = self._bound + 1

    def store(self) -> None:
        """Store the queue, from any thread."""
        try:
            with self._storing:
                left = len(self._queue)
                while left > 0:
                    left -= self._store_batch(min(left, MOST_ROWS))
        except (sqlite3.Error, OSError, StoreError) as problem:
            error = self._make_error(problem)
            self._log_once(str(error))
            raise error from problem
        self.failing = False

    def _store_batch(self, most: int) -> int:
        batch: list[Record] = []
        dropped = self._dropped.counts()
        try:
            # IndexError: another thread trimmed a full queue
            with suppress(IndexError):
                batch.extend(self._queue.popleft() for _ in range(most))
            self._insert([record_to_row(record) for record in (*self._dropped.warnings(dropped), *batch)])
        except BaseException:
            self._queue.extendleft(reversed(batch))
            self._dropped.make_room(self._queue, self._bound)
            self._limit_size()
            self._disconnect()
            raise
        self._dropped.forget(dropped)
        return most

    def _insert(self, rows: list[Row]) -> None:
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")
        self._written += sum(len(row[-1]) for row in rows)
        if self._written > self._largest // LOOKS:
            self._written = 0
            # in batches, so that other processes get their turn
            while make_room(connection, self._largest):
                pass

    def _connect(self) -> sqlite3.Connection:
        # Writes to a deleted or moved file would succeed and be lost.
        if self._connection is not None and self._identity != file_identity(self._path):
            self._disconnect()
        if self._connection is None:
            self._connection = open_to_write(self._path, self._busy_timeout, TRACES)
            self._identity = file_identity(self._path)
            make_room(self._connection, self._largest)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # closing rolls back an unfinished transaction
            with suppress(sqlite3.Error):
                connection.close()

    def _make_error(self, problem: sqlite3.Error | OSError | StoreError) -> StoreError:
        known = problem if isinstance(problem, StoreError) else explain_error(problem, self._path)
        dropped = sum(self._dropped.counts().values())
        lost = f", {dropped} older ones were dropped" if dropped else ""
        return StoreError(f"{known} ({len(self._queue)} records wait in memory{lost})")

    def _log_once(self, text: str) -> None:
        """Log the first of several failures in a row."""
        if not self.failing:
            self.failing = True
            logger.error("%s", text)

    def close(self) -> None:
        """End the thread, store what is left, close the file."""
        self._end_thread()
        try:
            self.store()
        finally:
            with self._storing:
                self._disconnect()
        self._cancel_at_exit()

    def _end_thread(self) -> None:
        if self._thread is threading.current_thread():
            return  # before the lock: its holder may be waiting for this thread
        with self._lifecycle:
            thread = self._thread
            if thread is None:
                return
            self._ending = True
            self._wake()
            thread.join()
            self._thread = None
            self._alarm = 1

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

    def before_fork(self) -> None:
        """Lock and close: a child must not inherit open files and locks of SQLite."""
        self._storing.acquire()
        self._disconnect()

    def after_fork_in_parent(self) -> None:
        """Unlock; the next batch opens the file again."""
        self._storing.release()

    def after_fork_in_child(self) -> None:
        """Drop the parent's queue, thread and locks."""
        self._reset()


def _do_nothing() -> None:
    pass


def _register_at_exit(finish: Callable[[], None]) -> Callable[[], None]:
    """Call a function when the process exits; return a function that cancels it."""
    if "multiprocessing.util" in sys.modules:
        from multiprocessing import parent_process, util  # noqa: PLC0415 - loaded already, or not needed

        # Before Python 3.13, a forked child of multiprocessing does not run atexit.
        if parent_process() is not None:
            return util.Finalize(None, finish, exitpriority=0).cancel
    atexit.register(finish)
    return partial(atexit.unregister, finish)
