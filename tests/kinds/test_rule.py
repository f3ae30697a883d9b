"""Constant answers: deny, confirm, allow, tell and context, with values of the event filled in and no program."""

import asyncio
from pathlib import Path

import pytest

from hookline import Decision, Engine, Hook, Question, Source
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.kinds.rule import Rule
from hookline.model.hook import ACTIONS, OnError, describe_actions
from hookline.model.verdict import Outcome


def emit(*hooks: Hook, command: str = "git push --force", event: str = "before_tool") -> Outcome:
    engine = Engine()
    engine.add(*hooks)
    outcome = engine.emit_sync(event, tool="shell", args={"command": command})
    engine.close_sync()
    return outcome


def rule(**fields: object) -> Hook:
    return Hook(**{"id": "r", "on": "before_tool", "source": Source.USER, **fields})  # type: ignore[arg-type]


@pytest.mark.spec("U-02")
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("action", "decision"), [("deny", Decision.DENY), ("confirm", Decision.DENY), ("allow", Decision.ALLOW)]
)
def test_decision_holds_with_its_words_whatever_the_dialect(dialect: str, action: str, decision: Decision) -> None:
    outcome = emit(rule(**{action: "because of {{args.command}}"}, dialect=dialect))

    assert outcome.decision is decision
    assert outcome.reasons[0] == "because of git push --force"
    assert outcome.failures == ()


@pytest.mark.spec("U-02")
def test_question_of_a_rule_is_put_to_the_person() -> None:
    asked: list[tuple[str, ...]] = []

    def say_yes(question: Question) -> bool:
        asked.append(question.reasons)
        return True

    engine = Engine(ask=say_yes)
    engine.add(rule(confirm="Publish {{args.command}}?"))

    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "npm publish"})
    engine.close_sync()

    assert asked == [("Publish npm publish?",)]
    assert not outcome.blocked


@pytest.mark.spec("U-02")
def test_person_and_model_are_told_beside_a_decision() -> None:
    outcome = emit(rule(deny="no", tell="stopped {{tool}}", context="Push without --force."))

    assert outcome.decision is Decision.DENY
    assert outcome.messages == ("stopped shell",)
    assert outcome.context == ("Push without --force.",)


def test_person_and_model_are_told_without_a_decision() -> None:
    outcome = emit(rule(on="after_tool", tell="a", context="b"), event="after_tool")

    assert (outcome.decision, outcome.messages, outcome.context) == (Decision.PASS, ("a",), ("b",))


@pytest.mark.spec("U-02")
def test_effects_of_the_call_are_filled_in() -> None:
    outcome = emit(rule(deny="it writes {{effects.writes}}"), command="echo x > /etc/hosts")

    assert outcome.reasons == ('it writes ["/etc/hosts"]',)


def test_name_that_the_event_does_not_have_stays_and_is_noted() -> None:
    outcome = emit(rule(deny="no {{nothing.here}}"))

    assert outcome.reasons == ("no {{nothing.here}}",)
    assert outcome.verdicts[0].notes == ("{{nothing.here}} is no value of this event and stays as it is",)


@pytest.mark.parametrize(
    ("action", "reasons"),
    [
        ("deny", ('the rule "r" does not allow this',)),
        (
            "confirm",
            ('the rule "r" asks you to confirm this', "a person has to decide, and there was no way to ask one"),
        ),
        ("allow", ()),
    ],
)
def test_decision_needs_no_words(action: str, reasons: tuple[str, ...]) -> None:
    assert emit(rule(**{action: True})).reasons == reasons


def test_yes_of_a_rule_does_not_widen_a_no() -> None:
    assert emit(rule(allow=True), rule(id="s", deny="no")).decision is Decision.DENY
    assert emit(rule(id="s", deny="no", priority=300), rule(allow=True)).decision is Decision.DENY


@pytest.mark.spec("U-02")
@pytest.mark.parametrize("action", ACTIONS)
def test_rule_that_nobody_approved_says_nothing(action: str) -> None:
    outcome = emit(Hook(id="r", on="before_tool", root="/p", **{action: "x"}))  # type: ignore[arg-type]

    assert (outcome.decision, outcome.effects) == (Decision.PASS, ())
    assert "approved" in outcome.skipped[0].reason


@pytest.mark.parametrize("fields", [{"deny": "a", "confirm": "b"}, {"deny": "a", "allow": True}])
def test_rule_decides_one_thing(fields: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="only one of deny, confirm, allow"):
        rule(**fields)


@pytest.mark.parametrize("fields", [{"command": "x"}, {"module": "m"}, {"prompt": "p"}, {"url": "http://x"}])
def test_rule_runs_no_program_beside_its_answer(fields: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"exactly one of .* it has .* and deny"):
        rule(deny="no", **fields)


def test_rule_that_stops_something_fails_closed() -> None:
    assert rule(deny="a").on_error is OnError.BLOCK
    assert rule(confirm="a").on_error is OnError.BLOCK
    assert rule(tell="a").on_error is None
    assert rule(deny="a", on_error="continue").on_error is OnError.CONTINUE


@pytest.mark.parametrize(
    ("condition", "decision"),
    [
        ('args.path.endsWith(".env")', Decision.PASS),
        ('prompt.contains("x")', Decision.PASS),
        ('args.command.contains("push")', Decision.DENY),
        ("args.command > 5", Decision.DENY),
    ],
)
def test_rule_is_not_about_events_without_the_value_it_asks_for(condition: str, decision: Decision) -> None:
    assert emit(rule(deny="no", condition=condition)).decision is decision


def test_rule_without_an_answer_is_refused() -> None:
    assert "has no answer" in Rule().refusal(Hook(id="r", kind="rule"))
    asyncio.run(Rule().close())


def test_answers_are_described_on_one_line() -> None:
    assert describe_actions(rule(deny="no", tell="hey")) == "deny: no; tell: hey"
    assert describe_actions(rule(allow=True)) == "allow"


@pytest.mark.spec("U-02")
def test_rule_in_a_file_of_the_person_answers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "hookline.toml").write_text('[[hook]]\nid = "r"\nruns = "git push"\ndeny = "no {{args.command}}"\n')
    (tmp_path / "project").mkdir()

    engine = Engine.load(tmp_path / "project")
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "git push"})
    engine.close_sync()

    assert engine.problems == ()
    assert outcome.decision is Decision.DENY
    assert outcome.reasons == ("no git push",)
