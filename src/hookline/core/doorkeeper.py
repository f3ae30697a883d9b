"""Who is asked right before a hook runs, and told right after: limits, needs, and answers given before."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from time import monotonic, time
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline import surroundings
from hookline.core import caching, limits
from hookline.core.bus import MessageBus
from hookline.core.caching import Answers, Identify
from hookline.core.limits import Past, Standing, Terms
from hookline.core.parts import Parts
from hookline.core.recording import record
from hookline.core.runner import Held
from hookline.core.translator import HookTranslator
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.settings import Settings
from hookline.model.verdict import Verdict
from hookline.ports import Entry, StateStore

logger: Final = logging.getLogger(__name__)

T = TypeVar("T")
Found = Mapping[str, bytes]
Changes = tuple[Mapping[str, Entry], T]

# how long a session's first runs are remembered after the last event that asked
SESSION_REMEMBERED: Final = 30 * limits.DAY
# a store that failed is left alone for so many seconds: each event would wait for it again
LEFT_ALONE: Final = 30.0
# answers on their way; what was cancelled is never told
MOST_UNDER_WAY: Final = 1_000

_EVERYBODY: Final = "all"


class _Concern(Struct, frozen=True):
    """What there is to ask about a hook, worked out once."""

    hook: Hook
    key: str
    terms: Terms
    shared: Terms
    cached: bool
    # asked for each run of each hook, so it is worked out before
    any: bool = True

    @property
    def counted(self) -> bool:
        """Whether runs are counted."""
        return self.terms.any or self.shared.any

    @property
    def own(self) -> str:
        """Where the hook's past is kept."""
        return f"hook:{self.key}"

    def once_in(self, session: str) -> str:
        """Give the key that says that it ran in this session; without a session there is none."""
        return f"once:{self.key}:{_digest(session)}" if session else ""


