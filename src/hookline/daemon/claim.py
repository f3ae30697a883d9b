"""Claim the user's daemon socket before anything heavy is imported: calls wait in its backlog meanwhile."""

import fcntl
import os
import socket
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hookline.bridge.daemon_socket import SocketDir
from hookline.errors import StoreError

_BACKLOG: Final = 512


class Claim(Struct, frozen=True):
    """The lock that one daemon holds as long as it runs, and the socket that it listens at."""

    lock: int
    listening: socket.socket

    def release(self) -> None:
        """Let the next daemon start."""
        self.listening.close()
        os.close(self.lock)


def claim(place: SocketDir) -> Claim | None:
    """Listen as the daemon of this user; None where one runs.

    Raises:
        StoreError: The folder or the lock cannot be used.
        OSError: The socket cannot be created.
    """
    place.create()
    try:
        lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise StoreError(f"{place.lock}: {problem.strerror}: the daemon cannot be there") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    # `hookline daemon stop` ends this process if it hangs
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    # Bind under another name first: a launcher that finds the socket finds a process that listens. The name is no longer
    # than the final one, whose length was checked; we hold the lock, so no other daemon uses it.
    beside = place.socket.with_suffix(".new")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            beside.unlink()
        listening.bind(str(beside))
        beside.chmod(0o600)
        listening.listen(_BACKLOG)
        listening.settimeout(0)
        beside.replace(place.socket)
    except BaseException:
        listening.close()
        raise
    return Claim(lock, listening)
