"""Which commands in the settings of agents are ours."""

import pytest

from hookline.model.installed_entry import InstalledEntry, is_ours, launcher_line, parse_entry

PYTHON = "/opt/my python/bin/python3"
LAUNCHED = ("/b/hookline-hook", "/opt/p", "hook", "--if-broken", "block", "kiro", "stop")
SPARE = ('{"no":1}', "gone", "2")
LINE = launcher_line(LAUNCHED, SPARE)
PLAIN = "/b/hookline-hook --prove /opt/p hook --if-broken block kiro stop"
WRAPPED = f"exec /bin/sh -c 'x \"$@\"' hookline '{{\"no\":1}}' gone 2 {PLAIN}"


@pytest.mark.parametrize(
    ("command", "policy"),
    [
        ("/opt/p -E -P -m hookline hook --if-broken block claude-code PreToolUse", "block"),
        ("/opt/p -E -P -m hookline hook --if-broken allow claude-code PreToolUse", "allow"),
        ("/opt/p -E -P -m hookline hook --prove --if-broken allow claude-code PreToolUse", "allow"),
        ("/opt/p -m hookline hook claude-code PreToolUse", ""),
        ("exec /bin/sh -c 'x \"$@\"' hookline '' '' 0 /opt/p -E -P -m hookline hook claude-code PreToolUse\n", ""),
        ("// /opt/p -E -P -m hookline hook claude-code PreToolUse", ""),
    ],
)
def test_a_call_of_ours_is_read_whatever_stands_before_it(command: str, policy: str) -> None:
    assert parse_entry(command) == InstalledEntry("/opt/p", policy, "claude-code", "PreToolUse", command)


def test_a_python_with_a_blank_and_a_quote_in_its_path_is_read() -> None:
    entry = parse_entry(
        """'/opt/it'"'"'s here/python' -E -P -m hookline hook --if-broken block opencode session.idle"""
    )

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
    assert LINE == (
        "test -s /b/hookline-hook && /b/hookline-hook /opt/p hook --if-broken block kiro stop && exit 0; "
        """cat >/dev/null; printf '%s\\n' '{"no":1}'; printf '%s\\n' gone >&2; exit 2"""
    )


def test_a_line_with_a_launcher_leaves_out_what_is_not_said() -> None:
    command = launcher_line(LAUNCHED, ("", "", "0"))

    assert command.endswith(" kiro stop && exit 0; cat >/dev/null; exit 0")


@pytest.mark.parametrize("command", [LINE, f"  {LINE}\n", PLAIN, f"// {PLAIN}", WRAPPED])
def test_a_call_through_the_launcher_is_read(command: str) -> None:
    entry = parse_entry(command)

    assert entry == InstalledEntry("/opt/p", "block", "kiro", "stop", command, "/b/hookline-hook")


@pytest.mark.parametrize("odd", ["it's", 'say "x"', "a\\b", "\\", "a b;", "ends;", "$HOME", "", "`x`", "ü", "printf"])
def test_a_call_with_odd_words_is_read(odd: str) -> None:
    words = (LAUNCHED[0], f"/{odd}/py", *LAUNCHED[2:])
    for spare in (odd, odd, "0"), (odd, "", "2"), ("", odd, "2"):
        entry = parse_entry(launcher_line(words, spare))

        assert entry is not None
        assert entry.python == f"/{odd}/py"


@pytest.mark.parametrize(
    "command",
    [
        f"{LINE}; ./guard.sh",
        f"./guard.sh; {LINE}",
        f"exec {LINE}",
        LINE.replace("cat >/dev/null", "./guard.sh"),
        LINE.replace("exit 2", "./guard.sh"),
        LINE.replace("&& exit 0", "|| exit 0"),
        LINE.replace("test -s /b/hookline-hook", "test -s /c/hookline-hook"),
        LINE.replace("; cat", " & cat"),
        LINE.partition(";")[0],
        launcher_line(("/b/another", *LAUNCHED[1:]), SPARE),
        launcher_line((*LAUNCHED, "more"), SPARE),
        launcher_line((*LAUNCHED[:2], "emit", *LAUNCHED[3:]), SPARE),
        f"{PLAIN}; ./guard.sh",
        f"{PLAIN} && ./guard.sh",
        f"{PLAIN};",
        f"{WRAPPED}; ./guard.sh",
        f"./guard.sh | {WRAPPED}",
        "/b/hookline-hook && ./guard.sh hook --if-broken block kiro stop",
        "/b/hookline-hook $(./guard.sh) hook --if-broken block kiro stop",
        "hookline-hook kiro stop",
        "test -s hookline-hook",
        "test -s /b/hookline-hook && /b/hookline-hook",
        "echo 'unclosed hookline-hook",
    ],
)
def test_what_is_more_or_less_than_a_call_through_the_launcher_is_not_ours(command: str) -> None:
    assert not is_ours(command)
