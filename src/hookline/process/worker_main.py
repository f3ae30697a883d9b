"""The program of a worker process: call one hook function after another.

A worker is started as `python -I worker_main.py` and imports nothing of the engine but `module_loader.py` beside this file.
"""
# pathlib alone would add a third to a worker's start
# ruff: noqa: PTH100, PTH109, PTH118, PTH120

import importlib.util
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

_LOADER: Final = "hookline.process.module_loader"

if __name__ == "__main__":
    # under its full name, so that the import below finds it without importing the engine
    _spec = importlib.util.spec_from_file_location(
        _LOADER, os.path.join(os.path.dirname(os.path.abspath(__file__)), "module_loader.py")
    )
    if _spec is not None and _spec.loader is not None:
        sys.modules[_LOADER] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules[_LOADER])

from hookline.process.module_loader import (  # noqa: E402 - a worker has to load it first
    CallResult,
    ModuleLoader,
    call_function,
    describe_exception,
)

HEADER: Final = struct.Struct("!I")
ANSWER_LIMIT: Final = 1_000_000
_CHUNK: Final = 65_536
# how long a hook may run on after the engine is gone
ORPHAN_SECONDS: Final = 1.0


def pack_header(value: Mapping[str, object], sealed: Mapping[str, bytes] | None = None) -> bytes:
    """Encode what a worker is sent besides the document, with the approved files."""
    files = None if sealed is None else {path: content.decode("latin-1") for path, content in sealed.items()}
    # the escapes of JSON keep file names that are not UTF-8
    return json.dumps({**value, "sealed": files}).encode()


def _unpack_header(header: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(header)
    files = value["sealed"]
    if files is not None:
        value["sealed"] = {path: content.encode("latin-1") for path, content in files.items()}
    return value


class _ProcessState:
    """The environment and the directory a worker was started with, restored after each call.

    `own` are variables of the worker itself, such as its temporary folder, which every call has.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = own
        # a hook may replace these objects
        self._objects = (os.environ, os.environb)
        self._variables = dict(os.environb)
        try:
            self._folder = os.getcwd()
        except OSError:
            self._folder = os.sep

    def apply(self, folder: str, variables: Mapping[str, str], *, whole: bool) -> None:
        """Set up what one call needs; with `whole`, its variables are all there are.

        Raises:
            OSError: The directory cannot be entered.
            ValueError: A name or value is not possible in an environment.
        """
        if folder:
            os.chdir(folder)
        variables = {**variables, **self._own}
        for name in os.environ.keys() - variables.keys() if whole else ():
            del os.environ[name]
        os.environ.update(variables)

    def restore(self) -> None:
        """Undo everything the call changed."""
        os.environ, os.environb = self._objects
        for name in os.environb.keys() - self._variables.keys():
            del os.environb[name]
        for name, value in self._variables.items():
            if os.environb.get(name) != value:
                os.environb[name] = value
        try:
            os.chdir(self._folder)
        except OSError:
            os.chdir(os.sep)


class _FrameChannel:
    """Reads and writes length-prefixed frames."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()

    def read(self) -> bytes:
        """Read one frame; empty at the end."""
        if not self._receive(HEADER.size):
            return b""
        end = HEADER.size + HEADER.unpack_from(self._received)[0]
        if not self._receive(end):
            return b""
        frame = bytes(self._received[HEADER.size : end])
        del self._received[:end]
        return frame

    def write(self, frame: bytes) -> None:
        """Write one frame."""
        rest = memoryview(HEADER.pack(len(frame)) + frame)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _receive(self, size: int) -> bool:
        while len(self._received) < size:
            data = os.read(self._descriptor, _CHUNK)
            if not data:
                return False
            self._received += data
        return True


def _handle_call(loader: ModuleLoader, state: _ProcessState, *, header: dict[str, Any], document: bytes) -> bytes:
    try:
        state.apply(header["cwd"], header["env"], whole=header["whole"])
    except (OSError, ValueError) as problem:
        text = f"cannot work in {header['cwd']}: {describe_exception(problem)}"
        result = CallResult(failure="not_found", message=text)
    else:
        result = call_function(
            loader,
            header["module"],
            function=header["function"],
            folders=header["folders"],
            document=json.loads(document),
            sealed=header["sealed"],
        )
        if not result.failure and hasattr(result.value, "__await__"):
            result = _run_coroutine(result.value)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    return _encode_result(result)


def _run_coroutine(awaitable: Any) -> CallResult:
    import asyncio  # noqa: PLC0415 - costs more than the rest of a worker, and few hooks need it

    async def wait() -> object:
        return await awaitable

    try:
        return CallResult(value=asyncio.run(wait()))
    except BaseException as problem:  # noqa: BLE001 - as in call_function()
        return CallResult(failure="raised", message=describe_exception(problem))


def _encode_result(result: CallResult) -> bytes:
    try:
        frame = json.dumps(result._asdict(), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        text = f"the hook returned a {type(result.value).__name__} that JSON cannot carry: {problem}"
        return json.dumps(CallResult(failure="invalid_reply", message=text)._asdict()).encode()
    if len(frame) > ANSWER_LIMIT:
        text = f"the hook returned {len(frame)} bytes, at most {ANSWER_LIMIT} are read"
        return json.dumps(CallResult(failure="too_much_output", message=text)._asdict()).encode()
    return frame


def _kill_when_orphaned(descriptor: int) -> None:
    """Kill the whole group when the engine is gone, even while a hook hangs."""
    import select  # noqa: PLC0415 - has no poll on Windows, where no worker runs

    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Handle one call after another until there are no more; each is two frames, a header and a document."""
    # the channel is moved away from stdin, so that a hook cannot read or close it by accident
    descriptor = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    # a hook that forks must not answer twice: in the child the channel reads as ended
    os.register_at_fork(after_in_child=lambda: os.dup2(null, descriptor))
    threading.Thread(target=_kill_when_orphaned, args=(descriptor,), daemon=True).start()
    channel = _FrameChannel(descriptor)
    setup = json.loads(channel.read() or b'{"path": [], "env": {}}')
    sys.path.extend(folder for folder in setup["path"] if folder not in sys.path)
    loader, state = ModuleLoader(), _ProcessState(setup["env"])
    last, header = b"", {}
    try:
        while (frame := channel.read()) and (document := channel.read()):
            if frame != last:  # most often the same as for the last event, and large with approved files
                last, header = frame, _unpack_header(frame)
            channel.write(_handle_call(loader, state, header=header, document=document))
            state.restore()
    except (BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
