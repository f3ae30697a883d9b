import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookline import (
    Blocked,
    ConfigError,
    Decision,
    Engine,
    EngineError,
    Event,
    EventName,
    FailureKind,
    Gate,
    Hook,
    OnError,
    Outcome,
    Question,
    Record,
    Session,
    Settings,
    Source,
    Step,
    Verdict,
)


def run(scenario: Callable[[Engine], Awaitable[None]], **options: object) -> None:
    async def main() -> None:
        async with Engine(**options) as engine:  # type: ignore[arg-type] # each test passes what it is about
            await scenario(engine)

    asyncio.run(main())


def deny(event: Event) -> Verdict | None:
    return Verdict.deny(f"no {event.tool}")


def test_event_without_hooks_is_quiet() -> None:
    async def scenario(engine: Engine) -> None:
        assert await engine.emit("before_tool", {"tool": "shell"}) == Outcome()

    run(scenario)


def test_unknown_event_is_an_error_and_not_a_silence() -> None:
    async def scenario(engine: Engine) -> None:
        with pytest.raises(ConfigError, match=r'unknown event "before_tol" .did you mean "before_tool"'):
            await engine.emit("before_tol")

    run(scenario)


def test_function_gets_the_event_and_decides() -> None:
    seen: list[Event] = []

    async def scenario(engine: Engine) -> None:
        @engine.on("before_tool", matcher="shell")
        def guard(event: Event) -> Verdict:
            seen.append(event)
            return Verdict.deny("not today")

        outcome = await engine.emit("before_tool", tool="shell", args={"command": "ls"}, session=Session(id="s"))
        assert outcome.blocked
        assert outcome.reasons == ("not today",)
        assert not (await engine.emit("before_tool", tool="read_file")).blocked

    run(scenario)
    (event,) = seen
    assert (event.tool, event.args, event.session.id, event.cwd) == ("shell", {"command": "ls"}, "s", str(Path.cwd()))
    assert event.timestamp > 1_700_000_000_000


def test_async_function_is_awaited() -> None:
    async def scenario(engine: Engine) -> None:
        @engine.on("before_agent")
        async def slow(_event: Event) -> Verdict:
            await asyncio.sleep(0)
            return Verdict.add_context("hello")

        assert (await engine.emit("before_agent", {"prompt": "x"})).context == ("hello",)

    run(scenario)


@pytest.mark.parametrize("name", ["PreToolUse", "pre-tool-call", "before_tool"])
def test_event_may_be_named_as_any_dialect_does(name: str) -> None:
    async def scenario(engine: Engine) -> None:
        engine.on(name)(deny)
        assert (await engine.emit(name, {"tool_name": "shell", "args": {}})).reason == "no shell"

    run(scenario)


@pytest.mark.spec("P-15")
def test_custom_event_reaches_hooks_by_its_name() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("custom:deploy")(lambda event: Verdict.tell(f"{event.data['payload']}"))

        assert (await engine.emit("custom:deploy", {"payload": 7})).messages == ("7",)
        assert (await engine.emit("custom:release", {"payload": 7})).verdicts == ()
        assert (await engine.emit("custom", {"event_name": "deploy", "payload": 8})).messages == ("8",)

    run(scenario)


def test_function_that_raises_is_a_failure_and_the_operation_goes_on() -> None:
    async def scenario(engine: Engine) -> None:
        @engine.on("before_tool")
        def broken(_event: Event) -> None:
            raise KeyError("x")

        outcome = await engine.emit("before_tool")
        assert not outcome.blocked
        (verdict,) = outcome.failures
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.RAISED
        assert "KeyError" in verdict.failure.message

    run(scenario)


def test_function_that_raises_blocks_when_told_to() -> None:
    async def scenario(engine: Engine) -> None:
        def broken(_event: Event) -> None:
            raise KeyError("x")

        engine.add(Hook(id="g", on="before_tool", call=broken, on_error=OnError.BLOCK, source=Source.BUILTIN))
        outcome = await engine.emit("before_tool")
        assert outcome.decision is Decision.DENY
        assert outcome.reason.startswith('hook "g" failed: ')

    run(scenario)


def test_answer_that_is_no_verdict_is_a_failure() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", id="odd")(lambda _event: 42)
        (verdict,) = (await engine.emit("before_tool")).failures
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.INVALID_REPLY

    run(scenario)


