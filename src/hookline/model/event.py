"""Events and tools of an agent under their canonical names, and what hooks may do at each event."""

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


def _spec(when: str, fields: str = "", *, can_block: bool = True, raisable: bool = False, **texts: str) -> EventSpec:
    """Return a row of the table; its fields are separated by blanks."""
    return EventSpec(when=when, fields=tuple(fields.split()), can_block=can_block, raisable=raisable, **texts)


_ERROR: Final = "error error_type error_code error_stack"
_FILE: Final = "path size changed content diff"

EVENTS: Final[Mapping[EventName, EventSpec]] = MappingProxyType(
    {
        EventName.SETUP: _spec("the agent is set up or maintained", "trigger", subject="trigger"),
        EventName.SESSION_START: _spec("a session begins", "source", subject="source"),
        EventName.SESSION_END: _spec(
            "a session ended", "reason ended duration message_count summary", subject="reason", can_block=False
        ),
        EventName.BEFORE_AGENT: _spec("a prompt arrived, before the agent works on it", "prompt"),
        EventName.AFTER_AGENT: _spec("the agent finished its response", "prompt response conversation_length"),
        EventName.BEFORE_MODEL: _spec(
            "right before the model is called", "prompt messages model temperature", subject="model"
        ),
        EventName.AFTER_MODEL: _spec(
            "right after the model answered",
            "prompt response messages model duration tokens",
            subject="model",
            rewrites="output",
            output="response",
        ),
        EventName.BEFORE_TOOL_SELECTION: _spec("before the model may choose tools", "messages tools"),
        EventName.BEFORE_TOOL: _spec("a tool is about to run", subject="tool", rewrites="args"),
        EventName.AFTER_TOOL: _spec(
            "a tool has run", "result duration", subject="tool", rewrites="output", output="result"
        ),
        EventName.TOOL_FAILED: _spec("a tool raised an error", f"{_ERROR} duration", subject="tool"),
        EventName.PERMISSION_REQUEST: _spec(
            "a person would be asked for permission", "operation details requester", subject="tool", rewrites="args"
        ),
        EventName.SKILL_TRIGGER: _spec(
            "a skill raises an event",
            "skill parameters",
            subject="skill",
            rewrites="args",
            input="parameters",
            raisable=True,
        ),
        EventName.PRE_COMPRESS: _spec("before the context is compacted", "trigger messages size", subject="trigger"),
        EventName.POST_COMPRESS: _spec(
            "after the context was compacted", "trigger messages size", subject="trigger", can_block=False
        ),
        EventName.CONTEXT_OVERFLOW: _spec("the context is full", "size max_size utilization"),
        EventName.SUBAGENT_START: _spec("a subagent starts", "agent_id agent_type prompt", subject="agent_type"),
        EventName.SUBAGENT_STOP: _spec(
            "a subagent finished", "agent_id agent_type response duration", subject="agent_type"
        ),
        EventName.FILE_CREATED: _spec("a file was created", _FILE, subject="path", can_block=False),
        EventName.FILE_EDITED: _spec("a file was changed", _FILE, subject="path", can_block=False),
        EventName.FILE_DELETED: _spec("a file was deleted", _FILE, subject="path", can_block=False),
        EventName.GIT_COMMIT: _spec("before a commit is made", "files message branch", subject="branch"),
        EventName.GIT_MESSAGE: _spec(
            "the message of a commit was written",
            "message branch files",
            subject="branch",
            rewrites="output",
            output="message",
        ),
        EventName.GIT_PUSH: _spec("before commits are pushed", "remote url refs branch", subject="remote"),
        EventName.GIT_CHECKOUT: _spec(
            "another commit was checked out",
            "branch from_commit to_commit is_branch",
            subject="branch",
            can_block=False,
        ),
        EventName.ERROR: _spec(
            "something went wrong", f"{_ERROR} operation", subject="error_type", can_block=False, raisable=True
        ),
        EventName.USER_TRIGGERED: _spec("a person starts a hook by hand", "hook input", subject="hook"),
        EventName.SCHEDULED: _spec("the time of a hook has come", "hook schedule due", subject="hook", can_block=False),
        EventName.NOTIFICATION: _spec(
            "the agent tells the person something", "message type title", subject="type", can_block=False, raisable=True
        ),
        EventName.CUSTOM: _spec(
            "an extension raises an event of its own", "event_name payload source", subject="event_name", raisable=True
        ),
    }
)


