import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.agents import Person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Be somebody else: with a home of their own, in a project."""
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOOKS_ENABLED", "HOOKS_TIMEOUT", "HOOKLINE_CANARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.project)
    return made


@pytest.fixture(scope="session", autouse=True)
def forgotten() -> Iterator[None]:
    """Let go of stores that could not be written to: at the end of the program they would try once more."""
    yield
    gc.collect()