@pytest.mark.parametrize(
    "changes", [{"kind": "carrier-pigeon"}, {"dialect": "klingon", "kind": "function"}, {"dialect": "klingon"}]
)
def test_hook_that_cannot_be_spoken_to_blocks_when_told_to(changes: dict[str, str]) -> None:
    async def scenario(engine: Engine) -> None:
        engine.add(
            Hook(id="g", on="before_tool", command="node", on_error=OnError.BLOCK, source=Source.USER, **changes)  # type: ignore[arg-type] # field by field
        )
        outcome = await engine.emit("before_tool")
        assert outcome.blocked
        assert outcome.verdicts[0].failure is not None
        assert outcome.verdicts[0].failure.kind is FailureKind.REFUSED

    run(scenario)


@pytest.mark.spec("O-06")
def test_stop_ends_the_run_and_says_who_had_no_turn() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", id="first")(lambda _event: Verdict.stop("enough"))
        engine.on("before_tool", id="second")(deny)

        outcome = await engine.emit("before_tool")
        assert outcome.stopped
        assert [(skip.hook.id, skip.gate, skip.reason) for skip in outcome.skipped] == [
            ("second", Gate.ENDED, 'hook "first" ended the run')
        ]

    run(scenario)


@pytest.mark.spec("P-16")
def test_failure_that_blocks_does_not_keep_the_next_hook_from_running() -> None:
    async def scenario(engine: Engine) -> None:
        def broken(_event: Event) -> None:
            raise ValueError("x")

        engine.add(Hook(id="g", on="before_tool", call=broken, on_error=OnError.BLOCK, source=Source.BUILTIN))
        engine.on("before_tool", id="next")(lambda _event: Verdict.tell("still here"))

        outcome = await engine.emit("before_tool")
        assert outcome.blocked
        assert outcome.messages == ("still here",)

    run(scenario)


def test_denial_and_blocking_failure_are_told_apart_in_the_trace() -> None:
    records: list[Record] = []

    async def scenario(engine: Engine) -> None:
        def broken(_event: Event) -> None:
            raise ValueError("x")

        engine.bus.subscribe(records.append)
        engine.add(Hook(id="broken", on="before_tool", call=broken, on_error=OnError.BLOCK, source=Source.BUILTIN))
        engine.on("before_tool", id="strict")(deny)
        await engine.emit("before_tool")

    run(scenario)
    by_hook = {record.hook: record for record in records if record.step in {Step.COMPLETED, Step.FAILED}}
    assert by_hook["broken"].step is Step.FAILED
    assert by_hook["broken"].detail["blocked_by_failure"] is True
    assert by_hook["strict"].step is Step.COMPLETED
    assert "failure" not in by_hook["strict"].detail


@pytest.mark.spec("A-13", "P-02", "O-02")
def test_every_step_is_a_record_in_order() -> None:
    records: list[Record] = []

    async def scenario(engine: Engine) -> None:
        engine.bus.subscribe(records.append)
        engine.on("before_tool", id="a")(lambda _event: None)
        engine.add(Hook(id="b", on="before_tool", command="node"))
        outcome = await engine.emit("before_tool", tool="shell", session=Session(id="s"))
        await engine.drain()
        assert {record.trace for record in records} == {outcome.trace}

    run(scenario)
    assert [(record.step, record.hook) for record in records] == [
        (Step.EVENT, ""),
        (Step.STARTED, "a"),
        (Step.COMPLETED, "a"),
        (Step.SKIPPED, "b"),
        (Step.OUTCOME, ""),
    ]
    assert {(record.event, record.session) for record in records} == {("before_tool", "s")}


def test_sink_never_delays_an_answer() -> None:
    heard: list[Record] = []

    async def scenario(engine: Engine) -> None:
        engine.bus.subscribe(heard.append)
        engine.on("before_tool")(deny)
        await engine.emit("before_tool")
        assert heard == []
        await asyncio.sleep(0)
        assert [record.step for record in heard] == [Step.EVENT, Step.STARTED, Step.COMPLETED, Step.OUTCOME]

    run(scenario)


def test_sink_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_record: Record) -> None:
        raise OSError("disk full")

    async def scenario(engine: Engine) -> None:
        engine.bus.subscribe(broken)
        engine.on("before_tool")(deny)
        assert (await engine.emit("before_tool", tool="x")).reason == "no x"

    with caplog.at_level(logging.CRITICAL):
        run(scenario)


