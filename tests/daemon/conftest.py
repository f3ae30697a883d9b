from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookline.model.exchange import Answer
from tests.bridge.conftest import desk, person, program
from tests.daemon.living import Living, lived

__all__ = ["desk", "living", "person", "program"]


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    """Give a person whose agents are answered by a daemon of their own, which ends with the test."""
    with lived(tmp_path) as made:
        yield made


@pytest.fixture(params=["daemon", "one call"])
def ask(request: pytest.FixtureRequest, living: Living) -> Callable[..., Answer]:
    """Answer calls by a daemon, and by a process for each."""
    if request.param == "one call":
        return living.directly
    living.start()
    return living.ask
