import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.bus import MessageBus
from hookline.engine.engine import Engine
from hookline.engine.metrics import HookDebugger, HookMetrics
from hookline.model.hook import OnError
from hookline.model.record import Record, Step
from hookline.model.verdict import Verdict


def completed(hook: str, **detail: object) -> Record:
    return Record("one", Step.COMPLETED, 1.0, "before_tool", hook=hook, detail=detail)


def failed(hook: str, **detail: object) -> Record:
    return Record("one", Step.FAILED, 1.0, "before_tool", hook=hook, detail=detail)


@pytest.mark.spec("D-15", "O-01", "O-30")
def test_figures_of_a_hook_tell_what_it_did() -> None:
    debugger = HookDebugger()
    bus = MessageBus()
    bus.subscribe(debugger)

    bus.publish(completed("guard", duration=0.2, decision="allow", unknown=object()))
    bus.publish(completed("guard", duration=0.4, decision="deny", reason="no", observed=False))
    bus.publish(completed("guard", duration=0.1, decision="stop"))
    bus.publish(completed("guard", duration=0.3, decision="deny", observed=True))
    bus.publish(failed("guard", duration=1.5, failure="timeout", message="took too long", decision="deny"))
    bus.publish(failed("guard", duration=0.5, failure="timeout", message="again"))
    bus.publish(failed("guard", duration=0.5, failure="exit_code", message="exit code 1"))
    bus.publish(completed("other", duration=9.0))

    metrics = debugger.metrics("guard")
    assert metrics == HookMetrics(
        hook="guard",
        runs=7,
        failures={"timeout": 2, "exit_code": 1},
        denials=2,
        observed_denials=1,
        timed=7,
        total=metrics.total,
        shortest=0.1,
        longest=1.5,
        last=0.5,
        recent=(0.2, 0.4, 0.1, 0.3, 1.5, 0.5, 0.5),
        last_error="exit code 1",
    )
    assert metrics.total == pytest.approx(3.5)
    assert metrics.failed == 3
    assert metrics.success_rate == pytest.approx(4 / 7)
    assert metrics.mean == pytest.approx(0.5)
    assert metrics.typical == 0.4
    assert debugger.hooks() == ["guard", "other"]


def test_hook_that_never_ran_has_empty_figures() -> None:
    metrics = HookDebugger().metrics("unknown")

    assert metrics == HookMetrics(hook="unknown")
    assert (metrics.success_rate, metrics.mean, metrics.typical) == (1.0, 0.0, 0.0)


@pytest.mark.spec("P-25")
def test_hooks_that_usually_take_longer_than_a_second_are_pointed_out_slowest_first() -> None:
    debugger = HookDebugger()
    for _ in range(3):
        debugger(completed("slow", duration=1.2))
        debugger(completed("slowest", duration=4.0))
        debugger(completed("fast", duration=0.1))
        debugger(completed("exactly", duration=1.0))
    debugger(completed("fast", duration=60.0))

    assert [metrics.hook for metrics in debugger.slow()] == ["slowest", "slow"]
    assert [metrics.hook for metrics in debugger.slow(threshold=0.05)] == ["slowest", "slow", "exactly", "fast"]
    assert debugger.slow(threshold=10) == []


def test_hook_that_became_fast_is_no_longer_slow() -> None:
    debugger = HookDebugger()
    for _ in range(100):
        debugger(completed("lint", duration=3.0))
    assert debugger.slow()

    for _ in range(60):
        debugger(completed("lint", duration=0.1))

    assert debugger.slow() == []
    assert debugger.metrics("lint").longest == 3.0
    assert len(debugger.metrics("lint").recent) == 100


@pytest.mark.spec("D-15")
def test_last_records_are_found_by_hook_and_step_newest_first() -> None:
    debugger = HookDebugger()
    records = [
        Record("one", Step.EVENT, 1.0, "before_tool"),
        Record("one", Step.STARTED, 1.1, "before_tool", hook="lint"),
        completed("lint", duration=0.1),
        failed("guard", failure="timeout"),
        Record("one", Step.OUTCOME, 1.5, "before_tool"),
    ]
    for record in records:
        debugger(record)

    assert debugger.executions() == records[::-1]
    assert debugger.executions("lint") == [records[2], records[1]]
    assert debugger.executions("lint", Step.COMPLETED) == [records[2]]
    assert debugger.executions(step=Step.FAILED) == [records[3]]
    assert debugger.executions(limit=1) == [records[4]]
    assert debugger.executions(limit=0) == []


