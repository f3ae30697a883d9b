"""The limits of hooks: rate limits, cooldowns, debouncing and circuit breakers; and time budgets that hooks share.

The rules have neither a clock nor a store: times are seconds since the epoch, passed in. Every rule is bounded by its own
span: a clock that was set back delays a hook by that span at most, and never blocks it forever.
"""

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.model.hook import Hook, Layer
from hookline.model.plan import Gate
from hookline.model.settings import Settings

MINUTE: Final = 60.0
DAY: Final = 86_400.0

# consecutive failures expire after this time
FAILURES_EXPIRY: Final = 7 * DAY
# added to the timeout: a process that is killed while it probes a paused hook blocks other probes no longer than this
GRACE: Final = 10.0

# a message names at most this many hooks, and none that took less than this part of the budget
_MOST_NAMED: Final = 3
_WORTH_NAMING: Final = 0.05


class RunHistory(Struct, frozen=True, omit_defaults=True):
    """The stored history of a hook: its runs, the oldest first, its last event, and its failures.

    `opened` is when failures paused it, `probe` when one run was admitted to try it again. `event` is that of the last
    run.
    """

    runs: tuple[float, ...] = ()
    seen: float = 0.0
    failures: int = 0
    opened: float = 0.0
    probe: float = 0.0
    event: str = ""


class RateLimits(Struct, frozen=True, kw_only=True):
    """The limits of a hook. `lease` is how long a probe of a paused hook may take before another one is admitted."""

    per_minute: int = 0
    cooldown: float = 0.0
    debounce: float = 0.0
    breaker: int = 0
    retry_after: float = 0.0
    lease: float = 0.0
    label: str = ""

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return bool(self.per_minute or self.cooldown or self.debounce or self.breaker)


class LimitStatus(Struct, frozen=True):
    """The status of one limit; see `Denied` for `failed`."""

    gate: Gate
    passed: bool
    reason: str
    failed: bool = False


def limits_of(hook: Hook, *, lease: float) -> RateLimits:
    """Return the limits of a hook. The queue debounces background hooks, and runs them with the last event."""
    return RateLimits(
        per_minute=hook.per_minute,
        cooldown=hook.cooldown,
        debounce=0.0 if hook.background else hook.debounce,
        breaker=hook.breaker,
        retry_after=hook.retry_after,
        lease=lease,
    )


def shared_limits(settings: Settings) -> RateLimits:
    """Return the limits of all hooks together."""
    return RateLimits(per_minute=settings.per_minute, cooldown=settings.cooldown, label="all hooks together: ")


def check_limits(limits: RateLimits, history: RunHistory, now: float, *, event: str = "") -> Iterator[LimitStatus]:
    """Yield the status of every limit that is set, in the order they are checked.

    Hooks of one event need no cooldown from each other, so `event` does not count against itself.
    """
    if limits.breaker:
        yield breaker_status(limits, history, now)
    if limits.debounce:
        yield _debounce_status(limits, history, now)
    if limits.cooldown and not (event and history.event == event):
        yield _cooldown_status(limits, history, now)
    if limits.per_minute:
        yield _rate_status(limits, history, now)


def add_run(limits: RateLimits, history: RunHistory, now: float, *, event: str = "") -> RunHistory:
    """Return the history with one more run, where runs are counted."""
    history = add_probe(limits, history, now)
    if not limits.per_minute and not limits.cooldown:
        return history
    return replace(history, runs=(*_recent_runs(history, now), now)[-max(limits.per_minute, 1) :], event=event)


def add_probe(limits: RateLimits, history: RunHistory, now: float) -> RunHistory:
    """Return the history with a probe, where failures have paused the hook."""
    return replace(history, probe=now) if _is_open(limits, history, now) else history


def add_result(limits: RateLimits, history: RunHistory, now: float, *, failed: bool) -> RunHistory:
    """Return the history with one more failure, or without failures after a success."""
    if not failed:
        return replace(history, failures=0, opened=0.0, probe=0.0)
    failures = history.failures + 1
    if failures < limits.breaker or (history.opened and not history.probe):
        # a run that started before the pause does not extend it
        return replace(history, failures=failures)
    return replace(history, failures=failures, opened=now, probe=0.0)


def history_expiry(limits: RateLimits, history: RunHistory, now: float) -> float:
    """Return when a history does not matter any more."""
    failures = FAILURES_EXPIRY + limits.lease if history.failures else 0.0
    return now + max(MINUTE, limits.cooldown, limits.debounce, failures)


def encode_history(history: RunHistory) -> bytes:
    """Serialise a history."""
    return msgspec.msgpack.encode(history)


def decode_history(raw: bytes | None) -> RunHistory:
    """Deserialise a history; an unreadable one is empty, as if the hook had never run."""
    if raw is None:
        return RunHistory()
    try:
        return msgspec.msgpack.decode(raw, type=RunHistory)
    except msgspec.DecodeError:
        return RunHistory()


