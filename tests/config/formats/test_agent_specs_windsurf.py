import re
from collections.abc import Callable

import pytest

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]


@pytest.mark.parametrize(
    ("event", "on", "tool", "other"),
    [
        ("pre_run_command", "before_tool", "shell", "write_file"),
        ("pre_write_code", "before_tool", "apply_patch", "shell"),
        ("post_read_code", "after_tool", "read_file", "write_file"),
        ("pre_mcp_tool_use", "before_tool", "mcp__git__push", "shell"),
    ],
)
def test_event_is_about_some_tools(reads: Reads, event: str, on: str, tool: str, other: str) -> None:
    entry = {"command": "python3 a.py", "show_output": True, "working_directory": "tools"}
    (hook,), problems = reads("windsurf", {"hooks": {event: [entry]}})

    assert problems == []
    assert (hook.on, hook.native_event, hook.working_directory) == ((on,), event, "tools")
    assert re.search(hook.matcher, tool)
    assert not re.search(hook.matcher, other)


def test_prompt_and_response_are_about_no_tool(reads: Reads) -> None:
    (hook,), _ = reads("windsurf", {"hooks": {"pre_user_prompt": [{"command": "a"}]}})

    assert (hook.on, hook.matcher) == (("before_agent",), "")
