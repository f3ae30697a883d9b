import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline

GUARD = """
import json
event = json.loads(input())
if "rm" in event["args"]["command"]:
    print(json.dumps({"decision": "deny", "reason": "no \\u001b[31mremoving"}))
"""
CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
run = "python3 guard.py"

[[hook]]
name = "gone"
on = "before_tool"
run = "/no/such/program"

[[hook]]
name = "off"
on = "before_tool"
run = "python3 guard.py"
enabled = false
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"guard.py": GUARD})
    return tmp_path / "home"


def emit(home: Path, command: str) -> str:
    call = ("emit", "before_tool", "--tool", "shell", "--args", json.dumps({"command": command}), "--json")
    return str(json.loads(hookline(home, *call, "--session", "s1").stdout)["trace"])


@pytest.mark.spec("D-15")
def test_list_shows_the_newest_first_and_show_tells_one_whole(home: Path) -> None:
    first, second = emit(home, "ls"), emit(home, "rm x")

    listed = json.loads(hookline(home, "trace", "list", "--json").stdout)
    shown = hookline(home, "trace", "show", "last")

    assert [(one["trace"], one["decision"], one["blocked"]) for one in listed] == [
        (second, "deny", True),
        (first, "pass", False),
    ]
    assert (listed[0]["tool"], listed[0]["ran"], listed[0]["failed"], listed[0]["skipped"]) == ("shell", 2, 1, 1)
    assert second in shown.stdout
    assert 'hook "guard" said deny' in shown.stdout
    assert 'hook "gone" failed' in shown.stdout
    assert 'hook "off" left out (enabled): switched off' in shown.stdout
    assert '{"command":"rm x"}' in shown.stdout
    alone = hookline(home, "trace").stdout.split()
    assert [word for word in alone if word in {first, second}] == [second, first]


def test_texts_of_hooks_cannot_steer_the_terminal(home: Path) -> None:
    emit(home, "rm x")

    for call in (("trace", "show", "last"), ("trace", "list"), ("stats",)):
        assert "\x1b" not in hookline(home, *call).stdout


def test_list_can_be_narrowed(home: Path) -> None:
    passed, blocked = emit(home, "ls"), emit(home, "rm x")

    def traces(*more: str) -> list[str]:
        return [one["trace"] for one in json.loads(hookline(home, "trace", "list", "--json", *more).stdout)]

    assert traces("--blocked") == [blocked]
    assert traces("--failed") == [blocked, passed]
    assert traces("--limit", "1") == [blocked]
    assert traces("--hook", "guard") == [blocked, passed]
    assert traces("--hook", "nobody") == []
    assert traces("--session", "s1", "--event", "PreToolUse") == [blocked, passed]
    assert traces("--since", "1h") == [blocked, passed]
    assert traces("--since", "2999-01-01") == []


def test_one_trace_is_found_by_the_beginning_of_its_name(home: Path) -> None:
    trace = emit(home, "ls")

    shown = json.loads(hookline(home, "trace", "show", trace[:-2], "--json").stdout)

    assert {record["trace"] for record in shown} == {trace}
    assert shown[0]["step"] == "event"


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (("trace", "show", "last"), "nothing was traced yet"),
        (("trace", "show", "nix"), 'there is no trace "nix"'),
        (("trace", "list", "--event", "before_tol"), 'did you mean "before_tool"?'),
        (("trace", "list", "--event", "post-tool-call"), "stands for after_tool and tool_failed; name one"),
        (("trace", "list", "--since", "yesterday"), "neither a span like 2h"),
        (("trace", "list", "--limit", "0"), '"0" is no whole number above 0'),
        (("trace", "prune"), "one of the arguments --older-than --keep is required"),
        (("trace", "prune", "--older-than", "x"), '"x" is no span of time'),
        (("trace", "list", "--agent", "cladue"), 'there is no dialect "cladue" (did you mean "claude"?)'),
        (("trace", "verify", "nowhere"), "cannot read nowhere: No such file or directory"),
    ],
)
def test_wrong_call_is_told_what_is_right(home: Path, call: tuple[str, ...], complaint: str) -> None:
    done = hookline(home, *call)

    assert done.returncode == 1
    assert complaint in done.stderr


def test_nothing_to_list_is_no_error(home: Path) -> None:
    assert hookline(home, "trace", "list").stdout.startswith("nothing was traced yet")
    assert json.loads(hookline(home, "trace", "list", "--json").stdout) == []


