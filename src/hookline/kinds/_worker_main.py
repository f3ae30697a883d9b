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
from typing import Final

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


def _encode(said: Said) -> bytes:
    try:
        frame = json.dumps(said._asdict(), allow_nan=False).encode()
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
        self._environment = dict(os.environ)
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
        kept = self._environment
        if dict(os.environ) != kept:
            for name in os.environ.keys() - kept.keys():
                del os.environ[name]
            os.environ.update(kept)
        try:
            os.chdir(self._folder)
        except OSError:
            os.chdir(os.sep)


def _unpacked(files: Mapping[str, str] | None) -> Mapping[str, bytes] | None:
    return None if files is None else {path: content.encode("latin-1") for path, content in files.items()}


def _serve(modules: Modules, surroundings: _Surroundings, *, head: bytes, document: bytes) -> bytes:
    request = json.loads(head)
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
                sealed=_unpacked(request["sealed"]),
            )
        )
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    surroundings.leave()
    return _encode(said)


def _read(channel: int) -> bytes:
    """Read one frame; nothing means that there will be no more."""
    head = _read_exactly(channel, HEADER.size)
    return _read_exactly(channel, HEADER.unpack(head)[0]) if head else b""


def _read_exactly(channel: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(channel, min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(channel: int, frame: bytes) -> None:
    rest = memoryview(HEADER.pack(len(frame)) + frame)
    while rest:
        rest = rest[os.write(channel, rest) :]


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
    channel = _take_channel()
    threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    setup = json.loads(_read(channel) or b'{"path": []}')
    sys.path.extend(place for place in setup["path"] if place not in sys.path)
    modules = Modules()
    surroundings = _Surroundings()
    try:
        while (head := _read(channel)) and (document := _read(channel)):
            _write(channel, _serve(modules, surroundings, head=head, document=document))
    except (BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
