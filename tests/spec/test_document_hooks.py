"""Hooks of the shapes the five documents print, configured as each document says, run unchanged."""

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from hookline import Decision, Engine, FailureKind, Hook, HookRegistry, HookRunner, HookTranslator, Outcome, Source
from hookline.project import load_project
from hookline.user_dirs import UserDirs

HOOKS = Path(__file__).parent.parent / "hooks"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")


def emit(hook: Hook, name: str, data: Mapping[str, object], *, cwd: Path | None = None) -> Outcome:
    async def main() -> Outcome:
        async with Engine(cwd=str(cwd) if cwd else None) as engine:
            engine.add(hook)
            return await engine.emit(name, data)

    return asyncio.run(main())


def protocol(event: str, *command: str) -> Hook:
    return Hook(
        id="h", on=event, command=command[0], args=command[1:], dialect="ollm-protocol", source=Source.USER, timeout=20
    )


def ollm(event: str, *command: str, **env: str) -> Hook:
    return Hook(
        id="h", on=event, command=command[0], args=command[1:], dialect="ollm", source=Source.USER, env=env, timeout=20
    )


@pytest.mark.spec("P-24")
@pytest.mark.parametrize("script", [pytest.param("protocol_minimal_jq.sh", marks=needs_jq), "protocol_minimal.sh"])
def test_minimal_protocol_hook(script: str) -> None:
    outcome = emit(protocol("before_tool", "bash", str(HOOKS / script)), "before_tool", {"tool": "shell"})

    assert not outcome.blocked
    assert outcome.messages == ("seen",)


@needs_node
@pytest.mark.spec("P-24", "P-06")
def test_complete_protocol_hook_allows_and_blocks() -> None:
    hook = protocol("before_tool", "node", str(HOOKS / "protocol_complete.js"))

    fine = emit(hook, "before_tool", {"tool": "read_file", "args": {"path": "README.md"}})
    assert (fine.blocked, fine.messages) == (False, ("checked",))
    refused = emit(hook, "before_tool", {"tool": "read_file", "args": {"path": "/etc/shadow"}})
    assert (refused.blocked, refused.reason) == (True, "not that file")


@needs_node
@pytest.mark.spec("P-24", "P-18")
def test_complete_protocol_hook_that_reports_an_error_is_understood() -> None:
    hook = protocol("before_tool", "node", str(HOOKS / "protocol_complete.js"))

    outcome = emit(hook, "before_tool", {"tool": "explode", "args": {}})

    assert outcome.blocked
    (verdict,) = outcome.failures
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.HOOK_ERROR
    assert "RangeError" in verdict.failure.message
    assert "this tool is not known here" in outcome.reason


@needs_node
@pytest.mark.spec("O-16", "O-22")
def test_ollm_example_logs_model_calls(tmp_path: Path) -> None:
    hook = ollm("before_model", "node", str(HOOKS / "ollm_log.js"), HOME=str(tmp_path))

    assert not emit(hook, "before_model", {"model": "llama2", "messages": []}).blocked
    assert (tmp_path / "model-calls.log").read_text() == "llama2\n"


@pytest.mark.spec("O-16", "O-22", "O-06")
@pytest.mark.parametrize(
    "command",
    [pytest.param(("node", "ollm_block.js"), marks=needs_node), ("python3", "ollm_block.py")],
)
def test_ollm_example_blocks_dangerous_commands(command: tuple[str, str]) -> None:
    hook = ollm("before_tool", command[0], str(HOOKS / command[1]))

    blocked = emit(hook, "before_tool", {"tool_name": "shell", "args": {"command": "rm -rf / --no-preserve-root"}})
    assert (blocked.decision, blocked.reason) == (Decision.DENY, "stopped: rm -rf /")
    assert not emit(hook, "before_tool", {"tool_name": "shell", "args": {"command": "ls"}}).blocked


@pytest.mark.spec("O-16", "O-22", "O-07")
def test_ollm_example_adds_context(tmp_path: Path) -> None:
    hook = ollm("before_model", "python3", str(HOOKS / "ollm_context.py"), USER="ann")

    outcome = emit(hook, "before_model", {"model": "llama2"}, cwd=tmp_path)

    assert outcome.context == (f"Folder: {tmp_path.resolve()}\nUser: ann",)


@needs_node
@pytest.mark.spec("O-16")
def test_ollm_hook_that_prints_before_its_answer_is_understood_and_noted() -> None:
    outcome = emit(ollm("before_model", "node", str(HOOKS / "ollm_noisy.js")), "before_model", {"model": "llama2"})

    assert outcome.context == ("the model is llama2",)
    assert "intercepted llama2" in " ".join(outcome.verdicts[0].notes)


