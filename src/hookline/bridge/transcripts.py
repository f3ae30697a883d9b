"""Read the transcripts of agents, line by line: prompts, tool calls, and what became of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from hookline import json_codec
from hookline.files import read_regular_file

Document = Mapping[str, object]


class ToolCallEnd(StrEnum):
    """What became of a tool call: it ran, a hook refused it, the agent refused its arguments, or anything else."""

    RAN = "ran"
    REFUSED = "refused"
    INVALID = "invalid"
    OTHER = "other"


class TranscriptPart(Struct, frozen=True, kw_only=True):
    """A prompt, a tool call or its result, as one line of a transcript has it.

    `id` is that of the call, or of the message with the prompt. `tool` is the name that the agent's model knows, and empty where
    the line only has the result.
    """

    id: str
    tool: str = ""
    args: object = None
    result: ToolCallEnd | None = None
    prompt: str = ""


class TranscriptPlace(Struct, frozen=True, kw_only=True):
    """Where a session takes place, as far as one line says it."""

    session: str = ""
    cwd: str = ""
    version: str = ""


class TranscriptFormat(Struct, frozen=True, kw_only=True):
    """How the transcripts of one agent are read.

    Every line about a tool call contains one of `marks`. `asks` are the tools that ask hooks first, beside those of MCP servers.
    Without `by_id`, the agent does not pass the id of a call to hooks, so that calls are only counted.

    `is_own` tells whether the agent wrote a line. `before_tool` and `prompt` are the agent's own names of the events that a hook
    is called at, and `to_hook` returns the tool and the arguments of a call as the agent passes them to hooks.
    """

    read: Callable[[Document], Iterator[TranscriptPart]]
    marks: tuple[bytes, ...]
    asks: frozenset[str]
    mcp: str = "mcp__"
    by_id: bool = True
    read_place: Callable[[Document], TranscriptPlace] = lambda _: TranscriptPlace()
    is_own: Callable[[Document], bool] = lambda _: False
    before_tool: str = "PreToolUse"
    prompt: str = "UserPromptSubmit"
    to_hook: Callable[[str, object], tuple[str, object]] = lambda tool, args: (tool, args)


class ToolRun(Struct, frozen=True):
    """A tool that ran: when it was called, its name as the agent's model knows it, and the id of the call."""

    at: float
    tool: str
    call: str


# bytes of a transcript, counted from its end
_LARGEST: Final = 8 * 1024 * 1024

# a text that the agent adds in the user's name: the environment, instructions, the output of a local command
_ADDED: Final = re.compile(r"\s*(<[\w-]+[ >]|# AGENTS\.md|\[Request interrupted|Caveat: )")


def _is_prompt(text: str) -> bool:
    return bool(text.strip()) and _ADDED.match(text) is None


# Claude Code

_CLAUDE_REFUSED: Final = re.compile(r"(Hook )?PreToolUse:")


def _read_claude(document: Document) -> Iterator[TranscriptPart]:
    """Yield what a line of Claude Code says."""
    message = get_object(document, "message")
    if document.get("type") == "user" and not document.get("isMeta"):
        texts = [text for part in list_objects(message, "content") if isinstance(text := part.get("text"), str)]
        content = message.get("content")
        prompt = content if isinstance(content, str) else "\n".join(texts)
        if _is_prompt(prompt):
            yield TranscriptPart(id=str(document.get("uuid")), prompt=prompt)
    for part in list_objects(message, "content"):
        if part.get("type") == "tool_use":
            yield TranscriptPart(id=str(part.get("id")), tool=str(part.get("name")), args=part.get("input"))
        elif part.get("type") == "tool_result":
            yield TranscriptPart(id=str(part.get("tool_use_id")), result=_read_claude_result(document, part))


def _read_claude_result(document: Document, part: Document) -> ToolCallEnd:
    text = join_text(part.get("content"))
    # a call with invalid arguments is refused by the agent before any hook
    if text.startswith("<tool_use_error>"):
        return ToolCallEnd.INVALID
    by_hook = get_object(document, "permissionDecision").get("source") == "hook" and part.get("is_error") is True
    return ToolCallEnd.REFUSED if by_hook or _CLAUDE_REFUSED.match(text) else ToolCallEnd.RAN


def _read_claude_place(document: Document) -> TranscriptPlace:
    return TranscriptPlace(
        session=_get_text(document, "sessionId"),
        cwd=_get_text(document, "cwd"),
        version=_get_text(document, "version"),
    )


