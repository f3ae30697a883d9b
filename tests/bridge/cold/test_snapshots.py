"""A snapshot is used as long as opening the project anew would give the same, and not a moment longer."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.bridge.cold.quickly import Place, settle

OWN: Final = "~/.config/hookline/hookline.toml"
ALLOWS: Final = '[[hook]]\nid = "one"\non = "before_tool"\nshell = true\nrun = "true"\n'
DENIES: Final = ALLOWS.replace('"true"', '"echo no >&2; exit 2"')
WORDS: Final = ("hook", "claude-code", "PreToolUse")


def event(place: Place, **more: object) -> bytes:
    said = {"session_id": "s", "cwd": str(place.project), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps({**said, "tool_input": {"command": "ls"}, **more}).encode()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("snapshots"))
    place.write({OWN: ALLOWS})
    settle([place])
    place.prepare()
    return place


@pytest.fixture
def place(prepared: Place) -> Place:
    """Give a place whose snapshot holds."""
    if prepared.quick(*WORDS, stdin=event(prepared)).returncode:
        prepared.write({OWN: ALLOWS})
        settle([prepared])
        prepared.prepare()
    assert prepared.quick(*WORDS, stdin=event(prepared)).returncode == 0
    return prepared


def snapshot(place: Place) -> Path:
    (found,) = (path for path in (place.data / "snapshots").iterdir() if not path.name.startswith("."))
    return found


def why(place: Place, **env: str) -> str:
    """Say why the quick way was not taken; empty where it was."""
    done = place.quick(*WORDS, stdin=event(place), env=env)
    return done.stderr.decode() if done.returncode else ""


def test_a_changed_file_is_noticed_at_once_and_answered(place: Place) -> None:
    place.write({OWN: DENIES})
    assert "the configuration has changed" in why(place)
    done = place.quick(*WORDS, stdin=event(place), env={"HOOKLINE_COLD": ""})
    assert b'"deny"' in done.stdout
    assert done.returncode == 0


def test_a_new_file_is_noticed(place: Place) -> None:
    place.write({"hookline.toml": ALLOWS})
    try:
        assert "the configuration has changed" in why(place)
    finally:
        (place.project / "hookline.toml").unlink()


def test_another_file_in_the_same_folder_is_not_minded(place: Place) -> None:
    place.write({"notes.txt": "anything", "~/notes.txt": "anything"})
    assert not why(place)


def test_a_variable_that_was_looked_at_is_noticed_and_no_other(place: Place) -> None:
    assert not why(place, EDITOR="vi")
    assert "a variable has changed" in why(place, HOOKS_ENABLED="false")


def test_another_session_and_another_tool_are_the_same_project(place: Place) -> None:
    done = place.quick(*WORDS, stdin=event(place, session_id="other", tool_name="Write", tool_input={}))
    assert done.returncode == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:100]),
        lambda path: path.write_bytes(b"i\x07\x00\x00\x00"),
        lambda path: path.write_bytes(path.read_bytes().replace(b"hookline.model", b"hookline.nodel")),
        lambda path: path.chmod(0o644),
        lambda path: path.unlink(),
    ],
    ids=["empty", "cut off", "something else", "of another version", "readable by others", "gone"],
)
def test_a_snapshot_that_is_not_right_is_no_snapshot(place: Place, spoil: Callable[[Path], object]) -> None:
    path = snapshot(place)
    raw, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    assert mode == 0o600
    spoil(path)
    try:
        assert "snapshot" in why(place)
        done = place.quick(*WORDS, stdin=event(place), env={"HOOKLINE_COLD": ""})
        assert (done.returncode, done.stderr) == (0, b"")
    finally:
        path.write_bytes(raw)
        path.chmod(mode)


def named(place: Place, line: str, *, env: Mapping[str, str] | None = None) -> None:
    """Have a person's own hook run a line, and have that prepared."""
    place.write({OWN: f'[[hook]]\nid = "one"\non = "before_tool"\nshell = true\nrun = {json.dumps(line)}\n'})
    settle([place])
    place.prepare(env)


def test_a_script_that_a_project_brings_later_is_not_run_for_the_person(place: Place) -> None:
    # what a hook reaches is in the snapshot; what is there, and whose it is, is looked at for each call
    named(place, "sh check.sh; true")
    before = place.quick(*WORDS, stdin=event(place))
    place.write({"check.sh": "#!/bin/sh\ntouch ran\n"})
    try:
        done = place.quick(*WORDS, stdin=event(place, session_id="another"))
    finally:
        (place.project / "check.sh").unlink()

    assert (before.returncode, before.stdout) == (0, b"")
    assert b'runs \\"check.sh\\" of this workspace, which nobody approved' in done.stdout
    assert not (place.project / "ran").exists()


def test_a_variable_that_says_what_a_hook_reaches_is_noticed(place: Place) -> None:
    named(place, 'sh "$CLAUDE_PROJECT_DIR/check.sh"; true', env={"CLAUDE_PROJECT_DIR": str(place.project)})

    assert not why(place, CLAUDE_PROJECT_DIR=str(place.project))
    assert "a variable has changed" in why(place, CLAUDE_PROJECT_DIR=str(place.home))


