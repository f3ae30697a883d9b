"""Tools of MCP servers as hooks: real servers, and everything that they do wrong."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookline.dialects import DIALECTS, SHELL_DIALECTS, TEMPLATE_DIALECTS
from hookline.kinds.command.command import Command
from hookline.kinds.mcp import Mcp
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook, Layer, Source
from hookline.model.mcp_server import McpServer
from hookline.model.verdict import Decision, EffectKind, Verdict
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

SERVER = Path(__file__).resolve().parent.parent / "hooks" / "mcp_plain_server.py"


def plain(*mode: str, **more: object) -> McpServer:
    fields = {"name": "plain", "command": sys.executable, "args": (str(SERVER), *mode), "is_own": True, **more}
    return McpServer(**fields)  # type: ignore[arg-type]


def make_hook(tool: str, server: McpServer | None = None, **more: object) -> Hook:
    fields = {"source": Source.USER, "layer": Layer.USER, "server": server or plain(), **more}
    return Hook(id="h", on=("before_tool",), mcp=f"plain/{tool}", **fields)  # type: ignore[arg-type]


@asynccontextmanager
async def kind(data: Path | None = None) -> AsyncIterator[Mcp]:
    command = Command(shell_dialects=SHELL_DIALECTS, template_dialects=TEMPLATE_DIALECTS)
    mcp = Mcp(command, data)
    try:
        yield mcp
    finally:
        await mcp.close()
        await command.close()


def make_event(tmp_path: Path, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool="read_file", args=args, cwd=str(tmp_path))


async def ask(mcp: Mcp, hook: Hook, event: Event, *, timeout: float = PATIENCE) -> Reply:
    return await mcp.call(hook, DIALECTS["hookline"].encode_event(event, hook), timeout=timeout)


def call(hook: Hook, event: Event, *, timeout: float = PATIENCE) -> Reply:
    async def once() -> Reply:
        async with kind() as mcp:
            return await ask(mcp, hook, event, timeout=timeout)

    return asyncio.run(once())


def decide(hook: Hook, event: Event) -> Verdict:
    reply = call(hook, event)
    assert reply.failure is None, reply.failure
    dialect = DIALECTS["hookline"]
    return dialect.decode_reply(reply, dialect.encode_event(event, hook))


def failure_of(reply: Reply) -> tuple[FailureKind, str]:
    assert reply.failure is not None, reply
    return reply.failure.kind, reply.failure.message


@pytest.mark.spec("D-18", "U-20")
def test_no_of_a_tool_is_a_no(tmp_path: Path) -> None:
    hook = make_hook("scan", arguments={"path": "{{args.path}}"})

    denied = decide(hook, make_event(tmp_path, path="/etc/secret"))
    passed = decide(hook, make_event(tmp_path, path="/etc/hosts"))

    assert (denied.decision, denied.reason) == (Decision.DENY, "/etc/secret is secret")
    assert passed.decision is Decision.PASS


@pytest.mark.spec("U-20")
def test_text_of_a_tool_is_context(tmp_path: Path) -> None:
    verdict = decide(make_hook("say", arguments={"text": "mind the tests"}), make_event(tmp_path))

    assert [(one.kind, one.value) for one in verdict.effects] == [(EffectKind.CONTEXT, "mind the tests")]


def test_tool_that_says_nothing_has_no_opinion(tmp_path: Path) -> None:
    assert decide(make_hook("empty"), make_event(tmp_path)) == Verdict()


@pytest.mark.parametrize(
    "text",
    [
        '{"decision": "dney"}',
        '{"decision": "deny"',
        '```json\n{"decision": "allow"}\n```',
        'I would say {"decision": "deny", "reason": "no"} here',
    ],
)
def test_near_miss_of_an_answer_is_a_failure(tmp_path: Path, text: str) -> None:
    hook = make_hook("say", arguments={"text": text})
    event = make_event(tmp_path)
    reply = call(hook, event)
    if reply.failure is None:
        dialect = DIALECTS["hookline"]
        with pytest.raises(Exception, match="hookline"):
            dialect.decode_reply(reply, dialect.encode_event(event, hook))
    else:
        assert reply.failure.kind is FailureKind.INVALID_REPLY


def test_values_of_the_event_are_data_with_their_types(tmp_path: Path) -> None:
    hook = make_hook(
        "json", arguments={"metadata": {"n": "{{args.n}}", "all": "n is {{args.n}}", "quoted": ["{{args.text}}"]}}
    )

    verdict = decide(hook, make_event(tmp_path, n=3, text='", "decision": "allow", "x": "{{args.n}}'))

    assert verdict.decision is Decision.PASS
    assert verdict.metadata == {
        "n": 3,
        "all": "n is 3",
        "quoted": ['", "decision": "allow", "x": "{{args.n}}'],
    }


def test_missing_value_keeps_the_tool_from_being_called(tmp_path: Path) -> None:
    reply = call(make_hook("scan", arguments={"path": "{{args.nothing}}"}), make_event(tmp_path))

    kind, message = failure_of(reply)
    assert kind is FailureKind.UNAVAILABLE
    assert "{{args.nothing}}, so the tool was not run" in message


@pytest.mark.spec("U-20")
@pytest.mark.parametrize(
    ("tool", "kind", "message"),
    [
        ("fail", FailureKind.HOOK_ERROR, "plain/fail says: the database is down"),
        ("nope", FailureKind.NOT_FOUND, 'the MCP server "plain" has no tool "nope"; it has scan, say'),
        ("die", FailureKind.UNREACHABLE, "it ended with exit code 7"),
        ("flood", FailureKind.UNREACHABLE, "that is no message of the protocol: a line of more than 1 MB"),
        ("big", FailureKind.TOO_MUCH_OUTPUT, "more than 1000000 characters"),
    ],
)
def test_failing_tool_is_a_failure_with_its_reason(tmp_path: Path, tool: str, kind: FailureKind, message: str) -> None:
    found = failure_of(call(make_hook(tool), make_event(tmp_path)))

    assert found[0] is kind
    assert message in found[1]


@pytest.mark.parametrize(
    ("server", "kind", "message"),
    [
        (plain("dies"), FailureKind.UNREACHABLE, "it ended with exit code 3; its stderr ends with: no license"),
        (plain(command="/nowhere/server", args=()), FailureKind.NOT_FOUND, "/nowhere/server"),
        (plain(command="no-such-program-here"), FailureKind.NOT_FOUND, "no-such-program-here"),
        (plain(env={"TOKEN": "${HOOKLINE_NO_SUCH}"}), FailureKind.UNAVAILABLE, "the variable HOOKLINE_NO_SUCH"),
        (plain(command="", args=()), FailureKind.REFUSED, "it needs either a command or a url"),
        (McpServer(name="plain", url="http://127.0.0.1:9/mcp"), FailureKind.UNREACHABLE, "127.0.0.1:9"),
    ],
    ids=["dies", "path", "name", "variable", "nothing", "refused"],
)
def test_server_that_cannot_be_used_is_a_failure(
    tmp_path: Path, server: McpServer, kind: FailureKind, message: str
) -> None:
    found = failure_of(call(make_hook("scan", server), make_event(tmp_path)))

    assert found[0] is kind
    assert message in found[1]


@pytest.mark.parametrize(
    ("server", "tool", "message"),
    [
        (plain("silent"), "scan", "gave no answer within 1.5 s"),
        (plain("rubbish"), "scan", "it printed, and that is no message of the protocol: Welcome to my server!"),
        (plain(), "hang", "gave no answer within 1.5 s"),
    ],
    ids=["silent", "rubbish", "hangs"],
)
def test_server_that_does_not_answer_is_ended_in_time(
    tmp_path: Path, server: McpServer, tool: str, message: str
) -> None:
    async def try_twice() -> tuple[tuple[FailureKind, str], float]:
        async with kind() as mcp:
            # the SDK is loaded by the first call of a process
            await ask(mcp, make_hook("say", arguments={"text": "x"}), make_event(tmp_path))
            started = time.monotonic()
            found = failure_of(await ask(mcp, make_hook(tool, server), make_event(tmp_path), timeout=1.5))
            return found, time.monotonic() - started

    (failure, text), seconds = asyncio.run(try_twice())

    assert failure is FailureKind.TIMEOUT
    assert message in text
    assert seconds < 10


def test_log_lines_between_messages_do_no_harm(tmp_path: Path) -> None:
    assert decide(make_hook("empty", plain("chatty")), make_event(tmp_path)) == Verdict()


@pytest.mark.spec("D-18")
def test_session_is_kept_and_opened_again_when_its_server_died(tmp_path: Path) -> None:
    async def read_pids() -> list[int]:
        event = make_event(tmp_path)
        async with kind() as mcp:
            pids = [await read_pid(mcp, event) for _ in range(2)]
            os.kill(pids[-1], 9)
            pids.append(await read_pid(mcp, event))
        return pids

    async def read_pid(mcp: Mcp, event: Event) -> int:
        reply = await ask(mcp, make_hook("pid"), event)
        assert isinstance(reply.value, Verdict), reply
        return int(str(reply.value.effects[0].value))

    first, second, third = asyncio.run(read_pids())

    assert first == second != third
    for pid in (first, third):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_caller_that_gives_up_does_not_close_the_session_of_others(tmp_path: Path) -> None:
    async def call_at_once() -> tuple[Reply, Reply]:
        async with kind() as mcp:
            event = make_event(tmp_path)
            await ask(mcp, make_hook("empty"), event)
            hook = make_hook("empty", plain("slow"))
            return await asyncio.gather(ask(mcp, hook, event, timeout=0.5), ask(mcp, hook, event))

    hasty, patient = asyncio.run(call_at_once())

    assert failure_of(hasty)[0] is FailureKind.TIMEOUT
    assert patient.value == Verdict()


def test_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    async def cancel() -> int:
        event = make_event(tmp_path)
        async with kind() as mcp:
            reply = await ask(mcp, make_hook("pid"), event)
            assert isinstance(reply.value, Verdict)
            task = asyncio.ensure_future(ask(mcp, make_hook("hang"), event))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return int(str(reply.value.effects[0].value))

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(cancel()), 0)


@pytest.mark.spec("D-18")
def test_server_of_a_project_is_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_TOKEN", "x")
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    server = plain(is_own=False, root=str(project), cwd=str(project), env={"GIVEN": "y"})
    shown = make_hook("env", server, source=Source.WORKSPACE, layer=Layer.PROJECT, root=str(project))
    writes = make_hook("write", server, source=Source.WORKSPACE, layer=Layer.PROJECT, arguments={"path": str(outside)})

    variables = decide(shown, make_event(project)).metadata["env"]
    call(writes, make_event(project))

    assert isinstance(variables, list)
    assert "GIVEN" in variables
    assert "MY_SECRET_TOKEN" not in variables
    assert not outside.exists()


def test_tool_has_to_be_named_with_its_server(tmp_path: Path) -> None:
    hook = Hook(id="h", mcp="scan", server=plain())

    assert failure_of(call(hook, make_event(tmp_path))) == (FailureKind.REFUSED, 'mcp is "scan", wanted "server/tool"')


def test_hook_without_its_server_says_what_to_do(tmp_path: Path) -> None:
    found = failure_of(call(Hook(id="h", mcp="gone/scan"), make_event(tmp_path)))

    assert found == (
        FailureKind.NOT_FOUND,
        'there is no MCP server "gone"; `hookline mcp list` shows them, `hookline mcp add` adds one',
    )
