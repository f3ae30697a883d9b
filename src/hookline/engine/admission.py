"""Admission control: limits, requirements and cached verdicts, checked right before a hook runs."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from time import monotonic, time
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.engine import rate_limits, verdict_cache
from hookline.engine.bus import MessageBus
from hookline.engine.components import Components
from hookline.engine.rate_limits import LimitStatus, RateLimits, RunHistory
from hookline.engine.subjects import EventSubjects
from hookline.engine.trace_records import new_id, record
from hookline.engine.translator import HookTranslator
from hookline.engine.verdict_cache import CacheKeys, Identify
from hookline.errors import StoreError
from hookline.llm.spending import BudgetLedger, forget_prefixes
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.scope import DAYS, ONCE_PER_TURN, match_branch, parse_window
from hookline.model.settings import Settings
from hookline.model.verdict import Verdict
from hookline.ports import StateStore, StateValue
from hookline.trust.repository import read_branch

logger: Final = logging.getLogger(__name__)

T = TypeVar("T")
Entries = Mapping[str, bytes]
Changes = tuple[Mapping[str, StateValue], T]

# how long the `once` mark of a session is stored
ONCE_EXPIRY: Final = 30 * rate_limits.DAY
# a store that failed is not used for so many seconds: each event would wait for its timeout again
STORE_PAUSE: Final = 30.0
# running hooks whose verdict may be cached; runs that are cancelled are never reported
MAX_RUNNING: Final = 1_000
# of an event with more subjects, the first are enough to debounce
MAX_SUBJECTS: Final = 100

_SHARED_KEY: Final = "all"
_TURN: Final = "turn:"
# where agents name the turn: Codex CLI and Cursor
_TURN_FIELDS: Final = ("turn_id", "generation_id")


class Denied(Struct, frozen=True):
    """Why a hook may not run now.

    With `failed`, it should run and cannot, so its failure policy decides. Otherwise a limit that the user set skips it.
    """

    gate: Gate
    reason: str
    failed: bool = False


class _HookPolicy:
    """Everything that admission checks for one hook."""

    def __init__(self, hook: Hook, own: RateLimits, shared: RateLimits) -> None:
        self.hook = hook
        # before a background hook is queued, only what counts events is checked, the rest when it runs
        self.own = RateLimits() if hook.batch else replace(own, breaker=0) if hook.background else own
        self.all_own = own
        self.shared = shared
        self.is_cached = verdict_cache.is_cached(hook)
        self.applies = bool(own.any or shared.any or self.is_cached or hook.once or hook.needs)

    @cached_property
    def key(self) -> str:
        """The digest in all store keys of the hook; hooks of two projects may have the same id."""
        code = getattr(self.hook.call, "__code__", None)
        source = self.hook.source_path or (code.co_filename if code is not None else "")
        return _digest(f"{source}\0{self.hook.id}")

    @property
    def history_key(self) -> str:
        return f"hook:{self.key}"

    @property
    def is_counted(self) -> bool:
        return self.own.any or self.shared.any

    def once_key(self, session: str) -> str:
        """Return the key that marks a run in this session, or "" without a session."""
        return f"once:{self.key}:{_digest(session)}" if session else ""

    @property
    def is_per_turn(self) -> bool:
        return self.hook.once == ONCE_PER_TURN

    @property
    def local_key(self) -> str:
        """The mark of a run at an event without a session."""
        return f"{_TURN}{self.key}" if self.is_per_turn else self.key


class AdmissionControl:
    """Deny hooks that exceed a limit, are paused by failures or lack a requirement, and return cached verdicts."""

    def __init__(
        self,
        state: StateStore,
        *,
        components: Components,
        settings: Settings,
        bus: MessageBus,
        subjects: EventSubjects,
        identify: Identify,
    ) -> None:
        self.state = state
        self._find_missing = components.missing
        self._translator = HookTranslator(components.dialects)
        self._settings = settings
        self._bus = bus
        self._subjects = subjects
        self._cache_keys = CacheKeys(identify)
        self._ledger = BudgetLedger(state, settings.judge_budget)
        self._policies: dict[str, _HookPolicy] = {}
        # hooks with `once` that ran at events without a session
        self._ran: set[str] = set()
        self._running: dict[str, tuple[Event, str]] = {}
        self._store_paused_until = 0.0
        self._has_warned = False

    def applies_to(self, hook: Hook) -> bool:
        """Return whether there is anything to check for a hook."""
        return self._policy(hook).applies

    async def admit(self, hook: Hook, event: Event, sealed: Sealed | None) -> Denied | Verdict | None:
        """Deny a hook, or return its cached verdict; None lets it run.

        A background hook is only counted here: `admit_queued` checks the rest when it runs.
        """
        policy = self._policy(hook)
        try:
            if not hook.background and (hook.needs or policy.is_cached):
                # `once` is only read here: a hook that lacks something must not use up its run
                if hook.once and not (status := await self._read_once(policy, event)).passed:
                    return _make_denied(status)
                if (lacking := await self._check_requirements(hook, event)) is not None:
                    return lacking
                cached = await self._read_cached(policy, event, sealed) if policy.is_cached else None
                if cached is not None:
                    # a cached verdict is the session's one answer, and counts for no other limit
                    once_only = _HookPolicy(hook, RateLimits(), RateLimits())
                    return (await self._count_run(once_only, event) if hook.once else None) or cached
            if policy.is_counted or hook.once:
                return await self._count_run(policy, event)
        except StoreError as problem:
            self._warn_store(problem, event)
        except Exception:
            # a hook that runs once too often does less harm than a guard that does not run
            logger.exception("the limits of hook %s could not be asked", hook.id)
        return None

    async def admit_queued(self, hook: Hook, event: Event) -> Denied | None:
        """Check what `admit` leaves out of a background hook when it runs: requirements, and consecutive failures."""
        policy = self._policy(hook)
        try:
            denied = await self._check_requirements(hook, event)
            if denied is None and hook.breaker:
                denied = await self._probe_breaker(policy)
            if denied is None and hook.batch:
                # one run of a batch stands for many events, so it is counted when it runs
                limits = RateLimits(per_minute=hook.per_minute, cooldown=hook.cooldown)
                batch = _HookPolicy(replace(hook, once=False, batch=0.0, background=False), limits, policy.shared)
                denied = await self._count_run(batch, event) if limits.any else None
        except StoreError as problem:
            self._warn_store(problem, event)
            return None
        return denied

    async def record(self, hook: Hook, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        """Store the verdict of a hook that ran: its failures, and the verdict itself where it is cached."""
        policy = self._policy(hook)
        try:
            if hook.breaker:
                await self._count_result(policy, event, failed=verdict.failure is not None)
            if policy.is_cached:
                await self._write_cached(policy, event, sealed, verdict)
        except StoreError as problem:
            self._warn_store(problem, event)
        except Exception:
            logger.exception("the answer of hook %s could not be noted", hook.id)

    async def begin_turn(self, event: Event) -> None:
        """Record that a turn of the agent begins, so that hooks that run once per turn run again."""
        if not event.session.id:
            ran = self._ran_here()
            ran -= {key for key in ran if key.startswith(_TURN)}
            return
        turn = {_turn_key(event): StateValue((event.id or new_id(int(time() * 1000))).encode(), time() + ONCE_EXPIRY)}
        try:
            await self._access(lambda: self.state.change([], lambda _entries, _now: (turn, None)))
        except StoreError as problem:
            self._warn_store(problem, event)

    def scope_status(self, hook: Hook, event: Event) -> list[LimitStatus]:
        """Return for the branches and the times of a hook whether they hold now. Reads files and the clock.

        What cannot be read keeps no guard from running.
        """
        result = []
        if hook.branches:
            try:
                branch = read_branch(event.cwd or event.project)
                passed = bool(branch) and match_branch(hook.branches, branch)
                here = f"this is {branch}" if branch else "this is no git repository"
                reason = f"it is for the branches {', '.join(hook.branches)}; {here}"
            except (OSError, ValueError) as problem:
                passed = (hook.on_error or self._translator.default_on_error(hook)) is OnError.BLOCK
                runs = "so a guard runs" if passed else "so it does not run"
                reason = f"the branch cannot be read, {runs}: {problem}"
            result.append(LimitStatus(Gate.BRANCHES, passed, reason))
        if hook.between:
            now = caller_context.local_now()
            passed = any(parse_window(window).includes(now) for window in hook.between)
            listed = " and ".join(hook.between)
            reason = f"it is for {listed}; it is {DAYS[now.weekday()]} {now:%H:%M}"
            result.append(LimitStatus(Gate.BETWEEN, passed, reason))
        return result

    async def missing(self, hook: Hook, event: Event) -> str:
        """Return what a hook requires and lacks, or ""."""
        if hook.needs is None or self._find_missing is None:
            return ""
        return await self._find_missing(hook, event.cwd)

    def limit_status(self, hook: Hook, event: Event, *, alone: bool = False) -> list[LimitStatus]:
        """Return the status of every limit of a hook without counting a run; `alone` leaves out shared limits. May block.

        Raises:
            StoreError: The store cannot be read.
        """
        policy = self._policy(hook)
        budgets = self._budget_status(hook, alone=alone) if hook.judge else []
        if not (policy.is_counted or hook.once or hook.breaker):
            return budgets
        entries, now = self.state.read(self._store_keys(policy, event)), time()
        result = [self._once_status(policy, event, entries)] if hook.once else []
        result += rate_limits.check_limits(policy.all_own, self._history(policy, event, entries), now)
        if not alone:
            shared = rate_limits.decode(entries.get(_SHARED_KEY))
            result += rate_limits.check_limits(policy.shared, shared, now, event=event.id)
        return [*result, *budgets]

    def _budget_status(self, hook: Hook | None, *, alone: bool) -> list[LimitStatus]:
        """Return how much a judge may still spend; beyond that it fails when it is asked."""
        statuses = [*self._ledger.status(hook), *(() if alone or hook is None else self._ledger.status(None))]
        return [LimitStatus(Gate.BUDGET, one.passed, one.reason, failed=True) for one in statuses]

    def shared_limit_status(self) -> list[LimitStatus]:
        """Return the status of the limits of all hooks together. May block.

        Raises:
            StoreError: The store cannot be read.
        """
        limits = rate_limits.shared_limits(self._settings)
        entries = self.state.read([_SHARED_KEY]) if limits.any else {}
        statuses = rate_limits.check_limits(limits, rate_limits.decode(entries.get(_SHARED_KEY)), time())
        return [*statuses, *self._budget_status(None, alone=True)]

    def forget(self, hook: Hook) -> int:
        """Delete everything stored about a hook: runs, failures and cached verdicts. May block.

        Raises:
            StoreError: The store cannot be written.
        """
        policy = self._policy(hook)
        self._ran_here().discard(policy.local_key)
        prefixes = [f"{kind}:{policy.key}:" for kind in ("once", "answer", "seen")]
        return self.state.forget([policy.history_key, *prefixes, *forget_prefixes([hook])])

    def forget_shared(self) -> int:
        """Delete the counted runs of all hooks together. May block.

        Raises:
            StoreError: The store cannot be written.
        """
        return self.state.forget([_SHARED_KEY, *forget_prefixes([None])])

    def _policy(self, hook: Hook) -> _HookPolicy:
        policy = self._policies.get(hook.id)
        if policy is None or policy.hook is not hook:
            timeout = self._translator.timeout(hook, self._settings.timeout) if self._translator.knows(hook) else 0.0
            own = rate_limits.limits_of(hook, lease=rate_limits.GRACE + timeout)
            on_error = hook.on_error or self._translator.default_on_error(hook)
            # Guards and managed hooks always run. Lists and raised events are no runs: their hooks are counted.
            is_exempt = hook.steps or hook.raises or hook.layer is Layer.MANAGED or on_error is OnError.BLOCK
            shared = RateLimits() if is_exempt else rate_limits.shared_limits(self._settings)
            policy = self._policies[hook.id] = _HookPolicy(hook, own, shared)
        return policy

    async def _check_requirements(self, hook: Hook, event: Event) -> Denied | None:
        lacking = await self.missing(hook, event)
        return Denied(Gate.NEEDS, lacking, failed=True) if lacking else None

    async def _read_once(self, policy: _HookPolicy, event: Event) -> LimitStatus:
        keys = self._once_keys(policy, event)
        return self._once_status(policy, event, await self._access(lambda: self.state.read(keys)) if keys else {})

    def _once_status(self, policy: _HookPolicy, event: Event, entries: Entries) -> LimitStatus:
        """Return whether this would be the hook's first run in the session, or in this process without a session.

        The entry of a hook that runs once per turn holds the turn of its last run.
        """
        key = policy.once_key(event.session.id)
        if policy.is_per_turn:
            ran = entries.get(key) == _turn_of(event, entries) if key else policy.local_key in self._ran_here()
            reason = "it ran in this turn already" if ran else "it has not run in this turn yet"
        elif key:
            ran = key in entries
            reason = "it ran in this session already" if ran else "it has not run in this session yet"
        else:
            ran = policy.local_key in self._ran_here()
            reason = (
                "it ran in this program already"
                if ran
                else "once in each session, or in each program where there is none"
            )
        return LimitStatus(Gate.ONCE, not ran, reason)

    def _ran_here(self) -> set[str]:
        """Return the hooks that ran in this process; the daemon has one such set for each calling process."""
        caller = caller_context.current()
        return self._ran if caller is None else caller.once_ran

    def _store_keys(self, policy: _HookPolicy, event: Event) -> list[str]:
        shared = [_SHARED_KEY] if policy.shared.any else []
        once = self._once_keys(policy, event)
        return [policy.history_key, *shared, *once, *self._debounce_keys(policy, event)]

    @staticmethod
    def _once_keys(policy: _HookPolicy, event: Event) -> list[str]:
        key = policy.once_key(event.session.id) if policy.hook.once else ""
        return [key, *([_turn_key(event)] if policy.is_per_turn else [])] if key else []

    def _debounce_keys(self, policy: _HookPolicy, event: Event) -> list[str]:
        if not policy.own.debounce:
            return []
        subjects = self._subjects.debounce_keys(policy.hook, event)[:MAX_SUBJECTS]
        return [f"seen:{policy.key}:{_digest(subject)}" for subject in subjects]

    def _history(self, policy: _HookPolicy, event: Event, entries: Entries) -> RunHistory:
        """Return the history of a hook; of several subjects, the one that was quiet the longest counts."""
        history = rate_limits.decode(entries.get(policy.history_key))
        keys = self._debounce_keys(policy, event)
        return (
            replace(history, seen=min(rate_limits.decode(entries.get(key)).seen for key in keys)) if keys else history
        )

    async def _count_run(self, policy: _HookPolicy, event: Event) -> Denied | None:
        """Check all limits in one transaction; only a hook that passes all of them is counted."""

        def decide(entries: Entries, now: float) -> Changes[LimitStatus | None]:
            if policy.hook.once and not (status := self._once_status(policy, event, entries)).passed:
                return {}, status
            changes, closed = self._check_and_count(policy, event, entries, now)
            if closed is None and policy.hook.once:
                if key := policy.once_key(event.session.id):
                    turn = _turn_of(event, entries) if policy.is_per_turn else b""
                    changes[key] = StateValue(turn, now + ONCE_EXPIRY)
                else:
                    self._ran_here().add(policy.local_key)
            return changes, closed

        if not policy.is_counted and not event.session.id:
            # a `once` hook without a session is tracked in this process only
            _, closed = decide({}, 0.0)
        else:
            closed = await self._access(lambda: self.state.change(self._store_keys(policy, event), decide))
        return _make_denied(closed) if closed is not None else None

    def _check_and_count(
        self, policy: _HookPolicy, event: Event, entries: Entries, now: float
    ) -> tuple[dict[str, StateValue], LimitStatus | None]:
        """Return the store changes for this event, and the limit that denies the hook, if any."""
        own, shared = (rate_limits.decode(entries.get(key)) for key in (policy.history_key, _SHARED_KEY))
        statuses = (
            *rate_limits.check_limits(policy.own, self._history(policy, event, entries), now),
            *rate_limits.check_limits(policy.shared, shared, now, event=event.id),
        )
        closed = next((status for status in statuses if not status.passed), None)
        changes: dict[str, StateValue] = {}
        if closed is None:
            own_after = rate_limits.add_run(policy.own, own, now)
            if own_after != own:
                changes[policy.history_key] = _entry(policy.own, own_after, now)
            shared_after = rate_limits.add_run(policy.shared, shared, now, event=event.id)
            if shared_after != shared:
                changes[_SHARED_KEY] = _entry(policy.shared, shared_after, now)
        if closed is None or closed.gate is not Gate.BREAKER:
            # the event counts for the debounce also where another limit denies the hook
            seen = StateValue(rate_limits.encode(RunHistory(seen=now)), now + policy.own.debounce)
            changes |= dict.fromkeys(self._debounce_keys(policy, event), seen)
        return changes, closed

    async def _probe_breaker(self, policy: _HookPolicy) -> Denied | None:
        """Check whether failures have paused a hook; after the pause, only one run is admitted as a probe."""

        def decide(entries: Entries, now: float) -> Changes[LimitStatus | None]:
            history = rate_limits.decode(entries.get(policy.history_key))
            status = rate_limits.breaker_status(policy.all_own, history, now)
            if not status.passed:
                return {}, status
            after = rate_limits.add_probe(policy.all_own, history, now)
            return ({policy.history_key: _entry(policy.all_own, after, now)} if after != history else {}), None

        closed = await self._access(lambda: self.state.change([policy.history_key], decide))
        return _make_denied(closed) if closed is not None else None

    async def _count_result(self, policy: _HookPolicy, event: Event, *, failed: bool) -> None:
        """Count a failure, or reset the failures after a success; warn when the hook is paused."""
        if not failed:
            entries = await self._access(lambda: self.state.read([policy.history_key]))
            if not rate_limits.decode(entries.get(policy.history_key)).failures:
                # the common case, and reading needs no lock
                return

        def decide(entries: Entries, now: float) -> Changes[tuple[RunHistory, RunHistory]]:
            before = rate_limits.decode(entries.get(policy.history_key))
            after = rate_limits.add_result(policy.all_own, before, now, failed=failed)
            return {policy.history_key: _entry(policy.all_own, after, now)}, (before, after)

        before, after = await self._access(lambda: self.state.change([policy.history_key], decide))
        if after.opened and not before.opened:
            pause = rate_limits.format_seconds(policy.all_own.retry_after)
            failures = rate_limits.describe_failures(after.failures)
            hook = policy.hook.id
            self._warn(f'hook "{hook}" is paused after {failures}; it is tried again in {pause}', event, hook=hook)

    async def _read_cached(self, policy: _HookPolicy, event: Event, sealed: Sealed | None) -> Verdict | None:
        key = await self._cache_key(policy, event, sealed)
        if not key or policy.hook.cache is None:
            return None
        entries = await self._access(lambda: self.state.read([key]))
        verdict = verdict_cache.decode_verdict(entries.get(key), seconds=policy.hook.cache.seconds, now=time())
        if verdict is None:
            while len(self._running) >= MAX_RUNNING:
                del self._running[next(iter(self._running))]
            self._running[f"{event.id} {policy.key}"] = (event, key)
        return verdict

    async def _write_cached(self, policy: _HookPolicy, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        started, key = self._running.pop(f"{event.id} {policy.key}", (None, ""))
        if started is not event or not key or policy.hook.cache is None:
            return
        now = time()
        raw = verdict_cache.encode_verdict(verdict, now)
        # a file that changed while the hook ran may have changed before or after the hook read it
        if raw is not None and key == await self._cache_key(policy, event, sealed):
            entry = {key: StateValue(raw, now + policy.hook.cache.seconds, spare=True)}
            await self._access(lambda: self.state.change([], lambda _entries, _now: (entry, None)))

    async def _cache_key(self, policy: _HookPolicy, event: Event, sealed: Sealed | None) -> str:
        hook = policy.hook
        digest = self._cache_keys.hook_digest(hook, event, sealed)
        parts = self._translator.split_event(event, hook)
        if hook.cache is not None and hook.cache.files:
            key = await asyncio.to_thread(self._cache_keys.key, hook, event, digest, parts)
        else:
            key = self._cache_keys.key(hook, event, digest, parts)
        return f"answer:{policy.key}:{key}" if key else ""

    async def _access(self, work: Callable[[], T]) -> T:
        """Use the store, in a thread where it may block."""
        if monotonic() < self._store_paused_until:
            raise StoreError("the store of limits failed a moment ago")
        try:
            result = await asyncio.to_thread(work) if self.state.waits else work()
        except StoreError:
            self._store_paused_until = monotonic() + STORE_PAUSE
            raise
        self._has_warned = False
        return result

    def _warn_store(self, problem: StoreError, event: Event) -> None:
        """Warn once, not with each event, that limits have no effect."""
        if not self._has_warned:
            self._has_warned = True
            self._warn(f"limits and kept answers of hooks do not work, so hooks run without them: {problem}", event)

    def _warn(self, message: str, event: Event, *, hook: str = "") -> None:
        logger.warning("%s", message)
        if self._bus.listening:
            self._bus.enqueue(record(event, Step.WARNING, {"message": message}, hook=hook))


def _entry(limits: RateLimits, history: RunHistory, now: float) -> StateValue:
    return StateValue(rate_limits.encode(history), rate_limits.expiry(limits, history, now))


def _make_denied(status: LimitStatus) -> Denied:
    return Denied(status.gate, status.reason, status.failed)


def _turn_key(event: Event) -> str:
    return f"{_TURN}{_digest(event.session.id)}"


def _turn_of(event: Event, entries: Entries) -> bytes:
    """Return the turn of an event: as the agent names it, else the last one that began in its session."""
    named = next((event.data[key] for key in _TURN_FIELDS if event.data.get(key)), "")
    return str(named).encode("utf-8", "surrogatepass") if named else entries.get(_turn_key(event), b"")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
