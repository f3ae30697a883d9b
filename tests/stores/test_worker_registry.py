import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.stores import worker_registry
from tests.waiting import until

_STAY = """
import sys, time
from pathlib import Path
from hookline.stores import worker_registry
slot = worker_registry.WorkerSlot(Path(sys.argv[1]))
with worker_registry.register_worker(Path(sys.argv[1])) as name:
    print(name, slot.take(), flush=True)
    sys.stdin.read()
"""


def start(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _STAY, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    name, has_slot = process.stdout.readline().split()
    return process, name, has_slot


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait(timeout=30)
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def test_killed_worker_is_dead_at_once(tmp_path: Path) -> None:
    process, name, _ = start(tmp_path)
    assert worker_registry.is_alive(tmp_path, name)
    assert worker_registry.list_workers(tmp_path) == [name]

    end(process)

    assert not worker_registry.is_alive(tmp_path, name)
    assert worker_registry.list_workers(tmp_path) == []
    assert list((tmp_path / "workers").iterdir()) == []


def test_worker_that_leaves_takes_its_name_along(tmp_path: Path) -> None:
    with worker_registry.register_worker(tmp_path) as name:
        assert worker_registry.is_alive(tmp_path, name)

    assert not worker_registry.is_alive(tmp_path, name)
    assert list((tmp_path / "workers").iterdir()) == []


def test_one_worker_has_the_place_until_it_dies(tmp_path: Path) -> None:
    first, _, has_slot = start(tmp_path)
    second, _, has_it_too = start(tmp_path)
    assert (has_slot, has_it_too) == ("True", "False")

    end(first)

    slot = worker_registry.WorkerSlot(tmp_path)
    assert slot.take()
    assert slot.take()
    slot.leave()
    slot.leave()
    end(second)


def test_nobody_is_started_while_a_worker_has_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(worker_registry.SWITCH, raising=False)
    slot = worker_registry.WorkerSlot(tmp_path)
    assert slot.take()

    assert not worker_registry.ensure_worker(tmp_path, str(tmp_path))

    slot.leave()
    (tmp_path / "worker.started").touch()
    assert not worker_registry.ensure_worker(tmp_path, str(tmp_path))
    assert not (tmp_path / "worker.log").exists()


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_switch_keeps_workers_from_being_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv(worker_registry.SWITCH, word)

    assert not worker_registry.ensure_worker(tmp_path, str(tmp_path))


_WAKE = """
import os, signal, sys
from pathlib import Path
from hookline.stores import worker_registry
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
signal.signal(signal.SIGINT, signal.SIG_IGN)
spare = os.dup(1)
os.set_inheritable(spare, True)
print(worker_registry.ensure_worker(Path(sys.argv[1]), sys.argv[1]), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looked up in /proc")
def test_started_worker_has_nothing_in_common_with_the_emitter(tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = home / ".local" / "share" / "hookline"
    data.mkdir(parents=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HOOKLINE_", "XDG_"))}

    # communicate waits until nobody has the pipe open any more: a worker that kept it would be waited for
    done = subprocess.run(
        [sys.executable, "-c", _WAKE, str(data)],
        cwd=tmp_path,
        env={**env, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    until(lambda: bool(worker_registry.list_workers(data)))
    pid = int(worker_registry.list_workers(data)[0].split("-")[1], 16)

    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    opened = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if path.name in {"0", "1", "2"}]
    assert int(status["SigBlk"], 16) == 0
    assert not int(status["SigIgn"], 16) & (1 << (signal.SIGINT - 1))
    assert os.getsid(pid) == pid
    assert sorted(opened) == ["/dev/null", str(data / "worker.log"), str(data / "worker.log")]
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    os.kill(pid, signal.SIGTERM)
    until(lambda: not worker_registry.list_workers(data))


def test_log_that_grew_too_large_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_bytes(b"x" * (worker_registry.LARGEST_LOG + 1))
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)

    worker_registry.trim_log(handle)
    os.write(handle, b"next")
    worker_registry.trim_log(handle)

    os.close(handle)
    assert path.read_bytes() == b"next"


def test_what_is_no_file_is_not_trimmed() -> None:
    read, write = os.pipe()
    worker_registry.trim_log(write)
    os.close(read)
    os.close(write)
    worker_registry.trim_log(write)
