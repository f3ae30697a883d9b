"""opencode, which has no hooks that are programs: what the plugin that `hookline install opencode` writes says to us.

The plugin hands over the name of the hook with the hook's `input` and `output`, the folder, and what it alone can know:
the MCP server of a tool, and the session that started this one. The answer says what the plugin is to do; an empty one
is no opinion.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _mcp, _read, _reply
from hookline.dialects._fields import Field, names
from hookline.dialects._results import as_text
from hookline.dialects._speech import ENDS, NO_CALL, TOOL_EVENTS, Said, Speech, blocking, blocks, heeded, shapes
from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, Row, edits, final_output, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "opencode"

# tools

_FILE: Final = {"path": "filePath"}
_EDIT: Final = {"old": "oldString", "new": "newString", "replace_all": "replaceAll"}

_TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("bash",), keys={"cwd": "workdir"}, changes=(TIMEOUT_MS,)),
        Row(tool="read_file", names=("read",), keys=_FILE),
        Row(tool="write_file", names=("write",), keys=_FILE),
        Row(tool="edit_file", names=("edit",), keys={**_FILE, **_EDIT}),
        Row(tool="multi_edit", names=("multiedit",), keys=_FILE, changes=(edits(_EDIT),)),
        Row(tool="apply_patch", names=("apply_patch", "patch"), keys={"patch": "patchText"}),
        Row(tool="list_dir", names=("list",)),
        Row(tool="glob", names=("glob",)),
        Row(tool="grep", names=("grep",)),
        Row(tool="web_fetch", names=("webfetch",), changes=(ONE_URL,)),
        Row(tool="web_search", names=("websearch",)),
        Row(tool="subagent", names=("task",), keys={"type": "subagent_type"}),
        Row(tool="skill", names=("skill",)),
        Row(tool="todo", names=("todowrite", "todoread"), keys={"items": "todos"}),
        Row(tool="ask_user", names=("question",)),
    )
)

# what an answer can do

_A: Final = Ability
_TELLS: Final = frozenset({_A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "session.created": _TELLS | {_A.CONTEXT},
        "session.deleted": _TELLS,
        "session.error": _TELLS,
        "session.compacted": _TELLS,
        "session.idle": _TELLS | {_A.BLOCK, _A.FOLLOW_UP, _A.STOP},
        "chat.message": _TELLS | {_A.BLOCK, _A.CONTEXT},
        "tool.execute.before": _TELLS | {_A.BLOCK, _A.ARGS, _A.STOP},
        "tool.execute.after": _TELLS | {_A.BLOCK, _A.OUTPUT, _A.CONTEXT, _A.STOP},
        "permission.asked": _TELLS | {_A.ALLOW, _A.ASK, _A.BLOCK, _A.STOP},
        "experimental.session.compacting": _TELLS | {_A.CONTEXT},
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="opencode",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "session.created",
            EventName.SESSION_END: "session.deleted",
            EventName.BEFORE_AGENT: "chat.message",
            EventName.AFTER_AGENT: "session.idle",
            EventName.BEFORE_TOOL: "tool.execute.before",
            EventName.AFTER_TOOL: "tool.execute.after",
            EventName.PERMISSION_REQUEST: "permission.asked",
            EventName.PRE_COMPRESS: "experimental.session.compacting",
            EventName.POST_COMPRESS: "session.compacted",
            EventName.SUBAGENT_START: "session.created",
            EventName.SUBAGENT_STOP: "session.idle",
            EventName.ERROR: "session.error",
        }
    ),
    tools=MappingProxyType(
        # whoever guards writing and editing means every way to do it
        {
            **_TOOLS.names(),
            "apply_patch": ("apply_patch", "patch", "edit", "write"),
            "multi_edit": ("multiedit", "edit"),
            "insert_text": ("edit",),
            "edit_lines": ("edit",),
        }
    ),
    timeout=30.0,
    shell=True,
    own=frozenset(_TOOLS.by_tool) - {"multi_edit"},
    abilities=ABILITIES,
    mcp="{server}_{tool}",
)

# events

_CALL: Final = Field("call_id", "input.callID")
_CHILD: Final = Field("parent", "parent")
_CHILDREN: Final = frozenset({EventName.SUBAGENT_START, EventName.SUBAGENT_STOP})


def _or(main: EventName, child: EventName) -> Callable[[Mapping[str, object]], EventName]:
    """Tell the main session's events from those of a session that a tool of it started."""
    return lambda document: child if document.get("parent") else main


