import asyncio
import json
import logging
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.compat.cli_agent import (
    EventBus,
    HookConfig,
    HookDefinition,
    HookEvent,
    HookEventType,
    HookExecutionCompleteEvent,
    HookExecutionErrorEvent,
    HookExecutionStartEvent,
    HookExecutor,
    HookManager,
    HookMatcher,
    HookResult,
    HookType,
    HostConfig,
)
from hookline.engine.bus import MessageBus
from hookline.errors import ConfigError, DialectError

PRE = HookType.PRE_TOOL_USE
POST = HookType.POST_TOOL_USE

CALL = {
    "tool_name": "bash_execute",
    "tool_args": {"command": "ls -l"},
    "timestamp": "2026-01-02T03:04:05",
    "session_id": "s1",
}


def settings_of(event: str, *commands: str, matcher: str = "*", **more: object) -> dict[str, object]:
    entries = [{"type": "command", "command": command, **more} for command in commands]
    return {"hooks": {event: [{"matcher": matcher, "hooks": entries}]}}


def put(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path


def config(hook_type: HookType, *commands: str, matcher: str = "*") -> HookConfig:
    hooks = [HookDefinition("command", command) for command in commands]
    return HookConfig({hook_type: [HookMatcher(matcher, hooks)]})


def execute(command: str, context: Mapping[str, object] = CALL, **more: object) -> HookResult:
    build: Callable[..., HookDefinition] = HookDefinition

    async def run() -> HookResult:
        executor = HookExecutor()
        try:
            return await executor.execute_hook(build("command", command, **more), context)
        finally:
            await executor.close()

    return asyncio.run(run())


def execute_all(
    hooks: HookConfig,
    hook_type: HookType,
    context: Mapping[str, object] = CALL,
    *,
    bus: MessageBus | EventBus | None = None,
) -> list[HookResult]:
    async def run() -> list[HookResult]:
        manager = HookManager(hooks, bus)
        try:
            return await manager.execute_hooks(hook_type, context)
        finally:
            await manager.close()

    return asyncio.run(run())


def commands(hooks: HookConfig, hook_type: HookType) -> list[tuple[str, str]]:
    return [(group.matcher, hook.command) for group in hooks.hooks.get(hook_type, ()) for hook in group.hooks]


@pytest.mark.spec("A-10")
def test_settings_file_becomes_matchers_with_definitions(tmp_path: Path) -> None:
    text = """{
      "hooks": {
        "PreToolUse": [
          {"matcher": "bash_execute", "hooks": [{"type": "command", "command": "echo 'about to run'"}]}
        ],
        "PostToolUse": [
          {"matcher": "write_file|replace_in_file", "hooks": [
            {"type": "command", "command": "black {{tool_args.file_path}}", "timeout": 5, "env": {"A": "1"}},
            {"type": "command", "command": "git add {{tool_args.file_path}}", "working_directory": "src"},
          ]},
          {"hooks": [{"type": "command", "command": "echo done"}]},
        ],
        "Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "echo bye"}]}]  // and that is it
      }
    }"""
    loaded = HookConfig.load_from_file(put(tmp_path / "settings.json", text))

    assert loaded.problems == ()
    assert commands(loaded, PRE) == [("bash_execute", "echo 'about to run'")]
    assert [(group.matcher, len(group.hooks)) for group in loaded.hooks[POST]] == [
        ("write_file|replace_in_file", 2),
        ("*", 1),
    ]
    first, second = loaded.hooks[POST][0].hooks
    assert (first.type, first.timeout, first.env, first.working_directory) == ("command", 5, {"A": "1"}, None)
    assert (second.timeout, second.env, second.working_directory) == (None, None, "src")
    assert commands(loaded, HookType.STOP) == [("*", "echo bye")]
    assert commands(loaded, HookType.NOTIFICATION) == []


@pytest.mark.spec("A-10")
def test_broken_settings_file_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = put(tmp_path / "settings.json", '{\n"hooks": {]\n}')

    with pytest.raises(ConfigError, match=r"settings\.json:2: "):
        HookConfig.load_from_file(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        HookConfig.load_from_file(tmp_path / "missing.json")


@pytest.mark.spec("A-10")
def test_mistakes_in_a_settings_file_are_told_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mistakes = {
        "PreToolUs": [],
        "PreToolUse": [{"matcher": "(", "hooks": [{"command": "echo x"}]}],
        "session_start": [{"hooks": [{"command": "echo x"}]}],
        "PostToolUse": [{"hooks": [{"command": "eval {{result}}"}]}],
        "Stop": [{"hooks": [{"command": "echo fine", "timout": 3}]}],
    }
    loaded = HookConfig.load_from_file(put(tmp_path / "settings.json", {"hooks": mistakes}))
    texts = [str(problem) for problem in loaded.problems]

    assert len(texts) == 5
    for words in (
        "PreToolUse",
        "no regular expression",
        "CLI-Agent has no event session_start",
        "timeout",
        "will not be run",
    ):
        assert any(words in text for text in texts)
    assert [record.getMessage() for record in caplog.records] == texts
    assert commands(loaded, HookType.STOP) == [("*", "echo fine")]
    assert commands(loaded, PRE) == []
    assert commands(loaded, POST) == [("*", "eval {{result}}")]


def four_files(tmp_path: Path) -> tuple[Path, Path]:
    project, home = tmp_path / "project", tmp_path / "home"
    put(project / ".config/agent/settings.local.json", settings_of("Stop", "echo local"))
    put(project / ".config/agent/settings.json", settings_of("Stop", "echo project"))
    put(home / ".config/agent/settings.json", settings_of("Stop", "echo person"))
    put(home / ".config/cli-agent/settings.json", settings_of("Stop", "echo agent", "echo project"))
    return project, home


@pytest.mark.spec("A-02", "A-10")
def test_all_sources_are_merged_when_the_project_is_trusted(tmp_path: Path) -> None:
    project, home = four_files(tmp_path)
    loaded = HookConfig.load_from_multiple_sources(project, home, trusted_project=True)

    assert [command for _, command in commands(loaded, HookType.STOP)] == [
        "echo local",
        "echo project",
        "echo person",
        "echo agent",
    ]


@pytest.mark.spec("A-02")
def test_files_of_a_project_nobody_vouched_for_are_left_out_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project, home = four_files(tmp_path)
    loaded = HookConfig.load_from_multiple_sources(project, home)

    assert [command for _, command in commands(loaded, HookType.STOP)] == ["echo person", "echo agent", "echo project"]
    assert [(record.levelno, "not trusted" in record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, True)
    ] * 2


def test_working_in_the_home_folder_keeps_the_persons_own_hooks(tmp_path: Path) -> None:
    put(tmp_path / ".config/agent/settings.json", settings_of("Stop", "echo mine"))
    loaded = HookConfig.load_from_multiple_sources(tmp_path, tmp_path)

    assert commands(loaded, HookType.STOP) == [("*", "echo mine")]
    assert loaded.problems == ()


@pytest.mark.spec("A-16")
def test_hooks_can_be_switched_off_and_given_a_time(tmp_path: Path) -> None:
    project, home = four_files(tmp_path)
    off = HostConfig.from_environment({"HOOKS_ENABLED": "false"})
    quick = HostConfig.from_environment({"HOOKS_TIMEOUT": "7"})

    assert off.load_hook_config(project, home) is None
    assert quick.load_hook_config(project, home) is not None
    assert (quick.hooks_enabled, quick.hooks_timeout) == (True, 7)
    assert HostConfig.from_environment({}) == HostConfig(hooks_enabled=True, hooks_timeout=30)
    with pytest.raises(ConfigError, match="HOOKS_ENABLED"):
        HostConfig.from_environment({"HOOKS_ENABLED": "perhaps"})


@pytest.mark.spec("A-16")
def test_the_timeout_setting_ends_hooks_without_a_time_of_their_own(tmp_path: Path) -> None:
    path = put(tmp_path / "settings.json", settings_of("PreToolUse", "sleep 30"))

    async def run() -> list[HookResult]:
        manager = HookManager(HookConfig.load_from_file(path), timeout=0.2)
        return await manager.execute_hooks(PRE, CALL)

    (result,) = asyncio.run(run())
    assert not result.success
    assert result.should_continue
    assert "0.2 s" in str(result.reason)


@pytest.mark.spec("A-11")
def test_hook_that_succeeds_approves(tmp_path: Path) -> None:
    result = execute(f"cat > {shlex.quote(str(tmp_path))}/seen; echo out; echo err >&2")

    assert (result.success, result.exit_code, result.stdout, result.stderr) == (True, 0, "out\n", "err\n")
    assert (result.should_continue, result.decision, result.reason, result.json_output) == (True, "approve", None, None)
    assert 0 < result.execution_time < 30
    seen = json.loads((tmp_path / "seen").read_text())
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "bash_execute")
    assert seen["tool_args"] == {"command": "ls -l"}


@pytest.mark.spec("A-06", "A-11")
@pytest.mark.parametrize(
    ("command", "code", "goes_on", "decision", "reason"),
    [
        ("echo no >&2; exit 2", 2, False, "block", "no"),
        ("exit 3", 3, True, "approve", None),
        ("/nowhere/guard", 127, True, "approve", None),
    ],
)
def test_exit_codes_mean_what_the_document_says(
    command: str, code: int, *, goes_on: bool, decision: str, reason: str | None
) -> None:
    result = execute(command)

    assert not result.success
    assert (result.exit_code, result.should_continue, result.decision) == (code, goes_on, decision)
    assert reason is None or result.reason == reason


@pytest.mark.spec("A-07", "A-11")
@pytest.mark.parametrize(
    ("answer", "goes_on", "decision", "reason"),
    [
        ({"continue": True, "decision": "approve", "reason": "safe"}, True, "approve", "safe"),
        ({"continue": False, "decision": "block", "reason": "rm", "metadata": {"risk": 1}}, False, "block", "rm"),
        ({"decision": "ask", "reason": "sure?"}, False, "ask", "sure?"),
        ({"decision": "modify", "modified_args": {"command": "ls"}}, True, "modify", None),
    ],
)
def test_json_answers_are_read(answer: dict[str, object], *, goes_on: bool, decision: str, reason: str | None) -> None:
    result = execute(f"printf %s {shlex.quote(json.dumps(answer))}")

    assert result.json_output == answer
    assert (result.success, result.should_continue, result.decision) == (True, goes_on, decision)
    assert result.reason == reason


def test_answer_of_a_hook_that_failed_does_not_count() -> None:
    result = execute("""echo '{"modified_args": {"command": "x"}}'; exit 1""")

    assert result.json_output is None
    assert "modified_args" in result.stdout


@pytest.mark.spec("A-09", "A-11")
def test_timeout_folder_and_environment_of_a_definition_are_kept(tmp_path: Path) -> None:
    result = execute("pwd; echo $LEVEL", working_directory=str(tmp_path), env={"LEVEL": "high"})
    late = execute("sleep 30", timeout=0.2)

    assert result.stdout == f"{tmp_path}\nhigh\n"
    assert late.exit_code != 0


@pytest.mark.spec("A-04", "A-05", "A-11")
@pytest.mark.parametrize(
    "value", ["$(touch canary)", "'; touch canary; '", '"; touch canary; "', "`x`\n$HOME", "-n", ""]
)
def test_values_of_a_context_stay_one_word(value: str, tmp_path: Path) -> None:
    context = {**CALL, "tool_args": {"command": value}}
    command = "printf '<%s>' {{tool_args.command}} '{{tool_args.command}}' \"{{tool_args.command}}\""
    result = execute(command, context, working_directory=str(tmp_path))

    assert result.stdout == f"<{value}>" * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("A-11")
@pytest.mark.parametrize(
    "value", ["$(touch canary)", "'; touch canary; '", '"; touch canary; "', "`x`\n$HOME", "-n", ""]
)
def test_shown_line_does_what_the_hook_does(value: str, tmp_path: Path) -> None:
    context = {**CALL, "tool_args": {"command": value}}
    command = (
        "printf '<%s>' {{tool_args.command}} 'a {{tool_args.command}}' \"b {{tool_args.command}}\""
        ' "$(printf %s {{tool_args.command}}x)" {{tool_name}}'
    )
    line = HookExecutor().substitute_template_variables(command, context)
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, cwd=tmp_path)

    assert done.stdout.decode() == f"<{value}><a {value}><b {value}><{value}x><bash_execute>"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("A-04", "A-11")
