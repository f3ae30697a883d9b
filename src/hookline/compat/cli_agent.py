"""The API of CLI-Agent's hook document, on the engine's own planner, runner and dialect.

A program that builds a `HookConfig` has thereby decided to run its hooks. Files of the project are the exception, because a cloned
repository can ship them: they are left out unless the program vouches for them.
"""

import inspect
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.config import jsonc
from hookline.config.discovery import LOCATIONS, Root, find_files
from hookline.config.document import Problem, Severity
from hookline.config.formats import grouped
from hookline.config.loader import SearchPaths, load, read_text
from hookline.config.reader import FileOrigin
from hookline.dialects import DIALECTS
from hookline.engine import merge
from hookline.engine.bus import MessageBus
from hookline.engine.components import Components
from hookline.engine.matchers import matcher_for
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.runner import Execution, HookRunner
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.hook import Hook, Source
from hookline.model.settings import from_environment
from hookline.model.verdict import Decision, EffectKind
from hookline.shell.templates import compile_line, show
from hookline.trust.policy import TrustedHooks, TrustedHooksConfig
from hookline.user_dirs import find_user_dirs
from hookline.wiring import known_names, make_components

logger = logging.getLogger(__name__)

DIALECT: Final = "cli-agent"
TIMEOUT: Final = 30.0


class HookType(StrEnum):
    """The events of CLI-Agent."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    NOTIFICATION = "Notification"
    STOP = "Stop"


class HookDefinition(Struct, frozen=True):
    """One hook; `timeout` is in seconds, and None leaves it to the executor.

    `hook` is set for hooks from a file, which may have more fields than these.
    """

    type: str
    command: str
    timeout: float | None = TIMEOUT
    working_directory: str | None = None
    env: Mapping[str, str] | None = None
    hook: Hook | None = None


class HookMatcher(Struct, frozen=True):
    """The hooks for the tools whose names match."""

    matcher: str
    hooks: Sequence[HookDefinition]


class HookConfig(Struct, frozen=True):
    """Hooks by event, and the problems of the files they came from."""

    hooks: Mapping[HookType, Sequence[HookMatcher]]
    problems: tuple[Problem, ...] = ()

    @classmethod
    def load_from_file(cls, config_path: str | Path) -> "HookConfig":
        """Load the hooks of one settings file; naming the file is the decision to trust it.

        Raises:
            ConfigError: The file cannot be read, or is no JSON. Smaller mistakes are in `problems`.
        """
        path = str(config_path)
        origin = FileOrigin(path=path, dialect=DIALECT, source=Source.USER, known_names=known_names())
        hooks, problems = grouped.read(jsonc.parse(read_text(path), path=path), origin=origin)
        objections = [(hook, _find_problem(hook)) for hook in hooks]
        problems += [Problem(path, hook.source_line, reason) for hook, reason in objections if reason]
        return _make_config([hook for hook, reason in objections if not reason], problems)

    @classmethod
    def load_from_multiple_sources(
        cls, project: Path | None = None, home: Path | None = None, *, trusted_project: bool = False
    ) -> "HookConfig":
        """Load and merge the settings of the project and of the person, the strongest first.

        The project's own files count only when the program says that the project is trusted.
        """
        places = [place for place in LOCATIONS if place.dialect == DIALECT]
        root = project or Path.cwd()
        person = home or find_user_dirs(root).home
        problems: list[Problem] = []
        if not trusted_project:
            files, _ = find_files({Root.PROJECT: [str(root.resolve())], Root.HOME: [str(person.resolve())]}, places)
            why = "hooks of the project are left out: the project is not trusted"
            problems += [Problem(file.path, 0, why) for file in files if file.location.source is Source.WORKSPACE]
            places = [place for place in places if place.source is not Source.WORKSPACE]
        search = SearchPaths(project=root, home=person, config=person, known_names=known_names(), locations=places)
        loaded = load(search, unusable=_find_problem)
        return _make_config(loaded.hooks, [*problems, *loaded.problems])


class HostConfig(Struct, frozen=True, kw_only=True):
    """The settings `HOOKS_ENABLED` and `HOOKS_TIMEOUT`."""

    hooks_enabled: bool = True
    hooks_timeout: float = TIMEOUT

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "HostConfig":
        """Read the settings; an invalid value of a variable raises `ConfigError`."""
        settings = from_environment(os.environ if environ is None else environ)
        return cls(hooks_enabled=settings.enabled, hooks_timeout=settings.timeout or TIMEOUT)

    def load_hook_config(
        self, project: Path | None = None, home: Path | None = None, *, trusted_project: bool = False
    ) -> HookConfig | None:
        """Load the hooks from all sources; None when hooks are switched off."""
        if not self.hooks_enabled:
            return None
        return HookConfig.load_from_multiple_sources(project, home, trusted_project=trusted_project)


class HookResult(Struct, frozen=True, kw_only=True):
    """The result of one hook.

    `decision` is approve, modify, ask or block. `json_output` is the hook's answer, and None when there was none or the hook failed.
    """

    success: bool
    exit_code: int
    stdout: str
    stderr: str
    execution_time: float
    json_output: dict[str, object] | None = None
    should_continue: bool = True
    decision: str = "approve"
    reason: str | None = None


class HookEventType(StrEnum):
    """The types of events that a bus gets."""

    HOOK_EXECUTION_START = "hook_execution_start"
    HOOK_EXECUTION_COMPLETE = "hook_execution_complete"
    HOOK_EXECUTION_ERROR = "hook_execution_error"


class HookExecutionStartEvent(Struct, frozen=True, kw_only=True):
    """A hook is about to run."""

    hook_type: str
    hook_command: str
    context: Mapping[str, object]
    event_type: HookEventType = HookEventType.HOOK_EXECUTION_START


class HookExecutionCompleteEvent(Struct, frozen=True, kw_only=True):
    """A hook has answered."""

    hook_type: str
    hook_command: str
    result: HookResult
    event_type: HookEventType = HookEventType.HOOK_EXECUTION_COMPLETE


class HookExecutionErrorEvent(Struct, frozen=True, kw_only=True):
    """A hook gave no usable answer."""

    hook_type: str
    hook_command: str
    error: str
    event_type: HookEventType = HookEventType.HOOK_EXECUTION_ERROR


HookEvent = HookExecutionStartEvent | HookExecutionCompleteEvent | HookExecutionErrorEvent


class EventBus(Protocol):
    """A bus of the program's own; `emit` may be async."""

    def emit(self, event: HookEvent, /) -> object:
        """Receive one event."""


