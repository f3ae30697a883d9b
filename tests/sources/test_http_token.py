import os
import stat
import threading
from pathlib import Path

import pytest

from hookline.errors import ConfigError, StoreError
from hookline.sources.http import read_token


def test_token_and_secret_are_made_once_and_are_the_persons_alone(tmp_path: Path) -> None:
    first = read_token(tmp_path / "data")
    second = read_token(tmp_path / "data")

    assert first == second
    assert first.value != first.secret
    for path in (first.path, first.secret_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["http-secret", "http-token"]


def test_programs_that_come_first_at_once_agree(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(read_token(tmp_path / "data").value)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 20
    assert len(set(found)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_token_that_others_can_read_is_none(tmp_path: Path, mode: int) -> None:
    read_token(tmp_path).path.chmod(mode)

    with pytest.raises(ConfigError, match=r"http-token: others may read or change this; remove it"):
        read_token(tmp_path)


@pytest.mark.parametrize("text", ["", "short", "x" * 31, "x" * 20 + " " + "x" * 20])
def test_a_token_that_could_be_guessed_is_none(tmp_path: Path, text: str) -> None:
    read_token(tmp_path).path.write_text(text)

    with pytest.raises(ConfigError, match="no token of 32 or more"):
        read_token(tmp_path)


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x" * 40)
    (tmp_path / "http-token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="http-token"):
        read_token(tmp_path)

    (tmp_path / "http-token").unlink()
    os.mkfifo(tmp_path / "http-token")
    with pytest.raises(ConfigError, match="no plain file"):
        read_token(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(StoreError, match=r"cannot use .*http-token"):
        read_token(tmp_path / "data")


def test_what_is_valid_and_signed_is_compared_whole(tmp_path: Path) -> None:
    token = read_token(tmp_path)

    assert token.is_valid(token.value)
    assert not token.is_valid(token.value[:-1])
    assert not token.is_valid("")
    assert not token.has_signed("", b"x")
    assert not token.has_signed("sha256=", b"x")
