"""Both ways to start a child: what `subprocess` is made of, and `posix_spawn` where that cannot be used."""

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("pidfds are Linux's", allow_module_level=True)

from hookline import surroundings
from hookline.kinds import _starting
from hookline.kinds._child import Env
from hookline.surroundings import Surroundings
from tests.children import children

ENV = {b"PATH": os.environb[b"PATH"], b"A": b"1"}


@pytest.fixture(params=["forked", "spawned"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Start children in one way, and in the other: that of a Python whose `fork_exec` nobody knows."""
    if request.param == "spawned":
        monkeypatch.setattr(_starting, "_FORK_EXEC", None)
    return str(request.param)


def said(
    program: str,
    *args: str,
    env: Env = ENV,
    cwd: str = "",
    files: Sequence[int] = (),
    stdin: bytes = b"",
) -> tuple[str, int]:
    """Give what a program printed, and its exit code."""
    read_in, feed = os.pipe()
    out, write_out = os.pipe()
    err, write_err = os.pipe()
    try:
        pid = _starting.start(
            program,
            (program, *args),
            env=env,
            cwd=cwd,
            ends=(read_in, write_out, write_err),
            files=files,
        )
        os.write(feed, stdin)
    finally:
        for descriptor in (read_in, feed, write_out, write_err):
            os.close(descriptor)
    with open(out, "rb") as text, open(err, "rb"):  # noqa: PTH123 - descriptors
        printed = text.read().decode()
    return printed, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def sh(line: str, *args: str, **more: Any) -> str:
    """Give what a shell printed that ended well."""
    printed, code = said("/bin/sh", "-c", line, *args, **more)
    assert code == 0
    return printed


def test_child_has_its_arguments_its_variables_and_its_input() -> None:
    assert sh('echo "$0 $A" && cat', "zero", stdin=b"fed\n") == "zero 1\nfed\n"


def test_child_goes_where_it_is_to_work_and_we_stay(tmp_path: Path) -> None:
    here = Path.cwd()
    assert sh("pwd", cwd=str(tmp_path)) == f"{tmp_path.resolve()}\n"
    assert Path.cwd() == here


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_child_has_the_umask_of_whoever_asks_and_we_keep_ours(tmp_path: Path, umask: int) -> None:
    ours = os.umask(0o022)
    try:
        with surroundings.entered(Surroundings(os.environ, "/", umask=umask)):
            for cwd in ("", str(tmp_path)):
                assert int(sh("umask", cwd=cwd), 8) == umask
        assert int(sh("umask"), 8) == os.umask(0o022) == 0o022
    finally:
        os.umask(ours)


def test_relative_program_is_looked_for_where_the_child_works(tmp_path: Path) -> None:
    script = tmp_path / "here.sh"
    script.write_text("#!/bin/sh\necho found\n")
    script.chmod(0o755)

    assert said("./here.sh", cwd=str(tmp_path)) == ("found\n", 0)


def test_children_of_several_threads_start_where_each_belongs(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    found: dict[Path, set[str]] = {folder: set() for folder in folders}

    def work(folder: Path) -> None:
        for _ in range(10):
            found[folder].add(said("/bin/pwd", cwd=str(folder))[0].strip())

    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for folder in folders:
        folder.mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {folder: {str(folder.resolve())} for folder in folders}


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda _file: None, errno.ENOENT),
        (lambda file: file.write_text("true\n"), errno.EACCES),
        (lambda file: (file.write_bytes(b"\x7fELF"), file.chmod(0o755)), errno.ENOEXEC),
        (lambda file: (file.write_text("#!/nowhere/at/all\n"), file.chmod(0o755)), errno.ENOENT),
    ],
    ids=["none", "not executable", "no program", "no interpreter"],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_cannot_be_started_says_why_and_leaves_nothing(
    tmp_path: Path, make: Callable[[Path], object], code: int, *, elsewhere: bool
) -> None:
    file = tmp_path / "program"
    make(file)
    before = children()

    with pytest.raises(OSError, match=os.strerror(code)) as raised:
        said(str(file), cwd=str(tmp_path) if elsewhere else "")

    assert raised.value.errno == code
    assert children() <= before


def test_folder_that_is_not_there_is_what_the_error_names(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        said("/bin/true", cwd=str(tmp_path / "none"))

    assert raised.value.filename == str(tmp_path / "none")


@pytest.mark.parametrize("env", [{b"": b"x"}, {b"a=b": b"x"}, {b"a": b"x\0y"}, {b"a\0b": b"x"}])
def test_variable_that_cannot_be_passed_on_is_a_value_error(env: Mapping[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match=r"environment variable|null byte|null character"):
        said("/bin/true", env=env)


def test_argument_that_cannot_be_passed_on_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="null byte"):
        said("/bin/true", "a\0b")


def test_variables_that_changed_since_the_last_child_are_the_new_ones() -> None:
    env = dict(ENV)
    assert sh('echo "$A"', env=env) == "1\n"
    env[b"A"] = b"2"
    assert sh('echo "$A"', env=env) == "2\n"


def test_many_environments_do_not_mix() -> None:
    environments = [{**ENV, b"A": str(number).encode()} for number in range(2 * _starting._REMEMBERED)]  # noqa: SLF001
    for _ in range(2):
        assert [sh('echo "$A"', env=env) for env in environments] == [f"{n}\n" for n in range(len(environments))]


def test_child_keeps_the_descriptors_it_is_handed_and_no_others() -> None:
    kept, other = os.memfd_create("kept"), os.memfd_create("other")
    try:
        os.write(kept, b"vetted")
        line = 'cat "/proc/self/fd/$0"; test -e "/proc/self/fd/$1" || echo " alone"'
        # named twice, where two files have the same bytes
        assert sh(line, str(kept), str(other), files=(kept, kept)) == "vetted alone\n"
    finally:
        os.close(kept)
        os.close(other)


def test_descriptor_that_somebody_made_inheritable_is_kept_from_children(way: str) -> None:
    if way == "spawned" and not hasattr(os, "POSIX_SPAWN_CLOSEFROM"):
        pytest.skip("before Python 3.13, posix_spawn passes on what was opened after us")
    lent = os.memfd_create("lent", 0)
    os.set_inheritable(lent, True)  # noqa: FBT003 - its only way
    try:
        assert sh('test -e "/proc/self/fd/$0" || echo closed', str(lent)) == "closed\n"
    finally:
        os.close(lent)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE])
@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_signal_that_we_do_not_hear_reaches_the_child(number: signal.Signals, how: str, tmp_path: Path) -> None:
    handler = signal.getsignal(number)
    if how == "ignored":
        signal.signal(number, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        code = said("/bin/sh", "-c", f"kill -{int(number)} $$; echo deaf", cwd=str(tmp_path))
    finally:
        signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})

    assert code == ("", -number)


def test_child_leads_a_group_of_its_own() -> None:
    assert sh('test "$(ps -o pgid= -p $$ | tr -d " ")" = "$$" && echo leads') == "leads\n"


def test_auditors_hear_of_every_child(way: str) -> None:
    script = """
import asyncio, os, sys
heard = []
sys.addaudithook(lambda name, args: heard.append((name, args[0])) if name in {"subprocess.Popen", "os.posix_spawn"} else None)
from hookline.kinds import _starting
from hookline.kinds._process import run
if sys.argv[1] == "spawned":
    _starting._FORK_EXEC = None
asyncio.run(run("/bin/true", ("true",), stdin=b"", env={}, timeout=60))
print(heard)
"""
    printed, code = said(sys.executable, "-c", script, way, env=dict(os.environb))

    expected = "subprocess.Popen" if way == "forked" else "os.posix_spawn"
    assert (eval(printed), code) == ([(expected, "/bin/true")], 0)  # noqa: S307 - our own print


NO_VFORK = """
import ctypes, platform, struct, sys
numbers = {"x86_64": 58}
if platform.machine() not in numbers:
    print("unknown")
    sys.exit()
rules = b"".join(
    struct.pack("HBBI", *rule)
    for rule in (
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 0, 1, numbers[platform.machine()]),  # is it vfork?
        (0x06, 0, 0, 0x00050000 | int(sys.argv[1])),  # then fail with this error
        (0x06, 0, 0, 0x7FFF0000),  # else do it
    )
)
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
text = ctypes.create_string_buffer(rules)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.cast(text, ctypes.c_void_p))), 0, 0):
    print("unknown")
    sys.exit()
