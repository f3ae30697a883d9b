"""Which commands in the settings of agents are ours."""

import pytest

from hookline.model.ours import Entry, entry_of, is_ours, launcher_line

PYTHON = "/opt/my python/bin/python3"
LAUNCHED = (
    "/b/hookline-hook",
    '{"no":1}',
    "gone",
    "2",
    "/opt/p",
    "/c.py",
    "hook",
    "--if-broken",
    "block",
    "kiro",
    "stop",
)
PLAIN = """/b/hookline-hook '' '' 1 /opt/p /c.py hook --if-broken block kiro stop"""


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


def test_a_line_with_a_launcher_says_what_to_say_without_it() -> None:
    assert launcher_line(LAUNCHED) == (
        """test -s /b/hookline-hook && test -x /b/hookline-hook && exec /b/hookline-hook '{"no":1}' gone 2 /opt/p /c.py """
        """hook --if-broken block kiro stop; cat >/dev/null; printf '%s\\n' '{"no":1}'; printf '%s\\n' gone >&2; exit 2"""
    )


def test_a_line_with_a_launcher_leaves_out_what_is_not_said() -> None:
    command = launcher_line((LAUNCHED[0], "", "", "0", *LAUNCHED[4:]))

    assert command.endswith(" kiro stop; cat >/dev/null; exit 0")


@pytest.mark.parametrize("command", [launcher_line(LAUNCHED), f"  {launcher_line(LAUNCHED)}\n", PLAIN, f"// {PLAIN}"])
def test_a_call_through_the_launcher_is_read(command: str) -> None:
    entry = entry_of(command)

    assert entry == Entry("/opt/p", "block", "kiro", "stop", command, "/b/hookline-hook")


@pytest.mark.parametrize("odd", ["it's", 'say "x"', "a\\b", "\\", "a b;", "ends;", "$HOME", "", "`x`", "ü"])
def test_a_call_with_odd_words_is_read(odd: str) -> None:
    words = (LAUNCHED[0], odd, odd, "0", f"/{odd}/py", *LAUNCHED[5:])
    entry = entry_of(launcher_line(words))

    assert entry is not None
    assert entry.python == f"/{odd}/py"


@pytest.mark.parametrize(
    "command",
    [
        f"{launcher_line(LAUNCHED)}; ./guard.sh",
        f"./guard.sh; {launcher_line(LAUNCHED)}",
        f"exec {launcher_line(LAUNCHED)}",
        launcher_line(LAUNCHED).replace("cat >/dev/null", "./guard.sh"),
        launcher_line(LAUNCHED).replace("exit 2", "exit 0"),
        launcher_line(LAUNCHED).replace("test -x /b/hookline-hook", "test -x /c/hookline-hook"),
        launcher_line(LAUNCHED).replace("test -s /b/hookline-hook", "test -s /c/hookline-hook"),
        launcher_line(LAUNCHED).replace("&& test -x", "|| test -x"),
        launcher_line(LAUNCHED).replace("; cat", " & cat"),
        launcher_line(LAUNCHED).partition(";")[0],
        launcher_line(("/b/another", *LAUNCHED[1:])),
        launcher_line((*LAUNCHED, "more")),
        launcher_line((*LAUNCHED[:6], "emit", *LAUNCHED[7:])),
        f"{PLAIN}; ./guard.sh",
        f"{PLAIN} && ./guard.sh",
        f"{PLAIN};",
        "/b/hookline-hook && ./guard.sh 1 /opt/p /c.py hook --if-broken block kiro stop",
        "/b/hookline-hook '' $(./guard.sh) 1 /opt/p /c.py hook --if-broken block kiro stop",
        "hookline-hook kiro stop",
        "test -s hookline-hook",
        "test -s /b/hookline-hook && test -x /b/hookline-hook && exec /b/hookline-hook",
        "echo 'unclosed hookline-hook",
    ],
)
def test_what_is_more_or_less_than_a_call_through_the_launcher_is_not_ours(command: str) -> None:
    assert not is_ours(command)
