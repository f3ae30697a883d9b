import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline

GUARD = """
import json
event = json.loads(input())
command = event["args"].get("command", "")
if "rm" in command:
    print(json.dumps({"decision": "deny", "reason": "no removing"}))
elif "push" in command:
    print(json.dumps({"args": {"command": "echo push"}, "context": "rewritten", "message": "changed your push"}))
elif "odd" in command:
    print("{")
"""

CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
tools = ["shell"]
run = "python3 guard.py"
timeout = 20
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "guard.py").write_text(GUARD)
    (folder / "hookline.toml").write_text(CONFIG)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


def shell(home: Path, command: str, *more: str) -> subprocess.CompletedProcess[str]:
    return hookline(home, "emit", "before_tool", "--tool", "shell", "--args", json.dumps({"command": command}), *more)


@pytest.mark.spec("P-06")
def test_blocked_operation_exits_with_2_and_the_reason_on_stderr(home: Path) -> None:
    done = shell(home, "rm x")

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "no removing\n")


def test_allowed_operation_exits_with_0(home: Path) -> None:
    done = shell(home, "ls")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_context_and_messages_are_printed(home: Path) -> None:
    assert shell(home, "git push").stdout == "rewritten\nchanged your push\n"


def test_json_has_everything(home: Path) -> None:
    outcome = json.loads(shell(home, "git push", "--json").stdout)

    assert outcome["decision"] == "pass"
    assert outcome["blocked"] is False
    assert outcome["args"] == {"command": "echo push"}
    assert outcome["context"] == ["rewritten"]
    assert outcome["output"] is None
    assert outcome["skipped"] == []
    assert outcome["trace"]
    (hook,) = outcome["hooks"]
    assert (hook["id"], hook["verdict"], hook["failure"]) == ("guard", "pass", None)
    assert hook["duration"] > 0


def test_json_of_a_blocked_operation_exits_with_2(home: Path) -> None:
    done = shell(home, "rm x", "--json")

    assert done.returncode == 2
    assert json.loads(done.stdout)["reasons"] == ["no removing"]


def test_failing_hook_is_told_and_the_operation_goes_on(home: Path) -> None:
    done = shell(home, "odd")

    assert done.returncode == 0
    assert 'hook "guard" failed: ' in done.stderr


def test_hook_for_another_tool_is_in_skipped_with_its_reason(home: Path) -> None:
    done = hookline(home, "emit", "before_tool", "--tool", "read_file", "--json")

    (skip,) = json.loads(done.stdout)["skipped"]
    assert (skip["id"], skip["gate"]) == ("guard", "matcher")


@pytest.mark.parametrize("how", ["text", "file", "stdin"])
def test_data_comes_from_the_call_a_file_or_stdin(home: Path, how: str) -> None:
    data = json.dumps({"tool": "shell", "args": {"command": "rm x"}})
    (home.parent / "project" / "event.json").write_text(data)
    given = {"text": data, "file": "@event.json", "stdin": "-"}[how]

    assert hookline(home, "emit", "before_tool", "--data", given, stdin=data).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["before_tol"], 'unknown event "before_tol" (did you mean "before_tool"?)'),
        (["before_tool", "--data", "{"], "--data is no JSON"),
        (["before_tool", "--data", "[]"], "--data must be a JSON object, not list"),
        (["before_tool", "--args", "nope"], "--args is no JSON"),
        (["before_tool", "--data", "@missing.json"], "cannot read missing.json: No such file"),
        (["before_tool", "--project", "missing"], "there is no folder missing"),
        (["before_tool", "--dialect", "klingon"], 'there is no dialect "klingon"'),
        (["before_tool", "--dialect", "ollm", "--data", "{}"], "ollm at event"),
        ([], "the following arguments are required: EVENT"),
    ],
)
def test_wrong_call_exits_with_1_and_says_what_is_wrong(home: Path, arguments: list[str], message: str) -> None:
    done = hookline(home, "emit", *arguments)

    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "value"), [("HOOKS_ENABLED", "maybe"), ("HOOKS_TIMEOUT", "soon")])
