"""What we take a word for is what the shell takes it for."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.shell.expand import expand

VARIABLES = {"A": "a", "EMPTY": "", "SPACED": "a b", "STAR": "*", "DIR": "/p/q", "HOME": "/home/me"}
SHELLS = [shell for shell in ("dash", "bash", "sh") if shutil.which(shell)]

PIECES = st.sampled_from(
    [
        *("a", "x.py", "/", "-", "=", ".", "#", "!", "~", "~/", "%", ",", "é"),
        *("'a b'", "'$A'", '"a b"', '"$A"', '"${DIR}/x"', '"\\$A"', '"\\q"', '"`"', '"', "'", "\\ ", "\\$", "\\", '""'),
        *(
            "$A",
            "${A}",
            "$EMPTY",
            '"$EMPTY"',
            "$SPACED",
            '"$SPACED"',
            "$STAR",
            '"$STAR"',
            "$DIR",
            "$NONE",
            "${A:-b}",
            "$$",
        ),
        *("{a,b}", "{a}", "*", "?", "[a]", "$(echo a)", "`echo a`", "$((1))", ">", "&", ";", "(", "|", "\n", "{{x}}"),
    ]
)


def arguments(shell: str, word: str) -> list[str] | None:
    """Let a shell say which arguments a word becomes; None when it is not even one command."""
    script = f"set -- {word}\nprintf '%s\\0' \"$@\" end"
    env = {**VARIABLES, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    ran = subprocess.run([shell, "-c", script], env=env, capture_output=True, check=False, cwd="/")
    return ran.stdout.decode().split("\0")[:-2] if ran.returncode == 0 else None


@given(st.lists(PIECES, min_size=1, max_size=4).map("".join))
@settings(max_examples=150, deadline=None)
def test_word_that_can_be_known_is_what_every_shell_makes_of_it(word: str) -> None:
    expanded = expand(word, VARIABLES.get)

    if expanded is not None and not word.startswith("#"):
        assert [arguments(shell, word) for shell in SHELLS] == [[expanded]] * len(SHELLS)


@pytest.mark.parametrize(
    ("word", "expanded"),
    [
        ('"$DIR"/hooks/x.py', "/p/q/hooks/x.py"),
        ("${DIR}/x.py", "/p/q/x.py"),
        ("~/x.py", "/home/me/x.py"),
        ("'a b'\\ c", "a b c"),
        ('"$SPACED"', "a b"),
    ],
)
def test_words_of_everyday_hooks_are_known(word: str, expanded: str) -> None:
    assert expand(word, VARIABLES.get) == expanded


@pytest.mark.parametrize(
    "word", ["$SPACED", "$STAR", "$EMPTY", "$NONE", "$(x)", "*.py", "~bob/x", "{a,b}", '"a', "{{x}}"]
)
def test_word_only_the_shell_can_know_stays_unknown(word: str) -> None:
    assert expand(word, VARIABLES.get) is None


@pytest.mark.parametrize("name", ["RANDOM", "BASH_VERSION", "PPID", "OLDPWD", "_", "LINENO"])
def test_variable_that_shells_set_themselves_stays_unknown(name: str) -> None:
    assert expand(f'"${name}"', {name: "x"}.get) is None