def test_shown_line_has_every_documented_variable() -> None:
    context = {
        **CALL,
        "tool_args": {"file_path": "a b.py", "deep": {"x": [1, True]}},
        "result": "fine",
        "message": "hello",
        "user_input": "please",
    }
    show = HookExecutor().substitute_template_variables

    assert show("black {{tool_args.file_path}} || true", context) == "black 'a b.py' || true"
    assert show("echo {{tool_name}} {{result}} {{session_id}}", context) == "echo bash_execute fine s1"
    assert show("echo '{{message}}' {{user_input}}", context) == "echo 'hello' please"
    assert show("echo {{tool_args.deep}}", context) == """echo '{"x":[1,true]}'"""
    assert show("notify-send 'Ran {{tool_name}}'", context) == "notify-send 'Ran bash_execute'"
    assert show("echo {{missing}}", context) == "echo ''"
    assert show("docker ps --format '{{.Names}}'", context) == "docker ps --format '{{.Names}}'"
    assert "2026-01-02T" in show("echo {{timestamp}}", context)


CONTEXTS = (
    "{{v}}", "'{{v}}'", '"{{v}}"', "x{{v}}y", "'x {{v}} y'", '"x {{v}} y"', "'a'{{v}}'b'", '"a"{{v}}"b"', "''{{v}}''",
    '"\\"{{v}}\\""', "\\'{{v}}'b'", "'{{v}}{{v}}'", '"{{v}}{{v}}"', '"$(printf %s {{v}}/)"', "\"$(printf %s '{{v}}/')\"",
)  # fmt: skip


