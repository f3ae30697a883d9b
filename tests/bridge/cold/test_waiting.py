"""What stands in for asyncio where one call is answered: the real runner of programs runs on it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from hookline.bridge.cold import waiting

HERE: Final = Path(waiting.__file__).parent


def test_a_value_that_comes_later_is_waited_for() -> None:
    async def work() -> object:
        loop = waiting.get_running_loop()
        later = loop.create_future()
        loop.call_later(0.01, later.set_result, 7)
        return await later

    assert waiting.run(work()) == 7


def test_what_is_to_be_done_is_done_in_its_order() -> None:
    said: list[str] = []

    async def work() -> None:
        loop = waiting.get_running_loop()
        end = loop.create_future()
        loop.call_soon(said.append, "soon")
        loop.call_later(0.02, said.append, "second")
        loop.call_later(0.01, said.append, "first")
        loop.call_later(0.015, said.append, "never").cancel()
        loop.call_later(0.03, end.set_result, None)
        await end

    waiting.run(work())
    assert said == ["soon", "first", "second"]


def test_files_are_read_and_written_as_they_are_ready() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)

    async def work() -> object:
        loop = waiting.get_running_loop()
        end = loop.create_future()

        def on_writable() -> None:
            os.write(write, b"heard")
            assert loop.remove_writer(write)

        def on_readable(most: int) -> None:
            end.set_result(os.read(read, most))
            assert loop.remove_reader(read)
            assert not loop.remove_reader(read)

        loop.add_reader(read, on_readable, 64)
        loop.add_writer(write, on_writable)
        return await end

    try:
        assert waiting.run(work()) == b"heard"
    finally:
        os.close(read)
        os.close(write)


def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    async def work() -> None:
        later = waiting.get_running_loop().create_future()
        later.set_exception(OSError("gone"))
        await later

    with pytest.raises(OSError, match="gone"):
        waiting.run(work())


def test_a_value_that_nobody_wants_any_more_is_not_given() -> None:
    later = waiting.Future()
    heard: list[waiting.Future] = []
    later.add_done_callback(heard.append)
    assert later.cancel()
    assert not later.cancel()
    assert later.cancelled()
    assert heard == [later]
    with pytest.raises(waiting.CancelledError):
        later.result()


def test_who_is_ended_may_still_clean_up() -> None:
    said: list[str] = []

    async def work() -> None:
        loop = waiting.get_running_loop()
        task = waiting.current_task()
        assert task is not None
        loop.call_soon(task.cancel)
        try:
            await loop.create_future()
        except waiting.CancelledError:
            rest = loop.create_future()
            loop.call_later(0.01, rest.set_result, None)
            await waiting.shield(rest)
            said.append("cleaned")
            raise

    with pytest.raises(waiting.CancelledError):
        waiting.run(work())
    assert said == ["cleaned"]


def test_there_is_no_loop_outside() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        waiting.get_running_loop()
    assert waiting.current_task() is None


def test_what_belongs_into_a_thread_is_done_at_once() -> None:
    async def work() -> int:
        return await waiting.to_thread(threading.get_ident)

    assert waiting.run(work()) == threading.get_ident()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 7), (signal.SIGINT, 8)])
def test_a_signal_ends_what_is_waited_for(number: signal.Signals, code: int) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import signal, waiting\n"
        "async def work():\n"
        "    loop = waiting.get_running_loop()\n"
        "    loop.add_signal_handler(signal.SIGTERM, waiting.current_task().cancel)\n"
        "    print('ready', flush=True)\n"
        "    await loop.create_future()\n"
        "try: waiting.run(work())\n"
        "except waiting.CancelledError: sys.exit(7)\n"
        "except KeyboardInterrupt: sys.exit(8)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(timeout=60) == code
