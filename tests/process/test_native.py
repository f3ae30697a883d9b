"""The C library that starts children, when the machine is short of things and callers are hostile."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the library is Linux's", allow_module_level=True)

from hookline.model.sandbox import LEVELS, PROJECT
from hookline.process import native
from hookline.process.containment import Cell, CellKey, Containment
from tests.children import children

if native.load_library() is None:
    pytest.skip("the library was not built", allow_module_level=True)

ROOT_FOLDER = Path(__file__).parents[2]
TRUE = shutil.which("true") or "/bin/true"


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    (tmp_path / "project").mkdir()
    pool = Containment()
    yield pool.acquire(CellKey(LEVELS[PROJECT], str(tmp_path / "project"), str(tmp_path)))
    pool.close()


@pytest.fixture
def null() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def start(program: str, *words: str, null: int, cell: Cell | None = None, cwd: str = "/") -> int:
    """Start a program; return its pid."""
    sandbox = None if cell is None else cell.struct
    return native.spawn(program, (program, *words), env={b"A": b"1"}, cwd=cwd, streams=[null] * 3, sandbox=sandbox)


def count_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_hundreds_of_starts_leave_no_descriptor_and_no_child(null: int, cell: Cell) -> None:
    before, born = count_descriptors(), children()
    for contained in (None, cell):
        for _ in range(200):
            assert os.waitpid(start(TRUE, null=null, cell=contained), 0)[1] == 0
            with pytest.raises(FileNotFoundError):
                start("/proc/nonexistent", null=null, cell=contained)
    assert (count_descriptors(), children()) == (before, born)


def test_sixteen_threads_start_children_at_once(null: int, cell: Cell) -> None:
    ends: list[int] = []

    def start_some() -> None:
        for number in range(10):
            pid = start("/bin/sh", "-c", f"exit {number}", null=null, cell=cell)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) - number)

    threads = [threading.Thread(target=start_some) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == [0] * 160


def test_arguments_that_are_too_long_are_an_error_and_leave_no_child(null: int, cell: Cell) -> None:
    born = children()
    for contained in (None, cell):
        with pytest.raises(OSError, match="Argument list too long") as problem:
            start(TRUE, "x" * (1 << 20), null=null, cell=contained)
        assert problem.value.errno == errno.E2BIG
    assert children() == born


def test_folder_that_is_gone_is_named(null: int, cell: Cell, tmp_path: Path) -> None:
    for contained in (None, cell):
        with pytest.raises(FileNotFoundError) as problem:
            start(TRUE, null=null, cell=contained, cwd=str(tmp_path / "gone"))
        assert problem.value.filename == str(tmp_path / "gone")


def test_no_descriptor_left_for_pipes_is_said_as_such(null: int, cell: Cell) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 20, hard)
        )
        with suppress(OSError):
            while True:
                held.append(os.dup(null))
        for contained in (None, cell):
            with pytest.raises(OSError, match="Too many open files") as problem:
                native.start(TRUE, ("true",), env={}, cwd="/", sandbox=None if contained is None else contained.struct)
            assert type(problem.value) is OSError
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)


def test_networks_leave_no_descriptor_and_no_child_even_where_there_is_no_room_for_them(null: int) -> None:
    try:
        native.make_network(1)
    except PermissionError as problem:
        pytest.skip(f"a process cannot have a network of its own here: {problem}")
    before, born = count_descriptors(), children()
    for room in range(1, 6):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        held: list[int] = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            with suppress(OSError):
                while True:
                    held.append(os.dup(null))
            for descriptor in held[:room]:
                os.close(descriptor)
            with suppress(OSError):
                network = native.make_network(1)
                os.close(network.listener)
                network.close()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in held[room:]:
                os.close(descriptor)
        assert (count_descriptors(), children()) == (before, born), room


def test_signals_during_the_start_reach_their_handler_here_and_nothing_else(null: int, cell: Cell) -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: caught.append(number))
    left = signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        ends = {os.waitpid(start(TRUE, null=null, cell=cell), 0)[1] for _ in range(100)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, *left)
        signal.signal(signal.SIGALRM, before)
    assert ends == {0}
    assert caught


def test_stream_that_has_its_number_already_stays_open(null: int) -> None:
    reader, writer = os.pipe()
    code = "import os, sys; os.write(3, b'there')"
    kept = os.dup(3) if Path("/proc/self/fd/3").exists() else -1
    try:
        os.dup2(writer, 3, inheritable=False)
        pid = native.spawn(sys.executable, (sys.executable, "-c", code), env={}, cwd="", streams=[null, null, null, 3])
        assert os.waitpid(pid, 0)[1] == 0
        os.set_blocking(reader, False)
        assert os.read(reader, 10) == b"there"
    finally:
        os.close(3) if kept < 0 else os.dup2(kept, 3, inheritable=False)
        for descriptor in {reader, writer, kept} - {3, -1}:
            os.close(descriptor)


def test_more_writable_folders_than_there_is_room_for_are_an_error(null: int, cell: Cell, tmp_path: Path) -> None:
    assert cell.struct is not None
    cell.struct.mounts = b"".join(b"w%b\0" % os.fsencode(tmp_path) for _ in range(200))
    cell.struct.mount_count, cell.struct.has_mounts = 200, 1
    with pytest.raises(OSError, match="Argument list too long"):
        start(TRUE, null=null, cell=cell)


WITHOUT_CLOSE_RANGE = """
import ctypes, os, struct, sys
from hookline.process import native
native.load()
libc = ctypes.CDLL(None, use_errno=True)
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 436), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program)
null = os.open(os.devnull, os.O_RDWR)
secret = os.dup2(os.open(sys.argv[1], os.O_RDONLY), 200, inheritable=True)
pid = native.spawn("/bin/sh", ("sh", "-c", "ls /proc/self/fd"), env={}, cwd="/", streams=[null, 1, 2])
sys.exit(os.waitpid(pid, 0)[1])
"""


def test_kernel_without_close_range_hands_on_nothing_either() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CLOSE_RANGE, __file__], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["0", "1", "2", "3"], "")  # the last is the list itself


DRIVER = """
#include "spawn.c"
int main(void) {
  int32_t step, numbers[] = {-1, 3, 0, 1, 2, 0};
  char argv[] = "true\\0one", env[] = "A=1\\0B=2";
  struct sandbox sandbox = {.ruleset = -1, .uid = -1, .gid = -1, .user_namespace = -1, .network = -1,
                            .keeps_group = 1, .limit_count = 1, .limits = {{RLIMIT_CORE, 0, 1}}};
  const char *programs[] = {"TRUE", "/proc/nonexistent"};
  for (int number = 0; number < 12; number++) {
    struct filter filter;
    sandbox.sockets = number % 8;
    if (make_filter(&filter, &sandbox)) return 98;
    sandbox.sockets = SOCKETS_ANY;
    int pid = hookline_spawn(programs[number % 2], argv, 2, env, 2, "/", numbers, number % 3 ? &sandbox : NULL, &step);
    int status;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid) return 1 + number;
    /* valgrind makes a fork of vfork: the child cannot write what failed into our memory, and has only its exit code */
    if (WEXITSTATUS(status) != (number % 2 ? 127 : 0)) return 21 + number;
  }
  int ruleset = hookline_create_ruleset(0xf, 0, 0);
  if (ruleset >= 0 && (hookline_allow_path(ruleset, "/usr", 5, 8) || hookline_allow_path(ruleset, "/x", 5, 8) != -ENOENT)) return 99;
  return 0;
}
"""


# without mounts and a filter of system calls, which valgrind does not know
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind") or not shutil.which("cc"), reason="valgrind or cc is missing")
def test_valgrind_finds_no_error_of_memory(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(DRIVER.replace("TRUE", TRUE))
    source = ROOT_FOLDER / "src/hookline/process"
    driver = tmp_path / "driver"
    subprocess.run(
        ["cc", "-std=c11", "-g", "-O1", f"-I{source}", "-o", driver, tmp_path / "driver.c"], check=True, timeout=60
    )
    done = subprocess.run(
        ["valgrind", "-q", "--error-exitcode=77", "--leak-check=full", "--trace-children=no", driver],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    # it warns of system calls that are newer than itself, which then fail
    assert done.returncode == 0, done.stderr
