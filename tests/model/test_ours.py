"""Which commands in the settings of agents are ours."""

import pytest

from hookline.model.ours import Entry, entry_of, is_ours

PYTHON = "/opt/my python/bin/python3"


@pytest.mark.parametrize(
    ("command", "policy"),
    [
        ("/opt/p -E -P -m hookline hook --if-broken block claude-code PreToolUse", "block"),
        ("/opt/p -E -P -m hookline hook --if-broken allow claude-code PreToolUse", "allow"),
        ("/opt/p -m hookline hook claude-code PreToolUse", ""),
        ("exec /bin/sh -c 'x \"$@\"' hookline '' '' 0 /opt/p -E -P -m hookline hook claude-code PreToolUse\n", ""),
        ("// /opt/p -E -P -m hookline hook claude-code PreToolUse", ""),
    ],
)
def test_a_call_of_ours_is_read_whatever_stands_before_it(command: str, policy: str) -> None:
    assert entry_of(command) == Entry("/opt/p", policy, "claude-code", "PreToolUse", command)


def test_a_python_with_a_blank_and_a_quote_in_its_path_is_read() -> None:
    entry = entry_of("""'/opt/it'"'"'s here/python' -E -P -m hookline hook --if-broken block opencode session.idle""")

    assert entry is not None
    assert (entry.python, entry.event) == ("/opt/it's here/python", "session.idle")


@pytest.mark.parametrize(
    "command",
    [
        "",
        "python3 guard.py",
        "-m hookline hook claude-code PreToolUse",
        "python3 -m hookline emit before_tool",
        "python3 -m hookline hook claude-code",
        "python3 -m hookline hook claude-code PreToolUse; rm -rf /",
        "python3 -m hookline hook claude-code PreToolUse && ./guard.sh",
        "echo 'unclosed python3 -m hookline hook claude-code PreToolUse",
        "python3 -m hookline hook --if-broken",
        "./guard.sh && /opt/p -E -P -m hookline hook claude-code PreToolUse",
        "./guard.sh; exec /opt/p -m hookline hook claude-code PreToolUse",
        "./guard.sh | /bin/sh -c 'x' hookline '' '' 0 /opt/p -E -P -m hookline hook claude-code PreToolUse",
    ],
)
def test_what_does_not_end_in_a_call_of_ours_is_not_ours(command: str) -> None:
    assert not is_ours(command)
