"""`hookline hook` as agents run it: a real program, their bytes, their exit codes."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from hookline.bridge import call_ledger
from hookline.dialects import DIALECTS
from hookline.hosts.command_line import command_line
from hookline.model.exchange import Answer
from tests.bridge.agents import AGENTS, GUARD, GUARD_PROGRAM, NEUTRAL, Person, is_neutral, is_refused
from tests.cli.program import configure, environment, hookline

pytestmark = pytest.mark.slow

US: Final = (sys.executable, "-E", "-P", "-m", "hookline", "hook")

EACH_AGENT = pytest.mark.parametrize("host", sorted(AGENTS))
EACH_POLICY = pytest.mark.parametrize("policy", ["block", "allow"])


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Be somebody with a home and a project."""
    return Person(tmp_path)


def _run(
    person: Person,
    words: list[str] | tuple[str, ...],
    raw: bytes,
    *,
    before: Callable[[], None] | None = None,
    **env: str,
) -> Answer:
    done = subprocess.run(
        words,
        input=raw,
        cwd=person.project,
        env=environment(person.home, **env),
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )
    return Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)


def _said(person: Person, host: str, command: str = "ls") -> tuple[bytes, str]:
    return person.said(DIALECTS[host], person.event(command=command))


@EACH_AGENT
def test_the_answer_is_the_agents_bytes_and_nothing_else(person: Person, host: str) -> None:
    person.configure(GUARD)
    raw, event = _said(person, host, "rm -rf /")
    assert is_refused(host, _run(person, (*US, host, event), raw))
    raw, event = _said(person, host)
    quiet = _run(person, (*US, host, event), raw)
    assert (quiet.stdout.strip(), quiet.stderr, quiet.exit_code) == (NEUTRAL[host], b"", 0)


@EACH_AGENT
@pytest.mark.parametrize(("policy", "guarded"), [("allow", True), ("block", False)])
def test_on_a_full_disk_the_hooks_still_decide(person: Person, host: str, policy: str, *, guarded: bool) -> None:
    if guarded:
        person.configure(GUARD)

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    raw, event = _said(person, host, "rm -rf /")
    answer = _run(person, (*US, "--if-broken", policy, host, event), raw, before=no_room)
    assert is_refused(host, answer) if guarded else is_neutral(host, answer)
    assert not any(path.is_file() and path.stat().st_size for path in person.data.rglob("*"))


@EACH_AGENT
@EACH_POLICY
def test_an_interpreter_that_has_gone_follows_the_policy(person: Person, host: str, policy: str) -> None:
    raw, event = _said(person, host)
    if host == "opencode":
        pytest.skip("its plugin starts us itself")
    command = command_line(host, event, python=str(person.home / "gone"), policy=policy)
    answer = _run(person, ("/bin/sh", "-c", command), raw)
    assert is_refused(host, answer) if policy == "block" else is_neutral(host, answer)


@EACH_POLICY
def test_an_answer_of_ours_passes_the_shell_around_it_unchanged(person: Person, policy: str) -> None:
    person.configure(GUARD)
    for host in ("claude-code", "factory-droid", "antigravity"):
        raw, event = _said(person, host, "rm -rf /")
        command = command_line(host, event, python=sys.executable, policy=policy)
        plain = _run(person, (*US, "--if-broken", policy, host, event), raw)
        assert is_refused(host, plain)
        around = _run(person, ("/bin/sh", "-c", command), raw)
        assert (around.stdout, around.exit_code) == (plain.stdout, plain.exit_code)
        assert around.stderr.strip() == plain.stderr.strip()


def test_a_no_that_cannot_be_written_is_one_all_the_same(person: Person) -> None:
    person.configure(GUARD)
    for command, code in (("rm -rf /", 2), ("ls", 0)):
        raw, event = _said(person, "claude-code", command)
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                (*US, "claude-code", event),
                input=raw,
                cwd=person.project,
                env=environment(person.home),
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        assert done.returncode == code


def test_without_a_home_it_answers(person: Person) -> None:
    raw, event = _said(person, "claude-code")
    done = subprocess.run(
        (*US, "--if-broken", "block", "claude-code", event),
        input=raw,
        cwd=person.project,
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(person.data), "XDG_CONFIG_HOME": str(person.config)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_project_that_was_removed_under_it_keeps_no_guard_from_deciding(person: Person) -> None:
    person.configure(GUARD)
    raw, event = _said(person, "claude-code", "rm -rf /")
    gone = person.project / "gone"
    gone.mkdir()
    script = f"cd {shlex.quote(str(gone))} && rmdir ../gone && exec {shlex.join((*US, 'claude-code', event))}"
    assert is_refused("claude-code", _run(person, ("/bin/sh", "-c", script), raw))


def test_what_hooks_print_elsewhere_does_not_reach_the_agent(person: Person) -> None:
    person.configure(
        '[[hook]]\nid = "loud"\non = "before_tool"\nshell = true\nrun = "echo noise >&2; echo more noise; exit 0"\n'
        '[[hook]]\nid = "odd"\non = "before_tool"\nrun = ["no-such-program"]\n'
    )
    raw, event = _said(person, "gemini-cli")
    answer = _run(person, (*US, "gemini-cli", event), raw)
    assert answer.stderr == b""
    assert b"noise" not in answer.stdout or json.loads(answer.stdout)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "wanted: hookline hook"),
        (["claude-code"], "wanted: hookline hook"),
        (["claude-code", "PreToolUse", "more"], "wanted: hookline hook"),
        (["nobody", "PreToolUse"], "there is no agent 'nobody'; there are antigravity, claude-code"),
        (["claude-code", "BeforeLunch"], "Claude Code has no event 'BeforeLunch'; it has"),
        (["--if-borken", "block", "claude-code", "Stop"], "there is no option '--if-borken'"),
        (["--if-broken", "never", "claude-code", "Stop"], "--if-broken is 'never', wanted block or allow"),
        (["--if-broken"], "--if-broken is '', wanted block or allow"),
        (["ollm", "BeforeTool"], "there is no agent 'ollm'"),
    ],
)
def test_a_slip_in_the_call_is_explained_and_is_no_answer(person: Person, words: list[str], says: str) -> None:
    answer = _run(person, (*US, *words), b"{}")
    assert says in answer.stderr.decode()
    assert (answer.stdout, answer.exit_code) == (b"", 1)


