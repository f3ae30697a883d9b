"""How often a hook may run: the rules alone, without a clock and without a store.

Times are seconds since the epoch, given from outside. Every rule is bounded by its own span: a clock that was set back
delays a hook by that span at most, and keeps none from running for ever.
"""

import math
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.settings import Settings

MINUTE: Final = 60.0
DAY: Final = 86_400.0

# failures in a row are in a row as long as somebody remembers the first
FAILURES_REMEMBERED: Final = 7 * DAY
# beyond its time: whoever tries a paused hook and is killed meanwhile keeps nobody else from trying for longer
GRACE: Final = 10.0


class Past(Struct, frozen=True, omit_defaults=True):
    """What is remembered of a hook: its runs, the oldest first, its last event, and its failures.

    `opened` is when it was paused because of them, `probe` when somebody was let through to try it again. `event` is
    the one that the last run was for.
    """

    runs: tuple[float, ...] = ()
    seen: float = 0.0
    failures: int = 0
    opened: float = 0.0
    probe: float = 0.0
    event: str = ""


class Terms(Struct, frozen=True, kw_only=True):
    """What is allowed. `lease` is how long a try of a paused hook may take before another one is let through."""

    per_minute: int = 0
    cooldown: float = 0.0
    debounce: float = 0.0
    breaker: int = 0
    retry_after: float = 0.0
    lease: float = 0.0
    whose: str = ""

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return bool(self.per_minute or self.cooldown or self.debounce or self.breaker)


class Standing(Struct, frozen=True):
    """How it stands with one rule; see `Held` for what `failed` means."""

    gate: Gate
    passed: bool
    reason: str
    failed: bool = False


Rule = Callable[[Terms, Past, float], Standing]


def terms_of(hook: Hook, *, lease: float) -> Terms:
    """Say what a hook allows itself. In the background the queue waits for quiet, and takes the last event."""
    return Terms(
        per_minute=hook.per_minute,
        cooldown=hook.cooldown,
        debounce=0.0 if hook.background else hook.debounce,
        breaker=hook.breaker,
        retry_after=hook.retry_after,
        lease=lease,
    )


def terms_of_all(settings: Settings) -> Terms:
    """Say what all hooks together may do."""
    return Terms(per_minute=settings.per_minute, cooldown=settings.cooldown, whose="all hooks together: ")


def standings(terms: Terms, past: Past, now: float, *, event: str = "") -> Iterator[Standing]:
    """Say how it stands with every rule that there is, in the order they are asked.

    Hooks of one event do not have to rest from each other, so `event` is not counted against itself.
    """
    for is_set, rule in RULES:
        if is_set(terms) and not (rule is _rested and event and past.event == event):
            yield rule(terms, past, now)


def taken(terms: Terms, past: Past, now: float, *, event: str = "") -> Past:
    """Write a run down, where runs are counted: it counts from now on."""
    past = tried(terms, past, now)
    if not terms.per_minute and not terms.cooldown:
        return past
    kept = [at for at in past.runs if now - MINUTE < at <= now + MINUTE]
    return replace(past, runs=(*kept, now)[-max(terms.per_minute, 1) :], event=event)


def tried(terms: Terms, past: Past, now: float) -> Past:
    """Write down that a hook which failures have paused is tried again."""
    return replace(past, probe=now) if _is_open(terms, past, now) else past


def learned(terms: Terms, past: Past, now: float, *, failed: bool) -> Past:
    """Count a failure, or forget those that came before a success."""
    if not failed:
        return replace(past, failures=0, opened=0.0, probe=0.0)
    failures = past.failures + 1
    if failures < terms.breaker or (past.opened and not past.probe):
        # one that began before the pause ends within it, and changes nothing about when the pause ends
        return replace(past, failures=failures)
    return replace(past, failures=failures, opened=now, probe=0.0)


def until(terms: Terms, past: Past, now: float) -> float:
    """Say from when on nothing of this matters any more."""
    failures = FAILURES_REMEMBERED + terms.lease if past.failures else 0.0
    return now + max(MINUTE, terms.cooldown, terms.debounce, failures)


