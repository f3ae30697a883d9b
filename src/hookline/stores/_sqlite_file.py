"""SQLite files of Hookline: how they are opened and created, a connection that survives forks, and error messages."""

import math
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from hookline.errors import StoreError

LARGEST_LOG: Final = 16 * 1024 * 1024  # bytes the write-ahead log keeps after a checkpoint
SWITCH_PAUSE: Final = 0.005


class Layout(Struct, frozen=True, kw_only=True):
    """The schema of a file: its application id, its version, and its tables.

    `indexes` are created if they are missing, as in files of earlier versions. `migrations` has the statements that turn a
    file of an earlier version into one of the next.
    """

    application: int
    schema: int
    tables: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    migrations: Mapping[int, tuple[str, ...]] = {}


# one statement, because another process may be creating all three
_MARKS: Final = """
    SELECT (SELECT count(*) FROM sqlite_master), application_id, user_version
    FROM pragma_application_id, pragma_user_version
"""
# bytes that are in use
USED: Final = """
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""

_MOVE_AWAY: Final = "move the file away, together with its -wal and -shm neighbours, and a new one is made"
_MAY_WRITE: Final = "make sure that the folder exists and that you may write there"
_ADVICE: Final[Mapping[int, str]] = MappingProxyType(
    {
        sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
        sqlite3.SQLITE_CORRUPT: _MOVE_AWAY,
        sqlite3.SQLITE_FULL: "make room on the disk",
        sqlite3.SQLITE_IOERR: "make room on the disk, and check that it works",
        sqlite3.SQLITE_BUSY: "end the program that keeps it locked",
        sqlite3.SQLITE_READONLY: _MAY_WRITE,
        sqlite3.SQLITE_CANTOPEN: _MAY_WRITE,
        sqlite3.SQLITE_PERM: _MAY_WRITE,
    }
)


def _open_to_write(path: Path, busy_timeout: float, layout: Layout) -> sqlite3.Connection:
    """Open for writing; create what is missing.

    Raises:
        StoreError: A newer Hookline or another program wrote the file.
        sqlite3.Error: SQLite cannot open it.
        OSError: The folder or the file cannot be made.
    """
    _require_file(path)
    # Folder and file are for the owner alone; SQLite creates its other two files with the same mode.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Only opened when new: closing another descriptor of the file would drop all locks of this process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077 and path.is_file():
            with suppress(PermissionError):  # a file of another user
                path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=False)
    try:
        fresh = _is_fresh(connection, path, layout)
        _enable_wal(connection, busy_timeout)
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
        if fresh:
            _create(connection, path, layout)
        elif is_old(connection, layout):
            _migrate(connection, path, layout)
        for index in layout.indexes:
            connection.execute(index)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_to_read(path: Path, busy_timeout: float, layout: Layout) -> sqlite3.Connection:
    """Open read-only; return an empty database if nothing was stored yet."""
    _require_file(path)
    if path.exists():
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=busy_timeout, isolation_level=None)
        try:
            fresh = _is_fresh(connection, path, layout)
            old = not fresh and is_old(connection, layout)
        except BaseException:
            connection.close()
            raise
        if not fresh and not old:
            return connection
        connection.close()
        if old:
            _open_to_write(path, busy_timeout, layout).close()
            return _open_to_read(path, busy_timeout, layout)
    nothing = sqlite3.connect(":memory:", isolation_level=None)
    _create(nothing, path, layout)
    return nothing


def _enable_wal(connection: sqlite3.Connection, busy_timeout: float) -> None:
    """Switch to the write-ahead log, in which readers and the writer do not block each other."""
    end = time.monotonic() + busy_timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            # SQLite does not use its busy timeout when two processes switch at the same time.
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(SWITCH_PAUSE)
        else:
            return


def _require_file(path: Path) -> None:
    """Refuse a pipe: opening it would block until it has a reader or writer."""
    try:
        mode = path.stat().st_mode
    except OSError:
        # opening it reports the reason
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise StoreError(f"{path}: this is neither a file nor a folder: move it away, and a new file is made")


def _is_fresh(connection: sqlite3.Connection, path: Path, layout: Layout) -> bool:
    """Return whether the database is empty; refuse one of another program or a newer version."""
    tables, application, version = connection.execute(_MARKS).fetchone()
    if application == layout.application:
        if version > layout.schema:
            raise StoreError(
                f"{path}: written by a newer Hookline (schema {version}, this one knows {layout.schema}): "
                "update Hookline, or choose another file"
            )
        return False
    if tables or application or version:
        raise StoreError(f"{path}: this database belongs to another program: choose another file")
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a transaction for writing; it is rolled back where the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled it back itself where the disk is full
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _create(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    with transaction(connection):
        # another process may have created the tables while this one waited for the lock
        if _is_fresh(connection, path, layout):
            for statement in layout.tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {layout.application}")
            connection.execute(f"PRAGMA user_version = {layout.schema}")


def is_old(connection: sqlite3.Connection, layout: Layout) -> bool:
    """Return whether an earlier version of Hookline made the tables."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] < layout.schema)


