import asyncio
import contextvars
import subprocess
import sys
from collections.abc import Callable

import pytest

from hookline.kinds._prompt import Prompt

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


async def waits(prompt: Prompt[str], told: list[str]) -> str:
    told.append("waits")
    result = await prompt
    told.append(result)
    return result


async def _waiting(told: list[str]) -> tuple[Prompt[str], asyncio.Task[str]]:
    prompt: Prompt[str] = Prompt(asyncio.get_running_loop())
    task = asyncio.create_task(waits(prompt, told))
    await asyncio.sleep(0)
    return prompt, task


def test_task_goes_on_before_wake_returns() -> None:
    async def scenario() -> list[str]:
        told: list[str] = []
        prompt, task = await _waiting(told)

        def callback() -> None:
            prompt.give("here")
            told.append("given")
            prompt.wake()
            told.append("after")

        asyncio.get_running_loop().call_soon(callback)
        assert await task == "here"
        return told

    assert asyncio.run(scenario()) == ["waits", "given", "here", "after"]


def test_task_goes_on_in_its_own_context() -> None:
    async def scenario() -> tuple[str, str]:
        prompt: Prompt[None] = Prompt(asyncio.get_running_loop())

        async def asks() -> str:
            NAME.set("task")
            await prompt
            return NAME.get()

        task = asyncio.create_task(asks())
        await asyncio.sleep(0)
        prompt.give(None)
        asyncio.get_running_loop().call_soon(prompt.wake)
        return await task, NAME.get()

    assert asyncio.run(scenario()) == ("task", "nobody")


@pytest.mark.parametrize(
    "settle",
    [
        lambda prompt: prompt.set_result("soon"),
        lambda prompt: (prompt.give("soon"), prompt.wake_soon()),
    ],
)
def test_result_is_told_in_the_next_round(settle: Callable[[Prompt[str]], object]) -> None:
    async def scenario() -> list[str]:
        told: list[str] = []
        prompt, task = await _waiting(told)
        settle(prompt)
        told.append("set")
        await task
        return told

    assert asyncio.run(scenario()) == ["waits", "set", "soon"]


def test_what_is_there_already_is_not_waited_for() -> None:
    async def scenario() -> list[str]:
        told: list[str] = []
        prompt: Prompt[str] = Prompt(asyncio.get_running_loop())
        prompt.give("early")
        await waits(prompt, told)
        return told

    assert asyncio.run(scenario()) == ["waits", "early"]


def test_what_went_wrong_is_raised() -> None:
    async def scenario() -> None:
        prompt, task = await _waiting([])
        prompt.set_exception(LookupError("gone"))
        await task

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(scenario())


def test_no_result_is_an_error_not_none() -> None:
    async def scenario() -> None:
        Prompt[str](asyncio.get_running_loop()).result()

    with pytest.raises(RuntimeError, match="no result yet"):
        asyncio.run(scenario())


def test_cancelled_task_is_not_woken_by_a_result_that_comes_too_late() -> None:
    async def scenario() -> tuple[list[str], bool, bool]:
        told: list[str] = []
        prompt, task = await _waiting(told)
        task.cancel("enough")
        prompt.give("late")
        prompt.wake()
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        return told, prompt.done(), prompt.cancelled()

    assert asyncio.run(scenario()) == (["waits"], True, True)


def test_timeout_ends_the_wait() -> None:
    async def scenario() -> None:
        prompt: Prompt[str] = Prompt(asyncio.get_running_loop())
        async with asyncio.timeout(0.01):
            await prompt

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())


def test_tasks_written_in_python_wait_for_it_as_well() -> None:
    # where somebody's debugger replaces the task that is written in C, the same words are spoken
    script = (
        "import asyncio, asyncio.tasks\n"
        "asyncio.tasks.Task = asyncio.Task = asyncio.tasks._PyTask\n"
        "from hookline.kinds._prompt import Prompt\n"
        "async def main():\n"
        "    prompt = Prompt(asyncio.get_running_loop())\n"
        "    async def waits():\n"
        "        return await prompt\n"
        "    task = asyncio.get_running_loop().create_task(waits())\n"
        "    assert type(task) is asyncio.tasks._PyTask\n"
        "    await asyncio.sleep(0)\n"
        "    prompt.give('python')\n"
        "    asyncio.get_running_loop().call_soon(prompt.wake)\n"
        "    print(await task)\n"
        "asyncio.run(main())\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (said.stdout, said.stderr) == ("python\n", "")
