"""The program that the launcher starts: what it reads, where it answers, and what it leaves."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hookline.bridge.cold import bundle
from tests.bridge.cold.quickly import Place, settle
from tests.bridge.daemon.living import short_folder

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


def one_more(place: Place, name: str, **files: str) -> Place:
    """Make another person and project that use the same package, ready for the quick way."""
    other = Place(place.home.parent / name, package=place.package)
    other.write({OWN: SAYS, **files})
    return other


def test_a_hook_runs_once_though_our_code_is_replaced_meanwhile(tmp_path: Path) -> None:
    place = Place(tmp_path)
    runs = tmp_path / "runs"
    replaced = f"echo once >> {runs}; find {place.package} -name '*.py' -exec touch {{}} +; "
    place.write({OWN: SAYS.replace("grep -q é", f"{replaced} grep -q é")})
    settle([place])
    place.prepare()
    done = place.quick(*WORDS, stdin=event(place), env={"HOOKLINE_COLD": ""})
    assert b'"additionalContext":"heard"' in done.stdout
    assert done.stdout.count(b"heard") == 1
    assert runs.read_text() == "once\n"
    again = place.quick(*WORDS, stdin=event(place))
    assert b"changed" in again.stderr


@pytest.mark.parametrize("spoil", ["cut off", "zeros", "of nobody"])
def test_a_damaged_bundle_is_no_bundle_and_is_made_again(tmp_path: Path, spoil: str) -> None:
    place = Place(tmp_path)
    place.write({OWN: SAYS})
    settle([place])
    place.prepare()
    (bundle,) = place.start.parent.glob("__pycache__/*.bundle")
    raw = bundle.read_bytes()
    damaged = {"cut off": raw[:-1], "zeros": raw[:200_000] + bytes(len(raw) - 200_000), "of nobody": b"x" + raw[1:]}
    bundle.write_bytes(damaged[spoil])
    assert b"the quick way does not know how" in place.quick(*WORDS, stdin=event(place)).stderr
    done = place.quick(*WORDS, stdin=event(place), env={"HOOKLINE_COLD": ""})
    assert b'"additionalContext":"heard"' in done.stdout
    place.prepare()
    assert bundle.read_bytes() != damaged[spoil]
    assert place.quick(*WORDS, stdin=event(place)).returncode == 0


def test_the_event_may_begin_in_the_middle_of_a_file(place: Place) -> None:
    stored = place.home.parent / "middle.json"
    stored.write_bytes(b"something else\n" + event(place))
    for env in ({"HOOKLINE_COLD": "only"}, {"HOOKLINE_COLD": "", "HOOKS_TIMEOUT": "9"}):
        with stored.open("rb", buffering=0) as file:
            file.seek(15)
            line = [sys.executable, "-E", "-P", "-S", str(place.start), *WORDS]
            done = subprocess.run(
                line, stdin=file, capture_output=True, env=place.environment(env), cwd=place.project, check=False
            )
        assert b'"additionalContext":"heard"' in done.stdout


IN_PROCESS: Final = """
import uuid
import bundle
import msgspec

def check(event):
    assert bundle.OURS
    return {"context": "heard " + msgspec.json.decode(msgspec.json.encode(uuid.UUID(int=7)))}
