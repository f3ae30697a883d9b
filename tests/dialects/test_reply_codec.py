import pytest

from hookline import json_codec
from hookline.dialects import DIALECTS
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Verdict

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})


def read(dialect: str, document: object) -> Verdict:
    codec = DIALECTS[dialect]
    request = codec.encode_event(CALL, Hook(id="h", command="x", dialect=dialect))
    return codec.decode_reply(Reply(stdout=json_codec.dump(document)), request)


def result(**fields: object) -> object:
    return {"jsonrpc": "2.0", "result": fields, "id": 1}


@pytest.mark.parametrize(
    ("dialect", "document", "decision"),
    [
        ("ollm-protocol", {"allow": False, "message": 7}, Decision.DENY),
        ("ollm", {"continue": False, "data": ["x"]}, Decision.DENY),
        ("ollm-rpc", result(action="block", metadata="x"), Decision.DENY),
        ("ollm-rpc", result(action="block", reason=1), Decision.DENY),
        ("ollm-rpc", result(action="ask", reason=1), Decision.ASK),
        ("ollama-cli", {"permissionDecision": "deny", "reason": {"rule": 7}}, Decision.DENY),
        ("ollama-cli", {"permissionDecision": "ask", "data": 1}, Decision.ASK),
        ("ollama-cli", {"continue": False, "stopReason": 5}, Decision.STOP),
        ("cli-agent", {"decision": "block", "reason": ["a"]}, Decision.DENY),
        ("cli-agent", {"continue": False, "decision": "reject"}, Decision.DENY),
        ("cli-agent", {"hookSpecificOutput": {"permissionDecision": "deny"}, "metadata": 1}, Decision.DENY),
        ("hookline", {"decision": "deny", "context": {"a": 1}}, Decision.DENY),
        ("hookline", {"decision": "stop", "reason": 1}, Decision.STOP),
    ],
)
def test_no_with_a_mistake_beside_it_stays_a_no(dialect: str, document: object, decision: Decision) -> None:
    verdict = read(dialect, document)

    assert verdict.decision is decision
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.INVALID_REPLY


@pytest.mark.parametrize(
    ("dialect", "document"),
    [
        ("ollm-protocol", {"allow": True, "metadata": {"modifiedArgs": "ls"}}),
        ("ollm", {"continue": True, "data": {"args": 1}}),
        ("ollm-rpc", result(action="continue", modifiedArgs=1)),
        ("ollama-cli", {"updatedInput": "ls"}),
        ("cli-agent", {"decision": "modify", "modified_args": "ls"}),
        ("cli-agent", {"hookSpecificOutput": {"updatedInput": 1}}),
        ("hookline", {"args": 1}),
    ],
)
def test_change_that_cannot_be_read_does_not_let_the_unchanged_call_through(dialect: str, document: object) -> None:
    verdict = read(dialect, document)

    assert verdict.decision is Decision.DENY
    assert verdict.failure is not None


# hooks of Windsurf and Kiro answer with an exit code, and no document of theirs means anything
@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"windsurf", "kiro"}))
def test_denial_with_a_number_that_is_none_is_a_denial(dialect: str) -> None:
    codec = DIALECTS[dialect]
    request = codec.encode_event(CALL, Hook(id="h", command="x", dialect=dialect))
    fields = '"allow": false, "continue": false, "decision": "deny", "permissionDecision": "deny", "action": "block"'
    fields += ', "cancel": true'
    body = f'{{"jsonrpc": "2.0", "id": 1, "result": {{{fields}}}, {fields}, "score": NaN}}'

    assert codec.decode_reply(Reply(stdout=body.encode()), request).decision >= Decision.DENY