def test_setting_that_cannot_be_meant_is_reported_and_guards_stay_on(home: Path, name: str, value: str) -> None:
    removing = ["--tool", "shell", "--args", '{"command": "rm x"}']
    done = hookline(home, "emit", "before_tool", *removing, **{name: value})

    assert done.returncode == 2
    assert f"error: the environment variable {name} is" in done.stderr


@pytest.mark.spec("A-16")
def test_hooks_can_be_switched_off(home: Path) -> None:
    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "rm x"}', HOOKS_ENABLED="no")

    assert done.returncode == 0


def test_answer_is_in_the_words_of_the_host(home: Path) -> None:
    document = {"event": "pre-tool-call", "context": {"tool": "shell", "args": {"command": "rm x"}}}
    done = hookline(home, "emit", "pre-tool-call", "--dialect", "ollm-protocol", "--data", json.dumps(document))

    assert done.returncode == 2
    assert json.loads(done.stdout) == {"allow": False, "message": "no removing"}


def test_tool_of_the_host_is_known_by_its_name_there(home: Path) -> None:
    call = ["--tool", "bash_execute", "--args", '{"command": "git push"}']
    done = hookline(home, "emit", "PreToolUse", "--dialect", "cli-agent", *call)

    assert json.loads(done.stdout)["modified_args"] == {"command": "echo push"}


def test_document_of_another_event_than_the_call_says_is_refused(home: Path) -> None:
    document = {"event": "pre-tool-call", "context": {"tool": "shell", "args": {}}}
    done = hookline(home, "emit", "post-tool-call", "--dialect", "ollm-protocol", "--data", json.dumps(document))

    assert done.returncode == 1
    assert '--data says the event is "pre-tool-call", the call says "post-tool-call"' in done.stderr


def test_hook_of_the_project_does_not_run_and_that_is_said(home: Path) -> None:
    project = home.parent / "project"
    (project / "evil.sh").write_text("touch pwned\necho '{}'\n")
    (project / "hookline.toml").write_text('[[hook]]\nname = "evil"\non = "before_tool"\nrun = "bash evil.sh"\n')

    done = shell(home, "ls")

    assert done.returncode == 0
    assert 'hook "evil" did not run: workspace hook that is not approved' in done.stderr
    assert not (project / "pwned").exists()


def test_broken_configuration_is_told_and_the_other_hooks_still_run(home: Path) -> None:
    (home.parent / "project" / "hookline.toml").write_text("[[hook]\n")

    done = shell(home, "rm x")

    assert done.returncode == 2
    assert "hookline.toml:1: " in done.stderr


def test_control_characters_of_a_hook_do_not_reach_the_terminal(home: Path) -> None:
    text = 'import json\nprint(json.dumps({"decision": "deny", "reason": "a\\x1b[2Jb\\u202ec"}))\n'
    (home / ".config" / "hookline" / "guard.py").write_text(text)

    assert shell(home, "ls").stderr == "a\\x1b[2Jb\\u202ec\n"


@pytest.mark.parametrize("redirect", ["| true", ">&-", ">/dev/full", "2>/dev/full", ">&- 2>&-"])
@pytest.mark.parametrize("more", ["--json", "--dialect cli-agent", ""])
def test_answer_that_cannot_be_printed_is_still_the_exit_code(home: Path, redirect: str, more: str) -> None:
    call = f"""{sys.executable} -m hookline emit before_tool --tool shell --args '{{"command": "rm x"}}' {more} {redirect}"""
    script = f"set -o pipefail; {call}; exit $?"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=home.parent / "project",
        env={**os.environ, "HOME": str(home), "PYTHONIOENCODING": "ascii"},
        timeout=60,
        check=False,
        capture_output=True,
    )

    assert done.returncode == 2


