"""WatchOptions more folders than the system watches for one person."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

FOLDERS = 60
WATCH = f"""\
import asyncio, sys
from pathlib import Path
from hookline.sources.file_changes import FileMonitor
from hookline.sources.gitignore import GitIgnore
from hookline.sources.file_changes import FileTree

Path("/proc/sys/user/max_inotify_watches").write_text("10")
root = sys.argv[1]
told = []

async def main():
    files = FileMonitor(FileTree(root, GitIgnore(root), ()), rules=lambda: GitIgnore(root), number=lambda: 0, tell=told.append, quiet=0.05)
    found = set()
    async for batch in files.changes():
        if told and not list(Path(root).rglob("new")):
            for number in range({FOLDERS}):
                Path(root, f"d{{number}}", "new").write_text("x")
        found |= {{path for path in batch.paths if path.endswith("/new")}}
        if len(found) == {FOLDERS}:
            break

async def limited():
    async with asyncio.timeout({PATIENCE}):
        await main()

asyncio.run(limited())
print(told[0])
"""


@pytest.fixture
def unshare() -> str:
    found = shutil.which("unshare")
    if not found or subprocess.run([found, "-Ur", "true"], check=False, timeout=60, capture_output=True).returncode:
        pytest.skip("no user namespace can be made here")
    return found


def test_every_change_is_found_by_comparing_where_the_system_watches_too_few_folders(
    tmp_path: Path, unshare: str
) -> None:
    for number in range(FOLDERS):
        (tmp_path / f"d{number}").mkdir()

    done = subprocess.run(
        [unshare, "-Ur", sys.executable, "-c", WATCH, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "the system does not tell of changes" in done.stdout
    assert "folders are watched" in done.stdout
