"""Short words for tests of agents' dialects: an event as an agent says it, a hook's answer, and the bytes of ours."""

import json

from hookline.engine.degrade import degrade
from hookline.model.event import Event
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from hookline.ports import Dialect

Plain = dict[str, object]

HOOK = Hook(id="guard", command="guard")

PASS = Outcome()
ALLOW = Outcome(decision=Decision.ALLOW, reasons=("fine",))
ASK = Outcome(decision=Decision.ASK, reasons=("sure?",))
DENY = Outcome(decision=Decision.DENY, reasons=("no",))
STOP = Outcome(decision=Decision.STOP, reasons=("halt",))
SILENT_DENY = Outcome(decision=Decision.DENY)


def said(*effects: Effect, decision: Decision = Decision.PASS, reason: str = "") -> Outcome:
    """An outcome with effects."""
    return Outcome(decision=decision, reasons=(reason,) if reason else (), effects=effects)


CONTEXT = said(Effect(EffectKind.CONTEXT, "mind this"), Effect(EffectKind.CONTEXT, "and that"))
MESSAGE = said(Effect(EffectKind.MESSAGE, "hello"))
FOLLOW_UP = said(Effect(EffectKind.ASK_AGENT, "run the tests"))


def rewrite(event: Event, **args: object) -> Outcome:
    """An outcome in which a hook changed arguments."""
    return Outcome(args={**event.args, **args})


def heard(dialect: Dialect, document: object, name: str = "") -> Event:
    """The event that an agent's document is."""
    return dialect.decode_event(json.dumps(document).encode(), name)


def told(dialect: Dialect, event: Event) -> Plain:
    """The document that a hook of the dialect reads."""
    document = json.loads(dialect.encode_event(event, HOOK).body)
    assert isinstance(document, dict)
    return document


def answer(dialect: Dialect, outcome: Outcome, event: Event) -> object:
    """What the agent is answered, checked to be its usual way: exit code 0, nothing on stderr, one line or nothing."""
    given = dialect.encode_outcome(outcome, event)
    assert (given.exit_code, given.stderr) == (0, b"")
    assert given.stdout == b"" or given.stdout.endswith(b"\n")
    return json.loads(given.stdout) if given.stdout else None


def fitted(dialect: Dialect, outcome: Outcome, event: Event) -> object:
    """What the agent is answered after the engine made the outcome one that it can carry."""
    return answer(dialect, degrade(outcome, event, dialect.SPEC.able(event)), event)


def verdict(dialect: Dialect, event: Event, stdout: object = "", *, stderr: str = "", code: int = 0) -> Verdict:
    """What a hook meant by what it printed; an object is printed as JSON."""
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    reply = Reply(stdout=text.encode(), stderr=stderr.encode(), exit_code=code)
    return dialect.decode_reply(reply, dialect.encode_event(event, HOOK))
