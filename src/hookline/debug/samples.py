"""Sample events: made to fit the hook that is tried with them, or as far as a test describes them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from hookline.engine.event_factory import make_event
from hookline.errors import ConfigError
from hookline.model.event import EVENTS, OTHER, READING, TOOL_SPECS, Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.names import is_known_tool

SESSION: Final = Session(id="sample-session", user="sample", model="sample-model", provider="sample")

_FILE: Final = "src/example.py"
_DIFF: Final = "@@ -1 +1 @@\n-print('hello')\n+print('hello, world')\n"
_OLD: Final = "1" * 40
_NEW: Final = "2" * 40
_REFS: Final = ({"local": "refs/heads/main", "remote": "refs/heads/main", "from_commit": _OLD, "to_commit": _NEW},)
_MESSAGES: Final = ({"role": "user", "content": "Add a greeting to src/example.py"},)

# the arguments of each tool in a sample; the first is used for hooks without a matcher
TOOLS: Final[Mapping[str, Mapping[str, object]]] = {
    "shell": {"command": "echo hello"},
    "write_file": {"path": _FILE, "content": "print('hello, world')\n"},
    "edit_file": {"path": _FILE, "old": "hello", "new": "hello, world"},
    "read_file": {"path": _FILE},
    "multi_edit": {"path": _FILE, "edits": [{"old": "hello", "new": "hello, world"}]},
    "edit_lines": {"path": _FILE, "first": 1, "last": 1, "text": "print('hello, world')"},
    "read_files": {"paths": [_FILE]},
    "list_dir": {"path": "src"},
    "glob": {"pattern": "**/*.py"},
    "grep": {"pattern": "hello", "path": "src"},
    "web_fetch": {"url": "https://example.com/"},
    "web_search": {"query": "greetings"},
    "subagent": {"description": "look around", "prompt": "List the files in src"},
    "todo": {"todos": [{"content": "Add a greeting", "status": "pending"}]},
    "insert_text": {"path": _FILE, "line": 1, "text": "print('hello, world')"},
    "apply_patch": {"patch": f"*** Begin Patch\n*** Add File: {_FILE}\n+print('hello')\n*** End Patch\n"},
    "delete_file": {"paths": [_FILE]},
    "notebook_edit": {"path": "example.ipynb", "cell": "1", "source": "print('hello')", "mode": "replace"},
    "shell_input": {"session": "1", "text": "echo hello\n"},
    "shell_control": {"action": "stop", "session": "1"},
    "code": {"language": "javascript", "source": "console.log('hello')"},
    "mcp_resource": {"server": "example", "uri": "example://greeting"},
    "agent_message": {"target": "sub-1", "text": "List the files in src"},
    "schedule": {"prompt": "Run the tests", "when": "0 9 * * *"},
    "worktree": {"action": "enter", "name": "greeting"},
    "skill": {"name": "greeting"},
    "ask_user": {"questions": [{"question": "Which greeting?"}]},
    "plan_mode": {"action": "exit", "plan": "Add a greeting"},
    "tool_search": {"query": "greet"},
}

_ERROR: Final = {
    "error": "sample error",
    "error_type": "RuntimeError",
    "error_code": "E_SAMPLE",
    "error_stack": "RuntimeError: sample error",
}
_CHANGED: Final = {"path": _FILE, "size": 22, "changed": 1_767_225_600_000, "content": "print('hello, world')\n"}

DATA: Final[Mapping[EventName, Mapping[str, object]]] = {
    EventName.SETUP: {"trigger": "init"},
    EventName.SESSION_START: {"source": "startup"},
    EventName.SESSION_END: {
        "reason": "exit",
        "ended": 1_767_225_600_000,
        "duration": 61.5,
        "message_count": 4,
        "summary": "Added a greeting",
    },
    EventName.BEFORE_AGENT: {"prompt": "Add a greeting to src/example.py"},
    EventName.AFTER_AGENT: {
        "prompt": "Add a greeting to src/example.py",
        "response": "Done.",
        "conversation_length": 2,
    },
    EventName.BEFORE_MODEL: {
        "prompt": "Add a greeting to src/example.py",
        "messages": _MESSAGES,
        "model": "sample-model",
        "temperature": 0.2,
    },
    EventName.AFTER_MODEL: {
        "prompt": "Add a greeting to src/example.py",
        "response": "Done.",
        "messages": _MESSAGES,
        "model": "sample-model",
        "duration": 1.2,
        "tokens": 42,
    },
    EventName.BEFORE_TOOL_SELECTION: {"messages": _MESSAGES, "tools": list(TOOLS)},
    EventName.BEFORE_TOOL: {},
    EventName.AFTER_TOOL: {"result": "hello\n", "duration": 0.1},
    EventName.TOOL_FAILED: {**_ERROR, "duration": 0.1},
    EventName.PERMISSION_REQUEST: {"operation": "run a tool", "details": "sample", "requester": "agent"},
    EventName.SKILL_TRIGGER: {"skill": "greeting", "parameters": {"name": "world"}},
    EventName.PRE_COMPRESS: {"trigger": "auto", "messages": _MESSAGES, "size": 90_000},
    EventName.POST_COMPRESS: {"trigger": "auto", "messages": _MESSAGES, "size": 12_000},
    EventName.CONTEXT_OVERFLOW: {"size": 130_000, "max_size": 128_000, "utilization": 1.02},
    EventName.SUBAGENT_START: {"agent_id": "sub-1", "agent_type": "explore", "prompt": "List the files in src"},
    EventName.SUBAGENT_STOP: {"agent_id": "sub-1", "agent_type": "explore", "response": "1 file", "duration": 2.0},
    EventName.FILE_CREATED: _CHANGED,
    EventName.FILE_EDITED: {**_CHANGED, "diff": _DIFF},
    EventName.FILE_DELETED: {"path": _FILE, "changed": 1_767_225_600_000},
    EventName.GIT_COMMIT: {"files": [_FILE], "message": "Add a greeting", "branch": "main"},
    EventName.GIT_MESSAGE: {"message": "Add a greeting", "branch": "main", "files": [_FILE]},
    EventName.GIT_PUSH: {"remote": "origin", "url": "ssh://example.com/greeting", "refs": _REFS, "branch": "main"},
    EventName.GIT_CHECKOUT: {"branch": "main", "from_commit": _OLD, "to_commit": _NEW, "is_branch": True},
    EventName.ERROR: {**_ERROR, "operation": "sample"},
    EventName.USER_TRIGGERED: {"hook": "sample", "input": "go"},
    EventName.SCHEDULED: {"hook": "sample", "schedule": "0 9 * * *", "due": 1_767_258_000_000},
    EventName.NOTIFICATION: {"message": "Waiting for you", "type": "status", "title": "Sample"},
    EventName.CUSTOM: {"event_name": "sample", "payload": {"key": "value"}, "source": "sample-extension"},
}

# parts of patterns that stand for any text, for one character, or for one of several
_WILD: Final = re.compile(r"\*\*/|\.[*+]|\*+|\?|\[(?P<set>[^\]]+)\]|[\\^$()]")
_FEW: Final = 20
Fits = Callable[[Event], object]


def sample(name: str, *, cwd: str = "", hook: Hook | None = None, fits: Fits | None = None) -> Event:
    """Return the first sample of an event that fits the hook, else the plainest.

    `name` is a canonical event or `custom:NAME`.
    """
    key, _, custom = name.partition(":")
    event = EventName(key)
    data = dict(DATA[event])
    if custom:
        data["event_name"] = custom
    if event in {EventName.USER_TRIGGERED, EventName.SCHEDULED} and hook is not None:
        data["hook"] = hook.name or hook.id
    if event is EventName.SCHEDULED and hook is not None and hook.schedule:
        data["schedule"] = hook.schedule
    plain = Event(name=event, data=data, session=SESSION, cwd=cwd)
    wanted = hook or Hook(id="sample", kind="function")
    candidates = _list_tool_calls if EVENTS[event].subject == "tool" else _list_other_events
    events = list(candidates(plain, wanted))
    return next((one for one in events if fits is None or fits(one)), events[0])


def _list_tool_calls(plain: Event, hook: Hook) -> Iterator[Event]:
    """Yield tool calls: every known tool, on a file that the hook wants, then the tools that its matcher names."""
    paths = [*_expand_patterns(hook), _FILE]
    named = {
        word.removeprefix(OTHER): {"input": "sample"}
        for word in _expand_matcher(hook.matcher)
        if not is_known_tool(word)
    }
    for path in paths:
        for tool, args in {**TOOLS, **named}.items():
            yield replace(plain, tool=tool, args=_replace_path(args, path))


def _replace_path(args: Mapping[str, object], path: str) -> Mapping[str, object]:
    if path == _FILE:
        return args
    changed = {"path": path, "paths": [path]}
    return {key: changed.get(key, value) if value in (_FILE, [_FILE]) else value for key, value in args.items()}


def _list_other_events(plain: Event, hook: Hook) -> Iterator[Event]:
    """Yield the sample, then the same with the values that the hook's matcher or patterns name."""
    yield plain
    field = EVENTS[plain.name].subject
    values = [*(_expand_patterns(hook) if field == "path" else ()), *_expand_matcher(hook.matcher)] if field else []
    for value in values:
        yield replace(plain, data={**plain.data, field: value})
    for path in _expand_patterns(hook):
        if "files" in plain.data:
            yield replace(plain, data={**plain.data, "files": [path]})