# Codex CLI

# how the result of a call that ran begins; a refusal is a sentence for the model
_CODEX_RAN: Final = re.compile(r"(Chunk ID|Exit code|Wall time|Process exited)")
_CODEX_REFUSED: Final = re.compile(r".{0,80}blocked by PreToolUse hook", re.DOTALL)
_CODEX_SHELLS: Final = frozenset({"exec_command", "shell", "shell_command", "local_shell"})
# what older versions put before the line that their shell runs
_SHELL_WORDS: Final = ("-c", "-lc")


def _read_codex(document: Document) -> Iterator[TranscriptPart]:
    """Yield what a line of Codex CLI says."""
    payload = get_object(document, "payload")
    kind, call = payload.get("type"), str(payload.get("call_id"))
    if kind in {"function_call", "custom_tool_call"}:
        tool = f"{payload.get('namespace') or ''}{payload.get('name') or ''}"
        yield TranscriptPart(id=call, tool=tool, args=_read_codex_args(payload))
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        text = join_text(payload.get("output"))
        refused = ToolCallEnd.REFUSED if _CODEX_REFUSED.match(text) else ToolCallEnd.OTHER
        yield TranscriptPart(id=call, result=ToolCallEnd.RAN if _CODEX_RAN.match(text) else refused)
    elif kind == "message" and payload.get("role") == "user":
        text = join_text(payload.get("content"))
        if _is_prompt(text):
            yield TranscriptPart(id=str(payload.get("id") or document.get("timestamp")), prompt=text)


def _read_codex_args(payload: Document) -> object:
    arguments = payload.get("arguments")
    if not isinstance(arguments, str):
        return payload.get("input")
    try:
        return json_codec.load(arguments.encode())
    except ValueError:
        return None


def _codex_to_hook(tool: str, args: object) -> tuple[str, object]:
    if tool == "apply_patch":
        return tool, {"command": args} if isinstance(args, str) else args
    if tool not in _CODEX_SHELLS or not isinstance(args, dict):
        return tool, args
    words = args.get("cmd") or args.get("command")
    if isinstance(words, list):
        shown = words[2:] if len(words) == 3 and words[1] in _SHELL_WORDS else words  # noqa: PLR2004 - bash -lc LINE
        words = " ".join(map(str, shown))
    return "Bash", {"command": words}


def _read_codex_place(document: Document) -> TranscriptPlace:
    payload = get_object(document, "payload")
    if document.get("type") not in {"session_meta", "turn_context"}:
        return TranscriptPlace()
    return TranscriptPlace(
        session=_get_text(payload, "session_id") or _get_text(payload, "id"),
        cwd=_get_text(payload, "cwd"),
        version=_get_text(payload, "cli_version"),
    )


# Gemini CLI

_GEMINI_REFUSED: Final = re.compile(r"Tool execution blocked")
_GEMINI_FOLDER: Final = re.compile(r"\*\*Workspace Directories:\*\*\s+- (/[^\n]*)")
_GEMINI_ROLES: Final = frozenset({"user", "gemini"})


def _read_gemini(document: Document) -> Iterator[TranscriptPart]:
    """Yield what a message of Gemini CLI says; the program writes a message again with each update."""
    if document.get("type") == "user":
        text = join_text(document.get("content"))
        if _is_prompt(text):
            yield TranscriptPart(id=str(document.get("id")), prompt=text)
    for part in list_objects(document, "toolCalls"):
        yield TranscriptPart(
            id=str(part.get("id")),
            tool=str(part.get("name")),
            args=part.get("args"),
            result=_read_gemini_result(part),
        )


def _read_gemini_result(part: Document) -> ToolCallEnd:
    if part.get("status") == "success":
        return ToolCallEnd.RAN
    shown = part.get("resultDisplay")
    is_refused = isinstance(shown, str) and _GEMINI_REFUSED.match(shown)
    return ToolCallEnd.REFUSED if is_refused else ToolCallEnd.OTHER


def _read_gemini_place(document: Document) -> TranscriptPlace:
    folder = _GEMINI_FOLDER.search(join_text(document.get("content"))) if document.get("type") == "user" else None
    return TranscriptPlace(session=_get_text(document, "sessionId"), cwd=folder[1].strip() if folder else "")


# Qwen Code


