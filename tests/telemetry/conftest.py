from collections.abc import Iterator

import pytest

from tests.daemon.conftest import living
from tests.telemetry.collector import Collector, collecting

__all__ = ["collector", "living"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made
