import asyncio
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from hookline import Engine, Event, Hook, Outcome, Verdict
from hookline.engine.background import describe_too_late
from hookline.errors import StoreError
from hookline.model.event import EventName
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import OnError, Source
from hookline.model.job import InboxMessage
from hookline.model.record import Record, Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Effect, EffectKind
from hookline.ports import JobQueue
from hookline.stores.queue import SqliteQueue


def hook(**fields: object) -> Hook:
    given: dict[str, object] = {"id": "h", "on": "after_tool", "background": True, "source": Source.USER, **fields}
    if "call" not in fields:
        given.setdefault("source_path", "/etc/hookline.toml")
    return Hook(**given)  # type: ignore[arg-type] # each test knows its own fields


def make(tmp_path: Path, *hooks: Hook, queue: SqliteQueue | None = None, tell_agent: object = None) -> Engine:
    engine = Engine(queue=queue, tell_agent=tell_agent, cwd=str(tmp_path))  # type: ignore[arg-type] # callbacks of tests
    engine.add(*hooks)
    return engine


@pytest.fixture
def queue(tmp_path: Path) -> SqliteQueue:
    return SqliteQueue(tmp_path / "data" / "queue.db")


def emit(engine: Engine, *names: str, data: dict[str, object] | None = None) -> list[Outcome]:
    async def run() -> list[Outcome]:
        async with engine:
            return [await engine.emit(name, data) for name in names]

    return asyncio.run(run())


def _refuse(*_args: object, **_named: object) -> None:
    raise StoreError("the disk is full")


def full() -> JobQueue:
    """Give a queue that takes nothing and gives nothing."""
    return cast(
        "JobQueue",
        SimpleNamespace(put=_refuse, post=_refuse, collect=_refuse, is_there=lambda: True, close=lambda: None),
    )


@pytest.mark.spec("A-22")
def test_background_hook_is_put_into_the_queue_and_not_run(tmp_path: Path, queue: SqliteQueue) -> None:
    ran = tmp_path / "ran"
    engine = make(tmp_path, hook(command=f"touch {ran}", shell=True), queue=queue)

    [outcome] = emit(engine, "after_tool", data={"result": "x"})

    [job] = queue.jobs()
    assert outcome.verdicts[0].job == job.id
    assert (job.hook, job.project, job.event.data["result"]) == ("h", str(tmp_path), "x")
    assert job.event.id == outcome.trace
    assert not ran.exists()


def test_trace_says_that_a_hook_was_queued(tmp_path: Path, queue: SqliteQueue) -> None:
    engine = make(tmp_path, hook(command="true", shell=True), queue=queue)
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    emit(engine, "after_tool")

    [queued] = [record for record in records if record.step is Step.QUEUED]
    assert queued.detail["job"] == queue.jobs()[0].id


def test_function_runs_in_this_program_and_nobody_waits_for_it(tmp_path: Path, queue: SqliteQueue) -> None:
    order: list[str] = []

    async def slow(_event: Event) -> None:
        await asyncio.sleep(0)
        order.append("hook")

    engine = make(tmp_path, hook(call=slow, source=Source.BUILTIN), queue=queue)

    async def run() -> None:
        async with engine:
            outcome = await engine.emit("after_tool")
            order.append("answer")
            assert outcome.verdicts[0].job.startswith("here-")

    asyncio.run(run())

    assert order == ["answer", "hook"]
    assert queue.jobs() == []