def _read_qwen(document: Document) -> Iterator[TranscriptPart]:
    """Yield the calls that a line of Qwen Code has."""
    for part in list_objects(get_object(document, "message"), "parts"):
        if function := get_object(part, "functionCall"):
            yield TranscriptPart(id=str(function.get("id")), tool=str(function.get("name")), args=function.get("args"))
    if result := get_object(document, "toolCallResult"):
        has_run = result.get("status") == "success"
        yield TranscriptPart(id=str(result.get("callId")), result=ToolCallEnd.RAN if has_run else ToolCallEnd.OTHER)


_FILE_TOOLS: Final = frozenset({"read_file", "write_file", "replace", "edit", "run_shell_command", "glob", "web_fetch"})

FORMATS: Final[Mapping[str, TranscriptFormat]] = {
    "claude-code": TranscriptFormat(
        read=_read_claude,
        marks=(b'"tool_use"', b'"tool_result"'),
        asks=frozenset(
            {"Bash", "Monitor", "Read", "Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch", "Agent", "Task"}
        ),
        read_place=_read_claude_place,
        is_own=lambda document: (
            (document.get("type") in {"user", "assistant"} and "sessionId" in document and "uuid" in document)
            and "parts" not in get_object(document, "message")
        ),
    ),
    "codex-cli": TranscriptFormat(
        read=_read_codex,
        marks=(b'"function_call', b'"custom_tool_call'),
        asks=frozenset({"exec_command", "apply_patch"}),
        read_place=_read_codex_place,
        is_own=lambda document: (
            document.get("type") in {"session_meta", "response_item", "turn_context"} and "payload" in document
        ),
        to_hook=_codex_to_hook,
    ),
    "gemini-cli": TranscriptFormat(
        read=_read_gemini,
        marks=(b'"toolCalls"',),
        asks=_FILE_TOOLS | {"grep_search", "list_directory", "read_many_files"},
        mcp="mcp_",
        by_id=False,
        read_place=_read_gemini_place,
        is_own=lambda document: (
            {"sessionId", "projectHash"} <= document.keys()
            or (document.get("type") in _GEMINI_ROLES and {"id", "content"} <= document.keys())
        ),
        before_tool="BeforeTool",
        prompt="BeforeAgent",
    ),
    "qwen-code": TranscriptFormat(
        read=_read_qwen,
        marks=(b'"functionCall"', b'"toolCallResult"'),
        asks=_FILE_TOOLS | {"grep_search", "monitor"},
    ),
}

REPLAYABLE: Final = ("claude-code", "codex-cli", "gemini-cli")
"""The agents whose transcripts are whole enough to raise their events again."""


def list_tool_runs(host: str, path: str) -> list[ToolRun] | None:
    """Return the tool calls of a transcript that ran; None where it cannot be read, or there is none are read of the agent."""
    form = FORMATS.get(host)
    raw = read_regular_file(path, _LARGEST, from_end=True) if form is not None else None
    if form is None or raw is None:
        return None
    called: dict[str, ToolRun] = {}
    ran: dict[str, ToolRun] = {}
    for line in raw.splitlines():
        if not any(mark in line for mark in form.marks):
            continue
        try:
            document = json_codec.load(line)
        except ValueError:
            continue
        if not isinstance(document, dict):
            continue
        for part in form.read(document):
            if part.tool:
                called.setdefault(part.id, ToolRun(read_time(document), part.tool, part.id))
            if part.result is ToolCallEnd.RAN and part.id in called:
                ran[part.id] = called[part.id]
    return [run for run in ran.values() if run.tool in form.asks or run.tool.startswith(form.mcp)]


def get_object(document: Document, key: str) -> Document:
    """Return an object inside another; empty where it is none."""
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def list_objects(document: Document, key: str) -> Iterator[Document]:
    """Yield the objects of a list inside an object."""
    value = document.get(key)
    return (part for part in value if isinstance(part, dict)) if isinstance(value, list) else iter(())


def join_text(value: object) -> str:
    """Return a text, or the texts of a list of parts, as one."""
    if isinstance(value, list):
        return "".join(join_text(part.get("text") if isinstance(part, dict) else part) for part in value)
    return value if isinstance(value, str) else ""


def _get_text(document: Document, key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def read_time(document: Document) -> float:
    """Return the time of a line; 0, too old to count, where it has none."""
    try:
        return datetime.fromisoformat(str(document.get("timestamp"))).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
