"""Events of an agent, and what hooks may do at each."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct


class Session(Struct, frozen=True, kw_only=True):
    """One conversation with one agent.

    `started` counts milliseconds since the epoch. `agent` is the agent's state as it tells it (mode,
    context, history), `profile` the user's preferences and settings.
    """

    id: str = ""
    user: str = ""
    started: int = 0
    model: str = ""
    provider: str = ""
    config: Mapping[str, object] = {}
    agent: Mapping[str, object] = {}
    profile: Mapping[str, object] = {}


# prefix of user-defined events: `custom:deploy`
CUSTOM_PREFIX: Final = "custom:"


class EventName(StrEnum):
    """The canonical name of an event; every dialect maps its own names to these."""

    SETUP = "setup"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    BEFORE_AGENT = "before_agent"
    AFTER_AGENT = "after_agent"
    BEFORE_MODEL = "before_model"
    AFTER_MODEL = "after_model"
    BEFORE_TOOL_SELECTION = "before_tool_selection"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    TOOL_FAILED = "tool_failed"
    PERMISSION_REQUEST = "permission_request"
    SKILL_TRIGGER = "skill_trigger"
    PRE_COMPRESS = "pre_compress"
    POST_COMPRESS = "post_compress"
    CONTEXT_OVERFLOW = "context_overflow"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_STOP = "subagent_stop"
    FILE_CREATED = "file_created"
    FILE_EDITED = "file_edited"
    FILE_DELETED = "file_deleted"
    GIT_COMMIT = "git_commit"
    GIT_MESSAGE = "git_message"
    GIT_PUSH = "git_push"
    GIT_CHECKOUT = "git_checkout"
    ERROR = "error"
    USER_TRIGGERED = "user_triggered"
    SCHEDULED = "scheduled"
    NOTIFICATION = "notification"
    CUSTOM = "custom"


class EventSpec(Struct, frozen=True, kw_only=True):
    """What hooks may do at one kind of event.

    `rewrites` says what a hook may change there: "args", "output", or nothing; the output is the field of
    `Event.data` that `output` names. Where no tool is called, the arguments are the field that `input` names.
    `subject` is the field of `Event.data` a matcher looks at ("tool" is the tool's name), `fields` are the canonical
    fields of `Event.data`. Fields beyond these are carried as they are.
    `raisable` events are those that a hook may raise.
    """

    when: str
    can_block: bool = False
    rewrites: str = ""
    output: str = ""
    input: str = ""
    subject: str = ""
    fields: tuple[str, ...] = ()
    raisable: bool = False


_ERROR_FIELDS: Final = ("error", "error_type", "error_code", "error_stack")
_FILE_FIELDS: Final = ("path", "size", "changed", "content", "diff")

EVENTS: Final[Mapping[EventName, EventSpec]] = MappingProxyType(
    {
        EventName.SETUP: EventSpec(
            when="the agent is set up or maintained", can_block=True, subject="trigger", fields=("trigger",)
        ),
        EventName.SESSION_START: EventSpec(
            when="a session begins", can_block=True, subject="source", fields=("source",)
        ),
        EventName.SESSION_END: EventSpec(
            when="a session ended", subject="reason", fields=("reason", "ended", "duration", "message_count", "summary")
        ),
        EventName.BEFORE_AGENT: EventSpec(
            when="a prompt arrived, before the agent works on it", can_block=True, fields=("prompt",)
        ),
        EventName.AFTER_AGENT: EventSpec(
            when="the agent finished its response",
            can_block=True,
            fields=("prompt", "response", "conversation_length"),
        ),
        EventName.BEFORE_MODEL: EventSpec(
            when="right before the model is called",
            can_block=True,
            subject="model",
            fields=("prompt", "messages", "model", "temperature"),
        ),
        EventName.AFTER_MODEL: EventSpec(
            when="right after the model answered",
            can_block=True,
            rewrites="output",
            output="response",
            subject="model",
            fields=("prompt", "response", "messages", "model", "duration", "tokens"),
        ),
        EventName.BEFORE_TOOL_SELECTION: EventSpec(
            when="before the model may choose tools", can_block=True, fields=("messages", "tools")
        ),
        EventName.BEFORE_TOOL: EventSpec(
            when="a tool is about to run", can_block=True, rewrites="args", subject="tool"
        ),
        EventName.AFTER_TOOL: EventSpec(
            when="a tool has run",
            can_block=True,
            rewrites="output",
            output="result",
            subject="tool",
            fields=("result", "duration"),
        ),
        EventName.TOOL_FAILED: EventSpec(
            when="a tool raised an error", can_block=True, subject="tool", fields=(*_ERROR_FIELDS, "duration")
        ),
        EventName.PERMISSION_REQUEST: EventSpec(
            when="a person would be asked for permission",
            can_block=True,
            rewrites="args",
            subject="tool",
            fields=("operation", "details", "requester"),
        ),
        EventName.SKILL_TRIGGER: EventSpec(
            when="a skill raises an event",
            can_block=True,
            rewrites="args",
            input="parameters",
            subject="skill",
            fields=("skill", "parameters"),
            raisable=True,
        ),
        EventName.PRE_COMPRESS: EventSpec(
            when="before the context is compacted",
            can_block=True,
            subject="trigger",
            fields=("trigger", "messages", "size"),
        ),
        EventName.POST_COMPRESS: EventSpec(
            when="after the context was compacted", subject="trigger", fields=("trigger", "messages", "size")
        ),
        EventName.CONTEXT_OVERFLOW: EventSpec(
            when="the context is full", can_block=True, fields=("size", "max_size", "utilization")
        ),
        EventName.SUBAGENT_START: EventSpec(
            when="a subagent starts",
            can_block=True,
            subject="agent_type",
            fields=("agent_id", "agent_type", "prompt"),
        ),
        EventName.SUBAGENT_STOP: EventSpec(
            when="a subagent finished",
            can_block=True,
            subject="agent_type",
            fields=("agent_id", "agent_type", "response", "duration"),
        ),
        EventName.FILE_CREATED: EventSpec(when="a file was created", subject="path", fields=_FILE_FIELDS),
        EventName.FILE_EDITED: EventSpec(when="a file was changed", subject="path", fields=_FILE_FIELDS),
        EventName.FILE_DELETED: EventSpec(when="a file was deleted", subject="path", fields=_FILE_FIELDS),
        EventName.GIT_COMMIT: EventSpec(
            when="before a commit is made", can_block=True, subject="branch", fields=("files", "message", "branch")
        ),
        EventName.GIT_MESSAGE: EventSpec(
            when="the message of a commit was written",
            can_block=True,
            rewrites="output",
            output="message",
            subject="branch",
            fields=("message", "branch", "files"),
        ),
        EventName.GIT_PUSH: EventSpec(
            when="before commits are pushed",
            can_block=True,
            subject="remote",
            fields=("remote", "url", "refs", "branch"),
        ),
        EventName.GIT_CHECKOUT: EventSpec(
            when="another commit was checked out",
            subject="branch",
            fields=("branch", "from_commit", "to_commit", "is_branch"),
        ),
        EventName.ERROR: EventSpec(
            when="something went wrong",
            subject="error_type",
            fields=(*_ERROR_FIELDS, "operation"),
            raisable=True,
        ),
        EventName.USER_TRIGGERED: EventSpec(
            when="a person starts a hook by hand", can_block=True, subject="hook", fields=("hook", "input")
        ),
        EventName.SCHEDULED: EventSpec(
            when="the time of a hook has come", subject="hook", fields=("hook", "schedule", "due")
        ),
        EventName.NOTIFICATION: EventSpec(
            when="the agent tells the person something",
            subject="type",
            fields=("message", "type", "title"),
            raisable=True,
        ),
        EventName.CUSTOM: EventSpec(
            when="an extension raises an event of its own",
            can_block=True,
            subject="event_name",
            fields=("event_name", "payload", "source"),
            raisable=True,
        ),
    }
)


class Event(Struct, frozen=True, kw_only=True):
    """One event.

    `tool` and `args` carry canonical names; `native_tool` is what the host calls the tool. `native_name` is
    the host's own event name where the canonical one does not tell it. `timestamp` counts milliseconds
    since the epoch. `id` names the moment in traces and is given by the engine. `chain` names the hooks that led to
    this event one after another, the first one first; an event that no hook raised has none. `parent` is
    the id of the event that the last of them was asked about.

    `host` is the dialect of the agent that said it, and `native_args` are the arguments exactly as it said them: any
    JSON value, None if unknown. A dialect that speaks to the same agent changes these, and never makes them
    anew from `args`, so that what it does not know is kept.

    `files` are the absolute paths of the files that one run of one hook is for, where it is not for all that the event is
    about: one of several, or those of several events.
    """

    name: EventName
    data: Mapping[str, object] = {}
    tool: str = ""
    args: Mapping[str, object] = {}
    session: Session = Session()
    cwd: str = ""
    timestamp: int = 0
    native_tool: str = ""
    native_name: str = ""
    id: str = ""
    chain: tuple[str, ...] = ()
    parent: str = ""
    host: str = ""
    native_args: object = None
    files: tuple[str, ...] = ()

    @property
    def spec(self) -> EventSpec:
        """What hooks may do at this event."""
        return EVENTS[self.name]

    @property
    def subject(self) -> str:
        """What a matcher looks at: the tool's name, a path, a model …; empty where there is nothing."""
        field = EVENTS[self.name].subject
        if field == "tool":
            return self.tool or str(self.data.get("operation", ""))
        return str(self.data.get(field, "")) if field else ""


_ABOUT_FILES: Final = frozenset(
    {EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED, EventName.GIT_COMMIT}
)


def has_files(event: Event) -> bool:
    """Return whether an event may be about files: it is a tool call, a change of a file, or a commit."""
    return bool(event.tool) or event.name in _ABOUT_FILES


def snapshot(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Copy the fields of an event for a later reader; fields that are nested too deeply to be copied are returned as they are."""
    copies: dict[int, object] = {}
    try:
        return {name: deep_copy(value, copies) for name, value in fields.items()}
    except RecursionError:
        return fields


def deep_copy(value: object, copies: dict[int, object]) -> object:
    """Copy dicts and lists, each once, as data may be shared or contain itself; return every other value unchanged.

    `copies` maps the identity of each original to its copy.
    """
    kind = type(value)
    if kind is not dict and kind is not list:
        return value
    key = id(value)
    if key not in copies:
        if isinstance(value, dict):
            table: dict[object, object] = {}
            copies[key] = table
            table.update((name, deep_copy(item, copies)) for name, item in value.items())
        elif isinstance(value, list):
            items: list[object] = []
            copies[key] = items
            items.extend(deep_copy(item, copies) for item in value)
    return copies[key]
