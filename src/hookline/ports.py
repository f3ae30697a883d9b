"""The extension points. Each is one file of ours, or one of yours, and one row in a table."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.job import Letter, Ticket
from hookline.model.record import Record
from hookline.model.verdict import Outcome, Verdict

T = TypeVar("T")


class Dialect(Protocol):
    """A two-way codec between one wire format and our words. A module satisfies it; all of it is pure.

    Decoders raise `DialectError` and nothing else, whatever the bytes.
    """

    @property
    def SPEC(self) -> DialectSpec:  # noqa: N802 - a module's constant
        """The dialect's fixed facts."""

    def encode_event(self, event: Event, hook: Hook) -> Request:
        """Say an event to a hook of this dialect."""

    def decode_event(self, raw: bytes, name: str = "") -> Event:
        """Read an event as a host of this dialect says it.

        `name` is the host's own name of the event, for hosts that do not write it into the document; where they do,
        theirs counts.
        """

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


@runtime_checkable
class Immediate(Kind, Protocol):
    """A kind whose hooks are functions of this program: `hook.call` may be called on the spot, with an event of its own.

    What such a call comes to is then made a reply as the kind would make it itself.
    """

    def fell_over(self, problem: BaseException) -> Reply:
        """Give the reply of a hook that raised."""

    async def finish(self, value: Awaitable[object], *, timeout: float) -> Reply:
        """Wait at most `timeout` seconds for what a hook gave that has to be awaited."""


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


class JobQueue(Protocol):
    """Where background hooks wait for their turn, and what is said for an agent that is not there.

    All but `is_there` may wait for a file, so it is called from threads. Each raises `StoreError` where the file cannot be used.
    """

    def put(self, hook: Hook, event: Event, *, project: str) -> Ticket:
        """Keep a hook's run for later; once this returns, the run is owed even if this program is killed."""

    def post(self, letters: Sequence[Letter]) -> None:
        """Keep letters for the next agent in their projects."""

    def is_there(self) -> bool:
        """Say whether anything was ever put here; where nothing was, there is nothing to collect."""

    def collect(self, project: str) -> list[Letter]:
        """Hand over the oldest letters of a project; what is handed over is kept no longer."""

    def close(self) -> None:
        """Give the file back."""


class Entry(Struct, frozen=True):
    """A value to be remembered, and until when it counts, in seconds since the epoch.

    What is `spare` can be had again, and goes first where room is short.
    """

    value: bytes
    until: float
    spare: bool = False


# Given what stands at the keys and the time, says what is to stand there instead, and the answer for whoever asked.
Decide = Callable[[Mapping[str, bytes], float], tuple[Mapping[str, Entry], T]]


class StateStore(Protocol):
    """What is remembered from one event to the next, by everybody who shares the store.

    Values that do not count any more are not given, and removed some day. Where calls may have to wait for others
    (`waits`), they are made in a thread. All of them raise `StoreError`, and nothing else.
    """

    @property
    def waits(self) -> bool:
        """Whether a call may have to wait."""

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give what stands at these keys, without those where nothing does."""

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` look at these keys and change them; nobody else does anything in between."""

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key begins like this, and say how many."""

    def close(self) -> None:
        """Give the files back; the next call opens them again."""