def _expand_matcher(matcher: str) -> list[str]:
    """Return words that a matcher matches: `mcp__github__.*|deploy` gives `mcp__github__example` and `deploy`."""
    parts = re.split(r"[|()]", matcher)
    return [word for part in parts[:_FEW] if (word := _expand(part.strip())) and word != "example"]


def _expand_patterns(hook: Hook) -> list[str]:
    """Return a file for each pattern of a hook, except patterns that exclude files."""
    patterns = [
        pattern
        for pattern in (*hook.files, *hook.writes, *hook.deletes, *hook.reads)[:_FEW]
        if not pattern.startswith(("!", "#"))
    ]
    expanded = [_expand(pattern).lstrip("/") for pattern in patterns]
    return [f"{path}example" if path.endswith("/") else path for path in expanded if path]


def _expand(pattern: str) -> str:
    def replace_wildcard(match: re.Match[str]) -> str:
        if match["set"]:
            return match["set"].lstrip("!^")[:1] or "x"
        if match[0] == "?":
            return "x"
        # "**/" also matches no folder at all, and the rest is syntax
        return "" if match[0] == "**/" or match[0] in "\\^$()" else "example"

    return _WILD.sub(replace_wildcard, pattern)


# events of tests

# the time of every event in a test, so that a payload is the same in each run
TIME: Final = 1_767_225_600_000


