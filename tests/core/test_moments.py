"""Events made of the names that people and programs say."""

from enum import Enum

import pytest

from hookline.core.moments import _REMEMBERED, Moments
from hookline.core.parts import default_parts
from hookline.core.specs import Specs
from hookline.model.event import Event
from hookline.model.session import Session


@pytest.fixture(scope="module")
def moments() -> Moments:
    return Moments(Specs(default_parts().dialects))


def made(moments: Moments, tool: str) -> Event:
    return moments.event("before_tool", None, tool=tool, args={}, session=Session(), cwd="/", at=1.0, id="x")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("said", "tool", "native"),
    [
        ("shell", "shell", ""),
        ("Bash", "shell", "Bash"),
        ("bash", "shell", "bash"),
        ("run_shell_command", "shell", "run_shell_command"),
        ("mcp__files__read", "mcp__files__read", ""),
        ("", "", ""),
    ],
)
def test_tool_has_our_name_and_keeps_the_one_it_was_called_by(
    moments: Moments, said: str, tool: str, native: str, times: int
) -> None:
    for _ in range(times):
        event = made(moments, said)
        assert (event.tool, event.native_tool) == (tool, native)


def test_more_tools_than_are_remembered_keep_their_names(moments: Moments) -> None:
    names = [f"tool{number}" for number in range(2 * _REMEMBERED)]

    assert [made(moments, name).tool for name in (*names, *names)] == [*names, *names]
    assert made(moments, "Bash").tool == "shell"


def test_tool_that_one_says_as_a_member_of_an_enum_is_plain_text_for_the_next(moments: Moments) -> None:
    class Tool(str, Enum):  # noqa: UP042 - as programs have them: not the text of its value
        OWN = "my_own_tool"

    made(moments, Tool.OWN)

    assert f"{made(moments, 'my_own_tool').tool}" == "my_own_tool"
