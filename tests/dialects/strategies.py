"""Events, outcomes and answers to try the laws on, and what each dialect is declared not to carry."""

import json
from collections.abc import Mapping

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import DIALECTS
from hookline.dialects._tools import ToolMap
from hookline.model.event import EVENTS, Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

Plain = dict[str, object]

# dialects of documents, which carry everything a moment allows, and languages of real agents, which do not
SYSTEMS = sorted(name for name, dialect in DIALECTS.items() if not dialect.SPEC.is_agent)
AGENTS = sorted(name for name, dialect in DIALECTS.items() if dialect.SPEC.is_agent)

HOOK = Hook(id="guard", name="Guard", command="guard", version="1.2.0")
OLLM = ("ollm-protocol", "ollm", "ollm-rpc")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = text.filter(bool)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text
)
values: st.SearchStrategy[object] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
)
objects: st.SearchStrategy[Plain] = st.dictionaries(text, values, max_size=3)
# between 1973 and the year 9999: smaller numbers are seconds where a dialect takes both
times = st.integers(100_000_000_000, 253_402_300_799_999)

# names that mean something in one document or another, to be met as data and arguments of our own
LOADED = (
    "session", "metrics", "error", "config", "context", "changes", "extra", "tool", "args", "tool_name", "tool_input",
    "tool_args", "data", "hook", "timestamp", "model", "session_id", "sessionId", "cwd", "result", "tool_response",
    "user_input", "prompt", "execution_time", "jsonrpc_id", "file", "eventName", "path", "content", "diff",
    "hook_event_name", "provider", "summary", "webhook_url", "decision",
)  # fmt: skip

_seconds = st.integers(0, 86_400) | st.integers(0, 86_400_000).map(lambda ms: ms / 1000)
_edit = st.fixed_dictionaries({}, optional={"old": values, "new": values, "replace_all": st.booleans()})
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, object]]] = {
    tool: st.fixed_dictionaries({}, optional=arguments)
    for tool, arguments in {
        "shell": {"command": values, "timeout": _seconds, "cwd": text, "background": st.booleans()},
        "read_file": {"path": values, "offset": values, "limit": values},
        "read_files": {"paths": values, "offset": st.integers(1, 99), "limit": st.integers(1, 99)},
        "write_file": {"path": values, "content": values, "mode": st.sampled_from(["create", "overwrite", "append"])},
        "edit_file": {"path": values, "old": values, "new": values, "replace_all": st.booleans()},
        "multi_edit": {"path": values, "edits": st.lists(_edit | scalars, max_size=3)},
        "edit_lines": {"path": values, "first": values, "last": values, "text": values},
        "list_dir": {"path": values},
        "glob": {"pattern": values, "path": values},
        "grep": {"pattern": values, "path": values, "include": values},
        "web_fetch": {"urls": st.lists(text, max_size=3), "prompt": values},
        "web_search": {"query": values},
        "subagent": {"prompt": values, "type": values},
        "todo": {"items": values},
    }.items()
}
# what some document calls an argument: beside our name for it they trade places, alone they are read as ours
NATIVE_ARGUMENTS = {
    "file_path", "directory", "filePattern", "directory_path", "old_text", "new_text", "old_string", "new_string",
    "role", "run_in_background", "startLine", "endLine", "newContent", "url", "urls", "overwrite", "mode", "edits",
    "target", "replacement", "timeout", "offset", "limit",
}  # fmt: skip
_NAMES = {
    name.casefold().replace("-", "_") for dialect in DIALECTS.values() for names in dialect.SPEC.tools.values() for name in names
}  # fmt: skip


