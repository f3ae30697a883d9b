"""These tests start real agents, so they run only when asked to: `make test-agents`."""

import os
from pathlib import Path

import pytest

from tests.agents.programs import missing

HERE = Path(__file__).parent
# a test that takes one of these runs an agent
RUNS_ONE = {"agent", "session"}
ASKED = os.environ.get("HOOKLINE_TEST_AGENTS") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    run = [item for item in items if HERE in item.path.parents and RUNS_ONE & set(getattr(item, "fixturenames", ()))]
    if run and ASKED and (gone := [program.name for program in missing()]):
        raise pytest.UsageError(f"not installed: {', '.join(gone)}. Run: python -m tests.agents.programs")
    for item in [] if ASKED else run:
        item.add_marker(pytest.mark.skip(reason="REAL AGENTS NOT TESTED: `make test-agents` does that"))