_SPEECH: Final = Speech(
    dialect=_NAME,
    names=names(
        SPEC.events,
        {
            "session.created": _or(EventName.SESSION_START, EventName.SUBAGENT_START),
            "session.idle": _or(EventName.AFTER_AGENT, EventName.SUBAGENT_STOP),
            # a subagent's prompt is nobody's
            "chat.message": _or(EventName.BEFORE_AGENT, EventName.CUSTOM),
        },
    ),
    tools=_TOOLS,
    shapes=shapes(
        {
            EventName.BEFORE_TOOL: (_CALL,),
            EventName.AFTER_TOOL: (_CALL, Field("result", "output.output")),
            EventName.PERMISSION_REQUEST: (_CALL, Field("operation", "input.permission")),
            EventName.ERROR: (Field("error", "input.error"), Field("error_type", "input.errorName")),
            EventName.SUBAGENT_START: (_CHILD,),
            EventName.SUBAGENT_STOP: (_CHILD,),
        },
        taken=("hook", "directory", "mcp"),
        objects={"input": frozenset({"sessionID", "tool", "args"}), "output": frozenset({"args"})},
    ),
    mcp=SPEC.mcp,
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_write, event))


def _write(event: Event) -> dict[str, object]:
    given: dict[str, object] = {"sessionID": event.session.id}
    output: dict[str, object] = {}
    document: dict[str, object] = {"hook": SPEC.native(event), "input": given, "output": output}
    if event.cwd:
        document["directory"] = event.cwd
    if event.timestamp:
        document["timestamp"] = event.timestamp
    if event.tool or event.name in TOOL_EVENTS:
        given["tool"], args = _SPEECH.told(event)
        (output if event.name is EventName.BEFORE_TOOL else given)["args"] = args
        if (parts := _mcp.split(event.tool)) is not None:
            document["mcp"] = {"server": parts[0], "tool": parts[1]}
    if event.name in _CHILDREN and event.host != _NAME:
        document["parent"] = event.session.id or "main"
    if event.name is EventName.BEFORE_AGENT and isinstance(prompt := event.data.get("prompt"), str):
        rest = {key: value for key, value in event.data.items() if key != "prompt"}
        if event.host != _NAME:
            output["parts"] = [{"type": "text", "text": prompt}]
        return _SPEECH.write(replace(event, data=rest), document)
    return _SPEECH.write(event, document)


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as the plugin says it."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    native = _SPEECH.name(document.pop("hook", None), name, where="hook")
    given = dict(_read.obj(document.pop("input", None), "input", dialect=_NAME))
    output = dict(_read.obj(document.pop("output", None), "output", dialect=_NAME))
    session = Session(id=text(given.pop("sessionID", None), "input.sessionID"))
    cwd = text(document.pop("directory", None), "directory")
    is_needed = native in {SPEC.events[EventName.BEFORE_TOOL], SPEC.events[EventName.AFTER_TOOL]}
    said = NO_CALL
    if is_needed or "tool" in given:
        args = (given if "args" in given else output).pop("args", None)
        tool = _read.need_text(given.pop("tool", None), "input.tool", dialect=_NAME)
        said = _heard(tool, args, document.pop("mcp", None), cwd=cwd)
    document.update(_reply.present({"input": given or UNSET, "output": output or UNSET}))
    event = _SPEECH.event(native, document, session=session, cwd=cwd, said=said, iso=False)
    if event.name is EventName.CUSTOM and not event.native_name:
        return replace(event, native_name=native, data={**event.data, "event_name": native})
    if event.name is not EventName.BEFORE_AGENT:
        return event
    return replace(event, data={**event.data, "prompt": _prompt(output.get("parts"))})


