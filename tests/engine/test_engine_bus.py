import asyncio

import pytest

from hookline import Engine, Event, HookEventHandler, MessageBus, Outcome, Verdict


@pytest.mark.spec("O-02", "O-01")
def test_event_on_the_bus_is_answered_by_the_hooks() -> None:
    async def scenario() -> None:
        bus = MessageBus()
        async with Engine() as engine:
            handler = HookEventHandler(engine, bus)
            handler.connect()
            handler.connect()
            engine.on("before_model")(lambda event: Verdict.add_context(f"model {event.data['model']}"))

            (outcome,) = await bus.emit("before_model", {"model": "llama2"})

            assert isinstance(outcome, Outcome)
            assert outcome.context == ("model llama2",)
            handler.disconnect()
            assert await bus.emit("before_model", {"model": "llama2"}) == []

    asyncio.run(scenario())


@pytest.mark.spec("A-15")
@pytest.mark.parametrize("topic", ["status", "system_message", "error"])
def test_what_the_agent_says_reaches_notification_hooks_without_waiting(topic: str) -> None:
    heard: list[tuple[object, object]] = []

    async def scenario() -> None:
        async with Engine() as engine:
            HookEventHandler(engine).connect()

            @engine.on("notification")
            async def listen(event: Event) -> None:
                await asyncio.sleep(0)
                heard.append((event.data["type"], event.data["message"]))

            await engine.bus.emit(topic, {"message": "disk nearly full"})
            assert heard == []
            await engine.drain()

    asyncio.run(scenario())
    assert heard == [(topic, "disk nearly full")]
