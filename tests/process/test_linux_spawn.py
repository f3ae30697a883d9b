"""What a child has when it starts, in the directory of the engine and in another one."""

import asyncio
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("pidfds are Linux's", allow_module_level=True)

from hookline.process.linux import run
from hookline.process.result import Env
from hookline.process.spec import ProcessSpec
from tests.children import children

ENV = {b"PATH": os.environb[b"PATH"], b"A": b"1"}


@pytest.fixture(params=["here", "elsewhere"], autouse=True)
def way(request: pytest.FixtureRequest) -> str:
    """Start children in the engine's own directory, and in one that is named."""
    return str(request.param)


class Starter:
    """Runs programs in one of the two places."""

    def __init__(self, way: str) -> None:
        self.way = way

    def said(
        self,
        program: str,
        *args: str,
        env: Env = ENV,
        cwd: str = "",
        umask: int = -1,
        files: tuple[int, ...] = (),
        stdin: bytes = b"",
    ) -> tuple[str, int]:
        """Return what a program printed, and its exit code."""
        folder = cwd or ("" if self.way == "here" else str(Path.cwd()))
        spec = ProcessSpec(program=program, argv=(program, *args), env=env, cwd=folder, umask=umask, pass_fds=files)
        result = asyncio.run(run(spec, stdin=stdin, timeout=60))
        return result.stdout.decode(), result.exit_code

    def sh(self, line: str, *args: str, **more: Any) -> str:
        """Return what a shell printed that ended well."""
        printed, code = self.said("/bin/sh", "-c", line, *args, **more)
        assert code == 0
        return printed


@pytest.fixture
def starter(way: str) -> Starter:
    return Starter(way)


def test_child_has_its_arguments_its_variables_and_its_input(starter: Starter) -> None:
    assert starter.sh('echo "$0 $A" && cat', "zero", stdin=b"fed\n") == "zero 1\nfed\n"


def test_child_goes_where_it_is_to_work_and_we_stay(starter: Starter, tmp_path: Path) -> None:
    here = Path.cwd()
    assert starter.sh("pwd", cwd=str(tmp_path)) == f"{tmp_path.resolve()}\n"
    assert Path.cwd() == here


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_child_has_the_umask_of_whoever_asks_and_we_keep_ours(starter: Starter, tmp_path: Path, umask: int) -> None:
    ours = os.umask(0o022)
    try:
        for cwd in ("", str(tmp_path)):
            assert int(starter.sh("umask", cwd=cwd, umask=umask), 8) == umask
        assert int(starter.sh("umask"), 8) == os.umask(0o022) == 0o022
    finally:
        os.umask(ours)


def test_relative_program_is_looked_for_where_the_child_works(starter: Starter, tmp_path: Path) -> None:
    script = tmp_path / "here.sh"
    script.write_text("#!/bin/sh\necho found\n")
    script.chmod(0o755)

    assert starter.said("./here.sh", cwd=str(tmp_path)) == ("found\n", 0)


def test_children_of_several_threads_start_where_each_belongs(starter: Starter, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    found: dict[Path, set[str]] = {folder: set() for folder in folders}

    def work(folder: Path) -> None:
        for _ in range(10):
            found[folder].add(starter.said("/bin/pwd", cwd=str(folder))[0].strip())

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
    starter: Starter, tmp_path: Path, make: Callable[[Path], object], code: int, *, elsewhere: bool
) -> None:
    file = tmp_path / "program"
    make(file)
    before = children()

    with pytest.raises(OSError, match=os.strerror(code)) as raised:
        starter.said(str(file), cwd=str(tmp_path) if elsewhere else "")

    assert raised.value.errno == code
    assert children() <= before


def test_folder_that_is_not_there_is_what_the_error_names(starter: Starter, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        starter.said("/bin/true", cwd=str(tmp_path / "none"))

    assert raised.value.filename == str(tmp_path / "none")


@pytest.mark.parametrize("env", [{b"": b"x"}, {b"a=b": b"x"}, {b"a": b"x\0y"}, {b"a\0b": b"x"}])
def test_variable_that_cannot_be_passed_on_is_a_value_error(starter: Starter, env: Mapping[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match=r"environment variable|null byte|null character"):
        starter.said("/bin/true", env=env)


def test_argument_that_cannot_be_passed_on_is_a_value_error(starter: Starter) -> None:
    with pytest.raises(ValueError, match="null byte"):
        starter.said("/bin/true", "a\0b")


def test_variables_that_changed_since_the_last_child_are_the_new_ones(starter: Starter) -> None:
    env = dict(ENV)
    assert starter.sh('echo "$A"', env=env) == "1\n"
    env[b"A"] = b"2"
    assert starter.sh('echo "$A"', env=env) == "2\n"


def test_child_keeps_the_descriptors_it_is_handed_and_no_others(starter: Starter) -> None:
    kept, other = os.memfd_create("kept"), os.memfd_create("other")
    try:
        os.write(kept, b"vetted")
        line = 'cat "/proc/self/fd/$0"; test -e "/proc/self/fd/$1" || echo " alone"'
        # named twice, where two files have the same bytes
        assert starter.sh(line, str(kept), str(other), files=(kept, kept)) == "vetted alone\n"
    finally:
        os.close(kept)
        os.close(other)


def test_descriptor_that_somebody_made_inheritable_is_kept_from_children(starter: Starter) -> None:
    lent = os.memfd_create("lent", 0)
    os.set_inheritable(lent, True)  # noqa: FBT003 - its only way
    try:
        assert starter.sh('test -e "/proc/self/fd/$0" || echo closed', str(lent)) == "closed\n"
    finally:
        os.close(lent)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE])
@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_signal_that_we_do_not_hear_reaches_the_child(
    starter: Starter, number: signal.Signals, how: str, tmp_path: Path
) -> None:
    handler = signal.getsignal(number)
    if how == "ignored":
        signal.signal(number, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        code = starter.said("/bin/sh", "-c", f"kill -{int(number)} $$; echo deaf", cwd=str(tmp_path))
    finally:
        signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})

    assert code == ("", -number)


def test_child_leads_a_group_of_its_own(starter: Starter) -> None:
    assert starter.sh('test "$(ps -o pgid= -p $$ | tr -d " ")" = "$$" && echo leads') == "leads\n"


def test_auditors_hear_of_every_child(starter: Starter, way: str) -> None:
    script = """
import asyncio, os, sys
heard = []
sys.addaudithook(lambda name, args: heard.append((name, args[0])) if name in {"subprocess.Popen", "os.posix_spawn"} else None)
from hookline.process.linux import run
from hookline.process.spec import ProcessSpec
cwd = "/" if sys.argv[1] == "elsewhere" else ""
asyncio.run(run(ProcessSpec(program="/bin/true", argv=("true",), env={}, cwd=cwd), stdin=b"", timeout=60))
print(heard)
"""
    printed, code = starter.said(sys.executable, "-c", script, way, env=dict(os.environb))

    assert (eval(printed), code) == ([("subprocess.Popen", "/bin/true")], 0)  # noqa: S307 - our own print
