"""The protocol of launcher and daemon, and Python's side of it: one request, then frames until there is an answer.

Numbers are little endian. `launcher.c` implements the other side.
"""

import os
import signal
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.bridge.daemon_socket import SocketDir
from hookline.daemon import peer_check
from hookline.model.exchange import Answer

GREETING: Final = b"HKL1"
LARGEST: Final = 300 * 1024 * 1024  # bytes of a request

STILL: Final = b"k\0\0\0\0"
"""The frame that tells the launcher that the call is still running."""

_NUMBER: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<4sI")
_FRAME: Final = struct.Struct("<cI")
_CODE: Final = struct.Struct("<i")
_MOST_WORDS: Final = 64
PATIENCE: Final = 10.0  # seconds between two frames
_LAST_WORDS: Final = 2.0  # seconds that a hung daemon has to end by itself
_PAUSE: Final = 0.02


class ProtocolError(ValueError):
    """The bytes are not a request of our launcher."""


class CallRequest(Struct, frozen=True):
    """One call: its argv, folder, environment block, stdin and umask."""

    words: tuple[str, ...]
    folder: str
    block: bytes
    stdin: bytes
    umask: int


def parse_request(received: bytes | bytearray) -> CallRequest | None:
    """Parse what has been received of a request; None where it is not complete yet.

    Raises:
        ProtocolError: The greeting is not ours, or the request is too long or malformed.
    """
    if len(received) < _HEAD.size:
        return None
    greeting, total = _HEAD.unpack_from(received)
    if greeting != GREETING:
        raise ProtocolError("this is not the launcher of this version")
    if total > LARGEST:
        raise ProtocolError(f"more than {LARGEST} bytes are said at once")
    if len(received) < _HEAD.size + total:
        return None
    body = bytes(received[_HEAD.size : _HEAD.size + total])
    try:
        umask, count = struct.unpack_from("<II", body)
        if count > _MOST_WORDS:
            raise ProtocolError(f"a call of {count} words")
        at = 8
        parts: list[bytes] = []
        for _ in range(count + 3):
            (size,) = _NUMBER.unpack_from(body, at)
            at += 4
            part = body[at : at + size]
            if len(part) != size:
                raise ProtocolError("a part of the request is missing")
            parts.append(part)
            at += size
    except struct.error:
        raise ProtocolError("the request ends too early") from None
    *words, folder, block, stdin = parts
    return CallRequest(tuple(map(os.fsdecode, words)), os.fsdecode(folder), block, stdin, umask)


def encode_request(request: CallRequest) -> bytes:
    """Return a request as the launcher sends it."""
    parts = [*map(os.fsencode, request.words), os.fsencode(request.folder), request.block, request.stdin]
    body = struct.pack("<II", request.umask, len(request.words)) + b"".join(
        _NUMBER.pack(len(part)) + part for part in parts
    )
    return _HEAD.pack(GREETING, len(body)) + body


def parse_environ(block: bytes) -> dict[str, str]:
    """Parse an environment block: `NAME=value` entries, each ended by a zero byte."""
    environ: dict[str, str] = {}
    for line in block.split(b"\0"):
        name, equals, value = line.partition(b"=")
        # of two with the same name, getenv returns the first
        if equals and name:
            environ.setdefault(os.fsdecode(name), os.fsdecode(value))
    return environ


def encode_answer(answer: Answer) -> bytes:
    """Return the frame with an answer."""
    out, err = answer.stdout, answer.stderr
    size = 12 + len(out) + len(err)
    head = _FRAME.pack(b"a", size) + _CODE.pack(answer.exit_code) + _NUMBER.pack(len(out))
    return b"".join((head, out, _NUMBER.pack(len(err)), err))


def encode_decline(reason: str) -> bytes:
    """Return the frame that has the launcher answer without the daemon."""
    text = reason.encode("utf-8", "replace")
    return _FRAME.pack(b"n", len(text)) + text


def parse_frames(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Parse frames as the launcher does; an incomplete one is left out."""
    frames: list[tuple[bytes, bytes]] = []
    at = 0
    while at + _FRAME.size <= len(raw):
        kind, size = _FRAME.unpack_from(raw, at)
        end = at + _FRAME.size + size
        if end > len(raw):
            break
        frames.append((kind, raw[at + _FRAME.size : end]))
        at = end
    return frames


def parse_answer(payload: bytes) -> Answer:
    """Parse the payload of an answer frame."""
    (code,) = _CODE.unpack_from(payload)
    (size,) = _NUMBER.unpack_from(payload, 4)
    (rest,) = _NUMBER.unpack_from(payload, 8 + size)
    out = payload[8 : 8 + size]
    return Answer(stdout=out, stderr=payload[12 + size : 12 + size + rest], exit_code=code)


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
                stranger = "" if peer_check.read_credentials(connection)[1] == os.geteuid() else "another user"
            except OSError:
                stranger = "of an unknown user"
            if stranger:
                raise NoDaemonError(f"{place.socket} is another user's ({stranger}), so it is not used")
            connection.sendall(encode_request(request))
            raw = b""
            while part := connection.recv(65536):
                raw += part
                for kind, payload in parse_frames(raw):
                    if kind == b"a":
                        return parse_answer(payload)
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
