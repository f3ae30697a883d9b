"""Schemas of events and answers, against what agents sent and what agents are answered."""

import json
from pathlib import Path

import jsonschema
import pytest

from hookline.debug.message_schemas import answer_schema, event_schema
from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.model.event import EventName
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.testing import event as build_event

pytestmark = pytest.mark.spec("U-19")

FILES = sorted((Path(__file__).parents[1] / "dialects" / "payloads").glob("*/*.json"))
AGENTS = {path.parent.name: next(n for n in DIALECTS if n.split("-")[0] == path.parent.name) for path in FILES}
# a result that comes later, without the call, in the words of a document
WITHOUT_CALL = "postToolUse.deferred.json"
PASCAL = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}
PAIRS = [
    (name, event)
    for name, dialect in DIALECTS.items()
    for event in EventName
    if not dialect.SPEC.is_agent or event in dialect.SPEC.events
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recorded_payload_is_valid_and_is_not_with_a_wrong_type(path: Path) -> None:
    dialect = AGENTS[path.parent.name]
    native = path.name.partition(".")[0]
    if ".PascalCase" in path.name:
        native = PASCAL.get(native, native[0].upper() + native[1:])
    document = json.loads(path.read_bytes())
    event = DIALECTS[dialect].decode_event(path.read_bytes(), native)
    is_special = event.name is EventName.CUSTOM or ".PascalCase" in path.name
    schema = event_schema(event.name, dialect, native if is_special else "")
    validator = jsonschema.Draft202012Validator(schema)

    if path.name != WITHOUT_CALL:
        assert [error.message for error in validator.iter_errors(document)] == []
    required = schema.get("required")
    for key in required if isinstance(required, list) else ():
        assert not validator.is_valid({**document, key: 12.5 if not isinstance(document.get(key), int) else "text"}), (
            key
        )


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_schemas_are_schemas_and_every_answer_is_valid(dialect: str, name: EventName) -> None:
    module = DIALECTS[dialect]
    jsonschema.Draft202012Validator.check_schema(event_schema(name, dialect))
    schema = answer_schema(name, dialect)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    event = build_event(name, agent=dialect, cwd="/work")
    effects = (Effect(EffectKind.CONTEXT, "mind this"), Effect(EffectKind.MESSAGE, "hello"))
    for decision in Decision:
        for added in ((), effects):
            outcome = Outcome(decision=decision, reasons=("why",), effects=added)
            answer = module.encode_outcome(degrade(outcome, event, module.SPEC.able(event)), event)
            # Kiro reads plain text at some events
            for line in filter(lambda line: line.startswith(b"{"), answer.stdout.splitlines()):
                assert [error.message for error in validator.iter_errors(json.loads(line))] == []


def test_tool_decides_about_the_arguments() -> None:
    validator = jsonschema.Draft202012Validator(event_schema(EventName.BEFORE_TOOL, "claude-code"))
    call = {"session_id": "1", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash"}

    assert validator.is_valid({**call, "tool_input": {"command": "ls"}})
    assert not validator.is_valid({**call, "tool_input": {"command": 1}})
    assert not validator.is_valid({**call, "hook_event_name": "Stop", "tool_input": {}})


def test_answer_with_an_unknown_decision_is_invalid() -> None:
    validator = jsonschema.Draft202012Validator(answer_schema(EventName.BEFORE_TOOL, "claude-code"))

    assert validator.is_valid({"hookSpecificOutput": {"permissionDecision": "deny"}})
    assert not validator.is_valid({"hookSpecificOutput": {"permissionDecision": "denied"}})
