"""What has to go so that traces do not fill a disk."""

import sqlite3
from typing import Final

# of one transaction, so that programs that trace get their turn in between
REMOVED_AT_ONCE: Final = 5_000
# each time a file is opened: whoever opens it waits for this
MOST_ROUNDS: Final = 4

_USED: Final = """
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""


def make_room(connection: sqlite3.Connection, largest: int) -> int:
    """Remove some of the oldest quarter of the records of a file that holds more than `largest` bytes; say how many.

    The file does not become smaller, but the room is used again.
    """
    if connection.execute(_USED).fetchone()[0] <= largest:
        return 0
    first, last = connection.execute("SELECT min(number), max(number) FROM records").fetchone()
    if first is None:
        return 0
    removed = 0
    for _ in range(MOST_ROUNDS):
        count = remove_up_to(connection, first + (last - first) // 4)
        removed += count
        if not count:
            break
    return removed


def remove_up_to(connection: sqlite3.Connection, last: int) -> int:
    """Remove some of the oldest records, none with a number above `last`; say how many."""
    return _remove(connection, "number <= ? ORDER BY number", last)


def remove_before(connection: sqlite3.Connection, time: float) -> int:
    """Remove some of the records from before a time; say how many.

    Those of a call without a daemon may have waited beside the file for long, and so stand behind newer ones.
    """
    return _remove(connection, "at < ?", time)


def _remove(connection: sqlite3.Connection, which: str, bound: float) -> int:
    connection.execute("BEGIN IMMEDIATE")
    removed = connection.execute(
        f"DELETE FROM records WHERE number IN (SELECT number FROM records WHERE {which} LIMIT ?)",  # noqa: S608 - as above
        (bound, REMOVED_AT_ONCE),
    ).rowcount
    connection.execute("COMMIT")
    return removed
