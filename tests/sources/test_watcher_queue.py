import asyncio

from hookline.sources.watcher import LAST_ROUND, ROUNDS_AT_ONCE, FileQueue, LoopGuard

SOON = 30


def test_files_have_their_turn_in_the_order_they_came() -> None:
    async def scenario() -> list[str]:
        pending = FileQueue(LoopGuard(2.0))
        for path in ("a", "b", "c"):
            pending.put(path, 0)
        return [(await pending.take())[0] for _ in range(3)]

    assert asyncio.run(scenario()) == ["a", "b", "c"]


def test_a_file_that_changed_twice_has_one_turn() -> None:
    async def scenario() -> tuple[tuple[str, int], int]:
        pending = FileQueue(LoopGuard(2.0))
        pending.put("a", 0)
        pending.put("a", 1)
        taken = await pending.take()
        pending.done("a")
        return taken, len(pending)

    assert asyncio.run(scenario()) == (("a", 1), 0)


def test_what_happens_to_a_file_during_its_turn_comes_after_it() -> None:
    async def scenario() -> None:
        pending = FileQueue(LoopGuard(2.0))
        pending.put("a", 0)
        await pending.take()
        pending.put("a", 1)
        pending.put("b", 1)
        assert await pending.take() == ("b", 1)
        waiting = asyncio.create_task(pending.take())
        await asyncio.sleep(0)
        assert not waiting.done()
        pending.done("a")
        assert await asyncio.wait_for(waiting, SOON) == ("a", 1)

    asyncio.run(scenario())


def test_a_file_in_a_late_round_waits_for_quiet_and_then_has_its_turn() -> None:
    async def scenario() -> tuple[str, int]:
        now = [0.0]
        rounds = LoopGuard(2.0, clock=lambda: now[0])
        pending = FileQueue(rounds)
        with rounds.running(ROUNDS_AT_ONCE):
            pass
        pending.put("a", ROUNDS_AT_ONCE + 1)
        taking = asyncio.create_task(pending.take())
        await asyncio.sleep(0.1)
        assert not taking.done()
        now[0] = 1_000.0
        return await asyncio.wait_for(taking, SOON)

    assert asyncio.run(scenario()) == ("a", ROUNDS_AT_ONCE + 1)


def test_somebodys_own_change_does_not_wait_for_quiet() -> None:
    async def scenario() -> tuple[str, int]:
        pending = FileQueue(LoopGuard(2.0))
        pending.put("a", ROUNDS_AT_ONCE + 2)
        pending.put("a", 0)
        return await asyncio.wait_for(pending.take(), SOON)

    assert asyncio.run(scenario()) == ("a", 0)


def test_a_file_with_too_many_rounds_is_refused() -> None:
    async def scenario() -> tuple[bool, int]:
        pending = FileQueue(LoopGuard(2.0))
        return pending.put("a", LAST_ROUND + 1), len(pending)

    assert asyncio.run(scenario()) == (False, 0)
