import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.daemon.living import Living


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    """Give a person whose agents are answered by a daemon of their own, which ends with the test."""
    # short, because the path of a socket is
    runtime = Path(tempfile.mkdtemp(prefix="hkl-", dir="/tmp"))
    made = Living(tmp_path, runtime)
    yield made
    made.end()
    shutil.rmtree(runtime)
