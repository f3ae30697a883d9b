"""Ask a daemon something from Python: how it is, and that it may go."""

import os
import signal
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from hookline.bridge.daemon_socket import SocketDir
from hookline.daemon import peer_check, protocol
from hookline.daemon.protocol import CallRequest
from hookline.model.exchange import Answer

PATIENCE: Final = 10.0  # seconds between two frames
_LAST_WORDS: Final = 2.0  # seconds that a hung daemon has to end by itself
_PAUSE: Final = 0.02


class NoDaemonError(Exception):
    """No daemon answers; the message says why."""


def ask(
    place: SocketDir,
    words: tuple[str, ...],
    *,
    environ: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    patience: float = PATIENCE,
) -> Answer:
    """Send one request and wait for its answer.

    Raises:
        NoDaemonError: There is no daemon, it is not ours, or it declines.
    """
    if reason := place.find_reason():
        raise NoDaemonError(reason)
    try:
        folder = os.getcwd()  # noqa: PTH109 - a text is wanted
    except OSError:
        # removed; a request for the status works from any folder
        folder = "/"
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in (environ or {}).items())
    umask = os.umask(0o077)
    os.umask(umask)
    request = CallRequest(words, folder, block, stdin, umask)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience)
        try:
            connection.connect(str(place.socket))
            try:
                stranger = "" if peer_check.peer_user(connection) == os.geteuid() else "another user"
            except OSError:
                stranger = "of an unknown user"
            if stranger:
                raise NoDaemonError(f"{place.socket} is another user's ({stranger}), so it is not used")
            connection.sendall(protocol.encode_request(request))
            raw = b""
            while part := connection.recv(65536):
                raw += part
                for kind, payload in protocol.parse_frames(raw):
                    if kind == b"a":
                        return protocol.parse_answer(payload)
                    if kind == b"n":
                        raise NoDaemonError(payload.decode("utf-8", "replace"))
            raise NoDaemonError("it hung up")
        except OSError as problem:
            raise NoDaemonError(f"no daemon answers at {place.socket}: {problem}") from None
        except struct.error:
            raise NoDaemonError(f"who answers at {place.socket} is no daemon of this version") from None


def find_hung(place: SocketDir, *, patience: float) -> int:
    """Return the process of a daemon that runs and does not answer within these seconds; 0 where there is none."""
    try:
        ask(place, ("daemon", "status"), patience=patience)
    except NoDaemonError:
        pass
    else:
        return 0
    import fcntl  # noqa: PLC0415 - not on Windows, where there is no daemon

    try:
        with place.lock.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = int(lock.read())
            else:
                return 0
    except (OSError, ValueError):
        return 0
    # another program may have the pid by now
    return pid if "hookline daemon run" in _read_command(pid) else 0


def _read_command(pid: int) -> str:
    """Return the command line of a process of this user; empty where it is another user's, or gone."""
    process = Path("/proc", str(pid))
    try:
        if process.stat().st_uid == os.geteuid():
            return os.fsdecode((process / "cmdline").read_bytes().replace(b"\0", b" "))
    except OSError:
        if not Path("/proc/self").exists():
            import subprocess  # noqa: PLC0415 - on systems without /proc

            line = ["/bin/ps", "-ww", "-o", "uid=,command=", "-p", str(pid)]
            output = subprocess.run(line, capture_output=True, text=True, check=False).stdout.strip()
            return output if output.split()[:1] == [str(os.geteuid())] else ""
    return ""


def end_hung(pid: int) -> None:
    """End a daemon that does not answer; one that was suspended ends by itself.

    Raises:
        OSError: It cannot be ended.
    """
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    until = time.monotonic() + _LAST_WORDS
    with suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(pid, 0)
            time.sleep(_PAUSE)
        os.kill(pid, signal.SIGKILL)
