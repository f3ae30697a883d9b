"""Settings are read as strictly as the agent reads them, and the agent is asked where it can be."""

import json
import os
from pathlib import Path

import pytest

from hookline.errors import ConfigError
from hookline.hosts import HOSTS, acceptance
from hookline.hosts.host import Host, Scope
from hookline.hosts.status import find_obstacles
from tests.hosts.settings import around, put_in, take_out, tree

CLAUDE = HOSTS["claude-code"]
STRICT = [
    HOSTS[name] for name in ("claude-code", "codex-cli", "copilot-cli", "cursor", "kiro", "windsurf", "factory-droid")
]
LENIENT = [HOSTS[name] for name in ("gemini-cli", "qwen-code")]
COMMENTS = {
    "a line comment": '{\n  // mine\n  "description": "x"\n}\n',
    "a block comment": '{\n  /* mine */ "description": "x"\n}\n',
    "a comment after a value": '{\n  "description": "http://x" // mine\n}\n',
    "a comment at the end": '{\n  "description": "x"\n}\n// mine\n',
}
COMMA = '{\n  "description": "x",\n}\n'


def named(value: object) -> str:
    return value.name if isinstance(value, Host) else str(value)


def write(host: Host, tmp_path: Path, text: str) -> Path:
    path = host.settings_path(Scope.USER, around(tmp_path))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("host", STRICT, ids=named)
