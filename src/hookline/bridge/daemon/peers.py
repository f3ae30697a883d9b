"""Who may ask: programs of the same person that could do everything themselves that they have us do.

Our hooks run with what the caller brings along: its environment, its folder. For a program in a sandbox that would be a
way out of it, and for one that sees other files under the same names the wrong answer. Such a caller does it itself.
"""

import os
import socket
import struct
import sys
from functools import cache
from typing import Final, Protocol

_CREDENTIALS: Final = struct.Struct("3i")
# What a process sees of the machine. The system has to make an entry for each that is asked for, which takes longer than
# anything else here: so the space of numbers of processes is told by `NSpid`, and who has a space of its own for messages
# has one of these as well.
_SPACES: Final = ("mnt", "net", "user")
# what a process may do, and can never do: hooks get from us what we have, and nothing else
_BARRIERS: Final = (b"Gid:", b"Groups:", b"CapEff:", b"CapBnd:", b"NoNewPrivs:", b"Seccomp:")


class Connection(Protocol):
    """What a socket can be asked."""

    def fileno(self) -> int:
        """Its number."""

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes:
        """What the system knows about it."""


def objection(connection: Connection) -> str:
    """Say why a caller is not answered; empty when it is."""
    process, user = _credentials(connection)
    if user != os.geteuid():
        return "another user"
    if sys.platform != "linux":
        return ""
    try:
        is_same = _confinement(str(process)) == _ours() and (not _label() or _label_of(str(process)) == _label())
    except OSError:
        return "nobody can say where this caller lives"
    return "" if is_same else "another sandbox or container"


def tcp_objection(theirs: tuple[str, int], ours: tuple[str, int]) -> str:
    """Say why a caller from this machine, which has an address and no name, is not answered; empty when it is.

    Linux knows whose connection it is. Elsewhere the token has to do, which stands in settings of this person.
    """
    if sys.platform != "linux":
        return ""
    near, far = _hexadecimal(theirs), _hexadecimal(ours)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, "rb") as opened:  # noqa: PTH123 - beside the numbers
                lines = opened.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            # its end of the connection: number, near end, far end, state, queues, timer, repetitions, user
            words = line.split()
            if words[1].endswith(near) and words[2].endswith(far):
                return "" if int(words[7]) == os.geteuid() else "another user"
    return "nobody can say whose this caller is"


def _hexadecimal(address: tuple[str, int]) -> bytes:
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}".encode()


def user_of(connection: Connection) -> int:
    """Say whose program is at the other end."""
    return _credentials(connection)[1]


def _credentials(connection: Connection) -> tuple[int, int]:
    """Give the process and the user at the other end, as the system knows them."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, user, _ = _CREDENTIALS.unpack(raw)
        return process, user
    import ctypes  # noqa: PLC0415 - BSD and macOS have a function for it, which Python does not know

    found, group = ctypes.c_uint32(), ctypes.c_uint32()
    if ctypes.CDLL(None).getpeereid(connection.fileno(), ctypes.byref(found), ctypes.byref(group)):
        return 0, -1
    return 0, found.value


@cache
def _ours() -> tuple[str | bytes, ...]:
    return _confinement("self")


@cache
def _label() -> bytes:
    """Give the name under which AppArmor or SELinux confines us; empty where neither does."""
    try:
        return _label_of("self")
    except OSError:
        return b""


def _label_of(process: str) -> bytes:
    with open(f"/proc/{process}/attr/current", "rb") as opened:  # noqa: PTH123 - beside the numbers
        return opened.read()


def _confinement(process: str) -> tuple[str | bytes, ...]:
    """Say what a process sees of the machine, and what it can never do."""
    spaces = [os.readlink(f"/proc/{process}/ns/{space}") for space in _SPACES]  # noqa: PTH115 - asked for each call
    root = os.readlink(f"/proc/{process}/root")  # noqa: PTH115
    handle = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(handle, 16384)
    finally:
        os.close(handle)
    barriers = [_line(text, name) for name in _BARRIERS]
    # a number for each space that it is in, from ours on
    depth = str(len(_line(text, b"NSpid:").split()))
    return (*spaces, root, depth, *barriers)


def _line(text: bytes, name: bytes) -> bytes:
    start = text.find(b"\n" + name)
    return text[start + 1 + len(name) : text.find(b"\n", start + 1)].strip() if start >= 0 else b""
