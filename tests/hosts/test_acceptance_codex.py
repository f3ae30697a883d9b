"""Codex runs a hook only with the hash it has computed itself; these were said by Codex CLI 0.166.0."""

from pathlib import Path

import pytest

from hookline.config import edit
from hookline.hosts import HOSTS
from hookline.hosts.acceptance import codex_hash, find_approvals
from hookline.hosts.host import Scope
from hookline.hosts.status import find_obstacles
from tests.hosts.settings import around, put_in, take_out

CODEX = HOSTS["codex-cli"]
EVENTS = ("SessionStart", "PreToolUse")
CONFIG = 'model = "gpt-5"\n\n[projects."/x"]\ntrust_level = "trusted" # mine\n'


@pytest.mark.parametrize(
    ("label", "timeout", "said"),
    [
        ("stop", 600, "f2aa169c7a1cf9b7cc9b61ce5ecec0315e0f7d13ac35935b1aa74440f9a839f8"),
        ("session_end", 3, "823aeab1cf10994923a9a4c0236d0b3c702cfbafc61158f8adceebe65399f28d"),
        ("user_prompt_submit", 600, "4ac11110e7e52a7ace4a63994f6a554e0c891264e3e3733d1f0541b1cd0b3b3e"),
    ],
)
def test_the_hash_is_the_one_that_codex_computes(label: str, timeout: int, said: str) -> None:
    assert codex_hash(label, "echo hi", timeout) == f"sha256:{said}"


def test_only_ours_are_approved_each_at_its_place(tmp_path: Path) -> None:
    ours = "/opt/p -m hookline hook codex-cli PreToolUse"
    handler = {"type": "command", "timeout": 600}
    theirs = {"hooks": [{**handler, "command": "./theirs.sh"}]}
    text = edit.put(
        "",
        ("hooks", "PreToolUse"),
        [theirs, {"hooks": [{**handler, "command": "./theirs.sh"}, {**handler, "command": ours}]}],
        path="x.json",
    )

    path, hashes = find_approvals(tmp_path, tmp_path / "hooks.json", text)

    assert path == tmp_path / "config.toml"
    assert hashes == {f"{tmp_path}/hooks.json:pre_tool_use:1:1": codex_hash("pre_tool_use", ours, 600)}


@pytest.mark.parametrize("before", [CONFIG, CONFIG.replace("\n", "\r\n"), CONFIG.rstrip("\n"), "", "\ufeff" + CONFIG])
def test_installing_approves_ours_and_uninstalling_takes_that_back(before: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    config = where.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_bytes(before.encode())

    put_in(CODEX, Scope.USER, where, events=EVENTS)
    between = config.read_bytes().decode()
    take_out(CODEX, Scope.USER, where)

    states = edit.value_at(edit.value_of(between, path="config.toml"), ("hooks", "state"))
    assert isinstance(states, dict)
    assert sorted(key.split(":", 1)[1] for key in states) == ["pre_tool_use:0:0", "session_start:0:0"]
    assert between.startswith(before)
    assert config.read_bytes() == before.encode()


def test_what_codex_wrote_meanwhile_stays(tmp_path: Path) -> None:
    where = around(tmp_path)
    config = where.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIG)
    put_in(CODEX, Scope.USER, where, events=EVENTS)
    theirs = '[hooks.state."/elsewhere/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:00"\n'
    config.write_text(config.read_text().replace("gpt-5", "gpt-6") + theirs)

    take_out(CODEX, Scope.USER, where)

    assert config.read_text() == CONFIG.replace("gpt-5", "gpt-6") + theirs


def test_another_python_is_approved_anew(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(CODEX, Scope.USER, where, events=EVENTS)
    config = where.home / ".codex" / "config.toml"
    config.write_text(config.read_text() + '\n[tui]\ntheme = "dark"\n')

    put_in(CODEX, Scope.USER, where, events=EVENTS, python="/bin/sh")

    assert [str(one) for one in find_obstacles(CODEX, where)] == []
    assert config.read_text().count("trusted_hash") == len(EVENTS)


def test_approvals_of_a_project_are_the_persons_own(tmp_path: Path) -> None:
    where = around(tmp_path)

    put_in(CODEX, Scope.PROJECT, where, events=EVENTS)

    assert sorted(path.name for path in (where.project / ".codex").iterdir()) == ["hooks.json"]
    assert f"{where.project}/.codex/hooks.json:pre_tool_use:0:0" in (where.home / ".codex/config.toml").read_text()


def test_approving_may_be_left_to_the_person_and_is_then_missed(tmp_path: Path) -> None:
    where = around(tmp_path)

    put_in(CODEX, Scope.USER, where, events=EVENTS, approve=False)

    assert not (where.home / ".codex" / "config.toml").exists()
    assert [str(one) for one in find_obstacles(CODEX, where)] == [
        (
            f"Codex CLI does not run ours in {where.home}/.codex/hooks.json before you approve them there: /hooks; "
            "`hookline install codex-cli` approves them"
        )
    ]


def test_approvals_that_are_written_in_another_way_are_left_to_the_person(tmp_path: Path) -> None:
    where = around(tmp_path)
    config = where.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('hooks = { state = { "/x:stop:0:0" = { trusted_hash = "sha256:00" } } }\n')

    plan = put_in(CODEX, Scope.USER, where, events=EVENTS)

    assert "changed by hand only" in plan.notes[0]
    assert "/hooks" in plan.notes[0]
    assert config.read_text().startswith("hooks = { state")
