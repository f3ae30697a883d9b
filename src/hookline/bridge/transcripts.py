"""What agents write down of the tools they ran, as far as we know how to read it.

Only calls that ran are of interest, and only of tools that are known to ask hooks first: an alarm that is raised for
nothing is not looked at the next time.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from hookline import wire

LARGEST: Final = 8 * 1024 * 1024  # bytes, counted from the end

Document = Mapping[str, object]


class Ran(Struct, frozen=True):
    """A tool that ran: when it was called, its name as the agent's model knows it, and the id of the call."""

    at: float
    tool: str
    call: str


class Reader(Struct, frozen=True):
    """How one agent's transcript is read.

    `marks` are the words of which one is in every line of interest, `asks` the tools that ask hooks first, beside those
    of MCP servers. Without `by_id` the agent does not say to hooks which call it is, so that calls are only counted.
    """

    ran: Callable[[list[Document]], Iterator[Ran]]
    marks: tuple[bytes, ...]
    asks: frozenset[str]
    mcp: str = "mcp__"
    by_id: bool = True


def tools_that_ran(host: str, path: str) -> list[Ran] | None:
    """Read an agent's transcript; None where it cannot be read, or nobody knows how."""
    reader = READERS.get(host)
    raw = _tail(path) if reader is not None else None
    if reader is None or raw is None:
        return None
    documents: list[Document] = []
    for line in raw.splitlines():
        if any(mark in line for mark in reader.marks):
            try:
                document = wire.load(line)
            except ValueError:
                continue
            if isinstance(document, dict):
                documents.append(document)
    return [one for one in reader.ran(documents) if one.tool in reader.asks or one.tool.startswith(reader.mcp)]


def _tail(path: str) -> bytes | None:
    """Read the end of a file, which others name: nothing but a regular file is waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            return None
        os.lseek(handle, max(info.st_size - LARGEST, 0), os.SEEK_SET)
        # what is written meanwhile is read the next time
        return os.read(handle, LARGEST)
    except OSError:
        return None
    finally:
        os.close(handle)


def _claude(documents: list[Document]) -> Iterator[Ran]:
    called: dict[str, Ran] = {}
    for document in documents:
        for part in _parts(_object(document, "message"), "content"):
            if part.get("type") == "tool_use":
                call = str(part.get("id"))
                called[call] = Ran(_when(document), str(part.get("name")), call)
            elif part.get("type") == "tool_result":
                ran = called.get(str(part.get("tool_use_id")))
                # what the program itself refused, because of its arguments, never came as far as a hook
                if ran is not None and not _text(part.get("content")).startswith("<tool_use_error>"):
                    yield ran


# how the result of something that ran begins; what was refused is told to the model in a sentence
_CODEX_RAN: Final = re.compile(r"(Chunk ID|Exit code|Wall time|Process exited)")


def _codex(documents: list[Document]) -> Iterator[Ran]:
    called: dict[str, Ran] = {}
    for document in documents:
        payload = _object(document, "payload")
        kind, call = payload.get("type"), str(payload.get("call_id"))
        if kind in {"function_call", "custom_tool_call"}:
            name = f"{payload.get('namespace') or ''}{payload.get('name') or ''}"
            called[call] = Ran(_when(document), name, call)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            ran = called.get(call)
            if ran is not None and _CODEX_RAN.match(_text(payload.get("output"))):
                yield ran


def _gemini(documents: list[Document]) -> Iterator[Ran]:
    ran: dict[str, Ran] = {}
    for document in documents:
        for part in _parts(document, "toolCalls"):
            if part.get("status") == "success":
                call = str(part.get("id"))
                # a message is written down again with each thing that is known of it
                ran.setdefault(call, Ran(_when(document), str(part.get("name")), call))
    yield from ran.values()


def _qwen(documents: list[Document]) -> Iterator[Ran]:
    called: dict[str, Ran] = {}
    for document in documents:
        for part in _parts(_object(document, "message"), "parts"):
            said = _object(part, "functionCall")
            if said:
                call = str(said.get("id"))
                called[call] = Ran(_when(document), str(said.get("name")), call)
        result = _object(document, "toolCallResult")
        ran = called.get(str(result.get("callId")))
        if ran is not None and result.get("status") == "success":
            yield ran


_FILES: Final = frozenset({"read_file", "write_file", "replace", "edit", "run_shell_command", "glob", "web_fetch"})

READERS: Final[Mapping[str, Reader]] = {
    "claude-code": Reader(
        _claude,
        (b'"tool_use"', b'"tool_result"'),
        frozenset(
            {"Bash", "Monitor", "Read", "Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch", "Agent", "Task"}
        ),
    ),
    "codex-cli": Reader(
        _codex,
        (b'"function_call', b'"custom_tool_call'),
        frozenset({"exec_command", "apply_patch"}),
    ),
    "gemini-cli": Reader(
        _gemini, (b'"toolCalls"',), _FILES | {"grep_search", "list_directory", "read_many_files"}, "mcp_", by_id=False
    ),
    "qwen-code": Reader(_qwen, (b'"functionCall"', b'"toolCallResult"'), _FILES | {"grep_search", "monitor"}),
}


def _object(document: Document, key: str) -> Document:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _parts(document: Document, key: str) -> Iterator[Document]:
    value = document.get(key)
    return (part for part in value if isinstance(part, dict)) if isinstance(value, list) else iter(())


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(_text(part.get("text") if isinstance(part, dict) else part) for part in value)
    return value if isinstance(value, str) else ""


def _when(document: Document) -> float:
    """Give the time of a line; what has none is too old to count."""
    try:
        return datetime.fromisoformat(str(document.get("timestamp"))).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
