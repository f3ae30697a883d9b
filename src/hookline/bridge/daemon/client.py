"""Ask a daemon something from Python: how it is, and that it may go."""

import os
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hookline.bridge.daemon import peers, protocol
from hookline.bridge.daemon.place import Place
from hookline.bridge.daemon.protocol import Request
from hookline.model.exchange import Answer

_PATIENCE: Final = 10.0  # seconds between two words of it


class NoDaemonError(Exception):
    """Nobody answers; says why."""


def ask(
    place: Place, words: tuple[str, ...], *, environ: Mapping[str, str] | None = None, stdin: bytes = b""
) -> Answer:
    """Send one request and wait for its answer.

    Raises:
        NoDaemonError: There is no daemon, it is not ours, or it would rather not.
    """
    if objection := place.objection():
        raise NoDaemonError(objection)
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in (environ or {}).items())
    umask = os.umask(0o077)
    os.umask(umask)
    said = Request(words, _folder(), block, stdin, umask)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(str(place.socket))
            if reason := _stranger(connection):
                raise NoDaemonError(f"{place.socket} is somebody else's ({reason}), so it is not used")
            connection.sendall(protocol.request(said))
            return _answer(connection)
        except OSError as problem:
            raise NoDaemonError(f"no daemon answers at {place.socket}: {problem}") from None
        except struct.error:
            raise NoDaemonError(f"who answers at {place.socket} is no daemon of this version") from None


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a text is wanted
    except OSError:
        # ours is gone, and a daemon can be asked how it is from anywhere
        return "/"


def _answer(connection: socket.socket) -> Answer:
    raw = b""
    while True:
        for kind, payload in protocol.frames(raw):
            if kind == b"a":
                return protocol.answer_in(payload)
            if kind == b"n":
                raise NoDaemonError(payload.decode("utf-8", "replace"))
        part = connection.recv(65536)
        if not part:
            raise NoDaemonError("it hung up")
        raw += part


def _stranger(connection: socket.socket) -> str:
    """Say why who listens is not our daemon: another user's program may have taken its place."""
    with suppress(OSError):
        return "" if peers.user_of(connection) == os.geteuid() else "another user"
    return "nobody knows whose"
