"""Tool results between agents: one sends a text, another an object with streams, a third a list of parts."""

from collections.abc import Mapping

from msgspec.structs import replace

from hookline.dialects import _mcp
from hookline.model.event import Event, EventName


def to_text(result: object) -> str:
    """Return a result as the text that a model reads of it, and as JSON where it has no such text."""
    match result:
        case {"stdout": str(printed), **more}:
            complaint = more.get("stderr")
            return "\n".join(filter(None, (printed, complaint if isinstance(complaint, str) else "")))
        case {"llmContent": inner} | {"content": list(inner)}:
            return to_text(inner)
        case [*parts] if parts:
            texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
            strings = [text for text in texts if isinstance(text, str)]
            if len(strings) == len(parts):
                return "\n".join(filter(None, strings))
    return _mcp.to_text(result)


def with_text(event: Event, *, dialect: str) -> Event:
    """Return another agent's event with its result as a text."""
    result = event.data.get("result")
    if not _is_foreign(event, dialect) or result is None or isinstance(result, str):
        return event
    return replace(event, data={**event.data, "result": to_text(result)})


def with_streams(event: Event, *, dialect: str) -> Event:
    """Return another agent's event with a command's result as an object with `stdout` and `stderr`."""
    result = event.data.get("result")
    has_streams = result is None or (isinstance(result, Mapping) and "stdout" in result)
    if has_streams or event.tool != "shell" or not _is_foreign(event, dialect):
        return event
    streams = {"stdout": to_text(result), "stderr": "", "interrupted": False, "isImage": False}
    return replace(event, data={**event.data, "result": streams})


def with_response(event: Event, *, dialect: str) -> Event:
    """Return another agent's event with its result as an object with `llmContent` and `returnDisplay`."""
    result = event.data.get("result")
    has_response = result is None or (isinstance(result, Mapping) and "llmContent" in result)
    if has_response or not _is_foreign(event, dialect):
        return event
    text = to_text(result)
    return replace(event, data={**event.data, "result": {"llmContent": text, "returnDisplay": text}})


def _is_foreign(event: Event, dialect: str) -> bool:
    return event.name is EventName.AFTER_TOOL and event.host not in {"", dialect}
