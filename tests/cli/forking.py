"""`hookline` in a process of its own, forked from one that has imported it: nine tenths of a short run are imports.

A run gets its own arguments, environment, folder and streams. What a Python settles before it imports anything cannot be
given afterwards: `is_forkable` says which runs have to start from nothing. With `HOOKLINE_TEST_FORKED=0`, all do.
"""

import atexit
import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from hookline.cli.main import COMMANDS, import_command

SWITCH: Final = "HOOKLINE_TEST_FORKED"

_HERE: Final = Path(__file__).parents[2]
_CHUNK: Final = 65_536
# a number of the server has as many bytes as any other: what it says twice may arrive at once
_NUMBER: Final = 8
_ALSO: Final = ("asyncio", "sqlite3", "hookline.bridge.serve", "hookline.project", "hookline.stores.sqlite")
# read by a Python, or by the C library, when a process starts
_EARLY: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "TZ")


def is_forkable(env: Mapping[str, str]) -> bool:
    """Tell whether a run with this environment would have started as the server did."""

    def early(variables: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in variables.items() if name.startswith(_EARLY)}

    return hasattr(os, "fork") and os.environ.get(SWITCH) != "0" and early(env) == early(os.environ)


class Order(msgspec.Struct, frozen=True):
    """What is to be run."""

    arguments: list[str]
    cwd: str
    env: dict[str, str]


class Server:
    """The process that is forked from; it goes with whoever started it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=_HERE,
                # pipes, as every run has: its streams are these, with something else behind them
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End it."""
        self._ours.close()
        with self._process:
            pass

    def run(
        self, arguments: list[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Run `hookline` to its end, and give its exit code and what it printed."""
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, feed), (said, theirs_out), (complained, theirs_err) = pipes
        order = msgspec.json.encode(Order(arguments, str(cwd), dict(env)))
        answer, theirs = socket.socketpair()
        with answer:
            with theirs:
                handles = [theirs_in, theirs_out, theirs_err, theirs.fileno()]
                self._ours.sendall(len(order).to_bytes(4))
                socket.send_fds(self._ours, [order[:1]], handles)
                self._ours.sendall(order[1:])
                for handle in handles[:3]:
                    os.close(handle)
            pid = _number(answer)
            try:
                out, err = _exchanged(feed, stdin, said, complained, until=time.monotonic() + timeout)
                answer.settimeout(timeout)
                return _number(answer), out, err
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise


def _number(answer: socket.socket) -> int:
    got = answer.recv(_NUMBER, socket.MSG_WAITALL)
    if len(got) != _NUMBER:
        message = "the process that runs are forked from has ended: what it printed last says why"
        raise ConnectionError(message)
    return int.from_bytes(got, signed=True)


def _say(answer: socket.socket, number: int) -> None:
    # whoever asked may have given up: that must not end the runs of others
    with suppress(OSError):
        answer.sendall(number.to_bytes(_NUMBER, signed=True))


def _exchanged(feed: int, stdin: bytes, said: int, complained: int, *, until: float) -> tuple[bytes, bytes]:
    """Write what is to be read and read what is written, until nobody writes any more."""
    got = {said: bytearray(), complained: bytearray()}
    rest = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for handle in got:
            selector.register(handle, selectors.EVENT_READ)
        os.set_blocking(feed, False)
        selector.register(feed, selectors.EVENT_WRITE)
        try:
            while selector.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left):
                    if key.fd == feed:
                        rest = _written(feed, rest)
                        is_over = not rest
                    else:
                        chunk = os.read(key.fd, _CHUNK)
                        got[key.fd] += chunk
                        is_over = not chunk
                    if is_over:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        finally:
            for key in list(selector.get_map().values()):
                os.close(key.fd)
    return bytes(got[said]), bytes(got[complained])


def _written(feed: int, rest: memoryview) -> memoryview:
    try:
        return rest[os.write(feed, rest) :] if rest else rest
    except BrokenPipeError:  # it does not want to know
        return memoryview(b"")


def serve(handle: int) -> None:
    """Fork a run for each order, and say how it ended, until nobody gives orders any more."""
    for name in COMMANDS:
        import_command(name)
    for name in _ALSO:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    with socket.socket(fileno=handle) as orders, selectors.DefaultSelector() as selector:
        selector.register(orders, selectors.EVENT_READ)
        selector.register(waking, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == waking:
                    os.read(waking, _CHUNK)
                    _bury(running)
                elif not _begin(orders, running, ours=(waking, woken, selector.fileno())):
                    return


def _begin(orders: socket.socket, running: dict[int, socket.socket], *, ours: tuple[int, ...]) -> bool:
    length = int.from_bytes(orders.recv(4))
    if not length:
        return False
    first, handles, _, _ = socket.recv_fds(orders, 1, 4)
    order = bytearray(first)
    while len(order) < length:
        order += orders.recv(length - len(order))
    answer = socket.socket(fileno=handles[3])
    pid = os.fork()
    if not pid:
        for other in (orders, answer, *running.values()):
            other.close()
        for handle in ours:
            os.close(handle)
        _become(msgspec.json.decode(order, type=Order), handles[:3])
    for handle in handles[:3]:
        os.close(handle)
    _say(answer, pid)
    running[pid] = answer
    return True


def _bury(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as answer:
            _say(answer, os.waitstatus_to_exitcode(status))


def _become(order: Order, streams: list[int]) -> NoReturn:
    """Be the run: as if a Python had been started for it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for target, handle in enumerate(streams):
        os.dup2(handle, target)
        os.close(handle)
    os.chdir(order.cwd)
    os.environ.clear()
    os.environ.update(order.env)
    sys.argv = ["hookline", *order.arguments]
    try:
        runpy.run_module("hookline", run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            _leave(leaving.code)
        raise
    sys.exit()


def _leave(code: int) -> NoReturn:
    """End as every Python does, but without taking apart what goes with the process: that would copy all of it first."""
    threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - what the interpreter calls
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
