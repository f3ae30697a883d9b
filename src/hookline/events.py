"""Typed events for hooks that are Python functions: `def guard(event: BeforeTool)` reads `event.command`.

A typed event is a view of an `Event` and holds nothing of its own. Its fields are those of the table `EVENTS`; here they have
their types, which editors, type checkers and JSON Schemas use. A field that the agent did not send is empty: "", 0, no items.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from shlex import join
from typing import TYPE_CHECKING, ClassVar, Final, get_args

import msgspec

from hookline import caller_context, json_codec
from hookline.effects.effects import Effects, make_absolute
from hookline.effects.event_paths import list_event_paths
from hookline.effects.tools import find_effects
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName, Session


class TypedEvent:
    """A typed view of one event; `event` is the event itself, with all that the agent sent."""

    __slots__ = ("event",)
    fields: ClassVar[Mapping[str, object]] = {}

    event: Event
    name: EventName
    data: Mapping[str, object]
    session: Session
    cwd: str
    project: str
    timestamp: int
    id: str
    host: str
    host_version: str
    native_name: str

    def __init__(self, event: Event) -> None:
        self.event = event

    def __init_subclass__(cls) -> None:
        """Collect the fields of the event's data that the class declares."""
        cls.fields = inspect.get_annotations(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.event!r})"

    if not TYPE_CHECKING:  # type checkers know the annotations, and no other attribute

        def __getattr__(self, name: str) -> object:
            wanted = self.fields.get(name)
            return getattr(self.event, name) if wanted is None else _read(self.event, name, wanted)


class TypedToolCall(TypedEvent):
    """A typed view of an event that is about a tool call."""

    __slots__ = ("_effects",)

    tool: str
    native_tool: str
    args: Mapping[str, object]

    @property
    def command(self) -> str:
        """The command line of the call, empty for tools that run none."""
        command = self.event.args.get("command", "")
        return join(map(str, command)) if isinstance(command, list | tuple) else _to_text(command)

    @property
    def path(self) -> str:
        """The file of the call as the agent wrote it, empty for tools without one; `files` has all of them."""
        return _to_text(self.event.args.get("path", ""))

    @property
    def effects(self) -> Effects:
        """What the call runs, reads, writes, deletes and fetches."""
        try:
            return self._effects
        except AttributeError:
            self._effects: Effects = find_effects(self.event)
            return self._effects

    @property
    def files(self) -> tuple[str, ...]:
        """The absolute paths of the files that the call names, writes, deletes or reads."""
        event, found = self.event, self.effects
        if event.files:
            return event.files
        paths = (*list_event_paths(event), *found.writes, *found.deletes, *found.reads)
        absolute = (os.path.normpath(caller_context.expand_home(make_absolute(event.cwd, path))) for path in paths)
        return tuple(dict.fromkeys(absolute))


class Setup(TypedEvent):
    """The agent is set up or maintained."""

    trigger: str


class SessionStart(TypedEvent):
    """A session begins."""

    source: str


class SessionEnd(TypedEvent):
    """A session ended."""

    reason: str
    ended: int
    duration: float
    message_count: int
    summary: str


class BeforeAgent(TypedEvent):
    """A prompt arrived, before the agent works on it."""

    prompt: str


class AfterAgent(TypedEvent):
    """The agent finished its response."""

    prompt: str
    response: str
    conversation_length: int


class BeforeModel(TypedEvent):
    """Right before the model is called."""

    prompt: str
    messages: Sequence[Mapping[str, object]]
    model: str
    temperature: float


class AfterModel(TypedEvent):
    """Right after the model answered."""

    prompt: str
    response: str
    messages: Sequence[Mapping[str, object]]
    model: str
    duration: float
    tokens: int


class BeforeToolSelection(TypedEvent):
    """Before the model may choose tools."""

    messages: Sequence[Mapping[str, object]]
    tools: Sequence[object]


class BeforeTool(TypedToolCall):
    """A tool is about to run."""


class AfterTool(TypedToolCall):
    """A tool has run."""

    result: object
    duration: float


class ToolFailed(TypedToolCall):
    """A tool raised an error."""

    error: str
    error_type: str
    error_code: str
    error_stack: str
    duration: float


class PermissionRequest(TypedToolCall):
    """A person would be asked for permission."""

    operation: str
    details: object
    requester: str


class SkillTrigger(TypedEvent):
    """A skill raises an event."""

    skill: str
    parameters: Mapping[str, object]


class PreCompress(TypedEvent):
    """Before the context is compacted."""

    trigger: str
    messages: Sequence[Mapping[str, object]]
    size: int