def _unclaimed(name: str) -> bool:
    return name.casefold().replace("-", "_") not in _NAMES | set(ARGUMENTS) and not name.startswith("builtin:")


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A tool with arguments: one that documents know, one of an MCP server, or one nobody knows."""
    tool = draw(st.sampled_from([*ARGUMENTS, "mcp__files__write", "memory", "Deploy"]) | words.filter(_unclaimed))
    more = draw(st.dictionaries(st.sampled_from(LOADED) | words, values, max_size=3))
    known = draw(ARGUMENTS.get(tool, st.just({})))
    return tool, {**{k: v for k, v in more.items() if k not in NATIVE_ARGUMENTS | known.keys()}, **known}


_FIELDS: dict[str, st.SearchStrategy[object]] = {"ended": times, "changed": times, "error": words}


@st.composite
def event_data(draw: st.DrawFn, name: EventName) -> dict[str, object]:
    fields = {field: _FIELDS.get(field, values) for field in EVENTS[name].fields}
    own: dict[str, object] = draw(st.fixed_dictionaries({}, optional=fields))
    more = draw(st.dictionaries(st.sampled_from(LOADED) | words, values, max_size=4))
    return {**{key: value for key, value in more.items() if key not in fields}, **own}


sessions = st.builds(
    Session,
    id=text,
    user=text,
    started=st.just(0) | times,
    model=text,
    provider=text,
    config=objects,
    agent=objects,
    profile=objects,
)


@st.composite
def events(draw: st.DrawFn, names: tuple[EventName, ...] = tuple(EventName)) -> Event:
    name = draw(st.sampled_from(names))
    tool, args = draw(st.just(("", {})) | calls())
    return Event(
        name=name,
        data=draw(event_data(name)),
        tool=tool,
        args=args,
        session=draw(st.just(Session()) | sessions),
        cwd=draw(text),
        timestamp=draw(st.just(0) | times),
        native_tool=draw(st.sampled_from(["", "Bash", "bash", "read-file", "builtin:grep", f"builtin:{tool}", tool])),
        native_name=draw(st.sampled_from(["", "my-event", "PreToolUse", "after_tool"])),
        id=draw(text),
    )


# what an agent always sends at an event; without it, the event would be another one
ALWAYS: Mapping[EventName, Plain] = {
    EventName.BEFORE_AGENT: {"prompt": "say hi"},
    EventName.NOTIFICATION: {"message": "look here", "type": "idle_prompt"},
    EventName.AFTER_TOOL: {"result": "done"},
    EventName.TOOL_FAILED: {"error": "no such file"},
    EventName.ERROR: {"error": "too many requests", "error_type": "rate_limit"},
    EventName.FILE_CREATED: {"path": "/project/a.txt"},
    EventName.FILE_EDITED: {"path": "/project/a.txt"},
    EventName.FILE_DELETED: {"path": "/project/a.txt"},
}
_TOOL_EVENTS = (EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST)


@st.composite
def agent_events(draw: st.DrawFn, dialect: str) -> Event:
    """An event of an agent that says what it always says, and more."""
    name = draw(st.sampled_from(sorted(DIALECTS[dialect].SPEC.events)))
    tool, args = draw(calls()) if name in _TOOL_EVENTS else ("", {})
    return Event(
        name=name,
        data={**draw(event_data(name)), **ALWAYS.get(name, {})},
        tool=tool,
        args=args,
        session=Session(id=draw(text), model=draw(text)),
        cwd=draw(st.sampled_from(["", "/project", "/project/sub"])),
        timestamp=draw(st.just(0) | times),
    )


@st.composite
def agent_outcomes(draw: st.DrawFn, event: Event) -> Outcome:
    """An outcome as the engine makes it."""
    effects = [Effect(kind, said) for kind, texts in _said.items() for said in draw(st.lists(texts, max_size=2))]
    changed = draw(st.none() | words) if event.tool else None
    return Outcome(
        decision=draw(st.sampled_from(Decision)),
        reasons=tuple(draw(st.lists(words, max_size=2))),
        effects=tuple(effects),
        args=None if changed is None else {**event.args, "command": changed},
        output=draw(st.just(UNSET) | words) if event.name is EventName.AFTER_TOOL else UNSET,
    )


def normalise(event: Event, dialect: str) -> Event:
    """Give the event as the dialect is declared to carry it."""
    if dialect == "hookline":
        return event
    data = dict(event.data)
    native_name = event.native_name if _is_foreign(event, dialect) else ""
    if native_name:
        data.setdefault("event_name", native_name)
    if event.session.model and event.name in _MODEL_EVENTS.get(dialect, ()):
        data.setdefault("model", event.session.model)
    if event.name is EventName.TOOL_FAILED and dialect in {"ollm", "cli-agent"}:
        data.setdefault("error", "the tool failed without a message")
    if dialect == "cli-agent":
        _one_prompt(event.name, data)
    if dialect == "ollm-protocol" and event.name is EventName.PERMISSION_REQUEST and event.tool:
        _drop_repeated(event, data)
    native_tool = _told(event, dialect)
    tool, args = _edits(event) if dialect in OLLM else (event.tool, dict(event.args))
    return replace(event, data=data, tool=tool, args=args, native_tool=native_tool, native_name=native_name, id="")


# the document promises these a model; without one of the call's own it is the session's
_MODEL_EVENTS = {
    "ollm-protocol": (EventName.BEFORE_MODEL,),
    "ollm": (EventName.BEFORE_MODEL, EventName.AFTER_MODEL),
}


def _drop_repeated(event: Event, data: Plain) -> None:
    """An operation that is the tool's name, and details that are its arguments, say nothing new."""
    document = DIALECTS["ollm-protocol"].encode_event(event, HOOK).document
    assert isinstance(document, dict)
    for key, original in (("operation", "tool"), ("details", "args")):
        if data.get(key, UNSET) == document["context"][original]:
            del data[key]


