import asyncio
import functools
import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("epoll is Linux's", allow_module_level=True)

from hookline.kinds._child import Finished
from hookline.kinds._hub import _AT_ONCE, MOMENT, hub_of, sweep
from hookline.kinds._process import run


def test_readable_descriptor_is_told_until_it_is_forgotten() -> None:
    async def scenario() -> list[bytes]:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()
        told: list[bytes] = []
        heard = asyncio.Event()

        def call() -> None:
            told.append(os.read(read, 10))
            heard.set()

        hub.watch(read, call, drop=call)
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


def test_program_whose_loop_was_closed_under_it_is_ended_by_the_next_loop(tmp_path: Path) -> None:
    async def start() -> int:
        work = run("/bin/sh", ("sh", "-c", f"echo $$ >{tmp_path}/pid; sleep 60"), stdin=b"", env={}, timeout=60)
        kept.append(asyncio.ensure_future(work))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
        return int((tmp_path / "pid").read_text())

    kept: list[asyncio.Future[Finished]] = []
    loop = asyncio.new_event_loop()
    pid = loop.run_until_complete(asyncio.wait_for(start(), 20))
    loop.close()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    sweep()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    # the child's pidfd and its two pipes, and the hub
    assert len(os.listdir("/proc/self/fd")) == before - 4  # noqa: PTH208
    kept[0]._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001 - its loop is gone, as the test wants it
    kept[0].get_coro().close()  # type: ignore[attr-defined]


class Waiting:
    """Somebody who waits, and writes down how it was woken."""

    def __init__(self, name: str, told: list[str], *, problem: BaseException | None = None) -> None:
        self._name, self._told, self._problem = name, told, problem

    def wake(self) -> None:
        self._told.append(f"{self._name} now")
        if self._problem is not None:
            raise self._problem

    def wake_soon(self) -> None:
        self._told.append(f"{self._name} soon")


def test_tasks_go_on_when_everything_was_read() -> None:
    async def scenario() -> list[str]:
        hub = hub_of(asyncio.get_running_loop())
        told: list[str] = []
        pipes = [os.pipe() for _ in range(2)]
        for number, (read, _) in enumerate(pipes):

            def call(read: int = read, number: int = number) -> None:
                told.append(f"{number} read")
                os.read(read, 1)
                hub.wake(Waiting(str(number), told))

            hub.watch(read, call, drop=call)
        for _, write in pipes:
            os.write(write, b"x")
        await asyncio.sleep(0.05)
        for read, write in pipes:
            hub.forget(read)
            os.close(read)
            os.close(write)
        return told

    told = asyncio.run(scenario())

    assert sorted(told[:2]) == ["0 read", "1 read"]
    assert sorted(told[2:]) == ["0 now", "1 now"]


def test_task_that_ends_the_program_leaves_no_other_asleep() -> None:
    told: list[str] = []

    async def scenario() -> None:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()

        def call() -> None:
            os.read(read, 1)
            hub.wake(Waiting("first", told, problem=KeyboardInterrupt()))
            hub.wake(Waiting("second", told))
            hub.forget(read)
            os.close(read)
            os.close(write)

        hub.watch(read, call, drop=call)
        os.write(write, b"x")
        await asyncio.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(scenario())

    assert told == ["first now", "second soon"]


def test_hook_that_ends_as_its_caller_exits_leaves_no_other_waiting() -> None:
    async def leaves() -> None:
        await run("/bin/true", ("true",), stdin=b"", env={}, timeout=5)
        raise SystemExit(3)

    async def scenario() -> None:
        stays = [asyncio.create_task(run("/bin/true", ("true",), stdin=b"", env={}, timeout=5)) for _ in range(6)]
        await asyncio.gather(leaves(), *stays)

    with pytest.raises(SystemExit) as left:
        asyncio.run(asyncio.wait_for(scenario(), 20))

    assert left.value.code == 3


def test_what_is_watched_once_is_told_once() -> None:
    async def scenario() -> int:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()
        told: list[None] = []
        hub.watch(read, lambda: told.append(None), drop=lambda: None, once=True)
        # it is never read, so it stays readable
        os.write(write, b"x")
        await asyncio.sleep(0.05)
        # and its number may be used again
        hub.forget(read)
        os.close(read)
        os.close(write)
        read, write = os.pipe()
        hub.watch(read, lambda: told.append(None), drop=lambda: None, once=True)
        os.write(write, b"x")
        await asyncio.sleep(0.05)
        os.close(read)
        os.close(write)
        return len(told)

    assert asyncio.run(scenario()) == 2