class HookExecutor:
    """Run single hooks; `timeout`, in seconds, holds for hooks without their own."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        self._components: Components = make_components()
        # the program chose these hooks (see the top of this module)
        trust = TrustedHooks(TrustedHooksConfig(trust_workspace=True))
        self._runner = HookRunner(timeout, trust, components=self._components)

    async def execute_hook(self, hook: HookDefinition, context: Mapping[str, object]) -> HookResult:
        """Run one hook for the event of its context; an invalid context raises `DialectError`."""
        kind = _find_type(context)
        return make_result(
            await self.run(_make_hook(hook, hook_type=kind, hook_id=f"{kind}:1"), parse_context(kind, context))
        )

    async def run(self, hook: Hook, event: Event) -> Execution:
        """Run one hook of the engine for one of its events."""
        return await self._runner.execute_hook_with_metadata(hook, event)

    def substitute_template_variables(self, command: str, context: Mapping[str, object]) -> str:
        """Return the command with its templates filled in, for users to read or to paste into a shell.

        Each value is quoted as the position of its template needs it, so that the line does what the hook does. Hooks themselves are
        never run from this text: there, a shell parses no value.

        Raises:
            ConfigError: A template stands where no quoting makes it safe.
        """
        kind = _find_type(context)
        hook = Hook(id=kind, dialect=DIALECT, command=command)
        request = DIALECTS[DIALECT].encode_event(parse_context(kind, context), hook)
        return show(command, request.values or {})

    def parse_json_output(self, stdout: str) -> dict[str, object] | None:
        """Parse an answer: one JSON object and nothing else; None for any other output."""
        return _parse_answer(stdout)

    async def close(self) -> None:
        """Release resources that are kept between hooks."""
        for kind in self._components.kinds.values():
            await kind.close()


class HookManager:
    """Find and run the hooks of a configuration, and report to a bus."""

    def __init__(
        self, config: HookConfig, event_bus: MessageBus | EventBus | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        """Register the hooks; an invalid matcher or hook raises `ConfigError`."""
        self.config = config
        self.event_bus = event_bus
        self.executor = HookExecutor(timeout)
        self._registry = HookRegistry()
        self._definitions: dict[str, HookDefinition] = {}
        for hook_type, groups in config.hooks.items():
            pairs = [(group.matcher, definition) for group in groups for definition in group.hooks]
            for number, (matcher, definition) in enumerate(pairs, start=1):
                matcher_for(DIALECTS[DIALECT].SPEC.matcher, matcher)
                hook_id = f"{hook_type}:{number}"
                self._registry.add(_make_hook(definition, hook_type=hook_type, hook_id=hook_id, matcher=matcher))
                self._definitions[hook_id] = definition
        self._planner = HookPlanner(self._registry, DIALECTS)

    async def execute_hooks(self, hook_type: HookType, context: Mapping[str, object]) -> list[HookResult]:
        """Run all matching hooks one after another, each seeing what the ones before it changed.

        A hook that answers `continue: false` is the last one to run.

        Raises:
            DialectError: The context is invalid, such as a tool's arguments that are no object.
        """
        event = parse_context(hook_type, context)
        results: list[HookResult] = []
        for hook in self._planner.plan(event).hooks:
            command = self._definitions[hook.id].command
            await self._publish(HookExecutionStartEvent(hook_type=hook_type, hook_command=command, context=context))
            execution = await self.executor.run(hook, event)
            verdict, result = execution.verdict, make_result(execution)
            results.append(result)
            await self._publish(
                HookExecutionCompleteEvent(hook_type=hook_type, hook_command=command, result=result)
                if verdict.failure is None
                else HookExecutionErrorEvent(hook_type=hook_type, hook_command=command, error=verdict.failure.message)
            )
            event = merge.apply_changes(event, [verdict])
            if verdict.ends and not verdict.observed:
                break
        return results

    def match_hooks(self, hook_type: HookType, tool_name: str) -> list[HookDefinition]:
        """Find the hooks for a tool, in the order they run; for notifications, `tool_name` is their type."""
        field = "type" if hook_type is HookType.NOTIFICATION else "tool_name"
        plan = self._planner.plan(parse_context(hook_type, {field: tool_name}))
        return [self._definitions[hook.id] for hook in plan.hooks]

    def should_block_operation(self, results: Sequence[HookResult]) -> tuple[bool, str]:
        """Return whether the operation is blocked, and why."""
        blocking = [result for result in results if not result.should_continue or result.decision == "block"]
        reasons = dict.fromkeys(result.reason or "blocked without a reason" for result in blocking)
        return bool(blocking), "\n".join(reasons)

    async def close(self) -> None:
        """Release resources that are kept between hooks."""
        await self.executor.close()

    async def _publish(self, event: HookEvent) -> None:
        """Publish an event; a listener that fails changes nothing."""
        bus = self.event_bus
        if bus is None:
            return
        try:
            result = bus.emit(event.event_type, event) if isinstance(bus, MessageBus) else bus.emit(event)
            if inspect.isawaitable(result):
                await result
        except Exception:
            logger.exception("the event bus failed on %s", event.event_type)


def parse_context(hook_type: HookType, context: Mapping[str, object]) -> Event:
    """Return the event of a context, which is CLI-Agent's payload as a mapping."""
    document = {**context, "hook_event_name": hook_type}
    if hook_type is HookType.NOTIFICATION and "type" not in context and "event_type" in context:
        document["type"] = context["event_type"]
    return DIALECTS[DIALECT].decode_event(json_codec.dump(document))