def test_without_a_queue_commands_run_in_this_program_too(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    engine = make(tmp_path, hook(command=f"touch {ran}", shell=True))

    emit(engine, "after_tool")

    assert ran.exists()


def test_hook_that_a_program_made_itself_is_not_left_to_a_worker_that_cannot_find_it(
    tmp_path: Path, queue: SqliteQueue
) -> None:
    ran = tmp_path / "ran"
    engine = make(tmp_path, hook(command=f"touch {ran}", shell=True, source_path=""), queue=queue)

    emit(engine, "after_tool")

    assert ran.exists()
    assert queue.jobs() == []


@pytest.mark.parametrize(("parallel", "most"), [(False, 1), (True, 3)])
def test_function_runs_beside_itself_only_where_it_says_so(tmp_path: Path, *, parallel: bool, most: int) -> None:
    running, seen = [0], [0]

    async def work(_event: Event) -> None:
        running[0] += 1
        seen[0] = max(seen[0], running[0])
        for _ in range(20):
            await asyncio.sleep(0)
        running[0] -= 1

    engine = make(tmp_path, hook(call=work, source=Source.BUILTIN, parallel=parallel))

    emit(engine, "after_tool", "after_tool", "after_tool")

    assert seen == [most]


def test_endless_burst_does_not_keep_a_function_from_running_for_ever(tmp_path: Path) -> None:
    async def run() -> None:
        ran = asyncio.Event()
        engine = make(tmp_path, hook(call=lambda _event: ran.set(), source=Source.BUILTIN, debounce=0.2))
        async with engine, asyncio.timeout(60):
            # never quiet for as long as it asks
            while not ran.is_set():
                await engine.emit("after_tool")
                await asyncio.sleep(0.01)

    asyncio.run(run())


def test_burst_of_a_function_becomes_one_run_with_the_last_event(tmp_path: Path) -> None:
    seen: list[object] = []
    engine = make(
        tmp_path,
        hook(call=lambda event: seen.append(event.data["n"]), source=Source.BUILTIN, debounce=60.0),
    )
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    async def run() -> list[str]:
        async with engine:
            return [(await engine.emit("after_tool", {"n": number})).trace for number in range(3)]

    traces = asyncio.run(run())

    # whoever closes an engine does not wait for a minute of quiet
    assert seen == [2]
    folded = [record for record in records if record.step is Step.SKIPPED]
    assert [record.trace for record in folded] == traces[:2]
    assert traces[1] in str(folded[0].detail["reason"])


def test_debounced_function_runs_when_its_time_has_come(tmp_path: Path) -> None:
    async def run() -> None:
        ran = asyncio.Event()
        engine = make(tmp_path, hook(call=lambda _event: ran.set(), source=Source.BUILTIN, debounce=0.01))
        async with engine:
            await engine.emit("after_tool")
            await asyncio.wait_for(ran.wait(), 30)

    asyncio.run(run())


def test_folded_event_says_so_in_its_own_trace(tmp_path: Path, queue: SqliteQueue) -> None:
    engine = make(tmp_path, hook(command="true", shell=True, debounce=60.0), queue=queue)
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    first, second = emit(engine, "after_tool", "after_tool")

    [folded] = [record for record in records if record.step is Step.SKIPPED]
    assert (folded.trace, folded.hook, folded.detail["gate"]) == (first.trace, "h", "debounce")
    assert second.trace in str(folded.detail["reason"])
    assert len(queue.jobs()) == 1


def test_guard_that_cannot_be_queued_blocks_and_others_do_not(tmp_path: Path) -> None:
    engine = Engine(queue=full(), cwd=str(tmp_path))
    engine.add(
        hook(command="true", shell=True, on="before_tool", on_error=OnError.BLOCK),
        hook(id="other", command="true", shell=True, on="after_tool"),
    )

    before, after = emit(engine, "before_tool", "after_tool")

    assert before.blocked
    assert "the disk is full" in before.reason
    assert not after.blocked
    assert "the disk is full" in str(after.failures[0].failure)


def test_hook_that_could_never_run_is_refused_at_once(tmp_path: Path, queue: SqliteQueue) -> None:
    engine = make(tmp_path, hook(command="true; rm x"), queue=queue)

    [outcome] = emit(engine, "after_tool")

    assert outcome.failures
    assert queue.jobs() == []


def test_hook_nobody_approved_is_not_queued(tmp_path: Path, queue: SqliteQueue) -> None:
    engine = make(tmp_path, hook(command="true", shell=True, source=Source.WORKSPACE, root=str(tmp_path)), queue=queue)

    [outcome] = emit(engine, "after_tool")

    assert [skip.gate for skip in outcome.skipped] == ["trust"]
    assert queue.jobs() == []


def test_too_late_decisions_and_undeliverable_prompts_are_in_the_trace(tmp_path: Path) -> None:
    verdict = Verdict(decision=Decision.DENY, reason="no", effects=(Effect(EffectKind.ASK_AGENT, "look at this"),))
    engine = make(tmp_path, hook(on="before_tool", call=lambda _event: verdict, source=Source.BUILTIN))
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    [outcome] = emit(engine, "before_tool")

    assert not outcome.blocked
    warnings = [str(record.detail["message"]) for record in records if record.step is Step.WARNING]
    assert warnings == [
        'hook "h" wanted to deny, but it ran in the background: the event was answered before',
        "there is no agent to tell, and no inbox to keep it in",
    ]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict(hook="h"), ""),
        (Verdict.tell("hi"), ""),
        (Verdict.allow(), ""),
        (Verdict(hook="h", decision=Decision.STOP), "wanted to stop"),
        (Verdict.rewrite({"a": 1}), "wanted to change something"),
        (Verdict(hook="h", decision=Decision.DENY, failure=Failure(FailureKind.TIMEOUT, "slow")), ""),
    ],
)
def test_only_what_comes_too_late_is_said_to(verdict: Verdict, said: str) -> None:
    assert said in describe_too_late(verdict)
    assert bool(said) == bool(describe_too_late(verdict))


