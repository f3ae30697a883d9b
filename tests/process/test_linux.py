"""Both runners, the one for Linux and the portable one, keep the same promises."""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Coroutine, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from hookline.process import linux, portable
from hookline.process.result import OUTPUT_LIMIT, ExitReason, ProcessResult
from hookline.process.spec import ProcessSpec
from tests.children import children

T = TypeVar("T")
LINUX = hasattr(os, "pidfd_open")
needs_pidfd = pytest.mark.skipif(not LINUX, reason="looks at other processes through pidfds")

PYTHON = (sys.executable, "-I", "-S", "-c")
SH = ("/bin/sh", "-c")


class Run(Protocol):
    def __call__(
        self, spec: ProcessSpec, *, stdin: bytes, timeout: float
    ) -> Coroutine[object, object, ProcessResult]: ...


@pytest.fixture(params=["pidfd", "asyncio"] if LINUX else ["asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    return linux.run if request.param == "pidfd" else portable.run


def start(
    run: Run, *argv: str, stdin: bytes = b"", timeout: float = 20.0, cwd: str = "", extra: bytes = b""
) -> Coroutine[object, object, ProcessResult]:
    spec = ProcessSpec(program=argv[0], argv=argv, env=dict(os.environb), cwd=cwd, fd3_data=extra)
    return run(spec, stdin=stdin, timeout=timeout)


def bounded(work: Awaitable[T], *, seconds: float = 60) -> T:
    # what goes wrong in a callback is told to the loop, and to nobody else
    wrong: list[object] = []

    async def within() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        async with asyncio.timeout(seconds):
            return await work

    found = asyncio.run(within())
    assert wrong == []
    return found


def finish(
    run: Run, *argv: str, stdin: bytes = b"", timeout: float = 20.0, cwd: str = "", extra: bytes = b""
) -> ProcessResult:
    return bounded(start(run, *argv, stdin=stdin, timeout=timeout, cwd=cwd, extra=extra))


def open_descriptors() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/fd").iterdir()}


def is_gone(pid: int) -> bool:
    """Wait up to five seconds for a process to end."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = bool(poll.poll(5000))
    os.close(descriptor)
    return ended


def is_running(pid: int) -> bool:
    descriptor = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = bool(poll.poll(0))
    os.close(descriptor)
    return not ended


class Mailbox:
    """A named pipe through which a program under test says that it is where the test wants it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    async def numbers(self) -> list[int]:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            async with asyncio.timeout(20):
                await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        return [int(word) for word in os.read(self._descriptor, 1000).split()]

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    box = Mailbox(tmp_path / "mailbox")
    yield box
    box.close()


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = (open_descriptors() if LINUX else set(), children())
    yield
    assert (open_descriptors() if LINUX else set(), children()) == before


# What goes in and what comes out


@pytest.mark.spec("P-01")
def test_input_arrives_and_both_outputs_and_the_exit_code_come_back(run: Run) -> None:
    finished = finish(run, *SH, "cat; echo problem >&2; exit 3", stdin=b'{"event":"x"}\n')

    assert finished == ProcessResult(exit_code=3, stdout=b'{"event":"x"}\n', stderr=b"problem\n")


def test_program_that_prints_nothing_gives_nothing(run: Run) -> None:
    assert finish(run, *SH, ":") == ProcessResult(exit_code=0, stdout=b"", stderr=b"")


def test_bytes_that_are_no_text_come_through_unchanged(run: Run) -> None:
    every_byte = bytes(range(256))

    assert finish(run, "/bin/cat", stdin=every_byte).stdout == every_byte


@pytest.mark.spec("O-21")
@pytest.mark.parametrize("size", [1, 10_000_000])
def test_program_that_never_reads_its_input_still_answers(run: Run, size: int) -> None:
    finished = finish(run, *SH, "echo done", stdin=b"x" * size)

    assert finished == ProcessResult(exit_code=0, stdout=b"done\n", stderr=b"")


def test_program_that_closes_its_input_early_still_answers(run: Run, tmp_path: Path) -> None:
    # it goes on working after it closed its input, so that the broken pipe is seen while it runs
    line = (
        f"head -c 10; exec <&-; mkfifo {tmp_path}/f; (sleep 0.1; echo >{tmp_path}/f) & read x <{tmp_path}/f; echo end"
    )

    assert finish(run, *SH, line, stdin=b"x" * 10_000_000).stdout == b"xxxxxxxxxxend\n"


def test_ten_megabytes_of_input_arrive_whole(run: Run) -> None:
    count = "import sys; print(len(sys.stdin.buffer.read()))"

    assert finish(run, *PYTHON, count, stdin=b"x" * 10_000_000).stdout == b"10000000\n"


def test_program_that_talks_before_it_listens_does_not_deadlock(run: Run) -> None:
    talk = "import sys; sys.stdout.write('a' * 900_000); sys.stdout.flush(); print(len(sys.stdin.buffer.read()))"

    finished = finish(run, *PYTHON, talk, stdin=b"x" * 10_000_000)

    assert finished.stdout == b"a" * 900_000 + b"10000000\n"


def test_value_on_descriptor_three_is_readable(run: Run) -> None:
    finished = finish(run, *SH, "cat <&3; cat", stdin=b"stdin", extra=b"long" * 100_000)

    assert finished.stdout == b"long" * 100_000 + b"stdin"


@pytest.mark.spec("A-09")
def test_program_runs_in_the_folder_it_is_given(run: Run, tmp_path: Path) -> None:
    assert finish(run, *SH, "pwd -P", cwd=str(tmp_path)).stdout.decode() == f"{tmp_path.resolve()}\n"


def test_folder_and_descriptor_three_work_together(run: Run, tmp_path: Path) -> None:
    finished = finish(run, *SH, 'pwd -P; cat <&3; printf %s "$1"', "name", "a b", cwd=str(tmp_path), extra=b"long\n")

    assert finished.stdout.decode() == f"{tmp_path.resolve()}\nlong\na b"


@pytest.mark.skipif(not LINUX, reason="memfds are Linux's")
@pytest.mark.parametrize("cwd", ["", "/"])
@pytest.mark.parametrize("extra", [b"", b"value"])
def test_program_keeps_the_descriptors_it_is_handed_and_no_others(run: Run, cwd: str, extra: bytes) -> None:
    handed, other = os.memfd_create("handed"), os.memfd_create("other")
    os.write(handed, b"content")
    script = "cat /proc/self/fd/$0; test -e /proc/self/fd/$1 || echo ' alone'"
    argv = (*SH, script, str(handed), str(other))
    try:
        env = dict(os.environb)
        spec = ProcessSpec(program=argv[0], argv=argv, env=env, cwd=cwd, fd3_data=extra, pass_fds=(handed,))
        ended = bounded(run(spec, stdin=b"", timeout=20))
    finally:
        os.close(handed)
        os.close(other)

    assert ended.stdout + ended.stderr == b"content alone\n"


def test_killed_program_reports_its_signal(run: Run) -> None:
    assert finish(run, *SH, "kill -SEGV $$").exit_code == -signal.SIGSEGV


# Limits


@pytest.mark.spec("O-14")
def test_output_of_exactly_the_limit_is_kept(run: Run) -> None:
    half = OUTPUT_LIMIT // 2

    finished = finish(run, *SH, f"head -c {half} /dev/zero; head -c {half} /dev/zero >&2")

    assert (len(finished.stdout), len(finished.stderr), finished.reason) == (half, half, ExitReason.EXITED)


@pytest.mark.spec("O-14", "A-25")
def test_both_streams_count_toward_one_limit(run: Run) -> None:
    half = OUTPUT_LIMIT // 2

    finished = finish(run, *SH, f"head -c {half} /dev/zero; head -c {half + 1} /dev/zero >&2")

    assert finished.reason is ExitReason.OVERFLOWED
    assert len(finished.stdout) + len(finished.stderr) == OUTPUT_LIMIT


@pytest.mark.spec("O-14", "A-25")
@pytest.mark.parametrize("target", ["&1", "&2"])
def test_program_that_never_stops_printing_is_ended(run: Run, target: str) -> None:
    finished = finish(run, *SH, f"echo start; exec yes >{target}")

    assert finished.reason is ExitReason.OVERFLOWED
    assert finished.exit_code < 0
    assert finished.stdout.startswith(b"start\n")
    assert len(finished.stdout) + len(finished.stderr) == OUTPUT_LIMIT


@needs_pidfd
@pytest.mark.spec("A-25")
def test_program_that_prints_too_much_is_ended_with_all_it_started(run: Run, mailbox: Mailbox) -> None:
    line = f"sleep 60 >/dev/null 2>&1 & echo $$ $! >{mailbox.path}; trap '' PIPE; yes 2>/dev/null; sleep 60"

    async def flood() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(run, *SH, line), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(flood())

    assert finished.reason is ExitReason.OVERFLOWED
    assert [is_gone(pid) for pid in pids] == [True, True]


@needs_pidfd
@pytest.mark.spec("P-03", "A-25")
def test_timed_out_program_is_ended_with_all_it_started(run: Run, mailbox: Mailbox) -> None:
    line = f"sleep 60 & echo $$ $! >{mailbox.path}; echo before; wait"

    async def wait() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(run, *SH, line, timeout=1.5), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(wait())

    assert finished == ProcessResult(
        exit_code=-signal.SIGTERM, stdout=b"before\n", stderr=b"", reason=ExitReason.TIMED_OUT
    )
    assert [is_gone(pid) for pid in pids] == [True, True]


@pytest.mark.spec("P-03")
def test_timed_out_program_may_clean_up_before_it_ends(run: Run, tmp_path: Path) -> None:
    line = f"trap 'rm {tmp_path}/lock; echo bye; exit 7' TERM; echo >{tmp_path}/lock; while :; do sleep 0.05; done"

    finished = finish(run, *SH, line, timeout=1.5)

    assert (finished.exit_code, finished.stdout, finished.reason) == (7, b"bye\n", ExitReason.TIMED_OUT)
    assert not (tmp_path / "lock").exists()


@pytest.mark.slow
@needs_pidfd
@pytest.mark.spec("P-03", "A-25")
def test_program_that_ignores_the_request_to_end_is_killed(run: Run, mailbox: Mailbox) -> None:
    line = f"trap '' TERM; sleep 60 & echo $$ $! >{mailbox.path}; wait; sleep 60"

    async def wait() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(run, *SH, line, timeout=1.5), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(wait())

    assert (finished.exit_code, finished.reason) == (-signal.SIGKILL, ExitReason.TIMED_OUT)
    assert [is_gone(pid) for pid in pids] == [True, True]


@pytest.mark.slow
@needs_pidfd
@pytest.mark.spec("P-03", "A-25")
@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"])
def test_what_outlives_a_timed_out_program_is_killed(run: Run, mailbox: Mailbox, output: str) -> None:
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    line = f'sh -c "{stubborn}" {output} & echo $! >{mailbox.path}; exec sleep 60'

    async def wait() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(run, *SH, line, timeout=1.5), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(wait())

    assert (finished.exit_code, finished.reason) == (-signal.SIGTERM, ExitReason.TIMED_OUT)
    assert is_gone(pids[0])


@pytest.mark.slow
@needs_pidfd
def test_program_that_leaves_its_group_is_ended_too(mailbox: Mailbox) -> None:
    leave = (
        "import os, sys, time; os.setpgid(0, os.getpgid(os.getppid()));"
        f" open({str(mailbox.path)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )

    async def wait() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(linux.run, *PYTHON, leave, timeout=4.0), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(wait())

    assert (finished.exit_code, finished.reason) == (-signal.SIGTERM, ExitReason.TIMED_OUT)
    assert is_gone(pids[0])


@needs_pidfd
def test_program_is_not_waited_for_when_a_child_of_its_own_keeps_its_output_open(run: Run, mailbox: Mailbox) -> None:
    line = f"sleep 60 & echo $! >{mailbox.path}; echo answer"

    async def ask() -> tuple[ProcessResult, list[int]]:
        finished, pids = await asyncio.gather(start(run, *SH, line), mailbox.numbers())
        return finished, pids

    finished, pids = bounded(ask())

    assert finished == ProcessResult(exit_code=0, stdout=b"answer\n", stderr=b"")
    assert is_running(pids[0])
    os.kill(pids[0], signal.SIGKILL)


# Cancellation


@needs_pidfd
@pytest.mark.spec("A-25")
@pytest.mark.parametrize("times", [1, 3])
def test_cancelled_call_leaves_no_process(run: Run, mailbox: Mailbox, times: int) -> None:
    line = f"trap '' TERM; sleep 60 & echo $$ $! >{mailbox.path}; wait; sleep 60"

    async def cancel() -> tuple[list[int], bool]:
        task = asyncio.ensure_future(start(run, *SH, line))
        pids = await mailbox.numbers()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids, is_gone(pids[0])

    pids, gone_at_once = bounded(cancel())

    assert gone_at_once
    assert is_gone(pids[1])


@needs_pidfd
@pytest.mark.spec("A-25")
def test_call_cancelled_while_its_program_is_being_ended_leaves_no_process(run: Run, mailbox: Mailbox) -> None:
    line = f"trap 'echo 1 >{mailbox.path}' TERM; echo $$ >{mailbox.path}; while :; do sleep 0.05; done"

    async def cancel() -> list[int]:
        task = asyncio.ensure_future(start(run, *SH, line, timeout=0.5))
        pids = await mailbox.numbers()
        assert await mailbox.numbers() == [1]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert is_gone(bounded(cancel())[0])


@needs_pidfd
def test_call_cancelled_in_the_turn_it_was_made_leaves_no_process(run: Run) -> None:
    async def cancel() -> None:
        tasks = [asyncio.ensure_future(start(run, "/bin/sleep", "60")) for _ in range(3)]
        for turns, task in enumerate(tasks):
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 3

    bounded(cancel())


@needs_pidfd
def test_call_whose_loop_was_closed_under_it_leaves_no_process(mailbox: Mailbox) -> None:
    call = start(linux.run, *SH, f"echo $$ >{mailbox.path}; exec sleep 60")
    loop = asyncio.new_event_loop()
    task = loop.create_task(call)

    pids = loop.run_until_complete(mailbox.numbers())
    loop.close()
    call.close()

    assert is_gone(pids[0])
    del task


@needs_pidfd
def test_loop_that_cannot_watch_a_program_does_not_leave_it_running(tmp_path: Path) -> None:
    class Blind(asyncio.SelectorEventLoop):
        def add_reader(self, *_: object) -> None:
            raise OSError("no more watches")

    with asyncio.Runner(loop_factory=Blind) as runner, pytest.raises(OSError, match="no more watches"):
        runner.run(start(linux.run, *SH, f"sleep 60; echo >{tmp_path}/ran"))


# Programs that cannot be started


@pytest.mark.parametrize("cwd", ["", "/"])
def test_program_that_cannot_be_started_is_an_error_of_the_system(run: Run, tmp_path: Path, cwd: str) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hi\n", "utf-8")

    with pytest.raises(FileNotFoundError):
        finish(run, str(tmp_path / "missing"), cwd=cwd)
    for unfit in (plain, tmp_path):
        with pytest.raises(PermissionError):
            finish(run, str(unfit), cwd=cwd)


@needs_pidfd
def test_program_started_through_a_shell_is_the_same_error_of_the_system(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hi\n", "utf-8")
    for file, wanted in (
        (tmp_path / "missing", FileNotFoundError),
        (plain, PermissionError),
        (tmp_path, PermissionError),
    ):
        with pytest.raises(wanted) as raised:
            finish(linux.run, str(file), cwd="/", extra=b"needs a shell to be on descriptor 3 in another folder")
        assert raised.value.errno


@pytest.mark.parametrize("extra", [b"", b"extra"])
def test_folder_that_does_not_exist_is_an_error_of_the_system(run: Run, tmp_path: Path, extra: bytes) -> None:
    with pytest.raises(FileNotFoundError):
        finish(run, "/bin/true", cwd=str(tmp_path / "missing"), extra=extra)


@pytest.mark.parametrize("cwd", ["", "/"])
def test_file_that_is_no_program_is_an_error_of_the_system(run: Run, tmp_path: Path, cwd: str) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hi\n", "utf-8")
    plain.chmod(0o755)

    with pytest.raises(OSError, match="format"):
        finish(run, str(plain), cwd=cwd)


def test_arguments_too_long_for_the_system_are_an_error_of_the_system(run: Run) -> None:
    with pytest.raises(OSError, match="too long"):
        finish(run, "/bin/true", "x" * 200_000)


def test_argument_with_a_nul_is_a_value_error(run: Run) -> None:
    with pytest.raises(ValueError, match="null"):
        finish(run, "/bin/true", "a\0b")


# What a child starts with


@needs_pidfd
def test_program_leads_a_group_of_its_own_in_our_session(run: Run) -> None:
    tell = "import os; print(os.getpgid(0) == os.getpid(), os.getsid(0))"

    assert finish(run, *PYTHON, tell).stdout.decode() == f"True {os.getsid(0)}\n"


@needs_pidfd
@pytest.mark.parametrize("cwd", ["", "/"])
def test_program_starts_with_default_signals_and_none_blocked(cwd: str) -> None:
    tell = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
    try:
        finished = finish(linux.run, *SH, tell, cwd=cwd)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)

    blocked, ignored = (int(line.split()[1], 16) for line in finished.stdout.decode().splitlines())
    wanted = (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGQUIT)
    assert blocked == 0
    assert [number for number in wanted if ignored >> (number - 1) & 1] == []


EMBEDDER = """
import asyncio, os, signal, sys
{first}
from hookline.process.linux import run
from hookline.process.spec import ProcessSpec
async def main():
    spec = ProcessSpec(program={program!r}, argv={argv!r}, env=dict(os.environb))
    return await run(spec, stdin=b"in", timeout=20)
"""


def embed(program: str, *, first: str = "", then: str, descriptors: tuple[int, ...] = ()) -> str:
    """Run a program from a Python process that was itself started in an unusual way."""
    code = EMBEDDER.format(first=first, program=SH[0], argv=(*SH, program)) + then
    return subprocess.run(
        [sys.executable, "-c", code], pass_fds=descriptors, capture_output=True, text=True, timeout=60, check=True
    ).stdout


@needs_pidfd
@pytest.mark.spec("A-25")
def test_descriptors_this_program_was_started_with_are_not_passed_on() -> None:
    reading, writing = os.pipe()
    try:
        seen = embed(
            "ls /proc/$$/fd",
            then="print(asyncio.run(main()).stdout.decode())",
            descriptors=(reading, writing),
        )
    finally:
        os.close(reading)
        os.close(writing)

    # dash keeps the script it reads, and nothing else, above 2
    assert {int(name) for name in seen.split()} & {reading, writing} == set()
    assert {"0", "1", "2"} <= set(seen.split())


@needs_pidfd
def test_program_gets_its_three_streams_when_ours_are_closed(tmp_path: Path) -> None:
    result = tmp_path / "result"

    embed(
        "cat; echo out; echo err >&2",
        first="os.close(0); os.close(1); os.close(2)",
        then=f"open({str(result)!r}, 'w').write(repr(asyncio.run(main())))",
    )

    assert result.read_text("utf-8") == repr(ProcessResult(exit_code=0, stdout=b"inout\n", stderr=b"err\n"))


@needs_pidfd
@pytest.mark.parametrize("line", ["exit 2", "sleep 0.2; exit 2"])
def test_exit_code_taken_by_someone_else_is_not_taken_for_success(line: str) -> None:
    then = """
try:
    print(asyncio.run(main()))
except ChildProcessError:
    print("lost")
"""

    assert embed(line, first="signal.signal(signal.SIGCHLD, signal.SIG_IGN)", then=then) == "lost\n"


TRACED = """
import ctypes, os, time
me = os.getpid()
reading, writing = os.pipe()
if not os.fork():
    # seizes whoever started it, and looks away for a while
    os.write(writing, b"%d" % ctypes.CDLL(None).ptrace(0x4206, me, 0, 0))
    os.closerange(0, 3)
    time.sleep(2)
    os._exit(0)
os._exit(2 if os.read(reading, 9) == b"0" else 77)
"""


@needs_pidfd
def test_end_that_a_debugger_holds_on_to_is_not_taken_for_success(tmp_path: Path) -> None:
    (tmp_path / "traced.py").write_text(TRACED, "utf-8")
    then = """
try:
    print(asyncio.run(main()).exit_code)
except ChildProcessError:
    print("lost")
"""
    said = embed(f"exec {sys.executable} {tmp_path}/traced.py", then=then)
    if said == "77\n":
        pytest.skip("nobody may be traced here")

    assert said == "lost\n"


@needs_pidfd
def test_running_out_of_descriptors_starts_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    then = """
import resource
async def starve(free):
    spare = []
    try:
        while True:
            spare.append(os.dup(0))
    except OSError:
        pass
    for descriptor in spare[len(spare) - free:]:
        os.close(descriptor)
    try:
        await main()
    except OSError as problem:
        said = problem.errno
    else:
        said = 0
    for descriptor in spare[:len(spare) - free]:
        os.close(descriptor)
    return said
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
async def all():
    before = len(os.listdir("/proc/self/fd"))
    said = [await starve(free) for free in range(9)]
    await asyncio.sleep(0)
    print(said[:6] == [24] * 6, said[-1], len(os.listdir("/proc/self/fd")) - before)
asyncio.run(all())
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no children")
"""

    assert embed(f"echo >{tmp_path}/ran", then=then) == "True 0 0\nno children\n"


# Many


@pytest.mark.slow
@needs_pidfd
@pytest.mark.spec("A-25")
@pytest.mark.parametrize(("run", "count"), [("pidfd", 10_000), ("asyncio", 1_000)], indirect=["run"])
def test_ten_thousand_runs_leave_nothing_behind(run: Run, count: int) -> None:
    async def worker(share: int) -> int:
        codes = [(await start(run, "/bin/true", stdin=b"{}\n")).exit_code for _ in range(share)]
        return codes.count(0)

    async def everything() -> tuple[int, int, int]:
        await start(run, "/bin/true")
        before = len(open_descriptors())
        succeeded = await asyncio.gather(*(worker(count // 16) for _ in range(16)))
        return sum(succeeded), before, len(open_descriptors())

    threads = threading.active_count()
    succeeded, before, after = bounded(everything(), seconds=300)

    assert succeeded == count // 16 * 16
    assert after == before
    for thread in threading.enumerate():
        if "waitpid" in thread.name:
            thread.join(5)
    assert threading.active_count() == threads


@needs_pidfd
def test_mixed_endings_at_once_do_not_disturb_each_other(run: Run) -> None:
    async def everything() -> list[object]:
        cancelled = asyncio.ensure_future(start(run, "/bin/sleep", "60"))
        others = asyncio.gather(
            start(run, *SH, "echo fine"),
            start(run, *SH, "exec yes"),
            start(run, *SH, "exec sleep 60", timeout=0.3),
            start(run, "/nowhere/at/all"),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
        cancelled.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await cancelled
        return [getattr(answer, "reason", type(answer)) for answer in await others]

    assert bounded(everything()) == [ExitReason.EXITED, ExitReason.OVERFLOWED, ExitReason.TIMED_OUT, FileNotFoundError]