def test_what_may_be_a_secret_is_not_written_down(place: Place) -> None:
    named(place, 'echo "Bearer $MY_WORD" >/dev/null', env={"MY_WORD": "very-secret"})
    kept = snapshot(place).read_bytes()

    assert b"very-secret" not in kept
    assert b"MY_WORD" in kept  # in the hook's own words
    # and the snapshot holds whatever it is
    assert not why(place, MY_WORD="another one")
    assert not why(place)


def test_a_snapshot_holds_as_long_as_the_rules_it_was_made_by(place: Place) -> None:
    rules = place.package / "core" / "lines.py"
    named(place, "true")
    os.utime(rules, ns=(rules.stat().st_atime_ns, rules.stat().st_mtime_ns + 1))
    # whoever prepares a project has prepared the bundle before
    bundled = place.quick("--prepare", env={"HOOKLINE_COLD": "only"})
    assert bundled.returncode == 0, bundled.stderr

    assert "made by another version" in why(place)


def test_a_call_from_another_folder_of_the_project_is_answered_as_ever(place: Place) -> None:
    place.write({"below/check.sh": "#!/bin/sh\ntouch ran\n"})
    env = {"CLAUDE_PROJECT_DIR": str(place.project)}
    try:
        named(place, "sh check.sh; true", env=env)
        said = event(place, session_id="below", cwd=str(place.project / "below"))
        done = place.quick(*WORDS, stdin=said, env=env)
        has_run = (place.project / "below" / "ran").exists()
    finally:
        shutil.rmtree(place.project / "below")

    assert b'check.sh\\" of this workspace, which nobody approved' in done.stdout, done.stderr
    assert not has_run


def test_a_call_does_not_work_out_again_what_its_hooks_reach(place: Place, tmp_path: Path) -> None:
    listening = (
        "import os, sys\n"
        "sys.path.insert(0, os.path.dirname(sys.argv[1]))\n"
        "import calling\n"
        "leave = os._exit\n"
        "def left(code):\n"
        "    with open(sys.argv[2], 'w') as file:\n"
        "        file.write(' '.join(sys.modules))\n"
        "    leave(code)\n"
        "os._exit = left\n"
        "calling.main(sys.argv[3:])\n"
    )
    found = tmp_path / "modules"
    done = subprocess.run(
        [sys.executable, "-E", "-P", "-S", "-c", listening, str(place.start), str(found), *WORDS],
        cwd=place.project,
        env=place.environment({"HOOKLINE_COLD": "only"}),
        input=event(place),
        capture_output=True,
        check=False,
    )

    loaded = set(found.read_text().split())
    assert done.returncode == 0, done.stderr
    assert "hookline.core.trust" in loaded
    assert not loaded & {"hookline.core.lines", "shlex"}


def test_a_link_in_its_place_is_not_followed(place: Place, tmp_path: Path) -> None:
    path = snapshot(place)
    raw = path.read_bytes()
    elsewhere = tmp_path / "theirs"
    elsewhere.write_bytes(raw)
    elsewhere.chmod(0o600)
    path.unlink()
    path.symlink_to(elsewhere)
    try:
        assert "there is no snapshot" in why(place)
    finally:
        path.unlink()
        path.write_bytes(raw)
        path.chmod(0o600)


def test_a_snapshot_of_another_project_is_not_taken_for_ours(place: Place) -> None:
    path = snapshot(place)
    raw = path.read_bytes()
    other = place.home.parent / "other"
    other.mkdir()
    (place.data / "snapshots" / ".prepared").unlink(missing_ok=True)
    assert place.quick("--prepare", str(other)).returncode == 0
    (theirs,) = (one for one in path.parent.iterdir() if one != path and not one.name.startswith("."))
    theirs.replace(path)
    try:
        assert "the snapshot is of another project" in why(place)
    finally:
        path.write_bytes(raw)


def test_a_call_from_a_folder_that_was_removed_is_answered(place: Place) -> None:
    gone = place.home.parent / "gone"
    gone.mkdir()
    line = f"cd {gone} && rmdir {gone} && exec {sys.executable} -E -P -S {place.start} {' '.join(WORDS)}"
    done = subprocess.run(
        ["sh", "-c", line],
        input=event(place),
        capture_output=True,
        env=place.environment({"HOOKLINE_COLD": ""}),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"could not" not in done.stdout


def test_code_that_changed_is_not_taken_from_the_bundle(place: Place) -> None:
    source = place.package / "bridge" / "ledger.py"
    before = source.stat()
    source.write_text(source.read_text() + "\n")
    try:
        assert "ledger.py changed" in why(place)
    finally:
        source.write_text(source.read_text()[:-1])
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_bundle_that_others_could_have_written_is_not_run(place: Place) -> None:
    (bundle,) = place.start.parent.glob("__pycache__/*.bundle")
    bundle.chmod(0o666)
    try:
        assert "somebody else's" in why(place)
    finally:
        bundle.chmod(0o644)


def test_a_project_is_not_prepared_again_and_again(place: Place) -> None:
    path = snapshot(place)
    (place.data / "snapshots" / ".prepared").touch()
    before = path.stat().st_mtime_ns
    assert place.quick("--prepare", str(place.project)).returncode == 0
    assert path.stat().st_mtime_ns == before
