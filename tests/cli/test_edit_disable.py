import json
from pathlib import Path

import pytest

from tests.cli.program import hookline

SETTINGS = b"""{
   // what I like
   "model": "x", // mine
   "hooks": {
      "PreToolUse": [
         {
            "matcher": "Bash", "unknown": 1.50,
            "hooks": [
               { "type": "command", "command": "python3 a.py", "name": "first" }, // one
               { "type": "command", "command": "python3 b.py", "name": "second" }
            ]
         }
      ],
   },
}
"""
OWN = b"# mine\r\n[[hook]]\r\n   name='third'   # odd\r\n   on='before_tool'\r\n   run='python3 c.py'\r\n   description='odd'\r\n"
YAML = b"# y\ncommand: python3 d.py   # run\ntimeout: 5\n"
ONE_LINE = b'{"id":"fifth","command":"python3","args":["e.py"],"event":"before_tool"}'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    project = tmp_path / "project"
    found = {
        "first": project / ".ollama" / "settings.json",
        "third": tmp_path / "home" / ".config" / "hookline" / "hookline.toml",
        "pre-fourth": project / ".config" / "agent" / "hooks" / "pre-fourth.yaml",
        "fifth": project / ".ollm" / "hooks" / "fifth.json",
    }
    for path, raw in zip(found.values(), (SETTINGS, OWN, YAML, ONE_LINE), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(raw)
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def switched_off(home: Path) -> set[str]:
    hooks = json.loads(hookline(home, "list", "--json").stdout)
    return {hook["id"] for hook in (hooks if isinstance(hooks, list) else hooks["hooks"]) if not hook["enabled"]}


@pytest.mark.spec("D-16")
def test_only_the_switch_is_added_whatever_the_file_looks_like(home: Path, files: dict[str, Path]) -> None:
    done = hookline(home, "disable", *files)

    assert (done.returncode, done.stderr) == (0, "")
    assert files["first"].read_bytes() == SETTINGS.replace(b'"first" }', b'"first", "enabled": false }')
    assert files["third"].read_bytes() == OWN + b"   enabled = false\r\n"
    assert files["pre-fourth"].read_bytes() == YAML + b"enabled: false\n"
    assert files["fifth"].read_bytes() == ONE_LINE.replace(b'"before_tool"}', b'"before_tool","enabled":false}')
    assert switched_off(home) == set(files)


@pytest.mark.spec("D-16")
def test_one_undo_takes_all_of_it_back(home: Path, files: dict[str, Path]) -> None:
    hookline(home, "disable", *files)

    hookline(home, "undo")

    assert [path.read_bytes() for path in files.values()] == [SETTINGS, OWN, YAML, ONE_LINE]


def test_two_hooks_of_one_file_are_both_switched_off(home: Path, files: dict[str, Path]) -> None:
    hookline(home, "disable", "first", "second")

    assert files["first"].read_bytes().count(b'"enabled": false') == 2


def test_what_is_off_already_is_said(home: Path, files: dict[str, Path]) -> None:
    hookline(home, "disable", "third")
    before = files["third"].read_bytes()

    done = hookline(home, "disable", "third")

    assert (done.returncode, done.stdout) == (0, 'nothing to change\n"third" is switched off already\n')
    assert files["third"].read_bytes() == before


def test_an_unknown_hook_stops_everything_with_the_nearest_name(home: Path, files: dict[str, Path]) -> None:
    done = hookline(home, "disable", "first", "thrd")

    assert (done.returncode, 'did you mean "third"?' in done.stderr) == (1, True)
    assert files["first"].read_bytes() == SETTINGS


def test_a_link_to_a_file_stays_a_link(home: Path, files: dict[str, Path], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    files["third"].rename(real)
    files["third"].symlink_to(real)

    done = hookline(home, "disable", "third")

    assert f"wrote {files['third']} (a link to {real})" in done.stdout
    assert files["third"].is_symlink()
    assert real.read_bytes() == OWN + b"   enabled = false\r\n"


def test_the_same_hook_in_another_file_is_named_because_it_counts_now(home: Path, files: dict[str, Path]) -> None:
    other = home.parent / "project" / "hookline.toml"
    other.write_bytes(files["third"].read_bytes())

    done = hookline(home, "disable", "third")

    assert f'"third" is also defined in {other}:' in done.stdout
    assert "which counts from now on" in done.stdout