@pytest.mark.spec("A-05", "A-11")
@settings(max_examples=40)
@given(
    st.text(alphabet="a'\"\\$`!() *?~#;&|<>{}\n\té", max_size=8), st.sampled_from(CONTEXTS), st.sampled_from(CONTEXTS)
)
def test_shown_line_gives_every_program_the_words_the_hook_gives(value: str, first: str, second: str) -> None:
    command = f"printf '%s\\0' {first} {second}".replace("{{v}}", "{{tool_args.command}}")
    line = HookExecutor().substitute_template_variables(command, {**CALL, "tool_args": {"command": value}})
    shown = subprocess.run(["sh", "-c", line], capture_output=True, check=True)

    assert shown.stdout.decode() == execute(command, {**CALL, "tool_args": {"command": value}}).stdout


@pytest.mark.spec("A-05", "A-11")
def test_line_that_no_quoting_makes_safe_is_not_shown() -> None:
    with pytest.raises(ConfigError, match="column"):
        HookExecutor().substitute_template_variables("eval {{tool_args.command}}", CALL)


@pytest.mark.spec("A-11")
@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        ('{"continue": true}', {"continue": True}),
        (' {"a": 1}\n', {"a": 1}),
        ("", None),
        ("plain", None),
        ("[1]", None),
        ('noise {"decision": "approve"}', None),
        ('{"a": 1', None),
    ],
)
def test_only_a_whole_object_is_an_answer(stdout: str, expected: object) -> None:
    assert HookExecutor().parse_json_output(stdout) == expected


