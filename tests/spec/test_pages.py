"""The pages of the agents say what the tables say."""

import re
from pathlib import Path

import pytest

from hookline.dialects import DIALECTS
from hookline.model.event import Ability

PAGES = Path(__file__).resolve().parents[2] / "docs" / "dialects"
MARK = "<!-- abilities -->"
WITH_TABLE = [
    name
    for name, dialect in DIALECTS.items()
    if dialect.SPEC.is_agent and (page := PAGES / f"{name}.md").exists() and MARK in page.read_text("utf-8")
]


def test_the_family_of_claude_code_has_pages() -> None:
    assert {"claude-code", "codex-cli", "qwen-code", "factory-droid"} <= set(WITH_TABLE)


@pytest.mark.parametrize("name", WITH_TABLE)
def test_the_page_of_an_agent_has_every_event_and_all_it_can_do(name: str) -> None:
    spec = DIALECTS[name].SPEC
    table = (PAGES / f"{name}.md").read_text("utf-8").partition(MARK)[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `([^`]+)` \| .* \| ([^|]*) \|$", table, re.MULTILINE))

    assert rows == {
        native: ", ".join(ability.value for ability in Ability if ability in able) or "nothing"
        for native, able in spec.abilities.items()
    }
