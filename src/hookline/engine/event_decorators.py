"""Decorators that make functions hooks: `@engine.on("before_tool")`, `@engine.on(BeforeTool)`, `@engine.on.before_tool`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack, cast, overload

from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.text import suggest

if TYPE_CHECKING:
    # the engine imports this module
    from hookline.engine.engine import HookOptions
    from hookline.events import TypedEvent

HookFunction = TypeVar("HookFunction", bound=Callable[..., object])


class RegisterFunction(Protocol):
    """Makes hooks of functions."""

    def __call__(self, events: Sequence[str], options: "HookOptions", /) -> Callable[[Callable[..., object]], object]:
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
    def __call__(self, **options: Unpack["HookOptions"]) -> Callable[[HookFunction], HookFunction]: ...

    def __call__(  # type: ignore[misc]  # the keys of HookOptions are keyword arguments
        self, function: HookFunction | None = None, /, **options: object
    ) -> HookFunction | Callable[[HookFunction], HookFunction]:
        """Make the function a hook, or return a decorator that does."""
        decorate: Callable[[HookFunction], HookFunction]
        decorate = make_decorator(self._register, (self._name,), cast("HookOptions", options))
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
        self, *events: "str | type[TypedEvent]", **options: Unpack["HookOptions"]
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
    register: RegisterFunction, events: Sequence[str], options: "HookOptions"
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