def test_what_is_watched_once_can_be_forgotten_before() -> None:
    async def scenario() -> int:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()
        told: list[None] = []
        hub.watch(read, lambda: told.append(None), drop=lambda: None, once=True)
        hub.forget(read)
        os.write(write, b"x")
        await asyncio.sleep(0.05)
        os.close(read)
        os.close(write)
        return len(told)

    assert asyncio.run(scenario()) == 0


def test_calls_in_a_moment_come_in_their_order_and_a_broken_one_takes_no_other_with_it() -> None:
    async def scenario() -> tuple[list[int], list[str]]:
        loop = asyncio.get_running_loop()
        hub = hub_of(loop)
        told: list[int] = []
        wrong: list[str] = []
        loop.set_exception_handler(lambda _loop, context: wrong.append(str(context["exception"])))

        def fail() -> None:
            raise LookupError("a moment too late")

        hub.call_in_a_moment(loop, lambda: told.append(1))
        hub.call_in_a_moment(loop, fail)
        hub.call_in_a_moment(loop, lambda: told.append(2))
        assert told == []
        await asyncio.sleep(0)
        hub.call_in_a_moment(loop, lambda: told.append(3))
        await asyncio.sleep(MOMENT * 10)
        # nobody is waited for any more, and the next one is called all the same
        hub.call_in_a_moment(loop, lambda: told.append(4))
        await asyncio.sleep(MOMENT * 10)
        return told, wrong

    assert asyncio.run(scenario()) == ([1, 2, 3, 4], ["a moment too late"])


def test_callback_that_fails_leaves_no_other_untold_and_nobody_asleep() -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        loop = asyncio.get_running_loop()
        hub = hub_of(loop)
        told: list[str] = []
        wrong: list[str] = []
        loop.set_exception_handler(lambda _loop, context: wrong.append(str(context["exception"])))
        pipes = [os.pipe() for _ in range(3)]

        def tells(name: str) -> None:
            told.append(name)
            hub.wake(Waiting(name, told))
            if name == "1":
                raise MemoryError("no room")

        for number, (read, _) in enumerate(pipes):
            hub.watch(read, functools.partial(tells, str(number)), drop=lambda: None, once=True)
        for _, write in pipes:
            os.write(write, b"x")
        await asyncio.sleep(0.05)
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        return told, wrong

    told, wrong = asyncio.run(scenario())

    assert sorted(told) == ["0", "0 soon", "1", "1 soon", "2", "2 soon"]
    assert wrong == ["no room"]


def test_what_was_told_once_can_be_watched_again() -> None:
    async def scenario() -> int:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()
        told: list[None] = []
        os.write(write, b"x")
        for _ in range(2):
            hub.watch(read, lambda: told.append(None), drop=lambda: None, once=True)
            await asyncio.sleep(0.05)
            hub.forget(read)
        os.close(read)
        os.close(write)
        return len(told)

    assert asyncio.run(scenario()) == 2


def test_more_than_are_told_at_once_are_all_told() -> None:
    async def scenario() -> set[int]:
        hub = hub_of(asyncio.get_running_loop())
        pipes = [os.pipe() for _ in range(3 * _AT_ONCE)]
        told: set[int] = set()
        for number, (read, write) in enumerate(pipes):
            hub.watch(read, functools.partial(told.add, number), drop=lambda: None, once=True)
            os.write(write, b"x")
        await asyncio.sleep(0.1)
        for read, write in pipes:
            os.close(read)
            os.close(write)
        return told

    assert asyncio.run(scenario()) == set(range(3 * _AT_ONCE))


def is_open(descriptor: int) -> bool:
    return Path(f"/proc/self/fd/{descriptor}").exists()


@pytest.mark.parametrize("problem", [None, KeyboardInterrupt()])
def test_what_is_not_needed_is_closed_when_who_waited_has_had_its_turn(problem: BaseException | None) -> None:
    seen: list[bool] = []
    spare = os.open("/dev/null", os.O_RDONLY)

    class Looking(Waiting):
        def wake(self) -> None:
            seen.append(is_open(spare))
            super().wake()

    async def scenario() -> None:
        hub = hub_of(asyncio.get_running_loop())
        read, write = os.pipe()

        def call() -> None:
            hub.close_soon((spare, read, write))
            hub.wake(Looking("one", [], problem=problem))

        hub.watch(read, call, drop=call, once=True)
        os.write(write, b"x")
        await asyncio.sleep(0.05)
        seen.append(is_open(spare))

    if problem is None:
        asyncio.run(scenario())
        assert seen == [True, False]
    else:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(scenario())
        assert (seen[0], is_open(spare)) == (True, False)


def test_what_is_not_needed_is_closed_at_once_where_nobody_is_told() -> None:
    async def scenario() -> bool:
        spare = os.open("/dev/null", os.O_RDONLY)
        hub_of(asyncio.get_running_loop()).close_soon((spare,))
        return is_open(spare)

    assert not asyncio.run(scenario())
