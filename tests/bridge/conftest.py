import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.agents import Person, Staying
from tests.bridge.launching import Desk, build
from tests.daemon.living import short_folder


@pytest.fixture(params=["one call", "daemon"])
def person(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Be somebody else: with a home of their own, in a project."""
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOOKS_ENABLED", "HOOKS_TIMEOUT", "HOOKLINE_CANARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.project)
    if request.param == "daemon":
        made.staying = Staying()
    yield made
    if made.staying is not None:
        made.staying.close()


@pytest.fixture(scope="session", autouse=True)
def forgotten() -> Iterator[None]:
    """Let go of stores that could not be written to: at the end of the program they would try once more."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build(tmp_path_factory.mktemp("launcher"))
    if built is None:
        pytest.skip("no compiler here")
    return built


@pytest.fixture
def desk(program: Path, tmp_path: Path) -> Iterator[Desk]:
    with short_folder() as runtime:
        yield Desk(program, runtime, tmp_path)
