"""Whether the program that runs still is the one that is installed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookline.daemon import lifecycle
from hookline.daemon.lifecycle import CodeWatch


@pytest.fixture(params=["told by the system", "looking"])
def package(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a package, on a system that tells of changes and on one that does not."""
    if request.param == "looking":
        monkeypatch.setattr(lifecycle, "_start_watch", lambda _root: -1)
    for name in ("a.py", "inner/b.py", "inner/deep/c.py", "inner/data.txt", "__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    return tmp_path


@pytest.fixture
def known(package: Path) -> Iterator[CodeWatch]:
    made = CodeWatch(package)
    yield made
    made.close()


def test_what_nobody_touches_stays(known: CodeWatch) -> None:
    assert not known.has_changed()
    assert not known.look_again()
    assert not known.has_changed()


CHANGES: dict[str, Callable[[Path], object]] = {
    "another text": lambda package: (package / "inner/b.py").write_text("22"),
    "one more": lambda package: (package / "inner/deep/new.py").write_text("2"),
    "one less": lambda package: (package / "a.py").unlink(),
    "put there anew": lambda package: _put_anew(package / "a.py"),
    "a new folder": lambda package: _make(package / "more" / "d.py"),
}


def _put_anew(path: Path) -> None:
    path.with_name("beside.txt").write_text("another")
    path.with_name("beside.txt").replace(path)


def _make(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("1")


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_at_once_and_for_good(known: CodeWatch, package: Path, change: str) -> None:
    CHANGES[change](package)
    assert known.has_changed()
    assert known.has_changed()


def test_what_is_no_module_is_no_change(known: CodeWatch, package: Path) -> None:
    (package / "inner/data.txt").write_text("2")
    (package / "inner/__pycache__").mkdir()
    (package / "inner/__pycache__/b.pyc").write_text("2")
    assert not known.has_changed()


def test_another_interpreter_is_seen(known: CodeWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert known.has_changed()
