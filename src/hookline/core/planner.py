"""Which hooks run for an event, and in what order. No I/O, no clock."""

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.core import paths
from hookline.core.parts import CompileCondition, CompilePatterns, Condition, FileMatch, default_parts
from hookline.core.registry import CUSTOM_PREFIX, HookRegistry
from hookline.core.translator import event_of
from hookline.errors import ConditionError, ConfigError
from hookline.model.context import context_of
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, OnError, Source
from hookline.model.plan import Gate, Plan, Skip

# Plans are remembered by event and subject; subjects may be paths, so the memory is bounded.
MEMORY: Final = 2048

_MANAGED_RANK: Final = 1
_SOURCE_RANK: Final = {
    Source.BUILTIN: 0,
    Source.USER: 2,
    Source.WORKSPACE: 3,
    Source.DOWNLOADED: 4,
    Source.EXTENSION: 4,
}
# whose patterns are about one project; those of all others are about wherever the agent works
_OF_A_PROJECT: Final = frozenset({Layer.LOCAL, Layer.PROJECT})
_MCP_PREFIX: Final = "mcp__"
_REGEX_ONLY: Final = re.compile(r"[.^$()\[\]+?\\{}]")

Matcher = Callable[[str], bool]


class GateResult(Struct, frozen=True):
    """Whether one gate lets a hook through, and why."""

    gate: Gate
    passed: bool
    reason: str


AskGate = Callable[[Hook, Event], GateResult]


def matcher_for(style: MatcherStyle, text: str) -> Matcher:
    """Compile a matcher; an empty one and `*` match everything.

    Names are compared whole and without case: `edit` must not catch `notebook_edit`, and agents spell the
    same tool `Bash` and `bash`. A pattern that uses regular expression syntax is read as one, because the
    pattern language of cli-agent promises to take Claude Code's matchers.

    Raises:
        ConfigError: The text is no regular expression.
    """
    if text in {"", "*"}:
        return _matches_everything
    if style is MatcherStyle.PATTERN and not _REGEX_ONLY.search(text):
        expression = "|".join(fnmatch.translate(part.strip()) for part in text.split("|"))
    else:
        expression = text
    try:
        # subjects may be whole command lines, with line breaks in them
        compiled = re.compile(expression, re.IGNORECASE | re.DOTALL)
    except re.error as problem:
        raise ConfigError(f"matcher {text!r} is no regular expression: {problem}") from None
    return lambda name: compiled.fullmatch(name) is not None


def _matches_everything(_name: str) -> bool:
    return True


