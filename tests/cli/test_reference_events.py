import json

import pytest

from hookline.cli.main import main
from hookline.model.event import EventName


@pytest.mark.spec("C-01", "O-03")
def test_every_event_is_listed_with_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--json"]) == 0

    listed = {row["event"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(listed) == set(EventName)
    names = listed["before_tool"]["names"]
    assert (names["ollm-protocol"], names["cli-agent"], names["gemini-cli"]) == (
        "pre-tool-call",
        "PreToolUse",
        "BeforeTool",
    )
    assert "ollm-rpc" not in names
    assert listed["before_tool"]["rewrites"] == "args"
    assert listed["file_edited"]["names"]["ollm-rpc"] == "fileEdited"


@pytest.mark.spec("C-01")
def test_table_of_one_dialect_has_its_events_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dialect", "ollama-cli"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 14
    assert any("PermissionRequest" in line for line in lines)
