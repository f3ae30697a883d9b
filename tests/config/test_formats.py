import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.config.document import Document
from hookline.config.formats import FORMATS, grouped, native, ollm, read
from hookline.config.reader import FileOrigin

pytestmark = pytest.mark.slow

KEYS = st.sampled_from(
    sorted(
        {*grouped.KEYS, *ollm.KEYS, *native.KEYS, "hooks", "hook", "when", "then", "eventType", "action", "PreToolUse"}
    )
)
WORDS = st.sampled_from(
    ["before_tool", "PreToolUse", "fileEdited", "askAgent", "runCommand", "command", "x", "", "a:b"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_whatever_stands_in_a_file_becomes_hooks_or_problems(
    name: str, value: object, origin: Callable[..., FileOrigin]
) -> None:
    hooks, problems = FORMATS[name].read(Document(value), origin=origin())

    assert all(hook.on and hook.id for hook in hooks)
    assert all(problem.message and problem.message.isprintable() for problem in problems)
    FORMATS[name].matches(value)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON, cut=st.integers(0, 400))
def test_file_cut_short_anywhere_is_a_problem_and_no_crash(
    value: object, cut: int, origin: Callable[..., FileOrigin]
) -> None:
    text = json.dumps({"hooks": value}, indent=1)[:cut]

    read(text, origin=origin(), formats=("grouped", "ollm"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"hooks": {"before_tool": [{"matcher": "x", "hooks": [{"command": "a"}]}]}}', "grouped"),
        ('{"hooks": {"before_tool": [{"command": "a"}]}}', "ollm"),
        ('[{"command": "a", "event": "before_tool"}]', "ollm"),
        ('{"name": "a", "when": {"type": "agentStop"}, "then": {"type": "askAgent", "prompt": "b"}}', "when_then"),
    ],
)
def test_the_format_is_told_from_the_content(text: str, name: str, origin: Callable[..., FileOrigin]) -> None:
    (hook,), problems = read(text, origin=origin(), formats=("grouped", "ollm"))

    assert problems == []
    assert hook.source_format == name


def test_the_ending_of_a_file_says_how_its_text_is_parsed(origin: Callable[..., FileOrigin]) -> None:
    place = replace(origin("cli-agent"), path="hooks/pre-audit.yaml")
    (hook,), problems = read('matcher: "*"\ncommand: echo on\n', origin=place, formats=("per_file",))

    assert problems == []
    assert (hook.id, hook.command, hook.on) == ("pre-audit", "echo on", ("before_tool",))
