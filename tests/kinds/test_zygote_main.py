"""The process that children are forked from, spoken to as the engine does."""

import contextlib
import marshal
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from hookline.kinds import _zygote
from tests.kinds.test_zygote import is_running, wait_until_gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there")


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


@pytest.mark.parametrize("is_read", [True, False], ids=["heard", "not heard"])
def test_children_end_with_an_engine_that_is_gone_whatever_it_has_heard_of_them(
    tmp_path: Path, *, is_read: bool
) -> None:
    pid, ours = _zygote._start(  # noqa: SLF001 - there is no other way to be an engine that does not listen
        (sys.executable,), program=sys.executable, env=dict(os.environb), cwd=str(tmp_path)
    )
    kept, given = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with kept, Path(os.devnull).open("r+b") as null:
        with given:
            ours.setblocking(True)  # noqa: FBT003 - its only argument
            streams = [null.fileno()] * 3
            socket.send_fds(ours, [marshal.dumps(("fork", b""), 2)], [given.fileno(), *streams])
        # the way to the child itself stays open, so that nothing but the process it comes from can end it
        until = time.monotonic() + 30
        while not (children := children_of(pid)):
            assert time.monotonic() < until
            time.sleep(0.01)
        if is_read:
            assert ours.recv(100) == b"forked %d" % children[0]
        else:
            # it says so: what is said and not heard is an error at the other end
            time.sleep(0.1)
        assert is_running(children[0])
        ours.close()

        for process in (*children, pid):
            wait_until_gone(process)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