class PostCompress(TypedEvent):
    """After the context was compacted."""

    trigger: str
    messages: Sequence[Mapping[str, object]]
    size: int


class ContextOverflow(TypedEvent):
    """The context is full."""

    size: int
    max_size: int
    utilization: float


class SubagentStart(TypedEvent):
    """A subagent starts."""

    agent_id: str
    agent_type: str
    prompt: str


class SubagentStop(TypedEvent):
    """A subagent finished."""

    agent_id: str
    agent_type: str
    response: str
    duration: float


class FileCreated(TypedEvent):
    """A file was created."""

    path: str
    size: int
    changed: int
    content: str
    diff: str


class FileEdited(TypedEvent):
    """A file was changed."""

    path: str
    size: int
    changed: int
    content: str
    diff: str


class FileDeleted(TypedEvent):
    """A file was deleted."""

    path: str
    size: int
    changed: int
    content: str
    diff: str


class GitCommit(TypedEvent):
    """Before a commit is made."""

    files: Sequence[str]
    message: str
    branch: str


class GitMessage(TypedEvent):
    """The message of a commit was written."""

    message: str
    branch: str
    files: Sequence[str]


class GitPush(TypedEvent):
    """Before commits are pushed."""

    remote: str
    url: str
    refs: Sequence[Mapping[str, object]]
    branch: str


class GitCheckout(TypedEvent):
    """Another commit was checked out."""

    branch: str
    from_commit: str
    to_commit: str
    is_branch: bool


class Error(TypedEvent):
    """Something went wrong."""

    error: str
    error_type: str
    error_code: str
    error_stack: str
    operation: str


class UserTriggered(TypedEvent):
    """A person starts a hook by hand."""

    hook: str
    input: object


class Scheduled(TypedEvent):
    """The time of a hook has come."""

    hook: str
    schedule: str
    due: int


class Notification(TypedEvent):
    """The agent tells the person something."""

    message: str
    type: str
    title: str


class Custom(TypedEvent):
    """An extension raises an event of its own."""

    event_name: str
    payload: object
    source: str


TYPED_EVENTS: Final[Mapping[EventName, type[TypedEvent]]] = {
    EventName(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()): kind
    for name, kind in list(globals().items())
    if isinstance(kind, type) and issubclass(kind, TypedEvent) and kind not in {TypedEvent, TypedToolCall}
}
_NAMES: Final = {kind.__name__: kind for kind in (*TYPED_EVENTS.values(), TypedEvent, TypedToolCall)}


def name_event(kind: type[TypedEvent]) -> str:
    """Return the canonical name of a typed event's class.

    Raises:
        ConfigError: It is a class of several events.
    """
    for name, known in TYPED_EVENTS.items():
        if known is kind:
            return name
    raise ConfigError(f"{kind.__name__} stands for several events; name them, or take the class of one")


def adapt_function(function: Callable[..., object], on: Iterable[str]) -> Callable[..., object]:
    """Return a function of an `Event` that calls the given one as it is annotated: with a typed event, or with the event.

    Raises:
        ConfigError: The function is annotated with the class of another event than those it is for.
    """
    taken = _find_annotation(function)
    if not taken:
        return function
    for name in on:
        kind = TYPED_EVENTS[EventName(name.partition(":")[0])]
        if not issubclass(kind, taken):
            wanted = " or ".join(one.__name__ for one in taken)
            raise ConfigError(
                f"{function.__qualname__} takes {wanted}, and is to be called at {name}: annotate {kind.__name__}"
            )

    @wraps(function)
    def call(event: Event) -> object:
        return function(TYPED_EVENTS[event.name](event))

    return call


def _find_annotation(function: Callable[..., object]) -> tuple[type[TypedEvent], ...]:
    """Return the typed events that a function's first parameter is annotated with; none for a plain `Event`."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (StopIteration, TypeError, ValueError):
        return ()
    annotation = first.annotation
    if isinstance(annotation, str):
        # the name may be imported for type checkers only
        return tuple(_NAMES[word] for word in re.findall(r"\w+", annotation) if word in _NAMES)
    parts = get_args(annotation) or (annotation,)
    return tuple(part for part in parts if isinstance(part, type) and issubclass(part, TypedEvent))


def _read(event: Event, name: str, wanted: object) -> object:
    value = event.data.get(name)
    if value is None or wanted is object:
        return value if wanted is object else _EMPTY.get(wanted, ())
    if wanted is str:
        return _to_text(value)
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError as problem:
        raise TypeError(f"{name} of {event.name} is {value!r}: {problem}") from None


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json_codec.dump(value).decode()


_EMPTY: Final[Mapping[object, object]] = {str: "", int: 0, float: 0.0, bool: False, Mapping[str, object]: {}}