def test_side_by_side_hooks_that_disagree_about_an_argument_block() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", id="a", parallel=True)(lambda _event: Verdict.rewrite({"command": "x"}))
        engine.on("before_tool", id="b", parallel=True)(lambda _event: Verdict.rewrite({"command": "y"}))

        outcome = await engine.emit("before_tool", tool="shell", args={"command": "ls"})
        assert outcome.decision is Decision.DENY
        assert outcome.reason == 'hooks "a" and "b" run side by side and both change args.command'

    run(scenario)


def test_observing_hook_takes_no_part_in_a_disagreement() -> None:
    async def scenario(engine: Engine) -> None:
        for name, observe in (("a", False), ("b", False), ("c", True)):
            engine.on("before_tool", id=name, parallel=True, observe=observe)(
                lambda _event, value=name: Verdict.rewrite({"command": value})
            )
        assert (await engine.emit("before_tool", tool="shell")).blocked
        engine.registry.unregister_hook("b")
        outcome = await engine.emit("before_tool", tool="shell")
        assert (outcome.blocked, outcome.args) == (False, {"command": "a"})

    run(scenario)


def test_hook_with_a_broken_matcher_is_refused_when_it_is_added() -> None:
    async def scenario(engine: Engine) -> None:
        with pytest.raises(ConfigError, match=r'hook "h": matcher .* is no regular expression'):
            engine.on("before_tool", id="h", matcher="(")(deny)
        assert not engine.registry.has_hook("h")

    run(scenario)


def test_side_by_side_hooks_run_at_the_same_time_and_answer_in_plan_order() -> None:
    async def scenario(engine: Engine) -> None:
        second_started = asyncio.Event()

        @engine.on("before_agent", id="a", parallel=True, timeout=5)
        async def first(_event: Event) -> Verdict:
            await second_started.wait()
            return Verdict.add_context("a")

        @engine.on("before_agent", id="b", parallel=True)
        async def second(_event: Event) -> Verdict:
            second_started.set()
            return Verdict.add_context("b")

        assert (await engine.emit("before_agent")).context == ("a", "b")

    run(scenario)


@pytest.mark.spec("P-03")
def test_timeout_of_the_setting_holds_for_hooks_without_one() -> None:
    async def scenario(engine: Engine) -> None:
        @engine.on("before_agent", id="hangs")
        async def hangs(_event: Event) -> None:
            await asyncio.Event().wait()

        (verdict,) = (await engine.emit("before_agent")).failures
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.TIMEOUT

    run(scenario, settings=Settings(timeout=0.05))


def test_observed_hook_is_recorded_and_not_enforced() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", id="watching", observe=True)(lambda _event: Verdict.stop("would stop"))
        engine.on("before_tool", id="next")(lambda _event: Verdict.tell("runs"))

        outcome = await engine.emit("before_tool")
        assert outcome.decision is Decision.PASS
        assert outcome.messages == ("runs",)
        assert (outcome.verdicts[0].decision, outcome.verdicts[0].observed) == (Decision.STOP, True)
        await engine.drain()
        assert engine.debugger.metrics("watching").observed_denials == 1

    run(scenario)


def test_observing_engine_enforces_nothing() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(deny)
        outcome = await engine.emit("before_tool")
        assert not outcome.blocked
        assert outcome.verdicts[0].decision is Decision.DENY

    run(scenario, settings=Settings(observe=True))


def test_question_goes_to_the_callback_or_to_the_host() -> None:
    asked: list[Question] = []

    def ask(question: Question) -> bool:
        asked.append(question)
        return True

    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(lambda _event: Verdict.ask("sure?"))
        assert (await engine.emit("before_tool", tool="shell")).decision is Decision.ALLOW
        event = engine.event("before_tool", tool="shell")
        assert (await engine.handle(event, host_asks=True)).decision is Decision.ASK

    run(scenario, ask=ask)
    assert [question.reasons for question in asked] == [("sure?",)]


def test_person_is_asked_about_what_would_really_run() -> None:
    asked: list[object] = []

    def ask(question: Question) -> bool:
        asked.append(question.event.args)
        return True

    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(lambda _event: Verdict.ask("sure?"))
        engine.on("before_tool")(lambda _event: Verdict.rewrite({"command": "rm x"}))
        outcome = await engine.emit("before_tool", tool="shell", args={"command": "ls"})
        assert outcome.args == {"command": "rm x"}

    run(scenario, ask=ask)
    assert asked == [{"command": "rm x"}]


