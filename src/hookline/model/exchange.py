"""One round trip with a hook, and one with a host."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import final

from msgspec import UNSET, Struct

from hookline import json_codec
from hookline.model.event import Event, has_files
from hookline.model.templates import CallFacts, template_values

# the files of a hook, by absolute path, as they were when it was vetted
Sealed = Mapping[str, bytes]


class FailureKind(StrEnum):
    """The kinds of failures of a hook."""

    NOT_FOUND = "not_found"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    EXIT_CODE = "exit_code"
    KILLED = "killed"
    TOO_MUCH_OUTPUT = "too_much_output"
    LIMIT = "limit"
    TOO_LONG = "too_long"
    INVALID_REPLY = "invalid_reply"
    HOOK_ERROR = "hook_error"
    RAISED = "raised"
    UNREACHABLE = "unreachable"
    UNAVAILABLE = "unavailable"
    HTTP_STATUS = "http_status"
    INTERNAL = "internal"


@final
class Failure(Struct, frozen=True):
    """The failure of a hook: its kind, and a message for the user."""

    kind: FailureKind
    message: str


class Request:
    """The input of a hook.

    `document` is the dialect's JSON document; functions get it as a value, programs and URLs as `body`. With
    `later` it is made when it is first asked for: by then a program is already on its way. `env` comes on top
    of the environment. `values` fill `{{…}}` in command lines; None means that the dialect has no templates.
    `sealed` has the files whose content was vetted: these bytes have to run, whatever stands there by now. None
    means that the hook needs no approval. `native` is the event's name as this hook is sent it, where the dialect has
    several for one of ours.

    `find_facts` gives what the engine knows of the call. With `carries_facts` they are a part of the document and of the
    environment, and templates are filled with them.
    """

    __slots__ = (
        *("_document", "_facts", "_later", "_values", "carries_facts"),
        *("env", "event", "find_facts", "native", "sealed"),
    )

    def __init__(
        self,
        *,
        event: Event,
        document: object = UNSET,
        later: Callable[[], object] | None = None,
        env: Mapping[str, str] | None = None,
        values: Mapping[str, object] | None = None,
        native: str = "",
        carries_facts: bool = False,
    ) -> None:
        self.event = event
        self.native = native
        self.env = env or {}
        self.carries_facts = carries_facts
        self.find_facts: Callable[[], CallFacts] | None = None
        self.sealed: Sealed | None = None
        self._values = values
        self._facts: CallFacts | None = None
        self._document = document
        self._later = later

    @property
    def document(self) -> object:
        """The event in the dialect's words."""
        if self._document is UNSET and self._later is not None:
            self._document = self._later()
            if self.carries_facts and self._facts_matter() and isinstance(self._document, dict):
                self._document |= {"files": list(self.facts.files), "effects": self.facts.effects}
        return self._document

    @property
    def facts(self) -> CallFacts:
        """What the engine knows of the call; worked out when it is first asked for."""
        if self._facts is None:
            self._facts = self.find_facts() if self.find_facts is not None else CallFacts()
        return self._facts

    @property
    def values(self) -> Mapping[str, object] | None:
        """What templates are filled with."""
        if self._values is None and self.carries_facts:
            self._values = template_values(self.event, self.facts)
        return self._values

    def call_variables(self) -> Mapping[str, str]:
        """Return the environment variables that are about this one call."""
        if not self.carries_facts or not self._facts_matter():
            return {}
        return {"HOOKLINE_FILES": "\n".join(self.facts.files)}

    def _facts_matter(self) -> bool:
        return self.find_facts is not None and (bool(self.event.files) or has_files(self.event))

    @property
    def body(self) -> bytes:
        """The document as one line of JSON: `input()` in a hook reads exactly one line."""
        return json_codec.dump(self.document) + b"\n"


class Reply(Struct, frozen=True, kw_only=True, gc=False):
    """What came back from a hook. `value` is set instead of `stdout` when no bytes were involved.

    `argv` are the words a program was started with, `sandbox` the layers that contained it.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    value: object = UNSET
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    sandbox: tuple[str, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to an agent: bytes and exit code in its own protocol."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