@pytest.mark.parametrize("text", [*COMMENTS.values(), COMMA], ids=[*COMMENTS, "a trailing comma"])
def test_settings_that_a_strict_agent_refuses_are_refused_with_the_line(host: Host, text: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    path = write(host, tmp_path, text)
    before = tree(tmp_path)

    with pytest.raises(ConfigError, match="--clean") as refused:
        put_in(host, Scope.USER, where, clean=False)

    assert refused.value.path == str(path)
    assert text.splitlines()[refused.value.line - 1].count("mine") or '",' in text.splitlines()[refused.value.line - 1]
    assert host.title in refused.value.message
    assert "nothing was changed" in refused.value.message
    assert tree(tmp_path) == before


@pytest.mark.parametrize("host", LENIENT, ids=named)
@pytest.mark.parametrize("text", COMMENTS.values(), ids=list(COMMENTS))
def test_comments_stay_where_the_agent_reads_them(host: Host, text: str, tmp_path: Path) -> None:
    path = write(host, tmp_path, text)

    put_in(host, Scope.USER, around(tmp_path), clean=False)

    assert "mine" in path.read_text()


@pytest.mark.parametrize("host", [*STRICT, *LENIENT], ids=named)
@pytest.mark.parametrize("text", [*COMMENTS.values(), COMMA], ids=[*COMMENTS, "a trailing comma"])
def test_cleaned_settings_are_strict_json_and_come_back_as_they_were(host: Host, text: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    path = write(host, tmp_path, text)

    put_in(host, Scope.USER, where, clean=True)
    written = json.loads(path.read_text())
    # a second installation need not say it again
    put_in(host, Scope.USER, where, clean=False, policy="allow")
    json.loads(path.read_text())
    take_out(host, Scope.USER, where)

    assert written["description"]
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("host", "accepts"), [("claude-code", True), ("qwen-code", True), ("codex-cli", False), ("gemini-cli", False)]
)
def test_a_byte_order_mark_is_left_where_the_agent_accepts_it(host: str, tmp_path: Path, *, accepts: bool) -> None:
    write(HOSTS[host], tmp_path, "\ufeff{}")

    if accepts:
        put_in(HOSTS[host], Scope.USER, around(tmp_path), clean=False)
        return
    with pytest.raises(ConfigError, match="a byte order mark"):
        put_in(HOSTS[host], Scope.USER, around(tmp_path), clean=False)


GOOD = {"hooks": [{"type": "command", "command": "true"}]}


@pytest.mark.parametrize(
    ("host", "value", "said"),
    [
        ("claude-code", {"hooks": {"PreToolUse": [{"matcher": 3, "hooks": []}]}}, "hooks.PreToolUse.0.matcher"),
        ("claude-code", {"hooks": {"PreToolUse": [{"type": "command", "command": "x"}]}}, "hooks.PreToolUse.0"),
        ("claude-code", {"hooks": {"PermissionRequest": [{"hooks": [{"type": "x"}]}]}}, "PermissionRequest.0.hooks.0"),
        ("claude-code", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}}, "must have a text `command`"),
        ("codex-cli", {"hooks": {}, "model": "x"}, "model"),
        ("codex-cli", {"hooks": {"Stop": {}}}, "hooks.Stop, which must be a list"),
        ("codex-cli", {"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "http://x"}]}]}}, "hooks.Stop.0.hooks.0"),
        ("codex-cli", {"hooks": {"Stop": [{"hooks": [{**GOOD["hooks"][0], "timeout": "5"}]}]}}, "timeout"),
    ],
)
def test_entries_that_make_an_agent_drop_the_file_are_refused(
    host: str, value: object, said: str, tmp_path: Path
) -> None:
    write(HOSTS[host], tmp_path, json.dumps(value, indent=1))

    with pytest.raises(ConfigError) as refused:
        put_in(HOSTS[host], Scope.USER, around(tmp_path), clean=True)

    assert said in str(refused.value)
    assert refused.value.line > 0


def test_an_entry_that_claude_code_skips_alone_does_not_stand_in_the_way(tmp_path: Path) -> None:
    write(CLAUDE, tmp_path, json.dumps({"hooks": {"Stop": [{"matcher": 3, "hooks": []}], "Nope": [GOOD]}}))

    put_in(CLAUDE, Scope.USER, around(tmp_path), clean=False, events=("PreToolUse",))

    assert [one for one in find_obstacles(CLAUDE, around(tmp_path)) if one.is_error] == []


def test_one_key_twice_is_refused_where_the_agent_refuses_it(tmp_path: Path) -> None:
    write(HOSTS["codex-cli"], tmp_path, '{"hooks": {},\n "hooks": {}}')

    with pytest.raises(ConfigError, match="the key hooks twice"):
        put_in(HOSTS["codex-cli"], Scope.USER, around(tmp_path), clean=True)


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("change", ["// later\n{", "{ /* later */"])
def test_a_comment_that_came_later_is_an_obstacle(change: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(CLAUDE, Scope.USER, where)
    path = CLAUDE.settings_path(Scope.USER, where)
    path.write_text(path.read_text().replace("{", change, 1))

    (found,) = find_obstacles(CLAUDE, where)

    assert found.is_error
    assert "ignores the whole file" in found.text


def program(folder: Path, name: str, text: str) -> str:
    """Write a program, and give the search path that leads to it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_claude_code_is_asked_in_an_empty_home_and_what_it_says_is_an_error(tmp_path: Path) -> None:
    said = 'echo "Invalid settings"; echo "- $CLAUDE_CONFIG_DIR/settings.json: model: Expected string"; echo; echo end'
    seen = tmp_path / "seen"
    path = program(tmp_path / "bin", "claude", f'env > {seen}; test "$1" = doctor && {{ {said}; }}\n')
    where = around(tmp_path, PATH=path, ANTHROPIC_API_KEY="secret")
    put_in(CLAUDE, Scope.USER, where)

    (found,) = find_obstacles(CLAUDE, where, ask=True)

    assert found.is_error
    assert "settings.json: model: Expected string: Claude Code ignores the whole file" in found.text
    assert "secret" not in seen.read_text()
    assert f"HOME={where.home}\n" not in seen.read_text()


def test_codex_is_asked_by_its_protocol(tmp_path: Path) -> None:
    answer = '{"id":2,"result":{"data":[{"cwd":"x","hooks":[],"warnings":["failed to parse hooks.json"],"errors":[]}]}}'
    path = program(tmp_path / "bin", "codex", f"read a; read b; read c; echo noise; echo '{answer}'; sleep 60\n")
    where = around(tmp_path, PATH=path)
    put_in(HOSTS["codex-cli"], Scope.USER, where)

    (found,) = find_obstacles(HOSTS["codex-cli"], where, ask=True)

    assert "failed to parse hooks.json" in found.text


def test_a_program_that_a_project_brings_is_not_asked(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    where = around(tmp_path, PATH=program(tmp_path / "project" / "bin", "claude", f"touch {mark}\n"))
    put_in(CLAUDE, Scope.USER, where)

    assert find_obstacles(CLAUDE, where, ask=True) == []
    assert not mark.exists()


@pytest.mark.parametrize("text", ["{}", '{"a": "// no comment", "b": "/* nor this */ ,]"}', "", "\n"])
def test_strict_json_is_left_as_it_is(text: str) -> None:
    assert acceptance.clean(text, path="x.json") == text
    acceptance.check(text, CLAUDE.strictness, path="x.json", title="X", name="x")
