"""`hookline replay`, run as a user does: recorded calls and transcripts against hooks that changed meanwhile."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.process.containment import find_layers
from tests.cli.program import configure, hookline

TRANSCRIPTS = Path(__file__).parents[1] / "replay" / "transcripts"
CONTAINED = pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain a process")

WATCH = """
[[hook]]
name = "watch"
on = "before_tool"
tell = "seen"
"""
NO_FORCE = """
[[hook]]
name = "no-force"
runs = "git push --force"
deny = "no force pushes"
"""
COMMANDS = (
    "ls",
    "git push --force",
    "true",
    "git push",
    "cat a",
    "git push --force x",
    "id",
    "pwd",
    "git push -f",
    "w",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", WATCH)
    return tmp_path / "home"


def record(home: Path, *commands: str, session: str = "s1") -> None:
    """Have the program trace calls, as an agent's would be."""
    for command in commands:
        args = json.dumps({"command": command})
        done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", args, "--session", session)
        assert done.returncode in {0, 2}, done.stderr


def replay(home: Path, *words: str) -> dict[str, Any]:
    done = hookline(home, "replay", "--json", *words)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.spec("U-16")
def test_rule_added_after_the_fact_shows_the_calls_it_would_deny(home: Path) -> None:
    record(home, *COMMANDS)
    before = hookline(home, "replay", "--expect-no-change")
    configure(home, WATCH + NO_FORCE)

    after = hookline(home, "replay", "--since", "1h")
    expected = hookline(home, "replay", "--expect-no-change")

    assert (before.returncode, "nothing would be decided otherwise" in before.stdout) == (0, True)
    assert (after.returncode, expected.returncode) == (0, 1)
    lines = after.stdout.splitlines()
    assert lines[0].startswith("10 events replayed against 2 hooks in ")
    assert lines[1] == "was pass, would be deny: 3 of 10"
    assert [line.split("  ")[-1] for line in lines[5:]] == ["no force pushes"] * 3
    assert ["git push --force" in line or "git push -f" in line for line in lines[5:]] == [True] * 3


def test_json_has_every_change_with_what_was_and_would_be_decided(home: Path) -> None:
    record(home, "ls", "git push --force")
    configure(home, NO_FORCE)

    report = replay(home)

    assert sorted(report) == [
        "changed",
        "changes",
        "counts",
        "events",
        "hooks",
        "notes",
        "problems",
        "seconds",
        "skipped",
    ]
    (change,) = report["changes"]
    assert {name: change[name] for name in ("event", "tool", "subject", "session", "was", "now", "hook", "reason")} == {
        "event": "before_tool",
        "tool": "shell",
        "subject": "git push --force",
        "session": "s1",
        "was": "pass",
        "now": "deny",
        "hook": "no-force",
        "reason": "no force pushes",
    }
    assert change["project"] == str(home.parent / "project")
    assert (report["changed"], report["counts"]) == (1, {"pass -> deny": 1})


def test_replay_is_recorded_nowhere(home: Path) -> None:
    record(home, "ls")
    before = hookline(home, "trace", "list", "--json").stdout

    replay(home)

    assert hookline(home, "trace", "list", "--json").stdout == before


def test_session_project_and_limit_choose_the_events(home: Path) -> None:
    record(home, "ls", "git push --force")
    record(home, "git push --force", "pwd", session="s2")
    configure(home, NO_FORCE)

    assert replay(home)["events"] == 4
    assert replay(home, "--session", "s2")["counts"] == {"pass -> deny": 1}
    assert replay(home, "--limit", "1")["changes"] == []
    assert replay(home, "--project", str(home))["events"] == 0
    assert replay(home, "--project", str(home.parent / "project"))["events"] == 4
    assert replay(home, "--project", "../project")["events"] == 4
    assert replay(home, "--agent", "codex")["events"] == 0


def test_one_hook_is_compared_by_itself(home: Path) -> None:
    record(home, "git push --force")
    configure(home, WATCH + NO_FORCE)

    assert replay(home, "--hook", "watch")["changes"] == []
    assert replay(home, "--hook", "no-force")["changed"] == 1
    wrong = hookline(home, "replay", "--hook", "no-froce")
    assert (wrong.returncode, 'there is no hook "no-froce"' in wrong.stderr) == (1, True)


@pytest.mark.spec("U-16")
@pytest.mark.parametrize("agent", ["claude-code", "codex-cli", "gemini-cli"])
def test_transcript_is_replayed_against_the_hooks_of_a_folder(home: Path, agent: str) -> None:
    (transcript,) = TRANSCRIPTS.glob(f"{agent}.*")
    folder = home.parent / "checkout"
    folder.mkdir()
    (folder / "hookline.toml").write_text(NO_FORCE + '[[hook]]\nname = "no-rm"\nruns = "rm"\ndeny = "no"\n')

    report = replay(home, "--config", str(folder), str(transcript))
    failing = hookline(home, "replay", "--config", str(folder), "--expect-no-change", str(transcript))

    assert (report["events"], report["hooks"], report["counts"]) == (5, 2, {"pass -> deny": 1})
    assert report["changes"][0]["agent"] == agent
    assert failing.returncode == 1


