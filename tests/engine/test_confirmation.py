import asyncio

import pytest

from hookline.engine.confirmation import Ask, Question, confirm
from hookline.model.event import Event, EventName
from hookline.model.verdict import Decision, Outcome

EVENT = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "rm x"})
ASKED = Outcome(decision=Decision.ASK, reasons=("removes a file",))


def answered(ask: Ask | None) -> Outcome:
    return asyncio.run(confirm(ASKED, EVENT, ask))


def test_nobody_to_ask_means_no() -> None:
    outcome = answered(None)

    assert outcome.decision is Decision.DENY
    assert outcome.reasons == ("removes a file", "a person has to decide, and there was no way to ask one")


def test_yes_allows_and_no_denies() -> None:
    assert answered(lambda _question: True).decision is Decision.ALLOW
    assert answered(lambda _question: False).decision is Decision.DENY


def test_callback_may_be_async() -> None:
    async def ask(question: Question) -> bool:
        return question.reasons == ("removes a file",)

    assert answered(ask).decision is Decision.ALLOW


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_anything_but_true_is_no(said: object) -> None:
    async def ask(_question: Question) -> bool:
        return said  # type: ignore[return-value] # what a careless callback does

    assert answered(ask).decision is Decision.DENY


def test_callback_that_raises_means_no() -> None:
    def ask(_question: Question) -> bool:
        raise RuntimeError("no terminal")

    assert answered(ask).decision is Decision.DENY


def test_arguments_changed_under_the_question_are_not_what_was_allowed() -> None:
    args = {"command": "rm x"}
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args=args)

    def ask(_question: Question) -> bool:
        args["command"] = "rm -rf /"
        return True

    assert asyncio.run(confirm(ASKED, event, ask)).decision is Decision.DENY
