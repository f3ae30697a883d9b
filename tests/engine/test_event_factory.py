"""Events made of the names that people and programs say."""

from enum import Enum

import pytest

from hookline.engine.event_factory import make_event
from hookline.model.event import Event


def made(tool: str) -> Event:
    return make_event("before_tool", tool=tool, args={}, cwd="/")


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
def test_tool_has_our_name_and_keeps_the_one_it_was_called_by(said: str, tool: str, native: str, times: int) -> None:
    for _ in range(times):
        event = made(said)
        assert (event.tool, event.native_tool) == (tool, native)


def test_more_tools_than_are_remembered_keep_their_names() -> None:
    names = [f"tool{number}" for number in range(512)]

    assert [made(name).tool for name in (*names, *names)] == [*names, *names]
    assert made("Bash").tool == "shell"


def test_tool_that_one_says_as_a_member_of_an_enum_is_plain_text_for_the_next() -> None:
    class Tool(str, Enum):  # noqa: UP042 - as programs have them: not the text of its value
        OWN = "my_own_tool"

    made(Tool.OWN)

    assert f"{made('my_own_tool').tool}" == "my_own_tool"
