"""Forkservers: what they give back, and what they leave alone."""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.process.forkserver import SUPPORTED, ForkserverPool
from hookline.process.result import ExitReason, ProcessResult
from hookline.process.spec import ProcessSpec

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="needs pidfds, and processes that may fork")

# it does not end when it is asked to, and holds the output of whoever started it
STUBBORN = """\
import os, subprocess, sys, time
code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=None)
child.stdout.readline()
print(child.pid, flush=True)
"""


def job(script: Path) -> ProcessSpec:
    env = dict(os.environb)
    argv = (sys.executable, str(script))
    return ProcessSpec(program=sys.executable, argv=argv, env=env, cwd=str(script.parent), warm=True)


async def warm(kind: ForkserverPool, wanted: ProcessSpec, timeout: float = 50) -> ProcessResult:
    """Call until there is a child that was made ahead."""
    async with asyncio.timeout(50):
        while True:
            found = await kind.run(wanted, stdin=b"", timeout=timeout)
            if found is not None:
                return found
            await asyncio.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while is_running(pid):
        assert time.monotonic() < deadline, f"{pid} still runs"
        time.sleep(0.02)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a number is all that is asked for


@pytest.mark.slow
def test_what_does_not_end_when_asked_to_is_made_to_when_time_is_up(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text(STUBBORN + "time.sleep(600)\n", "utf-8")

    async def late() -> ProcessResult:
        kind = ForkserverPool()
        try:
            return await warm(kind, job(script), timeout=5)
        finally:
            await kind.close()

    found = asyncio.run(late())

    assert found.reason is ExitReason.TIMED_OUT
    assert found.exit_code == -signal.SIGTERM
    wait_until_gone(int(found.stdout))


def test_what_a_script_leaves_running_outlives_the_engine(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text(
        "import subprocess\n"
        "null = subprocess.DEVNULL\n"
        "print(subprocess.Popen(['sleep', '600'], stdin=null, stdout=null, stderr=null).pid)\n",
        "utf-8",
    )

    async def once() -> int:
        kind = ForkserverPool()
        found = await warm(kind, job(script))
        await kind.close()
        return int(found.stdout)

    pid = asyncio.run(once())

    try:
        assert is_running(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_nothing_stays_open_after_many_calls(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text("print('said')\n", "utf-8")

    async def many() -> tuple[int, int]:
        kind = ForkserverPool()
        await warm(kind, job(script))
        await kind.close()
        before = open_descriptors()
        for _ in range(60):
            assert (await warm(kind, job(script))).stdout == b"said\n"
        await kind.close()
        return before, open_descriptors()

    before, after = asyncio.run(many())

    assert after <= before


def test_where_nothing_can_be_opened_for_a_child_the_call_is_left_to_a_start(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    script = tmp_path / "hook.py"
    script.write_text("print('said')\n", "utf-8")

    async def short() -> list[ProcessResult | None]:
        kind = ForkserverPool()
        await warm(kind, job(script))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 1, limits[1]))
        try:
            calls = [kind.run(job(script), stdin=b"", timeout=50) for _ in range(6)]
            return await asyncio.gather(*calls)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            await kind.close()

    found = asyncio.run(short())

    assert None in found
    assert {answer.stdout for answer in found if answer is not None} <= {b"said\n"}
