"""A SQLite file that stays open between calls, also when the program forks or the file is replaced."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.stores._sqlite_file import Layout, explained, identity, open_to_read, open_to_write


class Kept:
    """One connection, used by one thread at a time.

    With `durable`, what was committed survives a power cut, too: the disk is waited for. Without it a power cut may
    lose the last transactions, as a whole; the death of a process loses nothing either way.
    """

    def __init__(self, path: str | os.PathLike[str], layout: Layout, *, busy_timeout: float, durable: bool) -> None:
        # the program may change its folder later, the file stays where it is
        self.path = Path(path).absolute()
        self._layout = layout
        self._busy_timeout = busy_timeout
        self._durable = durable
        self._using = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all of it counts, or nothing.

        Raises:
            StoreError: The file cannot be used.
        """
        try:
            with self._using:
                connection = self._connected()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    self._roll_back(connection)
                    raise
        except (sqlite3.Error, OSError) as problem:
            raise explained(problem, self.path) from problem

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read; where nothing was stored yet, nothing is made.

        Raises:
            StoreError: The file cannot be used.
        """
        try:
            with self._using:
                if self._connection is not None and self._identity == identity(self.path):
                    yield self._connection
                    return
                with closing(open_to_read(self.path, self._busy_timeout, self._layout)) as connection:
                    yield connection
        except (sqlite3.Error, OSError) as problem:
            raise explained(problem, self.path) from problem

    def is_there(self) -> bool:
        """Say whether something was ever stored.

        Raises:
            StoreError: The folder cannot be looked into.
        """
        try:
            return identity(self.path) != (0, 0)
        except OSError as problem:
            raise explained(problem, self.path) from problem

    def close(self) -> None:
        """Give the file back; the next call opens it again."""
        with self._using:
            connection, self._connection = self._connection, None
            if connection is not None:
                # what was committed is safe, and the file is no better left open
                with suppress(sqlite3.Error):
                    connection.close()

    def _connected(self) -> sqlite3.Connection:
        # A file that was deleted or moved away can still be written to; nobody would ever read it.
        if self._connection is not None and self._identity != identity(self.path):
            self.close()
        _FORKS.guard(self)
        if self._connection is None:
            connection = open_to_write(self.path, self._busy_timeout, self._layout)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
            self._connection, self._identity = connection, identity(self.path)
        return self._connection

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            # closing undoes it as well, and the next call starts afresh
            self.close()

    def before_fork(self) -> None:
        """Keep everybody out of SQLite, whose open files and locks must not be inherited."""
        self._using.acquire()
        self.close()

    def after_fork_in_parent(self) -> None:
        """Go on; the file is opened again by the next call."""
        self._using.release()

    def after_fork_in_child(self) -> None:
        """Forget the lock, whose holder may be a thread of the parent."""
        self._using = threading.RLock()


class _Forks:
    """Tell every open file of a fork.

    What is registered with the system can never be taken back, and a worker opens files for as long as it lives: so
    this is registered once, and knows those that are alive.
    """

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[Kept] = weakref.WeakSet()
        self._held: list[Kept] = []
        self._changing = threading.Lock()
        self._is_registered = False

    def guard(self, kept: Kept) -> None:
        """Look after a file from now on."""
        with self._changing:
            self._alive.add(kept)
            if not self._is_registered and hasattr(os, "register_at_fork"):
                self._is_registered = True
                os.register_at_fork(
                    before=self._before, after_in_parent=self._after_in_parent, after_in_child=self._after_in_child
                )

    def _before(self) -> None:
        # files first: whoever uses one may be about to guard it
        with self._changing:
            alive = list(self._alive)
        for kept in alive:
            kept.before_fork()
        self._held = alive

    def _after_in_parent(self) -> None:
        held, self._held = self._held, []
        for kept in held:
            kept.after_fork_in_parent()

    def _after_in_child(self) -> None:
        held, self._held = self._held, []
        self._changing = threading.Lock()
        for kept in held:
            kept.after_fork_in_child()


_FORKS: Final = _Forks()
