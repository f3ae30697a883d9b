"""The table of dialects."""

from typing import Final

import pytest

from hookline.dialects import (
    DIALECTS,
    SHELL_DIALECTS,
    TEMPLATE_DIALECTS,
    antigravity,
    claude_code,
    cli_agent,
    cline,
    codex_cli,
    copilot_cli,
    cursor,
    factory_droid,
    gemini_cli,
    kiro,
    ollama_cli,
    ollm,
    ollm_protocol,
    ollm_rpc,
    opencode,
    qwen_code,
    windsurf,
)
from hookline.dialects import hookline as ours
from hookline.model.dialect import MatcherStyle
from hookline.model.hook import OnError
from hookline.ports import Dialect

SYSTEMS = ("ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline")


def test_dialects_of_documents_come_first_and_every_other_is_an_agent() -> None:
    assert tuple(name for name, dialect in DIALECTS.items() if not dialect.SPEC.is_agent) == SYSTEMS
    assert tuple(DIALECTS)[: len(SYSTEMS)] == SYSTEMS
    assert all(dialect.SPEC.name == name for name, dialect in DIALECTS.items())


def test_only_the_protocol_fails_closed_and_hurries() -> None:
    closed = {name for name, dialect in DIALECTS.items() if dialect.SPEC.on_error is OnError.BLOCK}

    assert closed == {"ollm-protocol"}
    assert {name: DIALECTS[name].SPEC.timeout for name in SYSTEMS if name not in closed} == dict.fromkeys(
        ("ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline"), 30.0
    )


def test_matchers_are_read_as_each_document_says() -> None:
    patterns = {name for name in SYSTEMS if DIALECTS[name].SPEC.matcher is MatcherStyle.PATTERN}

    assert patterns == {"cli-agent", "hookline"}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_tool_names_are_listed_once_and_the_sent_one_first(dialect: Dialect) -> None:
    for names in dialect.SPEC.tools.values():
        assert len(names) == len(set(names)) > 0


def test_no_two_agents_share_a_word() -> None:
    said = [word for name, dialect in DIALECTS.items() for word in (name, *dialect.SPEC.aliases)]

    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    "dialect", [one for one in DIALECTS.values() if one.SPEC.is_agent], ids=lambda one: one.SPEC.name
)
def test_every_event_of_an_agent_has_a_row_of_abilities(dialect: Dialect) -> None:
    assert set(dialect.SPEC.events.values()) <= set(dialect.SPEC.abilities)


# what a type checker looks at: each module is a dialect
CHECKED: Final[tuple[Dialect, ...]] = (
    *(antigravity, claude_code, cli_agent, cline, codex_cli, copilot_cli, cursor, factory_droid, gemini_cli),
    *(ours, kiro, ollama_cli, ollm, ollm_protocol, ollm_rpc, opencode, qwen_code, windsurf),
)


def test_the_table_names_every_module_by_the_name_it_gives_itself() -> None:
    assert {module.SPEC.name: module for module in CHECKED} == dict(DIALECTS)


def test_what_is_written_down_of_all_dialects_is_what_they_say() -> None:
    assert {name for name, dialect in DIALECTS.items() if dialect.SPEC.shell} == SHELL_DIALECTS
    assert {name for name, dialect in DIALECTS.items() if dialect.SPEC.templates} == TEMPLATE_DIALECTS
