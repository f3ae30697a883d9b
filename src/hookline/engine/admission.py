"""Admission control: limits, requirements and cached verdicts, checked right before a hook runs.

The key of a cached verdict is a digest of everything that the hook declares its verdict to depend on, and of the hook
itself. Where one of these cannot be determined exactly, there is no key, and the hook runs.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import monotonic, time
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from hookline import caller_context
from hookline.effects.tools import find_effects
from hookline.engine.bus import MessageBus
from hookline.engine.components import Components
from hookline.engine.filters import EventSubjects
from hookline.engine.limits import (
    DAY,
    GRACE,
    LimitStatus,
    RateLimits,
    RunHistory,
    add_probe,
    add_result,
    add_run,
    breaker_status,
    check_limits,
    decode_history,
    describe_failures,
    encode_history,
    format_seconds,
    history_expiry,
    limits_of,
    shared_limits,
)
from hookline.engine.trace_records import new_id, record
from hookline.engine.translator import HookTranslator
from hookline.errors import ConfigError, StoreError
from hookline.llm.spending import BudgetLedger, forget_prefixes
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.scope import DAYS, ONCE_PER_TURN, match_branch, parse_window
from hookline.model.settings import Settings
from hookline.model.templates import EFFECTS, event_context
from hookline.model.verdict import Verdict
from hookline.ports import StateStore, StateValue
from hookline.trust.files_and_programs import FileCache
from hookline.trust.fingerprint import HookFingerprint, expand_includes, get_naming_root
from hookline.trust.repository import read_branch

logger: Final = logging.getLogger(__name__)

T = TypeVar("T")
Entries = Mapping[str, bytes]
Changes = tuple[Mapping[str, StateValue], T]

# how long the `once` mark of a session is stored
ONCE_EXPIRY: Final = 30 * DAY
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


# larger verdicts are not cached
LARGEST_VERDICT: Final = 256 * 1024

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
        self.is_cached = is_cached(hook)
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
        result += check_limits(policy.all_own, self._history(policy, event, entries), now)
        if not alone:
            shared = decode_history(entries.get(_SHARED_KEY))
            result += check_limits(policy.shared, shared, now, event=event.id)
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
        limits = shared_limits(self._settings)
        entries = self.state.read([_SHARED_KEY]) if limits.any else {}
        statuses = check_limits(limits, decode_history(entries.get(_SHARED_KEY)), time())
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
            own = limits_of(hook, lease=GRACE + timeout)
            on_error = hook.on_error or self._translator.default_on_error(hook)
            # Guards and managed hooks always run. Lists and raised events are no runs: their hooks are counted.
            is_exempt = hook.steps or hook.raises or hook.layer is Layer.MANAGED or on_error is OnError.BLOCK
            shared = RateLimits() if is_exempt else shared_limits(self._settings)
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
        history = decode_history(entries.get(policy.history_key))
        keys = self._debounce_keys(policy, event)
        return replace(history, seen=min(decode_history(entries.get(key)).seen for key in keys)) if keys else history

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
        own, shared = (decode_history(entries.get(key)) for key in (policy.history_key, _SHARED_KEY))
        statuses = (
            *check_limits(policy.own, self._history(policy, event, entries), now),
            *check_limits(policy.shared, shared, now, event=event.id),
        )
        closed = next((status for status in statuses if not status.passed), None)
        changes: dict[str, StateValue] = {}
        if closed is None:
            own_after = add_run(policy.own, own, now)
            if own_after != own:
                changes[policy.history_key] = _entry(policy.own, own_after, now)
            shared_after = add_run(policy.shared, shared, now, event=event.id)
            if shared_after != shared:
                changes[_SHARED_KEY] = _entry(policy.shared, shared_after, now)
        if closed is None or closed.gate is not Gate.BREAKER:
            # the event counts for the debounce also where another limit denies the hook
            seen = StateValue(encode_history(RunHistory(seen=now)), now + policy.own.debounce)
            changes |= dict.fromkeys(self._debounce_keys(policy, event), seen)
        return changes, closed

    async def _probe_breaker(self, policy: _HookPolicy) -> Denied | None:
        """Check whether failures have paused a hook; after the pause, only one run is admitted as a probe."""

        def decide(entries: Entries, now: float) -> Changes[LimitStatus | None]:
            history = decode_history(entries.get(policy.history_key))
            status = breaker_status(policy.all_own, history, now)
            if not status.passed:
                return {}, status
            after = add_probe(policy.all_own, history, now)
            return ({policy.history_key: _entry(policy.all_own, after, now)} if after != history else {}), None

        closed = await self._access(lambda: self.state.change([policy.history_key], decide))
        return _make_denied(closed) if closed is not None else None

    async def _count_result(self, policy: _HookPolicy, event: Event, *, failed: bool) -> None:
        """Count a failure, or reset the failures after a success; warn when the hook is paused."""
        if not failed:
            entries = await self._access(lambda: self.state.read([policy.history_key]))
            if not decode_history(entries.get(policy.history_key)).failures:
                # the common case, and reading needs no lock
                return

        def decide(entries: Entries, now: float) -> Changes[tuple[RunHistory, RunHistory]]:
            before = decode_history(entries.get(policy.history_key))
            after = add_result(policy.all_own, before, now, failed=failed)
            return {policy.history_key: _entry(policy.all_own, after, now)}, (before, after)

        before, after = await self._access(lambda: self.state.change([policy.history_key], decide))
        if after.opened and not before.opened:
            pause = format_seconds(policy.all_own.retry_after)
            failures = describe_failures(after.failures)
            hook = policy.hook.id
            self._warn(f'hook "{hook}" is paused after {failures}; it is tried again in {pause}', event, hook=hook)

    async def _read_cached(self, policy: _HookPolicy, event: Event, sealed: Sealed | None) -> Verdict | None:
        key = await self._cache_key(policy, event, sealed)
        if not key or policy.hook.cache is None:
            return None
        entries = await self._access(lambda: self.state.read([key]))
        verdict = decode_verdict(entries.get(key), seconds=policy.hook.cache.seconds, now=time())
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
        raw = encode_verdict(verdict, now)
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
    return StateValue(encode_history(history), history_expiry(limits, history, now))


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
        is_same = len(raw) <= LARGEST_VERDICT and msgspec.msgpack.decode(raw, type=CachedVerdict).verdict == plain
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
