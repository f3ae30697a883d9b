"""The classes of CLI-Agent's hook document, on the engine's own planner, runner and dialect.

The program that builds a `HookConfig` has thereby decided to run what is in it. Files of the project are the
exception, because a cloned repository can ship them: they are left out unless the program vouches for them.
"""

import inspect
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.config import jsonc
from hookline.config.formats import grouped
from hookline.config.loader import Search, load, read_text
from hookline.config.locations import PLACES, Root, find
from hookline.config.problem import Problem, Severity
from hookline.config.reading import Origin
from hookline.config.vocabulary import Vocabulary
from hookline.core import merge
from hookline.core.bus import MessageBus
from hookline.core.matchers import matcher_for
from hookline.core.parts import Parts
from hookline.core.planner import HookPlanner
from hookline.core.registry import HookRegistry
from hookline.core.runner import Execution, HookRunner
from hookline.core.trust import TrustedHooks, TrustedHooksConfig
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.folders import person_folders
from hookline.kinds.shell.template import compile_line, show
from hookline.model.event import Event
from hookline.model.hook import Hook, Source
from hookline.model.settings import from_environment
from hookline.model.verdict import Decision, EffectKind, Verdict
from hookline.wiring import make_parts, native_names, native_tools, shell_dialects

logger = logging.getLogger(__name__)

DIALECT: Final = "cli-agent"
TIMEOUT: Final = 30.0


class HookType(StrEnum):
    """The moments CLI-Agent knows."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    NOTIFICATION = "Notification"
    STOP = "Stop"


class HookDefinition(Struct, frozen=True):
    """One hook; `timeout` counts seconds, and None leaves it to whoever runs the hook.

    `hook` is set for hooks from a file, which may say more than these fields do.
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
    """Hooks by moment, and what was wrong with the files they came from."""

    hooks: Mapping[HookType, Sequence[HookMatcher]]
    problems: tuple[Problem, ...] = ()

    @classmethod
    def load_from_file(cls, config_path: str | Path) -> "HookConfig":
        """Load the hooks of one settings file, whoever wrote it: naming it is the decision to trust it.

        Raises:
            ConfigError: The file cannot be read, or is no JSON. Smaller mistakes are in `problems`.
        """
        path = str(config_path)
        vocabulary = Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
        origin = Origin(path=path, dialect=DIALECT, source=Source.USER, vocabulary=vocabulary)
        hooks, problems = grouped.read(jsonc.parse(read_text(path), path=path), origin=origin)
        objections = [(hook, _objection(hook)) for hook in hooks]
        problems += [Problem(path, hook.source_line, reason) for hook, reason in objections if reason]
        return _config([hook for hook, reason in objections if not reason], problems)

    @classmethod
    def load_from_multiple_sources(
        cls, project: Path | None = None, home: Path | None = None, *, trusted_project: bool = False
    ) -> "HookConfig":
        """Load and merge the settings of the project and of the person, the strongest first.

        The project's own files count only when the program says that the project is trusted.
        """
        places = [place for place in PLACES if place.dialect == DIALECT]
        root = project or Path.cwd()
        person = home or person_folders(root).home
        problems: list[Problem] = []
        if not trusted_project:
            files, _ = find({Root.PROJECT: [str(root.resolve())], Root.HOME: [str(person.resolve())]}, places)
            why = "hooks of the project are left out: the project is not trusted"
            problems += [Problem(file.path, 0, why) for file in files if file.place.source is Source.WORKSPACE]
            places = [place for place in places if place.source is not Source.WORKSPACE]
        vocabulary = Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
        search = Search(project=root, home=person, config=person, vocabulary=vocabulary, places=places)
        loaded = load(search, unusable=_objection)
        return _config(loaded.hooks, [*problems, *loaded.problems])


