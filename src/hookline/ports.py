"""The extension points: each implementation is one module and one row in a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.job import InboxMessage, Ticket
from hookline.model.record import Record
from hookline.model.verdict import Outcome, Verdict

T = TypeVar("T")


class Dialect(Protocol):
    """A two-way codec between one wire format and the model. A module satisfies it; all functions are pure.

    Decoders raise only `DialectError`, for any bytes.
    """

    @property
    def SPEC(self) -> DialectSpec:  # noqa: N802 - a module's constant
        """The dialect's fixed facts."""

    def encode_event(self, event: Event, hook: Hook) -> Request:
        """Encode an event for a hook of this dialect."""

    def decode_event(self, raw: bytes, name: str = "") -> Event:
        """Decode an event of an agent.

        `name` is the agent's own name of the event, for agents that do not write it into the document.
        """

    def decode_reply(self, reply: Reply, request: Request) -> Verdict:
        """Decode the reply of a hook of this dialect."""

    def encode_outcome(self, outcome: Outcome, event: Event) -> Answer:
        """Encode an outcome for an agent of this dialect."""


class Kind(Protocol):
    """A way to run a hook."""

    def refusal(self, hook: Hook) -> str:
        """Return why this hook cannot run as it is configured, or ""."""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the hook and wait at most `timeout` seconds; a cancelled call leaves no process behind."""

    async def close(self) -> None:
        """Release what is held between calls."""


class Sink(Protocol):
    """A receiver of records. It cannot change an outcome, and must not block."""

    def __call__(self, record: Record, /) -> None:
        """Receive one record."""


class TraceStore(Protocol):
    """Stores records."""

    def write(self, record: Record) -> None:
        """Accept one record without blocking; it is stored soon."""

    def flush(self) -> None:
        """Block until everything accepted so far is stored."""

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """Return the newest traces first."""

    def records(self, trace: str) -> list[Record]:
        """Return all records of one trace, in order."""

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Yield every record as one line of JSON, oldest first."""

    def close(self) -> None:
        """Store what is pending and close the files."""


class JobQueue(Protocol):
    """Stores queued runs of background hooks, and messages for the next agent in a project.

    All methods but `is_there` may block on a file, so they are called from threads. Each raises `StoreError` where the file
    cannot be used.
    """

    def put(self, hook: Hook, event: Event, *, project: str, subject: str = "") -> Ticket:
        """Queue a run, folded into a waiting one for the same subject; once this returns, it survives a crash."""

    def post(self, letters: Sequence[InboxMessage]) -> None:
        """Store letters for the next agent in their projects."""

    def is_there(self) -> bool:
        """Return whether anything was ever stored; without blocking."""

    def collect(self, project: str) -> list[InboxMessage]:
        """Remove and return the oldest letters of a project."""

    def close(self) -> None:
        """Close the file."""


class StateValue(Struct, frozen=True):
    """A stored value, and when it expires, in seconds since the epoch.

    A `spare` value can be computed again, and is evicted first.
    """

    value: bytes
    until: float
    spare: bool = False


# called with the values of the keys and the time; returns the values to store, and the result of the change
Decide = Callable[[Mapping[str, bytes], float], tuple[Mapping[str, StateValue], T]]


class StateStore(Protocol):
    """A key-value store that outlives an event, shared by all processes that open it.

    Expired values are not returned. Where calls may block (`waits`), they are made in a thread. All methods raise only
    `StoreError`.
    """

    @property
    def waits(self) -> bool:
        """Whether a call may block."""

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values of the keys that exist."""

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` read and change these keys in one transaction."""

    def forget(self, prefixes: Sequence[str]) -> int:
        """Delete every value whose key has one of these prefixes, and return how many."""

    def close(self) -> None:
        """Close the files; the next call opens them again."""


class FileMatch(Protocol):
    """A compiled list of path patterns."""

    def __call__(self, path: str, folder: str, *, above: bool = False) -> bool:
        """Return whether a path matches; a relative one is resolved against `folder`.

        With `above`, the path is also tried relative to the repositories around the folder.
        """
        ...
