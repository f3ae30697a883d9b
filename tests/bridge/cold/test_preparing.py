"""Making ready what the quick way needs: by one at a time, and only where it can be written."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.bridge.cold import bundle, bundling
from hookline.bridge.cold.preparing import prepare
from tests.bridge.cold.quickly import Place, settle


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have the bundle made somewhere else."""
    path = tmp_path / "made" / "calls.bundle"
    path.parent.mkdir()
    monkeypatch.setattr(bundle, "FILE", str(path))
    monkeypatch.setattr(bundle, "MARK", f"{path}.begun")
    yield path
    path.parent.chmod(0o755)


def test_a_bundle_is_made_once_and_again_when_it_is_broken(file: Path) -> None:
    assert not bundling.is_fresh()
    assert prepare([]) == 0
    assert bundling.is_fresh()
    first = file.stat().st_mtime_ns
    assert prepare([]) == 0
    assert file.stat().st_mtime_ns == first
    file.write_bytes(file.read_bytes()[:1000])
    assert not bundling.is_fresh()
    assert prepare([]) == 0
    assert bundling.is_fresh()
    assert sorted(path.name for path in file.parent.iterdir()) == ["calls.bundle", "calls.bundle.begun"]


def test_nobody_makes_what_somebody_else_makes_just_now(file: Path) -> None:
    handle = os.open(bundle.MARK, os.O_WRONLY | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert prepare([]) == 0
        assert not file.exists()
    finally:
        os.close(handle)


def test_where_nothing_can_be_written_that_is_said(file: Path) -> None:
    file.parent.joinpath("calls.bundle").mkdir()
    assert prepare([]) == 1
    assert [path.name for path in file.parent.glob("*.bundle.[0-9]*")] == []


def test_the_first_time_what_was_made_for_it_is_old_enough_to_be_taken_for_unchanged(tmp_path: Path) -> None:
    place = Place(tmp_path)
    shutil.rmtree(place.home / ".local")
    place.write({"~/.config/hookline/hookline.toml": ""})
    settle([place])

    place.prepare()

    (snapshot,) = (path for path in (place.data / "snapshots").iterdir() if not path.name.startswith("."))
    assert snapshot.stat().st_mtime_ns - place.home.stat().st_ctime_ns > 2_000_000_000
