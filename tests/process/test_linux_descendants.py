"""What a hook started ends with it at its timeout, also in a session of its own."""

import asyncio
from pathlib import Path

import pytest

from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook
from tests.waiting import until

REQUEST = Request(event=Event(name=EventName.NOTIFICATION), document={})


def call(line: str, *, timeout: float) -> Reply:
    hook = Hook(id="h", command=line, shell=True)
    return asyncio.run(Command().call(hook, REQUEST, timeout=timeout))


def is_alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize(
    "line",
    [
        "setsid sh -c 'echo $$ > {pid}; exec sleep 600' & sleep 600",
        "setsid sh -c 'echo $$ > {pid}; exec sleep 600'",
        "sh -c \"setsid sh -c 'trap : TERM; echo \\$\\$ > {pid}; while :; do sleep 1; done' & wait\"",
    ],
)
def test_child_in_a_session_of_its_own_does_not_survive_the_timeout(tmp_path: Path, line: str) -> None:
    file = tmp_path / "pid"

    reply = call(line.format(pid=file), timeout=2)

    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.TIMEOUT
    pid = int(file.read_text())
    until(lambda: not is_alive(pid), "the process is gone")


def test_input_of_a_hook_from_the_queue_is_in_its_pipe_before_it_starts(tmp_path: Path) -> None:
    hook = Hook(id="h", command=f"cat > {tmp_path}/event", shell=True, background=True)
    for size in (10, 50_000, 900_000, 3_000_000):
        request = Request(event=Event(name=EventName.NOTIFICATION), document={"text": "x" * size})
        reply = asyncio.run(Command().call(hook, request, timeout=60))
        assert (reply.exit_code, reply.failure) == (0, None)
        assert (tmp_path / "event").stat().st_size == size + len('{"text":""}\n')
