"""`hookline rollback`: what hooks with `undo` did is recorded, offered and taken back."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline
from tests.cli.terminal import Session

SAVE = """[[hook]]
id = "save"
on = "before_agent"
state = true
shell = true
run = "cp text $HOOKLINE_SESSION_STATE/text"
undo = "cp $HOOKLINE_SESSION_STATE/text text"

[[hook]]
id = "reserve"
on = "before_tool"
tools = "write_file"
run = ["touch", "{{args.path}}.lock"]
undo = ["rm", "{{args.path}}.lock"]

[[hook]]
id = "no-keys"
writes = ["*.pem"]
deny = "no keys"

[[hook]]
id = "rest"
on = "after_agent"
if = "response == 'bad'"
deny = "not good enough"
"""
OFFER = "can be taken back: hookline rollback"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", SAVE)
    (tmp_path / "project" / "text").write_text("first")
    return tmp_path / "home"


def prompt(home: Path, session: str = "s") -> None:
    assert hookline(home, "emit", "before_agent", "--data", '{"prompt": "go"}', "--session", session).returncode == 0


def write(home: Path, path: str) -> str:
    args = json.dumps({"path": path, "content": "x"})
    done = hookline(home, "emit", "before_tool", "--tool", "write_file", "--args", args, "--session", "s")
    return done.stdout + done.stderr


def test_rejected_turn_is_offered_and_taken_back_the_latest_run_first(home: Path) -> None:
    project = home.parent / "project"
    prompt(home)
    assert OFFER not in write(home, "a.txt")
    (project / "text").write_text("second")
    done = hookline(home, "emit", "after_agent", "--data", '{"response": "bad"}', "--session", "s")
    assert f"what save, reserve did {OFFER}" in done.stdout + done.stderr
    listed = json.loads(hookline(home, "rollback", "--list", "--json").stdout)
    assert [(one["hook"], one["turn"], one["event"]) for one in listed] == [
        ("reserve", 1, "before_tool"),
        ("save", 1, "before_agent"),
    ]
    refused = hookline(home, "rollback")
    assert (refused.returncode, "--yes" in refused.stderr) == (1, True)
    done = hookline(home, "rollback", "--yes")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["reserve: taken back", "save: taken back"])
    assert ((project / "text").read_text(), (project / "a.txt.lock").exists()) == ("first", False)
    assert "nothing can be taken back" in hookline(home, "rollback", "--yes").stdout
    traces = json.loads(hookline(home, "trace", "list", "--json").stdout)
    assert [one["event"] for one in traces[:3]] == ["custom", "custom", "after_agent"]
    assert "save:undo" in hookline(home, "trace", "show", traces[0]["trace"]).stdout
    # a replay runs what happened, and an undo is not the event of its hook once more
    replayed = json.loads(hookline(home, "replay", "--json").stdout)
    assert (replayed["changed"], replayed["events"]) == (0, len(traces))


def test_denied_call_offers_what_was_done_for_it_and_not_the_turn(home: Path) -> None:
    prompt(home)
    assert f"what reserve did {OFFER}" in write(home, "a.pem")
    assert "save" not in write(home, "b.pem")


def test_rejection_does_not_offer_what_an_earlier_turn_did(home: Path) -> None:
    prompt(home)
    configure(home, SAVE.replace('on = "before_agent"', 'on = "session_end"'))
    prompt(home)
    done = hookline(home, "emit", "after_agent", "--data", '{"response": "bad"}', "--session", "s")
    assert OFFER not in done.stdout + done.stderr
    assert len(json.loads(hookline(home, "rollback", "--list", "--json").stdout)) == 1


def test_next_prompt_begins_another_turn(home: Path) -> None:
    prompt(home)
    prompt(home)
    prompt(home, "other")
    turns = [(one["session"], one["turn"]) for one in json.loads(hookline(home, "rollback", "--list", "--json").stdout)]
    assert turns == [("other", 1), ("s", 2), ("s", 1)]
    done = json.loads(hookline(home, "rollback", "--session", "s", "--yes", "--json").stdout)
    assert len(done["undone"]) == 1
    assert json.loads(hookline(home, "rollback", "--all", "--forget", "--yes", "--json").stdout)["forgotten"]
    assert json.loads(hookline(home, "rollback", "--list", "--json").stdout) == []


def test_runs_below_the_top_of_a_repository_are_taken_back_from_its_top(home: Path) -> None:
    project = home.parent / "project"
    (project / ".git").mkdir()
    (project / "below").mkdir()
    (project / "below" / "text").write_text("first")
    below = ("--project", str(project / "below"))
    hookline(home, "emit", "before_agent", "--data", '{"prompt": "go"}', "--session", "s", *below)
    (project / "below" / "text").write_text("second")
    assert hookline(home, "rollback", "--yes").stdout == "save: taken back\n"
    assert (project / "below" / "text").read_text() == "first"
    assert (project / "text").read_text() == "first"


def test_undo_that_fails_stays_with_its_reason(home: Path) -> None:
    prompt(home)
    write(home, "a.txt")
    (home.parent / "project" / "a.txt.lock").unlink()
    done = hookline(home, "rollback", "reserve", "--yes", "--json")
    assert done.returncode == 1
    assert "No such file" in json.loads(done.stdout)["failed"][0]["problem"]
    [left] = [one for one in json.loads(hookline(home, "rollback", "--list", "--json").stdout) if one["error"]]
    assert left["hook"] == "reserve"


def test_blocking_and_failing_hooks_are_not_offered(home: Path) -> None:
    configure(home, '[[hook]]\nid = "no"\non = "before_agent"\nrun = ["sh", "-c", "exit 2"]\nundo = "true"\n')
    hookline(home, "emit", "before_agent", "--data", '{"prompt": "go"}', "--session", "s")
    configure(home, '[[hook]]\nid = "broken"\non = "before_agent"\nrun = ["sh", "-c", "exit 1"]\nundo = "true"\n')
    hookline(home, "emit", "before_agent", "--data", '{"prompt": "go"}', "--session", "s")
    assert json.loads(hookline(home, "rollback", "--list", "--json").stdout) == []


def test_wrong_input_is_explained(home: Path) -> None:
    assert "`hookline rollback --list` shows what can" in hookline(home, "rollback", "--session", "none").stderr
    assert "nothing that missing did" in hookline(home, "rollback", "missing").stderr
    prompt(home)
    configure(home, "")
    done = hookline(home, "rollback", "--yes")
    assert (done.returncode, "gone" in done.stdout) == (1, True)
    assert "Claude Code runs it" in hookline(home, "rollback", "--yes", CLAUDECODE="1").stderr
    configure(home, '[[hook]]\nid = "rule"\nruns = ["ls"]\ndeny = "no"\nundo = "true"\n')
    assert "does nothing that can be taken back" in hookline(home, "check").stdout
    done = hookline(home, "add", "x", "--on", "before_tool", "--deny", "no", "--undo", "true")
    assert "--undo takes back what a hook did" in done.stderr


def test_undo_is_added_shown_and_different_by_platform(home: Path) -> None:
    configure(home, "")
    hookline(home, "add", "lock", "--on", "before_tool", "--run", "bash lock.sh", "--undo", "bash unlock.sh")
    assert "hookline rollback runs: bash unlock.sh" in hookline(home, "show", "lock").stdout
    by_platform = '{ windows = "del lock", default = ["rm", "-f", "lock"] }'
    configure(home, f'[[hook]]\nid = "lock"\non = "before_agent"\nrun = ["touch", "lock"]\nundo = {by_platform}\n')
    prompt(home)
    assert hookline(home, "rollback", "--yes").stdout == "lock: taken back\n"
    assert not (home.parent / "project" / "lock").exists()
    assert "unknown platform" in _check(home, "{ dos = 'del' }")
    assert 'undo: the command holds "*"' in _check(home, "'touch *'")


def _check(home: Path, undo: str) -> str:
    configure(home, f'[[hook]]\nid = "lock"\non = "before_agent"\nrun = ["touch", "lock"]\nundo = {undo}\n')
    return hookline(home, "check").stdout


def test_undo_of_a_project_is_approved_with_its_hook(home: Path) -> None:
    project = home.parent / "project"
    configure(home, "")
    (project / "make.sh").write_text("touch made\n")
    (project / "take-back.sh").write_text("rm -f made\n")
    (project / "hookline.toml").write_text(
        '[[hook]]\nid = "make"\non = "before_agent"\nrun = "sh make.sh"\nundo = "sh take-back.sh"\n'
    )
    shown = hookline(home, "trust", "show", "make").stdout
    assert "undo" in shown
    assert "take-back.sh" in shown
    assert hookline(home, "trust", "approve", "make", "--yes").returncode == 0
    prompt(home)
    assert (project / "made").exists()
    (project / "take-back.sh").write_text("touch stolen\n")
    done = hookline(home, "rollback", "--yes")
    assert (done.returncode, (project / "stolen").exists()) == (1, False)
    assert "approve" in done.stdout
    (project / "take-back.sh").write_text("rm -f made\n")
    assert hookline(home, "rollback", "--yes").returncode == 0
    assert not (project / "made").exists()


@pytest.mark.parametrize(("keys", "code", "left"), [("y\n", 0, False), ("n\n", 1, True)])
def test_person_at_a_terminal_is_asked(home: Path, keys: str, code: int, *, left: bool) -> None:
    project = home.parent / "project"
    prompt(home)
    write(home, "a.txt")

    with Session(home, project, "rollback", "reserve") as session:
        asked = session.answers(keys)
        done = session.end()

    assert "Take back what 1 hook run did" in asked
    assert done.returncode == code
    assert (project / "a.txt.lock").exists() is left
