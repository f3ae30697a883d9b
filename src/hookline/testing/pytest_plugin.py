"""The pytest plugin: fixtures for tests of hooks, and readable differences between an answer and the expected one.

pytest loads it in every run of a machine where Hookline is installed, so it imports nothing else of Hookline by itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hookline.testing.hook_run import HooklineProject, RecordingEngine


@pytest.fixture
def hookline_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder for the test and the processes that it starts, without variables and the daemon of the user."""
    import os  # noqa: PLC0415 - see above

    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("HOOKLINE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOOKLINE_DAEMON", "off")
    return home


@pytest.fixture
def hookline_project(tmp_path: Path, hookline_home: Path) -> "HooklineProject":  # noqa: ARG001 - for its environment
    """A project in `tmp_path`, in an empty home folder: write its hooks, and run them."""
    from hookline.testing.hook_run import HooklineProject  # noqa: PLC0415

    return HooklineProject(tmp_path)


@pytest.fixture
def hookline_engine() -> "Iterator[RecordingEngine]":
    """A recording engine without hooks, closed after the test."""
    from hookline.testing.hook_run import RecordingEngine, wait_for  # noqa: PLC0415

    engine = RecordingEngine()
    yield engine
    wait_for(engine.close())


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain why an answer is not the expected one."""
    for expected, answer in ((right, left), (left, right)):
        # without an import: nothing is one of ours where the module was never loaded
        if op == "==" and type(expected).__name__ == "ExpectedAnswer":
            find = getattr(expected, "find_differences", None)
            if find is not None:
                return [f"the answer is not {expected!r}", *find(answer)]
    return None
