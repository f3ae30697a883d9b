"""What one command hook costs through the whole engine, against a bare spawn of the same program."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness

from hookline import Engine, Hook, Source, TrustedHooks
from hookline.stores.sqlite import SqliteTraces

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "400"))
ANSWER = b'{"allow": true, "metadata": {"checked": true}}\n'
DATA = {"session": {"id": "bench"}}
ARGS = {"command": "x" * 700}


def bare_spawn(argv: list[str], body: bytes, env: dict[bytes, bytes]) -> bytes:
    """Do the least that a round trip with a program takes."""
    stdin, feed = os.pipe()
    read, stdout = os.pipe()
    os.write(feed, body)
    os.close(feed)
    actions = ((os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1))
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    os.close(stdin)
    os.close(stdout)
    chunks = []
    while chunk := os.read(read, 65536):
        chunks.append(chunk)
    os.close(read)
    os.waitpid(pid, 0)
    return b"".join(chunks)


async def measure_command_hook(folder: Path) -> None:
    """Measure one approved workspace hook through the whole engine, traced into SQLite."""
    answer = folder / "answer.json"
    answer.write_bytes(ANSWER)
    argv = ["/bin/cat", str(answer)]
    hook = Hook(
        id="guard", on="before_tool", command=argv[0], args=(argv[1],), dialect="ollm-protocol", source=Source.WORKSPACE
    )
    trust = TrustedHooks()
    await trust.store_approval(hook, trust.digest(hook))
    engine = Engine(trust=trust, store=SqliteTraces(folder / "traces.db"))
    engine.add(hook)
    # scripts are older than their first run: a file that has just changed is read anew each time
    await asyncio.sleep(2.1)
    env = dict(os.environb)
    body = b'{"x":"' + b"x" * 1000 + b'"}\n'

    async def emit() -> None:
        outcome = await engine.emit("before_tool", DATA, tool="shell", args=ARGS)
        if outcome.failures or len(outcome.verdicts) != 1:
            raise SystemExit(f"the hook did not run: {outcome}")

    async def asyncio_way() -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
        await child.communicate(body)

    floor = "bare os.posix_spawn round trip"
    timings = await harness.interleave(
        {
            floor: lambda: bare_spawn(argv, body, env),
            "Engine.emit, one command hook, everything included": emit,
            "asyncio.create_subprocess_exec alone": asyncio_way,
        },
        ROUNDS,
    )
    goals = {"Engine.emit, one command hook, everything included": 1.30}
    harness.report("One command hook", timings, floor=floor, goals=goals)
    await engine.close()


async def measure() -> None:
    """Measure in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        await measure_command_hook(Path(folder))


if __name__ == "__main__":
    harness.main(measure)
