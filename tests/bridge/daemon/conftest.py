from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.daemon.living import Living, lived


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    """Give a person whose agents are answered by a daemon of their own, which ends with the test."""
    with lived(tmp_path) as made:
        yield made
