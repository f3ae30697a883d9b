"""The options and decorators that make functions hooks: `@engine.on("before_tool")`, `@engine.on(BeforeTool)`, `@engine.on.before_tool`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, TypeVar, Unpack, cast, overload

from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import OnError, Unknown
from hookline.model.requirements import Caching, Needs
from hookline.text import suggest

if TYPE_CHECKING:
    from hookline.events import TypedEvent

HookFunction = TypeVar("HookFunction", bound=Callable[..., object])


Texts = str | Sequence[str]
# a number of seconds, a text with a unit such as "500ms", or a timedelta
Seconds = float | str | timedelta


class CommonOptions(TypedDict, total=False):
    """The keys of hookline.toml that apply to every hook of a program; `if` is spelled `if_`."""

    name: str
    tools: Texts
    matcher: str
    files: Texts
    writes: Texts
    deletes: Texts
    reads: Texts
    runs: Texts
    urls: Texts
    unknown: Unknown | str | None
    if_: str
    priority: int | str
    timeout: Seconds | None
    on_error: OnError | str | None
    parallel: bool
    observe: bool
    enabled: bool
    after: Texts
    before: Texts
    agents: Texts
    branches: Texts
    between: Texts
    facts: Texts
    once: bool | Literal["session", "turn"]
    per_minute: int
    cooldown: Seconds
    debounce: Seconds
    batch: Seconds
    breaker: int
    retry_after: Seconds
    needs: Needs | Mapping[str, Texts] | None
    cache: Caching | Mapping[str, object] | Seconds | None
    version: str | float
    description: str


class HookOptions(CommonOptions, total=False):
    """The options of `Engine.on`."""

    id: str
    undo: Callable[..., object]


class RuleOptions(CommonOptions, total=False):
    """The options of `Engine.rule`: a constant answer, a text with templates, and the filters of every hook."""

    on: Texts
    deny: str | bool
    confirm: str | bool
    allow: str | bool
    tell: str
    context: str


class RegisterFunction(Protocol):
    """Makes hooks of functions."""

    def __call__(self, events: Sequence[str], options: HookOptions, /) -> Callable[[Callable[..., object]], object]:
        """Check events and options, and return what makes a function a hook."""
        ...


class EventDecorator:
    """Make a function a hook for one event, with options or without: `@engine.on.before_tool(tools="shell")`."""

    __slots__ = ("_name", "_register")

    def __init__(self, name: str, register: RegisterFunction) -> None:
        self._name = name
        self._register = register

    @overload
    def __call__(self, function: HookFunction, /) -> HookFunction: ...

    @overload
    def __call__(self, **options: Unpack[HookOptions]) -> Callable[[HookFunction], HookFunction]: ...

    def __call__(  # type: ignore[misc]  # the keys of HookOptions are keyword arguments
        self, function: HookFunction | None = None, /, **options: object
    ) -> HookFunction | Callable[[HookFunction], HookFunction]:
        """Make the function a hook, or return a decorator that does."""
        decorate: Callable[[HookFunction], HookFunction]
        decorate = make_decorator(self._register, (self._name,), cast(HookOptions, options))
        return decorate if function is None else decorate(function)


class EventDecorators:
    """The decorators of an engine: one for each event, and a call with the events."""

    __slots__ = ("_register",)

    setup: EventDecorator
    session_start: EventDecorator
    session_end: EventDecorator
    before_agent: EventDecorator
    after_agent: EventDecorator
    before_model: EventDecorator
    after_model: EventDecorator
    before_tool_selection: EventDecorator
    before_tool: EventDecorator
    after_tool: EventDecorator
    tool_failed: EventDecorator
    permission_request: EventDecorator
    skill_trigger: EventDecorator
    pre_compress: EventDecorator
    post_compress: EventDecorator
    context_overflow: EventDecorator
    subagent_start: EventDecorator
    subagent_stop: EventDecorator
    file_created: EventDecorator
    file_edited: EventDecorator
    file_deleted: EventDecorator
    git_commit: EventDecorator
    git_message: EventDecorator
    git_push: EventDecorator
    git_checkout: EventDecorator
    error: EventDecorator
    user_triggered: EventDecorator
    scheduled: EventDecorator
    notification: EventDecorator
    custom: EventDecorator

    def __init__(self, register: RegisterFunction) -> None:
        self._register = register

    def __call__(
        self, *events: "str | type[TypedEvent]", **options: Unpack[HookOptions]
    ) -> Callable[[HookFunction], HookFunction]:
        """Return a decorator that makes a function a hook for these events: names of any dialect, or typed events.

        Raises:
            ConfigError: An event or an option is unknown, or the value of an option cannot be used.
        """
        return make_decorator(self._register, [_name_event(event) for event in events], options)

    if not TYPE_CHECKING:  # type checkers know the annotations, and no other event

        def __getattr__(self, name: str) -> EventDecorator:
            if name in EventName._value2member_map_:
                return EventDecorator(name, self._register)
            hint = suggest(name, EventName) or "; events of another name: `engine.on(NAME)`"
            raise AttributeError(f"there is no event {name}{hint}", name=name, obj=self)


def make_decorator(
    register: RegisterFunction, events: Sequence[str], options: HookOptions
) -> Callable[[HookFunction], HookFunction]:
    """Return a decorator that makes a function a hook, and leaves the function as it is."""
    add = register(events, options)

    def decorate(function: HookFunction) -> HookFunction:
        add(function)
        return function

    return decorate


def _name_event(event: object) -> str:
    if isinstance(event, str):
        return event
    from hookline.events import TypedEvent, name_event  # noqa: PLC0415 - only few programs name events this way

    if not isinstance(event, type) or not issubclass(event, TypedEvent):
        raise ConfigError('name the events: `@engine.on("before_tool")` or `@engine.on.before_tool`')
    return name_event(event)


def refuse_uncallable(function: object) -> bool:
    """Refuse what cannot be called with an event: at registration, not at the first event.

    Returns:
        Whether it wants the event itself: its parameter has no annotation, or that of an `Event`.

    Raises:
        TypeError: It is no function, takes no event, or is a generator.
    """
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise TypeError(f"a hook is a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{name} is a generator; a hook returns its answer")
    try:
        signature = inspect.signature(function)
        signature.bind(None)
    except TypeError as problem:
        raise TypeError(f"{name} cannot be called with an event: {problem}") from None
    except ValueError:
        # some functions written in C have no signature
        return True
    first = next(iter(signature.parameters.values()))
    return first.annotation in {inspect.Parameter.empty, Event, "Event", object}


def take_event(function: Callable[..., object], on: tuple[str, ...]) -> Callable[..., object]:
    """Return a function that is called with the event, also where the given one wants a typed one."""
    if refuse_uncallable(function):
        return function
    from hookline.events import adapt_function  # noqa: PLC0415 - only few programs have typed events

    return adapt_function(function, on)
