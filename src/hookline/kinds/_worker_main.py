"""The program that a worker process runs: answer one question after another.

A worker is started as `python -I _worker_main.py` and imports nothing of the engine but the file beside this one.
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

_LOADER: Final = "hookline.kinds._modules"

if __name__ == "__main__":
    # under its full name, so that the import below finds it without looking for the engine
    _spec = importlib.util.spec_from_file_location(
        _LOADER, os.path.join(os.path.dirname(os.path.abspath(__file__)), "_modules.py")
    )
    if _spec is not None and _spec.loader is not None:
        sys.modules[_LOADER] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules[_LOADER])

from hookline.kinds._modules import Modules, Said, answer, describe  # noqa: E402 - a worker has to load it first

HEADER: Final = struct.Struct("!I")
ANSWER_LIMIT: Final = 1_000_000
_CHUNK: Final = 65_536
# what a worker may still do when the process that started it is gone
ORPHAN_SECONDS: Final = 1.0


def pack(value: Mapping[str, object], sealed: Mapping[str, bytes] | None = None) -> bytes:
    """Write what is sent to a worker besides the document; names of files survive even when no UTF-8."""
    files = None if sealed is None else {path: content.decode("latin-1") for path, content in sealed.items()}
    return json.dumps({**value, "sealed": files}).encode()


def _finish(said: Said) -> Said:
    """Run what an `async def` hook gave back."""
    if said.failure or not hasattr(said.value, "__await__"):
        return said
    import asyncio  # noqa: PLC0415 - costs more than the rest of a worker, and few hooks need it

    async def wait() -> object:
        return await said.value  # type: ignore[misc]

    try:
        return Said(value=asyncio.run(wait()))
    except BaseException as problem:  # noqa: BLE001 - as in answer()
        return Said(failure="raised", message=describe(problem))


# made once: `json.dumps` makes one for each call that wants it so
_ENCODER: Final = json.JSONEncoder(allow_nan=False)


def _encode(said: Said) -> bytes:
    try:
        frame = _ENCODER.encode(said._asdict()).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        text = f"the hook returned a {type(said.value).__name__} that JSON cannot carry: {problem}"
        return json.dumps(Said(failure="invalid_reply", message=text)._asdict()).encode()
    if len(frame) > ANSWER_LIMIT:
        text = f"the hook returned {len(frame)} bytes, at most {ANSWER_LIMIT} are read"
        return json.dumps(Said(failure="too_much_output", message=text)._asdict()).encode()
    return frame


class _Surroundings:
    """The environment and the folder a worker was started with, to go back to after each call."""

    def __init__(self) -> None:
        # a hook may put something else in their places
        self._objects = (os.environ, os.environb)
        self._variables = dict(os.environb)
        try:
            self._folder = os.getcwd()
        except OSError:
            self._folder = os.sep

    def enter(self, folder: str, environment: Mapping[str, str], *, whole: bool) -> None:
        """Take on what one call wants; `whole` says that it is to find no other variables.

        Raises:
            OSError: The folder cannot be entered.
            ValueError: A name or value holds what no environment can.
        """
        if folder:
            os.chdir(folder)
        for name in os.environ.keys() - environment.keys() if whole else ():
            del os.environ[name]
        os.environ.update(environment)

    def leave(self) -> None:
        """Undo whatever the hook changed."""
        os.environ, os.environb = self._objects
        kept = self._variables
        # The dict inside is what changes are made to, and to read it through `os.environ` costs more than most hooks.
        live = getattr(os.environb, "_data", None)
        if live != kept:
            for name in os.environb.keys() - kept.keys():
                del os.environb[name]
            for name, value in kept.items():
                if os.environb.get(name) != value:
                    os.environb[name] = value
        try:
            os.chdir(self._folder)
        except OSError:
            os.chdir(os.sep)


def _unpacked(files: Mapping[str, str] | None) -> Mapping[str, bytes] | None:
    return None if files is None else {path: content.encode("latin-1") for path, content in files.items()}


class _Heads:
    """What a worker is told besides the document, read once as long as it stays the same."""

    def __init__(self) -> None:
        self._last = b""
        self._read: dict[str, Any] = {}

    def read(self, head: bytes) -> dict[str, Any]:
        """Give what it says, with the files as bytes."""
        if head != self._last:
            request = json.loads(head)
            self._last, self._read = head, {**request, "sealed": _unpacked(request["sealed"])}
        return self._read


def _serve(modules: Modules, surroundings: _Surroundings, *, request: dict[str, Any], document: bytes) -> bytes:
    try:
        surroundings.enter(request["cwd"], request["env"], whole=request["whole"])
    except (OSError, ValueError) as problem:
        said = Said(failure="not_found", message=f"cannot work in {request['cwd']}: {describe(problem)}")
    else:
        said = _finish(
            answer(
                modules,
                request["module"],
                function=request["function"],
                folders=request["folders"],
                document=json.loads(document),
                sealed=request["sealed"],
            )
        )
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    return _encode(said)


class _Channel:
    """Read and write frames; what comes together is read together."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()

    def read(self) -> bytes:
        """Read one frame; nothing means that there will be no more."""
        if not self._has(HEADER.size):
            return b""
        end = HEADER.size + HEADER.unpack_from(self._received)[0]
        if not self._has(end):
            return b""
        frame = bytes(self._received[HEADER.size : end])
        del self._received[:end]
        return frame

    def _has(self, size: int) -> bool:
        while len(self._received) < size:
            part = os.read(self._descriptor, _CHUNK)
            if not part:
                return False
            self._received += part
        return True

    def write(self, frame: bytes) -> None:
        """Write one frame."""
        rest = memoryview(HEADER.pack(len(frame)) + frame)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


def _end_with(channel: int) -> None:
    """End the whole group when the process that started us is gone, even while a hook hangs."""
    import select  # noqa: PLC0415 - has no poll on Windows, where no worker runs

    poller = select.poll()
    poller.register(channel, 0)
    poller.poll()
    time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _take_channel() -> int:
    """Move the channel away from the standard descriptors, so that a hook cannot read or close it by habit."""
    channel = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # a hook that forks must not answer twice: in the child the channel leads nowhere, and reads as ended
    os.register_at_fork(after_in_child=lambda: os.dup2(nothing, channel))
    return channel


def main() -> None:
    """Answer one request after another until there are no more; each is two frames, what to call and with what."""
    descriptor = _take_channel()
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    channel = _Channel(descriptor)
    setup = json.loads(channel.read() or b'{"path": []}')
    sys.path.extend(place for place in setup["path"] if place not in sys.path)
    modules, heads, surroundings = Modules(), _Heads(), _Surroundings()
    try:
        while (head := channel.read()) and (document := channel.read()):
            channel.write(_serve(modules, surroundings, request=heads.read(head), document=document))
            # nobody waits for this
            surroundings.leave()
    except (BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