def test_export_gives_every_record_as_a_line(home: Path, tmp_path: Path) -> None:
    trace = emit(home, "ls")
    target = tmp_path / "out.jsonl"

    printed = hookline(home, "trace", "export").stdout
    done = hookline(home, "trace", "export", "--output", str(target))

    assert done.returncode == 0
    assert target.read_text() == printed
    assert {json.loads(line)["trace"] for line in printed.splitlines()} == {trace}
    assert target.stat().st_mode & 0o077 == 0
    again = hookline(home, "trace", "export", "--output", str(target))
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    assert target.read_text() == printed


def test_prune_removes_what_is_old(home: Path) -> None:
    emit(home, "ls")
    kept = json.loads(hookline(home, "trace", "prune", "--older-than", "1h", "--json").stdout)
    gone = json.loads(hookline(home, "trace", "prune", "--keep", "1", "--json").stdout)

    assert kept["removed"] == 0
    assert (gone["left"], gone["removed"]) == (1, kept["left"] - 1)


@pytest.mark.spec("C-17")
def test_tail_tells_what_another_program_traces_until_it_is_interrupted(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "hookline", "trace", "tail", "--hook", "guard", "--json", "--since", "1h"],
        cwd=home.parent / "project",
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as tail:
        try:
            trace = emit(home, "ls")
            assert tail.stdout is not None
            first, second = (json.loads(tail.stdout.readline()) for _ in range(2))
            tail.send_signal(signal.SIGINT)
            _, complaints = tail.communicate(timeout=30)
        finally:
            tail.kill()

    assert [(record["trace"], record["step"]) for record in (first, second)] == [
        (trace, "hook_execution_start"),
        (trace, "hook_execution_complete"),
    ]
    assert (tail.returncode, complaints) == (130, "")


def test_tail_ends_when_nobody_reads_any_more(home: Path) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')
    with subprocess.Popen(
        [sys.executable, "-m", "hookline", "trace", "tail", "--since", "1h"],
        cwd=home.parent / "project",
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        tail.stdout.readline()
        tail.stdout.close()

        assert (tail.wait(timeout=30), tail.stderr.read()) == (0, "")


def test_export_to_stdout_is_whole_and_the_same_as_to_a_file(home: Path, tmp_path: Path) -> None:
    args = json.dumps({"command": "ls", "text": "password=hunter2 \u202e" + "x" * 150_000})
    hookline(home, "emit", "before_tool", "--tool", "shell", "--args", "-", stdin=args)

    printed = hookline(home, "trace", "export").stdout
    hookline(home, "trace", "export", "--output", str(tmp_path / "traces.jsonl"))

    assert printed == (tmp_path / "traces.jsonl").read_text()
    assert all(json.loads(line) for line in printed.splitlines())
    assert "hunter2" in printed
    assert "\u202e" not in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_export_that_cannot_be_written_is_an_error(home: Path) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')
    for command in (("trace", "export"), ("trust", "export")):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "hookline", *command],
                cwd=home.parent / "project",
                env=environment(home),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )

        assert (done.returncode, done.stderr) == (1, "hookline: cannot write to stdout: No space left on device\n")


def call_as_claude(home: Path, command: str, project: Path) -> None:
    payload = {
        "session_id": "s-claude",
        "cwd": str(project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }
    variables = {"AI_AGENT": "claude-code_2-1-325_harness"}
    hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(payload), **variables)


@pytest.mark.spec("U-24", "D-15")
def test_every_record_says_agent_project_session_subject_and_decision(home: Path) -> None:
    project = home.parent / "project"
    call_as_claude(home, "rm -r build", project)
    call_as_claude(home, "ls", project)
    emit(home, "rm y")

    records = [json.loads(line) for line in hookline(home, "trace", "export", "--agent", "claude").stdout.splitlines()]
    listed = json.loads(
        hookline(home, "trace", "list", "--agent", "claude-code", "--decision", "deny", "--json").stdout
    )

    for record in records:
        assert (record["host"], record["project"]) == ("claude-code", str(project))
        assert (record["session"], record["tool"]) == ("s-claude", "shell")
        assert record["subject"] in {"rm -r build", "ls"}
    assert {record["detail"]["version"] for record in records if record["step"] == "event"} == {"2.1.325"}
    assert {record["detail"]["decision"] for record in records if record["step"] == "outcome"} == {"pass", "deny"}
    (one,) = listed
    assert (one["host"], one["project"], one["subject"]) == ("claude-code", str(project), "rm -r build")
    shown = hookline(home, "trace", "list", "--text", "BUILD").stdout.splitlines()
    assert "claude-code" in shown[-1]
    assert shown[-1].endswith("rm -r build")
    assert len(shown) == 3
    assert hookline(home, "trace", "list", "--project", str(home)).stdout.startswith("no trace matches")


