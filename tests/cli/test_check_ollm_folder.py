"""What people save in OLLM's folder as its documents say, and forget."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    configure(home, "")
    (home / ".ollm" / "hooks").mkdir(parents=True)
    return home


def save(home: Path, name: str, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (home / ".ollm" / "hooks" / name).write_text(text)


def test_script_without_a_definition_is_pointed_at(home: Path) -> None:
    save(home, "log-model-calls.js", "console.log(1)")
    done = hookline(home, "check")

    assert done.returncode == 1
    assert "log-model-calls.js: warning: no hook runs this script" in done.stdout

    save(home, "log.json", {"id": "log", "event": "before_model", "command": "node", "args": ["log-model-calls.js"]})
    assert "no hook runs this script" not in hookline(home, "check").stdout


def test_event_of_another_dialect_is_pointed_at(home: Path) -> None:
    save(home, "g.json", {"id": "g", "event": "pre-tool-call", "command": "python3", "args": ["-V"]})

    assert 'say "dialect": "ollm-protocol"' in hookline(home, "check").stdout

    save(
        home,
        "g.json",
        {"id": "g", "event": "pre-tool-call", "dialect": "ollm-protocol", "command": "python3", "args": ["-V"]},
    )
    assert '"dialect"' not in hookline(home, "check").stdout


def test_missing_script_is_named_where_the_person_looks_for_it(home: Path) -> None:
    save(home, "g.json", {"id": "g", "event": "before_tool", "command": "python3", "args": ["guard.py"]})

    assert f"script {home}/.ollm/hooks/guard.py does not exist" in hookline(home, "check").stdout


@pytest.mark.spec("D-14")
def test_modern_definitions_are_found_by_that_name_and_none_becomes_trusted(home: Path) -> None:
    modern = {"name": "M", "eventType": "fileEdited", "filePatterns": [], "action": {"type": "askAgent", "prompt": "x"}}
    save(home, "m.json", modern)

    assert json.loads(hookline(home, "migrate", "modern", "when_then").stdout)["then"]["prompt"] == "x"
    assert json.loads(hookline(home, "migrate", "when_then", "modern").stdout)["trusted"] is False
