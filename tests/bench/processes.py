"""Start programs with as little between us and them as there can be, and look at what they cost."""

import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

Environment = Mapping[bytes, bytes]


class Ended(NamedTuple):
    """What a program said, and its exit code; below zero, the signal that ended it."""

    code: int
    stdout: bytes


class Started(NamedTuple):
    """A program that runs, and where its output is read."""

    pid: int
    stdout: int


def encoded(environment: Mapping[str, str]) -> Environment:
    """Encode an environment once, as the floor would not do it at each start either."""
    return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}


def start(argv: list[str], body: bytes, env: Environment) -> Started:
    """Start a program with real pipes; its input, which has to be short, is there already."""
    stdin, feed = os.pipe()
    read, stdout = os.pipe()
    os.write(feed, body)
    os.close(feed)
    actions = ((os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1))
    try:
        pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    except OSError:
        os.close(read)
        raise
    finally:
        os.close(stdin)
        os.close(stdout)
    return Started(pid, read)


def finish(started: Started) -> Ended:
    """Read what a program says, and wait for its end."""
    chunks = []
    while chunk := os.read(started.stdout, 65536):
        chunks.append(chunk)
    os.close(started.stdout)
    _, status = os.waitpid(started.pid, 0)
    return Ended(os.waitstatus_to_exitcode(status), b"".join(chunks))


def round_trip(argv: list[str], body: bytes, env: Environment) -> Ended:
    """Do the least that a round trip with a program takes."""
    return finish(start(argv, body, env))


def listener(path: Path) -> int:
    """Name the process that listens at a socket; 0 where nobody does, or where the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        try:
            connection.connect(os.fspath(path))
        except OSError:
            return 0
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", raw)[0])


def memory(pid: int) -> int:
    """Give how much memory a process holds, in bytes; 0 where the system does not tell."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def processor_time(pid: int) -> float:
    """Give the processor time of a process in seconds, with those it started and waited for."""
    return _ticks(pid, (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")


def own_processor_time(pid: int) -> float:
    """Give the processor time of a process alone in seconds."""
    return _ticks(pid, (11, 12)) / os.sysconf("SC_CLK_TCK")


def family_processor_time(pid: int) -> float:
    """Give the processor time of a process and of all below it in seconds."""
    return sum(processor_time(member) for member in family(pid))


def family(pid: int) -> list[int]:
    """List a process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for member in found:
        found += parents.get(member, ())
    return found


def having(variable: str) -> list[int]:
    """List the processes that were started with a variable, `NAME=value`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(variable) in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def _ticks(pid: int, numbers: Sequence[int]) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(fields[number]) for number in numbers)


def wait_until_gone(pid: int, seconds: float = 20) -> bool:
    """Wait until a process that is not our child has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
