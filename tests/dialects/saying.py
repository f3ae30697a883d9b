"""Short ways to let an agent speak and to hear what it is answered."""

import json
from pathlib import Path

from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.model.event import Event
from hookline.model.exchange import Answer, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Outcome, Verdict

Plain = dict[str, object]

HOOK = Hook(id="guard", command="guard")
PAYLOADS = Path(__file__).parent / "payloads"


def payload(agent: str, name: str) -> Plain:
    """Give a document of an agent."""
    document: Plain = json.loads((PAYLOADS / agent / f"{name}.json").read_bytes())
    return document


def heard(agent: str, document: Plain, name: str = "") -> Event:
    """Let an agent say a document."""
    return DIALECTS[agent].decode_event(json.dumps(document).encode(), name)


def event_of(agent: str, name: str) -> Event:
    """Give the event of one of an agent's documents."""
    return heard(agent, payload(agent, name), name.partition(".")[0])


def told(agent: str, event: Event, native_event: str = "") -> Plain:
    """Say an event to a hook of an agent."""
    hook = Hook(id="guard", command="guard", native_event=native_event)
    document = DIALECTS[agent].encode_event(event, hook).document
    assert isinstance(document, dict)
    return document


def answered(agent: str, outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to an agent as the engine does: as far as the agent can carry it."""
    return DIALECTS[agent].encode_outcome(degrade(outcome, event, DIALECTS[agent].SPEC.able(event)), event)


def verdict(
    agent: str, event: Event, *, answer: Plain | str = "", stderr: str = "", code: int = 0, on: str = ""
) -> Verdict:
    """Let a hook of an agent answer."""
    hook = Hook(id="guard", command="guard", native_event=on)
    stdout = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
    reply = Reply(stdout=stdout, stderr=stderr.encode(), exit_code=code)
    return DIALECTS[agent].decode_reply(reply, DIALECTS[agent].encode_event(event, hook))
