"""The extension points. Each is one file of ours, or one of yours, and one row in a table."""

from collections.abc import Iterator
from typing import Protocol

from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.record import Record
from hookline.model.verdict import Outcome, Verdict


class Dialect(Protocol):
    """A two-way codec between one wire format and our words. A module satisfies it; all of it is pure.

    Decoders raise `DialectError` and nothing else, whatever the bytes.
    """

    @property
    def SPEC(self) -> DialectSpec:  # noqa: N802 - a module's constant
        """The dialect's fixed facts."""

    def encode_event(self, event: Event, hook: Hook) -> Request:
        """Say an event to a hook of this dialect."""

    def decode_event(self, raw: bytes) -> Event:
        """Read an event as a host of this dialect says it."""

    def decode_reply(self, reply: Reply, request: Request) -> Verdict:
        """Read what a hook of this dialect answered."""

    def encode_outcome(self, outcome: Outcome, event: Event) -> Answer:
        """Say an outcome to a host of this dialect."""


class Kind(Protocol):
    """A way to reach a hook."""

    def refusal(self, hook: Hook) -> str:
        """Say why this hook may not run as it is written; empty when it may."""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Ask the hook and wait at most `timeout` seconds; when cancelled, leave nothing behind."""

    async def close(self) -> None:
        """Give back what is kept between calls."""


class Sink(Protocol):
    """Whoever listens to what happens. It cannot change an outcome, and it must not wait."""

    def __call__(self, record: Record, /) -> None:
        """Take one record."""


class TraceStore(Protocol):
    """Where records are kept."""

    def write(self, record: Record) -> None:
        """Take one record without waiting; it is stored soon."""

    def flush(self) -> None:
        """Wait until everything taken so far is stored."""

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """The newest traces first."""

    def records(self, trace: str) -> list[Record]:
        """All records of one trace, in order."""

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Every record as one line of JSON, oldest first."""

    def close(self) -> None:
        """Store what is left and give the files back."""
