"""A call answered in a process of its own, both ways: by the whole program, and by the quick way."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

import hookline
from hookline import wire
from hookline.stores.sqlite import SqliteTraces
from tests.cli.program import environment

SOURCE: Final = Path(hookline.__file__).resolve().parent
# longer than the slowest clock of a file system takes to tick: what is younger may still change unseen
SETTLED: Final = 2.2
# what differs from one call to the next
_OF_THE_MOMENT: Final = frozenset({"trace", "parent", "at", "duration", "slow", "time", "since"})


class Said(Struct, frozen=True, kw_only=True):
    """What a call was answered with, and everything that was written down about it."""

    code: int
    stdout: bytes
    stderr: bytes
    traces: list[object]
    ledger: dict[str, list[object]]


class Place:
    """A copy of the package, a person's home and a project: nobody changes them under a test."""

    def __init__(self, folder: Path, *, package: Path | None = None) -> None:
        self.package = package or folder / "package" / "hookline"
        self.home = folder / "home"
        self.project = folder / "project"
        self.data = self.home / ".local" / "share" / "hookline"
        self._kept = folder / "approved"
        # as it is from the second call of a person on
        for made in (self.data, self.project):
            made.mkdir(parents=True)
        if not self.package.exists():
            shutil.copytree(SOURCE, self.package, ignore=shutil.ignore_patterns("*.bundle*"))

    @property
    def start(self) -> Path:
        """The program that the launcher starts."""
        return self.package / "bridge" / "cold" / "start.py"

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the home folder (`~/…`) and the project; what begins with `#!` can be run."""
        for name, text in files.items():
            path = self.home / name[2:] if name.startswith("~/") else self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)

    def run(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run the whole program, from the same copy."""
        return self._run([sys.executable, "-m", "hookline", *words], stdin, env or {})

    def quick(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run what the launcher starts; only the quick way, unless the variables say otherwise."""
        line = [sys.executable, "-E", "-P", "-S", str(self.start), *words]
        return self._run(line, stdin, {"HOOKLINE_COLD": "only", **(env or {})})

    def prepare(self, env: Mapping[str, str] | None = None) -> None:
        """Make everything ready for the quick way."""
        (self.data / "snapshots" / ".prepared").unlink(missing_ok=True)
        done = self.quick("--prepare", str(self.project), env=env)
        assert done.returncode == 0, done.stderr.decode()

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Give the variables of a call."""
        return environment(self.home, PYTHONPATH=str(self.package.parent)) | dict(env or {})

    def _run(self, words: list[str], stdin: bytes, env: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            words,
            cwd=self.project,
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )

    def keep_approvals(self) -> None:
        """Remember what was approved by now: `forget` leaves it."""
        self._kept.mkdir(exist_ok=True)
        for path in self.data.glob("approvals.json"):
            shutil.copy2(path, self._kept / path.name)

    def forget(self) -> None:
        """Forget everything that earlier calls left, but for approvals that are kept, and snapshots."""
        for path in self.data.glob("*"):
            if path.is_dir() and path.name != "snapshots":
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
        for path in self._kept.glob("*"):
            shutil.copy2(path, self.data / path.name)

    def said(self, done: "subprocess.CompletedProcess[bytes]") -> Said:
        """Collect what a call left behind."""
        store = SqliteTraces(self.data / "traces.db")
        traces = [_timeless(wire.load(line)) for line in store.export()]
        store.close()
        ledger = {
            path.name: [_timeless(wire.load(line)) for line in path.read_bytes().splitlines()]
            for path in sorted((self.data / "sessions").glob("*"))
        }
        return Said(code=done.returncode, stdout=done.stdout, stderr=done.stderr, traces=traces, ledger=ledger)


def _timeless(value: object) -> object:
    """Leave out what is another at each call."""
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in _OF_THE_MOMENT}
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    return value


# what `--prepare` does, for many people in one go
_PREPARE_ALL: Final = """
import os, sys
from hookline.bridge.cold.preparing import prepare
for home, project in zip(sys.argv[1::2], sys.argv[2::2]):
    os.environ["HOME"] = home
    os.chdir(project)
    assert prepare([project]) == 0
"""


def prepare_all(places: list[Place]) -> None:
    """Make everything ready for the quick way in places that share a package."""
    pairs = [str(path) for place in places for path in (place.home, place.project)]
    env = places[0].environment()
    done = subprocess.run(
        [sys.executable, "-c", _PREPARE_ALL, *pairs], env=env, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def settle(places: list[Place]) -> None:
    """Wait until everything in these places is old enough to be taken for unchanged."""
    newest = max(
        os.lstat(path).st_ctime for place in places for root in (place.home, place.project) for path in root.rglob("*")
    )
    while time.time() < newest + SETTLED:
        time.sleep(0.05)
