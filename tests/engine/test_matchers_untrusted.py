import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline import ConfigError, Engine, Hook, Source
from hookline.engine.filters import check_stars
from hookline.engine.matchers import LinearMatcher, is_backtracking_safe, matcher_for
from hookline.engine.ordering import is_untrusted
from hookline.model.dialect import MatcherStyle
from hookline.model.hook import Layer


def theirs(name: str = "theirs", **fields: object) -> Hook:
    made = {"id": name, "on": ("before_tool", "file_edited"), "command": "sh", "source": Source.WORKSPACE}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


@pytest.mark.parametrize(
    ("source", "wanted"), [(Source.USER, False), (Source.WORKSPACE, True), (Source.EXTENSION, True)]
)
def test_stranger_is_whoever_has_to_be_approved(source: Source, *, wanted: bool) -> None:
    assert is_untrusted(theirs(source=source)) is wanted
    assert not is_untrusted(theirs(source=source, layer=Layer.MANAGED))


@pytest.mark.spec("P-02")
@pytest.mark.parametrize("matcher", [r"(\w+)+!", "(a|a)*b", r"(?:\w*_?)*!", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x!"])
def test_matcher_of_a_project_cannot_keep_everybody_waiting(matcher: str) -> None:
    """Python's own search would need longer than the age of the world for this name."""
    engine = Engine(cwd="/project")
    engine.add(theirs(matcher=matcher))

    plan = engine.planner.plan(engine.event("before_tool", tool="mcp__" + "a" * 300))

    assert plan.hooks == ()


@pytest.mark.parametrize(
    ("matcher", "wanted", "left"),
    [
        ("Edit|Write", "write", "read"),
        (r"mcp__.*__(create|delete)_.*", "mcp__github__delete_branch", "mcp__github__list"),
        (r"mcp__.+__.+__.+", "mcp__a__b__c", "mcp__a__b"),
        (r"^(?!Read$).*$", "edit", "Read"),
        (r"(a|b)+", "abba", "abc"),
        (r"(x)\1", "xx", "x"),
    ],
)
def test_matchers_of_strangers_mean_what_they_say(matcher: str, wanted: str, left: str) -> None:
    for style in (MatcherStyle.REGEX, MatcherStyle.PATTERN):
        matches = matcher_for(style, matcher, is_untrusted=True)
        assert (matches(wanted), matches(left)) == (True, False)


@pytest.mark.parametrize("matcher", [r"(?!a)(\w+)+!", r"(\w+)\1+(\w*)+"])
def test_matcher_that_only_tries_one_way_after_the_other_is_refused_from_a_stranger(matcher: str) -> None:
    engine = Engine()
    with pytest.raises(ConfigError, match="may take for ever, and hooks that need approval are matched before"):
        engine.add(theirs(matcher=matcher))

    engine.add(theirs(matcher=matcher, source=Source.USER))


def test_name_in_another_alphabet_is_asked_about_rather_once_too_often() -> None:
    assert LinearMatcher("(a|b)+")("été")


PARTS = st.sampled_from(["a", "b", "_", ".", ".*", "(a|b)+", "a?", "[ab]", r"\w+", "(ab)*", "|", "^", "$", r"\b"])


@given(st.lists(PARTS, min_size=1, max_size=6).map("".join), st.text("abAB_.\n", max_size=6))
def test_linear_search_agrees_with_python(expression: str, name: str) -> None:
    assert LinearMatcher(expression)(name) is matcher_for(MatcherStyle.REGEX, expression)(name)


def test_quick_is_what_tries_few_ways() -> None:
    assert all(map(is_backtracking_safe, ["Edit|Write", "mcp__.*__.*", "(Edit|Write)", "^(?!Read$).*"]))
    assert not any(map(is_backtracking_safe, ["(a)*", "a?a?a?", "a{9}b+c*", "(?:a|b)+"]))


@pytest.mark.parametrize("pattern", ["*a*a*a*a*b", "src/*_*_*_*.py", "**/a/**/a/**/a/**/b"])
def test_file_pattern_with_many_stars_is_refused_from_a_stranger(pattern: str) -> None:
    engine = Engine()
    for field in ("files", "writes"):
        with pytest.raises(ConfigError, match="may take for ever, and hooks that need approval are matched before"):
            engine.add(replace(theirs(), **{field: ("*.py", pattern)}))

    engine.add(theirs(files=(pattern,), source=Source.USER))


def test_file_patterns_that_people_write_are_taken() -> None:
    check_stars(("*.py", "**/src/**/*_test_*.py", "!docs/**", "*.min.*", ".env*"))


def test_conditions_of_strangers_have_one_time_for_all_of_them() -> None:
    costly = 'args.items.exists(x, args.items.exists(y, args.text.matches("a[ab]{400}b[ab]{500}c" + "") && y > x))'
    text = "".join(random.Random(7).choices("ab", k=50_000))  # noqa: S311 - no secret
    hooks = [theirs(f"h{number}", condition=costly) for number in range(500)]
    ran: list[str] = []

    async def scenario() -> list[str]:
        async with Engine(cwd="/project") as engine:
            engine.add(*hooks)
            mine = theirs("mine", command="", call=lambda _event: ran.append("mine"), source=Source.USER, priority=900)
            engine.add(mine)
            args = {"items": [1, 1], "text": text}
            outcome = await engine.emit("before_tool", tool="shell", args=args)
            return [skip.reason for skip in outcome.skipped]

    reasons = asyncio.run(scenario())

    assert ran == ["mine"]
    assert len(reasons) == 500
    # each of them would have time enough, and all of them have no more than one
    assert "take longer than 1 s" in reasons[-1]


def test_rounds_of_one_condition_are_not_taken_from_another() -> None:
    loops = "args.items.all(x, args.items.all(y, args.items.all(z, x >= 0)))"
    engine = Engine(cwd="/project")
    engine.add(*(theirs(f"h{number}", condition=f"{loops} && {number} < 0") for number in range(30)))

    plan = engine.planner.plan(engine.event("before_tool", tool="shell", args={"items": list(range(15))}))

    assert all(skip.reason.endswith("is false") for skip in plan.skipped)
    assert len(plan.skipped) == 30
