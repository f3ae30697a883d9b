import asyncio
import os
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("epoll is Linux's", allow_module_level=True)

from hookline.kinds._hub import hub_of, sweep


def test_readable_descriptor_is_told_until_it_is_forgotten() -> None:
    async def scenario() -> list[bytes]:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()
        told: list[bytes] = []
        heard = asyncio.Event()

        def call() -> None:
            told.append(os.read(read, 10))
            heard.set()

        hub.watch(read, call)
        for text in (b"a", b"b"):
            heard.clear()
            os.write(write, text)
            await asyncio.wait_for(heard.wait(), 5)
        hub.forget(read)
        hub.forget(read)
        os.write(write, b"c")
        await asyncio.sleep(0.01)
        os.close(read)
        os.close(write)
        return told

    assert asyncio.run(scenario()) == [b"a", b"b"]


def test_loop_has_one_hub_and_another_loop_another() -> None:
    async def mine() -> tuple[int, bool]:
        hub = hub_of(asyncio.get_running_loop())
        return id(hub), hub is hub_of(asyncio.get_running_loop())

    assert asyncio.run(mine())[1]
    assert asyncio.run(mine())[1]


def test_hub_of_a_closed_loop_is_given_back() -> None:
    loop = asyncio.new_event_loop()
    hub_of(loop)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only the number matters
    loop.close()
    sweep()

    # the loop's own selector and socket pair, and the hub
    assert len(os.listdir("/proc/self/fd")) == before - 4  # noqa: PTH208