def _migrate(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    """Bring the tables up to date, in one transaction: a process that is killed meanwhile changes nothing."""
    with transaction(connection):
        # another process may have done it while this one waited for the lock
        if not _is_fresh(connection, path, layout):
            for version in range(connection.execute("PRAGMA user_version").fetchone()[0], layout.schema):
                for statement in layout.migrations.get(version, ()):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {layout.schema}")


def to_utf8(value: str) -> str:
    """Return a text without lone surrogates, which paths and names from outside may contain."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_number(value: float | str) -> float:
    """Return a number for a NOT NULL column; SQLite stores NaN as NULL."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return 0.0 if math.isnan(number) else number


class SqliteConnection:
    """A connection that stays open between calls, also when the process forks or the file is replaced.

    One thread uses it at a time. With `durable`, commits wait for the disk and survive a power cut. Without it a power cut
    may lose the last transactions as a whole; a killed process loses nothing either way. `in_child` is called in a forked
    child.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        layout: Layout,
        *,
        busy_timeout: float,
        durable: bool = False,
        in_child: Callable[[], None] | None = None,
    ) -> None:
        # absolute: the process may change its working directory
        self.path = Path(path).absolute()
        self._layout = layout
        self._busy_timeout = busy_timeout
        self._durable = durable
        self._in_child = in_child
        self._using = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        FORK_HANDLERS.add(self)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other threads and forks, and explain errors.

        Raises:
            StoreError: The file cannot be used.
        """
        try:
            with self._using:
                yield
        except (sqlite3.Error, OSError) as problem:
            # the low byte is the primary error code
            code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
            # not with pathlib, which raises if the parent folder is not readable
            is_folder = os.path.isdir(self.path)  # noqa: PTH112
            advice = "this is a folder, name a file in it" if is_folder else _ADVICE.get(code, _MAY_WRITE)
            raise StoreError(f"{self.path}: {problem}: {advice}") from problem

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open for writing, without a transaction.

        Raises:
            StoreError: The file cannot be used.
        """
        with self.lock():
            # Writes to a deleted or moved file would succeed and be lost.
            if self._connection is not None and self._identity != self._read_identity():
                self.close()
            if self._connection is None:
                connection = _open_to_write(self.path, self._busy_timeout, self._layout)
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
                self._connection, self._identity = connection, self._read_identity()
            yield self._connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction for writing.

        Raises:
            StoreError: The file cannot be used.
        """
        with self.open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                try:
                    connection.execute("ROLLBACK")
                except sqlite3.Error:
                    # closing rolls back as well
                    self.close()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Open for reading, without creating a file.

        Raises:
            StoreError: The file cannot be used.
        """
        with self.lock():
            if self._connection is not None and self._identity == self._read_identity():
                yield self._connection
                return
            with closing(_open_to_read(self.path, self._busy_timeout, self._layout)) as connection:
                yield connection

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of one query, without creating a file.

        Raises:
            StoreError: The file cannot be used.
        """
        with self.read() as connection:
            return connection.execute(query, values).fetchall()

    def exists(self) -> bool:
        """Return whether something was ever stored.

        Raises:
            StoreError: The folder is not readable.
        """
        with self.lock():
            return self._read_identity() != (0, 0)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._using:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()

    def _read_identity(self) -> tuple[int, int]:
        """Return the device and inode of the file; zeros if there is none."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return (0, 0)
        return (status.st_dev, status.st_ino)

    def before_fork(self) -> None:
        """Lock and close: a child must not inherit open files and locks of SQLite."""
        self._using.acquire()
        self.close()

    def after_fork_in_parent(self) -> None:
        """Unlock; the next call opens the file again."""
        self._using.release()

    def after_fork_in_child(self) -> None:
        """Replace the lock, which a thread of the parent may hold."""
        self._using = threading.RLock()
        if self._in_child is not None:
            self._in_child()


class _ForkHandlers:
    """Prepares the connections that are alive for a fork.

    os.register_at_fork cannot be undone, and a worker opens files as long as it lives: so this registers only once.
    """

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[SqliteConnection] = weakref.WeakSet()
        self._held: list[SqliteConnection] = []
        self._changing = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._after_in_parent, after_in_child=self._after_in_child
            )

    def add(self, connection: SqliteConnection) -> None:
        """Prepare a connection for each fork from now on, as long as it is alive."""
        with self._changing:
            self._alive.add(connection)

    def _before(self) -> None:
        # not under the lock: a thread that holds the lock of a connection may be about to add another
        with self._changing:
            alive = list(self._alive)
        for connection in alive:
            connection.before_fork()
        self._held = alive

    def _after_in_parent(self) -> None:
        held, self._held = self._held, []
        for connection in held:
            connection.after_fork_in_parent()

    def _after_in_child(self) -> None:
        held, self._held = self._held, []
        self._changing = threading.Lock()
        for connection in held:
            connection.after_fork_in_child()


FORK_HANDLERS: Final = _ForkHandlers()
