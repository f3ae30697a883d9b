"""Which hooks run for an event, and in what order. No I/O, no clock."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct

from hookline.core.index import Index, Shelf, is_narrow
from hookline.core.matchers import Matcher, matcher_for, names_of
from hookline.core.narrowing import AskGate, GateResult, Narrowing
from hookline.core.order import Names, Order, Rank, arrange, standing
from hookline.core.parts import CompileCondition, CompilePatterns, Condition, FollowLinks, Parts, default_parts
from hookline.core.registry import HookRegistry
from hookline.core.strangers import is_stranger, within_one_time
from hookline.core.translator import event_of
from hookline.errors import ConditionError, ConfigError
from hookline.model.context import EFFECTS, context_of
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import CUSTOM_PREFIX, Event, EventName
from hookline.model.hook import Hook, OnError
from hookline.model.plan import Gate, Plan, Skip

T = TypeVar("T")

# What was found for a subject is remembered; subjects may be paths, so the memory is bounded.
MEMORY: Final = 2048

# an event's name, what its matchers look at, and the agent that said it
_Subject = tuple[EventName, str, str, str]


class _Found(Struct):
    """What was found out about the hooks that a registry had at one version.

    Whoever works something out takes the whole of it first. What is late, because another thread has changed the hooks
    meanwhile, is then put where nobody looks any more.
    """

    version: int
    plans: dict[_Subject, Plan] = {}
    # where hooks look closer than at the subject, only the way to them can be remembered
    shelves: dict[_Subject, tuple[Shelf, ...]] = {}
    indexes: dict[str, Index] = {}
    order: Order | None = None
    names: Names | None = None


class HookPlanner:
    """Pick the hooks that are about an event, put them in order, and keep the reason for each that does not run.

    Hooks that are about other tools or other files are not asked at all: an event costs as much as the hooks it
    concerns, however many there are. `left_aside` gives those, and `gates` says of any hook why.
    """

    def __init__(
        self,
        registry: HookRegistry,
        dialects: Mapping[str, DialectSpec] | None = None,
        *,
        file_patterns: CompilePatterns | None = None,
        follow_links: FollowLinks | None = None,
        conditions: CompileCondition | None = None,
    ) -> None:
        self._registry = registry
        self._dialects = dialects or {}
        self._narrowing = Narrowing(file_patterns, follow_links)
        self._compile_condition = conditions
        self._found = _Found(registry.version)
        self._matchers: dict[tuple[MatcherStyle, str, bool], Matcher] = {}
        self._conditions: dict[str, Condition] = {}

    def check(self, hook: Hook) -> None:
        """Compile a hook's matcher and patterns now, so that a broken one is found when the hook is added.

        Raises:
            ConfigError: It is no regular expression, or no pattern.
        """
        try:
            self._matcher_of(hook)
            self._narrowing.check(hook)
            if hook.condition:
                self._condition_of(hook.condition)
        except ConfigError as problem:
            raise ConfigError(
                f'hook "{hook.id}": {problem.message}', path=hook.source_path, line=hook.source_line
            ) from None

    def plan_execution(self, event: str, context: Mapping[str, object] | None = None) -> Plan:
        """Plan for an event by name; `context` are its fields, `tool_name` or `tool` among them."""
        return self.plan(event_of(event, context))

    def plan(self, event: Event) -> Plan:
        """Plan for one event."""
        found = self._found
        if found.version != self._registry.version:
            found = self._look_again()
        key = _key(event)
        plan = found.plans.get(key)
        return plan if plan is not None else self._plan_anew(event, key, found)

    def remembers(self, event: Event) -> bool:
        """Say whether the plan for an event holds for all with the same name, subject and tool: no hook looks closer."""
        return _key(event) in self._look_again().plans

    def order(self) -> Order:
        """Give the order of all hooks, with the contradictions in it."""
        return self._ordered(self._look_again())

    def names(self) -> Names:
        """Give what people may call the hooks by."""
        found = self._look_again()
        if found.names is None:
            found.names = Names(self._all())
        return found.names

    def left_aside(self, event: Event) -> Iterator[Skip]:
        """Give the hooks of the event's name that are about something else, with the reason: all of them are asked."""
        for hook in self._listening(event):
            closed = _closed((self._matched,), hook, event) or self._narrowing.closed(hook, event)
            if closed is not None:
                yield Skip(hook, closed.gate, closed.reason)

    def _look_again(self) -> _Found:
        found = self._found
        if found.version != self._registry.version:
            found = self._found = _Found(self._registry.version)
        return found

    def _ordered(self, found: _Found) -> Order:
        if found.order is None:
            found.order = arrange(self._all(), rank=self.rank)
        return found.order

    def gates(self, hook: Hook, event: Event) -> list[GateResult]:
        """Ask every gate about a hook, also those behind one that is closed already."""
        first = [gate(hook, event) for gate in (_enabled, _listens, self._left_to_us, self._matched)]
        return [*first, *self._narrowing.asked(hook, event), self._meant(hook, event, because=True)]

    def only(self, hook: Hook, event: Event) -> Plan:
        """Plan for one hook that is asked for by name: what it listens to does not matter, all other gates do."""
        closed = (
            _closed((_enabled, self._matched), hook, event)
            or self._narrowing.closed(hook, event)
            or _closed((self._meant,), hook, event)
        )
        if closed is None:
            return Plan(((hook,),))
        return Plan(skipped=(Skip(hook, closed.gate, closed.reason),))

    def _plan_anew(self, event: Event, key: _Subject, found: _Found) -> Plan:
        shelves = found.shelves.get(key)
        if shelves is None:
            shelves = tuple(shelf for index in self._indexes_of(event, found) for shelf in index.shelves(event))
            if not any(shelf.looks_closer for shelf in shelves):
                plan = self._sifted(shelves, event, self._ordered(found))
                _remember(found.plans, key, plan)
                return plan
            _remember(found.shelves, key, shelves)
        return self._sifted(shelves, event, self._ordered(found))

    def _sifted(self, shelves: Iterable[Shelf], event: Event, order: Order) -> Plan:
        """Keep the hooks that every gate lets through; one that is about this event is left out with the reason."""
        places = order.places
        files = self._narrowing.files(event)
        # one without a place comes or goes at this very moment, in another thread
        found = {places[hook.id]: hook for shelf in shelves for hook in shelf.hooks(files) if hook.id in places}
        # told once for all conditions, and those of strangers have one time for all of them
        asked = [hook for hook in found.values() if hook.condition]
        context = self._context(event, asked) if asked else {}
        for_strangers = within_one_time(context) if any(map(is_stranger, asked)) else {}
        chosen: list[Hook] = []
        skipped: list[Skip] = []
        for _, hook in sorted(found.items()):
            if is_narrow(hook) and self._narrowing.closed(hook, event):
                continue
            told = for_strangers if hook.condition and is_stranger(hook) else context
            closed = _closed((_enabled, self._left_to_us, partial(self._meant, context=told)), hook, event)
            if closed is None:
                chosen.append(hook)
            else:
                skipped.append(Skip(hook, closed.gate, closed.reason))
        return Plan(tuple(_stages(chosen, order)), tuple(skipped))

    def _all(self) -> list[Hook]:
        listed = self._registry.get_all_hooks().values()
        return list({hook.id: hook for hooks in listed for hook in hooks}.values())

    def _indexes_of(self, event: Event, found: _Found) -> Iterator[Index]:
        for key in _keys(event):
            index = found.indexes.get(key)
            if index is None:
                hooks = self._registry.get_hooks_for_event(key)
                index = found.indexes[key] = Index(hooks, self._dialects, matcher_of=self._matcher_of)
            yield index

    def _listening(self, event: Event) -> list[Hook]:
        places = self.order().places
        hooks = (hook for key in _keys(event) for hook in self._registry.get_hooks_for_event(key))
        return sorted({hook.id: hook for hook in hooks}.values(), key=lambda hook: places[hook.id])

    def rank(self, hook: Hook) -> Rank:
        """Say where in the order a hook stands that says nothing of others; the smallest runs first."""
        return hook.priority, standing(hook), self._registry.position(hook)

    def _matched(self, hook: Hook, event: Event) -> GateResult:
        names = list(names_of(event, self._dialects.get(hook.dialect)))
        passed = any(map(self._matcher_of(hook), names))
        if not hook.matcher:
            return GateResult(Gate.MATCHER, passed, "it has no matcher")
        verb = "matches" if passed else "does not match"
        return GateResult(Gate.MATCHER, passed, f"matcher {hook.matcher!r} {verb} {' or '.join(names)!r}")

    def _left_to_us(self, hook: Hook, event: Event) -> GateResult:
        """Leave a hook to the agent whose own settings it stands in: it would run twice."""
        host = self._dialects.get(event.host) if hook.agents and event.host else None
        if host is None:
            return GateResult(Gate.HOST, passed=True, reason="no agent runs it by itself here")
        passed = not host.runs_itself(hook.agents)
        whose = f"it stands in the settings of {' and '.join(hook.agents)}"
        reason = f"{whose}, which {event.host} {'does not read' if passed else 'runs by itself'}"
        return GateResult(Gate.HOST, passed, reason)

    def _meant(
        self, hook: Hook, event: Event, *, because: bool = False, context: Mapping[str, object] | None = None
    ) -> GateResult:
        """Ask the condition; only whoever wants to know why waits for what decided."""
        if not hook.condition:
            return GateResult(Gate.CONDITION, passed=True, reason="it has no condition")
        condition, context = self._condition_of(hook.condition), context or self._context(event, [hook])
        asked = f"if `{' '.join(hook.condition.splitlines())}`"
        try:
            passed = condition(context)
        except ConditionError as problem:
            # a guard, whose failures block, is asked rather once too often
            spec = self._dialects.get(hook.dialect)
            on_error = hook.on_error or (spec.on_error if spec else OnError.CONTINUE)
            return GateResult(Gate.CONDITION, on_error is OnError.BLOCK, f"{asked} cannot be decided: {problem}")
        facts = condition.facts(context) if because else ""
        told = f"{asked} is {'true' if passed else 'false'}"
        return GateResult(Gate.CONDITION, passed, f"{told} ({facts})" if facts else told)

    def _context(self, event: Event, hooks: Iterable[Hook]) -> dict[str, object]:
        """Give what conditions may name; what a call does is worked out only where one of them asks."""
        if any(EFFECTS in hook.condition for hook in hooks):
            return context_of(event, effects=self._narrowing.effects(event).told())
        return context_of(event)

    def _condition_of(self, text: str) -> Condition:
        found = self._conditions.get(text)
        if found is None:
            if self._compile_condition is None:
                self._compile_condition = default_parts().conditions
            if self._compile_condition is None:
                raise ConfigError("this engine was put together without a reader of conditions")
            found = self._conditions[text] = self._compile_condition(text)
        return found

    def _matcher_of(self, hook: Hook) -> Matcher:
        spec = self._dialects.get(hook.dialect)
        style = spec.matcher if spec else MatcherStyle.PATTERN
        key = (style, hook.matcher, is_stranger(hook))
        found = self._matchers.get(key)
        if found is None:
            found = self._matchers[key] = matcher_for(style, hook.matcher, is_strangers=key[2])
        return found


