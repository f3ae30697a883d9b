"""Which launcher an installation writes into the settings of agents."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from hookline.hosts.command_line import find_launcher
from hookline.version import __version__
from tests.bridge.launching import SOURCE
from tools.hatch_build import compiled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is none elsewhere")


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a Python, and no launcher anywhere else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "argv", ["/nowhere/hookline"])
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    return folder


def put(path: Path, version: str = __version__) -> str:
    path.parent.mkdir(exist_ok=True)
    if not compiled(SOURCE, path, version=version):
        pytest.skip("no compiler here")
    return str(path)


def test_the_launcher_beside_the_python_is_taken(bin_folder: Path) -> None:
    made = put(bin_folder / "hookline-hook")

    # a link stays what it is: where it leads to is the Python of everybody
    assert find_launcher(str(bin_folder / "python")) == made


def test_the_launcher_beside_the_program_that_was_called_is_taken(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = put(tmp_path / "theirs" / "hookline-hook")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "theirs" / "hookline")])

    assert find_launcher(str(bin_folder / "python")) == made


def test_the_launcher_where_scripts_of_this_python_go_is_taken(bin_folder: Path, tmp_path: Path) -> None:
    made = put(tmp_path / "scripts" / "hookline-hook")

    assert find_launcher(str(bin_folder / "python")) == made


def test_none_is_none(bin_folder: Path) -> None:
    assert find_launcher(str(bin_folder / "python")) == ""


def test_one_of_another_version_is_none(bin_folder: Path) -> None:
    put(bin_folder / "hookline-hook", version="0.0.1")

    assert find_launcher(str(bin_folder / "python")) == ""


def test_a_script_is_none_and_is_not_even_run(bin_folder: Path, tmp_path: Path) -> None:
    script = bin_folder / "hookline-hook"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho hookline-hook {__version__} native\n")
    script.chmod(0o755)

    assert find_launcher(str(bin_folder / "python")) == ""
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"", b"\x7fELF for another machine", b"MZ"])
def test_a_program_that_does_not_run_here_is_none(bin_folder: Path, content: bytes) -> None:
    (bin_folder / "hookline-hook").write_bytes(content)
    (bin_folder / "hookline-hook").chmod(0o755)

    assert find_launcher(str(bin_folder / "python")) == ""


def test_a_program_that_may_not_be_run_is_none(bin_folder: Path) -> None:
    put(bin_folder / "hookline-hook")
    (bin_folder / "hookline-hook").chmod(0o644)

    assert find_launcher(str(bin_folder / "python")) == ""