def _heard(name: str, args: object, origin: object, *, cwd: str) -> Said:
    match origin:
        # a server's tool that is called like one of the program's own is judged as that: nothing could tell them apart
        case {"server": str(server), "tool": str(tool)} if name.casefold() not in _TOOLS.by_native:
            return _SPEECH.heard(name, args, cwd=cwd, server=server, tool=tool)
        case _:
            return _SPEECH.heard(name, args, cwd=cwd)


def _prompt(parts: object) -> str:
    """Give what the person wrote, without what the program added."""
    if not isinstance(parts, list):
        return ""
    texts = [
        part.get("text")
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and part.get("synthetic") is not True
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


# answers of hooks, and to the plugin: one language

_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, exact=True)
_READ: Final = frozenset({"block", "allow", "ask", "stop", "args", "output", "context", "message", "prompt"})


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    manners = blocking(_MANNERS, SPEC, request.event)
    return heeded(_reply.read_reply(reply, request, read=_read_answer, manners=manners), SPEC, request.event)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    decision, reason = _decided(document)

    def said(key: str, kind: EffectKind) -> tuple[Effect, ...]:
        return _reply.texts(document.get(key), kind, where=key, dialect=_NAME)

    return Verdict(
        decision=decision,
        reason=reason,
        effects=(
            *_reply.args_effects(document.get("args"), request.event, tools=_TOOLS, where="args", dialect=_NAME),
            *_reply.output_effects(document, "output"),
            *said("context", EffectKind.CONTEXT),
            *said("message", EffectKind.MESSAGE),
            *said("prompt", EffectKind.ASK_AGENT),
        ),
        ends=decision is Decision.STOP,
        metadata={key: value for key, value in document.items() if key not in _READ},
    )


def _decided(document: Mapping[str, object]) -> tuple[Decision, str]:
    found = [(Decision.PASS, "")]
    for key, decision in (("ask", Decision.ASK), ("block", Decision.DENY), ("stop", Decision.STOP)):
        if key in document:
            found.append((decision, _read.text(document[key], key, dialect=_NAME)))
    allows = document.get("allow")
    if allows is not None and not isinstance(allows, bool):
        raise _read.wrong(allows, "allow", dialect=_NAME, wanted="true or false")
    if allows is not None:
        found.append((Decision.ALLOW if allows else Decision.DENY, ""))
    return max(found, key=lambda one: one[0])


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to the plugin; saying nothing is having no opinion."""
    document = _reply.present(_answer(outcome, event))
    return _reply.answer(document) if document else Answer()


_KEYS: Final = {Decision.ASK: "ask", Decision.DENY: "block", Decision.STOP: "stop"}


def _answer(outcome: Outcome, event: Event) -> dict[str, object]:
    decision = outcome.decision
    output = final_output(outcome)
    document: dict[str, object] = {
        "allow": True if decision is Decision.ALLOW else UNSET,
        "args": UNSET if decision >= Decision.DENY else _SPEECH.rewritten(outcome, event),
        "output": UNSET if output is UNSET else as_text(output),
        "context": blocks(outcome.context) or UNSET,
        "message": blocks(outcome.messages) or UNSET,
    }
    if decision >= Decision.ASK:
        document[_KEYS[decision]] = outcome.reason or _reply.NO_REASON
    rests = decision is Decision.STOP
    if event.name in ENDS and outcome.follow_ups and not rests:
        document["prompt"] = blocks(outcome.follow_ups)
    return document