@pytest.mark.parametrize("damage", ["garbage", "folder"])
def test_broken_trace_store_does_not_change_the_answer(home: Path, damage: str) -> None:
    data = home / ".local" / "share" / "hookline"
    if damage == "garbage":
        data.mkdir(parents=True)
        (data / "traces.db").write_text("garbage" * 1000)
    else:
        data.parent.mkdir(parents=True)
        data.write_text("a file in the folder's place")

    assert shell(home, "rm x").returncode == 2
    assert shell(home, "ls").returncode == 0


def test_hooks_end_when_a_host_gives_up_on_us(home: Path) -> None:
    (home / ".config" / "hookline" / "guard.py").write_text(
        f"import os, time\nopen({str(home / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "hookline", "emit", "before_tool", "--tool", "shell"],
        cwd=home.parent / "project",
        env={**os.environ, "HOME": str(home)},
    )
    deadline = time.monotonic() + 30
    while not ((home / "pid").exists() and (home / "pid").read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.terminate()

    assert child.wait(30) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "pid").read_text()), 0)


def test_text_cut_in_the_middle_of_a_character_is_read(home: Path) -> None:
    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "rm \\ud83d"}')

    assert done.returncode == 2


def test_tool_called_by_another_agents_name_is_the_same_tool(home: Path) -> None:
    for name in ("bash", "Bash", "bash_execute", "shell_exec"):
        done = hookline(home, "emit", "before_tool", "--tool", name, "--args", '{"command": "rm x"}')
        assert done.returncode == 2, name


def test_trace_is_kept_in_the_data_folder(home: Path) -> None:
    trace = json.loads(shell(home, "ls", "--json").stdout)["trace"]

    import sqlite3  # noqa: PLC0415

    (path,) = home.rglob("traces.db")
    with sqlite3.connect(path) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        dump = "\n".join(str(row) for table in tables for row in database.execute(f"SELECT * FROM {table}"))  # noqa: S608 - our own names
    database.close()
    assert trace in dump


@pytest.mark.spec("C-17")
def test_verbose_shows_each_hook_as_it_runs_on_stderr_alone(home: Path) -> None:
    done = shell(home, "rm x", "--verbose")

    starts, ends, reason = done.stderr.splitlines()
    assert (done.returncode, done.stdout, reason) == (2, "", "no removing")
    assert starts == "hook guard (hookline): starts at before_tool"
    assert ends.startswith("hook guard (hookline): deny after ")
    assert ends.endswith(" ms: no removing")


