"""Questions to warm Python processes: one timer for many of them, and everything as it was for the next one."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import pytest

from hookline.kinds.python import Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook, Source

pytestmark = [pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="workers need posix_spawn"), pytest.mark.slow]

TEXT = """\
import os
import time

def slow(document):
    time.sleep(document["seconds"])
    return os.getpid()

def spoil(document):
    os.environ["LEFT_BEHIND"] = "1"
    os.environ["PATH"] = "/nowhere"
    del os.environ["KEPT"]
    os.chdir("/")
    return os.getpid()

def replace(document):
    os.environ["MINE"] = "one"
    os.environ = os.environ.copy()
    os.environ["SECRET"] = "two"
    return os.getpid()

def look(document):
    return [os.environ.get("LEFT_BEHIND"), os.environ["PATH"], os.environ.get("KEPT"), os.getcwd()]

def left(document):
    return [os.getpid(), *map(os.environ.get, document["names"])]

def echo(document):
    return document
"""

Ask = Callable[..., Coroutine[object, object, Reply]]


def asked(folder: Path, scenario: Callable[[Ask], Awaitable[None]]) -> None:
    """Run a scenario that asks functions of one module in one worker."""
    (folder / "hooks.py").write_text(TEXT, "utf-8")
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(folder))

    async def play() -> None:
        kind = Python([str(folder)])

        async def ask(function: str, *, timeout: float = 50, **document: object) -> Reply:
            hook = Hook(id=function, module="hooks", function=function, isolated=True, source=Source.USER)
            return await kind.call(hook, Request(event=event, document=document), timeout=timeout)

        try:
            await scenario(ask)
        finally:
            await kind.close()

    asyncio.run(play())


def test_short_question_after_a_long_one_ends_at_its_own_time(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        first = await ask("slow", seconds=0)
        loop = asyncio.get_running_loop()
        started = loop.time()
        second = await ask("slow", seconds=40, timeout=0.2)

        assert isinstance(first.value, int)
        assert second.failure is not None
        assert second.failure.kind is FailureKind.TIMEOUT
        assert loop.time() - started < 20

    asked(tmp_path, scenario)


def test_question_is_not_ended_at_the_time_of_an_earlier_one(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        pid = (await ask("slow", seconds=0)).value
        # answered long before its time is over, which comes in the middle of the next
        assert (await ask("slow", seconds=0, timeout=1)).value == pid
        assert (await ask("slow", seconds=1.5)).value == pid

    asked(tmp_path, scenario)


def test_question_in_which_an_earlier_time_is_over_still_has_its_own(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        await ask("slow", seconds=0)
        await ask("slow", seconds=0, timeout=0.3)
        reply = await ask("slow", seconds=40, timeout=0.6)

        assert reply.failure is not None
        assert reply.failure.kind is FailureKind.TIMEOUT

    asked(tmp_path, scenario)


def test_whatever_a_hook_changes_is_undone_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "as it was")

    async def scenario(ask: Ask) -> None:
        await ask("spoil")
        assert (await ask("look")).value == [None, os.environ["PATH"], "as it was", str(tmp_path)]

    asked(tmp_path, scenario)


def test_environment_that_a_hook_has_replaced_is_ours_again_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", "as it was")

    async def scenario(ask: Ask) -> None:
        pid = (await ask("replace")).value
        assert (await ask("left", names=["MINE", "SECRET", "KEPT"])).value == [pid, None, None, "as it was"]

    asked(tmp_path, scenario)


def test_documents_of_any_size_go_there_and_back(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        for size in (0, 1, 65_530, 65_536, 300_000):
            assert (await ask("echo", text="x" * size)).value == {"text": "x" * size}

    asked(tmp_path, scenario)


def test_the_next_in_line_has_its_turn_however_long_it_takes(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        replies = await asyncio.gather(*(ask("slow", seconds=0.05) for _ in range(12)))

        # four at once, and no more: nobody is let in for having waited
        assert len({reply.value for reply in replies}) == 4

    asked(tmp_path, scenario)


def test_who_waits_for_a_free_one_longer_than_it_may_is_told_so(tmp_path: Path) -> None:
    async def scenario(ask: Ask) -> None:
        busy = [asyncio.create_task(ask("slow", seconds=1)) for _ in range(4)]
        await asyncio.sleep(0.2)
        late = await ask("slow", seconds=0, timeout=0.1)

        assert late.failure is not None
        assert "all 4 workers of its folder were busy" in late.failure.message
        # who gave up takes nobody's turn
        await asyncio.gather(*busy)
        assert isinstance((await ask("slow", seconds=0)).value, int)

    asked(tmp_path, scenario)
