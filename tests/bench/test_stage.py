"""The stage of a benchmark is its own, and wrong answers do not pass for quick ones."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hookline.model.installed_entry import launcher_line
from tests.bench import stage
from tests.bench.processes import Ended, having, round_trip

pytestmark = pytest.mark.slow

ANSWER = json.dumps(stage.SAID).encode()


def test_stage_is_set_in_a_folder_of_its_own_and_cleared_away() -> None:
    before = Path.cwd()
    with stage.stage() as here:
        assert Path.cwd() == here.project
        assert here.environment["HOME"] == str(here.home)
        assert here.runtime.stat().st_mode & 0o077 == 0
        assert not here.home.is_relative_to(here.project)
        # the path of a socket may have some hundred bytes
        assert len(os.fsencode(here.runtime / "hookline" / f"{'0' * 16}.sock")) < 100

    assert Path.cwd() == before
    assert not here.folder.exists()


def test_stage_is_cleared_away_after_a_failure() -> None:
    seen: list[Path] = []

    def fail() -> None:
        with stage.stage() as here:
            seen.append(here.folder)
            stage.checked("ours", Ended(1, b""), has_answer=True)

    with pytest.raises(SystemExit):
        fail()

    assert not seen[0].exists()


def test_hooks_are_written_as_our_program_reads_them() -> None:
    with stage.stage() as here:
        here.write_usual_hooks()
        hooks = tomllib.loads(here.settings.read_text())["hook"]
        done = here.hookline("check")

    assert [hook["tools"] for hook in hooks][:2] == [[stage.NATIVE], [stage.COLD]]
    assert done.returncode == 0, done.stdout + done.stderr


def test_native_and_python_hooks_give_the_same_answer_through_our_program() -> None:
    with stage.stage() as here:
        here.write_usual_hooks()
        argv = [sys.executable, "-m", "hookline", "hook", stage.HOST, stage.EVENT]
        for tool, has_answer in ((stage.NATIVE, True), (stage.COLD, True), (stage.NONE, False)):
            ended = round_trip(argv, here.payload(tool), here.env_without_daemon)
            stage.checked(tool, ended, has_answer=has_answer)


def test_payload_is_the_recorded_one_as_if_it_happened_here() -> None:
    with stage.stage() as here:
        said = json.loads(here.payload("Write", number=7, content="x"))

    assert said["hook_event_name"] == "PreToolUse"
    assert (said["tool_name"], said["tool_use_id"], said["cwd"]) == ("Write", "toolu_7", str(here.project))
    assert said["tool_input"]["content"] == "x"
    assert "$" not in json.dumps(said)


def test_launcher_is_found_in_an_installed_line() -> None:
    words = ["/opt/b in/hookline-hook", "/usr/bin/python", "hook", "h", "E"]

    assert stage.launcher_words(launcher_line(words, ('{"a": "; b"}', "", "0"))) == words


def test_line_without_a_launcher_has_none() -> None:
    assert stage.launcher_words("/bin/sh -c 'exec 3>&1' hookline /usr/bin/python -m hookline hook h E") == []


def test_installed_line_of_this_machine_is_understood() -> None:
    words = stage.launcher_words()

    assert not words or (os.access(words[0], os.X_OK) and words[-2:] == [stage.HOST, stage.EVENT])


@pytest.mark.parametrize(
    ("ended", "has_answer"),
    [
        (Ended(0, b""), True),
        (Ended(2, ANSWER), True),
        (Ended(0, ANSWER), False),
        (Ended(0, b'{"decision": "block"}'), True),
    ],
)
def test_wrong_answer_ends_the_benchmark(ended: Ended, has_answer: bool) -> None:  # noqa: FBT001 - a table
    with pytest.raises(stage.WrongAnswer, match="did not answer as it should"):
        stage.checked("ours", ended, has_answer=has_answer)


def test_right_answer_passes() -> None:
    assert stage.checked("ours", Ended(0, ANSWER), has_answer=True) == ANSWER
    assert stage.checked("ours", Ended(0, b"\n"), has_answer=False) == b"\n"


def test_candidate_that_ends_badly_or_says_something_else_ends_the_benchmark() -> None:
    with stage.stage() as here:
        stage.calling(["/bin/echo", "yes"], b"", here.env, answer=b"yes\n")()
        stage.calling(["/bin/echo", "whatever"], b"", here.env)()
        with pytest.raises(SystemExit, match="ended with 3"):
            stage.calling(["/bin/sh", "-c", "exit 3"], b"", here.env)()
        with pytest.raises(SystemExit, match="ended with 0: b'no"):
            stage.calling(["/bin/echo", "no"], b"", here.env, answer=b"yes\n")()


def test_without_a_daemon_there_is_none_to_stop_and_none_to_cost_anything() -> None:
    with stage.stage() as here:
        assert here.socket() is None
        assert here.daemon() == 0
        assert here.daemon_processor_time() == 0
        here.stop_daemon()


def test_what_still_runs_on_a_stage_is_ended_with_it() -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("this system does not tell")
    with stage.stage() as here:
        child = subprocess.Popen(["/bin/sleep", "60"], env=here.environment)

    assert child.wait(timeout=20) == -signal.SIGKILL


def test_daemon_answers_on_a_stage_and_is_gone_afterwards() -> None:
    words = stage.launcher_words()
    if not words:
        pytest.skip(stage.NO_LAUNCHER)
    with stage.stage() as here:
        here.write_usual_hooks()
        assert here.start_daemon() == ""
        pid = here.daemon()
        before = here.answered()
        stage.checked("daemon", round_trip(words, here.payload(stage.NATIVE), here.env), has_answer=True)
        assert here.answered() == before + 1
        assert pid in having(f"XDG_RUNTIME_DIR={here.runtime}")

    assert having(f"XDG_RUNTIME_DIR={here.runtime}") == []
