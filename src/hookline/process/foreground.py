"""Run a contained program for a user, with the terminal and the streams of this process."""

import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from hookline.model.sandbox import LIMITS, format_limit
from hookline.process import native
from hookline.process.containment import Cell
from hookline.process.environment import EnvironmentAllowList
from hookline.process.limits import PERIOD, find_exceeded

_STREAMS: Final = (0, 1, 2)


def run_in_foreground(program: str, argv: Sequence[str], cell: Cell) -> tuple[int, str]:
    """Run a program to its end in the present folder; return its exit code, and why it was ended, or "".

    Raises:
        ContainmentError: It could not be contained.
        OSError: It could not be started.
    """
    env = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    EnvironmentAllowList(cell.key.sandbox.env).apply(env)
    env |= {os.fsencode(name): os.fsencode(value) for name, value in cell.variables.items()}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    struct = cell.struct_for_terminal()
    if struct is None:
        import subprocess  # noqa: PLC0415 - most machines do without a wrapper

        code = subprocess.run((*cell.wrapper, program, *argv[1:]), env=env, check=False).returncode
        return code if code >= 0 else 128 - code, ""
    pid = native.spawn(program, argv, env=env, cwd=os.getcwd(), streams=_STREAMS, sandbox=struct)  # noqa: PTH109
    try:
        with _give_terminal(pid):
            limit = _watch(pid, cell)
    finally:
        # nothing that a contained program started stays
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code, limit


def _watch(pid: int, cell: Cell) -> str:
    """Wait for the end of a child; end it when it uses more than it may, and return why."""
    sandbox, pidfd = cell.key.sandbox, os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        while not poll.poll(PERIOD * 1000):
            if name := find_exceeded(pid, sandbox):
                return f"its limit of {format_limit(name, getattr(sandbox, name))} for {LIMITS[name]} (sandbox.{name})"
    finally:
        os.close(pidfd)
    return ""


@contextmanager
def _give_terminal(pid: int) -> Iterator[None]:
    """Let a child, which leads a process group of its own, read the terminal of this process."""
    if not os.isatty(0) or os.tcgetpgrp(0) != os.getpgrp():
        yield
        return
    # taking the terminal back would stop a process that is in the background
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with suppress(OSError):
            os.tcsetpgrp(0, pid)
            # it may have tried to read already
            os.killpg(pid, signal.SIGCONT)
        yield
    finally:
        with suppress(OSError):
            os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
