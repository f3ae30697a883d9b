"""What becomes of an answer between a hook of one language and an agent of another, from the tables alone."""

import pytest

from hookline.debug.capability_matrix import (
    MOMENTS,
    abilities,
    can_express,
    explain_shortfall,
    find_shortfalls,
    translate_wish,
)
from hookline.dialects import DIALECTS
from hookline.model.dialect import DialectSpec
from hookline.model.event import Ability, EventName
from hookline.model.hook import Hook
from hookline.model.requirements import Needs

CLAUDE = DIALECTS["claude-code"].SPEC
OLLM = DIALECTS["ollm-protocol"].SPEC
QUIET = DialectSpec(
    name="quiet",
    title="an agent that only blocks",
    events={EventName.BEFORE_TOOL: "pre", EventName.AFTER_TOOL: "post"},
    abilities={"pre": frozenset({Ability.BLOCK})},
)


def test_what_an_agent_can_do_is_carried_as_it_is() -> None:
    found = translate_wish(CLAUDE, Ability.ASK, EventName.BEFORE_TOOL)
    assert (found.is_whole, found.word) == (True, "yes")


@pytest.mark.parametrize(
    ("wanted", "name", "word"),
    [
        (Ability.ASK, EventName.BEFORE_TOOL, "block"),
        (Ability.ARGS, EventName.BEFORE_TOOL, "block"),
        (Ability.CONTEXT, EventName.BEFORE_TOOL, "lost"),
        (Ability.BLOCK, EventName.AFTER_TOOL, "lost"),
        (Ability.CONTEXT, EventName.SESSION_START, "no event"),
    ],
)
def test_what_it_cannot_do_has_a_word(wanted: Ability, name: EventName, word: str) -> None:
    assert translate_wish(QUIET, wanted, name).word == word


def test_systems_without_an_agent_say_all_that_a_moment_allows() -> None:
    assert Ability.ARGS in abilities(OLLM, EventName.BEFORE_TOOL)
    assert Ability.OUTPUT not in abilities(OLLM, EventName.BEFORE_TOOL)
    assert Ability.BLOCK not in abilities(OLLM, EventName.SESSION_END)


def test_a_hook_says_only_what_its_language_has_words_for() -> None:
    assert can_express(CLAUDE, Ability.ASK, EventName.BEFORE_TOOL)
    assert not can_express(QUIET, Ability.ASK, EventName.BEFORE_TOOL)
    assert not can_express(QUIET, Ability.BLOCK, EventName.SESSION_START)


def test_a_hook_that_needs_what_an_agent_lacks_is_found() -> None:
    hook = Hook(
        id="h", command="h", on=("before_tool", "session_start"), needs=Needs(answers=("ask", "block")), dialect="ollm"
    )
    found = [explain_shortfall(one, QUIET) for one in find_shortfalls(hook, QUIET)]
    assert found == [
        "quiet cannot ask at before_tool: it becomes block",
        "quiet has no session_start, so it never runs there",
        "quiet has no session_start, so it never runs there",
    ]
    assert not list(find_shortfalls(Hook(id="h", command="h", on="before_tool", needs=Needs(answers=("ask",))), CLAUDE))


def test_a_prompt_for_the_agent_needs_a_way_to_send_it_back() -> None:
    hook = Hook(id="h", prompt="look again", on=("before_tool", "custom:mine"))
    assert [explain_shortfall(one, QUIET) for one in find_shortfalls(hook, QUIET)] == [
        "quiet cannot follow_up at before_tool: it is lost"
    ]


def test_every_wish_of_the_matrix_is_one_that_some_agent_can_carry() -> None:
    agents = [one.SPEC for one in DIALECTS.values() if one.SPEC.is_agent]
    for wanted, name in MOMENTS:
        assert any(translate_wish(agent, wanted, name).is_whole for agent in agents), (wanted, name)
