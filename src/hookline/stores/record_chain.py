"""The hash chain over stored records, which shows that none was changed, removed or put elsewhere.

The hash of a record is SHA-256 of the hash of the record before it and the digest of its own columns, so it depends on every
record before it. The digest is SHA-256 of the columns as one JSON array. A record can be left out of a receipt by giving its
digest only: the chain can be followed all the same. A program that may write the file could compute a whole new chain; a receipt that
was exported before and is kept elsewhere shows that.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

# the hash before the first record
GENESIS: Final = bytes(32)

START: Final = "start"  # the last record that was removed as one of the oldest
HEAD: Final = "head"  # the newest record
ID: Final = "id"  # no record: a random name of the chain

Columns = Sequence[object]


class Link(Struct, frozen=True):
    """A place in the chain: the number of a record, and its hash."""

    number: int = 0
    hash: bytes = GENESIS


class Break(Struct, frozen=True):
    """A place at which the chain does not hold: the record, when it was written, and what is wrong there."""

    number: int
    at: float
    problem: str


class Checked(Struct, frozen=True, kw_only=True):
    """The result of following a chain: the records in it, those of before it began, and where it breaks."""

    records: int = 0
    unchained: int = 0
    first: Link = Link()
    head: Link = Link()
    breaks: tuple[Break, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no break was found."""
        return not self.breaks


class Entry(Struct, frozen=True, kw_only=True):
    """One record as the chain sees it; without a hash it is from before the chain began."""

    number: int
    at: float
    digest: bytes
    hash: bytes | None


def digest(columns: Columns) -> bytes:
    """Return the digest of a record: of its number and all its columns but the hash."""
    return hashlib.sha256(msgspec.json.encode(columns)).digest()


def next_hash(before: bytes, digest: bytes) -> bytes:
    """Return the hash of a record from the hash of the record before it and its own digest."""
    return hashlib.sha256(before + digest).digest()


def extend(head: Link, rows: Iterable[tuple[object, ...]]) -> tuple[list[tuple[object, ...]], Link]:
    """Return rows with their numbers before and their hashes behind them, as they follow a head, and the new head."""
    number, last = head.number, head.hash
    linked: list[tuple[object, ...]] = []
    for row in rows:
        number += 1
        columns = (number, *row)
        last = next_hash(last, digest(columns))
        linked.append((*columns, last))
    return linked, Link(number, last)


def check(start: Link, entries: Iterable[Entry], head: Link | None, *, most: int = 100) -> Checked:
    """Follow a chain from its start to its head; at most so many breaks are returned.

    After a break, the chain is followed on from the hash that stands there, so that each break is found by itself.
    """
    records = unchained = 0
    last, has_begun = start, start.hash != GENESIS
    breaks: list[Break] = []
    for entry in entries:
        problem = ""
        if entry.hash is None:
            if not has_begun:
                unchained += 1
                last = Link(entry.number, last.hash)
                continue
            problem = "has no hash: it was added by a program that keeps no chain"
        elif entry.number <= last.number:
            problem = f"follows record {last.number}: it is there twice, or was moved"
        elif entry.number != last.number + 1:
            missing = entry.number - last.number - 1
            problem = f"follows record {last.number}: {missing} between them {'is' if missing == 1 else 'are'} missing"
        elif entry.hash != next_hash(last.hash, entry.digest):
            problem = "was changed, or stands in another place than it was written"
        if problem and len(breaks) < most:
            breaks.append(Break(entry.number, entry.at, problem))
        has_begun = True
        records += 1
        # the next record with a hash follows the one before this
        last = Link(entry.number, entry.hash or last.hash)
    if head is not None and last.hash != head.hash and len(breaks) < most:
        gone = head.number - last.number
        more = f"is the last one: {gone} more {'was' if gone == 1 else 'were'} written after it"
        problem = more if gone > 0 else "is not the one written last"
        breaks.append(Break(last.number, 0.0, problem))
    return Checked(records=records, unchained=unchained, first=start, head=last, breaks=tuple(breaks))


def read_link(connection: sqlite3.Connection, name: str) -> Link | None:
    """Return the START or the HEAD of the chain in a file."""
    row = connection.execute("SELECT number, hash FROM chain WHERE name = ?", (name,)).fetchone()
    return Link(int(row[0]), bytes(row[1])) if row is not None else None


def write_link(connection: sqlite3.Connection, name: str, link: Link) -> None:
    """Store the START or the HEAD of the chain."""
    connection.execute(
        "INSERT OR REPLACE INTO chain (name, number, hash) VALUES (?, ?, ?)", (name, link.number, link.hash)
    )
