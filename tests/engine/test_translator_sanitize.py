"""What hooks say is sanitised, masked and cut in one place, and every door passes on only that."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from hookline import Engine, Event, EventName, Hook, Outcome, Source
from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.engine.translator import LONGEST_CONTEXT, LONGEST_MESSAGE, LONGEST_REASON

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, cwd="/p")
TOKEN = "ghp_" + "a1B2" * 9
BAD = f"\x1b[35mred\u202e\u200b {TOKEN} \x07"
HIDDEN = ("\x1b", "\\u001b", "\u202e", "\u200b", "\x07", "\\u0007", TOKEN)


def emit(folder: Path, answer: object, event: str = "before_tool", **changes: object) -> Outcome:
    """Let a real program print an answer in our own words."""
    program = folder / "hook.py"
    program.write_text(f"print({json.dumps(answer)!r})")
    fields: dict[str, object] = {"id": "h", "source": Source.USER, "on": (event,), **changes}
    hook = Hook(command=sys.executable, args=("-S", str(program)), **fields)  # type: ignore[arg-type]

    async def scenario() -> Outcome:
        async with Engine() as engine:
            engine.add(hook)
            return await engine.emit(event, tool="shell" if "tool" in event else "", args={"command": "ls"})

    return asyncio.run(scenario())


def is_clean(text: str) -> bool:
    return not any(mark in text for mark in HIDDEN)


@pytest.mark.spec("P-19")
@pytest.mark.parametrize("agent", sorted(name for name in DIALECTS if DIALECTS[name].SPEC.abilities))
@pytest.mark.parametrize("decision", ["pass", "allow", "ask", "deny", "stop"])
def test_bytes_for_agents_hold_no_escapes_marks_and_secrets(agent: str, decision: str, tmp_path: Path) -> None:
    said = {"decision": decision, "reason": BAD, "context": BAD, "message": BAD, "ask_agent": BAD}
    outcome = emit(tmp_path, said)
    dialect = DIALECTS[agent]
    native = dialect.SPEC.events[EventName.BEFORE_TOOL]
    event = dialect.decode_event(dialect.encode_event(CALL, Hook(id="x", command="x")).body, native)
    answer = dialect.encode_outcome(degrade(outcome, event, dialect.SPEC.able(event)), event)
    lines = answer.stdout.decode().splitlines()
    read = [json.dumps(json.loads(line), ensure_ascii=False) if line.startswith("{") else line for line in lines]

    assert is_clean("".join(read) + answer.stderr.decode())


@pytest.mark.spec("P-19")
@pytest.mark.parametrize(
    ("answer", "longest"),
    [
        ({"message": "x" * 50_000}, LONGEST_MESSAGE),
        ({"context": "x" * 50_000}, LONGEST_CONTEXT),
        ({"ask_agent": "x" * 50_000}, LONGEST_CONTEXT),
        ({"decision": "deny", "reason": "x" * 50_000}, LONGEST_REASON),
    ],
)
def test_long_text_of_a_hook_is_cut_with_a_note(answer: object, longest: int, tmp_path: Path) -> None:
    outcome = emit(tmp_path, answer)
    [text] = [*outcome.messages, *outcome.context, *outcome.follow_ups, *outcome.reasons]

    assert text == "x" * longest + "… (50000 characters)"


@pytest.mark.spec("P-19")
def test_failure_is_told_without_escapes_and_secrets(tmp_path: Path) -> None:
    outcome = emit(tmp_path, {"decision": BAD})

    [verdict] = outcome.failures
    assert verdict.failure is not None
    assert is_clean(verdict.failure.message)


def test_changed_arguments_and_outputs_are_data_and_stay_as_they_are(tmp_path: Path) -> None:
    changed = emit(tmp_path, {"args": {"command": BAD}})
    assert changed.args == {"command": BAD}

    given = emit(tmp_path, {"output": BAD}, "after_tool")
    assert given.output == BAD


def test_context_keeps_its_tabs_and_lines(tmp_path: Path) -> None:
    assert emit(tmp_path, {"context": "all:\n\tmake\n"}).context == ("all:\n\tmake\n",)


def test_context_of_a_persons_own_hook_is_passed_on_as_it_is(tmp_path: Path) -> None:
    assert emit(tmp_path, {"context": "mind this"}).context == ("mind this",)
