"""The written table is what the dialects say now."""

from hookline.model.dialect import AGENTS
from hookline.model.names import TOOL_NAMES
from tools.dialect_names import PAGE, TARGET, render, render_page


def test_written_names_are_those_of_the_dialects() -> None:
    assert TARGET.read_text() == render(), "run tools/dialect_names.py"


def test_the_page_on_tools_has_the_names_of_the_dialects() -> None:
    assert PAGE.read_text() == render_page(PAGE.read_text()), "run tools/dialect_names.py"


def test_every_agent_has_names_for_the_shell() -> None:
    assert all(TOOL_NAMES[agent]["shell"] for agent in AGENTS)
