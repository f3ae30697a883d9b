"""Entries that start the launcher: put in, renewed and taken out like all others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.host import Host, Scope
from hookline.hosts.status import find_settings
from tests.bridge.launching import build
from tests.hosts.settings import around, put_in, take_out, texts, tree
from tests.hosts.test_installer import settings_of

pytestmark = pytest.mark.slow

LAUNCHER = "/opt/it's here/hookline-hook"
HOST_NAMES = sorted(HOSTS)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    built = build(tmp_path_factory.mktemp("launcher"))
    if built is None:
        pytest.skip("no compiler here")
    return str(built)


def launchers(host: Host, tmp_path: Path) -> set[str]:
    files = find_settings(host, around(tmp_path), others=False)
    return {entry.launcher for file in files for entry in file.ours}


@pytest.mark.parametrize("name", HOST_NAMES)
def test_uninstalling_restores_every_byte(name: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    for number, raw in enumerate(texts(host).values()):
        place = tmp_path / str(number)
        place.mkdir()
        where = around(place)
        settings_of(host, Scope.USER, place, raw)
        before = tree(where.home, where.project)

        put_in(host, Scope.USER, where, launcher=LAUNCHER)
        assert launchers(host, place) == {LAUNCHER}
        again = put_in(host, Scope.USER, where, launcher=LAUNCHER)
        take_out(host, Scope.USER, where)

        assert (again.changes, again.records) == ((), ())
        assert tree(where.home, where.project) == before


@pytest.mark.parametrize("name", HOST_NAMES)
@pytest.mark.parametrize(("first", "then"), [("", LAUNCHER), (LAUNCHER, ""), ("/old/hookline-hook", LAUNCHER)])
def test_entries_of_another_form_are_renewed_and_not_doubled(name: str, first: str, then: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    where = around(tmp_path)
    before = tree(where.home, where.project)
    put_in(host, Scope.USER, where, launcher=first)

    put_in(host, Scope.USER, where, launcher=then)

    entries = [entry for file in find_settings(host, where, others=False) for entry in file.ours]
    assert {entry.launcher for entry in entries} == {then}
    assert len({entry.event for entry in entries}) == len(entries)
    take_out(host, Scope.USER, where)
    assert tree(where.home, where.project) == before


@pytest.mark.parametrize("name", HOST_NAMES)
def test_entries_whose_record_was_lost_are_found_and_taken_out(name: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    where = around(tmp_path)
    put_in(host, Scope.USER, where, launcher=LAUNCHER)
    elsewhere = around(tmp_path, OTHER="1")
    for path in sorted((tmp_path / "data").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()

    take_out(host, Scope.USER, elsewhere)

    assert launchers(host, tmp_path) == set()


def test_the_program_for_cline_answers_through_the_launcher(program: str, tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(HOSTS["cline"], Scope.USER, where, events=("PreToolUse",), launcher=program)
    path = where.home / "Documents" / "Cline" / "Hooks" / "PreToolUse"

    done = subprocess.run(
        [path],
        input=b'{"hookName": "PreToolUse", "preToolUse": {"toolName": "execute_command", "parameters": {}}}',
        capture_output=True,
        env={**where.environ, "HOME": str(where.home), "HOOKLINE_DAEMON": "off", "CI": "1"},
        cwd=where.project,
        timeout=60,
        check=False,
    )

    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {}, b"")


def test_the_plugin_of_opencode_starts_the_launcher_and_keeps_its_own_answer_for_a_failure(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(HOSTS["opencode"], Scope.USER, where, launcher=LAUNCHER)

    text = (where.home / ".config" / "opencode" / "plugin" / "hookline.js").read_text()

    words = [LAUNCHER, "--prove", sys.executable, "hook", "--if-broken", "block", "opencode"]
    assert f"const COMMAND = {json.dumps(words)}\n" in text
    assert 'const IF_BROKEN = "block"\n' in text