@pytest.mark.spec("O-18", "O-22")
def test_flow_of_the_document_by_hand() -> None:
    async def scenario() -> None:
        registry, runner, translator = HookRegistry(), HookRunner(), HookTranslator({})
        registry.register_hook(
            "before_model",
            {
                "id": "context",
                "name": "Context",
                "command": "python3",
                "args": [str(HOOKS / "ollm_context.py")],
                "source": "user",
                "dialect": "ollm",
            },
        )
        hooks = registry.get_hooks_for_event("before_model")
        asked = translator.to_hook_input("before_model", {"model": "llama2"})
        results = await runner.execute_hooks(hooks, asked)
        assert [verdict.decision for verdict in results] == [Decision.PASS]

    asyncio.run(scenario())


@pytest.mark.spec("O-18")
def test_hook_registered_as_the_document_prints_it_can_block(tmp_path: Path) -> None:
    guard = tmp_path / "block-dangerous.py"
    guard.write_text(
        "import json, sys\n"
        "data = json.load(sys.stdin)['data']\n"
        "bad = data['tool_name'] == 'shell' and 'rm -rf /' in data['args']['command']\n"
        "print(json.dumps({'continue': False, 'systemMessage': 'Blocked dangerous command'} if bad else {'continue': True}))\n"
    )

    async def scenario() -> None:
        registry, runner, translator = HookRegistry(), HookRunner(), HookTranslator({})
        registry.register_hook(
            "before_tool",
            {
                "id": "block-dangerous",
                "name": "Block dangerous commands",
                "command": "python3",
                "args": [str(guard)],
                "source": "user",
                "sourcePath": str(guard),
            },
        )
        hooks = registry.get_hooks_for_event("before_tool")
        for command, decision in (("rm -rf /", Decision.DENY), ("ls", Decision.PASS)):
            asked = translator.to_hook_input("before_tool", {"tool_name": "shell", "args": {"command": command}})
            [verdict] = await runner.execute_hooks(hooks, asked)
            assert (verdict.decision, verdict.failure) == (decision, None)

    asyncio.run(scenario())


@pytest.mark.spec("O-21")
def test_hook_can_be_tried_by_hand() -> None:
    import subprocess  # noqa: PLC0415

    asked = '{"event":"before_model","data":{"model":"llama2"}}'
    done = subprocess.run(
        f"echo '{asked}' | python3 {HOOKS}/ollm_context.py", shell=True, capture_output=True, check=True, timeout=30
    )

    assert json.loads(done.stdout)["continue"] is True


@pytest.mark.spec("D-13")
def test_rpc_hook_asks_the_agent_and_reports_errors() -> None:
    hook = Hook(
        id="h",
        on=("after_agent", "user_triggered"),
        command="python3",
        args=(str(HOOKS / "rpc_follow_up.py"),),
        dialect="ollm-rpc",
        source=Source.USER,
        timeout=20,
    )

    assert emit(hook, "agentStop", {"response": "done"}).follow_ups == ("Look at what agentStop left behind",)
    (verdict,) = emit(hook, "user_triggered", {}).failures
    assert verdict.failure is not None
    assert "no linter here" in verdict.failure.message


class _Inbox(BaseHTTPRequestHandler):
    received: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Stay quiet."""


@pytest.fixture
def inbox() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Inbox)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join(10)
    server.server_close()


def settings(project: Path, place: str, document: object) -> Engine:
    """Lay out a project with one settings file in the person's own home, and load it."""
    path = project / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    folders = UserDirs(home=project, config=project / "cfg", data=project / "data")
    work = project / "work"
    work.mkdir(exist_ok=True)
    return load_project(work, folders=folders).engine


async def ask(engine: Engine, name: str, data: Mapping[str, object]) -> Outcome:
    async with engine:
        assert engine.problems == ()
        return await engine.emit(name, data)


def ollama(tmp_path: Path, event: str, hook: Mapping[str, object]) -> Engine:
    return settings(tmp_path, ".ollama/settings.json", {"hooks": {event: [{"matcher": "", "hooks": [hook]}]}})


@pytest.mark.spec("C-16", "C-03", "C-07")
def test_ollama_policy_denies(tmp_path: Path) -> None:
    hook = {"type": "command", "command": f"python3 {HOOKS}/ollama_policy.py", "shell": True, "timeout": 20}
    call = {"tool": "shell", "args": {"command": "rm -rf build"}}

    outcome = asyncio.run(ask(ollama(tmp_path, "PreToolUse", hook), "PreToolUse", call))

    assert (outcome.decision, outcome.reason) == (Decision.DENY, "this command destroys")


