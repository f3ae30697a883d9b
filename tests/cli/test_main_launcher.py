"""`hookline-hook` as a script, where no compiler could build it: the words and answers of the native one."""

import subprocess
import sys
from pathlib import Path

import pytest

from hookline.version import __version__
from tests.cli.program import environment
from tools.hatch_build import SCRIPT

WORDS = ("hook", "--if-broken", "block", "cursor", "preToolUse")
EVENT = b'{"hook_event_name": "preToolUse", "conversation_id": "c", "tool_name": "Shell", "tool_input": {}}'


def run(tmp_path: Path, *words: str, stdin: bytes = EVENT) -> tuple[int, bytes, bytes]:
    script = tmp_path / "hookline-hook"
    script.write_text(SCRIPT)
    home = tmp_path / "home"
    project = tmp_path / "project"
    for folder in (home, project):
        folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, script, *words],
        input=stdin,
        capture_output=True,
        env=environment(home, HOOKLINE_DAEMON="off"),
        cwd=project,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def python_that(tmp_path: Path, body: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_it_says_that_it_is_not_the_native_one(tmp_path: Path) -> None:
    assert run(tmp_path, "--version") == (0, f"hookline-hook {__version__} python\n".encode(), b"")


@pytest.mark.parametrize("option", [(), ("--if-broken", "block")])
def test_a_person_gets_an_answer(tmp_path: Path, option: tuple[str, ...]) -> None:
    assert run(tmp_path, *option, "cursor", "preToolUse") == (0, b'{"permission":"allow"}\n', b"")


@pytest.mark.parametrize("code", [0, 2])
def test_the_answer_of_the_python_in_the_settings_is_passed_on(tmp_path: Path, code: int) -> None:
    python = python_that(tmp_path, f'cat; printf %s "$*" >&2; exit {100 + code}')
    said = f"-E -P -m hookline hook --prove {' '.join(WORDS[1:])}".encode()

    assert run(tmp_path, python, *WORDS, stdin=b"a\0b") == (code, b"a\0b", said)
    assert run(tmp_path, "--prove", python, *WORDS, stdin=b"a\0b") == (100 + code, b"a\0b", said)


@pytest.mark.parametrize("body", ["exit 0", "exit 1", "exit 2", "echo half; kill -KILL $$", "exit 127"])
def test_a_python_that_does_not_prove_its_answer_is_no_answer(tmp_path: Path, body: str) -> None:
    python = python_that(tmp_path, body)

    assert run(tmp_path, python, *WORDS) == (1, b"", b"")


def test_a_python_that_is_gone_is_no_answer(tmp_path: Path) -> None:
    assert run(tmp_path, "/nowhere/python", *WORDS) == (1, b"", b"")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("cursor",),
        ("--help",),
        ("cursor", "stop", "more"),
        ("--nonsense", "stop"),
    ],
)
def test_wrong_words_are_answered_with_the_right_ones(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, out, err = run(tmp_path, *words)

    assert (code, out) == (1, b"")
    assert err.startswith(b"hookline-hook: wanted: ")
