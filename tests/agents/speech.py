"""How a model answers over HTTP: what four kinds of requests say, and the bytes that carry a reply.

Only what the agents under test need. A request is read into how far the conversation has come and what the tools
answered; a reply is written as the stream of events its client expects.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

MODEL: Final = "scripted"
TOKENS: Final = (100, 10)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the model; text instead of arguments makes it a free-form one."""

    tool: str
    args: Mapping[str, object] | str


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says once."""

    text: str = ""
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked, as far as the answer depends on it."""

    turn: int
    has_tools: bool
    results: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Speech:
    """One way of talking to a model: which path it is asked at, how to read a request, how to write a reply."""

    path: str
    read: Callable[[Json], Request]
    stream: Callable[[Request, Turn], Iterable[Json]]
    whole: Callable[[Request, Turn], Json]
    named: bool = False
    done: str = ""


def _plain(content: object) -> str:
    """Give any of the shapes content comes in as text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_plain, content)))
    if isinstance(content, dict):
        return next((_plain(content[key]) for key in ("text", "content", "output", "parts") if key in content), "")
    return ""


def _spoken(roles: Iterable[str], model: str) -> int:
    """Count the model's turns; what stands side by side is one."""
    kinds = [role == model for role in roles]
    return sum(now and not before for before, now in zip([False, *kinds], kinds, strict=False))


def _ids(request: Request, turn: Turn) -> Iterator[tuple[str, Call]]:
    return ((f"call_{request.turn}_{at}", call) for at, call in enumerate(turn.calls))


# messages, with blocks


def _read_messages(body: Json) -> Request:
    messages = [message for message in body.get("messages", ()) if message["role"] != "system"]
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    results = [_plain(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    return Request(
        _spoken((message["role"] for message in messages), "assistant"), bool(body.get("tools")), tuple(results)
    )


def _whole_message(request: Request, turn: Turn) -> Json:
    text = [{"type": "text", "text": turn.text}] if turn.text else []
    used = [
        {"type": "tool_use", "id": name, "name": call.tool, "input": call.args} for name, call in _ids(request, turn)
    ]
    return {
        "id": f"msg_{request.turn}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [*text, *used],
        "stop_reason": "tool_use" if used else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS[0], "output_tokens": TOKENS[1]},
    }


def _stream_message(request: Request, turn: Turn) -> Iterator[Json]:
    whole = _whole_message(request, turn)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for at, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty: Json = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": TOKENS[1]}}
    yield {"type": "message_stop"}


# responses, with items


def _read_items(body: Json) -> Request:
    items = body.get("input", ())
    spoken, results, tools = [], [], bool(body.get("tools"))
    for item in items:
        kind = item.get("type", "message")
        if kind.endswith("_output"):
            results.append(_plain(item.get("output")))
            spoken.append("tool")
        elif kind.endswith("_call"):
            spoken.append("assistant")
        elif kind == "message":
            spoken.append(item.get("role", ""))
        elif kind == "additional_tools":
            tools = tools or bool(item.get("tools"))
    return Request(_spoken(spoken, "assistant"), tools, tuple(results))


def _item(name: str, call: Call) -> Json:
    shared = {"id": f"fc_{name}", "call_id": name, "name": call.tool, "status": "completed"}
    if isinstance(call.args, str):
        return {**shared, "type": "custom_tool_call", "input": call.args}
    return {**shared, "type": "function_call", "arguments": json.dumps(call.args)}


def _whole_response(request: Request, turn: Turn) -> Json:
    part = {"type": "output_text", "text": turn.text, "annotations": []}
    said = {
        "type": "message",
        "id": f"msg_{request.turn}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {
        "id": f"resp_{request.turn}",
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "status": "completed",
        "error": None,
        "output": [*([said] if turn.text else []), *(_item(name, call) for name, call in _ids(request, turn))],
        "usage": {
            "input_tokens": TOKENS[0],
            "output_tokens": TOKENS[1],
            "total_tokens": sum(TOKENS),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _stream_response(request: Request, turn: Turn) -> Iterator[Json]:
    whole = _whole_response(request, turn)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": started}
    for at, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "status": "in_progress"}}
        if item["type"] == "message":
            where = {"item_id": item["id"], "output_index": at, "content_index": 0}
            yield {"type": "response.output_text.delta", **where, "delta": turn.text}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": whole}


# contents, with parts


def _read_contents(body: Json) -> Request:
    contents = body.get("contents", ())
    parts = [part for content in contents for part in content.get("parts") or ()]
    results = [json.dumps(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]
    roles = (content.get("role", "") for content in contents)
    return Request(_spoken(roles, "model"), bool(body.get("tools")), tuple(results))


def _whole_candidate(request: Request, turn: Turn) -> Json:
    calls = [
        {"functionCall": {"name": call.tool, "args": call.args, "id": name}, "thoughtSignature": "ZmFrZQ=="}
        for name, call in _ids(request, turn)
    ]
    said = [{"text": turn.text}] if turn.text or not calls else []
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [*said, *calls]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": TOKENS[0],
            "candidatesTokenCount": TOKENS[1],
            "totalTokenCount": sum(TOKENS),
        },
        "modelVersion": MODEL,
        "responseId": f"r{request.turn}",
    }


def _stream_candidate(request: Request, turn: Turn) -> Iterator[Json]:
    yield _whole_candidate(request, turn)


# chat, with choices


def _read_chat(body: Json) -> Request:
    messages = body.get("messages", ())
    results = [_plain(message.get("content")) for message in messages if message["role"] == "tool"]
    roles = (message["role"] for message in messages)
    return Request(_spoken(roles, "assistant"), bool(body.get("tools")), tuple(results))


def _whole_choice(request: Request, turn: Turn) -> Json:
    calls = [
        {"id": name, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.args)}}
        for name, call in _ids(request, turn)
    ]
    message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    return {
        "id": f"chat_{request.turn}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": TOKENS[0], "completion_tokens": TOKENS[1], "total_tokens": sum(TOKENS)},
    }


def _stream_choice(request: Request, turn: Turn) -> Iterator[Json]:
    whole = _whole_choice(request, turn)
    (choice,) = whole["choices"]
    calls = [{"index": at, **call} for at, call in enumerate(choice["message"].pop("tool_calls", ()))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    chunk = {**whole, "object": "chat.completion.chunk"}
    usage = chunk.pop("usage")
    yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**chunk, "choices": [], "usage": usage}


SPEECHES: Final = (
    Speech("/messages", _read_messages, _stream_message, _whole_message, named=True),
    Speech("/responses", _read_items, _stream_response, _whole_response, named=True),
    Speech("enerateContent", _read_contents, _stream_candidate, _whole_candidate),
    Speech("/chat/completions", _read_chat, _stream_choice, _whole_choice, done="[DONE]"),
)