def _is_foreign(event: Event, dialect: str) -> bool:
    """Other systems' names are kept where nobody could take them for one of the dialect's."""
    known = {*DIALECTS[dialect].SPEC.events.values(), *(name.value for name in EventName)}
    return event.name is EventName.CUSTOM and event.native_name not in {"", *known}


def _told(event: Event, dialect: str) -> str:
    """Give the host's spelling as far as hooks see it: of tools their system has another row, or no name, for."""
    box: ToolMap = getattr(DIALECTS[dialect], "_TOOLS")  # noqa: B009 - the dialect's own table
    if not event.tool or (dialect in OLLM and event.tool == "edit_file"):
        return ""
    bare = event.native_tool.removeprefix("builtin:") or event.native_tool
    row = box.by_native.get(bare.casefold().replace("-", "_"))
    usual = box.by_tool.get(event.tool)
    if row is None:
        told = usual.names[0] if usual is not None else event.tool
        return event.native_tool if bare == event.tool and event.native_tool != told else ""
    if row is usual or row.tool != event.tool:
        return ""
    return next(name for name in row.names if name.casefold() == bare.casefold())


def _edits(event: Event) -> tuple[str, dict[str, object]]:
    """OLLM's one editing tool takes a list of edits."""
    if event.tool != "edit_file":
        return event.tool, dict(event.args)
    parts = ("old", "new", "replace_all")
    edit = {key: event.args[key] for key in parts if key in event.args}
    return "multi_edit", {**{k: v for k, v in event.args.items() if k not in parts}, "edits": [edit]}


def _one_prompt(name: EventName, data: dict[str, object]) -> None:
    """The document's `user_input` and our `prompt` are one thing."""
    if "prompt" in data:
        if data.get("user_input", UNSET) == data["prompt"]:
            del data["user_input"]
    elif "user_input" in data and "prompt" in EVENTS[name].fields:
        data["prompt"] = data.pop("user_input")


# outcomes

_said = {
    EffectKind.CONTEXT: words,
    EffectKind.MESSAGE: words,
    EffectKind.ASK_AGENT: words,
}


@st.composite
def outcomes(draw: st.DrawFn, event: Event) -> Outcome:
    effects = [Effect(kind, said) for kind, texts in _said.items() for said in draw(st.lists(texts, max_size=2))]
    if event.tool:
        changed: Plain = draw(ARGUMENTS.get(event.tool, objects))
        # no dialect can take an argument away, so none of these may move from one native name to another
        if event.tool == "web_fetch":
            changed.pop("urls", None)
        if event.tool == "write_file":
            changed.pop("mode", None)
        effects += [Effect(EffectKind.REWRITE, value, ("args", key)) for key, value in changed.items()]
    effects += [Effect(EffectKind.REWRITE, value, ("output",)) for value in draw(st.lists(values, max_size=1))]
    handed_on = draw(st.dictionaries(st.sampled_from(LOADED) | text, values, max_size=2))
    effects += [Effect(EffectKind.DATA, value, (key,)) for key, value in handed_on.items()]
    return Outcome(
        decision=draw(st.sampled_from(Decision)),
        reasons=tuple(draw(st.lists(words, max_size=2))),
        effects=tuple(draw(st.permutations(effects))),
    )


def told(decision: Decision, reason: str, *, effects: tuple[Effect, ...], event: Event) -> Plain:
    """Give what a verdict or an outcome says, in a form that does not depend on the order between kinds."""

    def said(kind: EffectKind) -> list[object]:
        return [effect.value for effect in effects if effect.kind is kind]

    args = {e.path[1]: e.value for e in effects if e.kind is EffectKind.REWRITE and e.path[0] == "args"}
    return {
        "decision": decision,
        "reason": reason,
        "context": said(EffectKind.CONTEXT),
        "messages": said(EffectKind.MESSAGE),
        "prompts": said(EffectKind.ASK_AGENT),
        "args": {key: value for key, value in args.items() if not _unchanged(key, value, event.args)},
        "output": [e.value for e in effects if e.kind is EffectKind.REWRITE and e.path == ("output",)][-1:],
        "data": {effect.path[0]: effect.value for effect in effects if effect.kind is EffectKind.DATA},
    }


def _unchanged(key: str, value: object, args: Mapping[str, object]) -> bool:
    return key in args and json_codec.dump(args[key]) == json_codec.dump(value)