def ask(prompt: str = "look", **fields: object) -> Hook:
    return hook(prompt=prompt, background=False, **fields)


@pytest.mark.spec("D-05")
def test_prompts_go_to_the_callback_of_the_program(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []

    async def tell(prompt: str, event: Event) -> None:
        told.append((prompt, event.name))

    [outcome] = emit(make(tmp_path, ask(), tell_agent=tell), "after_tool")

    assert told == [("look", "after_tool")]
    assert outcome.follow_ups == ()


@pytest.mark.spec("D-05")
def test_without_a_callback_prompts_are_the_hosts_to_pass_on(tmp_path: Path, queue: SqliteQueue) -> None:
    [outcome] = emit(make(tmp_path, ask(), queue=queue), "after_tool")

    assert outcome.follow_ups == ("look",)
    assert queue.letters() == []


def test_prompt_the_callback_did_not_take_is_not_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def tell(prompt: str, _event: Event) -> None:
        if prompt == "two":
            raise ValueError("not that one")

    hooks = [ask(text, id=text) for text in ("one", "two", "three")]

    [outcome] = emit(make(tmp_path, *hooks, tell_agent=tell), "after_tool")

    assert outcome.follow_ups == ("two",)
    assert "the agent could not be informed" in caplog.text


def test_prompt_that_was_not_taken_is_not_taken_for_another_that_says_the_same(tmp_path: Path) -> None:
    taken: list[str] = []

    def tell(prompt: str, _event: Event) -> None:
        if taken:
            raise ValueError("one is enough")
        taken.append(prompt)

    [outcome] = emit(make(tmp_path, ask("same", id="a"), ask("same", id="b"), tell_agent=tell), "after_tool")

    assert taken == ["same"]
    assert outcome.follow_ups == ("same",)


def test_letters_that_nobody_waits_for_any_more_go_back(tmp_path: Path, queue: SqliteQueue) -> None:
    taken, go_on = threading.Event(), threading.Event()

    class Slow(SqliteQueue):
        def collect(self, project: str) -> list[InboxMessage]:
            found = super().collect(project)
            taken.set()
            assert go_on.wait(60)
            return found

    place = str(tmp_path.resolve())
    queue.post([InboxMessage(project=place, text=text) for text in ("one", "two")])
    engine = make(tmp_path, queue=Slow(queue.path))

    async def run() -> None:
        asking = asyncio.create_task(engine.emit("before_agent", {"prompt": "go on"}))
        await asyncio.to_thread(taken.wait, 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert queue.letters() == []
        go_on.set()
        while not queue.letters():  # noqa: ASYNC110 - they go back in a thread that nobody waits for
            await asyncio.sleep(0.01)
        outcome = await engine.emit("before_agent", {"prompt": "go on"})
        assert outcome.follow_ups == ("one", "two")
        await engine.close()

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.spec("D-05")
def test_prompts_wait_for_an_agent_where_none_listens(tmp_path: Path, queue: SqliteQueue) -> None:
    watch = make(tmp_path, ask("look at {{path}}", on="file_edited"), queue=queue)
    watch.agent_listens = False
    watched = emit(watch, "file_edited", "before_agent", data={"path": "a.py"})
    assert [outcome.follow_ups for outcome in watched] == [(), ()]
    assert [(letter.hook, letter.trace) for letter in queue.letters()] == [("h", watched[0].trace)]

    agent = make(tmp_path, queue=queue)
    outcomes = emit(agent, "before_tool", "before_agent", "after_agent")

    assert [outcome.follow_ups for outcome in outcomes] == [(), ("look at a.py",), ()]


def test_blocked_prompt_leaves_the_inbox_alone(tmp_path: Path, queue: SqliteQueue) -> None:
    queue.post([InboxMessage(project=str(tmp_path.resolve()), text="later")])
    engine = make(
        tmp_path,
        hook(on="before_agent", call=lambda _event: Verdict.deny("no"), background=False, source=Source.BUILTIN),
        hook(id="quiet", on="session_start", matcher="never", command="true", shell=True),
        queue=queue,
    )

    blocked, started = emit(engine, "before_agent", "session_start")

    assert (blocked.blocked, blocked.follow_ups) == (True, ())
    assert started.follow_ups == ("later",)


def test_agent_that_comes_by_another_way_is_the_same(tmp_path: Path, queue: SqliteQueue) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    watch = make(folder, ask(on="file_edited"), queue=queue)
    watch.agent_listens = False
    emit(watch, "file_edited")

    [outcome] = emit(make(tmp_path / "link", queue=queue), "session_start")

    assert outcome.follow_ups == ("look",)


def test_context_and_messages_in_the_inbox_stay_what_they_are(tmp_path: Path, queue: SqliteQueue) -> None:
    place = str(tmp_path.resolve())
    queue.post(
        [
            InboxMessage(project=place, text="for the model", kind=EffectKind.CONTEXT),
            InboxMessage(project=place, text="for the person", kind=EffectKind.MESSAGE),
        ]
    )

    [outcome] = emit(make(tmp_path, queue=queue), "before_agent")

    assert (outcome.context, outcome.messages) == (("for the model",), ("for the person",))


def test_prompts_of_a_background_function_wait_in_the_inbox(tmp_path: Path, queue: SqliteQueue) -> None:
    said = Verdict(effects=(Effect(EffectKind.ASK_AGENT, "look"), Effect(EffectKind.MESSAGE, "done")))
    engine = make(tmp_path, hook(call=lambda _event: said, source=Source.BUILTIN), queue=queue)

    emit(engine, "after_tool")

    assert [(letter.kind, letter.text, letter.hook) for letter in queue.letters()] == [
        ("ask_agent", "look", "h"),
        ("message", "done", "h"),
    ]


def test_what_is_only_observed_tells_nobody(tmp_path: Path, queue: SqliteQueue) -> None:
    said = Verdict(effects=(Effect(EffectKind.ASK_AGENT, "look"),))
    engine = make(tmp_path, hook(call=lambda _event: said, source=Source.BUILTIN, observe=True), queue=queue)

    emit(engine, "after_tool")

    assert queue.letters() == []


def test_inbox_that_cannot_be_used_changes_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(queue=full(), cwd=str(tmp_path))
    engine.add(ask(on="before_agent"))
    [listening] = emit(engine, "before_agent")
    engine.agent_listens = False
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    [deaf] = emit(engine, "before_agent")

    assert listening.follow_ups == deaf.follow_ups == ("look",)
    assert "the inbox cannot be read: the disk is full" in caplog.text
    assert any("it cannot be kept for the agent" in str(record.detail.get("message")) for record in records)


def test_agent_that_never_had_a_letter_is_answered_without_a_thread(tmp_path: Path, queue: SqliteQueue) -> None:
    engine = make(tmp_path, queue=queue)

    async def run() -> set[str]:
        await engine.emit("before_agent")
        return {thread.name for thread in threading.enumerate() if thread.name.startswith("asyncio_")}

    before = {thread.name for thread in threading.enumerate()}
    assert asyncio.run(run()) <= before
    assert not queue.path.parent.exists()


def test_damaged_letter_changes_no_answer_and_keeps_no_other_one_back(tmp_path: Path, queue: SqliteQueue) -> None:
    place = str(tmp_path.resolve())
    queue.post([InboxMessage(project=place, text="one"), InboxMessage(project=place, text="two")])
    with closing(sqlite3.connect(queue.path)) as connection, connection:
        connection.execute("UPDATE letters SET created = 'yesterday', text = x'ff00' WHERE text = 'one'")

    [outcome] = emit(make(tmp_path, queue=queue), "before_agent")

    assert not outcome.blocked
    assert "two" in outcome.follow_ups


def test_mistake_of_ours_in_the_inbox_changes_no_answer(tmp_path: Path, queue: SqliteQueue) -> None:
    queue.put(hook(command="true", shell=True), Event(name=EventName.AFTER_TOOL), project=str(tmp_path))
    with closing(sqlite3.connect(queue.path)) as connection, connection:
        # a time that cannot be compared
        connection.execute("UPDATE jobs SET due = 'soon'")
    asks = hook(on="before_agent", call=lambda _event: Verdict.ask("sure?"), background=False, source=Source.BUILTIN)
    engine = make(tmp_path, asks, queue=queue)

    async def run() -> list[Decision]:
        async with engine:
            found = [
                await engine.handle(engine.event(name), host_asks=True) for name in ("before_agent", "session_start")
            ]
        return [outcome.decision for outcome in found]

    assert asyncio.run(run()) == [Decision.ASK, Decision.PASS]


def test_pipe_in_the_place_of_the_inbox_keeps_nobody_waiting(
    tmp_path: Path, queue: SqliteQueue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.path.parent.mkdir()
    os.mkfifo(queue.path)

    [outcome] = emit(make(tmp_path, queue=queue), "before_agent")

    assert not outcome.blocked
    assert "this is neither a file nor a folder: move it away" in caplog.text
    with pytest.raises(StoreError, match="neither a file nor a folder"):
        queue.post([InboxMessage(project="/a", text="x")])


def test_engine_that_is_switched_off_brings_no_letters(tmp_path: Path, queue: SqliteQueue) -> None:
    queue.post([InboxMessage(project=str(tmp_path.resolve()), text="later")])
    engine = Engine(queue=queue, cwd=str(tmp_path), settings=Settings(enabled=False))

    [outcome] = emit(engine, "before_agent")

    assert outcome.follow_ups == ()


def test_programs_without_a_loop_get_all_of_it_too(tmp_path: Path, queue: SqliteQueue) -> None:
    ran: list[Event] = []
    engine = make(tmp_path, hook(call=ran.append, source=Source.BUILTIN), queue=queue)
    queue.post([InboxMessage(project=str(tmp_path.resolve()), text="later")])

    engine.emit_sync("after_tool")
    outcome = engine.emit_sync("before_agent")
    engine.close_sync()

    assert len(ran) == 1
    assert outcome.follow_ups == ("later",)


def test_hook_that_cannot_be_queued_is_written_down_and_blocks_nothing_when_it_is_only_observed(tmp_path: Path) -> None:
    engine = Engine(queue=full(), cwd=str(tmp_path))
    guard = hook(command="true", shell=True, on="before_tool", on_error=OnError.BLOCK)
    engine.add(guard, replace(guard, id="observed", observe=True))
    records: list[Record] = []
    engine.bus.subscribe(records.append)

    (outcome,) = emit(engine, "before_tool")

    assert [(verdict.hook, verdict.blocks, verdict.observed) for verdict in outcome.verdicts] == [
        ("h", True, False),
        ("observed", True, True),
    ]
    assert [record.hook for record in records if record.step is Step.FAILED] == ["h", "observed"]


def test_queue_that_falls_over_follows_the_failure_policy(tmp_path: Path) -> None:
    def falls_over(*_args: object, **_named: object) -> None:
        raise RuntimeError("a bug of ours")

    queue = SimpleNamespace(put=falls_over, post=_refuse, collect=_refuse, close=lambda: None)
    engine = Engine(queue=cast("JobQueue", queue), cwd=str(tmp_path))
    engine.add(
        hook(command="true", shell=True, on="before_tool", id="careless"),
        hook(command="true", shell=True, on="before_tool", on_error=OnError.BLOCK),
    )

    (outcome,) = emit(engine, "before_tool")

    assert [(verdict.hook, verdict.blocks) for verdict in outcome.verdicts] == [("careless", False), ("h", True)]
    assert "cannot be put into the queue: RuntimeError" in outcome.reason
