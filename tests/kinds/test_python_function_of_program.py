"""Functions of the embedding program as hooks."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hookline.kinds.python import Function
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict

EVENT = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, data={"note": "x"})


async def ask(function: Callable[..., object], *, event: Event = EVENT, timeout: float = 20.0) -> Reply:
    request = Request(event=event, document={})
    return await Function().call(Hook(id="guard", call=function), request, timeout=timeout)


def call(function: Callable[..., object], *, event: Event = EVENT, timeout: float = 20.0) -> Reply:
    async def within() -> Reply:
        async with asyncio.timeout(30):
            return await ask(function, event=event, timeout=timeout)

    return asyncio.run(within())


def failure(reply: Reply) -> tuple[FailureKind, str]:
    assert reply.failure is not None
    return reply.failure.kind, reply.failure.message


def test_function_gets_the_event_and_its_answer_is_the_value() -> None:
    verdict = Verdict.deny("no")
    seen: list[Event] = []

    def guard(event: Event) -> Verdict:
        seen.append(event)
        return verdict

    assert call(guard) == Reply(value=verdict)
    assert seen == [EVENT]


def test_function_without_an_opinion_answers_none() -> None:
    assert call(lambda _event: None) == Reply(value=None)


def test_async_function_is_awaited() -> None:
    async def guard(event: Event) -> str:
        await asyncio.sleep(0)
        return event.tool

    assert call(guard) == Reply(value="shell")


def test_object_with_an_async_call_is_awaited() -> None:
    class Guard:
        async def __call__(self, event: Event) -> str:
            return event.tool

    assert call(Guard()) == Reply(value="shell")


def test_function_runs_in_the_context_of_the_caller() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who")

    async def within() -> Reply:
        who.set("caller")
        return await ask(lambda _event: who.get())

    assert asyncio.run(within()).value == "caller"


@pytest.mark.spec("P-03")
def test_async_function_that_never_answers_is_ended_after_its_time() -> None:
    async def hang(_event: Event) -> None:
        await asyncio.Event().wait()

    assert failure(call(hang, timeout=0.05)) == (FailureKind.TIMEOUT, "gave no answer within 0.05 s; ended")


def test_answer_after_the_time_is_up_does_not_count() -> None:
    async def stubborn(_event: Event) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"
        return "never"

    assert failure(call(stubborn, timeout=0.05))[0] is FailureKind.TIMEOUT


def test_hook_that_does_not_let_itself_be_ended_is_left_behind() -> None:
    stop = asyncio.Event()

    async def stubborn(_event: Event) -> None:
        while not stop.is_set():
            try:
                await stop.wait()
            except asyncio.CancelledError:
                continue

    async def within() -> Reply:
        reply = await ask(stubborn, timeout=0.05)
        # the loop could not close while it goes on
        stop.set()
        await asyncio.sleep(0)
        return reply

    late = "gave no answer within 0.05 s; it does not let itself be ended"
    assert failure(asyncio.run(within())) == (FailureKind.TIMEOUT, late)


def test_caller_that_gives_up_at_once_leaves_no_coroutine_behind() -> None:
    async def never(_event: Event) -> None:
        raise AssertionError

    async def within() -> None:
        task = asyncio.create_task(ask(never))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(within())


def test_timeout_error_of_the_hook_itself_is_no_timeout() -> None:
    async def guard(_event: Event) -> None:
        raise TimeoutError("the database")

    kind, message = failure(call(guard))
    assert kind is FailureKind.RAISED
    assert message.startswith("TimeoutError: the database (")


def test_exception_is_named_with_the_line_that_raised_it() -> None:
    def guard(_event: Event) -> None:
        raise ValueError("no such rule")

    line = guard.__code__.co_firstlineno + 1
    assert failure(call(guard)) == (FailureKind.RAISED, f"ValueError: no such rule ({Path(__file__)}:{line})")


def test_exception_inside_a_library_names_the_line_of_the_hook() -> None:
    def guard(_event: Event) -> object:
        return Path("/nonexistent/file").read_text(encoding="utf-8")

    line = guard.__code__.co_firstlineno + 1
    assert f"({Path(__file__)}:{line})" in failure(call(guard))[1]


def test_exception_without_text_is_named_all_the_same() -> None:
    def guard(_event: Event) -> None:
        raise KeyError

    assert failure(call(guard))[1].startswith("KeyError (")


def test_exception_whose_text_fails_is_named_all_the_same() -> None:
    class Mute(Exception):  # noqa: N818 - a hook's own
        def __str__(self) -> str:
            raise RuntimeError

    def guard(_event: Event) -> None:
        raise Mute

    assert failure(call(guard))[1].startswith("Mute (")


def test_function_that_cannot_take_an_event_is_a_failure() -> None:
    def guard() -> None:
        """Take nothing."""

    kind, message = failure(call(guard))
    assert kind is FailureKind.RAISED
    assert "takes 0 positional arguments" in message


@pytest.mark.parametrize("problem", [SystemExit(3), asyncio.CancelledError()])
def test_hook_cannot_end_the_program_or_cancel_the_engine(problem: BaseException) -> None:
    def guard(_event: Event) -> None:
        raise problem

    async def guard_later(_event: Event) -> None:
        raise problem

    assert failure(call(guard))[0] is FailureKind.RAISED
    assert failure(call(guard_later))[0] is FailureKind.RAISED


def test_cancelling_the_caller_cancels_the_hook() -> None:
    ended: list[str] = []

    async def hang(_event: Event) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hook")

    async def within() -> None:
        task = asyncio.create_task(ask(hang))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(within())
    assert ended == ["hook"]


def test_hook_that_changes_its_event_does_not_change_the_programs_own() -> None:
    args = {"command": "ls", "options": {"all": True}, "paths": ["a", {"b": 1}]}
    data: dict[str, object] = {"messages": [{"role": "user"}]}

    def meddle(value: object) -> None:
        for item in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else ():
            meddle(item)
        if isinstance(value, dict):
            value["added"] = True
        if isinstance(value, list):
            value.append("added")

    def guard(event: Event) -> Mapping[str, object]:
        meddle(event.args)
        meddle(event.data)
        return event.args

    reply = call(guard, event=Event(name=EventName.BEFORE_TOOL, args=args, data=data))
    assert args == {"command": "ls", "options": {"all": True}, "paths": ["a", {"b": 1}]}
    assert data == {"messages": [{"role": "user"}]}
    assert reply.value == {
        "command": "ls",
        "options": {"all": True, "added": True},
        "paths": ["a", {"b": 1, "added": True}, "added"],
        "added": True,
    }


def test_event_that_contains_itself_does_not_stop_the_hook() -> None:
    data: dict[str, object] = {}
    data["again"] = data
    assert call(lambda _event: "fine", event=Event(name=EventName.ERROR, data=data)) == Reply(value="fine")


def test_hook_without_a_function_is_refused_with_what_to_do() -> None:
    hook = Hook(id="guard", kind="function")
    assert Function().refusal(hook) == 'hook "guard" names no function: give it one with call='
    assert Function().refusal(Hook(id="guard", call=print)) == ""
    reply = asyncio.run(Function().call(hook, Request(event=EVENT, document={}), timeout=1))
    assert failure(reply)[0] is FailureKind.NOT_FOUND


def test_closing_needs_nothing() -> None:
    asyncio.run(Function().close())
