"""Ours get into the settings of every agent, and out again without a trace."""

import json
import os
import stat
from pathlib import Path

import pytest

from hookline.config import edit
from hookline.config.undo_log import UndoLog
from hookline.errors import ConfigError, HostError
from hookline.hosts import HOSTS
from hookline.hosts.host import Host, OwnedFile, Scope
from hookline.hosts.installer import install, uninstall
from hookline.hosts.status import find_settings
from tests.hosts.settings import PYTHON, THEIRS, around, put_in, take_out, texts, tree

pytestmark = pytest.mark.slow

SCOPES = [(host, scope) for host in HOSTS.values() for scope in host.files]
# what a text is like matters to the shape of an agent's settings, not to where they are
CASES = [
    (host, scope, name)
    for host, scope in SCOPES
    for name in (texts(host) if scope is Scope.USER else sorted(texts(host).keys() & {"no file", "comments"}))
]
DOCUMENTS = [host for host in HOSTS.values() if not isinstance(host.shape, OwnedFile)]


def spelled(value: object) -> str:
    return value.name if isinstance(value, Host) else str(value)


def settings_of(host: Host, scope: Scope, tmp_path: Path, raw: bytes | None) -> Path:
    path = host.settings_path(scope, around(tmp_path))
    if raw is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(raw)
    return path


