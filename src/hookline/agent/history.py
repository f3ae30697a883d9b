"""The messages of a conversation: as hooks see them, as they are stored, and which of them a summary replaces."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

_CHARACTERS_PER_TOKEN: Final = 4


def describe_messages(messages: Sequence[ModelMessage]) -> list[dict[str, object]]:
    """Return messages as hooks see them: a role, a text, and the calls of tools."""
    described: list[dict[str, object]] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                described.append({"role": "user", "content": _to_text(part.content)})
            elif isinstance(part, TextPart):
                described.append({"role": "assistant", "content": part.content})
            elif isinstance(part, ToolCallPart):
                described.append({"role": "assistant", "tool": part.tool_name, "args": part.args_as_dict()})
            elif isinstance(part, ToolReturnPart):
                described.append({"role": "tool", "tool": part.tool_name, "content": _to_text(part.content)})
    return described


def estimate_tokens(messages: Sequence[ModelMessage]) -> int:
    """Estimate how many tokens messages take."""
    return len(json.dumps(describe_messages(messages), ensure_ascii=False)) // _CHARACTERS_PER_TOKEN


def split_history(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], list[ModelMessage]]:
    """Return the messages that a summary may replace, and those that the model is working on.

    The result of a tool stays together with its call: a model refuses one without the other.
    """
    at = max(0, len(messages) - 1)
    if at and any(isinstance(part, ToolReturnPart) for part in messages[at].parts):
        at -= 1
    return list(messages[:at]), list(messages[at:])


def drop_unfinished(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return messages without calls of tools at their end that have no result: a model refuses such a history."""
    is_open = messages and any(isinstance(part, ToolCallPart) for part in messages[-1].parts)
    return list(messages[:-1] if is_open else messages)


def make_prompt(text: str) -> ModelRequest:
    """Return a message of the user."""
    return ModelRequest(parts=[UserPromptPart(text)])


def save_messages(path: Path, messages: Sequence[ModelMessage]) -> None:
    """Write messages to a file that only the user can read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_bytes(ModelMessagesTypeAdapter.dump_json(list(messages), indent=1))


def load_messages(path: Path) -> list[ModelMessage]:
    """Read the messages of a file that `save_messages` wrote."""
    return ModelMessagesTypeAdapter.validate_json(path.read_bytes())


def _to_text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