def test_a_slip_in_the_call_blocks_where_that_was_asked_for(person: Person) -> None:
    for words in (["nobody", "PreToolUse"], ["claude-code", "BeforeLunch"]):
        answer = _run(person, (*US, "--if-broken", "block", *words), b"{}")
        assert (answer.stdout, answer.exit_code) == (b"", 2)
        assert answer.stderr


@pytest.mark.parametrize("words", [["--if-broken=block", "claude"], ["claude-code", "--if-broken", "block"]])
def test_words_may_stand_in_any_order_and_agents_have_short_names(person: Person, words: list[str]) -> None:
    answer = _run(person, (*US, *words, "PreToolUse"), b"{")
    assert is_refused("claude-code", answer)


def test_help_is_for_people(person: Person) -> None:
    answer = _run(person, (*US, "--help"), b"")
    assert answer.exit_code == 0
    assert b"--if-broken" in answer.stdout


def test_a_host_that_gives_up_ends_the_hooks_too(person: Person) -> None:
    mark = person.home / "pid"
    person.configure(
        f'[[hook]]\nid = "slow"\non = "before_tool"\nshell = true\nrun = "echo $$ > {mark}; exec sleep 300"\ntimeout = 300\n'
    )
    raw, event = _said(person, "claude-code")
    process = subprocess.Popen(
        (*US, "claude-code", event),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=person.project,
        env=environment(person.home),
    )
    assert process.stdin is not None
    process.stdin.write(raw)
    process.stdin.close()
    pid = _until(lambda: mark.read_text().strip() if mark.exists() else "")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    _until(lambda: "gone" if not Path(f"/proc/{pid}").exists() else "")
    # the agent lets the tool run: for us that is a call nobody was asked about
    (book,) = person.data.rglob("*.calls")
    assert [one.waiting for one in call_ledger.read(book)] == [True]


def _until(find: Callable[[], str]) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := find():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def test_an_agent_does_not_wait_for_what_its_call_does_not_need(person: Person) -> None:
    person.configure(GUARD)
    raw, event = _said(person, "claude-code")
    other = raw.replace(b'"Bash"', b'"Read"').replace(b'"command"', b'"file_path"')
    code = (
        "import sys\nfrom hookline.cli.main import main\n"
        f"code = main(['hook', 'claude-code', '{event}'])\n"
        "heavy = {'httpx2', 'watchfiles', 'tomlkit', 'hookline.hosts', 'hookline.bridge.coverage_check'}\n"
        "open('modules', 'w').write(' '.join(sorted(heavy & set(sys.modules))))\nsys.exit(code)\n"
    )
    assert _run(person, (sys.executable, "-c", code), other) == Answer()
    assert (person.project / "modules").read_text() == ""


def test_emit_speaks_as_an_agent_too_and_judges_its_own_way(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, GUARD, {"guard.sh": GUARD_PROGRAM})
    payload = {
        "session_id": "s",
        "cwd": str(tmp_path / "project"),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
    done = hookline(home, "emit", "PreToolUse", "--dialect", "claude-code", "--data", json.dumps(payload))
    assert done.returncode == 2
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    done = hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(payload))
    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_make_no_yes_of_a_no(person: Person, closed: str) -> None:
    person.configure(GUARD)
    raw, event = _said(person, "claude-code", "rm -rf /")
    words = shlex.join((*US, "--if-broken", "block", "claude-code", event))
    answer = _run(person, ("/bin/sh", "-c", f"{words} {closed}"), raw)
    assert answer.exit_code == 2 if ">&- " in f"{closed} ".replace("2>&-", "") else is_refused("claude-code", answer)


@EACH_AGENT
@EACH_POLICY
def test_an_event_that_cannot_even_be_read_follows_the_policy(person: Person, host: str, policy: str) -> None:
    _, event = _said(person, host)
    done = subprocess.run(
        (*US, "--if-broken", policy, host, event),
        # a directory cannot be read, but Python sees to that before us; what was opened for writing it does not
        stdin=os.open(person.home / "write-only", os.O_WRONLY | os.O_CREAT, 0o600),
        cwd=person.project,
        env=environment(person.home),
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)
    assert is_refused(host, answer) if policy == "block" else is_neutral(host, answer)


def test_an_agent_in_a_hook_whose_hooks_start_the_next_comes_to_an_end(person: Person) -> None:
    agent = shlex.join((*US, "claude-code", "Stop"))
    person.configure(
        f"""[[hook]]\nid = "one"\non = "after_agent"\nshell = true\ntimeout = 50\n"""
        f"""run = '''echo once >> $HOME/log; echo '{{"hook_event_name": "Stop"}}' | {agent} >> $HOME/said'''\n"""
    )
    raw, event = person.said(DIALECTS["claude-code"], person.event("after_agent"))
    assert _run(person, (*US, "claude-code", event), raw).exit_code == 0
    assert (person.home / "log").read_text() == "once\n" * 3
    assert "a hook started an agent" in (person.home / "said").read_text()