def change_records(home: Path, statement: str) -> None:
    path = home / ".local" / "share" / "hookline" / "traces.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE records SET decision = 'pass' WHERE decision = 'deny'", "was changed"),
        ("DELETE FROM records WHERE number = 3", "record 4 follows record 2: 1 between them is missing"),
        ("UPDATE records SET number = number * 100 WHERE number IN (2, 3)", "record 4 follows record 1"),
    ],
)
def test_verify_finds_a_changed_a_removed_and_a_moved_record(home: Path, statement: str, problem: str) -> None:
    emit(home, "rm x")
    whole = hookline(home, "trace", "verify")
    change_records(home, statement)
    broken = hookline(home, "trace", "verify")

    assert (whole.returncode, "none was changed, removed or moved" in whole.stdout) == (0, True)
    assert (broken.returncode, problem in broken.stdout) == (1, True)
    assert "not as they were written, from record" in broken.stdout
    assert json.loads(hookline(home, "trace", "verify", "--json").stdout)["holds"] is False


def test_receipt_verifies_elsewhere_and_hides_what_was_left_out(home: Path, tmp_path: Path) -> None:
    emit(home, "ls --secret-folder")
    call_as_claude(home, "rm -r build", home.parent / "project")
    receipt = tmp_path / "receipt.jsonl"
    done = hookline(home, "trace", "export", "--receipt", "--session", "s-claude", "--output", str(receipt))
    elsewhere = configure(tmp_path / "other" / "home", "").parents[1]

    checked = hookline(elsewhere, "trace", "verify", str(receipt))
    receipt.write_text(receipt.read_text().replace("rm -r build", "rm -r guild"))
    changed = hookline(elsewhere, "trace", "verify", str(receipt))

    assert done.returncode == 0
    assert "secret-folder" not in receipt.read_text()
    assert (checked.returncode, "are only there as digests" in checked.stdout) == (0, True)
    assert (changed.returncode, "was changed" in changed.stdout) == (1, True)


def test_receipt_shows_that_this_machine_wrote_its_whole_chain_anew(home: Path, tmp_path: Path) -> None:
    emit(home, "rm x")
    receipt = tmp_path / "receipt.jsonl"
    hookline(home, "trace", "export", "--receipt", "--output", str(receipt))
    assert hookline(home, "trace", "verify", str(receipt)).returncode == 0

    # all records and their hashes gone, and as many others written in their place
    change_records(home, "DELETE FROM records")
    change_records(home, "DELETE FROM chain WHERE name <> 'id'")
    emit(home, "ls")
    emit(home, "ls")

    assert hookline(home, "trace", "verify").returncode == 0
    against = hookline(home, "trace", "verify", str(receipt))
    assert (against.returncode, "another one, or none" in against.stdout) == (1, True)


def test_what_is_no_receipt_is_named_with_its_line(home: Path, tmp_path: Path) -> None:
    emit(home, "ls")
    receipt = tmp_path / "receipt.jsonl"
    hookline(home, "trace", "export", "--receipt", "--output", str(receipt))
    lines = receipt.read_text().splitlines()
    for text, complaint in (
        ("", "this is no receipt"),
        ('{"format": 3}', "this is no receipt"),
        (lines[0].replace("receipt-1", "receipt-9"), "this Hookline knows"),
        ("\n".join([lines[0], lines[1], "{"]), f"{receipt}:3: cannot be read"),
    ):
        receipt.write_text(text)
        done = hookline(home, "trace", "verify", str(receipt))
        assert (done.returncode, complaint in done.stderr) == (1, True), text


def test_damaged_file_is_reported_once_and_changes_no_answer(home: Path) -> None:
    configure(home, '[[hook]]\nname = "no-rm"\nruns = "rm"\ndeny = "no"\n')
    path = home / ".local" / "share" / "hookline" / "traces.db"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(b"no database" * 1_000)

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "rm x"}')

    assert done.returncode == 2
    assert done.stderr.startswith("no\n")
    assert done.stderr.count("is not a database") == 1


def test_nothing_is_proved_by_a_chain_without_records(home: Path) -> None:
    assert hookline(home, "trace", "verify").stdout == "no record is in the chain, so nothing is proved\n"
