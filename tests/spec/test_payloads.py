"""What real agents sent: every recorded document is understood, and said again in the same words.

The folders are called as people call the agents; a file's name begins with the event's, for agents that do not write it
into the document.
"""

import json
from pathlib import Path

from hookline.dialects import DIALECTS
from hookline.model.event import EventName
from hookline.model.hook import Hook
from hookline.ports import Dialect
from tests.helpers.each import each

HOOK = Hook(id="guard", command="guard")
FILES = sorted((Path(__file__).parents[1] / "dialects" / "payloads").glob("*/*.json"))
BY_WORD = {word: dialect for name, dialect in DIALECTS.items() for word in (name, *dialect.SPEC.aliases)}

every_payload = each("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")


def opened(file: Path) -> tuple[Dialect, str, bytes]:
    dialect = BY_WORD[file.parent.name]
    # one agent has dots in the names of its events
    dotted = (name for name in dialect.SPEC.abilities if "." in name and f"{file.stem}.".startswith(f"{name}."))
    return dialect, next(dotted, file.stem.partition(".")[0]), file.read_bytes()


def test_there_are_recordings_of_the_agents_that_were_run() -> None:
    assert {"claude", "codex", "qwen"} <= {file.parent.name for file in FILES}


@every_payload
def test_recorded_payload_decodes_and_reencodes_to_the_same_json(file: Path) -> None:
    dialect, native, raw = opened(file)
    event = dialect.decode_event(raw, native)

    assert json.loads(dialect.encode_event(event, HOOK).body) == json.loads(raw)


@every_payload
def test_recorded_payload_is_the_event_its_agent_means(file: Path) -> None:
    dialect, native, raw = opened(file)
    event = dialect.decode_event(raw, native)
    canonical = {theirs: name for name, theirs in reversed(list(dialect.SPEC.events.items()))}
    canonical.update(getattr(dialect.SPEC, "more_events", {}))

    assert event.host == dialect.SPEC.name
    assert event.name is canonical.get(native, EventName.CUSTOM) or "continued" in file.stem
    assert dialect.SPEC.native(event) == native


@every_payload
def test_every_recorded_tool_call_has_a_canonical_tool(file: Path) -> None:
    dialect, native, raw = opened(file)
    event = dialect.decode_event(raw, native)
    if event.name not in {EventName.BEFORE_TOOL, EventName.AFTER_TOOL}:
        return

    known = {tool for one in DIALECTS.values() for tool in one.SPEC.tools}
    assert event.tool in known or event.tool.startswith("mcp__")
    assert event.native_args == json.loads(raw).get("tool_input", event.native_args)
