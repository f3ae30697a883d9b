import json

import pytest

from hookline.cli.main import main


def test_every_dialect_is_listed_with_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialects", "--json"]) == 0

    listed = {row["dialect"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline", "claude-code"} < set(listed)
    assert len(listed) == 18
    assert (listed["ollm-protocol"]["timeout"], listed["ollm-protocol"]["on_error"]) == (5.0, "block")
    assert (listed["ollm"]["timeout"], listed["ollm"]["on_error"]) == (30.0, "continue")
    assert listed["cli-agent"]["shell"] is True


def test_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialects"]) == 0

    assert "a failing hook" in capsys.readouterr().out
