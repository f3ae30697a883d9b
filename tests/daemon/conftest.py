from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.conftest import desk, person, program
from tests.daemon.living import Living, lived

__all__ = ["desk", "living", "person", "program"]


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    """Give a person whose agents are answered by a daemon of their own, which ends with the test."""
    with lived(tmp_path) as made:
        yield made
