"""How answers become one where the settings say so: unanimous, conflicts put to a person, events without hooks."""

import pytest

from hookline import ConfigError, Decision, Engine, Event, EventName, Outcome, OutcomeCode, Settings, Source, Verdict
from hookline.engine.confirmation import Ask, PersonAnswer, Question
from hookline.engine.engine import NEEDS_A_HOOK
from hookline.model.hook import Hook, Layer


def emit(*verdicts: Verdict, ask: Ask | None = None, parallel: bool = False, **settings: str) -> Outcome:
    engine = Engine(settings=Settings(**settings), ask=ask)  # type: ignore[arg-type] # words, all of them
    for verdict in verdicts:
        engine.on("before_tool", parallel=parallel)(lambda _event, said=verdict: said)
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    engine.close_sync()
    return outcome


ALLOW, PASS, DENY = Verdict.allow(), Verdict(), Verdict.deny("no")
CHANGE, OTHER = Verdict.rewrite({"command": "pwd"}), Verdict.rewrite({"command": "id"})


@pytest.mark.parametrize(
    ("verdicts", "decision"),
    [
        ((ALLOW, ALLOW), Decision.ALLOW),
        ((ALLOW, PASS), Decision.ALLOW),
        ((PASS, PASS), Decision.PASS),
        ((ALLOW, DENY), Decision.DENY),
        ((ALLOW, CHANGE), Decision.DENY),
        ((CHANGE,), Decision.DENY),
        ((ALLOW, Verdict.stop("enough")), Decision.STOP),
    ],
)
def test_unanimous_hooks_must_all_allow(verdicts: tuple[Verdict, ...], decision: Decision) -> None:
    outcome = emit(*verdicts, composition="unanimous")

    assert outcome.decision is decision
    assert outcome.code == (OutcomeCode.DISAGREEMENT if decision >= Decision.DENY else "")
    assert outcome.args is None


def test_disagreement_is_put_to_the_person() -> None:
    asked: list[object] = []

    def say_yes(question: Question) -> bool:
        asked.append(question.event.args)
        return True

    outcome = emit(ALLOW, CHANGE, ask=say_yes, composition="unanimous", on_conflict="confirm")

    assert asked == [{"command": "ls"}]
    assert (outcome.decision, outcome.args) == (Decision.ALLOW, None)


def test_person_cannot_lift_the_denial_of_a_managed_hook() -> None:
    engine = Engine(settings=Settings(composition="unanimous", on_conflict="confirm"), ask=lambda _question: True)
    engine.add(Hook(id="m", on="before_tool", deny="never", source=Source.USER, layer=Layer.MANAGED))
    outcome = engine.emit_sync("before_tool", tool="shell")
    engine.close_sync()

    assert outcome.decision is Decision.DENY


def test_conflict_of_two_changes_blocks_with_a_code() -> None:
    outcome = emit(CHANGE, OTHER, parallel=True)

    assert (outcome.decision, outcome.code) == (Decision.DENY, OutcomeCode.CONFLICT)


def test_conflict_of_two_changes_is_put_to_the_person_who_may_choose() -> None:
    asked: list[Question] = []

    def choose(question: Question) -> PersonAnswer:
        asked.append(question)
        return PersonAnswer(allowed=True, args={"command": "date"}, digest=question.digest, reason="mine")

    outcome = emit(CHANGE, OTHER, ask=choose, parallel=True, on_conflict="confirm")

    assert asked[0].event.args == {"command": "ls"}
    assert "both change args.command" in asked[0].reasons[0]
    assert (outcome.decision, outcome.args, outcome.code) == (Decision.ALLOW, {"command": "date"}, "")
    assert outcome.reasons[-1] == "mine"


def test_yes_to_a_conflict_without_a_change_leaves_the_call_as_it_was() -> None:
    outcome = emit(CHANGE, OTHER, ask=lambda _question: True, parallel=True, on_conflict="confirm")

    assert (outcome.decision, outcome.args) == (Decision.ALLOW, None)


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        (False, OutcomeCode.REFUSED, "the person said no"),
        (PersonAnswer(allowed=False, reason="not on a Friday"), OutcomeCode.REFUSED, "not on a Friday"),
        (PersonAnswer(allowed=True, digest="another"), OutcomeCode.OTHER_DIGEST, "the answer is to another question"),
        ("yes", OutcomeCode.ASK_FAILED, "a person has to decide, and asking failed"),
    ],
)
def test_answer_that_is_no_yes_denies_with_a_code(said: object, code: str, reason: str) -> None:
    outcome = emit(Verdict.ask("sure?"), ask=lambda _question: said)  # type: ignore[arg-type,return-value]

    assert (outcome.decision, outcome.code, outcome.reasons) == (Decision.DENY, code, ("sure?", reason))


def test_question_that_nobody_answers_has_a_code() -> None:
    assert emit(Verdict.ask("sure?")).code == OutcomeCode.UNANSWERED


def test_change_where_none_is_possible_denies() -> None:
    engine = Engine(ask=lambda _question: PersonAnswer(allowed=True, args={"a": 1}))
    engine.on("before_agent")(lambda _event: Verdict.ask("sure?"))
    outcome = engine.emit_sync("before_agent", {"prompt": "hi"})
    engine.close_sync()

    assert (outcome.decision, outcome.code) == (Decision.DENY, OutcomeCode.NO_CHANGE)


@pytest.mark.parametrize("name", sorted(NEEDS_A_HOOK))
def test_event_without_a_hook_is_denied_where_the_settings_say_so(name: EventName) -> None:
    engine = Engine(settings=Settings(no_hooks="deny"))
    for _ in range(2):
        outcome = engine.emit_sync(name, {}, tool="shell" if "tool" in name else "")
        assert (outcome.decision, outcome.code) == (Decision.DENY, OutcomeCode.NO_HOOK)
    engine.on(name)(lambda _event: None)
    assert not engine.emit_sync(name, {}).blocked
    engine.close_sync()


def test_event_whose_hooks_are_about_something_else_is_denied_as_well() -> None:
    engine = Engine(settings=Settings(no_hooks="deny"))
    engine.on("before_tool", tools="write_file")(lambda _event: None)
    engine.add(Hook(id="unapproved", on="before_tool", tell="x", root="/p"))
    outcome = engine.emit_sync("before_tool", tool="shell")
    engine.close_sync()

    assert (outcome.decision, outcome.code) == (Decision.DENY, OutcomeCode.NO_HOOK)


def test_agent_is_not_sent_back_for_want_of_a_hook() -> None:
    engine = Engine(settings=Settings(no_hooks="deny"))
    assert not engine.emit_sync("after_agent", {}).blocked
    assert not engine.emit_sync("notification", {"message": "x"}).blocked
    engine.close_sync()


def test_digest_of_an_event_may_be_the_programs_own() -> None:
    seen: list[str] = []

    def ask(question: Question) -> bool:
        seen.append(question.digest)
        return True

    def identify(event: Event) -> str:
        return f"{event.tool}!"

    engine = Engine(ask=ask, identify=identify)
    engine.on("before_tool")(lambda _event: "ask")
    assert not engine.emit_sync("before_tool", tool="shell").blocked
    engine.close_sync()
    assert seen == ["shell!"]


@pytest.mark.parametrize("setting", ["composition", "on_conflict", "no_hooks"])
def test_unknown_word_of_a_setting_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting):
        Settings(**{setting: "perhaps"})  # type: ignore[arg-type]
