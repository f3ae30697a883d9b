"""Check the caller of the daemon: only processes of the same user, with the same view of the machine and no less confined.

Hooks run with the environment and folder of the caller, but as children of the daemon. For a process in a sandbox that would be a
way out of it, and one that sees other files under the same names would get a wrong answer. Such a caller answers by itself.
"""

import os
import socket
import struct
import sys
from functools import cache
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")
# The kernel creates an entry in /proc for each namespace that is read, which costs more than anything else here. So the pid
# namespace is shown by `NSpid`, and a process with its own ipc namespace is taken to have one of these as well.
_NAMESPACES: Final = ("mnt", "net", "user")
# privileges and restrictions: hooks inherit those of the daemon
_STATUS_LINES: Final = (b"Gid:", b"Groups:", b"CapEff:", b"CapBnd:", b"NoNewPrivs:", b"Seccomp:")


def find_reason(connection: socket.socket) -> str:
    """Return why a caller is not answered; empty when it is."""
    process, user = read_credentials(connection)
    if user != os.geteuid():
        return "another user"
    if sys.platform != "linux":
        return ""
    try:
        is_same = _read_confinement(str(process)) == _own_confinement() and (
            not _own_label() or _read_label(str(process)) == _own_label()
        )
    except OSError:
        return "the namespaces of the calling process cannot be read"
    return "" if is_same else "another sandbox or container"


def find_tcp_reason(theirs: tuple[str, int], ours: tuple[str, int]) -> str:
    """Return why a TCP caller from this machine is not answered; empty when it is.

    Linux knows the user of a connection. Elsewhere the token in the user's own settings has to do.
    """
    if sys.platform != "linux":
        return ""
    # the kernel writes an address as the number that its bytes are on this machine
    numbers = ((struct.unpack("=I", socket.inet_aton(host))[0], port) for host, port in (theirs, ours))
    near, far = (f"{number:08X}:{port:04X}".encode() for number, port in numbers)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, "rb") as opened:  # noqa: PTH123 - beside the numbers
                lines = opened.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            # columns of the peer's end: number, near end, far end, state, queues, timer, retransmits, user
            words = line.split()
            if words[1].endswith(near) and words[2].endswith(far):
                return "" if int(words[7]) == os.geteuid() else "another user"
    return "the user of the calling process cannot be read"


def read_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return process and user id of the other end."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, user, _ = _CREDENTIALS.unpack(raw)
        return process, user
    import ctypes  # noqa: PLC0415 - BSD and macOS have a function that Python does not wrap

    user_id, group = ctypes.c_uint32(), ctypes.c_uint32()
    if ctypes.CDLL(None).getpeereid(connection.fileno(), ctypes.byref(user_id), ctypes.byref(group)):
        return 0, -1
    return 0, user_id.value


@cache
def _own_confinement() -> tuple[str | bytes, ...]:
    return _read_confinement("self")


@cache
def _own_label() -> bytes:
    """Return the label under which AppArmor or SELinux confines us; empty where neither does."""
    try:
        return _read_label("self")
    except OSError:
        return b""


def _read_label(process: str) -> bytes:
    with open(f"/proc/{process}/attr/current", "rb") as opened:  # noqa: PTH123 - beside the numbers
        return opened.read()


def _read_confinement(process: str) -> tuple[str | bytes, ...]:
    """Return the namespaces, root and privileges of a process."""
    spaces = [os.readlink(f"/proc/{process}/ns/{space}") for space in _NAMESPACES]  # noqa: PTH115 - read for each call
    root = os.readlink(f"/proc/{process}/root")  # noqa: PTH115
    handle = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(handle, 16384)
    finally:
        os.close(handle)
    # one pid for each nested pid namespace, from ours on
    depth = str(len(_find_line(text, b"NSpid:").split()))
    return (*spaces, root, depth, *(_find_line(text, name) for name in _STATUS_LINES))


def _find_line(text: bytes, name: bytes) -> bytes:
    start = text.find(b"\n" + name)
    return text[start + 1 + len(name) : text.find(b"\n", start + 1)].strip() if start >= 0 else b""
