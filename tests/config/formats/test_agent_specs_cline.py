from collections.abc import Callable

import pytest

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]


def test_program_is_the_hook_of_the_event_it_is_called_after(reads: Reads) -> None:
    (hook,), problems = reads("cline", "#!/bin/sh\necho {}\n", path="/p/.clinerules/hooks/PreToolUse")

    assert problems == []
    assert (hook.command, hook.shell, hook.on) == ("/p/.clinerules/hooks/PreToolUse", False, ("before_tool",))
    assert (hook.run_by, hook.native_event) == (("cline",), "PreToolUse")


def test_program_in_a_folder_with_blanks_is_one_word(reads: Reads) -> None:
    (hook,), _ = reads("cline", "", path="/my folder/hooks/TaskStart")

    assert hook.command == "'/my folder/hooks/TaskStart'"


def test_our_own_program_is_no_hook(reads: Reads) -> None:
    text = "#!/bin/sh\nexec /usr/bin/python3 -E -P -m hookline hook cline PreToolUse\n"

    assert reads("cline", text, path="/p/.clinerules/hooks/PreToolUse") == ([], [])


@pytest.mark.parametrize("name", ["README.md", "PreToolUse.ps1"])
def test_what_lies_beside_is_passed_over(reads: Reads, name: str) -> None:
    assert reads("cline", "x", path=f"/p/.clinerules/hooks/{name}") == ([], [])


def test_program_that_is_called_like_no_event_is_noted(reads: Reads) -> None:
    hooks, (problem,) = reads("cline", "x", path="/p/.clinerules/hooks/PreTooluse")

    assert hooks == []
    assert 'note: the event "PreTooluse" has no counterpart' in problem