def encode(past: Past) -> bytes:
    """Write it down."""
    return msgspec.msgpack.encode(past)


def decode(raw: bytes | None) -> Past:
    """Read what was written down; what cannot be read is forgotten, as if the hook had never run."""
    if raw is None:
        return Past()
    try:
        return msgspec.msgpack.decode(raw, type=Past)
    except msgspec.DecodeError:
        return Past()


def paused(terms: Terms, past: Past, now: float) -> Standing:
    """Say whether failures in a row have paused a hook; once the pause is over, one run at a time may try it."""
    if not _is_open(terms, past, now):
        counted = f"{past.failures} of {terms.breaker} failures in a row"
        return Standing(Gate.BREAKER, passed=True, reason=counted if past.failures else "no failure the last time")
    failed = f"paused after {in_a_row(past.failures)}"
    left = _left(past.opened, terms.retry_after, now)
    if left:
        return Standing(Gate.BREAKER, passed=False, reason=f"{failed}, tried again in {span(left)}", failed=True)
    if past.probe and _left(past.probe, terms.lease, now):
        return Standing(Gate.BREAKER, passed=False, reason=f"{failed}, and being tried again right now", failed=True)
    return Standing(Gate.BREAKER, passed=True, reason=f"{failed}, and to be tried again")


def in_a_row(failures: int) -> str:
    """Count failures in words."""
    return f"{failures} failures in a row" if failures > 1 else "a failure"


def _quiet(terms: Terms, past: Past, now: float) -> Standing:
    left = _left(past.seen, terms.debounce, now)
    wanted = span(terms.debounce)
    if left:
        return Standing(Gate.DEBOUNCE, passed=False, reason=f"the last event is less than {wanted} ago")
    return Standing(Gate.DEBOUNCE, passed=True, reason=f"no event for {wanted}")


def _rested(terms: Terms, past: Past, now: float) -> Standing:
    left = _left(past.runs[-1] if past.runs else 0.0, terms.cooldown, now)
    whole = span(terms.cooldown)
    if left:
        reason = f"{terms.whose}{span(left)} left of {whole}"
        return Standing(Gate.COOLDOWN, passed=False, reason=reason)
    return Standing(Gate.COOLDOWN, passed=True, reason=f"{terms.whose}no run for {whole}")


def _seldom(terms: Terms, past: Past, now: float) -> Standing:
    recent = [at for at in past.runs if now - MINUTE < at <= now + MINUTE]
    counted = f"{terms.whose}{len(recent)} of {terms.per_minute} runs in the last minute"
    if len(recent) < terms.per_minute:
        return Standing(Gate.RATE, passed=True, reason=counted)
    # who lowers the limit has more runs behind them than it allows
    left = _left(recent[-terms.per_minute], MINUTE, now)
    return Standing(Gate.RATE, passed=False, reason=f"{counted}, the next in {span(left)}")


# In the order they are asked: which terms make a rule one, and the rule.
RULES: Final[tuple[tuple[Callable[[Terms], object], Rule], ...]] = (
    (lambda terms: terms.breaker, paused),
    (lambda terms: terms.debounce, _quiet),
    (lambda terms: terms.cooldown, _rested),
    (lambda terms: terms.per_minute, _seldom),
)


def _is_open(terms: Terms, past: Past, now: float) -> bool:
    # a pause from beyond its own length was written by a clock that has been set back since
    return bool(terms.breaker and past.opened) and past.opened <= now + max(terms.retry_after, terms.lease)


def _left(since: float, length: float, now: float) -> float:
    """Say how much of a span is left; never more than the span, whatever the clock did."""
    if since > now + length:
        return 0.0
    return min(max(since + length - now, 0.0), length)


def span(seconds: float) -> str:
    """Write a time as people say it; what is left is rounded up, so that nobody comes too early."""
    if seconds < 1:
        return f"{max(math.ceil(seconds * 1000), 1)} ms"
    if seconds <= 2 * MINUTE:
        return f"{math.ceil(seconds)} s"
    if seconds <= 2 * MINUTE * 60:
        return f"{math.ceil(seconds / MINUTE)} min"
    return f"{math.ceil(seconds / MINUTE / 60)} h"
