import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.files import lock_file, make_private_folder, replace_file

TAKE_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("taken")
    else:
        print("free")
"""


def test_private_folder_and_the_one_above_are_the_user_s_alone(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "data" / "journal")

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data", tmp_path / "data" / "journal")]
    assert modes == [0o700, 0o700]


def test_lock_keeps_other_processes_out_until_it_is_released(tmp_path: Path) -> None:
    def ask() -> str:
        command = [sys.executable, "-c", TAKE_LOCK, str(tmp_path / "lock")]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    with lock_file(tmp_path / "lock"):
        assert ask() == "taken"
    assert ask() == "free"


def test_file_is_replaced_with_its_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    path.write_bytes(b"old")
    path.chmod(0o644)

    replace_file(path, b"new", mode=0o600)

    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_removed_after_a_while(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".a.json.0123456789ab", tmp_path / ".a.json.ba9876543210"
    for left in (old, fresh):
        left.write_bytes(b"half")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))

    replace_file(tmp_path / "a.json", b"{}", mode=None)

    assert {path.name for path in tmp_path.iterdir()} == {"a.json", fresh.name}


def test_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()

    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "a.json", b"{}", mode=0o600)

    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
