"""Receipts: records and their chain as lines of JSON, which verify on any machine.

The first line names the chain, where the receipt starts and where it ends. Each further line is one record as a list of its
columns, or, of a record that was left out, its digest only.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from hookline.errors import ConfigError
from hookline.model.record import Record
from hookline.stores.record_chain import Checked, Entry, Link, check, digest
from hookline.stores.sqlite import row_to_record
from hookline.stores.trace_queries import TraceQueries

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


def write_receipt(traces: TraceQueries, is_shown: Callable[[Record], bool]) -> Iterator[bytes]:
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
        columns = (number, *row)
        stored = known.hex() if known is not None else None
        if is_shown(row_to_record(row)):
            yield _encode(ReceiptLine(number=number, hash=stored, record=list(row)))
        else:
            yield _encode(ReceiptLine(number=number, hash=stored, digest=digest(columns).hex()))


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
