import subprocess
import sys
from pathlib import Path

import pytest

from hookline.errors import EngineError, StoreError
from hookline.sources.watcher import lock_project

HOLD = """
import sys
from pathlib import Path
from hookline.sources.watcher import lock_project
with lock_project(sys.argv[1], Path(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_watcher_of_the_same_project_is_told_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project")
    command = [sys.executable, "-c", HOLD, str(tmp_path / "project"), str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"

        with (
            pytest.raises(EngineError, match=f"process {first.pid} is watching"),
            lock_project(str(tmp_path / "link"), tmp_path / "data"),
        ):
            pass
        with lock_project(str(tmp_path), tmp_path / "data"):
            pass
        first.kill()
        first.wait()

        with lock_project(str(tmp_path / "project"), tmp_path / "data"):
            pass


def test_the_file_is_the_persons_alone(tmp_path: Path) -> None:
    with lock_project(str(tmp_path), tmp_path / "data"):
        lock = next((tmp_path / "data" / "watching").iterdir())
        assert lock.stat().st_mode & 0o077 == 0


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(StoreError, match="cannot write"), lock_project(str(tmp_path), tmp_path / "data"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_the_data_folder_it_makes_is_private(tmp_path: Path) -> None:
    data = tmp_path / "share" / "hookline"

    with lock_project(str(tmp_path), data):
        modes = [folder.stat().st_mode & 0o777 for folder in (data, data / "watching")]

    assert modes == [0o700, 0o700]