def complete_event(
    name: str,
    *,
    tool: str = "",
    args: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    cwd: str = "",
    hook: Hook | None = None,
    fits: Fits | None = None,
) -> Event:
    """Return an event as far as it is given, with the values of a sample for the rest.

    `name` is a canonical event or `custom:NAME`. Without a `tool`, it is the first that has all of the arguments and for which
    `fits` is true. A tool gets the arguments that it cannot do without.

    Raises:
        ConfigError: The event is no tool call and was given a tool or arguments, or no tool has all of the arguments.
    """
    plain = sample(name, hook=hook, cwd=cwd)
    fields = {**plain.data, **(data or {})}
    if EVENTS[plain.name].subject != "tool":
        if tool or args:
            raise ConfigError(f"{plain.name} is no tool call, so it has neither a tool nor arguments")
        return replace(plain, data=fields, timestamp=TIME)
    if tool:
        return _build_call(name, tool, args or {}, data=fields, cwd=cwd)
    names = sorted(TOOLS, key=lambda one: one not in READING) if hook is not None and hook.reads else TOOLS
    calls = [
        _build_call(name, one, args or {}, data=fields, cwd=cwd) for one in names if set(args or ()) <= _arguments(one)
    ]
    if not calls:
        raise ConfigError(f"no tool has all of the arguments {', '.join(args or ())}; name the tool")
    return next((call for call in calls if fits is None or fits(call)), calls[0])


def _build_call(name: str, tool: str, args: Mapping[str, object], *, data: Mapping[str, object], cwd: str) -> Event:
    call = make_event(name, data, tool=tool, args=args, session=SESSION, cwd=cwd, project=cwd)
    spec = TOOL_SPECS.get(call.tool)
    needed = {key: value for key, value in TOOLS.get(call.tool, {}).items() if spec and key in spec.arguments}
    return replace(call, args={**needed, **args}, id="", timestamp=TIME)


def _arguments(tool: str) -> set[str]:
    return {name.rstrip("?") for name in TOOL_SPECS[tool].arguments}