class HookDoorkeeper:
    """Hold hooks back that ran often enough, fail too often or lack something, and recall what they said."""

    def __init__(
        self, state: StateStore, *, parts: Parts, settings: Settings, bus: MessageBus, identify: Identify
    ) -> None:
        self.state = state
        self._missing = parts.missing
        self._translator = HookTranslator(parts.dialects)
        self._settings = settings
        self._bus = bus
        self._answers = Answers(identify)
        self._concerns: dict[str, _Concern] = {}
        # hooks that ran once, at events that name no session
        self._ran: set[str] = set()
        self._under_way: dict[str, tuple[Event, str]] = {}
        self._alone_until = 0.0
        self._complained = False

    def concerns(self, hook: Hook) -> bool:
        """Say whether there is anything to ask about a hook."""
        known = self._concerns.get(hook.id)
        return known.any if known is not None and known.hook is hook else self._concern(hook).any

    async def ask(self, hook: Hook, event: Event, sealed: Sealed | None) -> Held | Verdict | None:
        """Hold a hook back, or give the answer it gave before; None lets it run.

        A background hook is only counted here: what it needs, and whether it is paused, is asked when its turn comes.
        """
        concern = self._concern(hook)
        try:
            return await self._ask(concern, event, sealed)
        except StoreError as problem:
            self._complain(problem, event)
        except Exception:
            # a hook that runs once too often does less harm than a guard that is not asked
            logger.exception("the limits of hook %s could not be asked", hook.id)
        return None

    async def ask_later(self, hook: Hook, event: Event) -> Held | None:
        """Ask what `ask` leaves out of a background hook, now that its turn has come: needs, and failures in a row."""
        try:
            lacking = await self._lacks(hook, event)
            return lacking or (await self._try(self._concern(hook)) if hook.breaker else None)
        except StoreError as problem:
            self._complain(problem, event)
            return None

    async def learn(self, hook: Hook, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        """Take note of what a hook that ran said."""
        concern = self._concern(hook)
        try:
            if hook.breaker:
                await self._count(concern, event, failed=verdict.failure is not None)
            if concern.cached:
                await self._keep(concern, event, sealed, verdict)
        except StoreError as problem:
            self._complain(problem, event)
        except Exception:
            logger.exception("the answer of hook %s could not be noted", hook.id)

    async def missing(self, hook: Hook, event: Event) -> str:
        """Say what a hook needs and cannot find; empty when all of it is there."""
        if hook.needs is None or self._missing is None:
            return ""
        return await self._missing(hook, event.cwd)

    def standing(self, hook: Hook, event: Event, *, alone: bool = False) -> list[Standing]:
        """Say how it stands with every limit of a hook, taking nothing; `alone`, only with its own. May wait.

        Raises:
            StoreError: The store cannot be read.
        """
        concern = self._concern(hook)
        if not (concern.counted or hook.once or hook.breaker):
            return []
        # in the background, too, failures in a row pause it: in the queue
        terms = limits.terms_of(hook, lease=self._lease(hook))
        found, now = self.state.read(self._keys(concern, event)), time()
        result = [self._first(concern, event, found)] if hook.once else []
        result += limits.standings(terms, limits.decode(found.get(concern.own)), now)
        if not alone:
            result += limits.standings(concern.shared, limits.decode(found.get(_EVERYBODY)), now, event=event.id)
        return result

    def standing_of_all(self) -> list[Standing]:
        """Say how it stands with the limits of all hooks together; may wait for the store.

        Raises:
            StoreError: The store cannot be read.
        """
        terms = limits.terms_of_all(self._settings)
        found = self.state.read([_EVERYBODY]) if terms.any else {}
        return list(limits.standings(terms, limits.decode(found.get(_EVERYBODY)), time()))

    def forget(self, hook: Hook) -> int:
        """Forget everything about a hook: its runs, its failures, and its answers; may wait for the store.

        Raises:
            StoreError: The store cannot be written.
        """
        concern = self._concern(hook)
        self._ran_here().discard(concern.key)
        return self.state.forget([concern.own, f"once:{concern.key}:", f"answer:{concern.key}:"])

    def forget_shared(self) -> int:
        """Forget the runs of all hooks together; may wait for the store.

        Raises:
            StoreError: The store cannot be written.
        """
        return self.state.forget([_EVERYBODY])

    async def _ask(self, concern: _Concern, event: Event, sealed: Sealed | None) -> Held | Verdict | None:
        hook = concern.hook
        if not hook.background and (hook.needs or concern.cached):
            # only looked at here: what it lacks does not matter once it ran, and who lacks something takes nothing
            if hook.once and not (first := await self._look_first(concern, event)).passed:
                return _held(first)
            lacking = await self._lacks(hook, event)
            if lacking is not None:
                return lacking
            said = await self._recall(concern, event, sealed) if concern.cached else None
            if said is not None:
                # what was recalled is this session's one answer, and counts for nothing else
                again = _Concern(hook, concern.key, Terms(), Terms(), cached=False)
                return (await self._take(again, event) if hook.once else None) or said
        if not concern.counted and not hook.once:
            return None
        return await self._take(concern, event)

    async def _lacks(self, hook: Hook, event: Event) -> Held | None:
        lacking = await self.missing(hook, event)
        return Held(Gate.NEEDS, lacking, failed=True) if lacking else None

    async def _look_first(self, concern: _Concern, event: Event) -> Standing:
        key = concern.once_in(event.session.id)
        return self._first(concern, event, await self._call(lambda: self.state.read([key])) if key else {})

    def _first(self, concern: _Concern, event: Event, found: Found) -> Standing:
        """Say whether this would be the hook's first run of the session, or of this program where there is none."""
        key = concern.once_in(event.session.id)
        if not key:
            ran = concern.key in self._ran_here()
            reason = (
                "it ran in this program already"
                if ran
                else "once in each session, or in each program where there is none"
            )
        else:
            ran = key in found
            reason = "it ran in this session already" if ran else "it has not run in this session yet"
        return Standing(Gate.ONCE, not ran, reason)

    def _ran_here(self) -> set[str]:
        """Give what ran in this program; who answers for others has one such set for each call, as if it were a program."""
        caller = surroundings.current()
        return self._ran if caller is None else caller.ran

    def _keys(self, concern: _Concern, event: Event) -> list[str]:
        once = concern.once_in(event.session.id) if concern.hook.once else ""
        return [concern.own, *([_EVERYBODY] if concern.shared.any else []), *([once] if once else [])]

    async def _take(self, concern: _Concern, event: Event) -> Held | None:
        """Ask all limits at once; only a hook that passes all of them is counted."""

        def decide(found: Found, now: float) -> Changes[Standing | None]:
            if concern.hook.once and not (first := self._first(concern, event, found)).passed:
                return {}, first
            changes, closed = _counted(concern, event, found, now)
            if closed is None and concern.hook.once:
                key = concern.once_in(event.session.id)
                changes |= {key: Entry(b"", now + SESSION_REMEMBERED)} if key else {}
                self._ran_here().update(() if key else (concern.key,))
            return changes, closed

        if not concern.counted and not event.session.id:
            # nothing of it is for others to know
            _, closed = decide({}, 0.0)
        else:
            closed = await self._call(lambda: self.state.change(self._keys(concern, event), decide))
        return _held(closed) if closed is not None else None

    async def _try(self, concern: _Concern) -> Held | None:
        """Ask whether failures have paused a hook; whoever may try it again is the only one."""
        terms = limits.terms_of(concern.hook, lease=self._lease(concern.hook))

        def decide(found: Found, now: float) -> Changes[Standing | None]:
            past = limits.decode(found.get(concern.own))
            closed = limits.paused(terms, past, now)
            if not closed.passed:
                return {}, closed
            tried = limits.tried(terms, past, now)
            return ({concern.own: _entry(terms, tried, now)} if tried != past else {}), None

        closed = await self._call(lambda: self.state.change([concern.own], decide))
        return _held(closed) if closed is not None else None

    async def _count(self, concern: _Concern, event: Event, *, failed: bool) -> None:
        """Count a failure, or forget those before a success, and say when the hook pauses."""
        if not failed:
            found = await self._call(lambda: self.state.read([concern.own]))
            if not limits.decode(found.get(concern.own)).failures:
                # nearly always, and reading waits for nobody
                return
        terms = limits.terms_of(concern.hook, lease=self._lease(concern.hook))

        def decide(found: Found, now: float) -> Changes[tuple[Past, Past]]:
            before = limits.decode(found.get(concern.own))
            after = limits.learned(terms, before, now, failed=failed)
            return {concern.own: _entry(terms, after, now)}, (before, after)

        before, after = await self._call(lambda: self.state.change([concern.own], decide))
        if after.opened and not before.opened:
            pause = limits.span(terms.retry_after)
            self._warn(
                f'hook "{concern.hook.id}" is paused after {limits.in_a_row(after.failures)}; '
                f"it is tried again in {pause}",
                event,
                hook=concern.hook.id,
            )

    async def _recall(self, concern: _Concern, event: Event, sealed: Sealed | None) -> Verdict | None:
        key = await self._key(concern, event, sealed)
        if not key or concern.hook.cache is None:
            return None
        found = await self._call(lambda: self.state.read([key]))
        said = caching.recalled(found.get(key), seconds=concern.hook.cache.seconds, now=time())
        if said is None:
            while len(self._under_way) >= MOST_UNDER_WAY:
                del self._under_way[next(iter(self._under_way))]
            self._under_way[f"{event.id} {concern.key}"] = (event, key)
        return said

    async def _keep(self, concern: _Concern, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        asked, before = self._under_way.pop(f"{event.id} {concern.key}", (None, ""))
        if asked is not event or not before or concern.hook.cache is None:
            return
        seconds = concern.hook.cache.seconds
        now = time()
        raw = caching.kept(verdict, now)
        # what changed while the hook ran may have changed before or after it looked
        if raw is not None and before == await self._key(concern, event, sealed):
            entry = {before: Entry(raw, now + seconds, spare=True)}
            await self._call(lambda: self.state.change([], lambda _found, _now: (entry, None)))

    async def _key(self, concern: _Concern, event: Event, sealed: Sealed | None) -> str:
        hook = concern.hook
        digest = self._answers.hook_digest(hook, event, sealed)
        told = self._translator.told(event, hook)
        if hook.cache is not None and hook.cache.files:
            key = await asyncio.to_thread(self._answers.key, hook, event, digest, told)
        else:
            key = self._answers.key(hook, event, digest, told)
        return f"answer:{concern.key}:{key}" if key else ""

    async def _call(self, work: Callable[[], T]) -> T:
        """Ask the store, in a thread where it may have to wait."""
        if monotonic() < self._alone_until:
            raise StoreError("the store of limits failed a moment ago")
        try:
            answer = await asyncio.to_thread(work) if self.state.waits else work()
        except StoreError:
            self._alone_until = monotonic() + LEFT_ALONE
            raise
        self._complained = False
        return answer

    def _complain(self, problem: StoreError, event: Event) -> None:
        """Say that limits do not hold: once, and not with each event."""
        if not self._complained:
            self._complained = True
            self._warn(f"limits and kept answers of hooks do not work, so hooks run without them: {problem}", event)

    def _warn(self, message: str, event: Event, *, hook: str = "") -> None:
        logger.warning("%s", message)
        if self._bus.listening:
            self._bus.publish_soon(record(event, Step.WARNING, {"message": message}, hook=hook))

    def _concern(self, hook: Hook) -> _Concern:
        known = self._concerns.get(hook.id)
        if known is None or known.hook is not hook:
            terms = limits.terms_of(hook, lease=self._lease(hook))
            shared = Terms() if self._is_always_asked(hook) else limits.terms_of_all(self._settings)
            cached = caching.is_cached(hook)
            known = self._concerns[hook.id] = _Concern(
                hook=hook,
                key=_digest(f"{_source(hook)}\0{hook.id}"),
                terms=replace(terms, breaker=0) if hook.background else terms,
                shared=shared,
                cached=cached,
                any=bool(terms.any or shared.any or cached or hook.once or hook.needs),
            )
        return known

    def _is_always_asked(self, hook: Hook) -> bool:
        """Say whether the limits of all hooks together leave a hook alone."""
        # what only leads to others is no run of its own; each of those is counted for itself, and may be a guard
        if hook.steps or hook.raises:
            return True
        on_error = hook.on_error or self._translator.default_on_error(hook)
        return hook.layer is Layer.MANAGED or on_error is OnError.BLOCK

    def _lease(self, hook: Hook) -> float:
        knows = self._translator.knows(hook)
        return limits.GRACE + (self._translator.timeout(hook, self._settings.timeout) if knows else 0.0)


def _counted(concern: _Concern, event: Event, found: Found, now: float) -> tuple[dict[str, Entry], Standing | None]:
    """Say what is to be written down of this event, and which limit holds the hook back, if one does."""
    past, everybody = limits.decode(found.get(concern.own)), limits.decode(found.get(_EVERYBODY))
    own = limits.standings(concern.terms, past, now)
    common = limits.standings(concern.shared, everybody, now, event=event.id)
    closed = next((one for one in (*own, *common) if not one.passed), None)
    after, together = past, everybody
    if concern.terms.debounce and (closed is None or closed.gate is not Gate.BREAKER):
        # what came is what came, also where another limit holds the hook back
        after = replace(after, seen=now)
    if closed is None:
        after = limits.taken(concern.terms, after, now)
        together = limits.taken(concern.shared, everybody, now, event=event.id)
    changes = {concern.own: _entry(concern.terms, after, now)} if after != past else {}
    if together != everybody:
        changes[_EVERYBODY] = _entry(concern.shared, together, now)
    return changes, closed


def _entry(terms: Terms, past: Past, now: float) -> Entry:
    return Entry(limits.encode(past), limits.until(terms, past, now))


def _held(standing: Standing) -> Held:
    return Held(standing.gate, standing.reason, standing.failed)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _source(hook: Hook) -> str:
    """Say where a hook comes from: hooks of two projects may have the same id."""
    code = getattr(hook.call, "__code__", None)
    return hook.source_path or (code.co_filename if code is not None else "")
