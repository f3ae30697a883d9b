"""2,000 files changed in a second: how long until hooks heard of each, and what watching costs when nothing happens."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench import harness
from tests.bench.processes import own_processor_time
from tests.bench.rows import Row, Section

FILES = harness.number_in("BENCH_FILES", 2_000)
IDLE = harness.number_in("BENCH_IDLE", 5)  # seconds
LONGEST = 300.0
HOOK = '[[hook]]\nid = "count"\non = "file_edited"\nrun = ["{script}"]\nfiles = ["*.txt"]\n'


def prepare(folder: Path) -> list[Path]:
    """Make a home with one hook, and a project with files."""
    settings = folder / "home" / ".config" / "hookline"
    settings.mkdir(parents=True)
    script = settings / "count.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (settings / "hookline.toml").write_text(HOOK.format(script=script))
    files = [folder / "project" / f"d{number % 50}" / f"{number}.txt" for number in range(FILES)]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
    return files


def watch(folder: Path) -> Section:
    """Change all files, wait for the last one, and then do nothing for a while."""
    files = prepare(folder)
    told = folder / "out"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HOOK"))}
    with told.open("wb") as out:
        watcher = subprocess.Popen(
            [sys.executable, "-m", "hookline", "watch", "--json"],
            cwd=folder / "project",
            env={**environment, "HOME": str(folder / "home")},
            stdout=out,
        )
    try:
        time.sleep(3)
        before, started = own_processor_time(watcher.pid), time.monotonic()
        for path in files:
            path.write_text("new\n")
        wrote = time.monotonic() - started
        while (events := told.read_bytes().count(b'"type":"event"')) < FILES and time.monotonic() < started + LONGEST:
            time.sleep(0.05)
        took, busy = time.monotonic() - started, own_processor_time(watcher.pid) - before
        time.sleep(2)
        before = own_processor_time(watcher.pid)
        time.sleep(IDLE)
        idle = own_processor_time(watcher.pid) - before
        events = told.read_bytes().count(b'"type":"event"')
        if events != FILES:
            raise SystemExit(f"{FILES} files were changed, and {events} events told")
    finally:
        watcher.terminate()
        watcher.wait()
    figures = {
        f"changing {FILES} files": wrote,
        "until hooks had heard of each": took,
        "processor time meanwhile, without that of the hooks": busy,
        f"processor time in {IDLE:g} s in which nothing happens": idle,
    }
    rows = tuple(Row(what=what, value=figure) for what, figure in figures.items())
    return Section(
        title="Watching files", about="One run of `hookline watch`, with one hook for each change.", rows=rows
    )


async def measure() -> Sequence[Section]:
    """Measure in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return [watch(Path(folder))]


if __name__ == "__main__":
    harness.main(measure)