# gc=False, as for the other values of one call: they are many, and none is part of a reference cycle
class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One event.

    `tool` and `args` carry canonical names; `native_tool` is what the host calls the tool. `native_name` is
    the host's own event name where the canonical one does not tell it. `timestamp` counts milliseconds
    since the epoch. `id` names the moment in traces and is given by the engine. `chain` names the hooks that led to
    this event one after another, the first one first; an event that no hook raised has none. `parent` is
    the id of the event that the last of them was asked about.

    `cwd` is the folder in which it happens, and `project` the folder of the project, whose hooks are asked.

    `host` is the dialect of the agent that said it, `host_version` the version of that agent where it is known, and `native_args` are the arguments exactly as it said them: any
    JSON value, None if unknown. A dialect that speaks to the same agent changes these, and never makes them
    anew from `args`, so that what it does not know is kept.

    `files` are the absolute paths of the files that one run of one hook is for, where it is not for all that the event is
    about: one of several, or those of several events.

    `facts` are what the engine gathered for the hooks that ask for it; None before it did.
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
    host_version: str = ""
    project: str = ""
    native_args: object = None
    files: tuple[str, ...] = ()
    facts: Mapping[str, object] | None = None

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


_COPIED: Final = frozenset({dict, list})
_ABOUT_FILES: Final = frozenset(
    {EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED, EventName.GIT_COMMIT}
)


def has_files(event: Event) -> bool:
    """Return whether an event may be about files: it is a tool call, a change of a file, or a commit."""
    return bool(event.tool) or event.name in _ABOUT_FILES


