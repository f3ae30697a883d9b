import os
from pathlib import Path

import pytest

from hookline.trust.files_and_programs import (
    Executable,
    ExecutableHashes,
    find_executables,
    inspect_executable,
    parse_shebang,
)


def program(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"", ()),
        (b"echo", ()),
        (b"#!", ()),
        (b"#!/bin/sh\necho", ("/bin/sh",)),
        (b"#! /bin/sh -e\n", ("/bin/sh",)),
        (b"#!/usr/bin/env python3\n", ("/usr/bin/env", "python3")),
        (b"#!/usr/bin/env -S A=1 node --x\n", ("/usr/bin/env", "node")),
        (b"#!/usr/bin/env\n", ("/usr/bin/env",)),
    ],
)
def test_interpreter_line_is_read(line: bytes, wanted: tuple[str, ...]) -> None:
    assert parse_shebang(line) == wanted


def test_relative_folders_and_what_cannot_be_executed_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "relative" / "tool")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "tool").write_text("x")
    right = program(tmp_path / "right" / "tool")
    monkeypatch.chdir(tmp_path)

    path = f"relative::{tmp_path}/plain:{tmp_path}/gone:{right.parent}"
    assert list(find_executables("tool", path)) == [str(right)]
    assert list(find_executables("tool", "relative")) == []


def seen(path: Path | str) -> Executable:
    about = inspect_executable(str(path))
    assert about is not None
    return Executable("tool", str(path), seen=() if about.is_fixed else about.state)


def test_program_the_person_can_change_is_known_by_its_content(tmp_path: Path) -> None:
    path = program(tmp_path / "tool")
    programs = ExecutableHashes()
    now = seen(path)
    approved = programs.with_hash(now)
    assert len(approved.sha256) == 64
    assert programs.is_same(now, approved)

    path.write_text("y")
    assert programs.list_changed([seen(path)], [approved]) == ["tool"]

    path.write_text("x")
    assert programs.list_changed([seen(path)], [approved]) == []


def test_program_of_the_system_is_known_by_its_place() -> None:
    programs = ExecutableHashes()
    now = seen("/bin/sh")
    assert now == Executable("tool", "/bin/sh")
    assert programs.with_hash(now) == now

    assert programs.list_changed([now], [Executable("tool", "/bin/sh")]) == []
    assert programs.list_changed([now], [Executable("tool", "/elsewhere/sh")]) == ["tool"]
    assert programs.list_changed([now], []) == ["tool"]


def test_program_that_becomes_changeable_is_another_one(tmp_path: Path) -> None:
    path = program(tmp_path / "tool")

    assert ExecutableHashes().list_changed([seen(path)], [Executable("tool", str(path))]) == ["tool"]


def test_program_that_is_gone_is_nothing(tmp_path: Path) -> None:
    assert inspect_executable(str(tmp_path / "x")) is None
    gone = Executable("x", str(tmp_path / "x"), seen=(1,))
    assert ExecutableHashes().with_hash(gone).sha256 == "unreadable: No such file or directory"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_program_in_a_folder_the_person_can_write_is_changeable(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")

    about = inspect_executable(str(tmp_path / "sh"))

    assert about is not None
    assert not about.is_fixed