class HostConfig(Struct, frozen=True, kw_only=True):
    """The settings `HOOKS_ENABLED` and `HOOKS_TIMEOUT`."""

    hooks_enabled: bool = True
    hooks_timeout: float = TIMEOUT

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "HostConfig":
        """Read the settings; a variable that is set to what cannot be meant raises `ConfigError`."""
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
    """What one hook did.

    `decision` is approve, modify, ask or block. `json_output` is what the hook answered, and None when its
    answer does not count: because there was none, or because the hook failed.
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
    """What a bus is told about hooks."""

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
        """Take one event."""


class HookExecutor:
    """Run single hooks; `timeout` counts seconds and holds for hooks without one of their own."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        self._parts: Parts = make_parts()
        # the program chose these hooks (see the top of this module)
        trust = TrustedHooks(TrustedHooksConfig(trust_workspace=True))
        self._runner = HookRunner(timeout, trust, parts=self._parts)

    async def execute_hook(self, hook: HookDefinition, context: Mapping[str, object]) -> HookResult:
        """Run one hook for the moment its context tells; a context that tells none raises `DialectError`."""
        kind = _type_of(context)
        return result_of(await self.run(_hook(hook, hook_type=kind, hook_id=f"{kind}:1"), event_of(kind, context)))

    async def run(self, hook: Hook, event: Event) -> Execution:
        """Run one hook of the engine for one of its events."""
        return await self._runner.execute_hook_with_metadata(hook, event)

    def substitute_template_variables(self, command: str, context: Mapping[str, object]) -> str:
        """Give the command with its templates filled in, for people to read or to paste into a shell.

        Each value is quoted as the place of its template needs it, so that the line does what the hook does.
        Hooks themselves are never run from this text: there, no value becomes part of what a shell parses.

        Raises:
            ConfigError: A template stands where no quoting makes it safe.
        """
        kind = _type_of(context)
        hook = Hook(id=kind, dialect=DIALECT, command=command)
        request = DIALECTS[DIALECT].encode_event(event_of(kind, context), hook)
        return show(command, request.values or {})

    def parse_json_output(self, stdout: str) -> dict[str, object] | None:
        """Read an answer: one JSON object and nothing else. A hook that prints what it was given answers nothing."""
        return _answer(stdout)

    async def close(self) -> None:
        """Give back what is kept between hooks."""
        for kind in self._parts.kinds.values():
            await kind.close()