def make_result(execution: Execution) -> HookResult:
    """Return the result of an execution."""
    verdict, reply = execution.verdict, execution.reply
    stdout = reply.stdout.decode("utf-8", "replace")
    answer = reply.value if isinstance(reply.value, dict) else _parse_answer(stdout)
    failure = verdict.failure.message if verdict.failure is not None else None
    if verdict.observed or verdict.decision < Decision.ASK:
        is_changed = not verdict.observed and any(effect.kind is EffectKind.REWRITE for effect in verdict.effects)
        decision = "modify" if is_changed else "approve"
    else:
        decision = "ask" if verdict.decision is Decision.ASK else "block"
    return HookResult(
        success=failure is None and reply.exit_code == 0,
        exit_code=reply.exit_code,
        stdout=stdout,
        stderr=reply.stderr.decode("utf-8", "replace"),
        execution_time=execution.duration,
        json_output=answer if failure is None else None,
        should_continue=verdict.observed or verdict.decision < Decision.ASK,
        decision=decision,
        reason=verdict.reason or failure,
    )


def _parse_answer(stdout: str) -> dict[str, object] | None:
    try:
        value = json_codec.load(stdout)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# a context without a name is of the first type whose key it has
_TYPE_BY_KEY: Final = (
    ("result", HookType.POST_TOOL_USE),
    ("error", HookType.POST_TOOL_USE),
    ("tool_name", HookType.PRE_TOOL_USE),
    ("message", HookType.NOTIFICATION),
)