"""
AFTER_THAT = """
import asyncio
from hookline.kinds._process import run
async def main():
    seen = set()
    for _ in range(30):
        try:
            seen.add((await run("/nowhere", ("nowhere",), stdin=b"{}", env={}, timeout=60)).exit_code)
        except OSError as problem:
            seen.add(problem.strerror)
    seen.add((await run("/bin/sh", ("sh", "-c", "exit 7"), stdin=b"{}", env={}, timeout=60)).exit_code)
    print(sorted(map(str, seen)))
asyncio.run(main())
"""


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EPERM])
def test_program_that_is_not_there_is_not_taken_for_started_where_no_vfork_is_allowed(code: int) -> None:
    """As in a sandbox, or after `unshare(CLONE_NEWPID)`: then the child is on its own way, and we on ours."""
    printed, ended = said(sys.executable, "-c", NO_VFORK + AFTER_THAT, str(code), env=dict(os.environb))
    if printed == "unknown\n":
        pytest.skip("this machine has another number for vfork, or lets nobody forbid it")

    assert (eval(printed), ended) == (["7", "No such file or directory"], 0)  # noqa: S307 - our own print


def test_program_is_not_waited_for_when_somebody_else_holds_the_pipe(way: str) -> None:
    if way == "spawned":
        pytest.skip("there is no such pipe")
    script = """
import os, sys, threading, time
from hookline.kinds import _starting
import asyncio
_starting._FORK_EXEC = asyncio and __import__("_posixsubprocess").fork_exec
real = os.pipe2
def pipe2(flags):
    ends = real(flags)
    if not os.fork():  # another thread of this program does, at the worst moment
        time.sleep(60)
    return ends
os.pipe2 = pipe2
ends = [os.pipe() for _ in range(3)]
pid = _starting.start(
    "/bin/true", ("true",), env={}, cwd="", ends=(ends[0][0], ends[1][1], ends[2][1]), files=()
)
print(os.waitpid(pid, 0)[1])
sys.stdout.flush()
os.killpg(0, 9)
"""
    started = time.monotonic()
    printed, _ = said(sys.executable, "-c", script, env=dict(os.environb))

    assert printed == "0\n"
    assert time.monotonic() - started < 50
