"""What the person is told beside an answer: once in a session for each problem, not with every call."""

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.display import sanitize
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.verdict import Effect, EffectKind, Outcome

_LARGEST: Final = 256 * 1024  # bytes of what is remembered of one session
_LONGEST: Final = 600  # characters of one notice
_MOST: Final = 8  # notices in one answer
_COUNT: Final = re.compile(r" \(\d+ [a-z ]+\)")
# where nothing can be remembered, these are seldom enough to say it again
_SELDOM: Final = frozenset({EventName.SESSION_START, EventName.BEFORE_AGENT})


class _Line(Struct, frozen=True, omit_defaults=True):
    """A notice that was told, or, with its text, one that is still owed."""

    key: str
    owed: str = ""


class Notices:
    """Collect what to tell, and tell what was not told in this session yet.

    `path` is where that is remembered. What is owed because the moment cannot carry it is told at the next that can.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._waiting: dict[str, str] = {}

    def add(self, text: str) -> None:
        """Have something told; the same words are told once."""
        shown = sanitize(text, longest=_LONGEST).replace("\n", " ")
        self._waiting.setdefault(_key(shown), shown)

    def tell(self, outcome: Outcome, event: Event, *, by: Ability | None) -> Outcome:
        """Give the outcome with what is to be told, in the way the agent has; None is no way now."""
        told, owed = self._remembered()
        due = {key: text for key, text in {**owed, **self._waiting}.items() if key not in told}
        self._waiting = {}
        if by is None:
            self._write([_Line(key, text) for key, text in due.items() if key not in owed])
            return outcome
        now = dict(list(due.items())[:_MOST])
        if not now:
            return outcome
        # written down before it is said: what is told twice by two calls at once is told, and that is enough
        is_kept = self._write([_Line(key) for key in now])
        if not is_kept and event.name not in _SELDOM:
            return outcome
        later = [_Line(key, text) for key, text in list(due.items())[_MOST:] if key not in owed]
        self._write(later)
        return replace(outcome, effects=(*outcome.effects, _effect(list(now.values()), by)))

    def owe(self) -> None:
        """Keep what came up after the answer for the next one."""
        told, owed = self._remembered() if self._waiting else (frozenset(), {})
        self._write([_Line(key, text) for key, text in self._waiting.items() if key not in told and key not in owed])
        self._waiting = {}

    def _remembered(self) -> tuple[frozenset[str], dict[str, str]]:
        raw = _beginning(self._path, _LARGEST) if self._path is not None else b""
        lines: list[_Line] = []
        for line in raw.splitlines():
            # a line that a full disk cut off is forgotten
            with contextlib.suppress(msgspec.DecodeError):
                lines.append(_DECODER.decode(line))
        told = frozenset(line.key for line in lines if not line.owed)
        return told, {line.key: line.owed for line in lines if line.owed and line.key not in told}

    def _write(self, lines: list[_Line]) -> bool:
        """Remember lines; say whether they will be remembered."""
        if not lines:
            return True
        if self._path is None:
            return False
        return append(self._path, b"".join(_ENCODER.encode(line) + b"\n" for line in lines), largest=_LARGEST)


_DECODER: Final = msgspec.json.Decoder(_Line)
_ENCODER: Final = msgspec.json.Encoder()


def way(event: Event, able: frozenset[Ability], *, anywhere: frozenset[Ability]) -> Ability | None:
    """Choose how an agent can tell a person something: through the model only where it never can otherwise."""
    if Ability.MESSAGE in able:
        return Ability.MESSAGE
    if Ability.MESSAGE not in anywhere and Ability.CONTEXT in able and event.name in _SELDOM:
        return Ability.CONTEXT
    return None


def _effect(texts: list[str], by: Ability) -> Effect:
    said = "\n".join(f"hookline: {text}" for text in texts)
    if by is Ability.CONTEXT:
        return Effect(EffectKind.CONTEXT, f"Tell the person this, in these words, before anything else:\n{said}")
    return Effect(EffectKind.MESSAGE, said)


def _key(text: str) -> str:
    """Name a notice; how many of something it is by now makes no other one."""
    return hashlib.sha256(_COUNT.sub("", text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _beginning(path: Path, size: int) -> bytes:
    """Read a file that most often is not there."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return b""
    try:
        return os.read(handle, size)
    except OSError:
        return b""
    finally:
        os.close(handle)


def append(path: Path, raw: bytes, *, largest: int) -> bool:
    """Add lines to a file of ours in one go, up to a size; say whether they are there."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        try:
            handle = os.open(path, flags, 0o600)
        except FileNotFoundError:
            # one by one: `parents` would leave the data folder open to others
            path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, flags, 0o600)
        try:
            if os.fstat(handle).st_size + len(raw) > largest:
                return False
            return os.write(handle, raw) == len(raw)
        finally:
            os.close(handle)
    except OSError:
        return False
