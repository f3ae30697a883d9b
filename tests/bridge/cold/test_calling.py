"""The program that the launcher starts: what it reads, where it answers, and what it leaves."""

import json
import os
import subprocess
import sys
import time
from typing import Final

import pytest

from tests.bridge.cold.quickly import Place, settle

OWN: Final = "~/.config/hookline/hookline.toml"
SAYS: Final = """[[hook]]\nid = "one"\non = "before_tool"\nshell = true\nrun = '''grep -q é && echo '{"context": "heard"}' '''\n"""
WORDS: Final = ("hook", "claude-code", "PreToolUse")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    made = Place(tmp_path_factory.mktemp("calling"))
    made.write({OWN: SAYS})
    settle([made])
    made.prepare()
    return made


def event(place: Place, size: int = 0) -> bytes:
    said = {"session_id": "s", "cwd": str(place.project), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps({**said, "tool_input": {"command": "é" + "x" * size}}, ensure_ascii=False).encode()


@pytest.mark.parametrize("cold", ["only", "", "off"])
@pytest.mark.parametrize("size", [0, 300_000], ids=["small", "larger than a pipe"])
def test_the_event_is_read_from_a_pipe_and_from_a_file(place: Place, cold: str, size: int) -> None:
    raw = event(place, size)
    piped = place.quick(*WORDS, stdin=raw, env={"HOOKLINE_COLD": cold})
    stored = place.home.parent / "event.json"
    stored.write_bytes(raw)
    with stored.open("rb") as file:
        line = [sys.executable, "-E", "-P", "-S", str(place.start), "--launched", *WORDS]
        env = place.environment({"HOOKLINE_COLD": cold, "CI": "true"})
        filed = subprocess.run(
            line, stdin=file, capture_output=True, env=env, cwd=place.project, timeout=60, check=False
        )
    assert b'"additionalContext":"heard"' in piped.stdout
    assert (filed.stdout, filed.stderr, filed.returncode) == (piped.stdout, b"", 0)


def test_where_the_quick_way_gives_up_the_other_one_has_everything(place: Place) -> None:
    raw = event(place)
    whole = place.run(*WORDS, stdin=raw, env={"HOOKS_TIMEOUT": "9"})
    done = place.quick(*WORDS, stdin=raw, env={"HOOKS_TIMEOUT": "9", "HOOKLINE_COLD": ""})
    assert (done.returncode, done.stdout, done.stderr) == (whole.returncode, whole.stdout, whole.stderr)
    assert b"heard" in done.stdout


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_is_answered_as_the_whole_program_does(place: Place, closed: int) -> None:
    def ask(*words: str) -> "subprocess.CompletedProcess[bytes]":
        line = " ".join(words)
        return subprocess.run(
            ["sh", "-c", f"exec {line} {closed}>&-"],
            input=event(place),
            capture_output=True,
            cwd=place.project,
            env=place.environment({"HOOKLINE_COLD": ""}),
            timeout=60,
            check=False,
        )

    whole = ask(sys.executable, "-m", "hookline", *WORDS)
    quick = ask(sys.executable, "-E", "-P", "-S", str(place.start), *WORDS)
    assert (quick.returncode, quick.stdout, quick.stderr) == (whole.returncode, whole.stdout, whole.stderr)


@pytest.mark.parametrize("words", [(), ("hook",), ("hook", "nobody", "Never"), ("hook", "claude-code", "Never")])
def test_a_slip_in_the_words_is_told_as_by_the_whole_program(place: Place, words: tuple[str, ...]) -> None:
    quick = place.quick(*words, env={"HOOKLINE_COLD": ""})
    whole = place.run(*words)
    assert (quick.returncode, quick.stdout, quick.stderr) == (whole.returncode, whole.stdout, whole.stderr)


def test_a_hook_is_ended_with_us(place: Place) -> None:
    other = Place(place.home.parent / "ended", package=place.package)
    mark = other.home / "pid"
    other.write({OWN: SAYS.replace("grep -q é", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600")})
    settle([other])
    other.prepare()
    line = [sys.executable, "-E", "-P", "-S", str(other.start), *WORDS]
    env = other.environment({"HOOKLINE_COLD": "only"})
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=other.project) as process:
        assert process.stdin is not None
        process.stdin.write(event(other))
        process.stdin.close()
        end = time.monotonic() + 60
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.01)
        pid = int(mark.read_text())
        process.terminate()
        assert process.wait(timeout=60) == 143
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the hook outlived its call")


def test_what_a_call_left_is_in_the_traces(place: Place) -> None:
    place.quick(*WORDS, stdin=event(place))
    shown = place.run("trace", "list")
    assert b"before_tool" in shown.stdout
    assert not list((place.data / "traces.spool").glob("*"))
