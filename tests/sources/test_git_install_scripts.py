import shutil
import subprocess
from pathlib import Path

import pytest

from hookline.sources.git_install import (
    HOOKS,
    MARK,
    needs_own_file,
    parse_shell,
    script_beside,
    script_forwarding,
    script_redirected,
)
from tests.sources.repositories import Repository

NO_PYTHON = "/nowhere/bin/python"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.hook(".git/hooks/pre-commit")
    made.hookline("install")
    return made


def lose_python(repository: Repository) -> None:
    """Let every script of ours look for a Python that is not there."""
    for hook in HOOKS:
        path = repository.top / ".git" / "hooks" / hook
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(f"python={NO_PYTHON}\n" if line.startswith("python=") else line for line in lines))


def test_a_guard_that_cannot_be_asked_blocks_and_says_how_to_go_on(repository: Repository) -> None:
    lose_python(repository)

    done = repository.commit("first", ok=False)

    assert done.returncode == 1
    assert f"the hooks could not be asked for pre-commit ({NO_PYTHON} is gone), so this is blocked" in done.stderr
    assert "mv '.git/hooks/pre-commit.before-hookline' '.git/hooks/pre-commit'" in done.stderr
    assert repository.theirs() == ["pre-commit "]
    repository.commit("first", "--no-verify")


def test_the_way_out_by_hand_works(repository: Repository) -> None:
    lose_python(repository)
    hooks = repository.top / ".git" / "hooks"

    (hooks / "pre-commit.before-hookline").replace(hooks / "pre-commit")
    done = repository.commit("first", ok=False)
    assert "rm '.git/hooks/commit-msg'" in done.stderr
    (hooks / "commit-msg").unlink()

    repository.commit("first")
    assert repository.theirs() == ["pre-commit ", "pre-commit "]


def test_a_hookline_that_cannot_start_blocks(repository: Repository) -> None:
    python = repository.home / "python"
    python.write_text("#!/bin/sh\necho No module named hookline >&2\nexit 1\n")
    python.chmod(0o755)
    path = repository.top / ".git" / "hooks" / "commit-msg"
    text = path.read_text().splitlines(keepends=True)
    path.write_text("".join(f"python={python}\n" if line.startswith("python=") else line for line in text))

    done = repository.commit("first", ok=False)

    assert done.returncode == 1
    assert "No module named hookline" in done.stderr
    assert "the hooks could not be asked for commit-msg (exit code 1), so this is blocked" in done.stderr


def test_a_checkout_goes_on_without_us(repository: Repository) -> None:
    repository.commit("first")
    lose_python(repository)

    done = repository.git("checkout", "-q", "-b", "side")

    assert f"could not be asked for post-checkout ({NO_PYTHON} is gone)\n" in done.stderr


@pytest.mark.parametrize(
    ("line", "shell"),
    [
        (b"#!/bin/sh\n", "/bin/sh"),
        (b"#! /bin/bash -eu\n", "/bin/bash -eu"),
        (b"#!/usr/bin/env bash", "/usr/bin/env bash"),
        (b"#!/usr/local/bin/dash\n", "/usr/local/bin/dash"),
        (b"#!/bin/sh\r\n", ""),
        (b"#!/usr/bin/env python3\n", ""),
        (b"#!/usr/bin/env -S sh -c 'rm -rf /'\n", ""),
        (b"#!/bin/sh; rm -rf /\n", ""),
        (b"#!/opt/$(x)/sh\n", ""),
        (b"#!sh\n", ""),
        (b"echo\n", ""),
        (b"", ""),
        (b"\x7fELF\x02\x01", ""),
    ],
)
def test_only_a_plain_shell_is_a_shell(line: bytes, shell: str) -> None:
    assert parse_shell(line) == shell


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_every_script_is_one_that_a_shell_can_read(tmp_path: Path, hook: str, shell: str) -> None:
    odd = '/it\'s "a" $HOME `path`/python'
    scripts = [
        script_beside(hook, python=odd, shell=""),
        script_beside(hook, python=odd, shell="/bin/sh"),
        script_redirected(
            hook, python=odd, folder="folder='it'\"'\"'s'", undo="git config core.hooksPath 'it'\"'\"'s $HOME'"
        ),
        script_forwarding(hook, folder="folder=.husky"),
    ]
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    for number, script in enumerate(scripts):
        path = tmp_path / str(number)
        path.write_bytes(script)
        done = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert MARK in script[:200]
        assert b"@" not in script.replace(b'"$@"', b"")


def test_an_odd_path_is_taken_as_it_is(tmp_path: Path) -> None:
    odd = f'{tmp_path}/it\'s "a" $HOME `path`'
    script = tmp_path / "script"
    script.write_bytes(
        script_redirected("pre-commit", python=odd, folder="folder=none", undo="git config x 'it'\"'\"'s $HOME'")
    )

    done = subprocess.run(["/bin/sh", str(script)], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"({odd} is gone)" in done.stderr
    assert "or by hand: git config x 'it'\"'\"'s $HOME'" in done.stderr


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        (b'. "$(dirname "$0")/husky.sh"', False),
        (b'HERE="$(cd "$(dirname "$0")" && pwd)"', False),
        (b'name=$(basename -- "${0}"); folder=${0%/*}; name=${0##*/}', False),
        (b"echo $1 $# ${10} $00", True),
        (b"echo $1 $# ${10}", False),
        (b'[[ "${BASH_SOURCE[0]}" == "$0" ]] && main', True),
        (b"dir=$(dirname $BASH_SOURCE)", True),
        (b"(return 0 2>/dev/null) && sourced=1", True),
        (b'cd "$(dirname "$(readlink -f "$0")")"', True),
        (b'exec "$0" "$@"', True),
        (b"tail -n +10 $0 | sh", True),
    ],
)
def test_a_script_that_looks_into_its_own_file_is_known(line: bytes, *, needs: bool) -> None:
    assert needs_own_file(b"#!/bin/sh\n" + line + b"\n") is needs
