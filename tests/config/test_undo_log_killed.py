"""An undo that is killed before it wrote a file did not happen."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.config.undo_log import FileEdit, UndoLog

pytestmark = pytest.mark.slow

KILLED = """\
import os, signal, sys
from pathlib import Path
from hookline.config import undo_log

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

undo_log._write = die
undo_log.UndoLog(Path(sys.argv[1])).undo()
"""


def test_undo_that_was_killed_before_it_wrote_can_be_done_again(tmp_path: Path) -> None:
    file = tmp_path / "hookline.toml"
    file.write_bytes(b"before\n")
    journal = UndoLog(tmp_path / "data")
    with journal.transaction() as apply:
        apply([FileEdit(str(file), b"before\n", b"after\n")], "a change")

    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "data")], timeout=60, check=False)

    assert killed.returncode == -signal.SIGKILL
    assert file.read_bytes() == b"after\n"
    assert [entry.what for entry in journal.active()] == ["a change"]
    journal.undo()
    assert file.read_bytes() == b"before\n"
    assert journal.active() == []


def test_temporary_file_of_a_killed_writer_is_removed_by_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "hookline.toml"
    left, fresh, other = (
        tmp_path / name for name in (".hookline.toml.0123456789ab", ".hookline.toml.ba9876543210", ".env")
    )
    for path in (left, fresh, other):
        path.write_text("x")
    os.utime(left, (time.time() - 3_600,) * 2)

    with UndoLog(tmp_path / "data").transaction() as apply:
        apply([FileEdit(str(file), None, b"after\n")], "a change")

    assert not left.exists()
    assert fresh.exists()
    assert other.exists()
