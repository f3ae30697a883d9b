"""A hook reads results in the shape of its own agent, whoever ran the tool."""

import json

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._tools import result_text
from hookline.model.event import Event, EventName
from hookline.model.verdict import Outcome
from tests.dialects.agents import HOOK, Plain

STREAMS = {"stdout": "out", "stderr": "", "interrupted": False, "isImage": False}
RESULTS: list[tuple[str, object]] = [
    ("claude-code", {"stdout": "out", "stderr": ""}),
    ("codex-cli", "out"),
    ("qwen-code", {"llmContent": [{"text": "out"}], "returnDisplay": "out"}),
    ("kiro", "out"),
]


def told(dialect: str, host: str, result: object, tool: str = "shell") -> Plain:
    event = Event(
        name=EventName.AFTER_TOOL, tool=tool, args={"command": "ls"}, data={"result": result}, host=host, cwd="/project"
    )
    document: Plain = json.loads(DIALECTS[dialect].encode_event(event, HOOK).body)
    return document


@pytest.mark.parametrize(("host", "result"), RESULTS)
def test_what_a_command_printed_is_where_a_hook_looks_for_it(host: str, result: object) -> None:
    if host != "claude-code":
        assert told("claude-code", host, result)["tool_response"] == STREAMS
    if host != "qwen-code":
        assert told("qwen-code", host, result)["tool_response"] == {"llmContent": "out", "returnDisplay": "out"}
    assert told("codex-cli", host, result)["tool_response"] == "out"
    assert told("gemini-cli", host, result)["tool_response"] == {"llmContent": "out"}
    assert told("copilot-cli", host, result)["toolResult"] == {"textResultForLlm": "out"}
    assert told("opencode", host, result)["output"] == {"output": "out"}


@pytest.mark.parametrize(("host", "result"), RESULTS)
def test_an_agents_own_hooks_get_its_result_as_it_said_it(host: str, result: object) -> None:
    if host != "kiro":
        assert told(host, host, result)["tool_response"] == result


def test_results_of_other_tools_stay_what_they_are_to_hooks_with_a_place_for_them() -> None:
    assert told("claude-code", "codex-cli", "done", tool="write_file")["tool_response"] == "done"
    assert told("claude-code", "", "out")["tool_response"] == "out"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("a", "a"),
        ({"stdout": "a", "stderr": "b"}, "a\nb"),
        ({"stdout": "", "stderr": "b"}, "b"),
        ({"stdout": 5}, '{"stdout":5}'),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"text": "b"}], "a\nb"),
        ([{"type": "image"}], '[{"type":"image"}]'),
        ({"content": [{"text": "a"}]}, "a"),
        ({"llmContent": {"stdout": "a"}}, "a"),
        ([], "[]"),
        (None, "null"),
    ],
)
def test_a_result_to_text(result: object, text: str) -> None:
    assert result_text(result) == text


def test_another_result_in_streams_reaches_agents_with_texts_as_its_text() -> None:
    event = Event(name=EventName.AFTER_TOOL, tool="shell", data={"result": "key"}, host="codex-cli")
    answer = DIALECTS["codex-cli"].encode_outcome(Outcome(output={**STREAMS, "stdout": "[hidden]"}), event)

    assert json.loads(answer.stdout) == {"continue": False, "stopReason": "[hidden]"}