def test_only_the_last_records_are_kept_but_the_figures_count_all() -> None:
    debugger = HookDebugger(keep=10)
    for number in range(25):
        debugger(completed("lint", duration=0.0, number=number))

    assert [record.detail["number"] for record in debugger.executions()] == list(range(24, 14, -1))
    assert debugger.metrics("lint").runs == 25


def test_thousand_records_are_kept_unless_told_otherwise() -> None:
    debugger = HookDebugger()
    for _ in range(1_500):
        debugger(completed("lint", duration=0.0))

    assert len(debugger.executions(limit=5_000)) == 1_000
    assert len(debugger.executions()) == 100


def test_clearing_forgets_records_and_figures() -> None:
    debugger = HookDebugger()
    debugger(completed("lint", duration=5.0))

    debugger.clear()

    assert debugger.executions() == []
    assert debugger.hooks() == []
    assert debugger.metrics("lint").runs == 0
    assert debugger.slow() == []


@pytest.mark.parametrize("duration", [None, "long", True, float("nan"), -1, [1]])
def test_run_of_unknown_duration_counts_as_a_run_and_not_in_the_times(duration: object) -> None:
    debugger = HookDebugger()
    debugger(completed("lint", duration=duration, decision=["deny"]))
    debugger(completed("lint", duration=2))

    metrics = debugger.metrics("lint")
    assert (metrics.runs, metrics.timed, metrics.recent, metrics.shortest) == (2, 1, (2.0,), 2.0)


def test_failure_without_words_is_still_a_failure() -> None:
    debugger = HookDebugger()
    debugger(failed("lint"))

    metrics = debugger.metrics("lint")
    assert (metrics.failures, metrics.last_error, metrics.success_rate) == ({"unknown": 1}, "unknown", 0.0)


@pytest.mark.spec("O-33")
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1e6)), max_size=250))
def test_figures_agree_with_the_runs_they_were_made_of(runs: list[tuple[bool, float]]) -> None:
    debugger = HookDebugger()
    for good, duration in runs:
        debugger((completed if good else failed)("lint", duration=duration))

    metrics = debugger.metrics("lint")
    durations = [duration for _, duration in runs]
    assert metrics.runs == metrics.timed == len(runs)
    assert metrics.failed == sum(not good for good, _ in runs)
    assert metrics.shortest == min(durations, default=0.0)
    assert metrics.longest == max(durations, default=0.0)
    assert metrics.recent == tuple(durations[-100:])
    assert min(metrics.recent, default=0.0) <= metrics.typical <= max(metrics.recent, default=0.0)
    assert 0.0 <= metrics.success_rate <= 1.0


def test_figures_of_many_threads_add_up() -> None:
    debugger = HookDebugger()

    def work() -> None:
        for _ in range(500):
            debugger(completed("lint", duration=0.5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert debugger.metrics("lint").runs == 2_000
    assert debugger.metrics("lint").total == 1_000.0


@pytest.mark.spec("D-15")
def test_engine_logs_every_execution_and_its_debugger_answers_from_the_log() -> None:
    engine = Engine(cwd="/")
    engine.on("before_tool", id="guard")(lambda event: Verdict.deny("no") if event.tool == "shell" else None)
    engine.on("before_tool", id="broken", on_error=OnError.CONTINUE)(lambda _event: 1 / 0)

    async def emit() -> None:
        async with engine:
            for tool in ("shell", "read_file", "read_file", "read_file"):
                await engine.emit("before_tool", tool=tool)

    asyncio.run(emit())

    guard, broken = engine.debugger.metrics("guard"), engine.debugger.metrics("broken")
    assert (guard.runs, guard.denials, guard.success_rate) == (4, 1, 1.0)
    assert (broken.runs, broken.failed, broken.success_rate) == (4, 4, 0.0)
    assert "division by zero" in broken.last_error
    assert guard.longest >= guard.typical > 0
    assert len(engine.debugger.executions("guard", Step.COMPLETED)) == 4
    assert len(engine.debugger.executions("broken", Step.FAILED)) == 4
    assert {record.trace for record in engine.debugger.executions("guard")} == {
        record.trace for record in engine.debugger.executions(step=Step.EVENT)
    }
