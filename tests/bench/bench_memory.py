"""How much memory the daemon holds after a thousand calls, and after a hundred thousand."""

import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tests.bench import harness, processes, stage
from tests.bench.rows import Row, Section

EARLY, LATE = 1_000, 100_000
GOAL = "daemon-memory"
HOOK_EACH = 50  # every so many calls there is a hook to run; for the others there is none
AFTER = "after {:,} events"


def events() -> int:
    """Say how many events there are in all: fewer for a quick look."""
    return harness.number_in("BENCH_EVENTS", LATE if harness.rounds() >= harness.ENOUGH else 3_000)


def part(raw: bytes) -> bytes:
    """Write bytes with their length before them."""
    return struct.pack("<I", len(raw)) + raw


def request(body: bytes, env: Mapping[bytes, bytes], cwd: Path) -> bytes:
    """Write a call as the launcher does."""
    words = (b"--if-broken", b"block", stage.HOST.encode(), stage.EVENT.encode())
    block = b"".join(name + b"=" + value + b"\0" for name, value in env.items())
    text = struct.pack("<II", 0o022, len(words)) + b"".join(part(word) for word in words)
    text += part(os.fsencode(cwd)) + part(block) + part(body)
    return b"HKL1" + part(text)


def call(path: Path, raw: bytes) -> bytes:
    """Make one call, and give what the daemon says, in the frames it says it in."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(os.fspath(path))
        connection.sendall(raw)
        chunks = []
        while chunk := connection.recv(65536):
            chunks.append(chunk)
    return b"".join(chunks)


def frames(said: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Read what a daemon says, frame by frame: a letter and what belongs to it."""
    at = 0
    while at < len(said):
        letter, length = struct.unpack_from("<cI", said, at)
        at += struct.calcsize("<cI")
        yield letter, said[at : at + length]
        at += length


def make_calls(here: stage.Stage, path: Path, numbers: range) -> None:
    """Make many calls, each of another file; one that is not answered ends the benchmark."""
    for number in numbers:
        tool = stage.NONE if number % HOOK_EACH else stage.NATIVE
        body = here.payload(tool, number=number, file_path=f"{here.project}/{number % 5000}.py")
        try:
            said = call(path, request(body, here.env, here.project))
        except OSError as problem:
            raise SystemExit(f"the daemon was gone at call {number}: {problem}") from None
        # "k" says that it is still at it, which is no answer yet
        answers = [text for letter, text in frames(said) if letter == b"a"]
        if len(answers) != 1 or (tool == stage.NATIVE) != (b"checked" in answers[0]):
            raise SystemExit(f"call {number} was answered with {said[:300]!r}")


def rows_of(last: int, before: int, after: int) -> tuple[Row, ...]:
    """Make rows of both figures; the goal is about many events, and fewer say nothing about it."""
    early = Row(what=AFTER.format(EARLY), value=float(before), unit="bytes", who="floor")
    late = Row(
        what=AFTER.format(last), value=float(after), floor=float(before), unit="bytes", against=early.what, who="ours"
    )
    if last >= LATE:
        return early, replace(late, goal=GOAL)
    return early, late, Row(what=AFTER.format(LATE), goal=GOAL, missing=f"{last:,} events only in this run")


async def measure() -> Sequence[Section]:
    """Measure one daemon twice."""
    last = events()
    with stage.stage() as here:
        here.write_usual_hooks()
        missing = here.start_daemon()
        path = here.socket()
        if missing or path is None:
            rows: tuple[Row, ...] = (Row(what=AFTER.format(LATE), goal=GOAL, missing=missing or stage.NO_DAEMON),)
        else:
            stage.settle()
            pid = here.daemon()
            make_calls(here, path, range(EARLY))
            before = processes.memory(pid)
            make_calls(here, path, range(EARLY, last))
            rows = rows_of(last, before, processes.memory(pid))
            if here.daemon() != pid:
                raise SystemExit("another daemon answers than at the beginning")
    about = f"Resident memory of one daemon, in one run. Every {HOOK_EACH}th event starts a native hook, each leaves a trace."
    return [Section(title="Memory of the daemon", about=about, rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