@pytest.mark.spec("A-03", "A-12")
@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("*", "anything", True),
        ("", "anything", True),
        ("bash_execute", "bash_execute", True),
        ("bash_execute", "bash_execute_all", False),
        ("Bash", "bash_execute", True),
        ("builtin:*", "bash_execute", True),
        ("builtin:*", "mcp__git__push", False),
        ("mcp__*", "mcp__git__push", True),
        ("mcp__*", "bash_execute", False),
        ("write_file|replace_in_file", "replace_in_file", True),
        ("write_file|replace_in_file", "read_file", False),
    ],
)
def test_matchers_choose_hooks_by_tool(matcher: str, tool: str, *, expected: bool) -> None:
    manager = HookManager(config(PRE, "echo x", matcher=matcher))

    assert [hook.command for hook in manager.match_hooks(PRE, tool)] == (["echo x"] if expected else [])
    assert manager.match_hooks(HookType.STOP, tool) == []


@pytest.mark.spec("A-12")
def test_hooks_of_one_moment_run_in_order_and_only_for_their_tools() -> None:
    hooks = [HookMatcher("read_file", [HookDefinition("command", "echo never")])]
    hooks += [HookMatcher("*", [HookDefinition("command", f"echo {number}") for number in (1, 2)])]
    hooks += [HookMatcher("bash_execute", [HookDefinition("command", "echo 3")])]
    results = execute_all(HookConfig({PRE: hooks, POST: hooks}), PRE)

    assert [result.stdout for result in results] == ["1\n", "2\n", "3\n"]


