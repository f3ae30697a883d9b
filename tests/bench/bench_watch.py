"""2,000 files changed in a second: how long until hooks heard of each, and what watching costs when nothing happens."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = int(os.environ.get("BENCH_FILES", "2000"))
IDLE = float(os.environ.get("BENCH_IDLE", "5"))
LONGEST = 300.0
HOOK = '[[hook]]\nid = "count"\non = "file_edited"\nrun = ["{script}"]\nfiles = ["*.txt"]\n'


def cpu(pid: int) -> float:
    """Give the processor time of a process in seconds, without that of its hooks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def measure(folder: Path) -> None:
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
        before, started = cpu(watcher.pid), time.monotonic()
        for path in files:
            path.write_text("new\n")
        wrote = time.monotonic() - started
        while (events := told.read_bytes().count(b'"type":"event"')) < FILES and time.monotonic() < started + LONGEST:
            time.sleep(0.05)
        took, busy = time.monotonic() - started, cpu(watcher.pid) - before
        time.sleep(2)
        before = cpu(watcher.pid)
        time.sleep(IDLE)
        idle = cpu(watcher.pid) - before
        events = told.read_bytes().count(b'"type":"event"')
        print(f"{FILES} files changed in {wrote:.2f} s: {events} events in {took:.2f} s, {busy:.2f} s of processor")  # noqa: T201 - see harness.py
        print(f"idle: {idle * 1000:.0f} ms of processor in {IDLE:g} s ({100 * idle / IDLE:.2f} %)")  # noqa: T201
        if events != FILES:
            raise SystemExit(f"{FILES} files were changed, and {events} events told")
    finally:
        watcher.terminate()
        watcher.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder))