def snapshot(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Copy the fields of an event for a later reader; fields that are nested too deeply to be copied are returned as they are."""
    try:
        return copy_fields(fields, {})
    except RecursionError:
        return fields


def copy_fields(fields: Mapping[str, object], copies: dict[int, object]) -> dict[str, object]:
    """Copy the fields of an event, which nothing in them refers back to; see `deep_copy`."""
    made = dict(fields)
    if made and not _COPIED.isdisjoint(map(type, made.values())):
        for name, value in made.items():
            made[name] = deep_copy(value, copies)
    return made


def deep_copy(value: object, copies: dict[int, object]) -> object:
    """Copy dicts and lists, each once, as data may be shared or contain itself; return every other value unchanged.

    `copies` maps the identity of each original to its copy.
    """
    if type(value) not in _COPIED:
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


# the canonical tools


class ToolSpec(Struct, frozen=True):
    """What a tool does, and the names of its arguments; "?" marks one that may be missing."""

    does: str
    arguments: tuple[str, ...]


TOOL_SPECS: Final[Mapping[str, ToolSpec]] = {
    "shell": ToolSpec("run a command line", ("command", "cwd?", "timeout?", "background?", "session?")),
    "shell_input": ToolSpec("type into a running program", ("session", "text")),
    "shell_control": ToolSpec("list, read or stop running programs", ("session?",)),
    "code": ToolSpec("run a script inside the agent", ("language?", "source")),
    "read_file": ToolSpec("read one file", ("path", "offset?", "limit?", "pages?")),
    "read_files": ToolSpec("read several files", ("paths",)),
    "write_file": ToolSpec("write a whole file", ("path", "content", "mode?")),
    "edit_file": ToolSpec("replace text in a file", ("path", "old", "new", "replace_all?")),
    "multi_edit": ToolSpec("replace several texts in a file", ("path", "edits")),
    "insert_text": ToolSpec("insert text at a line", ("path", "line", "text")),
    "edit_lines": ToolSpec("replace lines of a file", ("path", "first", "last", "text")),
    "apply_patch": ToolSpec("add, change, move and delete files by a patch", ("patch",)),
    "delete_file": ToolSpec("delete files", ("paths",)),
    "notebook_edit": ToolSpec("change a cell of a notebook", ("path", "cell?", "source?", "mode?", "cell_type?")),
    "list_dir": ToolSpec("list a folder", ("path", "ignore?")),
    "glob": ToolSpec("find files by name", ("pattern", "path?")),
    "grep": ToolSpec("find text in files", ("pattern", "path?", "include?")),
    "web_fetch": ToolSpec("fetch pages", ("urls", "prompt?", "save_to?")),
    "web_search": ToolSpec("search the web", ("query", "domains?")),
    "mcp_resource": ToolSpec("list or read resources of an MCP server", ("server?", "uri?")),
    "subagent": ToolSpec("start another agent", ("prompt", "type?", "background?", "cwd?")),
    "agent_message": ToolSpec("write to another agent", ("target", "text")),
    "schedule": ToolSpec("have the agent act later", ("prompt", "when", "recurring?")),
    "worktree": ToolSpec("make or leave a git worktree", ("action?", "name?", "path?")),
    "skill": ToolSpec("load instructions", ("name", "args?")),
    "todo": ToolSpec("keep the list of tasks", ("items",)),
    "ask_user": ToolSpec("ask the person", ("questions",)),
    "plan_mode": ToolSpec("begin or end planning", ("action?", "plan?")),
    "tool_search": ToolSpec("look for further tools", ("query",)),
}
TOOLS: Final = frozenset(TOOL_SPECS)

# the tools that read and that change files
READING: Final = ("read_file", "read_files", "list_dir", "glob", "grep")
WRITING: Final = (
    *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines"),
    *("apply_patch", "delete_file", "notebook_edit"),
)

# before the name of a tool that is none of the table, though it may be called like one of it
OTHER: Final = "other:"


# what an answer can do


class Ability(StrEnum):
    """One thing that an answer may do at one moment of one agent.

    At the end of a turn, `block` and `follow_up` send the agent back to work, and `stop` lets it rest for good.
    """

    ALLOW = "allow"
    BLOCK = "block"
    ASK = "ask"
    STOP = "stop"
    ARGS = "rewrite_args"
    OUTPUT = "rewrite_output"
    CONTEXT = "context"
    MESSAGE = "message"
    FOLLOW_UP = "follow_up"


class Degradation(Struct, frozen=True):
    """A part of an answer that the agent does not support, and its replacement; None where nothing is left of it."""

    wanted: Ability
    became: Ability | None
    message: str


# What stands in for each, the best first. Nothing here is weaker than what was asked for where something is at stake: a
# question that cannot be asked becomes a denial, and a call that cannot be changed does not run unchanged.
FALLBACKS: Final[Mapping[Ability, tuple[Ability, ...]]] = {
    Ability.ALLOW: (),
    Ability.BLOCK: (Ability.STOP, Ability.FOLLOW_UP, Ability.CONTEXT, Ability.MESSAGE),
    Ability.ASK: (Ability.BLOCK, Ability.STOP, Ability.CONTEXT, Ability.MESSAGE),
    Ability.STOP: (Ability.BLOCK, Ability.CONTEXT, Ability.MESSAGE),
    Ability.ARGS: (Ability.BLOCK, Ability.STOP),
    Ability.OUTPUT: (Ability.CONTEXT, Ability.BLOCK, Ability.MESSAGE),
    Ability.CONTEXT: (Ability.MESSAGE,),
    Ability.MESSAGE: (),
    # a wish for later is no reason to stop what happens now
    Ability.FOLLOW_UP: (Ability.CONTEXT, Ability.MESSAGE),
}


def fallback_for(wanted: Ability, able: frozenset[Ability]) -> Ability | None:
    """Return what an agent that is able to do this much does in place of what is wanted; None where there is nothing."""
    if wanted in able:
        return wanted
    return next((other for other in FALLBACKS[wanted] if other in able), None)