class HookManager:
    """Find and run the hooks of a configuration, and tell a bus about it."""

    def __init__(
        self, config: HookConfig, event_bus: MessageBus | EventBus | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        """Take the hooks; a matcher or a hook that cannot be meant raises `ConfigError`."""
        self.config = config
        self.event_bus = event_bus
        self.executor = HookExecutor(timeout)
        self._registry = HookRegistry()
        self._definitions: dict[str, HookDefinition] = {}
        for hook, definition in _numbered(config):
            matcher_for(DIALECTS[DIALECT].SPEC.matcher, hook.matcher)
            self._registry.add(hook)
            self._definitions[hook.id] = definition
        self._planner = HookPlanner(self._registry, {name: dialect.SPEC for name, dialect in DIALECTS.items()})

    async def execute_hooks(self, hook_type: HookType, context: Mapping[str, object]) -> list[HookResult]:
        """Run all matching hooks one after another, each seeing what the ones before it changed.

        A hook that answers `continue: false` is the last one to run.

        Raises:
            DialectError: The context is none of this dialect, such as a tool's arguments that are no object.
        """
        event = event_of(hook_type, context)
        results: list[HookResult] = []
        for hook in self._planner.plan(event).hooks:
            command = self._definitions[hook.id].command
            await self._tell(HookExecutionStartEvent(hook_type=hook_type, hook_command=command, context=context))
            execution = await self.executor.run(hook, event)
            results.append(result_of(execution))
            await self._tell(_finished(hook_type, command, execution=execution, result=results[-1]))
            event = merge.carry(event, [execution.verdict])
            if execution.verdict.ends and not execution.verdict.observed:
                break
        return results

    def match_hooks(self, hook_type: HookType, tool_name: str) -> list[HookDefinition]:
        """Find the hooks for a tool, in the order they run; for notifications, `tool_name` is their type."""
        field = "type" if hook_type is HookType.NOTIFICATION else "tool_name"
        plan = self._planner.plan(event_of(hook_type, {field: tool_name}))
        return [self._definitions[hook.id] for hook in plan.hooks]

    def should_block_operation(self, results: Sequence[HookResult]) -> tuple[bool, str]:
        """Say whether the operation may not go on, and why."""
        blocking = [result for result in results if not result.should_continue or result.decision == "block"]
        reasons = dict.fromkeys(result.reason or "blocked without a reason" for result in blocking)
        return bool(blocking), "\n".join(reasons)

    async def close(self) -> None:
        """Give back what is kept between hooks."""
        await self.executor.close()

    async def _tell(self, event: HookEvent) -> None:
        """Tell the bus; whoever listens cannot change what happens."""
        bus = self.event_bus
        if bus is None:
            return
        try:
            told = bus.emit(event.event_type, event) if isinstance(bus, MessageBus) else bus.emit(event)
            if inspect.isawaitable(told):
                await told
        except Exception:
            logger.exception("the event bus failed on %s", event.event_type)


def event_of(hook_type: HookType, context: Mapping[str, object]) -> Event:
    """Read a context, which is CLI-Agent's own document of a moment, as an event."""
    document = {**context, "hook_event_name": hook_type}
    if hook_type is HookType.NOTIFICATION and "type" not in context and "event_type" in context:
        document["type"] = context["event_type"]
    return DIALECTS[DIALECT].decode_event(wire.dump(document))


def result_of(execution: Execution) -> HookResult:
    """Say in the document's words how a hook ran."""
    verdict, reply = execution.verdict, execution.reply
    stdout = reply.stdout.decode("utf-8", "replace")
    answer = reply.value if isinstance(reply.value, dict) else _answer(stdout)
    failure = verdict.failure.message if verdict.failure is not None else None
    return HookResult(
        success=failure is None and reply.exit_code == 0,
        exit_code=reply.exit_code,
        stdout=stdout,
        stderr=reply.stderr.decode("utf-8", "replace"),
        execution_time=execution.duration,
        json_output=answer if failure is None else None,
        should_continue=verdict.observed or verdict.decision < Decision.ASK,
        decision="approve" if verdict.observed else _word(verdict),
        reason=verdict.reason or failure,
    )


def _answer(stdout: str) -> dict[str, object] | None:
    try:
        value = wire.load(stdout)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _word(verdict: Verdict) -> str:
    if verdict.decision >= Decision.ASK:
        return "ask" if verdict.decision is Decision.ASK else "block"
    return "modify" if any(effect.kind is EffectKind.REWRITE for effect in verdict.effects) else "approve"


def _finished(hook_type: HookType, command: str, *, execution: Execution, result: HookResult) -> HookEvent:
    failure = execution.verdict.failure
    if failure is not None:
        return HookExecutionErrorEvent(hook_type=hook_type, hook_command=command, error=failure.message)
    return HookExecutionCompleteEvent(hook_type=hook_type, hook_command=command, result=result)


# the first type whose telling key a context has; tools that have run tell how it went
_TELLING: Final = (
    ("result", HookType.POST_TOOL_USE),
    ("error", HookType.POST_TOOL_USE),
    ("tool_name", HookType.PRE_TOOL_USE),
    ("message", HookType.NOTIFICATION),
)


def _type_of(context: Mapping[str, object]) -> HookType:
    """Say which moment a context is about: by its name, else by what it holds."""
    name = context.get("hook_event_name")
    if isinstance(name, str) and name in HookType.__members__.values():
        return HookType(name)
    return next((kind for key, kind in _TELLING if key in context), HookType.STOP)


_EVENTS: Final[Mapping[HookType, tuple[str, ...]]] = {
    HookType.PRE_TOOL_USE: ("before_tool",),
    HookType.POST_TOOL_USE: ("after_tool", "tool_failed"),
    HookType.NOTIFICATION: ("notification",),
    HookType.STOP: ("after_agent",),
}


def _hook(definition: HookDefinition, *, hook_type: HookType, hook_id: str, matcher: str = "") -> Hook:
    """Make the engine's hook out of a definition; what the definition says counts, also over its file."""
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


def _numbered(config: HookConfig) -> Iterator[tuple[Hook, HookDefinition]]:
    for hook_type, groups in config.hooks.items():
        pairs = [(group.matcher, definition) for group in groups for definition in group.hooks]
        for number, (matcher, definition) in enumerate(pairs, start=1):
            hook_id = f"{hook_type}:{number}"
            yield _hook(definition, hook_type=hook_type, hook_id=hook_id, matcher=matcher), definition


def _objection(hook: Hook) -> str:
    """Say what is wrong with a hook from a file that cannot be run here."""
    try:
        matcher_for(DIALECTS[DIALECT].SPEC.matcher, hook.matcher)
    except ConfigError as problem:
        return problem.message
    if not any(set(events) & set(hook.on) for events in _EVENTS.values()):
        return f"CLI-Agent has no event {' or '.join(hook.on)}"
    return ""


def _refusal(hook: Hook) -> str:
    """Say why a hook will not be run as it is written; it stays, so that its failure counts as it says."""
    try:
        compile_line(hook.command)
    except ConfigError as problem:
        return f"the hook will not be run: {problem.message}"
    return ""


def _config(hooks: Sequence[Hook], problems: Iterable[Problem]) -> HookConfig:
    refused = [Problem(hook.source_path, hook.source_line, reason) for hook in hooks if (reason := _refusal(hook))]
    found = (*problems, *refused)
    for problem in found:
        logger.log(logging.INFO if problem.severity is Severity.NOTE else logging.WARNING, "%s", problem)
    by_type = {kind: [hook for hook in hooks if set(events) & set(hook.on)] for kind, events in _EVENTS.items()}
    return HookConfig({hook_type: _groups(chosen) for hook_type, chosen in by_type.items()}, found)


def _groups(hooks: Sequence[Hook]) -> tuple[HookMatcher, ...]:
    return tuple(
        HookMatcher(matcher, tuple(_definition(hook) for hook in group))
        for matcher, group in groupby(hooks, key=lambda hook: hook.matcher or "*")
    )


def _definition(hook: Hook) -> HookDefinition:
    return HookDefinition(
        type=hook.kind,
        command=hook.command or hook.url or hook.module,
        timeout=hook.timeout,
        working_directory=hook.working_directory or None,
        env=hook.env or None,
        hook=hook,
    )
