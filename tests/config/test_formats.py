import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookline.config.document import Document
from hookline.config.formats import FORMATS, grouped, native, ollm, read
from hookline.config.reading import Origin

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
    name: str, value: object, origin: Callable[..., Origin]
) -> None:
    hooks, problems = FORMATS[name].read(Document(value), origin=origin())

    assert all(hook.on and hook.id for hook in hooks)
    assert all(problem.message and problem.message.isprintable() for problem in problems)
    FORMATS[name].matches(value)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON, cut=st.integers(0, 400))
def test_file_cut_short_anywhere_is_a_problem_and_no_crash(
    value: object, cut: int, origin: Callable[..., Origin]
) -> None:
    text = json.dumps({"hooks": value}, indent=1)[:cut]

    read(text, origin=origin(), formats=("grouped", "when_then", "ollm"))


@pytest.mark.parametrize(
    ("text", "first_words"),
    [
        ('{"hooks": {"before_tool": [{"matcher": "x", "hooks": [{"command": "a"}]}]}}', ""),
        ('{"hooks": {"before_tool": [{"command": "a"}]}}', ""),
        ('[{"command": "a", "event": "before_tool"}]', ""),
        (
            '{"name": "a", "when": {"type": "agentStop"}, "then": {"type": "askAgent", "prompt": "b"}}',
            'hook "a": askAgent',
        ),
    ],
)
def test_the_format_is_told_from_the_content(text: str, first_words: str, origin: Callable[..., Origin]) -> None:
    hooks, problems = read(text, origin=origin(), formats=("grouped", "when_then", "ollm"))

    assert len(hooks) == (0 if first_words else 1)
    assert [problem.message.startswith(first_words) for problem in problems] == ([True] if first_words else [])
