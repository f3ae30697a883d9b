"""The hash chain over stored records, which shows that none was changed, removed or put elsewhere, and receipts of it.

The hash of a record is SHA-256 of the hash of the record before it and the digest of its own columns, so it depends on every
record before it. The digest is SHA-256 of the columns as one JSON array. A record can be left out of a receipt by giving its
digest only: the chain can be followed all the same. A program that may write the file could compute a whole new chain; a receipt that
was exported before and is kept elsewhere shows that.

A receipt has records and their chain as lines of JSON, which verify on any machine. Its first line names the chain, where the
receipt starts and where it ends. Each further line is one record as a list of its columns, or, of a record that was left out,
its digest only.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from hookline.errors import ConfigError

if TYPE_CHECKING:
    from hookline.stores.sqlite import Row
    from hookline.stores.trace_queries import TraceQueries

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


FORMAT: Final = "hookline-trace-receipt-1"
_AT: Final = 3  # the column with the time, counted from the number


class ReceiptHead(Struct, frozen=True, kw_only=True):
    """The first line of a receipt."""

    format: str
    chain: str
    start: int
    start_hash: str
    end: int
    end_hash: str


class ReceiptLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record of a receipt: its columns after the number, or the digest of all of it."""

    number: int
    hash: str | None = None
    record: list[object] | None = None
    digest: str = ""


class Receipt(Struct, frozen=True, kw_only=True):
    """What verifying a receipt found: its first line, how many records it shows and leaves out, and the chain."""

    head: ReceiptHead
    shown: int
    left_out: int
    checked: Checked


def write_receipt(traces: "TraceQueries", is_shown: "Callable[[Row], bool]") -> Iterator[bytes]:
    """Yield the lines of a receipt of all records; those that are not shown are left out but for their digests.

    Raises:
        ConfigError: There are no records in the chain.
    """
    start, head = traces.links()
    if head is None:
        raise ConfigError("there are no records yet, so there is nothing to give a receipt of")
    yield _encode(
        ReceiptHead(
            format=FORMAT,
            chain=traces.chain_id(),
            start=start.number,
            start_hash=start.hash.hex(),
            end=head.number,
            end_hash=head.hash.hex(),
        )
    )
    for number, row, known in traces.rows():
        # what is written from now on belongs to the next receipt
        if number > head.number:
            return
        stored = known.hex() if known is not None else None
        if is_shown(row):
            yield _encode(ReceiptLine(number=number, hash=stored, record=list(row)))
        else:
            yield _encode(ReceiptLine(number=number, hash=stored, digest=digest((number, *row)).hex()))


def _encode(line: Struct) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def read_receipt(lines: Iterable[bytes]) -> Receipt:
    """Follow the chain of a receipt.

    Raises:
        ConfigError: It is no receipt, or a line of it cannot be read.
    """
    rows = iter(lines)
    try:
        head = msgspec.json.decode(next(rows, b""), type=ReceiptHead)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"this is no receipt of `hookline trace export --receipt`: {problem}") from None
    if head.format != FORMAT:
        raise ConfigError(f"this is a receipt of the format {head.format!r}, and this Hookline knows {FORMAT!r}")
    counts = {True: 0, False: 0}

    def entries() -> Iterator[Entry]:
        for count, raw in enumerate(rows, 2):
            try:
                line = msgspec.json.decode(raw, type=ReceiptLine)
                known = bytes.fromhex(line.hash) if line.hash is not None else None
                own = digest((line.number, *line.record)) if line.record is not None else bytes.fromhex(line.digest)
                at = line.record[_AT - 1] if line.record is not None else 0.0
            except (msgspec.DecodeError, UnicodeDecodeError, ValueError, IndexError) as problem:
                raise ConfigError(f"cannot be read: {problem}", line=count) from None
            counts[line.record is not None] += 1
            yield Entry(number=line.number, at=at if isinstance(at, float) else 0.0, digest=own, hash=known)

    try:
        first, last = (
            Link(number, bytes.fromhex(text))
            for number, text in ((head.start, head.start_hash), (head.end, head.end_hash))
        )
    except ValueError as problem:
        raise ConfigError(f"cannot be read: {problem}", line=1) from None
    checked = check(first, entries(), last)
    return Receipt(head=head, shown=counts[True], left_out=counts[False], checked=checked)