class HookPlanner:
    """Pick the hooks that match an event, put them in order, and keep the reason for each that does not."""

    def __init__(
        self,
        registry: HookRegistry,
        dialects: Mapping[str, DialectSpec] | None = None,
        *,
        file_patterns: CompilePatterns | None = None,
        conditions: CompileCondition | None = None,
    ) -> None:
        self._registry = registry
        self._dialects = dialects or {}
        self._compile = file_patterns
        self._compile_condition = conditions
        self._plans: dict[tuple[EventName, str, str], Plan] = {}
        # plans with hooks that also look at files: what is remembered of them still has to be narrowed
        self._wide: dict[tuple[EventName, str, str], Plan] = {}
        self._matchers: dict[tuple[MatcherStyle, str], Matcher] = {}
        self._patterns: dict[tuple[str, ...], FileMatch] = {}
        self._conditions: dict[str, Condition] = {}
        self._version = registry.version

    def check(self, hook: Hook) -> None:
        """Compile a hook's matcher and patterns now, so that a broken one is found when the hook is added.

        Raises:
            ConfigError: It is no regular expression, or no pattern.
        """
        try:
            self._matcher_of(hook)
            for patterns in filter(None, (hook.files, hook.writes)):
                self._patterns_of(patterns)
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
        if self._version != self._registry.version:
            self._plans.clear()
            self._wide.clear()
            self._version = self._registry.version
        key = (event.name, event.subject, event.native_tool)
        plan = self._plans.get(key)
        return plan if plan is not None else self._plan_anew(event, key)

    def gates(self, hook: Hook, event: Event) -> list[GateResult]:
        """Ask every gate about a hook, also those behind one that is closed already."""
        return [gate(hook, event) for gate in (_enabled, _listens, self._matched, *self._narrow)]

    def only(self, hook: Hook, event: Event) -> Plan:
        """Plan for one hook that is asked for by name: what it listens to does not matter, all other gates do."""
        return _sifted([hook], event, gates=(_enabled, self._matched, *self._narrow))

    @property
    def _narrow(self) -> tuple[AskGate, ...]:
        """Give the gates that look at more of an event than its subject."""
        return (self._about_files, self._may_write, self._meant)

    def _plan_anew(self, event: Event, key: tuple[EventName, str, str]) -> Plan:
        wide = self._wide.get(key)
        if wide is None:
            wide = self._make(event)
            looks_closer = any(hook.files or hook.writes or hook.condition for hook in wide.hooks)
            memory = self._wide if looks_closer else self._plans
            if len(memory) >= MEMORY:
                memory.clear()
            memory[key] = wide
            if not looks_closer:
                return wide
        return self._narrowed(wide, event)

    def _make(self, event: Event) -> Plan:
        return _sifted(self._listening(event), event, gates=(_enabled, self._matched))

    def _narrowed(self, plan: Plan, event: Event) -> Plan:
        """Leave out the hooks that are about other files than the event is, or whose condition is not met."""
        kept = _sifted(plan.hooks, event, gates=self._narrow)
        return Plan(kept.stages, (*plan.skipped, *kept.skipped))

    def _listening(self, event: Event) -> list[Hook]:
        hooks = self._registry.get_hooks_for_event(event.name)
        if event.name is EventName.CUSTOM:
            hooks += self._registry.get_hooks_for_event(f"{CUSTOM_PREFIX}{event.subject}")
        return sorted({hook.id: hook for hook in hooks}.values(), key=self.rank)

    def rank(self, hook: Hook) -> tuple[int, int, int]:
        """Say where in the order a hook stands; the smallest runs first."""
        of_source = _MANAGED_RANK if hook.layer is Layer.MANAGED else _SOURCE_RANK[hook.source]
        return hook.priority, of_source, self._registry.position(hook)

    def _matched(self, hook: Hook, event: Event) -> GateResult:
        names = list(_names(event, self._dialects.get(hook.dialect)))
        passed = any(map(self._matcher_of(hook), names))
        if not hook.matcher:
            return GateResult(Gate.MATCHER, passed, "it has no matcher")
        verb = "matches" if passed else "does not match"
        return GateResult(Gate.MATCHER, passed, f"matcher {hook.matcher!r} {verb} {' or '.join(names)!r}")

    def _about_files(self, hook: Hook, event: Event) -> GateResult:
        if not hook.files:
            return GateResult(Gate.FILES, passed=True, reason="it is not about certain files")
        found = paths.named(event)
        if not found:
            return GateResult(Gate.FILES, passed=False, reason=f"this {event.name} names no file")
        return self._compared(Gate.FILES, hook, event, patterns=hook.files, found=found)

    def _may_write(self, hook: Hook, event: Event) -> GateResult:
        if not hook.writes:
            return GateResult(Gate.WRITES, passed=True, reason="it does not wait for certain files to be written")
        found = paths.written(event)
        if found is None:
            what = f"{event.tool or 'this'} may write any file"
            return GateResult(Gate.WRITES, passed=True, reason=what)
        if not found:
            what = f"{event.tool} writes no file" if event.tool else f"{event.name} writes no file"
            return GateResult(Gate.WRITES, passed=False, reason=what)
        return self._compared(Gate.WRITES, hook, event, patterns=hook.writes, found=found)

    def _meant(self, hook: Hook, event: Event) -> GateResult:
        if not hook.condition:
            return GateResult(Gate.CONDITION, passed=True, reason="it has no condition")
        try:
            passed = self._condition_of(hook.condition)(context_of(event))
        except ConditionError as problem:
            # a guard that was asked to block is asked rather once too often
            is_guard = hook.on_error is OnError.BLOCK
            return GateResult(Gate.CONDITION, is_guard, f"if {hook.condition!r} cannot be decided: {problem}")
        return GateResult(Gate.CONDITION, passed, f"if {hook.condition!r} is {'true' if passed else 'false'}")

    def _compared(
        self, gate: Gate, hook: Hook, event: Event, *, patterns: tuple[str, ...], found: tuple[str, ...]
    ) -> GateResult:
        matches = self._patterns_of(patterns)
        folder = hook.root if hook.root and hook.layer in _OF_A_PROJECT else event.cwd
        for path in found:
            # a person's home is not ours to know: whoever reads the patterns knows it
            whole = path if path.startswith("~") else os.path.join(event.cwd, path)  # noqa: PTH118 - only texts here
            if matches(whole, folder):
                return GateResult(gate, passed=True, reason=f"{gate} {list(patterns)!r} match {path!r}")
        shown = " or ".join(map(repr, found))
        return GateResult(gate, passed=False, reason=f"{gate} {list(patterns)!r} do not match {shown}")

    def _patterns_of(self, patterns: tuple[str, ...]) -> FileMatch:
        found = self._patterns.get(patterns)
        if found is None:
            if self._compile is None:
                self._compile = default_parts().file_patterns
            if self._compile is None:
                raise ConfigError("this engine was put together without a reader of file patterns")
            found = self._patterns[patterns] = self._compile(patterns)
        return found

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
        key = (spec.matcher if spec else MatcherStyle.PATTERN, hook.matcher)
        found = self._matchers.get(key)
        if found is None:
            found = self._matchers[key] = matcher_for(*key)
        return found