def planner_of(registry: HookRegistry, dialects: Mapping[str, DialectSpec], parts: Parts) -> HookPlanner:
    """Make a planner of what an engine is put together from."""
    return HookPlanner(
        registry,
        dialects,
        file_patterns=parts.file_patterns,
        follow_links=parts.follow_links,
        conditions=parts.conditions,
    )


def _stages(hooks: Iterable[Hook], order: Order) -> Iterator[tuple[Hook, ...]]:
    """Put neighbours that may run together into one stage; none of them waits for another."""
    together: list[Hook] = []
    for hook in hooks:
        if together and (not hook.parallel or order.follows(hook.id, (other.id for other in together))):
            yield tuple(together)
            together = []
        if hook.parallel:
            together.append(hook)
        else:
            yield (hook,)
    if together:
        yield tuple(together)


def _enabled(hook: Hook, _event: Event) -> GateResult:
    return GateResult(Gate.ENABLED, hook.enabled, "switched on" if hook.enabled else "switched off")


def _listens(hook: Hook, event: Event) -> GateResult:
    passed = not set(_keys(event)).isdisjoint(hook.on)
    listed = " and ".join(hook.on) or "no event"
    return GateResult(Gate.EVENT, passed, f"it runs at {listed}" + ("" if passed else f", not at {event.name}"))


def _keys(event: Event) -> tuple[str, ...]:
    """Give the names under which hooks listen to an event."""
    if event.name is EventName.CUSTOM:
        return (str(event.name), f"{CUSTOM_PREFIX}{event.subject}")
    return (str(event.name),)


def _key(event: Event) -> _Subject:
    return event.name, event.subject, event.native_tool, event.host


def _closed(gates: Iterable[AskGate], hook: Hook, event: Event) -> GateResult | None:
    """Give the first gate that does not let a hook through."""
    return next((answer for gate in gates if not (answer := gate(hook, event)).passed), None)


def _remember(memory: dict[_Subject, T], key: _Subject, found: T) -> None:
    if len(memory) >= MEMORY:
        memory.clear()
    memory[key] = found
