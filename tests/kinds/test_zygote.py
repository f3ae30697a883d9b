"""Zygotes: what they give back, and what they leave alone."""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.kinds._child import Ended, Finished
from hookline.kinds._hub import hub_of
from hookline.kinds._job import Job
from hookline.kinds._warm import SUPPORTED, Warm
from hookline.kinds._zygote import SPARES, Spare, Zygote
from tests.children import children

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="needs pidfds, and processes that may fork")

# it does not end when it is asked to, and holds the output of whoever started it
STUBBORN = """\
import os, subprocess, sys, time
code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=None)
child.stdout.readline()
print(child.pid, flush=True)
"""


def job(script: Path) -> Job:
    env = dict(os.environb)
    argv = (sys.executable, str(script))
    return Job(program=sys.executable, argv=argv, env=env, cwd=str(script.parent), here="", path="", warm=True)


async def warm(kind: Warm, wanted: Job, timeout: float = 50) -> Finished:
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


def zygote(folder: Path) -> Zygote:
    loop = asyncio.get_running_loop()
    env = dict(os.environb)
    return Zygote((sys.executable,), program=sys.executable, env=env, cwd=str(folder), hub=hub_of(loop))


def test_what_does_not_end_when_asked_to_is_made_to_when_time_is_up(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text(STUBBORN + "time.sleep(600)\n", "utf-8")

    async def late() -> Finished:
        kind = Warm()
        try:
            return await warm(kind, job(script), timeout=5)
        finally:
            await kind.close()

    found = asyncio.run(late())

    assert found.ended is Ended.TIMED_OUT
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
        kind = Warm()
        found = await warm(kind, job(script))
        await kind.close()
        return int(found.stdout)

    pid = asyncio.run(once())

    try:
        assert is_running(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_script_that_says_it_is_done_and_goes_on_does_not_hold_up_the_next(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text(
        "import os, time\nprint(os.getpid(), flush=True)\nos.write(250, b'd\\0')\ntime.sleep(600)\n", "utf-8"
    )

    async def several() -> list[int]:
        kind = Warm()
        pids = [int((await warm(kind, job(script))).stdout) for _ in range(2 * SPARES)]
        await kind.close()
        return pids

    for pid in asyncio.run(several()):
        wait_until_gone(pid)


def test_a_child_that_comes_in_the_moment_its_call_is_cancelled_waits_for_the_next(tmp_path: Path) -> None:
    async def race() -> Spare | None:
        made = zygote(tmp_path)
        taken = [await made.take(50) for _ in range(SPARES)]
        task = asyncio.ensure_future(made.take(50))
        await asyncio.sleep(0)
        while not task.done():
            # as soon as it was given one, and before it knows
            if not made._waiting:  # noqa: SLF001 - there is no other way to that moment
                task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        left = made._spares[-1]  # noqa: SLF001 - the same
        for spare in taken:
            assert spare is not None
            spare.close()
        made.drop()
        return left

    assert asyncio.run(race()) is not None


def test_a_child_that_was_given_away_outlives_the_end_of_its_zygote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked = Zygote._on_forked  # noqa: SLF001 - there is no other way to that moment

    def forked_and_retired(made: Zygote, pid: int) -> None:
        forked(made, pid)
        made.retire()

    async def race() -> bool:
        made = zygote(tmp_path)
        taken = [await made.take(50) for _ in range(SPARES)]
        for spare in taken:
            assert spare is not None
            spare.close()
            made.release(spare.pid)
        monkeypatch.setattr(Zygote, "_on_forked", forked_and_retired)
        given = await made.take(50)
        assert given is not None
        await asyncio.wait([made.ended], timeout=0.3)
        is_there = is_running(given.pid)
        given.close()
        made.release(given.pid)
        await made.end()
        return is_there

    assert asyncio.run(race())


def test_nothing_stays_open_after_many_calls(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text("print('said')\n", "utf-8")

    async def many() -> tuple[int, int]:
        kind = Warm()
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

    async def short() -> list[Finished | None]:
        kind = Warm()
        await warm(kind, job(script))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 1, limits[1]))
        try:
            calls = [kind.run(job(script), stdin=b"", timeout=50) for _ in range(SPARES + 4)]
            return await asyncio.gather(*calls)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            await kind.close()

    found = asyncio.run(short())

    assert None in found
    assert {answer.stdout for answer in found if answer is not None} <= {b"said\n"}


def test_a_zygote_that_cannot_be_given_children_leaves_nothing(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    async def short() -> tuple[int, int]:
        hub_of(asyncio.get_running_loop())
        before = open_descriptors()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        for more in range(3, 16):
            resource.setrlimit(resource.RLIMIT_NOFILE, (before + more, limits[1]))
            with suppress(OSError):
                zygote(tmp_path).drop()
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        return before, open_descriptors()

    others = children()
    before, after = asyncio.run(short())

    assert after == before
    assert children() == others
