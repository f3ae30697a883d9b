"""What stands in the settings of agents."""

import json
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.host import Scope
from hookline.hosts.status import find_obstacles, find_settings
from tests.hosts.settings import around, put_in

THEIRS = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./theirs.sh"}]}]}}


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_an_agent_that_runs_settings_of_another_has_those_too(tmp_path: Path) -> None:
    where = around(tmp_path)
    write(where.project / ".claude/settings.json", THEIRS)
    write(
        where.home / ".cursor/hooks.json", {"version": 1, "hooks": {"stop": [{"command": "./a"}, {"command": "./b"}]}}
    )

    files = find_settings(HOSTS["cursor"], where)

    assert [(file.of, file.scope, file.foreign) for file in files] == [
        ("cursor", "user", 2),
        ("claude-code", "project", 1),
    ]


@pytest.mark.parametrize(
    ("host", "path", "value"),
    [
        ("factory-droid", ".factory/settings.json", THEIRS),
        ("copilot-cli", ".copilot/hooks/mine.json", {"version": 1, "hooks": {"preToolUse": [{"bash": "./x"}]}}),
        ("kiro", ".kiro/agents/mine.json", {"name": "x", "hooks": {"preToolUse": [{"command": "./x"}]}}),
        ("antigravity", ".gemini/config/hooks.json", {"mine": {"Stop": [{"type": "command", "command": "./x"}]}}),
        ("windsurf", ".codeium/hooks.json", {"hooks": {"pre_read_code": [{"command": "./x"}]}}),
        ("claude-code", ".claude/settings.json", {**THEIRS, "statusLine": {"type": "command", "command": "./bar"}}),
    ],
)
def test_hooks_of_others_are_counted_in_every_file_an_agent_reads(
    host: str, path: str, value: object, tmp_path: Path
) -> None:
    where = around(tmp_path)
    write(where.home / path, value)

    files = find_settings(HOSTS[host], where, others=False)

    assert [(file.path, file.foreign) for file in files] == [(str(where.home / path), 1)]


def test_hooks_of_codex_in_toml_are_counted(tmp_path: Path) -> None:
    where = around(tmp_path)
    path = where.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "./x"\n')

    assert [file.foreign for file in find_settings(HOSTS["codex-cli"], where)] == [1]


def test_a_file_that_cannot_be_read_is_a_line_and_no_end(tmp_path: Path) -> None:
    where = around(tmp_path)
    (where.home / ".claude").mkdir()
    (where.home / ".claude" / "settings.json").write_text('{"hooks": ')

    files = find_settings(HOSTS["claude-code"], where)

    assert len(files) == 1
    assert files[0].problem


def test_a_python_that_is_gone_is_named_once_with_what_to_do(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(HOSTS["claude-code"], Scope.USER, where, python="/nowhere/python")

    path = where.home / ".claude" / "settings.json"
    assert [str(one) for one in find_obstacles(HOSTS["claude-code"], where)] == [
        f"/nowhere/python, which ours in {path} run, is gone; `hookline install claude-code` renews them"
    ]


def test_a_launcher_that_is_gone_is_named_before_the_python_that_it_starts(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(HOSTS["cline"], Scope.USER, where, events=("PreToolUse",), launcher="/nowhere/hookline-hook")

    path = where.home / "Documents" / "Cline" / "Hooks" / "PreToolUse"
    assert [str(one) for one in find_obstacles(HOSTS["cline"], where)] == [
        f"/nowhere/hookline-hook, which ours in {path} run, is gone; `hookline install cline` renews them"
    ]


@pytest.mark.parametrize(
    ("host", "path", "value", "word"),
    [
        ("claude-code", ".claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini-cli", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("qwen-code", ".qwen/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
    ],
)
def test_a_switch_that_keeps_ours_from_running_is_named(
    host: str, path: str, value: object, word: str, tmp_path: Path
) -> None:
    where = around(tmp_path)
    write(where.project / path, value)
    off = [str(one) for one in find_obstacles(HOSTS[host], where)]
    put_in(HOSTS[host], Scope.USER, where)

    assert off == []
    assert [word in str(problem) for problem in find_obstacles(HOSTS[host], where)] == [True]


def test_settings_that_cannot_be_read_do_not_hide_a_missing_approval(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(HOSTS["codex-cli"], Scope.USER, where)
    (where.home / ".codex" / "config.toml").write_text("broken [")

    assert "before you approve them there" in str(find_obstacles(HOSTS["codex-cli"], where)[0])