def _enabled(hook: Hook, _event: Event) -> GateResult:
    return GateResult(Gate.ENABLED, hook.enabled, "switched on" if hook.enabled else "switched off")


def _listens(hook: Hook, event: Event) -> GateResult:
    asked = {str(event.name)} | ({f"{CUSTOM_PREFIX}{event.subject}"} if event.name is EventName.CUSTOM else set())
    passed = not asked.isdisjoint(hook.on)
    listed = " and ".join(hook.on) or "no event"
    return GateResult(Gate.EVENT, passed, f"it runs at {listed}" + ("" if passed else f", not at {event.name}"))


def _sifted(hooks: Iterable[Hook], event: Event, *, gates: Sequence[AskGate]) -> Plan:
    """Keep the hooks that every gate lets through; the others have the reason of the first that does not."""
    chosen: list[Hook] = []
    skipped: list[Skip] = []
    for hook in hooks:
        closed = next((answer for gate in gates if not (answer := gate(hook, event)).passed), None)
        if closed is None:
            chosen.append(hook)
        else:
            skipped.append(Skip(hook, closed.gate, closed.reason))
    return Plan(tuple(_stages(chosen)), tuple(skipped))


def _names(event: Event, spec: DialectSpec | None) -> Iterator[str]:
    """Give every name a matcher may know the event's subject by."""
    if not event.tool:
        yield event.subject
        return
    names = dict.fromkeys([event.tool, event.native_tool, *(spec.tools.get(event.tool, ()) if spec else ())])
    for name in filter(None, names):
        yield name
        if not name.startswith((_MCP_PREFIX, "builtin:")):
            yield f"builtin:{name}"


def _stages(hooks: list[Hook]) -> Iterator[tuple[Hook, ...]]:
    """Put neighbours that may run together into one stage."""
    together: list[Hook] = []
    for hook in hooks:
        if not hook.parallel:
            if together:
                yield tuple(together)
                together = []
            yield (hook,)
        else:
            together.append(hook)
    if together:
        yield tuple(together)
