"""Notices for the user that go with an answer: once in a session for each problem, not with every call.

The warnings that are logged during a call are among them, because an agent does not show our stderr.
"""

import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.files import make_private_folder
from hookline.model.event import Ability, Event, EventName
from hookline.model.verdict import Effect, EffectKind, Outcome
from hookline.text import sanitize

T = TypeVar("T")

_LARGEST: Final = 256 * 1024  # bytes of one session's file
_LONGEST: Final = 600  # characters of one notice
_MOST: Final = 8  # notices in one answer
# numbers that differ from call to call: counts and durations
_COUNT: Final = re.compile(r" \(\d+ [a-z ]+\)|\b\d+(?:\.\d+)?(?:e-\d+)? ?(?:ms|s|m|h)\b")
# rare enough to repeat a notice where its file cannot be written
_RARE: Final = frozenset({EventName.SESSION_START, EventName.BEFORE_AGENT})
# events at which an agent that shows no messages gets them through the model
_THROUGH_THE_MODEL: Final = _RARE | {EventName.AFTER_TOOL}
MOST_WARNINGS: Final = 50  # of one call
_CURRENT_WARNINGS: Final[ContextVar[list[str] | None]] = ContextVar("call_warnings", default=None)


class _NoticeLine(Struct, frozen=True, omit_defaults=True):
    """The key of a notice that was shown, or, with its text, of one that is pending."""

    key: str
    pending: str = msgspec.field(default="", name="owed")


class Notices:
    """Collect notices, and add those to an answer that were not shown in this session yet.

    `path` is the file that lists them. A notice that an event cannot carry stays pending until the next event that can.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._collected: dict[str, str] = {}

    def add(self, text: str) -> None:
        """Collect a notice; the same text is shown once, and an empty one never."""
        if not text:
            return
        shown = sanitize(text, longest=_LONGEST).replace("\n", " ")
        # another count or duration does not make another notice
        key = hashlib.sha256(_COUNT.sub("", shown).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._collected.setdefault(key, shown)

    def attach(self, outcome: Outcome, event: Event, *, channel: Ability | None) -> Outcome:
        """Return the outcome with the notices that are due, by the channel the agent has; None is no channel now."""
        shown, pending = self._read()
        due = {key: text for key, text in {**pending, **self._collected}.items() if key not in shown}
        self._collected = {}
        if channel is None:
            self._write([_NoticeLine(key, text) for key, text in due.items() if key not in pending])
            # some agents have a field for messages here and may show it; the notice stays pending until one is known to
            effects = [_make_effect(list(due.values())[:_MOST], Ability.MESSAGE)] if due else []
            return replace(outcome, effects=(*outcome.effects, *effects))
        now = dict(list(due.items())[:_MOST])
        if not now:
            return outcome
        # recorded before it is shown: two calls at once may show it twice, which is harmless
        is_recorded = self._write([_NoticeLine(key) for key in now])
        if not is_recorded and event.name not in _RARE:
            return outcome
        self._write([_NoticeLine(key, text) for key, text in list(due.items())[_MOST:] if key not in pending])
        return replace(outcome, effects=(*outcome.effects, _make_effect(list(now.values()), channel)))

    def save(self) -> None:
        """Keep notices that came up after the answer for the next one."""
        if self._collected:
            shown, pending = self._read()
            fresh = {key: text for key, text in self._collected.items() if key not in shown and key not in pending}
            self._write([_NoticeLine(key, text) for key, text in fresh.items()])
            self._collected = {}

    def _read(self) -> tuple[frozenset[str], dict[str, str]]:
        """Return the keys of the notices that were shown, and the pending ones."""
        lines = read_lines(self._path, _NoticeLine) if self._path is not None else []
        shown = frozenset(line.key for line in lines if not line.pending)
        return shown, {line.key: line.pending for line in lines if line.pending and line.key not in shown}

    def _write(self, lines: list[_NoticeLine]) -> bool:
        """Append lines to the file; return whether they are there."""
        if not lines:
            return True
        if self._path is None:
            return False
        return append_lines(self._path, b"".join(_ENCODER.encode(line) + b"\n" for line in lines), largest=_LARGEST)


_ENCODER: Final = msgspec.json.Encoder()


def choose_channel(event: Event, able: frozenset[Ability], *, everyday: frozenset[Ability]) -> Ability | None:
    """Return how an agent can show a message: through the model only if it has no other channel at any event.

    `everyday` is what it can do at the events that every session has.
    """
    if Ability.MESSAGE in able:
        return Ability.MESSAGE
    if Ability.MESSAGE not in everyday and Ability.CONTEXT in able and event.name in _THROUGH_THE_MODEL:
        return Ability.CONTEXT
    return None


def _make_effect(texts: list[str], channel: Ability) -> Effect:
    message = "\n".join(f"hookline: {text}" for text in texts)
    if channel is Ability.CONTEXT:
        return Effect(EffectKind.CONTEXT, f"Tell the person this, in these words, before anything else:\n{message}")
    return Effect(EffectKind.MESSAGE, message)


def read_lines(path: Path, kind: type[T]) -> list[T]:
    """Return the lines of a file as values of a type; a line that a full disk cut off is left out, as is a missing file."""
    lines: list[T] = []
    with contextlib.suppress(OSError):
        raw = path.read_bytes()
        decoder = msgspec.json.Decoder(kind)
        for line in raw.splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                lines.append(decoder.decode(line))
    return lines


def append_lines(path: Path, raw: bytes, *, largest: int) -> bool:
    """Append lines to a file in one write, up to a size of the file; return whether they are there."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        try:
            handle = os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private_folder(path.parent)
            handle = os.open(path, flags, 0o600)
        try:
            if os.fstat(handle).st_size + len(raw) > largest:
                return False
            return os.write(handle, raw) == len(raw)
        finally:
            os.close(handle)
    except OSError:
        return False


class _WarningHandler(logging.Handler):
    """Assign each warning to the call it is about; those of background threads go to the next call."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.unassigned: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, with the exception if there is one."""
        problem = record.exc_info[1] if record.exc_info else None
        lines = _CURRENT_WARNINGS.get()
        lines = self.unassigned if lines is None else lines
        line = f"{record.getMessage()}{f': {problem!r}' if problem is not None else ''}"
        # without repetitions and with a limit: refused callers must not fill the daemon's memory
        if len(lines) < MOST_WARNINGS and line not in lines:
            lines.append(line)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collect the warnings of a call, and earlier ones that belong to no call."""
    root = logging.getLogger()
    handler = next((handler for handler in root.handlers if isinstance(handler, _WarningHandler)), None)
    # a process that answers one call has no handler yet
    before = None if handler is not None else root.handlers[:]
    if handler is None:
        handler = _WarningHandler()
        root.handlers[:] = [handler]
    lines = handler.unassigned
    if before is None:
        handler.unassigned = []
    token = _CURRENT_WARNINGS.set(lines)
    try:
        yield lines
    finally:
        _CURRENT_WARNINGS.reset(token)
        if before is not None:
            root.handlers[:] = before


def install_warning_log() -> None:
    """Collect warnings from now on, and never print them: the daemon answers many calls at once."""
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if isinstance(handler, _WarningHandler)] or [
        _WarningHandler()
    ]