@pytest.mark.spec("C-17")
def test_verbose_line_comes_while_the_hook_runs(home: Path) -> None:
    (home / ".config/hookline/guard.py").write_text("import time\ntime.sleep(60)\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "hookline", "emit", "before_tool", "--tool", "shell", "-v"],
        cwd=home.parent / "project",
        env={**os.environ, "HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stderr is not None
        assert child.stderr.readline() == "hook guard (hookline): starts at before_tool\n"
        assert child.poll() is None
    finally:
        child.terminate()
        child.communicate(timeout=60)


@pytest.mark.spec("A-19")
@pytest.mark.parametrize("how", ["option", "variable"])
def test_debugging_shows_what_was_exchanged_and_changes_nothing_else(home: Path, how: str) -> None:
    call = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push"}')
    done = hookline(home, *call, "--debug") if how == "option" else hookline(home, *call, HOOKLINE_DEBUG="1")

    assert (done.returncode, done.stdout) == (0, "rewritten\nchanged your push\n")
    assert '  argv      | ["python3", ' in done.stderr
    assert '"command":"git push"' in done.stderr
    assert '  stdout    | {"args": {"command": "echo push"}' in done.stderr
    assert "  exit code | 0" in done.stderr


@pytest.mark.spec("A-19")
def test_debugging_says_which_hooks_were_left_out_and_why(home: Path) -> None:
    done = hookline(home, "emit", "before_tool", "--tool", "read_file", "--debug")

    assert done.returncode == 0
    assert done.stderr.startswith("hook guard (hookline): not run, matcher: ")


def test_debugging_shows_no_secret(home: Path) -> None:
    key = "sk-" + "a1" * 20
    done = shell(home, f"curl -H {key}", "--debug")

    assert "curl -H" in done.stderr
    assert key not in done.stderr


def test_debugging_says_when_nobody_wants_an_event(home: Path) -> None:
    assert hookline(home, "emit", "session_end", "--debug").stderr == "no hook wants this event\n"
    off = hookline(home, "emit", "session_end", "--debug", HOOKS_ENABLED="false")
    assert off.stderr.endswith("hooks are switched off\n")


def _in_folder_that_is_gone(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = 'mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && shift && exec "$@"'
    return subprocess.run(
        ["bash", "-c", script, "bash", str(home.parent), sys.executable, "-m", "hookline", *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_guard_is_asked_though_the_folder_an_agent_works_in_was_removed(home: Path) -> None:
    call = ("emit", "before_tool", "--tool", "shell", "--args")

    blocked = _in_folder_that_is_gone(home, *call, '{"command": "rm x"}')
    allowed = _in_folder_that_is_gone(home, *call, '{"command": "ls"}')

    assert (blocked.returncode, blocked.stderr) == (2, "no removing\n")
    assert (allowed.returncode, allowed.stderr) == (0, "")


@pytest.mark.parametrize("command", ["list", "check", "doctor"])
def test_commands_work_where_the_folder_was_removed(home: Path, command: str) -> None:
    done = _in_folder_that_is_gone(home, command)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_failure_of_our_own_is_no_yes(home: Path) -> None:
    """With so few descriptors an interpreter starts, and no event loop can be made: no hook can be asked."""
    (home / ".config/hookline/hookline.toml").write_text(f'{CONFIG}on_error = "block"\n')

    endings = [_with_descriptors(home, limit) for limit in ("5", "6", "7", "8")]

    assert {done.returncode for done in endings} == {2}
    assert any("could not be asked, so this is blocked" in done.stderr for done in endings)


def _with_descriptors(home: Path, limit: str) -> subprocess.CompletedProcess[str]:
    call = ("-m", "hookline", "emit", "before_tool", "--tool", "shell", "--args", '{"command": "rm x"}')
    return subprocess.run(
        ["bash", "-c", 'ulimit -n "$1" && shift && exec "$@"', "bash", limit, sys.executable, *call],
        cwd=home.parent / "project",
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


GUARDED = """
[[hook]]
id = "guard"
on = "before_tool"
run = "sh guard.sh"
on_error = "block"
once = true
per_minute = 30
breaker = 3
cache = "10m"

[[hook]]
id = "says"
on = "before_agent"
run = "sh says.sh"
per_minute = 30
cache = "10m"

[[hook]]
id = "later"
on = "before_agent"
run = "sh says.sh"
background = true
"""


def test_unusable_data_folder_takes_no_answer_away(tmp_path: Path) -> None:
    home = tmp_path / "home"
    scripts = {
        "guard.sh": """echo '{"decision": "deny", "reason": "not this one"}'\n""",
        "says.sh": """echo '{"context": "mind the gap"}'\n""",
    }
    configure(home, GUARDED, scripts)
    (home / ".local" / "share").mkdir(parents=True)
    (home / ".local" / "share" / "hookline").symlink_to("x" * 300)

    guarded = hookline(home, "emit", "before_tool", "--tool", "shell", "--session", "s")
    told = hookline(home, "emit", "before_agent")

    assert (guarded.returncode, told.returncode) == (2, 0)
    assert "not this one" in guarded.stderr
    assert told.stdout == "mind the gap\n"
    assert 'hook "later" failed: it cannot be put into the queue' in told.stderr
    assert "hooks run without them" in guarded.stderr
    assert "Traceback" not in guarded.stderr + told.stderr
