"""These tests start real agents, so they run only when asked to: `make test-agents`."""

import os
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS
from tests.agents.programs import missing

HERE = Path(__file__).parent
# a test that takes one of these runs an agent
RUNS_ONE = {"agent", "session"}
ASKED = os.environ.get("HOOKLINE_TEST_AGENTS") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    run = [item for item in items if HERE in item.path.parents and _runs_an_agent(item)]
    if run and ASKED and (gone := [program.name for program in missing()]):
        raise pytest.UsageError(f"not installed: {', '.join(gone)}. Run: python -m tests.agents.programs")
    for item in [] if ASKED else run:
        item.add_marker(pytest.mark.skip(reason="REAL AGENTS NOT TESTED: `make test-agents` does that"))


def _runs_an_agent(item: pytest.Item) -> bool:
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    names_one = any(isinstance(value, str) and value in AGENTS for value in parameters)
    return names_one or bool(RUNS_ONE & set(getattr(item, "fixturenames", ())))
