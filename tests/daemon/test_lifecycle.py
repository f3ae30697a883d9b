"""The life of a daemon, in processes of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import hookline
from hookline.daemon.protocol import NoDaemonError
from hookline.model.exchange import Answer
from tests.daemon.living import WORDS, Living, is_alive, payload
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

GUARD = """
[[hook]]
id = "guard"
on = "before_tool"
tools = "shell"
run = ["/bin/sh", "guard.sh"]
on_error = "block"
"""
GUARD_PROGRAM = """
case $(cat) in
  *"rm -rf"*) echo '{"decision": "deny", "reason": "nothing is removed here"}' ;;
esac
"""
SLOW = '[[hook]]\nid = "slow"\non = "before_tool"\nrun = ["/bin/sh", "slow.sh"]\n'
SLOW_PROGRAM = 'cat >/dev/null; echo $$ > "$HOME/pid"; sleep 60; echo late > "$HOME/late"\n'


def is_denied(answer: Answer) -> bool:
    said = json.loads(answer.stdout or b"{}")
    return bool(said.get("hookSpecificOutput", {}).get("permissionDecision") == "deny")


def test_it_answers_call_after_call_and_says_how_it_is(living: Living) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    process = living.start()
    assert living.ask(payload(living.project)) == Answer()
    assert is_denied(living.ask(payload(living.project, "rm -rf /")))
    status = living.status()
    assert status["pid"] == process.pid
    assert status["answered"] == 2
    assert status["projects"] == 1
    assert status["under_way"] == 0
    assert int(str(status["memory"])) > 1_000_000


def test_a_change_of_the_configuration_counts_at_once(living: Living) -> None:
    living.start()
    assert living.ask(payload(living.project, "rm -rf /")) == Answer()
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    assert is_denied(living.ask(payload(living.project, "rm -rf /")))
    (living.config / "guard.sh").write_text("cat >/dev/null\n")
    assert not is_denied(living.ask(payload(living.project, "rm -rf /")))
    living.configure("")
    assert living.ask(payload(living.project, "rm -rf /")) == Answer()


def test_there_is_one_and_the_next_ends_at_once(living: Living) -> None:
    first = living.start()
    second = living.start()
    assert second.wait(PATIENCE) == 0
    assert living.status()["pid"] == first.pid


def test_a_socket_that_a_dead_one_left_is_replaced(living: Living) -> None:
    first = living.start()
    first.kill()
    first.wait(PATIENCE)
    assert living.place.socket.exists()
    with pytest.raises(NoDaemonError):
        living.status()
    second = living.start()
    assert living.status()["pid"] == second.pid


def test_it_goes_when_nobody_calls(living: Living) -> None:
    process = living.start("--idle", "0.5")
    assert process.wait(PATIENCE) == 0
    assert b"there was no call for a while" in (process.stdout.read() if process.stdout else b"")
    assert not living.place.socket.exists()


def test_it_goes_when_its_socket_was_removed(living: Living) -> None:
    process = living.start("--idle", "2")
    living.place.socket.unlink()
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_whoever_is_in_the_middle_gets_an_answer_when_it_is_ended(living: Living, number: int) -> None:
    program = 'cat >/dev/null; touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done; exit 2\n'
    living.configure(SLOW.replace('"slow"', '"slow"\ndialect = "claude-code"'), {"slow.sh": program})
    process = living.start()
    answers: list[Answer] = []
    caller = threading.Thread(target=lambda: answers.append(living.ask(payload(living.project))))
    caller.start()
    until((living.home / "begun").exists, "the hook runs")
    process.send_signal(number)
    until(lambda: not living.place.socket.exists(), "nobody new comes")
    (living.home / "go").touch()
    caller.join(PATIENCE)
    assert [is_denied(answer) for answer in answers] == [True]
    assert process.wait(PATIENCE) == 0


def test_hooks_end_with_the_caller_that_gave_up(living: Living) -> None:
    living.configure(SLOW, {"slow.sh": SLOW_PROGRAM})
    living.start()
    from hookline.daemon.protocol import CallRequest, encode_request  # noqa: PLC0415

    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in living.env.items())
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(living.place.socket))
        connection.sendall(
            encode_request(CallRequest(WORDS, str(living.project), block, payload(living.project), 0o022))
        )
        pid = living.home / "pid"
        until(lambda: pid.exists() and pid.read_text().strip().isdigit(), "the hook runs")
        number = int(pid.read_text())
        assert is_alive(number)
    until(lambda: not is_alive(number), "the hook has ended")
    assert not (living.home / "late").exists()
    assert living.ask(payload(living.project), ("daemon", "status")).exit_code == 0


def test_a_call_that_takes_a_while_is_told_so(living: Living) -> None:
    living.configure(SLOW, {"slow.sh": "cat >/dev/null; sleep 1\n"})
    living.start()
    from hookline.daemon.protocol import STILL, CallRequest, encode_request, parse_frames  # noqa: PLC0415

    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in living.env.items())
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(living.place.socket))
        connection.sendall(
            encode_request(CallRequest(WORDS, str(living.project), block, payload(living.project), 0o022))
        )
        raw = b""
        while part := connection.recv(65536):
            raw += part
    kinds = [kind for kind, _ in parse_frames(raw)]
    assert raw.startswith(STILL)
    assert kinds[-1] == b"a"


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"HKL1\x04\0\0\0abcd", b"HKL1\xff\xff\xff\xff"])
def test_what_is_no_call_is_refused_and_hurts_nobody(living: Living, said: bytes) -> None:
    living.start()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(living.place.socket))
        connection.sendall(said)
        assert connection.recv(1) == b"n"
    assert living.is_there()


def test_words_that_mean_nothing_are_left_to_the_program_that_explains_them(living: Living) -> None:
    living.start()
    with pytest.raises(NoDaemonError, match="there is no agent 'nobody'"):
        living.ask(b"{}", ("nobody", "PreToolUse"))


def test_each_call_has_its_own_environment_and_folder(living: Living) -> None:
    script = 'printf "%s|" "$WHO" "$PWD" "$(umask)" >> "$HOME/seen"; cat >/dev/null\n'
    living.configure(SLOW, {"slow.sh": script})
    living.start(env={"WHO": "the daemon"})
    for who in ("one", "two"):
        (living.project / who).mkdir()
        assert living.ask(payload(living.project / who), WHO=who) == Answer()
    one, where, mask, two, there, _, _ = (living.home / "seen").read_text().split("|")
    assert (one, two) == ("one", "two")
    assert (where, there) == (str(living.project / "one"), str(living.project / "two"))
    current = os.umask(0o022)
    os.umask(current)
    assert int(mask, 8) == current


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at signals through /proc")
@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_what_whoever_started_it_does_not_hear_its_hooks_do(living: Living, how: str) -> None:
    living.configure(SLOW, {"slow.sh": 'grep -E "^Sig(Ign|Blk)" /proc/self/status > "$HOME/seen"; cat >/dev/null\n'})
    before = signal.getsignal(signal.SIGQUIT)
    if how == "ignored":
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})
    try:
        daemon = living.start()
    finally:
        signal.signal(signal.SIGQUIT, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})

    assert living.ask(payload(living.project)) == Answer()

    quits = 1 << signal.SIGQUIT - 1
    for status in ((living.home / "seen").read_text(), Path(f"/proc/{daemon.pid}/status").read_text()):
        masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigIgn", "SigBlk"))]
        assert [mask & quits for mask in masks] == [0, 0]


def test_many_calls_at_once_are_answered_each_with_its_own(living: Living) -> None:
    living.configure(
        '[[hook]]\nid = "echo"\non = "before_tool"\nrun = ["/bin/sh", "echo.sh"]\n',
        {"echo.sh": 'cat >/dev/null; printf \'{"decision": "deny", "reason": "%s"}\' "$WHO"\n'},
    )
    living.start()
    answers: dict[str, str] = {}

    def call(who: str) -> None:
        said = json.loads(living.ask(payload(living.project, who, session_id=who), WHO=who).stdout)
        answers[who] = said["hookSpecificOutput"]["permissionDecisionReason"]

    callers = [threading.Thread(target=call, args=(f"caller {number}",)) for number in range(24)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(PATIENCE)
    assert answers == {f"caller {number}": f"caller {number}" for number in range(24)}


def test_traces_are_written_while_it_runs(living: Living) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    living.start()
    living.ask(payload(living.project, "rm -rf /"))
    until(lambda: b"nothing is removed here" in living.hookline("trace", "export").stdout, "the trace is there")


def test_python_hooks_do_not_run_in_it(living: Living) -> None:
    living.configure(
        '[[hook]]\nid = "py"\non = "before_tool"\ncall = "mine:check"\n',
        {
            "mine.py": "import os\n\ndef check(event):\n    open(os.environ['HOME'] + '/pid', 'w').write(str(os.getpid()))\n"
        },
    )
    process = living.start()
    assert living.ask(payload(living.project)) == Answer()
    assert int((living.home / "pid").read_text()) != process.pid


def test_code_that_changed_is_run_from_the_next_call_on(living: Living, tmp_path: Path) -> None:
    copied = tmp_path / "copy" / "hookline"
    shutil.copytree(Path(hookline.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    process = living.start(env={"PYTHONPATH": str(copied.parent), "PYTHONDONTWRITEBYTECODE": "1"})
    before = living.status()
    assert living.ask(payload(living.project)) == Answer()
    version = copied / "version.py"
    version.write_text(version.read_text().replace("0.1.0", "9.9.9"))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            # either the old one answers, because it has not looked yet, or it leaves the call to another
            living.ask(payload(living.project))
            if living.status()["version"] == "9.9.9":
                break
        except NoDaemonError:
            time.sleep(0.05)
    status = living.status()
    assert status["version"] == "9.9.9"
    # the same process, with another program
    assert status["pid"] == before["pid"] == process.pid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_answered(living: Living) -> None:
    living.start()
    # somebody has opened the folder, and only the daemon itself stands between them
    for path in (living.runtime, living.place.folder, living.place.socket):
        path.chmod(0o777)
    script = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
        "s.connect(sys.argv[1]); sys.stdout.write(s.recv(100)[5:].decode())"
    )
    words = [sys.executable, "-S", "-c", script, str(living.place.socket)]
    heard = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert heard.stdout == "another user", heard.stderr


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="only root can make a sandbox here")
@pytest.mark.parametrize(
    "sandbox",
    [
        ["unshare", "--net"],
        ["unshare", "--mount"],
        ["unshare", "--pid", "--fork"],
        ["setpriv", "--no-new-privs"],
        ["setpriv", "--groups", "65534"],
        ["setpriv", "--regid", "65534", "--keep-groups"],
        ["setpriv", "--bounding-set", "-net_raw"],
    ],
    ids=" ".join,
)
def test_whoever_lives_in_a_sandbox_does_not_get_out_of_it(living: Living, sandbox: list[str]) -> None:
    if not shutil.which(sandbox[0]):
        pytest.skip(f"there is no {sandbox[0]} here")
    living.start()
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
        "sys.stdout.write(s.recv(100)[5:].decode())"
    )
    words = [*sandbox, sys.executable, "-S", "-c", script, str(living.place.socket)]
    heard = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert heard.stdout == "another sandbox or container", heard.stderr


def test_a_log_that_is_long_begins_anew_and_other_files_do_not(living: Living, tmp_path: Path) -> None:
    log = living.place.create().log
    theirs = tmp_path / "theirs"
    for file in (log, theirs):
        file.write_bytes(b"x" * 2_000_000)
        with file.open("ab") as opened:
            process = subprocess.Popen(
                [sys.executable, "-m", "hookline", "daemon", "run"], env=living.env, stdout=opened, stderr=opened
            )
        living.started.append(process)
        until(living.is_there, "the daemon answers")
        process.terminate()
        process.wait(PATIENCE)
    assert log.stat().st_size < 10_000
    assert theirs.stat().st_size > 2_000_000


def test_a_log_does_not_grow_while_it_lives(living: Living) -> None:
    log = living.place.create().log
    with log.open("ab") as opened:
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "daemon", "run", "--idle", "1"],
            env=living.env,
            stdout=opened,
            stderr=opened,
        )
        living.started.append(process)
        until(living.is_there, "the daemon answers")
        opened.write(b"x" * 2_000_000)
    # it looks at it as often as it looks whether anybody needs it
    until(lambda: log.stat().st_size < 10_000, "it began anew")