@pytest.mark.spec("A-08", "A-12")
def test_next_hook_sees_the_arguments_the_one_before_changed() -> None:
    answer = json.dumps({"decision": "modify", "modified_args": {"command": "ls -a"}})
    results = execute_all(config(PRE, f"echo {shlex.quote(answer)}", "echo got {{tool_args.command}}"), PRE)

    assert results[0].json_output == json.loads(answer)
    assert results[1].stdout == "got ls -a\n"


@pytest.mark.spec("A-12")
def test_hook_that_says_not_to_continue_is_the_last_one() -> None:
    results = execute_all(config(PRE, """echo '{"continue": false, "reason": "stop here"}'""", "echo more"), PRE)

    assert len(results) == 1
    assert HookManager(HookConfig({})).should_block_operation(results) == (True, "stop here")


@pytest.mark.spec("A-12")
def test_operation_is_blocked_with_all_reasons() -> None:
    results = execute_all(config(PRE, "echo one >&2; exit 2", "exit 1", "echo two >&2; exit 2"), PRE)
    manager = HookManager(HookConfig({}))

    assert [result.decision for result in results] == ["block", "approve", "block"]
    assert manager.should_block_operation(results) == (True, "one\ntwo")
    assert manager.should_block_operation(results[1:2]) == (False, "")
    assert manager.should_block_operation([]) == (False, "")


@pytest.mark.spec("A-12")
@pytest.mark.parametrize(
    ("hook_type", "context", "command", "expected"),
    [
        (POST, {**CALL, "result": "42", "execution_time": 0.5}, "echo {{result}} {{execution_time}}", "42 0.5\n"),
        (POST, {**CALL, "error": "disk full"}, "echo '{{error}}'", "disk full\n"),
        (HookType.NOTIFICATION, {"message": "hi there", "event_type": "status"}, "echo {{message}}", "hi there\n"),
        (HookType.STOP, {"session_id": "s1", "conversation_length": 4}, "echo {{conversation_length}}", "4\n"),
    ],
)
def test_every_moment_reaches_its_hooks(
    hook_type: HookType, context: dict[str, object], command: str, expected: str
) -> None:
    (result,) = execute_all(config(hook_type, command), hook_type, context)

    assert result.stdout == expected


def test_notification_hooks_can_be_chosen_by_type() -> None:
    manager = HookManager(config(HookType.NOTIFICATION, "echo x", matcher="error"))

    assert len(manager.match_hooks(HookType.NOTIFICATION, "error")) == 1
    assert manager.match_hooks(HookType.NOTIFICATION, "status") == []


