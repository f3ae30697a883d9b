"""One round trip with a hook, and one with a host."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import final

from msgspec import UNSET, Struct

from hookline import wire
from hookline.model.event import Event

# the files of a hook, by absolute path, as they were when it was vetted
Sealed = Mapping[str, bytes]


class FailureKind(StrEnum):
    """How a hook can go wrong."""

    NOT_FOUND = "not_found"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    EXIT_CODE = "exit_code"
    KILLED = "killed"
    TOO_MUCH_OUTPUT = "too_much_output"
    INVALID_REPLY = "invalid_reply"
    HOOK_ERROR = "hook_error"
    RAISED = "raised"
    UNREACHABLE = "unreachable"
    UNAVAILABLE = "unavailable"
    HTTP_STATUS = "http_status"
    INTERNAL = "internal"


@final
class Failure(Struct, frozen=True):
    """A hook that went wrong: how, and what to tell the person."""

    kind: FailureKind
    message: str


class Request:
    """What a hook is given.

    `document` is the dialect's JSON document; functions get it as a value, programs and URLs as `body`. With
    `later` it is made when it is first asked for: by then a program is already on its way. `env` comes on top
    of the environment. `values` fill `{{…}}` in command lines; None means that the dialect has no templates.
    `sealed` has the files whose content was vetted: these bytes have to run, whatever stands there by now. None
    means that nobody had to approve the hook. `native` is the event's name as this hook is told it, where the dialect has
    several for one of ours.
    """

    __slots__ = ("_document", "_later", "env", "event", "native", "sealed", "values")

    def __init__(
        self,
        *,
        event: Event,
        document: object = UNSET,
        later: Callable[[], object] | None = None,
        env: Mapping[str, str] | None = None,
        values: Mapping[str, object] | None = None,
        native: str = "",
    ) -> None:
        self.event = event
        self.native = native
        self.env = env or {}
        self.values = values
        self.sealed: Sealed | None = None
        self._document = document
        self._later = later

    @property
    def document(self) -> object:
        """The event in the dialect's words."""
        if self._document is UNSET and self._later is not None:
            self._document = self._later()
        return self._document

    @property
    def body(self) -> bytes:
        """The document as one line of JSON: `input()` in a hook reads exactly one line."""
        return self.written()

    def written(self) -> bytes:
        """Give the body, for who asks for it later."""
        if self._document is UNSET and self._later is not None:
            self._document = self._later()
        return wire.dump(self._document) + b"\n"


class Reply(Struct, frozen=True, kw_only=True):
    """What came back from a hook. `value` is set instead of `stdout` when no bytes were involved.

    `argv` are the words a program was started with.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    value: object = UNSET
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """What a host is given: the bytes and the exit code its own hook language wants."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
