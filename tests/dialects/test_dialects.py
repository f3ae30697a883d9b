"""The table of dialects."""

import pytest

from hookline.dialects import DIALECTS
from hookline.model.dialect import MatcherStyle
from hookline.model.hook import OnError
from hookline.ports import Dialect


def test_six_dialects_under_their_names() -> None:
    assert list(DIALECTS) == ["ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline"]
    assert all(dialect.SPEC.name == name for name, dialect in DIALECTS.items())


def test_only_the_protocol_fails_closed_and_hurries() -> None:
    closed = {name for name, dialect in DIALECTS.items() if dialect.SPEC.on_error is OnError.BLOCK}

    assert closed == {"ollm-protocol"}
    assert {name: dialect.SPEC.timeout for name, dialect in DIALECTS.items() if name not in closed} == dict.fromkeys(
        ("ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline"), 30.0
    )


def test_matchers_are_read_as_each_document_says() -> None:
    patterns = {name for name, dialect in DIALECTS.items() if dialect.SPEC.matcher is MatcherStyle.PATTERN}

    assert patterns == {"cli-agent", "hookline"}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_tool_names_are_listed_once_and_the_sent_one_first(dialect: Dialect) -> None:
    for names in dialect.SPEC.tools.values():
        assert len(names) == len(set(names)) > 0
