"""Results of tools between agents: one has a text, another an object with streams or a list of parts for the same."""

from collections.abc import Mapping

from msgspec.structs import replace

from hookline.dialects import _mcp
from hookline.model.event import Event, EventName


def as_text(result: object) -> str:
    """Give a result as the text that a model reads of it; what has no such text is JSON."""
    match result:
        case {"stdout": str(printed), **more}:
            complaint = more.get("stderr")
            return "\n".join(filter(None, (printed, complaint if isinstance(complaint, str) else "")))
        case {"llmContent": inner} | {"content": list(inner)}:
            return as_text(inner)
        case [*parts] if parts and None not in (texts := [_text_of(part) for part in parts]):
            return "\n".join(filter(None, texts))
        case _:
            return _mcp.written(result)


def _text_of(part: object) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def in_texts(event: Event, *, dialect: str) -> Event:
    """Give another agent's event with its result as a text, for hooks that count on one."""
    result = event.data.get("result")
    if not _is_foreign(event, dialect) or result is None or isinstance(result, str):
        return event
    return replace(event, data={**event.data, "result": as_text(result)})


def in_streams(event: Event, *, dialect: str) -> Event:
    """Give another agent's event with what a command printed as an object, for hooks that count on one."""
    result = event.data.get("result")
    is_so = result is None or (isinstance(result, Mapping) and "stdout" in result)
    if is_so or event.tool != "shell" or not _is_foreign(event, dialect):
        return event
    streams = {"stdout": as_text(result), "stderr": "", "interrupted": False, "isImage": False}
    return replace(event, data={**event.data, "result": streams})


def in_response(event: Event, *, dialect: str) -> Event:
    """Give another agent's event with its result as what the model and the person read, for hooks that count on it."""
    result = event.data.get("result")
    is_so = result is None or (isinstance(result, Mapping) and "llmContent" in result)
    if is_so or not _is_foreign(event, dialect):
        return event
    text = as_text(result)
    return replace(event, data={**event.data, "result": {"llmContent": text, "returnDisplay": text}})


def _is_foreign(event: Event, dialect: str) -> bool:
    return event.name is EventName.AFTER_TOOL and event.host not in {"", dialect}