def _find_type(context: Mapping[str, object]) -> HookType:
    """Return the type of a context: by its name, else by its keys."""
    name = context.get("hook_event_name")
    if isinstance(name, str) and name in HookType.__members__.values():
        return HookType(name)
    return next((kind for key, kind in _TYPE_BY_KEY if key in context), HookType.STOP)


_EVENTS: Final[Mapping[HookType, tuple[str, ...]]] = {
    HookType.PRE_TOOL_USE: ("before_tool",),
    HookType.POST_TOOL_USE: ("after_tool", "tool_failed"),
    HookType.NOTIFICATION: ("notification",),
    HookType.STOP: ("after_agent",),
}


def _make_hook(definition: HookDefinition, *, hook_type: HookType, hook_id: str, matcher: str = "") -> Hook:
    """Return the engine's hook for a definition, which overrides its file."""
    if definition.hook is None and definition.type != "command":
        raise ConfigError(f'a hook of type "{definition.type}" cannot be built here, only one of type "command"')
    base = definition.hook or Hook(id=hook_id, dialect=DIALECT, command=definition.command, source=Source.USER)
    return replace(
        base,
        id=hook_id,
        on=_EVENTS[hook_type],
        matcher=matcher,
        command=definition.command if base.kind == "command" else "",
        timeout=definition.timeout,
        working_directory=definition.working_directory or "",
        env=definition.env or {},
    )


def _find_problem(hook: Hook) -> str:
    """Return why a hook from a file cannot be used here; empty when it can."""
    try:
        matcher_for(DIALECTS[DIALECT].SPEC.matcher, hook.matcher)
    except ConfigError as problem:
        return problem.message
    if not any(set(events) & set(hook.on) for events in _EVENTS.values()):
        return f"CLI-Agent has no event {' or '.join(hook.on)}"
    return ""


def _make_config(hooks: Sequence[Hook], problems: Iterable[Problem]) -> HookConfig:
    found = [*problems]
    for hook in hooks:
        try:
            compile_line(hook.command)
        except ConfigError as refused:
            # it stays, so that its failure policy holds
            why = f"the hook will not be run: {refused.message}"
            found.append(Problem(hook.source_path, hook.source_line, why))
    for problem in found:
        logger.log(logging.INFO if problem.severity is Severity.NOTE else logging.WARNING, "%s", problem)
    groups: dict[HookType, tuple[HookMatcher, ...]] = {}
    for hook_type, events in _EVENTS.items():
        chosen = [hook for hook in hooks if set(events) & set(hook.on)]
        groups[hook_type] = tuple(
            HookMatcher(matcher, tuple(map(_make_definition, group)))
            for matcher, group in groupby(chosen, key=lambda hook: hook.matcher or "*")
        )
    return HookConfig(groups, tuple(found))


def _make_definition(hook: Hook) -> HookDefinition:
    return HookDefinition(
        type=hook.kind,
        command=hook.command or hook.url or hook.module,
        timeout=hook.timeout,
        working_directory=hook.working_directory or None,
        env=hook.env or None,
        hook=hook,
    )
