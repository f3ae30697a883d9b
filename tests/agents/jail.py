"""Runs one program where there is no network but loopback, beside a scripted model, and reports what happened.

    python -m tests.agents.jail < order.json > report.json

The process enters a network namespace of its own (as root, or through a user namespace), so that no agent can reach
a host whatever its settings say. Where none can be had, it refuses, unless HOOKLINE_AGENTS_OPEN=1 says that this
machine may be trusted with it. `{port}` in the order's words stands for the model's port. Whatever the program leaves
running is ended.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from tests.agents.model import Conversation, speaking
from tests.agents.speech import Call, Turn

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000
SIOCSIFFLAGS: Final = 0x8914
UP_AND_RUNNING: Final = 0x41
PR_SET_CHILD_SUBREAPER: Final = 36
MS_REC_PRIVATE: Final = 0x4000 | 0x40000
NO_SUCH_HOST: Final = ("192.0.2.1", 9)  # an address that belongs to nobody, by agreement


def shut() -> None:
    """Leave every network but loopback, and adopt what our children abandon."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET):
        if libc.unshare(CLONE_NEWNET | CLONE_NEWUSER):
            if os.environ.get("HOOKLINE_AGENTS_OPEN") == "1":
                return
            raise SystemExit("no network namespace can be had here; HOOKLINE_AGENTS_OPEN=1 runs agents without one")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(text, "ascii")
    with socket.socket() as anything:
        fcntl.ioctl(anything, SIOCSIFFLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))
    with suppress(OSError):
        socket.create_connection(NO_SUCH_HOST, 0.5).close()
        raise SystemExit("the network namespace leaks")


def fill(folder: str) -> None:
    """Put a full disk in place of a folder, for us and our children alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        libc.unshare(CLONE_NEWNS)
        or libc.mount(None, b"/", None, MS_REC_PRIVATE, None)
        or libc.mount(b"full", os.fsencode(folder), b"tmpfs", 0, b"size=4k,mode=700")
    ):
        raise SystemExit(f"no full disk can be made here: {os.strerror(ctypes.get_errno())}")
    with suppress(OSError), Path(folder, "full").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def children() -> Iterator[int]:
    """Name the processes whose parent we are."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                if path.joinpath("stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1] == str(
                    os.getpid()
                ):
                    yield int(path.name)


def end_all() -> None:
    """End what is left, generation after generation."""
    while left := list(children()):
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(number, 0)


def run(order: Mapping[str, Any]) -> dict[str, Any]:
    """Run a program to its end, and say what it wrote and what its model heard."""
    turns = [Turn(turn["text"], [Call(**call) for call in turn["calls"]]) for turn in order["turns"]]
    conversation = Conversation(turns)
    begun = time.monotonic()
    # files, not pipes: a process left behind would keep a pipe open
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - they end with this process
    with speaking(conversation) as port:
        program = subprocess.Popen(
            [word.replace("{port}", str(port)) for word in order["command"]],
            cwd=order["cwd"],
            env={key: value.replace("{port}", str(port)) for key, value in order["env"].items()},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            code = program.wait(order["seconds"])
        except subprocess.TimeoutExpired:
            code = None
        else:
            settle(order["settle"])
        end_all()
    return {
        "code": code,
        "seconds": round(time.monotonic() - begun, 1),
        "stdout": _written(out),
        "stderr": _written(err),
        "bodies": conversation.bodies,
        "results": conversation.results,
    }


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def settle(seconds: float) -> None:
    """Give hooks that outlive the agent (the end of a session has no one to wait for it) time to finish."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(_lives(number) for number in children()):
        time.sleep(0.05)


def _lives(number: int) -> bool:
    with suppress(ChildProcessError):
        return os.waitpid(number, os.WNOHANG) == (0, 0)
    return False


def main() -> int:
    """Carry out the order on stdin."""
    order = json.load(sys.stdin)
    shut()
    if order["full"]:
        fill(order["full"])
    json.dump(run(order), sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
