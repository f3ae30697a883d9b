"""The two forms of Copilot CLI's documents: keys in camelCase, and in snake_case with an event's name."""

from collections.abc import Mapping
from typing import Final

RESULT: Final = "toolResult"
# the other form's keys: what differs is spelled with underscores there, and a subagent's answer has a name of its own
SNAKE: Final[Mapping[str, str]] = {
    "session_id": "sessionId",
    "tool_name": "toolName",
    "tool_input": "toolArgs",
    "tool_result": RESULT,
    "initial_prompt": "initialPrompt",
    "transcript_path": "transcriptPath",
    "stop_reason": "stopReason",
    "agent_id": "agentId",
    "agent_type": "agentType",
    "agent_name": "agentName",
    "agent_display_name": "agentDisplayName",
    "agent_description": "agentDescription",
    "last_assistant_message": "response",
    "custom_instructions": "customInstructions",
    "error_context": "errorContext",
    "result_type": "resultType",
    "text_result_for_llm": "textResultForLlm",
}
CAMELS: Final[Mapping[str, str]] = {camel: snake for snake, camel in SNAKE.items()}


def respelled(document: Mapping[str, object], keys: Mapping[str, str]) -> dict[str, object]:
    """Give a document in the other form; arguments are the tool's own and stay as they are."""
    spelled: dict[str, object] = {keys.get(key, key): value for key, value in document.items()}
    for key in (RESULT, "tool_result"):
        if isinstance(part := spelled.get(key), dict):
            spelled[key] = {keys.get(name, name): value for name, value in part.items()}
    return spelled
