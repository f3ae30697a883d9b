from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.stores.sqlite import SqliteTraces


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "traces.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteTraces]:
    opened = SqliteTraces(path)
    yield opened
    opened.close()
