"""Turns of hooks that want to run at once."""

import asyncio

from hookline.process.limits import PATIENCE, ConcurrencyLimiter


def test_turns_are_given_in_order() -> None:
    order: list[int] = []

    async def work(slots: ConcurrencyLimiter, number: int) -> None:
        await slots.acquire()
        order.append(number)
        await asyncio.sleep(0)
        slots.release()

    async def everything() -> None:
        slots = ConcurrencyLimiter(2)
        async with asyncio.timeout(20):
            await asyncio.gather(*(work(slots, number) for number in range(20)))

    asyncio.run(everything())

    assert order == list(range(20))


def test_no_more_run_at_once_than_may() -> None:
    running = 0
    most = 0

    async def work(slots: ConcurrencyLimiter) -> None:
        nonlocal running, most
        await slots.acquire()
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        slots.release()

    async def everything() -> None:
        slots = ConcurrencyLimiter(3)
        async with asyncio.timeout(20):
            await asyncio.gather(*(work(slots) for _ in range(20)))

    asyncio.run(everything())

    assert (running, most) == (0, 3)


def test_cancelled_turn_goes_to_the_next() -> None:
    async def everything() -> None:
        slots = ConcurrencyLimiter(1)
        await slots.acquire()
        waiting = [asyncio.ensure_future(slots.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # before its turn
        slots.release()
        waiting[1].cancel()  # in the turn it was given
        async with asyncio.timeout(PATIENCE / 2):
            await waiting[2]
        slots.release()
        async with asyncio.timeout(PATIENCE / 2):
            await slots.acquire()

    asyncio.run(everything())


def test_hooks_that_wait_for_each_other_do_not_wait_for_ever() -> None:
    async def everything() -> None:
        slots = ConcurrencyLimiter(1)
        await slots.acquire()
        async with asyncio.timeout(PATIENCE * 10):
            await slots.acquire()

    asyncio.run(everything())


def test_a_turn_is_had_at_once_only_where_nobody_has_to_wait() -> None:
    slots = ConcurrencyLimiter(1)
    assert slots.try_acquire()
    assert not slots.try_acquire()
    slots.release()
    assert slots.try_acquire()


def test_without_patience_nobody_is_let_in_before_its_turn() -> None:
    async def scenario() -> tuple[bool, bool]:
        slots = ConcurrencyLimiter(1, patience=None)
        await slots.acquire()
        waiting = asyncio.create_task(slots.acquire())
        await asyncio.sleep(PATIENCE + 0.2)
        early = waiting.done()
        slots.release()
        await asyncio.wait_for(waiting, 20)
        return early, waiting.done()

    assert asyncio.run(scenario()) == (False, True)


def test_all_who_have_waited_long_enough_go_on_one_after_another() -> None:
    async def scenario() -> list[int]:
        slots = ConcurrencyLimiter(1, patience=0.1)
        went: list[int] = []

        async def wait(number: int) -> None:
            await slots.acquire()
            went.append(number)

        await slots.acquire()
        first = asyncio.create_task(wait(1))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(20):
            await asyncio.gather(first, wait(2))
            # and who comes when nobody waits any more has a time of its own
            await wait(3)
        return went

    assert asyncio.run(scenario()) == [1, 2, 3]
