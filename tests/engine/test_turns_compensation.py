"""What functions of a program did is recorded and taken back."""

import asyncio

import pytest

from hookline import ConfigError, Engine, Event
from hookline.engine.turns import MOST
from hookline.events import BeforeTool


def test_function_is_taken_back_with_its_own_event() -> None:
    undone: list[str] = []

    async def unlock(event: BeforeTool) -> None:
        undone.append(event.path)

    async def run() -> list[str]:
        async with Engine() as engine:

            @engine.on("before_tool", id="lock", tools="write_file", undo=unlock)
            def lock(_event: Event) -> None:
                pass

            for path in ("a", "b"):
                await engine.emit("before_tool", tool="write_file", args={"path": path, "content": object()})
            pending = await engine.compensations.list_pending()
            problems = [await engine.undo(run) for run in pending]
            assert await engine.compensations.list_pending() == []
            return problems

    assert asyncio.run(run()) == ["", ""]
    assert undone == ["b", "a"]


def test_undo_that_raises_stays_pending_with_its_error() -> None:
    def fail(_event: Event) -> None:
        raise OSError("the disk is gone")

    async def run() -> tuple[str, list[str]]:
        async with Engine() as engine:
            engine.on("setup", id="make", undo=fail)(lambda _event: None)
            await engine.emit("setup")
            [pending] = await engine.compensations.list_pending()
            problem = await engine.undo(pending)
            return problem, [run.error for run in await engine.compensations.list_pending()]

    problem, errors = asyncio.run(run())
    assert "the disk is gone" in problem
    assert errors == [problem]


def test_runs_are_limited_and_the_oldest_are_dropped() -> None:
    async def run() -> list[object]:
        async with Engine() as engine:
            engine.on("notification", id="n", undo=lambda _event: None)(lambda _event: None)
            for number in range(MOST + 5):
                await engine.emit("notification", {"message": str(number)})
            return [run.event.data["message"] for run in await engine.compensations.list_pending()]

    kept = asyncio.run(run())
    assert (len(kept), kept[0], kept[-1]) == (MOST, str(MOST + 4), "5")


def test_undo_of_a_function_is_a_function() -> None:
    with pytest.raises(ConfigError, match="wanted a function"):
        Engine().on("setup", undo="rm lock")(lambda _event: None)  # type: ignore[arg-type]


def test_run_of_a_hook_that_is_gone_is_explained() -> None:
    async def run() -> None:
        async with Engine() as engine:
            engine.on("setup", id="make", undo=lambda _event: None)(lambda _event: None)
            await engine.emit("setup")
            [pending] = await engine.compensations.list_pending()
            engine.registry.unregister_hook("make")
            await engine.undo(pending)

    with pytest.raises(ConfigError, match="is gone or has no `undo` any more"):
        asyncio.run(run())
