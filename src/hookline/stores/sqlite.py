"""Traces in one SQLite file: written in the background, readable at any time, also by other programs."""

import atexit
import logging
import os
import sqlite3
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline import wire
from hookline.errors import StoreError
from hookline.model.record import Record
from hookline.stores import spool
from hookline.stores._dropped import Dropped
from hookline.stores._retention import make_room
from hookline.stores._sqlite_file import (
    COLUMNS,
    INSERT,
    Row,
    explained,
    identity,
    open_to_read,
    open_to_write,
    record_of,
    row_of,
    text_of,
    where_session,
)

logger: Final = logging.getLogger(__name__)

BOUND: Final = 100_000  # records kept in memory while they cannot be stored
BATCH: Final = 100  # this many are worth a transaction at once
GATHER: Final = 0.05  # seconds to wait for that many
MOST_ROWS: Final = 1_000  # of one transaction, so that other processes get their turn
FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 30.0
BUSY_TIMEOUT: Final = 1.0  # what stays locked for longer is tried again later
LARGEST: Final = 256 * 1024 * 1024  # bytes of records; beyond that, the oldest ones go
_FOREVER: Final = -1.0


class SqliteTraces:
    """Keep records in one file.

    `write` only puts a record into a queue; a thread stores the queue soon. What cannot be stored is kept, up
    to `bound` records, and tried again. A store that was closed opens again when it is written to. A file that
    holds more than `largest` bytes when it is opened loses its oldest records.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bound: int = BOUND,
        busy_timeout: float = BUSY_TIMEOUT,
        largest: int = LARGEST,
    ) -> None:
        # the program may change its folder later, the store stays where it is
        self._path = Path(path).absolute()
        self._busy_timeout = busy_timeout
        self._writer = _Writer(self._path, bound=bound, busy_timeout=busy_timeout, largest=largest)
        # The thread knows the writer and never the store, so that a forgotten store is collected and ends it.
        weakref.finalize(self, self._writer.retire).atexit = False

    def write(self, record: Record) -> None:
        """Take one record without waiting; it is stored soon."""
        self._writer.take(record)

    def flush(self) -> None:
        """Wait until everything taken so far is stored.

        Raises:
            StoreError: It could not be stored; it is kept and tried again.
        """
        self._writer.store()

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """List the newest traces first.

        Raises:
            StoreError: The file cannot be read.
        """
        self._settle()
        where, values = where_session(session)
        found: dict[str, None] = {}
        with self._reading() as connection:
            query = f"SELECT trace FROM records WHERE {where} ORDER BY number DESC"  # noqa: S608 - constants only
            # Grouping would read the whole table; the newest traces are within its last few rows.
            for (trace,) in connection.execute(query, values) if limit > 0 else ():
                found[trace] = None
                if len(found) == limit:
                    break
        return list(found)

    def records(self, trace: str) -> list[Record]:
        """Give all records of one trace, in order.

        Raises:
            StoreError: The file cannot be read.
        """
        self._settle()
        query = f"SELECT {COLUMNS} FROM records WHERE trace = ? ORDER BY number"  # noqa: S608 - constants only
        with self._reading() as connection:
            return [record_of(row) for row in connection.execute(query, (text_of(trace),))]

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Give every record as one line of JSON, oldest first; what is written meanwhile is left out.

        Raises:
            StoreError: The file cannot be read.
        """
        self._settle()
        where, values = where_session(session)
        query = (
            f"SELECT number, {COLUMNS} FROM records WHERE {where} AND number > ? AND number <= ? "  # noqa: S608 - constants only
            f"ORDER BY number LIMIT {MOST_ROWS}"
        )
        with self._reading() as connection:
            last = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()[0]
        number = 0
        # Page by page: a reader that stays open would keep the write-ahead log from being folded in.
        while number < last:
            with self._reading() as connection:
                page = connection.execute(query, (*values, number, last)).fetchall()
            for row in page:
                yield wire.dump(asdict(record_of(row[1:])))
            number = page[-1][0] if page else last

    def close(self) -> None:
        """Store what is left and give the file back.

        Raises:
            StoreError: Something could not be stored; it is tried once more when the program ends.
        """
        self._writer.close()

    def _settle(self) -> None:
        """Store what this process wrote before it reads, so that it finds its own records."""
        # A failure is logged already, and no reason not to show what is there.
        if not self._writer.failing:
            with suppress(StoreError):
                self._writer.store()
            self._writer.take_in()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            # a fork waits until nobody of this program is inside SQLite
            with self._writer.held(), closing(open_to_read(self._path, self._busy_timeout)) as connection:
                yield connection
        except (sqlite3.Error, OSError) as problem:
            raise explained(problem, self._path) from problem


