"""The native launcher where no daemon is there: what the Python behind it says, or the spare answer."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.launching import UNANSWERED, WORDS, Desk, limited
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="it is for systems with forks and Unix sockets")


def gone(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_it_says_which_version_it_is_and_that_it_is_native(program: Path) -> None:
    done = subprocess.run([program, "--version"], capture_output=True, check=True, timeout=PATIENCE)

    assert (done.stdout, done.stderr) == (b"hookline-hook 1.2.3 native\n", b"")


@pytest.mark.parametrize("size", [0, 1, 70_000, 10 * 1024 * 1024])
def test_without_a_daemon_the_python_is_given_the_event_whole(desk: Desk, size: int) -> None:
    assert desk.run(b"x" * size) == desk.asked_plain(b"x" * size)


@pytest.mark.parametrize("code", [0, 2])
def test_what_the_python_answers_is_passed_on_byte_for_byte(desk: Desk, code: int) -> None:
    desk.python_that(f"cat >/dev/null; printf 'a\\0b\\n\\n'; printf ' c ' >&2; exit {100 + code}")

    assert desk.run() == (code, b"a\0b\n\n", b" c ")


@pytest.mark.parametrize("code", [0, 2])
def test_an_answer_proves_itself_to_a_caller_that_wants_it(desk: Desk, code: int) -> None:
    desk.python_that(f"cat >/dev/null; echo said; exit {100 + code}")

    assert desk.run(words=[str(desk.program), "--prove", *desk.words()[1:]]) == (100 + code, b"said\n", b"")


def test_a_long_answer_on_both_streams_is_passed_on(desk: Desk) -> None:
    desk.python_that(
        "cat >/dev/null; yes 0123456789abcde | head -c 9000000; yes 0123456789abcde | head -c 3000000 >&2; exit 100"
    )

    code, out, err = desk.run(b"y" * 1_000_000)

    assert (code, len(out), len(err)) == (0, 9_000_000, 3_000_000)


@pytest.mark.parametrize(
    "body",
    [
        "exit 0",
        "exit 1",
        "exit 2",
        "exit 101",
        "exit 127",
        "echo an answer without a proof; exit 0",
        "echo half an answer; exit 3",
        "echo half an answer; kill -KILL $$",
        "cat >/dev/null; kill -SEGV $$",
    ],
)
def test_a_python_that_falls_over_is_no_answer_and_nothing_of_its_own(desk: Desk, body: str) -> None:
    desk.python_that(body)

    assert desk.run(b"x" * 1_000_000) == UNANSWERED


def test_a_python_that_is_gone_is_no_answer(desk: Desk) -> None:
    desk.python.unlink()

    assert desk.run(b"x" * 1_000_000) == UNANSWERED


@pytest.mark.parametrize("other", ["/bin/true", "/bin/cat", sys.executable])
def test_another_program_in_the_place_of_the_python_is_no_answer(desk: Desk, other: str, tmp_path: Path) -> None:
    desk.python = tmp_path / "other"
    desk.python.write_bytes(Path(other).read_bytes())
    desk.python.chmod(0o755)

    assert desk.run(b"x" * 1_000_000) == UNANSWERED


def test_an_answer_that_never_ends_is_no_answer(desk: Desk) -> None:
    desk.python_that("cat >/dev/null; exec yes")

    assert desk.run() == UNANSWERED


def test_others_that_hold_the_pipes_are_not_waited_for(desk: Desk, tmp_path: Path) -> None:
    desk.python_that(f"cat >/dev/null; sleep 600 & echo $! > {tmp_path}/left; echo done; exit 100")

    try:
        assert desk.run() == (0, b"done\n", b"")
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_goes_to_the_python_and_its_end_is_ours(desk: Desk, tmp_path: Path, number: signal.Signals) -> None:
    ready = tmp_path / "ready"
    desk.python_that(
        f"trap 'echo told; exit 7' {number.name.removeprefix('SIG')}; : > {ready}; while :; do sleep 0.02; done"
    )

    with subprocess.Popen(
        desk.words(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=desk.environment()
    ) as process:
        until(ready.exists)
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out) == (7, b"told\n")


def test_a_python_that_dies_of_a_signal_that_was_passed_on_takes_us_with_it(desk: Desk, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    desk.python_that(f": > {ready}; exec sleep 600")

    with subprocess.Popen(
        desk.words(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=desk.environment()
    ) as process:
        until(ready.exists)
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out) == (-signal.SIGTERM, b"")


def test_a_signal_that_was_to_be_ignored_stays_ignored(desk: Desk, tmp_path: Path) -> None:
    ready, go = tmp_path / "ready", tmp_path / "go"
    desk.python_that(f": > {ready}; while ! test -e {go}; do sleep 0.02; done; echo done; exit 100")
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *desk.words()]

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=desk.environment()) as process:
        until(ready.exists)
        process.send_signal(signal.SIGHUP)
        go.touch()
        out, _ = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out) == (0, b"done\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_the_python_is_told_to_end_when_the_launcher_is_killed(desk: Desk, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    desk.python_that(f"echo $$ > {ready}.new; mv {ready}.new {ready}; exec sleep 600")

    with subprocess.Popen(desk.words(), stdin=subprocess.DEVNULL, env=desk.environment()) as process:
        until(ready.exists)
        process.kill()
    behind = int(ready.read_text())

    until(lambda: gone(behind))


def test_a_call_without_stdin_is_one_with_an_empty_event(desk: Desk) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *desk.words()],
        capture_output=True,
        env=desk.environment(),
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == desk.asked_plain(b"")


@pytest.mark.parametrize(("code", "ends"), [(0, 1), (2, 2)])
def test_an_answer_that_nobody_can_be_told_is_never_a_zero(desk: Desk, code: int, ends: int) -> None:
    desk.python_that(f"cat >/dev/null; echo no; exit {100 + code}")

    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *desk.words()],
        input=b"{}",
        stderr=subprocess.PIPE,
        env=desk.environment(),
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stderr) == (ends, b"")


def test_a_reader_that_has_gone_is_an_error_and_not_a_signal(desk: Desk) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            desk.words(), input=b"{}", stdout=writing, env=desk.environment(), timeout=PATIENCE, check=False
        )
    finally:
        os.close(writing)

    assert done.returncode == 1


def test_streams_that_do_not_block_are_waited_for(desk: Desk) -> None:
    desk.python_that("cat >/dev/null; yes 0123456789abcde | head -c 1000000; exit 100")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)

    with (
        subprocess.Popen(desk.words(), stdin=subprocess.DEVNULL, stdout=writing, env=desk.environment()) as process,
        os.fdopen(reading, "rb") as out,
    ):
        os.close(writing)
        said = out.read()

    assert (process.returncode, len(said)) == (0, 1_000_000)


def test_the_python_gets_the_environment_and_the_folder_of_the_call(desk: Desk, tmp_path: Path) -> None:
    desk.python_that('cat >/dev/null; echo "$THEIRS $PWD"; exit 100')

    done = subprocess.run(
        desk.words(),
        input=b"",
        capture_output=True,
        cwd=tmp_path,
        env=desk.environment(THEIRS="kept"),
        timeout=PATIENCE,
        check=False,
    )

    assert done.stdout == f"kept {tmp_path}\n".encode()


@pytest.mark.parametrize("name", ["python", "python3"])
@pytest.mark.parametrize("option", [(), ("--if-broken", "allow"), ("--if-broken=allow",)])
def test_a_person_need_not_name_the_python_that_is_beside_it(
    desk: Desk, tmp_path: Path, name: str, option: tuple[str, ...]
) -> None:
    beside = tmp_path / "bin"
    beside.mkdir()
    shutil.copy(desk.program, beside)
    desk.python_that('echo "plain $@"; wc -c', name=f"bin/{name}")

    code, out, err = desk.run(words=[str(beside / "hookline-hook"), *option, "claude-code", "Stop"])

    words = " ".join(["plain -E -P -m hookline hook", *option, "claude-code Stop"])
    assert (code, out, err) == (0, f"{words}\n2\n".encode(), b"")


def test_a_person_is_given_the_python_that_the_script_beside_it_names(desk: Desk, tmp_path: Path) -> None:
    beside = tmp_path / "bin"
    beside.mkdir()
    shutil.copy(desk.program, beside)
    python = desk.python_that('cat >/dev/null; echo "plain $@"', name="python3.11")
    (beside / "hookline").write_text(f"#!{python}\nimport hookline\n")

    assert desk.run(words=[str(beside / "hookline-hook"), "claude-code", "Stop"]) == (
        0,
        b"plain -E -P -m hookline hook claude-code Stop\n",
        b"",
    )


def test_a_person_sees_what_went_wrong(desk: Desk, tmp_path: Path) -> None:
    beside = tmp_path / "bin"
    beside.mkdir()
    shutil.copy(desk.program, beside)
    desk.python_that("cat >/dev/null; echo 'No module named hookline' >&2; exit 1", name="bin/python")

    assert desk.run(words=[str(beside / "hookline-hook"), "a", "b"]) == (1, b"", b"No module named hookline\n")


def test_a_person_without_a_python_is_told_so(desk: Desk, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(desk.program, alone)

    code, out, err = desk.run(words=[str(alone / "hookline-hook"), "claude-code", "Stop"])

    assert (code, out) == (1, b"")
    assert err == b"hookline-hook: there is no Python beside it, so there is no hookline to ask\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("claude-code",),
        ("--help",),
        ("claude-code", "Stop", "more"),
        ("--if-broken", "block", "claude-code"),
        ("--nonsense", "Stop"),
        ("/bin/true", "emit", *WORDS),
        ("--prove", "/bin/true", "emit", *WORDS),
        ("--prove",),
    ],
)
def test_wrong_words_are_answered_with_the_right_ones(desk: Desk, words: tuple[str, ...]) -> None:
    code, out, err = desk.run(words=[str(desk.program), *words])

    assert (code, out) == (1, b"")
    assert err.startswith(b"hookline-hook: wanted: ")


def test_the_real_hookline_answers_through_it(desk: Desk, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    desk.python = Path(sys.executable)
    words = desk.words("--if-broken", "block", "cursor", "preToolUse")
    event = b'{"hook_event_name": "preToolUse", "conversation_id": "c", "tool_name": "Shell", "tool_input": {}}'

    assert desk.run(event, words=words, HOME=str(home), HOOKLINE_DAEMON="off") == (0, b'{"permission":"allow"}\n', b"")


def test_an_answer_that_there_is_no_memory_for_is_no_answer(desk: Desk) -> None:
    desk.python_that("cat >/dev/null; head -c 40000000 /dev/zero; exit 100")

    # of what is asked for, the launcher gets half: the next doubling is more than it may have
    assert desk.run(words=limited(resource.RLIMIT_AS, 48_000_000, desk.words())) == UNANSWERED


@pytest.mark.parametrize("code", [0, 2])
def test_an_answer_counts_although_nobody_takes_what_stands_beside_it(desk: Desk, code: int) -> None:
    desk.python_that(f"cat >/dev/null; echo no; echo a note >&2; exit {100 + code}")

    closed = desk.run(words=["sh", "-c", '"$@" 2>&-', "sh", *desk.words()])
    full = desk.run(words=["sh", "-c", '"$@" 2>/dev/full', "sh", *desk.words()])

    assert closed == full == (code, b"no\n", b"")


def test_an_answer_that_nobody_takes_is_a_failure(desk: Desk) -> None:
    desk.python_that("cat >/dev/null; echo no")

    assert desk.run(words=["sh", "-c", '"$@" >/dev/full', "sh", *desk.words()]) == (1, b"", b"")


def test_an_answer_that_is_longer_than_files_may_be_is_a_failure_and_no_signal(desk: Desk, tmp_path: Path) -> None:
    desk.python_that("cat >/dev/null; echo no")
    words = limited(resource.RLIMIT_FSIZE, 0, desk.words())

    code, _, _ = desk.run(words=["sh", "-c", f'"$@" >{tmp_path}/said', "sh", *words])

    assert code == 1