"""


def test_hooks_in_our_process_find_their_libraries_and_modules_whole(place: Place) -> None:
    hook = '[[hook]]\nid = "one"\non = "before_tool"\ncall = "policy:check"\n'
    other = one_more(
        place,
        "whole",
        **{OWN: hook, "~/.config/hookline/policy.py": IN_PROCESS, "~/.config/hookline/bundle.py": "OURS = 1"},
    )
    settle([other])
    for _ in ("without a snapshot", "with one that is not enough"):
        done = other.quick(*WORDS, stdin=event(other), env={"HOOKLINE_COLD": ""})
        assert b"heard 00000000-0000-0000-0000-000000000007" in done.stdout, done
        other.prepare()


def is_ready(place: Place) -> bool:
    return place.quick(*WORDS, stdin=event(place)).returncode == 0


def test_what_is_lacking_is_made_ready_for_the_next_call(place: Place) -> None:
    other = one_more(place, "lacking")
    settle([other])
    (mark,) = place.start.parent.glob("__pycache__/*.begun")
    os.utime(mark, (1, 1))
    done = other.quick("--launched", *WORDS, stdin=event(other), env={"HOOKLINE_COLD": ""})
    assert b'"additionalContext":"heard"' in done.stdout
    end = time.monotonic() + 60
    while not is_ready(other) and time.monotonic() < end:
        time.sleep(0.1)
    assert is_ready(other)


@pytest.mark.parametrize(
    ("native", "env"),
    [("PreToolUse", {"HOOKS_TIMEOUT": "9", "CI": "true"}), ("PreToolUse", {}), ("UserPromptSubmit", {})],
    ids=["in CI", "nothing lacks", "nothing would help"],
)
def test_nobody_is_set_to_work_for_nothing(place: Place, native: str, env: dict[str, str]) -> None:
    (mark,) = place.start.parent.glob("__pycache__/*.begun")
    os.utime(mark, (1, 1))
    raw = json.dumps({**json.loads(event(place)), "hook_event_name": native, "prompt": "hello"}).encode()
    done = place.quick("--launched", "hook", "claude-code", native, stdin=raw, env={"HOOKLINE_COLD": "", **env})
    assert done.returncode == 0
    assert mark.stat().st_mtime == 1


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Give a folder whose name is short enough for sockets."""
    with short_folder() as folder:
        yield folder


def test_where_nothing_can_be_made_ready_a_daemon_is_woken_all_the_same(tmp_path: Path, runtime: Path) -> None:
    place = Place(tmp_path)
    place.write({OWN: SAYS})
    cache = place.start.parent / "__pycache__"
    # as a folder that may not be written to, for everybody
    (cache / f"calls.{sys.implementation.cache_tag}.bundle.begun").mkdir(parents=True)
    env = {"HOOKLINE_COLD": "", "HOOKLINE_DAEMON": "", "XDG_RUNTIME_DIR": str(runtime)}
    done = place.quick("--launched", *WORDS, stdin=event(place), env=env)
    try:
        assert b'"additionalContext":"heard"' in done.stdout
        assert list(runtime.glob("hookline/*"))
    finally:
        end = time.monotonic() + 60
        while b"stopped" not in place.run("daemon", "stop", env=env).stdout and time.monotonic() < end:
            time.sleep(0.1)


def test_where_nobody_tried_it_the_quick_way_is_not_taken(place: Place) -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import bundle; bundle.TRIED.clear(); import calling; calling.main(sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-E", "-P", "-S", "-c", script, str(place.start.parent), *WORDS],
        input=event(place),
        capture_output=True,
        env=place.environment({"HOOKLINE_COLD": "only"}),
        cwd=place.project,
        timeout=60,
        check=False,
    )
    assert b"nobody tried it with this Python" in done.stderr


def test_a_part_in_c_stands_in_for_its_module_until_somebody_looks_for_more() -> None:
    script = f"""
import sys
sys.path.insert(0, {str(Path(bundle.HERE))!r})
import calling
del sys.path[0]
calling._put_cores()
import datetime, signal, threading
import _datetime, _signal, _thread
assert datetime.datetime is _datetime.datetime and datetime.datetime_CAPI is _datetime.datetime_CAPI
assert signal.SIGTERM == 15 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert threading.Lock is _thread.allocate_lock
assert not {{"enum", "_weakrefset"}} & sys.modules.keys()
assert signal.Signals(9).name == "SIGKILL"
assert threading.current_thread() is threading.main_thread()
assert datetime.MAXYEAR == 9999
assert [type(sys.modules[name]).__name__ for name in ("signal", "threading")] == ["module", "module"]
"""
    subprocess.run([sys.executable, "-E", "-P", "-S", "-c", script], check=True, timeout=60)
