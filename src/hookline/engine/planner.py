"""Choose the hooks that run for an event, and put them in order. No I/O, no clock."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, Self, TypeVar

from msgspec import Struct

from hookline.engine.components import (
    CompileCondition,
    CompilePatterns,
    Components,
    Condition,
    FollowLinks,
    ListFiles,
    default_components,
)
from hookline.engine.event_factory import event_of
from hookline.engine.filters import AskGate, GateResult, HookFilters
from hookline.engine.matchers import HookIndex, IndexBucket, SubjectMatcher, has_filters, matcher_of_subject, names_of
from hookline.engine.ordering import HookNames, Order, Rank, arrange, is_untrusted, trust_rank
from hookline.engine.registry import HookRegistry
from hookline.errors import ConditionError, ConfigError, MissingValueError
from hookline.model.dialect import DialectSpec
from hookline.model.event import CUSTOM_PREFIX, EVENTS, Event, EventName
from hookline.model.hook import Hook, OnError
from hookline.model.names import primary_name, spell_agents
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.requirements import find_named_facts, read_facts
from hookline.model.scope import find_agent, is_for_agent, parse_window
from hookline.model.templates import EFFECTS, FACTS, event_context
from hookline.ports import Dialect
from hookline.text import find_closest

# what a condition may ask for at any event of ours
_CALL: Final = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"path": "x"})
_KNOWN_NAMES: Final = frozenset(
    {FACTS, *event_context(_CALL, effects={}), *(field for spec in EVENTS.values() for field in spec.fields)}
)
_NEARLY_THE_SAME: Final = 0.8

T = TypeVar("T")

# subjects may be paths, so the number of cached plans is bounded
CACHE_SIZE: Final = 2048

# how a condition names what is gathered
FACTS_OF: Final = f"{FACTS}."
# an event's name, its subject, the agent's name of the tool, and the agent
_PlanKey = tuple[EventName, str, str, str]


class _PlanCache(Struct):
    """Everything computed for one version of the registry.

    A computation takes the cache first. If another thread changes the hooks meanwhile, the result goes into a cache that
    is not used any more.
    """

    version: int
    plans: dict[_PlanKey, Plan] = {}
    # where hooks look at more than the subject, only the index lookup can be cached
    buckets: dict[_PlanKey, tuple[IndexBucket, ...]] = {}
    indexes: dict[str, HookIndex] = {}
    order: Order | None = None
    names: HookNames | None = None


class HookPlanner:
    """Pick the hooks that are about an event, put them in order, and keep the reason for each that is skipped.

    An index finds the hooks, so an event costs as much as the hooks it concerns, however many there are. `unmatched`
    returns the others, and `gates` explains any hook.
    """

    def __init__(
        self,
        registry: HookRegistry,
        dialects: Mapping[str, Dialect] | None = None,
        *,
        file_patterns: CompilePatterns | None = None,
        follow_links: FollowLinks | None = None,
        list_files: ListFiles | None = None,
        conditions: CompileCondition | None = None,
    ) -> None:
        self.registry = registry
        self._dialects = dialects if dialects is not None else {}
        self.filters = HookFilters(file_patterns, follow_links, list_files)
        self._compile_condition = conditions
        self._cache = _PlanCache(registry.version)
        self._matchers: dict[tuple[str, str, bool], SubjectMatcher] = {}
        self._conditions: dict[str, Condition] = {}

    @classmethod
    def from_components(cls, registry: HookRegistry, components: Components) -> Self:
        """Build a planner from the components of an engine."""
        return cls(
            registry,
            components.dialects,
            file_patterns=components.file_patterns,
            follow_links=components.follow_links,
            list_files=components.list_files,
            conditions=components.conditions,
        )

    def check(self, hook: Hook) -> None:
        """Compile a hook's matcher, patterns and condition, so that a broken one is found when the hook is added.

        Raises:
            ConfigError: One of them cannot be compiled.
        """
        try:
            self._matcher_of(hook)
            self.filters.check(hook)
            if hook.condition:
                _check_names(hook, self._condition_of(hook.condition))
            _check_scopes(hook)
        except ConfigError as problem:
            raise ConfigError(
                f'hook "{hook.id}": {problem.message}', path=hook.source_path, line=hook.source_line
            ) from None

    def plan_execution(self, event: str, context: Mapping[str, object] | None = None) -> Plan:
        """Plan for an event by name; `context` are its fields, `tool_name` or `tool` among them."""
        return self.plan(event_of(event, context))

    def plan(self, event: Event) -> Plan:
        """Plan for one event."""
        cache = self._current_cache()
        key = (event.name, event.subject, event.native_tool, event.host)
        plan = cache.plans.get(key)
        if plan is not None:
            return plan
        buckets = cache.buckets.get(key)
        if buckets is None:
            buckets = tuple(bucket for index in self._indexes_of(event, cache) for bucket in index.find(event))
            if not any(bucket.depends_on_event for bucket in buckets):
                plan = self._apply_gates(buckets, event, self._order_of(cache))
                _put(cache.plans, key, plan)
                return plan
            _put(cache.buckets, key, buckets)
        return self._apply_gates(buckets, event, self._order_of(cache))

    def plan_single(self, hook: Hook, event: Event) -> Plan:
        """Plan for one hook that is started by name: its events are ignored, all other gates apply."""
        closed = (
            _first_closed((_enabled_gate, _agents_gate, self._matcher_gate), hook, event)
            or self.filters.first_closed(hook, event)
            or _first_closed((self._condition_gate,), hook, event)
        )
        if closed is None:
            return Plan(((hook,),))
        return Plan(skipped=(Skip(hook, closed.gate, closed.reason),))

    def gates(self, hook: Hook, event: Event) -> list[GateResult]:
        """Return the result of every gate, also of those behind a closed one."""
        first = [
            gate(hook, event)
            for gate in (_enabled_gate, _event_gate, self._host_gate, _agents_gate, self._matcher_gate)
        ]
        return [*first, *self.filters.results(hook, event), self._condition_gate(hook, event, explain=True)]

    def list_unmatched(self, event: Event) -> Iterator[Skip]:
        """Yield the hooks that listen to the event but are about something else, with the reason."""
        places = self.order().places
        hooks = {hook.id: hook for key in _event_keys(event) for hook in self.registry.get_hooks_for_event(key)}
        for hook in sorted(hooks.values(), key=lambda hook: places[hook.id]):
            closed = _first_closed((self._matcher_gate,), hook, event) or self.filters.first_closed(hook, event)
            if closed is not None:
                yield Skip(hook, closed.gate, closed.reason)

    def order(self) -> Order:
        """Return the order of all hooks, with its contradictions."""
        return self._order_of(self._current_cache())

    def names(self) -> HookNames:
        """Return the table of hooks by id and name."""
        cache = self._current_cache()
        if cache.names is None:
            cache.names = HookNames(self._all_hooks())
        return cache.names

    def rank(self, hook: Hook) -> Rank:
        """Return the sort key of a hook without `after` and `before`; the smallest runs first."""
        return hook.priority, trust_rank(hook), self.registry.position(hook)

    def _current_cache(self) -> _PlanCache:
        cache = self._cache
        if cache.version != self.registry.version:
            cache = self._cache = _PlanCache(self.registry.version)
        return cache

    def _order_of(self, cache: _PlanCache) -> Order:
        if cache.order is None:
            cache.order = arrange(self._all_hooks(), rank=self.rank)
        return cache.order

    def _all_hooks(self) -> list[Hook]:
        by_event = self.registry.get_all_hooks().values()
        return list({hook.id: hook for hooks in by_event for hook in hooks}.values())

    def _indexes_of(self, event: Event, cache: _PlanCache) -> Iterator[HookIndex]:
        for key in _event_keys(event):
            index = cache.indexes.get(key)
            if index is None:
                hooks = self.registry.get_hooks_for_event(key)
                index = cache.indexes[key] = HookIndex(hooks, self._spec_of, self._matcher_of)
            yield index

    def _spec_of(self, dialect: str) -> DialectSpec | None:
        found = self._dialects.get(dialect)
        return found.SPEC if found is not None else None

    def _apply_gates(self, buckets: Iterable[IndexBucket], event: Event, order: Order) -> Plan:
        """Return the hooks that pass every gate, in stages; one that is about this event is skipped with the reason."""
        places = order.places
        facts = self.filters.facts(event)
        # a hook without a place is being added or removed by another thread
        hooks = {places[hook.id]: hook for one in buckets for hook in one.candidates(facts) if hook.id in places}
        conditional = [hook for hook in hooks.values() if hook.condition]
        # one context for all conditions; those of untrusted hooks share one time budget
        context = self._context(event, conditional) if conditional else {}
        limited = with_shared_budget(context) if any(map(is_untrusted, conditional)) else {}
        chosen: list[Hook] = []
        skipped: list[Skip] = []
        for _, hook in sorted(hooks.items()):
            if has_filters(hook) and (filtered := self.filters.first_closed(hook, event)):
                if filtered.is_unknown:
                    # the hook may be about this event, so the trace shows that it was skipped
                    skipped.append(Skip(hook, filtered.gate, filtered.reason))
                continue
            own = limited if hook.condition and is_untrusted(hook) else context
            scopes = (_agents_gate,) if hook.agents else ()
            gates = (_enabled_gate, self._host_gate, *scopes, partial(self._condition_gate, context=own))
            closed = _first_closed(gates, hook, event)
            if closed is None:
                chosen.append(hook)
            else:
                skipped.append(Skip(hook, closed.gate, closed.reason))
        return Plan(tuple(_group_stages(chosen, order)), tuple(skipped))

    def _matcher_gate(self, hook: Hook, event: Event) -> GateResult:
        passed = self._matcher_of(hook)(names_of(event, self._spec_of(hook.dialect)))
        if not hook.matcher:
            return GateResult(Gate.MATCHER, passed, "it has no matcher")
        verb = "matches" if passed else "does not match"
        called = event.native_tool or primary_name(event.tool, event.host)
        shown = dict.fromkeys(filter(None, (event.tool or event.subject, called)))
        return GateResult(Gate.MATCHER, passed, f"matcher {hook.matcher!r} {verb} {' or '.join(shown)!r}")

    def _host_gate(self, hook: Hook, event: Event) -> GateResult:
        """Leave a hook from an agent's own settings to that agent: it would run twice."""
        host = self._spec_of(event.host) if hook.run_by and event.host else None
        if host is None:
            return GateResult(Gate.HOST, passed=True, reason="no agent runs it by itself here")
        passed = not host.runs_itself(hook.run_by)
        whose = f"it is in the settings of {' and '.join(hook.run_by)}"
        reason = f"{whose}, which {event.host} {'does not read' if passed else 'runs by itself'}"
        return GateResult(Gate.HOST, passed, reason)

    def _condition_gate(
        self, hook: Hook, event: Event, *, explain: bool = False, context: Mapping[str, object] | None = None
    ) -> GateResult:
        """Evaluate the condition; with `explain`, the reason has the values that decided."""
        if not hook.condition:
            return GateResult(Gate.CONDITION, passed=True, reason="it has no condition")
        if hook.facts and FACTS_OF in hook.condition and not (event.facts or {}).keys() >= {*hook.facts}:
            return GateResult(Gate.CONDITION, passed=True, reason="looked at when the facts that it names are gathered")
        condition, context = self._condition_of(hook.condition), context or self._context(event, [hook])
        text = f"if `{' '.join(hook.condition.splitlines())}`"
        try:
            passed = condition(context)
        except ConditionError as problem:
            # A guard runs once too often. A rule is a constant answer, so it does not apply without the value.
            spec = self._spec_of(hook.dialect)
            on_error = hook.on_error or (spec.on_error if spec else OnError.CONTINUE)
            is_inapplicable = hook.kind == "rule" and isinstance(problem, MissingValueError)
            passed = on_error is OnError.BLOCK and not is_inapplicable
            return GateResult(Gate.CONDITION, passed, f"{text} cannot be decided: {problem}")
        facts = condition.facts(context) if explain else ""
        result = f"{text} is {'true' if passed else 'false'}"
        return GateResult(Gate.CONDITION, passed, f"{result} ({facts})" if facts else result)

    def _context(self, event: Event, hooks: Iterable[Hook]) -> dict[str, object]:
        """Return the names of conditions; the effects of a call are computed only where a condition uses them."""
        if any(EFFECTS in hook.condition for hook in hooks):
            return event_context(event, effects=self.filters.effects(event).as_dict())
        return event_context(event)

    def _condition_of(self, text: str) -> Condition:
        condition = self._conditions.get(text)
        if condition is None:
            compile_condition = self._compile_condition or default_components().conditions
            if compile_condition is None:
                raise ConfigError("this engine was put together without a reader of conditions")
            condition = self._conditions[text] = compile_condition(spell_agents(text))
        return condition

    def _matcher_of(self, hook: Hook) -> SubjectMatcher:
        key = (hook.dialect, hook.matcher, is_untrusted(hook))
        matcher = self._matchers.get(key)
        if matcher is None:
            spec = self._spec_of(hook.dialect)
            matcher = self._matchers[key] = matcher_of_subject(spec, hook.matcher, is_untrusted=key[2])
        return matcher