def degrade(outcome: Outcome, event: Event, dialect: str) -> Plain:
    """Give what is left of an outcome in a dialect, as declared."""
    decision = outcome.decision
    if dialect == "ollm-protocol" and decision is Decision.PASS and event.name is EventName.PERMISSION_REQUEST:
        decision = Decision.ASK
    plain = told(decision, outcome.reason, effects=outcome.effects, event=event)
    blocks = decision >= Decision.ASK
    for field, joins in (
        ("messages", dialect == "ollm-protocol" and not blocks),
        ("context", dialect == "ollm" and not blocks),
        ("prompts", dialect == "ollm-rpc"),
    ):
        items = plain[field]
        if joins and isinstance(items, list) and items:
            plain[field] = ["\n\n".join(items)]
    if dialect == "ollm":
        data = plain["data"]
        assert isinstance(data, dict)
        plain["data"] = {key: value for key, value in data.items() if key not in _OLLM_WORDS}
    if dialect in {"ollm", "ollama-cli"}:
        # neither has a field for the reason of no decision
        plain["reason"] = "" if decision is Decision.PASS else outcome.reason
    return plain


_OLLM_WORDS = {"args", "result", "decision", "reason", "stop", "message", "askAgent", "context"}


# documents of any kind

junk = st.recursive(
    scalars | st.integers() | st.just(10**30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(LOADED) | text, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def spoiled(draw: st.DrawFn, document: object) -> bytes:
    """A document with one value replaced, and now and then a byte."""
    raw = json.dumps(_spoil(draw, document)).encode()
    if draw(st.booleans()):
        return raw
    place = draw(st.integers(0, len(raw)))
    return raw[:place] + draw(st.binary(max_size=3)) + raw[place + draw(st.integers(0, 2)) :]


def _spoil(draw: st.DrawFn, value: object) -> object:
    if not isinstance(value, dict) or not value or draw(st.integers(0, 3)) == 0:
        return draw(junk)
    key = draw(st.sampled_from(sorted(value)))
    return {**value, key: _spoil(draw, value[key])}


_maybe: dict[str, st.SearchStrategy[object]] = {
    "message": text, "systemMessage": text, "reason": text, "stopReason": text, "data": objects, "metadata": objects,
}  # fmt: skip
_decisions = st.sampled_from(["allow", "approve", "ask", "deny", "block", "stop", "pass", "modify", "maybe"])
ANSWERS: dict[str, st.SearchStrategy[Plain]] = {
    "ollm-protocol": st.fixed_dictionaries(
        {"allow": st.booleans()},
        optional={
            "message": text,
            "metadata": st.fixed_dictionaries(
                {}, optional={"decision": _decisions, "stop": st.booleans(), "modifiedArgs": objects, "context": text}
            ),
        },
    ),
    "ollm": st.fixed_dictionaries(
        {"continue": st.booleans()},
        optional={
            "systemMessage": text,
            "data": st.fixed_dictionaries(
                {}, optional={"decision": _decisions, "stop": st.booleans(), "args": objects, "key": values}
            ),
        },
    ),
    "ollm-rpc": st.fixed_dictionaries(
        {
            "jsonrpc": st.just("2.0"),
            "id": st.just(1),
            "result": st.fixed_dictionaries(
                {"action": _decisions | st.sampled_from(["continue", "none", "askAgent"])},
                optional={**_maybe, "prompt": text, "modifiedArgs": objects},
            ),
        }
    ),
    "ollama-cli": st.fixed_dictionaries(
        {}, optional={**_maybe, "permissionDecision": _decisions, "continue": st.booleans(), "updatedInput": objects}
    ),
    "cli-agent": st.fixed_dictionaries(
        {},
        optional={
            **_maybe,
            "decision": _decisions,
            "continue": st.booleans(),
            "modified_args": objects,
            "hookSpecificOutput": st.fixed_dictionaries({}, optional={"permissionDecision": _decisions}),
        },
    ),
    "hookline": st.fixed_dictionaries({}, optional={**_maybe, "decision": _decisions, "args": objects}),
}
# how agents say things, all at once: each reads what it knows
AGENT_ANSWERS: st.SearchStrategy[Plain] = st.fixed_dictionaries(
    {},
    optional={
        **_maybe,
        "decision": _decisions,
        "permissionDecision": _decisions,
        "permission": _decisions,
        "behavior": _decisions,
        "continue": st.booleans(),
        "cancel": st.booleans(),
        "review": st.booleans(),
        "status": _decisions,
        "errorMessage": text,
        "user_message": text,
        "additionalContext": text,
        "modifiedArgs": objects,
        "updated_input": objects,
        "overrideInput": objects,
        "hookSpecificOutput": st.fixed_dictionaries(
            {},
            optional={
                "hookEventName": text,
                "permissionDecision": _decisions,
                "permissionDecisionReason": text,
                "decision": _decisions | st.fixed_dictionaries({"behavior": _decisions}, optional={"message": text}),
                "updatedInput": objects,
                "tool_input": objects,
                "additionalContext": text,
                "updatedToolOutput": values,
            },
        ),
    },
)


def answers(dialect: str) -> st.SearchStrategy[Plain]:
    """Give documents that hooks of a dialect may answer with."""
    return ANSWERS.get(dialect, AGENT_ANSWERS)