@pytest.mark.parametrize(("host", "scope", "name"), CASES, ids=spelled)
def test_uninstalling_restores_every_byte(host: Host, scope: Scope, name: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    settings_of(host, scope, tmp_path, texts(host)[name])
    before = tree(where.home, where.project)

    plan = put_in(host, scope, where)
    between = tree(where.home, where.project)
    take_out(host, scope, where)

    assert plan.changes
    assert between != before
    assert tree(where.home, where.project) == before


@pytest.mark.parametrize(("host", "scope", "name"), CASES, ids=spelled)
def test_installing_twice_equals_once(host: Host, scope: Scope, name: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    settings_of(host, scope, tmp_path, texts(host)[name])
    put_in(host, scope, where)
    once = tree(tmp_path)

    again = put_in(host, scope, where)

    assert (again.changes, again.records) == ((), ())
    assert tree(tmp_path) == once


@pytest.mark.parametrize(("host", "scope", "name"), CASES, ids=spelled)
def test_every_event_is_asked_about_once_and_hooks_of_others_stay(
    host: Host, scope: Scope, name: str, tmp_path: Path
) -> None:
    where = around(tmp_path)
    raw = texts(host)[name]
    settings_of(host, scope, tmp_path, raw)

    put_in(host, scope, where, events=host.usual_events)

    files = [file for file in find_settings(host, where, others=False) if file.ours]
    assert sorted(entry.event for file in files for entry in file.ours) == sorted(host.usual_events)
    assert {(entry.host, entry.python) for file in files for entry in file.ours} == {(host.name, PYTHON)}
    assert sum(file.foreign for file in files) == (raw or b"").count(THEIRS.encode())


@pytest.mark.parametrize(("host", "scope", "name"), CASES, ids=spelled)
def test_another_python_renews_the_entries(host: Host, scope: Scope, name: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    settings_of(host, scope, tmp_path, texts(host)[name])
    before = tree(where.home, where.project)
    put_in(host, scope, where)

    put_in(host, scope, where, python="/opt/new/bin/python3")

    files = find_settings(host, where, others=False)
    assert {entry.python for file in files for entry in file.ours} == {"/opt/new/bin/python3"}
    take_out(host, scope, where)
    assert tree(where.home, where.project) == before


@pytest.mark.parametrize("host", DOCUMENTS, ids=spelled)
@pytest.mark.parametrize("name", ["others", "comments", "crlf", "tabs", "a mark at the start"])
def test_what_was_edited_since_stays_and_only_ours_go(host: Host, name: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    path = settings_of(host, Scope.USER, tmp_path, texts(host)[name])
    before = edit.value_of(path.read_bytes().decode(), path=str(path))
    put_in(host, Scope.USER, where)
    edited = edit.put(path.read_bytes().decode(), ("added_later",), {"by": "me"}, path=str(path))
    path.write_bytes(edited.encode())

    take_out(host, Scope.USER, where)

    left = path.read_bytes().decode()
    assert isinstance(before, dict)
    assert edit.value_of(left, path=str(path)) == {**before, "added_later": {"by": "me"}}
    assert left.count("// mine") == edited.count("// mine")
    assert left.count("\r\n") == left.count("\n") if name == "crlf" else "\r" not in left


@pytest.mark.parametrize("host", DOCUMENTS, ids=spelled)
def test_a_file_of_ours_that_got_something_else_stays_with_that_alone(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(host, Scope.USER, where)
    path = host.settings_path(Scope.USER, where)
    path.write_text(edit.put(path.read_text(), ("added_later",), 1, path=str(path)))

    take_out(host, Scope.USER, where)

    left = json.loads(path.read_text())
    assert left.pop("added_later") == 1
    assert left in ({}, {"version": 1}, {"version": "v1"})


@pytest.mark.parametrize("host", HOSTS.values(), ids=spelled)
def test_ours_are_found_by_their_mark_where_nothing_was_kept(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(host, Scope.USER, where)
    for path in (where.data / "hosts").iterdir():
        path.unlink()

    take_out(host, Scope.USER, where)

    assert [file for file in find_settings(host, where, others=False) if file.ours] == []


@pytest.mark.parametrize("host", HOSTS.values(), ids=spelled)
def test_fewer_events_take_the_others_out(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(host, Scope.USER, where)

    put_in(host, Scope.USER, where, events=host.usual_events[:1])

    files = find_settings(host, where, others=False)
    assert [entry.event for file in files for entry in file.ours] == [host.usual_events[0]]


@pytest.mark.parametrize("host", HOSTS.values(), ids=spelled)
def test_a_plan_writes_nothing(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    before = tree(tmp_path)

    install(host, Scope.USER, where, events=host.usual_events, policy="allow", python=PYTHON)
    uninstall(host, Scope.USER, where)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("host", HOSTS.values(), ids=spelled)
def test_uninstalling_what_is_not_there_changes_nothing(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    before = tree(tmp_path)

    plan = take_out(host, Scope.USER, where)

    assert (plan.changes, tree(tmp_path)) == ((), before)


@pytest.mark.parametrize("host", DOCUMENTS, ids=spelled)
@pytest.mark.parametrize(
    "raw", [b'{"hooks": ', b"[1, 2]", b'"text"', b"\xff\xfe{}", b'{"hooks": 5, "SessionStart": 5, "hookline": 5}']
)
def test_settings_that_cannot_be_read_are_an_error_and_stay(host: Host, raw: bytes, tmp_path: Path) -> None:
    where = around(tmp_path)
    path = settings_of(host, Scope.USER, tmp_path, raw)

    with pytest.raises(ConfigError) as caught:
        put_in(host, Scope.USER, where)

    assert str(path) in str(caught.value)
    assert path.read_bytes() == raw
    assert list(Path(where.data).glob("journal/*.json")) == []


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    where = around(tmp_path)
    path = HOSTS["claude-code"].settings_path(Scope.USER, where)
    path.parent.mkdir()
    path.symlink_to(tmp_path / "gone.json")

    with pytest.raises(ConfigError, match="a link that leads nowhere"):
        put_in(HOSTS["claude-code"], Scope.USER, where)


@pytest.mark.parametrize("host", DOCUMENTS, ids=spelled)
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"description": "dark"}')
    path = settings_of(host, Scope.USER, tmp_path, b"")
    path.unlink()
    path.symlink_to(real)

    put_in(host, Scope.USER, where)
    written = real.read_text()
    take_out(host, Scope.USER, where)

    assert path.is_symlink()
    assert "hookline hook" in written
    assert real.read_text() == '{"description": "dark"}'


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_the_mode_of_a_file_is_kept(mode: int, tmp_path: Path) -> None:
    where = around(tmp_path)
    path = settings_of(HOSTS["claude-code"], Scope.USER, tmp_path, b"{}")
    path.chmod(mode)

    put_in(HOSTS["claude-code"], Scope.USER, where)
    between = stat.S_IMODE(path.stat().st_mode)
    take_out(HOSTS["claude-code"], Scope.USER, where)

    assert (between, stat.S_IMODE(path.stat().st_mode)) == (mode, mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write everything")
def test_a_read_only_file_is_an_error_and_stays(tmp_path: Path) -> None:
    where = around(tmp_path)
    path = settings_of(HOSTS["claude-code"], Scope.USER, tmp_path, b"{}")
    path.chmod(0o400)

    with pytest.raises(ConfigError, match="read-only"):
        put_in(HOSTS["claude-code"], Scope.USER, where)

    assert path.read_bytes() == b"{}"


def test_a_scope_that_an_agent_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="Gemini CLI has no settings of the scope local; it has user, project"):
        put_in(HOSTS["gemini-cli"], Scope.LOCAL, around(tmp_path))


def test_a_program_of_somebody_else_for_an_event_of_cline_stays_and_is_named(tmp_path: Path) -> None:
    where = around(tmp_path)
    host = HOSTS["cline"]
    folder = host.settings_path(Scope.USER, where)
    folder.mkdir(parents=True)
    (folder / "PreToolUse").write_text("#!/bin/sh\necho '{}'\n")

    plan = put_in(host, Scope.USER, where, events=host.usual_events)
    took = take_out(host, Scope.USER, where)

    assert len(plan.changes) == len(took.changes) == len(host.usual_events) - 1
    assert "is there and is not ours, so PreToolUse is not asked about" in plan.notes[0]
    assert [path.name for path in folder.iterdir()] == ["PreToolUse"]
    assert (folder / "PreToolUse").read_text() == "#!/bin/sh\necho '{}'\n"


def test_programs_for_cline_can_be_run(tmp_path: Path) -> None:
    where = around(tmp_path)

    put_in(HOSTS["cline"], Scope.PROJECT, where, events=("PreToolUse",))

    program = where.project / ".clinerules" / "hooks" / "PreToolUse"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert program.read_text().startswith("#!/bin/sh\n")


def test_a_plugin_of_somebody_else_is_not_written_over(tmp_path: Path) -> None:
    where = around(tmp_path)
    path = settings_of(HOSTS["opencode"], Scope.USER, tmp_path, b"export default {}\n")

    with pytest.raises(HostError, match="is there and is not ours"):
        put_in(HOSTS["opencode"], Scope.USER, where)

    assert path.read_bytes() == b"export default {}\n"


def test_a_bundle_of_somebody_else_by_our_name_is_not_written_over(tmp_path: Path) -> None:
    where = around(tmp_path)
    raw = b'{"hookline": {"Stop": [{"type": "command", "command": "./theirs.sh"}]}}'
    path = settings_of(HOSTS["antigravity"], Scope.USER, tmp_path, raw)

    with pytest.raises(ConfigError, match='a bundle "hookline" that is not ours'):
        put_in(HOSTS["antigravity"], Scope.USER, where)

    assert path.read_bytes() == raw


def test_what_was_changed_can_be_taken_back_by_undo(tmp_path: Path) -> None:
    where = around(tmp_path)
    host = HOSTS["codex-cli"]
    settings_of(host, Scope.USER, tmp_path, b'{"hooks": {}}\n')
    before = tree(where.home)
    put_in(host, Scope.USER, where)
    between = tree(where.home, where.data / "hosts")

    UndoLog(where.data).undo()
    undone = tree(where.home)
    # what undo leaves behind is no obstacle to another try
    put_in(host, Scope.USER, where)

    assert undone == before
    assert tree(where.home, where.data / "hosts") == between


def test_what_is_kept_is_for_the_person_alone(tmp_path: Path) -> None:
    where = around(tmp_path)

    put_in(HOSTS["claude-code"], Scope.USER, where)

    assert {stat.S_IMODE(path.stat().st_mode) for path in (where.data / "hosts").iterdir()} == {0o600}
