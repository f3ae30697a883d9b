"""Which agents are found, with real programs on the PATH."""

from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.status import DetectedAgent, detect
from tests.hosts.settings import around


def program(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("v1.2.3-beta.4", "1.2.3-beta.4"),
        ("no idea", ""),
    ],
)
def test_a_program_says_its_version(said: str, version: str, tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "claude", f'test "$1" = --version && echo "{said}"')
    where = around(tmp_path, PATH=f"{tmp_path}/bin:/usr/bin:/bin")

    assert detect([HOSTS["claude-code"]], where) == {"claude-code": DetectedAgent(program=str(path), version=version)}


def test_a_program_of_a_package_is_not_run_for_its_version(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "gemini-cli"
    real = program(package / "bundle", "gemini.js", f"touch {tmp_path}/ran")
    (package / "package.json").write_text('{"version": "0.61.0", "bin": {"gemini": "bundle/gemini.js"}}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gemini").symlink_to(real)

    found = detect([HOSTS["gemini-cli"]], around(tmp_path, PATH=f"{tmp_path}/bin"))["gemini-cli"]

    assert found.version == "0.61.0"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 5, "bin": {"gemini": ""}}', '{"version": "9.9.9", "bin": "x"}']
)
def test_a_package_that_says_nothing_about_the_program_is_passed_over(text: str, tmp_path: Path) -> None:
    program(tmp_path / "bin", "gemini", "echo 1.2.3")
    (tmp_path / "package.json").write_text(text)

    found = detect([HOSTS["gemini-cli"]], around(tmp_path, PATH=f"{tmp_path}/bin:/bin"))["gemini-cli"]

    assert found.version == "1.2.3"


@pytest.mark.parametrize("body", ["exit 1", "kill -SEGV $$", "exec /nowhere/node"])
def test_a_program_that_does_not_run_is_there_all_the_same(body: str, tmp_path: Path) -> None:
    program(tmp_path / "bin", "gemini", body)

    found = detect([HOSTS["gemini-cli"]], around(tmp_path, PATH=f"{tmp_path}/bin:/usr/bin:/bin"))["gemini-cli"]

    assert (found.is_there, found.version) == (True, "")


def test_a_program_that_a_project_brings_along_is_not_run(tmp_path: Path) -> None:
    where = around(tmp_path, PATH=f"{tmp_path}/project/bin:/usr/bin:/bin")
    program(where.project / "bin", "claude", f"echo 6.6.6; touch {tmp_path}/ran")

    found = detect([HOSTS["claude-code"]], where)["claude-code"]

    assert (found.is_there, found.version) == (True, "")
    assert not (tmp_path / "ran").exists()


def test_a_folder_of_settings_speaks_for_an_agent(tmp_path: Path) -> None:
    where = around(tmp_path, PATH="/nowhere")
    (where.home / ".cursor").mkdir()

    found = detect(HOSTS.values(), where)

    assert [name for name, one in found.items() if one.is_there] == ["cursor"]
    assert found["cursor"].folder == str(where.home / ".cursor")
