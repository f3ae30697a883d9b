import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.cli.completion import LIVE, SHELLS
from hookline.cli.main import COMMANDS
from tests.cli.program import configure, environment, hookline

CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
run = ["python3", "guard.py"]

[[hook]]
name = "greeter"
on = "session_start"
run = ["python3", "greeter.py"]

[[hook]]
id = "$(touch pwned)"
on = "session_start"
run = ["python3", "greeter.py", "twice"]
"""
PATIENCE = 30


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG)
    program = tmp_path / "bin" / "hookline"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hookline "$@"\n')
    program.chmod(0o755)
    return tmp_path / "home"


def env(home: Path) -> dict[str, str]:
    return environment(home, PATH=f"{home.parent / 'bin'}{os.pathsep}{os.environ['PATH']}")


def script(home: Path, shell: str) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed, so its completion was not tried")
    done = hookline(home, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    path = home / f"completion.{shell}"
    path.write_text(done.stdout)
    return path


def bash(home: Path, *words: str) -> list[str]:
    """Ask bash what it would offer after these words, the last of which is being typed."""
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hookline; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", ask, "bash", str(script(home, "bash")), "hookline", *words],
        cwd=home.parent / "project",
        env=env(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_offers_commands(home: Path) -> None:
    assert bash(home, "") == list(COMMANDS)
    assert bash(home, "em") == ["emit"]
    assert bash(home, "trust", "ap") == ["approve"]


def test_bash_offers_options_and_what_they_take(home: Path) -> None:
    assert {"--data", "--dialect", "--json"} <= set(bash(home, "emit", "before_tool", "--"))
    assert bash(home, "emit", "before_tool", "--dialect", "oll") == ["ollama-cli", "ollm", "ollm-protocol", "ollm-rpc"]
    assert bash(home, "new", "mine", "--lang", "=", "p") == ["python"]
    assert bash(home, "new", "--template", "") == ["context", "logging", "policy", "validation"]


def test_bash_offers_the_hooks_there_are(home: Path) -> None:
    assert bash(home, "show", "") == ["greeter", "guard"]
    assert bash(home, "trust", "approve", "gr") == ["greeter"]
    assert bash(home, "share", "guard", "--output", "x", "gr") == ["greeter"]


def test_bash_offers_built_in_hooks_that_can_be_switched(home: Path) -> None:
    logs = ["error-log", "permission-log", "prompt-log", "skill-log", "subagent-log", "tool-log"]
    offered = bash(home, "enable", "builtin")
    assert set(offered) >= {f"builtin:{name}" for name in logs}
    # a shell splits a word at its colons
    assert bash(home, "enable", "builtin", ":", "tool") == ["tool-log"]
    assert set(bash(home, "disable", "builtin", ":")) >= set(logs)
    assert bash(home, "enable", "gr") == ["greeter"]


def test_bash_offers_events_and_files(home: Path) -> None:
    (home.parent / "project" / "my notes.json").write_text("{}")

    assert bash(home, "emit", "before_t") == ["before_tool", "before_tool_selection"]
    assert " ".join(bash(home, "add", "--from", "my")) == "my notes.json"


def test_bash_takes_no_value_of_an_option_for_a_command(home: Path) -> None:
    assert bash(home, "list", "--event", "emit", "--sou") == ["--source"]


def test_hook_with_a_dangerous_name_is_not_offered(home: Path) -> None:
    words = hookline(home, "completion", "--words", "hooks")

    assert words.stdout.split() == ["greeter", "guard"]
    assert bash(home, "show", "") == ["greeter", "guard"]
    assert not (home.parent / "project" / "pwned").exists()


def test_fish_offers_the_same(home: Path) -> None:
    path = script(home, "fish")

    def fish(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"],
            cwd=home.parent / "project",
            env=env(home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]

    assert sorted(fish("hookline ")) == sorted(COMMANDS)
    assert fish("hookline trust ap") == ["approve"]
    assert fish("hookline show g") == ["greeter", "guard"]
    assert fish("hookline emit x --dialect ollama") == ["ollama-cli"]
    assert fish("hookline list --so") == ["--source"]


def test_zsh_offers_the_same(home: Path) -> None:
    path = script(home, "zsh")
    terminal, theirs = pty.openpty()
    zsh = subprocess.Popen(
        ["zsh", "-f", "-i"],
        cwd=home.parent / "project",
        env={**env(home), "TERM": "dumb", "PS1": "> "},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)

    def shows(wanted: str) -> bool:
        seen, end = "", time.monotonic() + PATIENCE
        while wanted not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536).decode("utf-8", "replace")
        return wanted in seen

    try:
        os.write(terminal, f"autoload -U compinit; compinit -u -D; source {path}; echo rea''dy\n".encode())
        assert shows("ready")
        for typed, shown in (
            ("hookline em\t", "emit "),
            ("\x15hookline trust ap\t", "approve "),
            ("\x15hookline show gu\t", "guard "),
            ("\x15hookline emit x --dialect ollama\t", "ollama-cli "),
            ("\x15hookline list --so\t", "--source="),
        ):
            os.write(terminal, typed.encode())
            assert shows(shown), typed
    finally:
        zsh.kill()
        zsh.wait()
        os.close(terminal)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_the_script(home: Path, shell: str) -> None:
    text = hookline(home, "completion", shell).stdout

    for command in COMMANDS:
        assert command in text


@pytest.mark.parametrize("kind", LIVE)
def test_every_kind_of_word_has_some(home: Path, kind: str) -> None:
    done = hookline(home, "completion", "--words", kind)

    assert done.returncode == 0
    assert done.stdout.split() == sorted(done.stdout.split())
    assert done.stdout


def test_shell_that_is_not_known_is_an_error(home: Path) -> None:
    assert "invalid choice: 'tcsh'" in hookline(home, "completion", "tcsh").stderr
    done = hookline(home, "completion")
    assert (done.returncode, done.stderr) == (1, "hookline: name the shell: hookline completion bash|zsh|fish\n")
