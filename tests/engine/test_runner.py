import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline import (
    Decision,
    Effect,
    EffectKind,
    Engine,
    Event,
    EventName,
    FailureKind,
    Gate,
    Hook,
    HookRunner,
    OnError,
    Reply,
    Request,
    Settings,
    Source,
    TrustedHooks,
    Verdict,
)
from hookline.dialects import DIALECTS
from hookline.engine.components import Components
from hookline.engine.translator import HookTranslator
from tests.children import children

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})


def program(folder: Path, text: str, name: str = "hook.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def hook(path: Path, **changes: object) -> Hook:
    fields: dict[str, object] = {"id": "h", "dialect": "ollm", "source": Source.USER, "timeout": 20.0, **changes}
    return Hook(command=sys.executable, args=("-S", str(path)), **fields)  # type: ignore[arg-type] # field by field


def says(folder: Path, answer: str, name: str = "hook.py") -> Path:
    return program(folder, f"print({answer!r})", name)


@pytest.mark.spec("O-18", "O-05")
def test_every_call_of_the_document_answers(tmp_path: Path) -> None:
    one = hook(says(tmp_path, '{"continue": true, "systemMessage": "hi", "data": {"n": 1}}'))

    async def scenario() -> None:
        runner = HookRunner(20, TrustedHooks(), Settings())
        runner.set_timeout(15)
        asked = {"event": "before_tool", "data": {"tool_name": "shell", "args": {"command": "ls"}}}
        assert (await runner.execute_hook(one, asked)).decision is Decision.PASS
        assert [verdict.hook for verdict in await runner.execute_hooks([one, one], CALL)] == ["h", "h"]
        summary = await runner.execute_hooks_with_summary([one], CALL)
        assert summary.context == ("hi",)
        assert summary.duration > 0
        execution = await runner.execute_hook_with_metadata(one, CALL)
        assert execution.reply.stdout.startswith(b'{"continue"')
        assert execution.verdict.duration == execution.duration > 0

    asyncio.run(scenario())


@pytest.mark.spec("P-02", "O-10")
def test_untrusted_hook_is_not_started_by_the_runner_either(tmp_path: Path) -> None:
    path = program(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')")
    theirs = hook(path, source=Source.DOWNLOADED)

    async def scenario() -> None:
        runner = HookRunner()
        verdict = await runner.execute_hook(theirs, CALL)
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.REFUSED
        assert "not approved" in verdict.failure.message
        summary = await runner.execute_hooks_with_summary([theirs], CALL)
        assert [skip.gate for skip in summary.skipped] == [Gate.TRUST]

    asyncio.run(scenario())
    assert not (tmp_path / "ran").exists()


@pytest.mark.spec("O-08")
def test_data_of_one_program_is_in_the_input_of_the_next(tmp_path: Path) -> None:
    first = hook(says(tmp_path, '{"continue": true, "data": {"risk": 7}}', "a.py"), id="a")
    echo = "import json, sys\nprint(json.dumps({'continue': True, 'systemMessage': str(json.load(sys.stdin)['data']['risk'])}))"
    second = hook(program(tmp_path, echo, "b.py"), id="b")

    summary = asyncio.run(HookRunner().execute_hooks_with_summary([first, second], CALL))

    assert summary.context == ("7",)


@pytest.mark.spec("O-06")
def test_continue_false_keeps_later_programs_from_running(tmp_path: Path) -> None:
    first = hook(says(tmp_path, '{"continue": false, "systemMessage": "stop here"}', "a.py"), id="a")
    second = hook(program(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')", "b.py"), id="b")

    summary = asyncio.run(HookRunner().execute_hooks_with_summary([first, second], CALL))

    assert (summary.decision, summary.reason) == (Decision.DENY, "stop here")
    assert [(skip.hook.id, skip.gate) for skip in summary.skipped] == [("b", Gate.ENDED)]
    assert not (tmp_path / "ran").exists()


@pytest.mark.spec("P-16", "P-03")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import sys; sys.exit(3)", FailureKind.EXIT_CODE),
        ("import time; time.sleep(60)", FailureKind.TIMEOUT),
        ("print('not json')", FailureKind.INVALID_REPLY),
        ("import os; os.abort()", FailureKind.KILLED),
        ("print('x' * 2_000_000)", FailureKind.TOO_MUCH_OUTPUT),
        ("print('{}')", FailureKind.INVALID_REPLY),
        ('print(\'{"allow": "yes"}\')', FailureKind.INVALID_REPLY),
        ("print('[' * 100_000)", FailureKind.INVALID_REPLY),
        ("import sys; sys.stdout.buffer.write(bytes([0, 255, 0]))", FailureKind.INVALID_REPLY),
    ],
)
@pytest.mark.parametrize("dialect", ["ollm-protocol", "ollm"])
def test_failure_blocks_where_the_dialect_says_so(tmp_path: Path, text: str, kind: FailureKind, dialect: str) -> None:
    timeout = 0.5 if kind is FailureKind.TIMEOUT else 20.0
    one = hook(program(tmp_path, text), dialect=dialect, timeout=timeout)

    verdict = asyncio.run(HookRunner().execute_hook(one, CALL))

    assert verdict.failure is not None
    assert verdict.failure.kind is kind
    assert verdict.decision is (Decision.DENY if dialect == "ollm-protocol" else Decision.PASS)


@pytest.mark.spec("P-03")
def test_protocol_hook_has_five_seconds_and_others_thirty() -> None:
    translator = HookTranslator(DIALECTS)
    for name, dialect in DIALECTS.items():
        one = Hook(id="h", command="node", dialect=name)
        usual = dialect.SPEC.timeout if dialect.SPEC.is_agent else 30.0
        assert translator.timeout(one, None) == (5.0 if name == "ollm-protocol" else usual)
        assert translator.timeout(one, 7.0) == 7.0
        assert translator.timeout(Hook(id="h", command="node", dialect=name, timeout=2), 7.0) == 2


@pytest.mark.spec("P-25")
def test_slow_hook_is_pointed_out(tmp_path: Path) -> None:
    one = hook(program(tmp_path, "import time; time.sleep(1.1); print('{\"continue\": true}')"), on="before_tool")

    async def scenario() -> None:
        async with Engine() as engine:
            engine.add(one)
            await engine.emit("before_tool", tool="shell")
            await engine.drain()
            assert [metrics.hook for metrics in engine.debugger.slow()] == ["h"]
            (record,) = [found for found in engine.debugger.executions("h") if "duration" in found.detail]
            assert record.detail["slow"] is True

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Verdict(effects=(object(),)),  # type: ignore[arg-type] # what a careless function returns
        lambda: Verdict(effects=(Effect(EffectKind.REWRITE, 1),)),
        lambda: Verdict(effects=(Effect(EffectKind.DATA, 1),)),
        lambda: Verdict(decision=7),  # type: ignore[arg-type] # the same
        lambda: Verdict(decision="denied"),  # type: ignore[arg-type] # the same
        lambda: Verdict(decision=Decision.DENY, reason=7),  # type: ignore[arg-type] # the same
    ],
)
def test_malformed_verdict_of_a_function_is_a_failure_of_its_hook(answer: Callable[[], Verdict]) -> None:
    async def scenario() -> None:
        async with Engine() as engine:
            guard = Hook(
                id="g", on="before_tool", call=lambda _: answer(), on_error=OnError.BLOCK, source=Source.BUILTIN
            )
            engine.add(guard)
            outcome = await engine.emit("before_tool")
            assert outcome.blocked
            assert [verdict.failure is not None for verdict in outcome.verdicts] == [True]

    asyncio.run(scenario())