@pytest.mark.spec("U-16")
def test_policy_with_an_error_is_no_policy_without_a_change(home: Path) -> None:
    record(home, "ls")
    configure(home, WATCH + '[[hook]]\nname = "typo"\non = "before_tool"\nrnu = "true"\n')

    report = replay(home)
    done = hookline(home, "replay", "--expect-no-change")

    assert (report["changes"], len(report["problems"])) == ([], 1)
    assert done.returncode == 1
    assert 'unknown key "rnu"' in done.stderr


def test_export_is_replayed_elsewhere(home: Path) -> None:
    record(home, "ls", "git push --force")
    exported = home.parent / "export.jsonl"
    hookline(home, "trace", "export", "--output", str(exported))
    other = home.parent / "other" / "home"
    other.parent.mkdir()
    configure(other, NO_FORCE)

    assert replay(other, str(exported))["counts"] == {"pass -> deny": 1}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--config", "gone"), "--config: there is no folder gone"),
        (("--config", "."), "there is no hookline.toml in it"),
        (("--project", "gone"), "--project: there is no folder gone"),
        (("gone.jsonl",), "it cannot be read: No such file or directory"),
        (("--since", "soon"), "is neither a span like 2h"),
    ],
)
def test_mistake_in_the_call_is_an_error_with_exit_code_1(home: Path, words: tuple[str, ...], problem: str) -> None:
    done = hookline(home, "replay", *words)

    assert (done.returncode, problem in done.stderr) == (1, True), done.stderr


def test_nothing_replayed_is_no_proof(home: Path) -> None:
    done = hookline(home, "replay", "--expect-no-change")

    assert (done.returncode, "no event was replayed" in done.stderr) == (1, True)


def test_hook_of_the_project_that_is_not_approved_does_not_run(home: Path) -> None:
    record(home, "ls")
    script = f"{sys.executable} -c \"print('{{}}')\""
    (home.parent / "project" / "hookline.toml").write_text(
        f"[[hook]]\nname = 'theirs'\non = 'before_tool'\nrun = '''{script}'''\nshell = true\n"
    )

    report = replay(home)

    assert report["changes"] == []
    (skipped,) = report["skipped"]
    assert (skipped["hook"], skipped["events"]) == ("theirs", 1)
    assert skipped["reason"].startswith("it is not approved: ")


@CONTAINED
def test_hook_process_changes_nothing_and_its_decision_counts(home: Path) -> None:
    record(home, "ls")
    written = home.parent / "written"
    script = f"""
import json
try:
    open({str(written)!r}, "w").close()
except OSError as problem:
    print(json.dumps({{"decision": "deny", "reason": "contained"}}))
"""
    guard = f'[[hook]]\nname = "guard"\non = "before_tool"\nrun = ["{sys.executable}", "guard.py"]\n'
    configure(home, guard, {"guard.py": script})

    report = replay(home)

    assert [change["reason"] for change in report["changes"]] == ["contained"]
    assert not written.exists()


def test_process_is_not_run_where_the_machine_cannot_contain_it(home: Path) -> None:
    record(home, "ls")
    deny = "import json; print(json.dumps({'decision': 'deny', 'reason': 'ran'}))"
    configure(home, f'[[hook]]\nname = "guard"\non = "before_tool"\nrun = ["{sys.executable}", "-c", "{deny}"]\n')
    # no layer of the machine is used, and no bubblewrap is found
    without = {"HOOKLINE_WITHOUT": "landlock,mounts", "PATH": "/nonexistent"}

    refused = json.loads(hookline(home, "replay", "--json", **without).stdout)
    forced = json.loads(hookline(home, "replay", "--json", "--uncontained", **without).stdout)

    assert refused["changes"] == []
    (skipped,) = refused["skipped"]
    assert skipped["reason"].startswith("it cannot be contained here (")
    assert [change["reason"] for change in forced["changes"]] == ["ran"]


def test_user_is_told_once_that_a_folder_is_gone(home: Path) -> None:
    configure(home, f'[[hook]]\nname = "run"\non = "before_tool"\nrun = ["{sys.executable}", "-c", "pass"]\n')

    done = hookline(home, "replay", str(TRANSCRIPTS / "claude-code.jsonl"))

    assert done.stderr.count("/home/sam/project is not there any more, so that the processes of hooks ran") <= 1
    assert done.stderr.count("/home/sam/project is not there any more, so that only your own hooks") == 1


def test_damaged_lines_of_a_transcript_are_named(home: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes((TRANSCRIPTS / "claude-code.jsonl").read_bytes() + b'{"type": "assis')

    done = hookline(home, "replay", str(damaged))

    assert done.returncode == 0
    assert "1 line could not be read" in done.stderr