@pytest.mark.spec("C-16", "C-04", "C-06")
@pytest.mark.parametrize("isolated", [False, True])
def test_ollama_policy_as_a_python_function(tmp_path: Path, *, isolated: bool) -> None:
    folder = tmp_path / ".ollama" / "hooks"
    folder.mkdir(parents=True)
    shutil.copy(HOOKS / "ollama_policy.py", folder / "policy.py")
    hook = {"type": "python", "module": "policy.on_pre_tool_use", "isolated": isolated, "timeout": 20}
    call = {"tool": "shell", "args": {"command": "dd if=/dev/zero of=x"}}

    outcome = asyncio.run(ask(ollama(tmp_path, "PreToolUse", hook), "PreToolUse", call))

    assert (outcome.decision, outcome.reason) == (Decision.DENY, "this command destroys")


@pytest.mark.spec("C-16", "C-06")
def test_ollama_logger_gets_the_payload_on_one_line(tmp_path: Path) -> None:
    hook = {
        "type": "command",
        "command": f"HOME={tmp_path} python3 {HOOKS}/ollama_logger.py",
        "shell": True,
        "timeout": 20,
    }
    data = {"tool": "shell", "args": {"command": "ls"}, "result": "a\nb"}

    outcome = asyncio.run(ask(ollama(tmp_path, "PostToolUse", hook), "PostToolUse", data))

    assert outcome.failures == ()
    (line,) = (tmp_path / "tool_logs.jsonl").read_text().splitlines()
    assert json.loads(line)["hook"] == "PostToolUse"


@pytest.mark.spec("C-16")
def test_ollama_notification_posts_the_summary(tmp_path: Path, inbox: str) -> None:
    hook = {"type": "command", "command": f"python3 {HOOKS}/ollama_notify.py", "shell": True, "timeout": 20}
    data = {"webhook_url": inbox, "summary": {"total_tokens": 42}}

    outcome = asyncio.run(ask(ollama(tmp_path, "SessionEnd", hook), "SessionEnd", data))

    assert outcome.failures == ()
    assert _Inbox.received == [b'{"text": "42 tokens used"}']


def agent(tmp_path: Path, event: str, *commands: str, matcher: str = "*") -> Engine:
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": command} for command in commands]}
    return settings(tmp_path, ".config/agent/settings.json", {"hooks": {event: [group]}})


@pytest.mark.spec("A-18", "A-04")
def test_agent_example_formats_and_stages_what_was_written(tmp_path: Path) -> None:
    formatter = tmp_path / "format"
    formatter.write_text('#!/bin/sh\nsed -i s/tab/space/ "$1"\n')
    formatter.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    os.system(f"git init -q {work}")  # noqa: S605 - a folder of our own
    (work / "a file.txt").write_text("tab\n")
    engine = agent(
        tmp_path,
        "PostToolUse",
        f"{formatter} {{{{tool_args.file_path}}}} 2>/dev/null || true",
        "git add {{tool_args.file_path}} 2>/dev/null || true",
        matcher="write_file|replace_in_file",
    )

    asyncio.run(ask(engine, "after_tool", {"tool": "write_file", "args": {"path": "a file.txt"}, "result": "ok"}))

    assert (work / "a file.txt").read_text() == "space\n"
    assert (work / ".git" / "index").exists()


@pytest.mark.spec("A-18", "A-05")
def test_agent_example_writes_an_audit_log_that_nothing_can_be_injected_into(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    engine = agent(
        tmp_path,
        "PostToolUse",
        f"echo '[$(date)] TOOL: {{{{tool_name}}}} - {{{{result}}}}' | head -c 200 >> {log}",
    )
    hostile = "'; touch pwned; echo '$(touch pwned)`touch pwned`"

    asyncio.run(ask(engine, "after_tool", {"tool": "shell", "args": {"command": "x"}, "result": hostile}))

    assert log.read_text() == f"[$(date)] TOOL: bash_execute - {hostile}\n"
    assert not (tmp_path / "work" / "pwned").exists()


@pytest.mark.spec("A-18")
def test_agent_example_sends_notifications(tmp_path: Path) -> None:
    sender = tmp_path / "slack-cli"
    sender.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/sent\n')
    sender.chmod(0o755)
    engine = agent(tmp_path, "Notification", f"{sender} send '#ai-agents' '{{{{message}}}}'")

    asyncio.run(ask(engine, "notification", {"message": "it's done; really"}))

    assert (tmp_path / "sent").read_text() == "send|#ai-agents|it's done; really|"


@pytest.mark.spec("A-18", "A-07")
def test_agent_example_asks_an_external_check(tmp_path: Path) -> None:
    engine = agent(
        tmp_path,
        "PreToolUse",
        f"python3 {HOOKS}/agent_security_check.py '{{{{tool_args.command}}}}'",
        matcher="bash_execute",
    )

    outcome = asyncio.run(ask(engine, "before_tool", {"tool": "shell", "args": {"command": "sudo reboot"}}))

    assert (outcome.decision, outcome.reason) == (Decision.DENY, "the command is risky")
    assert outcome.verdicts[0].metadata == {"risk_level": "high", "blocked_patterns": ["sudo"]}
