"""The launcher, compiled from its source, and a daemon that says whatever a test wants it to say."""

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tests.waiting import PATIENCE
from tools.hatch_build import compiled, compilers

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hookline" / "bridge" / "launcher.c"
WORDS = ("--if-broken", "block", "claude-code", "PreToolUse")
UNANSWERED = (1, b"", b"")


def build(folder: Path) -> Path | None:
    """Compile the launcher as the wheel has it; None where nobody can compile."""
    program = folder / "hookline-hook"
    return program if compiled(SOURCE, program, version="1.2.3") else None


def build_with(folder: Path, *flags: str) -> Path:
    """Compile the launcher for a test that wants to look inside of it, or has less patience."""
    program = folder / "hookline-hook"
    words = [*next(compilers()), "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, "-o", str(program), str(SOURCE)]
    subprocess.run(words, check=True, timeout=PATIENCE)
    return program


def limited(kind: int, most: int, words: Sequence[str]) -> list[str]:
    """Have a program run that may not use more of something than this."""
    # Python does without the signal that says so, and those it starts would, too
    script = (
        "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); "
        "resource.setrlimit(int(sys.argv[1]), (int(sys.argv[2]),) * 2); os.execv(sys.argv[3], sys.argv[3:])"
    )
    return [sys.executable, "-c", script, str(kind), str(most), *words]


class Request(Struct, frozen=True):
    """What the launcher said."""

    umask: int
    words: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    event: bytes


class Talk:
    """One connection, as the daemon sees it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def take(self, count: int) -> bytes:
        """Read exactly so many bytes, or all there are until the other side hangs up."""
        parts = []
        while count:
            try:
                part = self._connection.recv(min(count, 1 << 20))
            except ConnectionResetError:
                break
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def hear(self) -> Request:
        """Read a whole request; nothing may be left over."""
        assert self.take(4) == b"HKL1"
        (length,) = struct.unpack("<I", self.take(4))
        raw = memoryview(self.take(length))
        assert len(raw) == length

        def number() -> int:
            nonlocal raw
            (value,) = struct.unpack("<I", raw[:4])
            raw = raw[4:]
            return int(value)

        def text() -> bytes:
            nonlocal raw
            size = number()
            value, raw = bytes(raw[:size]), raw[size:]
            return value

        mask = number()
        words = tuple(text().decode() for _ in range(number()))
        folder = text().decode()
        pairs = [pair.partition(b"=") for pair in text().split(b"\0")[:-1]]
        event = text()
        assert not raw
        names = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
        return Request(mask, words, folder, names, event)

    def say(self, raw: bytes) -> None:
        """Say it, whether anybody still listens or not."""
        try:
            self._connection.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            return


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """Give a frame of an answer."""
    return kind + struct.pack("<I", len(payload)) + payload


def answer(code: int, out: bytes = b"", err: bytes = b"") -> bytes:
    """Give the frame of an answer."""
    return frame(b"a", struct.pack("<i", code) + struct.pack("<I", len(out)) + out + struct.pack("<I", len(err)) + err)


def socket_name(python: str) -> str:
    """Give the name of the socket of a daemon that runs this Python."""
    digest = 0xCBF29CE484222325
    for byte in os.fsencode(python):
        digest = ((digest ^ byte) * 0x100000001B3) % (1 << 64)
    return f"{digest:016x}.sock"


class Desk:
    """A launcher, the Python behind it, and the folder where its daemon listens."""

    def __init__(self, program: Path, runtime: Path, place: Path) -> None:
        self.program = program
        self.runtime = runtime
        self.place = place
        self.folder = runtime / "hookline"
        self.folder.mkdir(mode=0o700)
        self.python = self.python_that('echo "plain $@"; wc -c; exit 100')

    @property
    def path(self) -> Path:
        """Where the socket is."""
        return self.folder / socket_name(str(self.python))

    def python_that(self, body: str, *, name: str = "python") -> Path:
        """Make what the launcher starts as a Python."""
        path = self.place / name
        # what is started as a daemon fails at once, and is not waited for
        path.write_text(f'#!/bin/sh\ncase "$*" in *"daemon run"*) exit 1;; esac\n{body}\n')
        path.chmod(0o755)
        return path

    def words(self, *words: str) -> list[str]:
        """Give the launcher as it stands in the settings of an agent."""
        return [str(self.program), str(self.python), "hook", *(words or WORDS)]

    def environment(self, **more: str) -> dict[str, str]:
        """Give the environment of a call."""
        return {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(self.runtime), **more}

    def run(self, stdin: bytes = b"{}", *, words: Sequence[str] | None = None, **more: str) -> tuple[int, bytes, bytes]:
        """Call it with an event."""
        done = subprocess.run(
            list(words or self.words()),
            input=stdin,
            capture_output=True,
            env=self.environment(**more),
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def asked_plain(self, stdin: bytes = b"{}") -> tuple[int, bytes, bytes]:
        """Give what comes of it when the Python answers."""
        words = f"plain -E -P -m hookline hook --prove {' '.join(WORDS)}"
        return 0, f"{words}\n{len(stdin)}\n".encode(), b""

    @contextmanager
    def daemon(self, play: Callable[[Talk], object]) -> Iterator[list[str]]:
        """Listen, and play this with whoever connects; gives what failed in it."""
        problems: list[str] = []
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.path))
            listening.listen()
            thread = threading.Thread(target=_serve, args=(listening, play, problems))
            thread.start()
            try:
                yield problems
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                thread.join(PATIENCE)
                self.path.unlink(missing_ok=True)
        assert problems == []


def _serve(listening: socket.socket, play: Callable[[Talk], object], problems: list[str]) -> None:
    threads = []
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            break
        threads.append(threading.Thread(target=_play, args=(connection, play, problems)))
        threads[-1].start()
    for thread in threads:
        thread.join(PATIENCE)


def _play(connection: socket.socket, play: Callable[[Talk], object], problems: list[str]) -> None:
    with connection:
        try:
            play(Talk(connection))
        except Exception as problem:  # noqa: BLE001 - the test tells it
            problems.append(repr(problem))