def test_question_nobody_can_answer_is_a_no() -> None:
    records: list[Record] = []

    async def scenario(engine: Engine) -> None:
        engine.bus.subscribe(records.append)
        engine.on("before_tool")(lambda _event: Verdict.ask("sure?"))
        assert (await engine.emit("before_tool")).decision is Decision.DENY

    run(scenario)
    (asked,) = [record for record in records if record.step is Step.ASKED]
    assert asked.detail["allowed"] is False


def test_moment_that_cannot_be_blocked_says_so_in_the_trace() -> None:
    records: list[Record] = []

    async def scenario(engine: Engine) -> None:
        engine.bus.subscribe(records.append)
        engine.on("session_end", id="late")(lambda _event: Verdict.deny("too late"))
        assert not (await engine.emit("session_end")).blocked

    run(scenario)
    (warning,) = [record for record in records if record.step is Step.WARNING]
    assert warning.detail == {"message": 'hook "late" wanted to deny, but session_end cannot be blocked'}


@pytest.mark.spec("A-14")
def test_tool_call_is_gated_rewritten_and_reported() -> None:
    reported: list[object] = []

    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(lambda event: Verdict.rewrite({"text": f"{event.args['text']}!"}))
        engine.on("after_tool")(lambda event: reported.append(event.data["result"]))

        assert await engine.call_tool("echo", {"text": "hi"}, lambda text: text) == "hi!"
        engine.on("before_tool")(deny)
        with pytest.raises(Blocked) as blocked:
            await engine.call_tool("echo", {"text": "hi"}, lambda text: text)
        assert isinstance(blocked.value.outcome, Outcome)

    run(scenario)
    assert reported == ["hi!"]


@pytest.mark.spec("P-12")
def test_session_fires_its_start_and_its_end() -> None:
    seen: list[Event] = []

    async def scenario(engine: Engine) -> None:
        engine.on("session_start", "session_end", "before_agent")(seen.append)
        async with engine.session(user="ann", model="m", config={"temperature": 0}) as session:
            await session.emit("before_agent", {"prompt": "hi"})
            await session.emit("after_agent", {"response": "ho"})
            session.message_count += 1

    run(scenario)
    start, _prompt, end = seen
    assert (start.name, end.name) == (EventName.SESSION_START, EventName.SESSION_END)
    assert start.session == end.session
    assert (start.session.user, start.session.model, start.session.config) == ("ann", "m", {"temperature": 0})
    assert start.session.started > 0
    assert end.data["message_count"] == 3
    assert isinstance(end.data["duration"], float)
    assert end.data["reason"] == "finished"


def test_session_that_breaks_off_still_ends() -> None:
    seen: list[object] = []

    async def scenario(engine: Engine) -> None:
        engine.on("session_end")(lambda event: seen.append(event.data["reason"]))
        with pytest.raises(KeyError):
            async with engine.session():
                raise KeyError("x")

    run(scenario)
    assert seen == ["error"]


def test_refused_session_does_not_start() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("session_start")(lambda _event: Verdict.deny("out of hours"))
        with pytest.raises(Blocked, match="out of hours"):
            async with engine.session():
                raise AssertionError("must not get here")

    run(scenario)


@pytest.mark.spec("A-15")
def test_notification_does_not_keep_the_emitter_waiting() -> None:
    heard: list[object] = []

    async def scenario(engine: Engine) -> None:
        may_go_on = asyncio.Event()

        @engine.on("notification")
        async def slow(event: Event) -> None:
            await may_go_on.wait()
            heard.append(event.data["message"])

        engine.notify("done")
        assert heard == []
        may_go_on.set()
        await engine.drain()
        assert heard == ["done"]

    run(scenario)


@pytest.mark.spec("A-16")
def test_switched_off_engine_runs_nothing() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(deny)
        assert await engine.emit("before_tool", tool="shell") == Outcome()
        with pytest.raises(ConfigError):
            await engine.emit("before_tol")

    run(scenario, settings=Settings(enabled=False))


def test_cancelled_emit_is_cancelled() -> None:
    async def scenario(engine: Engine) -> None:
        started = asyncio.Event()

        @engine.on("before_agent")
        async def hangs(_event: Event) -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(engine.emit("before_agent"))
        await asyncio.wait_for(started.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario)


