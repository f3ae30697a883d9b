"""Which commands can be warm."""

import pytest

from hookline.model.hook import Hook
from hookline.process.bootstrap import PYTHON_BOOTSTRAP
from hookline.process.forkserver import can_run_warm, parse_python_command


@pytest.mark.parametrize(
    ("words", "command", "script"),
    [
        (("python3", "a.py", "-x"), 1, ("a.py", "-x")),
        (("/usr/bin/python3.12", "-u", "-B", "a.py"), 3, ("a.py",)),
        (("python", "-W", "error", "-Xutf8", "-X", "dev", "a.py"), 6, ("a.py",)),
        (("python", "-bOIs", "a.py"), 2, ("a.py",)),
    ],
)
def test_a_python_command_is_taken_apart(words: tuple[str, ...], command: int, script: tuple[str, ...]) -> None:
    found = parse_python_command(words[0], words)

    assert found is not None
    assert (found.command, found.words, found.text) == (words[:command], script, None)


@pytest.mark.parametrize(
    "line",
    [
        "python3",
        "python3 -",
        "python3 -c pass x",
        "python3 -m json.tool",
        "python3 -x a.py",
        "python3 -i a.py",
        "python3 -vu a.py",
        "python3 -X importtime a.py",
        "python3 -V",
        "python3 --version",
        "node a.py",
        "pypy3 a.py",
        "sh a.py",
    ],
)
def test_what_is_not_one_python_script_is_left_alone(line: str) -> None:
    words = tuple(line.split())

    assert parse_python_command(words[0], words) is None


def test_code_of_others_is_not_taken_for_a_vetted_script() -> None:
    assert parse_python_command("python3", ("python3", "-c", PYTHON_BOOTSTRAP, "/etc/passwd", "a.py")) is None


@pytest.mark.parametrize(
    ("command", "may"),
    [
        ("python3 a.py", True),
        ("./a.py", True),
        ('python3 "$HOME/a.py"', True),
        ("python3 a.py | cat", False),
        ("python3 'a.py", False),
        ("node ./a.js", False),
        ("check", False),
    ],
)
def test_a_command_that_cannot_be_warm_is_known_beforehand(command: str, may: bool) -> None:  # noqa: FBT001
    assert can_run_warm(Hook(id="h", command=command, warm=True)) is may
