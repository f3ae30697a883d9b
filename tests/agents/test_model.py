"""The scripted model, asked as each agent asks it."""

import http.client
import json
from typing import Any

import pytest

from tests.agents.model import Conversation, speaking
from tests.agents.speech import Call, Turn

TURNS = [Turn("I look.", [Call("look", {"at": "it"})]), Turn("I saw it.")]

# how each of the four asks first, and again with the tool's result
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "messages": (
        "/v1/messages",
        {"messages": [{"role": "user", "content": "go"}], "tools": [{"name": "look"}]},
        {
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "call_0_0", "name": "look", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "a cat"}]}]},
            ],
            "tools": [{"name": "look"}],
        },
    ),
    "responses": (
        "/v1/responses",
        {"input": [{"type": "message", "role": "user", "content": []}], "tools": [{"name": "look"}]},
        {
            "input": [
                {"type": "message", "role": "user", "content": []},
                {"type": "message", "role": "assistant", "content": []},
                {"type": "function_call", "call_id": "call_0_0", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_0_0", "output": "a cat"},
            ],
            "tools": [{"name": "look"}],
        },
    ),
    "contents": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "go"}]}], "tools": [{"functionDeclarations": []}]},
        {
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "a cat"}}}]},
            ],
            "tools": [{"functionDeclarations": []}],
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {"messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "go"}], "tools": [{}]},
        {
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": [{}]},
                {"role": "tool", "content": "a cat"},
            ],
            "tools": [{}],
        },
    ),
}


def ask(port: int, path: str, body: dict[str, Any]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("way", ASKED)
@pytest.mark.parametrize("streamed", [False, True])
def test_the_next_turn_follows_from_what_was_said_before(way: str, *, streamed: bool) -> None:
    path, first, second = ASKED[way]
    path = path.replace(":generate", ":streamGenerate") if streamed else path
    conversation = Conversation(TURNS)
    with speaking(conversation) as port:
        one, two = (ask(port, path, {**body, "stream": streamed}) for body in (first, second))

    assert "I look." in one
    assert "look" in one.replace("I look.", "")
    assert "call_0_0" in one
    assert "I saw it." in two
    assert [result for result in conversation.results if "a cat" in result] == conversation.results
    assert len(conversation.bodies) == 2


@pytest.mark.parametrize("way", ASKED)
def test_a_request_without_tools_is_an_aside(way: str) -> None:
    path, first, _ = ASKED[way]
    with speaking(Conversation(TURNS)) as port:
        said = ask(port, path, {key: value for key, value in first.items() if key != "tools"})

    assert "ok" in said
    assert "I look." not in said


def test_a_script_that_is_over_makes_no_more_calls() -> None:
    path, _, second = ASKED["chat"]
    with speaking(Conversation(TURNS[:1])) as port:
        said = json.loads(ask(port, path, second))

    assert said["choices"][0]["message"] == {"role": "assistant", "content": "I look."}


def test_text_for_arguments_makes_a_free_form_call() -> None:
    path, first, _ = ASKED["responses"]
    with speaking(Conversation([Turn(calls=[Call("patch", "*** Begin")])])) as port:
        (item,) = json.loads(ask(port, path, first))["output"]

    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin")


def test_counts_are_made_up_and_anything_else_is_not_there() -> None:
    with speaking(Conversation(TURNS)) as port:
        assert json.loads(ask(port, "/v1/messages/count_tokens", {}))["input_tokens"] == 10
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/telemetry", "{}")
        assert connection.getresponse().status == 404
        connection.close()
