import json

from hookline import json_codec
from hookline.model.event import Ability, Degradation
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Skip
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict, outcome_to_json


def test_an_outcome_that_says_nothing_has_every_key() -> None:
    assert outcome_to_json(Outcome()) == {
        "decision": "pass",
        "blocked": False,
        "reasons": (),
        "context": (),
        "messages": (),
        "follow_ups": (),
        "args": None,
        "output": None,
        "hooks": [],
        "skipped": [],
        "losses": [],
        "trace": None,
        "duration": 0.0,
    }


def test_what_an_agent_cannot_carry_is_described() -> None:
    loss = Degradation(Ability.ASK, Ability.BLOCK, "it cannot ask")
    assert outcome_to_json(Outcome(losses=(loss,)))["losses"] == [
        {"wanted": "ask", "became": "block", "message": "it cannot ask"}
    ]


def test_each_hook_is_described_with_what_it_said_and_what_became_of_it() -> None:
    failed = Verdict(hook="a", failure=Failure(kind=FailureKind.TIMEOUT, message="too slow"), duration=1.0)
    skip = Skip(Hook(id="c", kind="function"), Gate.TRUST, "never approved")
    outcome = Outcome(
        decision=Decision.DENY,
        reasons=("no",),
        effects=(Effect(EffectKind.MESSAGE, "hello"),),
        args={"command": "ls"},
        output="x",
        verdicts=(
            failed,
            Verdict(
                hook="b", decision=Decision.DENY, reason="no", observed=True, notes=("odd",), cached=True, job="j-1"
            ),
        ),
        skipped=(skip,),
        trace="t",
    )

    found = json.loads(json_codec.dump(outcome_to_json(outcome)))

    assert (found["decision"], found["blocked"], found["messages"]) == ("deny", True, ["hello"])
    assert (found["args"], found["output"], found["trace"]) == ({"command": "ls"}, "x", "t")
    assert found["skipped"] == [{"id": "c", "gate": "trust", "reason": "never approved"}]
    first, second = found["hooks"]
    assert first["failure"] == {"kind": "timeout", "message": "too slow"}
    assert (second["verdict"], second["reason"], second["observed"], second["notes"]) == ("deny", "no", True, ["odd"])
    assert (second["cached"], second["job"]) == (True, "j-1")