class _Writer:
    """The queue, and the thread that empties it."""

    def __init__(self, path: Path, *, bound: int, busy_timeout: float, largest: int) -> None:
        self._path = path
        self._largest = largest
        self._bound = bound
        self._busy_timeout = busy_timeout
        self._guards_forks = False
        self._begin()

    def _begin(self) -> None:
        """Start from nothing: at first, and in a forked child, whose parent stores what the parent took."""
        self._queue: deque[Record] = deque()
        self._dropped = Dropped()
        self._thread: threading.Thread | None = None
        self._ending = False
        self._retired = False
        self.failing = False
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._last_call = _nothing_to_cancel
        # Both are reentrant, because a finalizer may write or fork in the middle of anything.
        self._lifecycle = threading.RLock()
        self._storing = threading.RLock()
        # A lock used as a bell: to ring it is to release it, which never waits and so is safe everywhere.
        self._bell = threading.Lock()
        self._bell.acquire()
        # How long the queue must be before `take` has more to do than to append: 1 while the thread is idle,
        # BATCH while it gathers, beyond the bound while it works.
        self._alarm = 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the writer and forks out for a moment."""
        with self._storing:
            yield

    def take(self, record: Record) -> None:
        """Append to the queue, and wake the thread if it sleeps."""
        self._queue.append(record)
        if len(self._queue) >= self._alarm:
            self._attend()

    def _attend(self) -> None:
        thread = self._thread
        if thread is None or not thread.is_alive():
            self._start()
        if len(self._queue) > self._bound:
            # The thread is not woken: it works, or it waits until it makes sense to try again.
            self._dropped.make_room(self._queue, self._bound)
        else:
            self._ring()

    def _ring(self) -> None:
        if self._bell.locked():
            with suppress(RuntimeError):  # somebody else just did
                self._bell.release()

    def _start(self) -> None:
        with self._lifecycle:
            if self._thread is not None and self._thread.is_alive():
                return
            if not self._guards_forks:
                self._guards_forks = True
                _guard_forks(self)
            self._last_call()
            self._last_call = _at_exit(self.finish)
            self._ending = False
            thread = threading.Thread(target=self._work, name="hookline-traces", daemon=True)
            try:
                thread.start()
            except RuntimeError as problem:
                self._complain(f"{self._path}: traces are only stored when the program ends: {problem}")
            else:
                self._thread = thread

    def _work(self) -> None:
        """Store batch after batch until told to end."""
        try:
            self._store_batches()
        finally:
            self._alarm = 1  # whatever ended this thread, the next record starts another
        if self._retired:
            self.finish()

    def _store_batches(self) -> None:
        retry = FIRST_RETRY
        while not self._ending:
            if not self._queue:
                self._rest(_FOREVER, alarm=1)
                continue
            self._rest(GATHER, alarm=BATCH)
            try:
                self.store()
                retry = FIRST_RETRY
            except StoreError:
                self._rest(retry, alarm=self._bound + 1)
                retry = min(retry * 2, LAST_RETRY)

    def _rest(self, seconds: float, *, alarm: int) -> None:
        # The alarm is set before the length is read, and `take` appends before it reads the alarm: whichever
        # comes first, one of the two sees the other.
        self._alarm = alarm
        if len(self._queue) < alarm and not self._ending:
            self._bell.acquire(timeout=seconds)
        self._alarm = self._bound + 1

    def store(self) -> None:
        """Store what is in the queue now, in whichever thread this is."""
        try:
            with self._storing:
                left = len(self._queue)
                while left > 0:
                    left -= self._store_some(min(left, MOST_ROWS))
        except (sqlite3.Error, OSError, StoreError) as problem:
            unstored = self._unstored(problem)
            self._complain(str(unstored))
            raise unstored from problem
        self.failing = False

    def take_in(self) -> None:
        """Store what calls without this program left beside the file."""
        if spool.is_waiting(self._path):
            with self._storing, suppress(sqlite3.Error, OSError, StoreError):
                spool.take_in(self._connected(), self._path)

    def _store_some(self, most: int) -> int:
        batch: list[Record] = []
        dropped = self._dropped.counts()
        try:
            # an IndexError means that a full queue was trimmed meanwhile
            with suppress(IndexError):
                batch.extend(self._queue.popleft() for _ in range(most))
            self._insert([row_of(record) for record in (*self._dropped.warnings(dropped), *batch)])
        except BaseException:
            self._queue.extendleft(reversed(batch))
            self._dropped.make_room(self._queue, self._bound)
            self._disconnect()
            raise
        self._dropped.forget(dropped)
        return most

    def _insert(self, rows: list[Row]) -> None:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")

    def _connected(self) -> sqlite3.Connection:
        # A file that was deleted or moved away can still be written to; nobody would ever read it.
        if self._connection is not None and self._identity != identity(self._path):
            self._disconnect()
        if self._connection is None:
            self._connection = open_to_write(self._path, self._busy_timeout)
            self._identity = identity(self._path)
            spool.take_in(self._connection, self._path)
            make_room(self._connection, self._largest)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # closing undoes an unfinished transaction; where even that fails, the file is no better left open
            with suppress(sqlite3.Error):
                connection.close()

    def _unstored(self, problem: sqlite3.Error | OSError | StoreError) -> StoreError:
        known = problem if isinstance(problem, StoreError) else explained(problem, self._path)
        dropped = sum(self._dropped.counts().values())
        lost = f", {dropped} older ones were dropped" if dropped else ""
        return StoreError(f"{known} ({len(self._queue)} records wait in memory{lost})")

    def _complain(self, text: str) -> None:
        """Log the first of a row of failures; the others would say the same."""
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
        self._last_call()

    def _end_thread(self) -> None:
        if self._thread is threading.current_thread():
            return  # before the lock, because somebody who holds it may be waiting for this thread
        with self._lifecycle:
            thread = self._thread
            if thread is None:
                return
            self._ending = True
            self._ring()
            thread.join()
            self._thread = None
            self._alarm = 1

    def retire(self) -> None:
        """Let the thread finish alone; called by the garbage collector, where nothing may wait."""
        self._retired = True
        self._ending = True
        self._ring()

    def finish(self) -> None:
        """Close, where nobody can be told about a failure but the log."""
        try:
            self.close()
        except StoreError as problem:
            logger.error("%s", problem)  # noqa: TRY400 - the text says all, a traceback at exit helps nobody

    def before_fork(self) -> None:
        """Keep everybody out of SQLite, whose open files and locks must not be inherited."""
        self._storing.acquire()
        self._disconnect()

    def after_fork_in_parent(self) -> None:
        """Go on; the file is opened again by the next batch."""
        self._storing.release()

    def after_fork_in_child(self) -> None:
        """Forget the parent's queue, thread and locks."""
        self._begin()


def _guard_forks(writer: _Writer) -> None:
    if not hasattr(os, "register_at_fork"):
        return
    # These can never be taken back, so they hold nothing that should be collected.
    os.register_at_fork(
        before=_unless_gone(weakref.WeakMethod(writer.before_fork)),
        after_in_parent=_unless_gone(weakref.WeakMethod(writer.after_fork_in_parent)),
        after_in_child=_unless_gone(weakref.WeakMethod(writer.after_fork_in_child)),
    )


def _nothing_to_cancel() -> None:
    pass


def _at_exit(finish: Callable[[], None]) -> Callable[[], None]:
    """Call this when the process ends; give back what cancels it."""
    if "multiprocessing.util" in sys.modules:
        from multiprocessing import parent_process, util  # noqa: PLC0415 - loaded already, or not needed

        # A forked child of multiprocessing ends without atexit before Python 3.13.
        if parent_process() is not None:
            return util.Finalize(None, finish, exitpriority=0).cancel
    atexit.register(finish)
    return partial(atexit.unregister, finish)


def _unless_gone(method: weakref.WeakMethod[Callable[[], None]]) -> Callable[[], None]:
    def call() -> None:
        alive = method()
        if alive is not None:
            alive()

    return call