def test_bug_of_ours_follows_the_failure_policy(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        """A kind with a bug."""

        def refusal(self, hook: Hook) -> str:
            return "" if hook.id else "no id"

        async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
            raise AssertionError(f"{hook.id} {request.event.name} {timeout}")

        async def close(self) -> None:
            return

    async def scenario() -> None:
        async with Engine(components=Components(DIALECTS, {"command": Broken()})) as engine:
            for name, on_error in (("open", OnError.CONTINUE), ("closed", OnError.BLOCK)):
                engine.add(Hook(id=name, on="before_tool", command="node", source=Source.USER, on_error=on_error))
            outcome = await engine.emit("before_tool")
            assert [verdict.decision for verdict in outcome.verdicts] == [Decision.PASS, Decision.DENY]
            kinds = {verdict.failure.kind for verdict in outcome.verdicts if verdict.failure}
            assert kinds == {FailureKind.INTERNAL}

    asyncio.run(scenario())
    assert "hook closed could not be asked" in caplog.text


@pytest.mark.spec("A-25", "O-14")
def test_cancelled_emit_leaves_no_child(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    text = f"import os, time\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    one = hook(program(tmp_path, text), on="before_tool")

    async def scenario() -> None:
        async with Engine() as engine:
            engine.add(one)
            task = asyncio.create_task(engine.emit("before_tool", tool="shell"))
            deadline = time.monotonic() + 20
            while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # nor is it there to be reaped
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid_file.read_text()), 0)

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
@pytest.mark.spec("A-25")
def test_thousand_emits_leave_no_process_descriptor_or_thread_behind(tmp_path: Path) -> None:
    one = Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.USER)

    async def burst(engine: Engine, times: int) -> None:
        for _ in range(times // 20):
            outcomes = await asyncio.gather(*(engine.emit("before_tool", tool="shell") for _ in range(20)))
            assert all(not outcome.failures for outcome in outcomes)

    async def scenario() -> None:
        async with Engine(cwd=str(tmp_path)) as engine:
            engine.add(one)
            await burst(engine, 40)
            before = await held()
            await burst(engine, 1000)
            assert await held() == before

    async def held() -> tuple[int, int, set[int]]:
        # the last descriptors are closed when who waited for them has had its turn
        await asyncio.sleep(0)
        return len(os.listdir("/proc/self/fd")), threading.active_count(), children()  # noqa: PTH208

    asyncio.run(scenario())