def test_context_names_its_moment_where_the_fields_do_not() -> None:
    assert "PostToolUse" in execute("cat", {**CALL, "hook_event_name": "PostToolUse"}).stdout
    assert '"Stop"' in execute("cat", {"session_id": "s"}).stdout
    assert "Notification" in execute("cat", {"message": "m"}).stdout
    assert "PostToolUse" in execute("cat", {**CALL, "error": "e"}).stdout


def test_context_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(DialectError, match="tool_args"):
        execute("true", {"tool_name": "x", "tool_args": "not an object"})


def test_matcher_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ConfigError, match="regular expression"):
        HookManager(config(PRE, "true", matcher="("))


def test_program_builds_command_hooks_only() -> None:
    with pytest.raises(ConfigError, match='type "webhook"'):
        HookManager(HookConfig({PRE: [HookMatcher("*", [HookDefinition("webhook", "http://x")])]}))


def test_python_hook_of_a_file_runs_and_may_block(tmp_path: Path) -> None:
    put(tmp_path / "guards.py", "def no(payload):\n    return {'decision': 'block', 'reason': payload['tool_name']}\n")
    entry = {"type": "python", "module": "guards", "function": "no", "name": "No"}
    path = put(tmp_path / "settings.json", {"hooks": {"PreToolUse": [{"hooks": [entry]}]}})
    (result,) = execute_all(HookConfig.load_from_file(path), PRE, {**CALL, "cwd": str(tmp_path)})

    assert (result.decision, result.reason) == ("block", "bash_execute")
    assert result.json_output == {"decision": "block", "reason": "bash_execute"}


def test_failing_guard_of_a_file_blocks_when_it_says_so(tmp_path: Path) -> None:
    path = put(tmp_path / "settings.json", settings_of("PreToolUse", "exit 1", on_error="block"))
    (result,) = execute_all(HookConfig.load_from_file(path), PRE)

    assert (result.success, result.should_continue, result.decision) == (False, False, "block")


class Recorder:
    """A program's own bus, as the document has it."""

    def __init__(self) -> None:
        self.events: list[HookEvent] = []

    async def emit(self, event: HookEvent, /) -> None:
        self.events.append(event)


@pytest.mark.spec("A-13")
def test_bus_hears_of_start_completion_and_error() -> None:
    bus = Recorder()
    results = execute_all(config(PRE, "echo fine", "exit 3"), PRE, bus=bus)
    start, complete, start_again, error = bus.events

    assert start == HookExecutionStartEvent(hook_type="PreToolUse", hook_command="echo fine", context=CALL)
    assert complete == HookExecutionCompleteEvent(hook_type="PreToolUse", hook_command="echo fine", result=results[0])
    assert start_again.event_type is HookEventType.HOOK_EXECUTION_START
    assert isinstance(error, HookExecutionErrorEvent)
    assert (error.event_type, error.hook_command) == (HookEventType.HOOK_EXECUTION_ERROR, "exit 3")
    assert "3" in error.error


@pytest.mark.spec("A-13")
def test_message_bus_of_the_engine_hears_the_same_by_topic() -> None:
    bus = MessageBus()
    heard: list[tuple[str, object]] = []
    bus.on("*", lambda topic, data: heard.append((topic, type(data).__name__)))
    execute_all(config(PRE, "true"), PRE, bus=bus)

    assert heard == [
        ("hook_execution_start", "HookExecutionStartEvent"),
        ("hook_execution_complete", "HookExecutionCompleteEvent"),
    ]


@pytest.mark.spec("A-13")
def test_bus_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def emit(self, event: HookEvent, /) -> object:
            raise RuntimeError(event.hook_command)

    (result,) = execute_all(config(PRE, "echo fine"), PRE, bus=Broken())

    assert result.success
    assert [record.message for record in caplog.records] == [
        "the event bus failed on hook_execution_start",
        "the event bus failed on hook_execution_complete",
    ]


@pytest.mark.spec("A-11")
def test_hook_in_python_reads_the_context_from_stdin() -> None:
    program = "import json, sys; print(json.dumps({'decision': 'block', 'reason': json.load(sys.stdin)['session_id']}))"
    result = execute(f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}")

    assert result.reason == "s1"