def with_shared_budget(context: Mapping[str, object]) -> Mapping[str, object]:
    """Return the context with one time budget for all conditions that are evaluated with it."""
    from hookline.conditions.compiler import BUDGET, EvaluationBudget  # noqa: PLC0415 - loaded already where there are conditions

    return {**context, BUDGET: EvaluationBudget()}


def _group_stages(hooks: Iterable[Hook], order: Order) -> Iterator[tuple[Hook, ...]]:
    """Group neighbouring parallel hooks into one stage, unless one waits for another."""
    stage: list[Hook] = []
    for hook in hooks:
        if stage and (not hook.parallel or order.follows(hook.id, (other.id for other in stage))):
            yield tuple(stage)
            stage = []
        if hook.parallel:
            stage.append(hook)
        else:
            yield (hook,)
    if stage:
        yield tuple(stage)


def _enabled_gate(hook: Hook, _event: Event) -> GateResult:
    return GateResult(Gate.ENABLED, hook.enabled, "switched on" if hook.enabled else "switched off")


def _agents_gate(hook: Hook, event: Event) -> GateResult:
    if not hook.agents:
        return GateResult(Gate.AGENTS, passed=True, reason="it is for every agent")
    listed = " and ".join(hook.agents)
    here = event.host or "an event that no agent raised"
    passed = is_for_agent(hook.agents, event.host)
    return GateResult(Gate.AGENTS, passed, f"it is for {listed}" + ("" if passed else f", not for {here}"))