def breaker_status(limits: RateLimits, history: RunHistory, now: float) -> LimitStatus:
    """Return whether consecutive failures have paused a hook; after the pause, one run at a time may probe it."""
    if not _is_open(limits, history, now):
        count = f"{history.failures} of {limits.breaker} failures in a row"
        return LimitStatus(Gate.BREAKER, passed=True, reason=count if history.failures else "no failure the last time")
    paused = f"paused after {describe_failures(history.failures)}"
    left = _remaining(history.opened, limits.retry_after, now)
    if left:
        reason = f"{paused}, tried again in {format_seconds(left)}"
        return LimitStatus(Gate.BREAKER, passed=False, reason=reason, failed=True)
    if history.probe and _remaining(history.probe, limits.lease, now):
        return LimitStatus(Gate.BREAKER, passed=False, reason=f"{paused}, and being tried again right now", failed=True)
    return LimitStatus(Gate.BREAKER, passed=True, reason=f"{paused}, and to be tried again")


def describe_failures(failures: int) -> str:
    """Return a number of consecutive failures in words."""
    return f"{failures} failures in a row" if failures > 1 else "a failure"


def _debounce_status(limits: RateLimits, history: RunHistory, now: float) -> LimitStatus:
    quiet = format_seconds(limits.debounce)
    if _remaining(history.seen, limits.debounce, now):
        return LimitStatus(Gate.DEBOUNCE, passed=False, reason=f"the last event is less than {quiet} ago")
    return LimitStatus(Gate.DEBOUNCE, passed=True, reason=f"no event for {quiet}")


def _cooldown_status(limits: RateLimits, history: RunHistory, now: float) -> LimitStatus:
    left = _remaining(history.runs[-1] if history.runs else 0.0, limits.cooldown, now)
    whole = format_seconds(limits.cooldown)
    if left:
        reason = f"{limits.label}{format_seconds(left)} left of {whole}"
        return LimitStatus(Gate.COOLDOWN, passed=False, reason=reason)
    return LimitStatus(Gate.COOLDOWN, passed=True, reason=f"{limits.label}no run for {whole}")


def _rate_status(limits: RateLimits, history: RunHistory, now: float) -> LimitStatus:
    recent = _recent_runs(history, now)
    count = f"{limits.label}{len(recent)} of {limits.per_minute} runs in the last minute"
    if len(recent) < limits.per_minute:
        return LimitStatus(Gate.RATE, passed=True, reason=count)
    # a lowered limit may be exceeded by more than one run
    left = _remaining(recent[-limits.per_minute], MINUTE, now)
    return LimitStatus(Gate.RATE, passed=False, reason=f"{count}, the next in {format_seconds(left)}")


def _recent_runs(history: RunHistory, now: float) -> list[float]:
    return [at for at in history.runs if now - MINUTE < at <= now + MINUTE]


def _is_open(limits: RateLimits, history: RunHistory, now: float) -> bool:
    # a pause further in the future than its own length was stored before the clock was set back
    return bool(limits.breaker and history.opened) and history.opened <= now + max(limits.retry_after, limits.lease)


def _remaining(since: float, length: float, now: float) -> float:
    """Return how much of a span is left, never more than the span, whatever the clock did."""
    return 0.0 if since > now + length else min(max(since + length - now, 0.0), length)


def format_seconds(seconds: float) -> str:
    """Return a duration in words, rounded up so that a retry does not come too early."""
    if seconds < 1:
        return f"{max(math.ceil(seconds * 1000), 1)} ms"
    if seconds <= 2 * MINUTE:
        return f"{math.ceil(seconds)} s"
    if seconds <= 2 * MINUTE * 60:
        return f"{math.ceil(seconds / MINUTE)} min"
    return f"{math.ceil(seconds / MINUTE / 60)} h"


class TimeBudget:
    """How long the hooks of one event, or the steps of one hook, may take together."""

    def __init__(self, seconds: float, what: str = "the event's budget") -> None:
        self._seconds = seconds
        self._what = what
        self._deadline = perf_counter() + seconds
        self._spent: dict[str, float] = {}

    @property
    def remaining(self) -> float:
        """The remaining seconds; zero or less when it is used up."""
        return self._deadline - perf_counter()

    def spend(self, hook: Hook, seconds: float) -> None:
        """Record how long a hook took."""
        self._spent[hook.id] = self._spent.get(hook.id, 0.0) + seconds

    def applies_to(self, hook: Hook) -> bool:
        """Return whether it limits a hook: managed hooks keep their own time, and background hooks are only queued."""
        return hook.layer is not Layer.MANAGED and not hook.background

    def limit(self, timeout: float, hook: Hook) -> float:
        """Return the timeout of a hook: its own, or what is left."""
        # an exhausted budget does not start the hook at all, so a kind always gets a positive time
        return min(timeout, max(self.remaining, 0.001)) if self.applies_to(hook) else timeout

    def __str__(self) -> str:
        return f"{self._what} of {self._seconds:.3g} s was used up" + self._spenders(" by ")

    @property
    def remainder(self) -> str:
        """Describes the time of a hook that got less than its own timeout."""
        return f"all that was left of {self._what} of {self._seconds:.3g} s" + self._spenders(" after ")

    def _spenders(self, word: str) -> str:
        longest = sorted(self._spent.items(), key=lambda item: -item[1])[:_MOST_NAMED]
        shown = [f'"{name}" ({seconds:.3g} s)' for name, seconds in longest if seconds > self._seconds * _WORTH_NAMING]
        return word + ", ".join(shown) if shown else ""
