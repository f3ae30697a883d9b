"""Which hooks run for an event, and in what order. No I/O, no clock."""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hookline.core.registry import CUSTOM_PREFIX, HookRegistry
from hookline.core.translator import event_of
from hookline.errors import ConfigError
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Plan, Skip

# Plans are remembered by event and subject; subjects may be paths, so the memory is bounded.
MEMORY: Final = 2048

_SOURCE_RANK: Final = {
    Source.BUILTIN: 0,
    Source.USER: 1,
    Source.WORKSPACE: 2,
    Source.DOWNLOADED: 3,
    Source.EXTENSION: 3,
}
_MCP_PREFIX: Final = "mcp__"
_REGEX_ONLY: Final = re.compile(r"[.^$()\[\]+?\\{}]")

Matcher = Callable[[str], bool]


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

    def __init__(self, registry: HookRegistry, dialects: Mapping[str, DialectSpec] | None = None) -> None:
        self._registry = registry
        self._dialects = dialects or {}
        self._plans: dict[tuple[EventName, str, str], Plan] = {}
        self._matchers: dict[tuple[MatcherStyle, str], Matcher] = {}
        self._version = registry.version

    def check(self, hook: Hook) -> None:
        """Compile a hook's matcher now, so that a broken one is found when the hook is added.

        Raises:
            ConfigError: It is no regular expression.
        """
        try:
            self._matcher_of(hook)
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
            self._version = self._registry.version
        key = (event.name, event.subject, event.native_tool)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MEMORY:
                self._plans.clear()
            plan = self._plans[key] = self._make(event)
        return plan

    def _make(self, event: Event) -> Plan:
        chosen: list[Hook] = []
        skipped: list[Skip] = []
        for hook in self._listening(event):
            skip = self._skip(hook, event)
            if skip is None:
                chosen.append(hook)
            else:
                skipped.append(skip)
        return Plan(tuple(_stages(chosen)), tuple(skipped))

    def _listening(self, event: Event) -> list[Hook]:
        hooks = self._registry.get_hooks_for_event(event.name)
        if event.name is EventName.CUSTOM:
            hooks += self._registry.get_hooks_for_event(f"{CUSTOM_PREFIX}{event.subject}")
        return sorted({hook.id: hook for hook in hooks}.values(), key=self._rank)

    def _rank(self, hook: Hook) -> tuple[int, int, int]:
        return hook.priority, _SOURCE_RANK[hook.source], self._registry.position(hook)

    def _skip(self, hook: Hook, event: Event) -> Skip | None:
        if not hook.enabled:
            return Skip(hook, Gate.ENABLED, "switched off")
        names = list(_names(event, self._dialects.get(hook.dialect)))
        if not any(map(self._matcher_of(hook), names)):
            return Skip(hook, Gate.MATCHER, f"matcher {hook.matcher!r} does not match {' or '.join(names)!r}")
        return None

    def _matcher_of(self, hook: Hook) -> Matcher:
        spec = self._dialects.get(hook.dialect)
        key = (spec.matcher if spec else MatcherStyle.PATTERN, hook.matcher)
        found = self._matchers.get(key)
        if found is None:
            found = self._matchers[key] = matcher_for(*key)
        return found


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
