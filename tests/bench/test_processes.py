"""Starting programs bare, and looking at what they cost."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import processes

ENV = processes.encoded({"PATH": os.defpath, "WORD": "wörd"})

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell")


def test_program_gets_its_input_and_environment_and_its_answer_comes_back() -> None:
    ended = processes.round_trip(["/bin/sh", "-c", 'cat; printf "%s" "$WORD"; exit 3'], b"in ", ENV)

    assert ended == processes.Ended(3, "in wörd".encode())


def test_program_that_is_killed_is_told_by_its_signal() -> None:
    assert processes.round_trip(["/bin/sh", "-c", "kill -9 $$"], b"", ENV).code == -9


def test_program_that_is_not_there_leaves_no_descriptor_open() -> None:
    before = len([*Path("/dev/fd").iterdir()])
    with pytest.raises(FileNotFoundError):
        processes.round_trip(["/nowhere/program"], b"", ENV)

    assert len([*Path("/dev/fd").iterdir()]) == before


def test_several_programs_run_at_once() -> None:
    started = [processes.start(["/bin/sh", "-c", f"cat; echo {number}"], b"x", ENV) for number in range(3)]

    assert [processes.finish(each).stdout for each in started] == [b"x0\n", b"x1\n", b"x2\n"]


@needs_proc
def test_family_is_a_process_and_all_below_it() -> None:
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 30 & echo $!; wait"], stdout=subprocess.PIPE, process_group=0)
    try:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())

        assert processes.family(child.pid) == [child.pid, grandchild]
        assert {child.pid, grandchild} <= set(processes.family(os.getpid()))
    finally:
        os.killpg(child.pid, 9)
        child.communicate()


@needs_proc
def test_memory_and_processor_time_of_a_process() -> None:
    sum(range(3_000_000))

    assert processes.memory(os.getpid()) > 1_000_000
    assert processes.own_processor_time(os.getpid()) > 0
    assert processes.family_processor_time(os.getpid()) >= processes.own_processor_time(os.getpid())


@needs_proc
def test_process_that_is_gone_costs_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "pass"])
    child.wait()

    assert processes.memory(child.pid) == 0
    assert processes.processor_time(child.pid) == 0
    assert processes.wait_until_gone(child.pid)


@needs_proc
def test_processes_are_found_by_a_variable_they_were_started_with() -> None:
    child = subprocess.Popen(["/bin/sleep", "30"], env={"MARK": "7f3a"})
    try:
        assert processes.having("MARK=7f3a") == [child.pid]
        assert processes.having("MARK=7f3") == []
    finally:
        child.kill()
        child.wait()


def test_process_that_stays_is_not_waited_for_forever() -> None:
    assert not processes.wait_until_gone(os.getpid(), seconds=0.1)


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="this system does not tell")
def test_listener_is_who_listens_at_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("s")
    assert processes.listener(path) == 0
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert processes.listener(path) == 0
        server.listen()

        assert processes.listener(path) == os.getpid()
