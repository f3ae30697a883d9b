import json
from pathlib import Path

import pytest

from hookline.process.containment import find_layers
from tests.cli.program import configure, hookline

COUNT = """[[hook]]
id = "count"
on = "before_tool"
state = true
shell = true
plain = true
run = "echo x >> $HOOKLINE_STATE/all; echo x >> $HOOKLINE_SESSION_STATE/own; echo $(wc -l < $HOOKLINE_STATE/all) $(wc -l < $HOOKLINE_SESSION_STATE/own)"
"""
CALL = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", COUNT)
    return tmp_path / "home"


def test_hook_finds_again_what_it_kept(home: Path) -> None:
    said = [hookline(home, *CALL, "--session", session).stdout.split() for session in ("one", "one", "two")]
    assert said == [["1", "1"], ["2", "2"], ["3", "1"]]


def test_state_is_listed_shown_and_cleared(home: Path) -> None:
    assert "no hook keeps anything" in hookline(home, "state").stdout
    hookline(home, *CALL, "--session", "one")
    [listed] = json.loads(hookline(home, "state", "list", "--json").stdout)["state"]
    assert (listed["hook"], listed["files"], listed["bytes"], listed["sessions"]) == ("count", 2, 4, 1)
    shown = json.loads(hookline(home, "state", "show", "count", "--json").stdout)
    assert [(one["name"].rpartition("/")[2], one["bytes"]) for one in shown["content"]] == [("all", 2), ("own", 2)]
    refused = hookline(home, "state", "clear", "count")
    assert (refused.returncode, Path(shown["path"]).exists()) == (1, True)
    assert "--yes" in refused.stderr
    assert json.loads(hookline(home, "state", "clear", "count", "--yes", "--json").stdout) == {"cleared": ["count"]}
    assert not Path(shown["path"]).exists()
    assert hookline(home, *CALL, "--session", "one").stdout.split() == ["1", "1"]


def test_agent_cannot_clear_the_state_of_a_guard(home: Path) -> None:
    hookline(home, *CALL)
    refused = hookline(home, "state", "clear", "--all", "--yes", CLAUDECODE="1")
    assert refused.returncode == 1
    assert "Claude Code runs it" in refused.stderr
    assert json.loads(hookline(home, "state", "--json").stdout)["state"]


def test_clear_without_names_says_what_is_missing(home: Path) -> None:
    assert "or say --all" in hookline(home, "state", "clear", "--yes").stderr


def test_guard_whose_state_cannot_be_kept_blocks(home: Path) -> None:
    configure(home, COUNT + 'on_error = "block"\n')
    (home / ".local" / "share").mkdir(parents=True)
    (home / ".local" / "share" / "hookline-state").write_text("in the way")
    denied = hookline(home, *CALL, "--json")
    assert denied.returncode == 2
    assert "its state cannot be kept" in denied.stdout


@pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain files")
@pytest.mark.parametrize("kind", ["command", "python"])
def test_contained_hook_writes_its_own_state_and_reads_no_other(home: Path, kind: str) -> None:
    hookline(home, *CALL, "--session", "one")
    target = {
        "command": 'shell = true\nplain = true\nrun = "cat $HOOKLINE_STATE/../count-*/all; ls $HOOKLINE_STATE/../count-*; '
        'echo kept > $HOOKLINE_STATE/f && cat $HOOKLINE_STATE/f"\n',
        "python": 'call = "keeper:run"\n',
    }[kind]
    project = home.parent / "project"
    (project / "hookline.toml").write_text(f'[[hook]]\nid = "mine"\non = "before_tool"\nstate = true\n{target}')
    (project / "keeper.py").write_text(
        "import os, pathlib\n"
        "def run(event):\n"
        "    own = pathlib.Path(os.environ['HOOKLINE_STATE'])\n"
        "    (own / 'f').write_text('kept')\n"
        "    (other,) = list(own.parent.glob('count-*')) or [own / 'nothing']\n"
        "    try:\n"
        "        found = (other / 'all').read_text()\n"
        "    except OSError:\n"
        "        found = ''\n"
        "    return {'context': found + (own / 'f').read_text()}\n"
    )
    assert hookline(home, "trust", "approve", "mine", "--yes").returncode == 0
    said = json.loads(hookline(home, "test", "mine", "--json").stdout)
    assert "landlock" in json.dumps(said) or "mounts" in json.dumps(said) or "bubblewrap" in json.dumps(said)
    answered = hookline(home, *CALL, "--session", "one").stdout
    assert "kept" in answered
    # what the other hook keeps are lines with an x
    assert "x\n" not in answered.split("kept", maxsplit=1)[0].split("mine", maxsplit=1)[-1]