def test_sync_door_waits_for_the_answer_from_any_thread() -> None:
    engine = Engine()
    engine.on("before_tool")(deny)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(engine.emit_sync("before_tool", tool="x").reason))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert answers == ["no x"] * 4
    assert engine.emit_sync("after_tool") == Outcome()
    engine.close_sync()
    assert not any(thread.name == "hookline-loop" for thread in threading.enumerate())


def test_sync_door_runs_programs_and_keeps_its_worker(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text("import os\ndef pid(payload):\n    return {'context': str(os.getpid())}\n")
    engine = Engine(cwd=str(tmp_path))
    engine.add(
        Hook(
            id="w",
            on="before_agent",
            module="where",
            function="pid",
            isolated=True,
            source_path=f"{tmp_path}/x.toml",
            source=Source.USER,
            timeout=20,
        )
    )
    first, second = (engine.emit_sync("before_agent").context for _ in range(2))
    engine.close_sync()

    assert first == second != ()


def test_notification_without_a_loop_says_what_to_do() -> None:
    engine = Engine()
    engine.on("notification")(deny)

    with pytest.raises(EngineError, match="emit_sync"):
        engine.notify("hello")


def test_sync_door_inside_a_loop_says_what_to_do() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(deny)
        with pytest.raises(EngineError, match=r"use `await engine\.emit"):
            engine.emit_sync("before_tool")

    run(scenario)


def test_engine_may_serve_one_loop_after_another() -> None:
    engine = Engine()
    engine.on("before_tool")(deny)

    for _ in range(2):
        assert asyncio.run(engine.emit("before_tool", tool="x")).reason == "no x"
    asyncio.run(engine.close())


def test_two_functions_of_one_name_are_two_hooks() -> None:
    async def scenario(engine: Engine) -> None:
        for _ in range(2):
            engine.on("before_tool")(deny)
        assert [verdict.hook for verdict in (await engine.emit("before_tool")).verdicts] == ["deny", "deny-2"]

    run(scenario)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({"tool": "shell", "args": '{"command": "rm"}'}, {}),
        ({"args": {"command": "rm"}}, {"tool": "shell"}),
        ({"tool_name": "Bash", "args": {"command": "rm"}}, {}),
    ],
)
def test_arguments_reach_the_guard_however_they_are_given(data: dict[str, object], options: dict[str, str]) -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", matcher="shell")(lambda event: Verdict.deny(str(event.args["command"])))
        assert (await engine.emit("before_tool", data, tool=options.get("tool", ""))).reason == "rm"

    run(scenario)


def test_arguments_that_are_no_object_are_an_error() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool")(deny)
        with pytest.raises(ConfigError, match="wanted an object"):
            await engine.emit("before_tool", {"tool": "shell", "args": [1]})

    run(scenario)


def test_decorator_without_events_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="name the events"):
        Engine().on(deny)  # type: ignore[arg-type] # what people write


def test_name_that_stands_for_several_events_listens_to_all_of_them() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("PostToolUse", id="after")(lambda _event: Verdict.tell("seen"))
        assert (await engine.emit("after_tool")).messages == ("seen",)
        assert (await engine.emit("tool_failed")).messages == ("seen",)

    run(scenario)


def test_stop_is_not_weakened_by_a_disagreement() -> None:
    async def scenario(engine: Engine) -> None:
        engine.on("before_tool", id="a", parallel=True)(lambda _event: Verdict.rewrite({"command": "x"}))
        stops = Verdict(
            decision=Decision.STOP, reason="enough", ends=True, effects=Verdict.rewrite({"command": "y"}).effects
        )
        engine.on("before_tool", id="b", parallel=True)(lambda _event: stops)
        outcome = await engine.emit("before_tool", tool="shell")
        assert outcome.stopped
        assert "enough" in outcome.reason

    run(scenario)


def test_notification_hook_that_opens_a_session_does_not_wait_for_itself() -> None:
    done: list[str] = []

    async def scenario(engine: Engine) -> None:
        @engine.on("notification", timeout=10)
        async def nested(_event: Event) -> None:
            async with engine.session():
                pass
            done.append("done")

        engine.notify("hello")
        await asyncio.wait_for(engine.drain(), 5)

    run(scenario)
    assert done == ["done"]


def test_two_engines_never_share_a_trace_id() -> None:
    engines = [Engine(), Engine()]

    assert len({engine.event("before_tool").id for engine in engines for _ in range(50)}) == 100