def find_misspelt_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names that no event has, each with the name of ours that is most like it.

    Events may have fields of their own, so that others are not misspelt.
    """
    for name in sorted(set(names) - _KNOWN_NAMES):
        if near := find_closest(name, _KNOWN_NAMES, cutoff=_NEARLY_THE_SAME):
            yield name, near


def _check_names(hook: Hook, condition: Condition) -> None:
    """Check the names in the condition of a rule: without a value it never applies, while a program is asked all the same.

    Raises:
        ConfigError: One is misspelt.
    """
    for name, near in find_misspelt_names(condition.names) if hook.kind == "rule" else ():
        raise ConfigError(
            f'its `if` asks for "{name}", and no event has that (did you mean "{near}"? A field of your own is data.{name})'
        )


def _check_scopes(hook: Hook) -> None:
    """Check the agents, times and facts of a hook, and the facts that its condition names.

    Raises:
        ConfigError: There is no such agent or fact, or a time cannot be read.
    """
    try:
        for name in hook.agents:
            find_agent(name)
        for window in hook.between:
            parse_window(window)
        read_facts(hook.facts)
        find_named_facts((hook.condition,))
    except ValueError as problem:
        raise ConfigError(str(problem)) from None


def _event_gate(hook: Hook, event: Event) -> GateResult:
    passed = not set(_event_keys(event)).isdisjoint(hook.on)
    listed = " and ".join(hook.on) or "no event"
    return GateResult(Gate.EVENT, passed, f"it runs at {listed}" + ("" if passed else f", not at {event.name}"))


def _event_keys(event: Event) -> tuple[str, ...]:
    """Return the registry keys of an event."""
    if event.name is EventName.CUSTOM:
        return (str(event.name), f"{CUSTOM_PREFIX}{event.subject}")
    return (str(event.name),)


def _first_closed(gates: Iterable[AskGate], hook: Hook, event: Event) -> GateResult | None:
    return next((result for gate in gates if not (result := gate(hook, event)).passed), None)


def _put(cache: dict[_PlanKey, T], key: _PlanKey, value: T) -> None:
    if len(cache) >= CACHE_SIZE:
        cache.clear()
    cache[key] = value
