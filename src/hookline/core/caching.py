"""Answers that hooks gave before: what an answer depends on, and how it is written down.

A key is a digest of everything the hook said that its answer depends on, and of the hook itself. Where not all of that
can be told exactly, there is no key, and the hook is asked.
"""

import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict

from hookline import surroundings
from hookline.core.contents import Contents
from hookline.core.effects.tools import effects_of
from hookline.core.identity import Identity, anchor
from hookline.core.includes import included
from hookline.errors import ConfigError
from hookline.model.context import EFFECTS, context_of
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict

logger: Final = logging.getLogger(__name__)

# an answer that is longer is asked for each time
LARGEST: Final = 256 * 1024

# not said by the event, but by when and in which conversation it came
_NOT_SAID: Final = frozenset({"id", "timestamp", "session", "chain", "parent"})
_NOT_SAID_OF_SESSION: Final = frozenset({"id", "started"})

_MISSING: Final = ("missing",)


class Identify(Protocol):
    """Says what a hook is, byte for byte."""

    def __call__(self, hook: Hook, *, cwd: str) -> Identity:
        """Give the definition and the content of every file of it."""


class Kept(Struct, frozen=True):
    """An answer, and when it was given."""

    at: float
    verdict: Verdict


def is_cached(hook: Hook) -> bool:
    """Say whether answers of a hook are kept; what others do for it is not part of an answer."""
    return hook.cache is not None and not hook.background and not hook.steps and not hook.raises


class Answers:
    """Finds out what an answer depends on, now."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify
        self._contents = Contents()
        # a function of this program may be another one in the next, and the next one of the same name here as well
        self._program = os.urandom(8).hex()
        self._functions: dict[str, tuple[object, int]] = {}
        self._complained: set[str] = set()

    def hook_digest(self, hook: Hook, event: Event, sealed: Sealed | None) -> str:
        """Say what would run; empty when that cannot be told."""
        if hook.call is not None:
            return f"{self._program} {hook.id} {self._number(hook)}"
        now = self._identify(hook, cwd=event.cwd)
        # the bytes that were vetted are those that run, and not what stands there by now
        if now.problem or (sealed is not None and now.files is not sealed and now.files != sealed):
            return ""
        programs = [(program.name, program.path, program.seen) for program in now.programs]
        return hashlib.sha256(msgspec.msgpack.encode([now.digest, programs])).hexdigest()

    def _number(self, hook: Hook) -> int:
        """Count the functions that a hook has been; the last one is held, so that no other is taken for it."""
        function, number = self._functions.get(hook.id, (None, 0))
        if function is not hook.call:
            number += 1
            self._functions[hook.id] = (hook.call, number)
        return number

    def key(self, hook: Hook, event: Event, digest: str, told: Sequence[Event] = ()) -> str:
        """Give the digest of all that the answer depends on; empty when there is something that cannot be told.

        `told` are the events the hook is told in place of this one, which are what its answer is about. Files are read
        here, so this may take a while.
        """
        if hook.cache is None or not digest:
            return ""
        said = [_said(hook.cache.by, one) for one in told or (event,)]
        if any(one is UNSET for one in said):
            return ""
        try:
            depends = [
                said,
                # the same words mean something else in another folder, and at another moment
                (event.name, event.cwd),
                self._files(hook, event.cwd),
                [(name, surroundings.environ().get(name)) for name in hook.cache.env],
            ]
            return hashlib.sha256(_ENCODER.encode([digest, depends])).hexdigest()
        except (ConfigError, TypeError, ValueError, OverflowError, RecursionError) as problem:
            self._complain(hook, problem)
            return ""

    def _files(self, hook: Hook, cwd: str) -> list[tuple[str, str, str]]:
        patterns = tuple(surroundings.expanded(name) for name in hook.cache.files) if hook.cache else ()
        found = []
        for path in included(patterns, anchor(hook, cwd)):
            content = self._contents.read(path)
            if content is not None and content.problem:
                raise ConfigError(f'"{path}" is {content.problem}')
            found.append((path, content.form if content else "", content.sha256 if content else ""))
        return found

    def _complain(self, hook: Hook, problem: Exception) -> None:
        if hook.id not in self._complained:
            self._complained.add(hook.id)
            logger.warning('hook "%s" is asked each time, its answers are not kept: %s', hook.id, problem)


def kept(verdict: Verdict, at: float) -> bytes | None:
    """Write an answer down; None for what is no plain answer: a failure, or one that cannot be read back as it was."""
    if verdict.failure is not None or verdict.raised or verdict.job:
        return None
    plain = Verdict(
        decision=verdict.decision,
        reason=verdict.reason,
        effects=verdict.effects,
        ends=verdict.ends,
        notes=verdict.notes,
        metadata=verdict.metadata,
    )
    try:
        raw = msgspec.msgpack.encode(Kept(at, plain))
        is_same = len(raw) <= LARGEST and msgspec.msgpack.decode(raw, type=Kept).verdict == plain
    except Exception:  # noqa: BLE001 - functions answer with values of their own, which may do anything when compared
        return None
    return raw if is_same else None


def recalled(raw: bytes | None, *, seconds: float, now: float) -> Verdict | None:
    """Read an answer that was given before, unless it is too old, or from a time that has not come yet."""
    if raw is None:
        return None
    try:
        found = msgspec.msgpack.decode(raw, type=Kept)
    except msgspec.DecodeError:
        return None
    return found.verdict if found.at <= now < found.at + seconds else None


def _said(by: Sequence[str], event: Event) -> object:
    """Give what the event says that the answer depends on; UNSET when it says nothing of it."""
    if not by:
        fields = {name: value for name, value in asdict(event).items() if name not in _NOT_SAID}
        session = asdict(event.session)
        return fields, {name: value for name, value in session.items() if name not in _NOT_SAID_OF_SESSION}
    effects = effects_of(event).told() if any(path.split(".")[0] == EFFECTS for path in by) else None
    context = context_of(event, effects=effects)
    found = [_at(context, path) for path in by]
    if all(value is UNSET for value in found):
        # nothing of what the answer depends on is there: this event cannot be told from any other
        return UNSET
    return [_MISSING if value is UNSET else (value,) for value in found]


def _at(context: object, path: str) -> object:
    for name in path.split("."):
        if isinstance(context, Mapping) and name in context:
            context = context[name]
        elif isinstance(context, list | tuple) and name.isdecimal() and int(name) < len(context):
            context = context[int(name)]
        else:
            return UNSET
    return context


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of the event is of the type {type(value).__name__}, and cannot be compared")


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_plain, order="sorted")
