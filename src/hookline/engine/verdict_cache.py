"""Cache keys and serialisation of verdicts.

A key is a digest of everything that the hook declares its verdict to depend on, and of the hook itself. Where one of
these cannot be determined exactly, there is no key, and the hook runs.
"""

import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict

from hookline import caller_context
from hookline.effects.tools import find_effects
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook
from hookline.model.template_context import EFFECTS, event_context
from hookline.model.verdict import Verdict
from hookline.trust.files_and_programs import FileCache
from hookline.trust.fingerprint import HookFingerprint, expand_includes, get_naming_root

logger: Final = logging.getLogger(__name__)

# larger verdicts are not cached
LARGEST: Final = 256 * 1024

# fields that identify the event, not what happens
_IDENTIFYING: Final = frozenset({"id", "timestamp", "session", "chain", "parent"})
_IDENTIFYING_SESSION: Final = frozenset({"id", "started"})

_MISSING: Final = ("missing",)


class Identify(Protocol):
    """Computes the fingerprint of a hook."""

    def __call__(self, hook: Hook, *, cwd: str) -> HookFingerprint:
        """Return the definition and the content of every file of the hook."""


class CachedVerdict(Struct, frozen=True):
    """A verdict, and when it was returned."""

    at: float
    verdict: Verdict


def is_cached(hook: Hook) -> bool:
    """Return whether verdicts of a hook are cached; not where other hooks contribute to them."""
    return hook.cache is not None and not hook.background and not hook.steps and not hook.raises


class CacheKeys:
    """Compute what a verdict depends on now."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify
        self._contents = FileCache()
        # another process, or a later definition in this one, may have a different function of the same name
        self._process = os.urandom(8).hex()
        self._functions: dict[str, tuple[object, int]] = {}
        self._warned: set[str] = set()

    def hook_digest(self, hook: Hook, event: Event, sealed: Sealed | None) -> str:
        """Return a digest of what would run, or "" when that cannot be determined."""
        if hook.call is not None:
            return f"{self._process} {hook.id} {self._function_number(hook)}"
        now = self._identify(hook, cwd=event.cwd)
        # the vetted bytes run, whatever the files contain by now
        if now.problem or (sealed is not None and now.files is not sealed and now.files != sealed):
            return ""
        programs = [(program.name, program.path, program.seen) for program in now.programs]
        return hashlib.sha256(msgspec.msgpack.encode([now.digest, programs])).hexdigest()

    def _function_number(self, hook: Hook) -> int:
        """Return the number of functions that a hook id has had; the reference keeps the last one from being collected."""
        function, number = self._functions.get(hook.id, (None, 0))
        if function is not hook.call:
            number += 1
            self._functions[hook.id] = (hook.call, number)
        return number

    def key(self, hook: Hook, event: Event, digest: str, parts: Sequence[Event] = ()) -> str:
        """Return the digest of all that the verdict depends on, or "" when it cannot be determined. Reads files.

        `parts` are the events that the hook gets in place of this one.
        """
        if hook.cache is None or not digest:
            return ""
        inputs = [_verdict_inputs(hook.cache.by, part) for part in parts or (event,)]
        if any(one is UNSET for one in inputs):
            return ""
        try:
            depends = [
                inputs,
                # the same values mean something else in another folder, and at another event
                (event.name, event.cwd),
                self._file_digests(hook, event.cwd),
                [(name, caller_context.environ().get(name)) for name in hook.cache.env],
            ]
            return hashlib.sha256(_ENCODER.encode([digest, depends])).hexdigest()
        except (ConfigError, TypeError, ValueError, OverflowError, RecursionError) as problem:
            self._warn(hook, problem)
            return ""

    def _file_digests(self, hook: Hook, cwd: str) -> list[tuple[str, str, str]]:
        patterns = tuple(caller_context.expand_home(name) for name in hook.cache.files) if hook.cache else ()
        digests = []
        for path in expand_includes(patterns, get_naming_root(hook, cwd)):
            content = self._contents.read(path)
            if content is not None and content.problem:
                raise ConfigError(f'"{path}" is {content.problem}')
            digests.append((path, content.form if content else "", content.sha256 if content else ""))
        return digests

    def _warn(self, hook: Hook, problem: Exception) -> None:
        if hook.id not in self._warned:
            self._warned.add(hook.id)
            logger.warning('hook "%s" is asked each time, its answers are not kept: %s', hook.id, problem)


def encode_verdict(verdict: Verdict, at: float) -> bytes | None:
    """Serialise a verdict; None for a failure, or where it cannot be read back unchanged."""
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
        raw = msgspec.msgpack.encode(CachedVerdict(at, plain))
        is_same = len(raw) <= LARGEST and msgspec.msgpack.decode(raw, type=CachedVerdict).verdict == plain
    except Exception:  # noqa: BLE001 - values that functions return may raise anything when they are compared
        return None
    return raw if is_same else None


def decode_verdict(raw: bytes | None, *, seconds: float, now: float) -> Verdict | None:
    """Deserialise a verdict, unless it is too old or from the future."""
    if raw is None:
        return None
    try:
        cached = msgspec.msgpack.decode(raw, type=CachedVerdict)
    except msgspec.DecodeError:
        return None
    return cached.verdict if cached.at <= now < cached.at + seconds else None


def _verdict_inputs(by: Sequence[str], event: Event) -> object:
    """Return the values of the event that the verdict depends on; UNSET when the event has none of them."""
    if not by:
        fields = {name: value for name, value in asdict(event).items() if name not in _IDENTIFYING}
        session = asdict(event.session)
        return fields, {name: value for name, value in session.items() if name not in _IDENTIFYING_SESSION}
    effects = find_effects(event).as_dict() if any(path.split(".")[0] == EFFECTS for path in by) else None
    context = event_context(event, effects=effects)
    values = [_value_at(context, path) for path in by]
    if all(value is UNSET for value in values):
        # every such event would have the same key
        return UNSET
    return [_MISSING if value is UNSET else (value,) for value in values]


def _value_at(context: object, path: str) -> object:
    for name in path.split("."):
        if isinstance(context, Mapping) and name in context:
            context = context[name]
        elif isinstance(context, list | tuple) and name.isdecimal() and int(name) < len(context):
            context = context[int(name)]
        else:
            return UNSET
    return context


def _encode_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of the event is of the type {type(value).__name__}, and cannot be compared")


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_encode_mapping, order="sorted")
