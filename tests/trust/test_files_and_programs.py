import os
from pathlib import Path

import pytest

from hookline.trust.files_and_programs import ALWAYS_READ, LARGEST, FileCache


def test_file_is_given_with_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")

    content = FileCache().read(str(tmp_path / "x"))

    assert content is not None
    assert content.is_readable
    assert content.data == b""


@pytest.mark.parametrize("name", ["gone", "folder", "file/below", "a\0b", "\ud800"])
def test_what_is_no_file_is_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    assert FileCache().read(f"{tmp_path}/{name}") is None


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/null", "/proc/self/cmdline"])
def test_device_has_no_content(path: str) -> None:
    assert FileCache().read(path) is None


def test_pipe_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    content = FileCache().read(str(tmp_path / "pipe"))

    assert content is not None
    assert not content.is_readable
    assert content.sha256 == "not a file"


def test_link_to_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "x")

    content = FileCache().read(str(tmp_path / "x"))

    assert content is not None
    assert not content.is_readable


@pytest.mark.parametrize("size", [ALWAYS_READ, ALWAYS_READ + 1, 300_000])
def test_large_file_that_did_not_change_is_the_same_and_one_that_did_is_not(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * size)
    contents = FileCache()
    first = contents.read(str(path))
    assert first == contents.read(str(path))

    with path.open("r+b") as file:
        file.write(b"b")

    second = contents.read(str(path))
    assert second is not None
    assert second.data == b"b" + b"a" * (size - 1)


def test_settled_large_file_is_read_once() -> None:
    # the program that runs this test is large and was installed a while ago
    path = os.path.realpath("/bin/bash")
    contents = FileCache()

    assert contents.read(path) is contents.read(path)


def test_huge_file_is_known_by_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    contents = FileCache()
    first = contents.read(str(path))
    assert first is not None
    assert not first.is_readable
    assert len(first.sha256) == 64

    with path.open("r+b") as file:
        file.seek(LARGEST)
        file.write(b"x")

    assert contents.read(str(path)) != first
