"""The built-in hooks of each of the 14 events, on and off, through the command line that agents call."""

import json
from collections.abc import Callable

import pytest

from tests.builtin.machine import Machine
from tests.web_service import server

pytestmark = [pytest.mark.spec("C-19"), pytest.mark.slow]

BOTH_WAYS = pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
KEY = "sk-ant-api03-abcdefghijk1234567890"


def _told(answer: dict[str, dict[str, str]]) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


@BOTH_WAYS
@pytest.mark.parametrize("event", ["setup", "session_start"])
def test_setup_tells_the_model_git_status_and_context_files(machine: Machine, event: str, *, on: bool) -> None:
    if on:
        machine.switch_on("git-status", "context-files")
    machine.git("init", "-q")
    (machine.project / "OLLAMA.md").write_text("tests run with `make sesame`\n")
    machine.git("add", "-A")
    machine.git("commit", "-q", "-m", "the first commit")
    (machine.project / "new.py").write_text("x = 1\n")

    outcome = machine.emit(event, {"source": "startup"} if event == "session_start" else {"trigger": "init"})

    told = json.dumps(outcome)
    assert [part in told for part in ("make sesame", "?? new.py", "## main", "the first commit")] == [on] * 4


@BOTH_WAYS
def test_session_start_of_an_agent_without_setup_tells_the_model(machine: Machine, *, on: bool) -> None:
    if on:
        machine.switch_on("git-status", "context-files")
    machine.git("init", "-q")
    (machine.project / "OLLAMA.md").write_text("tests run with `make sesame`\n")

    for agent, payload in (("claude-code", "SessionStart.startup"), ("codex-cli", "SessionStart")):
        told = _told(machine.call(agent, payload))
        assert ("make sesame" in told) is on
        assert ("?? OLLAMA.md" in told) is on


@BOTH_WAYS
def test_session_end_leaves_a_summary(machine: Machine, *, on: bool) -> None:
    machine.switch_on("dangerous", *(["session-summary"] if on else []))
    machine.call("claude-code", "UserPromptSubmit")
    machine.call("claude-code", "PostToolUse.Write")
    machine.call("claude-code", "PostToolUse.Bash")
    machine.call("claude-code", "PostToolUseFailure.Bash")
    machine.call("claude-code", "PreToolUse.Bash", tool_input={"command": "rm -rf /"})

    machine.call("claude-code", "SessionEnd")

    found = machine.log("session-summary")
    assert len(found) is int(on)
    for one in found:
        assert (one["event"], one["agent"], one["prompts"], one["failed"]) == ("session_end", "claude-code", 1, 1)
        assert one["tools"] == {"write_file": 1, "shell": 2}
        assert "echo oops >&2; exit 3" in one["commands"]
        assert one["changed"] == [str(machine.project / "hello.txt")]
        assert "rm -rf /" in one["blocked"][0]
        assert "deletes everything on this machine" in one["blocked"][0]


@BOTH_WAYS
def test_prompts_are_filtered_and_logged(machine: Machine, *, on: bool) -> None:
    if on:
        machine.switch_on("prompt-filter", "prompt-log", options='[builtin.prompt-filter]\ndeny = ["(?i)project x"]\n')

    answers = [
        machine.call("claude-code", "UserPromptSubmit", prompt=prompt)
        for prompt in ("say hi", f"use {KEY} for it", "tell them about Project X")
    ]

    assert [answer.get("decision") == "block" for answer in answers] == [False, on, on]
    prompts = [one["prompt"] for one in machine.log("prompt-log")]
    assert prompts == (["say hi", "use sk-ant…[secret] for it", "tell them about Project X"] if on else [])
    assert KEY not in json.dumps(answers)


@BOTH_WAYS
@pytest.mark.parametrize(
    ("agent", "payload"),
    [("claude-code", "PreToolUse.Bash"), ("codex-cli", "PreToolUse.Bash")],
    ids=lambda one: one[:6],
)
def test_calls_that_delete_folders_or_touch_env_files_are_denied(
    machine: Machine, agent: str, payload: str, *, on: bool
) -> None:
    if on:
        machine.switch_on("rm-rf", "env-files")
    (machine.project / "src").mkdir()
    (machine.project / ".env").write_text("A=1\n")

    def is_denied(line: str) -> bool:
        answer = machine.call(agent, payload, tool_input={"command": line})
        return '"deny"' in json.dumps(answer)

    assert [is_denied(line) for line in ("rm -rf src", "cat .env", "echo B=1 >> .env")] == [on] * 3
    assert [is_denied(line) for line in ("rm -rf build node_modules", "cat .env.example", "rm src/a.o")] == [False] * 3


@BOTH_WAYS
def test_file_tools_are_kept_from_env_files(machine: Machine, *, on: bool) -> None:
    if on:
        machine.switch_on("env-files")
    answer = machine.call("claude-code", "PreToolUse.Read", tool_input={"file_path": str(machine.project / ".env")})
    assert ('"deny"' in json.dumps(answer)) is on


@BOTH_WAYS
@pytest.mark.parametrize(
    ("agent", "payload"),
    [("claude-code", "PostToolUse.Bash"), ("codex-cli", "PostToolUse.Bash"), ("gemini-cli", "AfterTool")],
)
def test_tool_calls_are_logged(machine: Machine, agent: str, payload: str, *, on: bool) -> None:
    if on:
        machine.switch_on("tool-log")
    machine.call(agent, payload)

    found = machine.log("tool-log")
    assert len(found) is int(on)
    for one in found:
        assert (one["event"], one["agent"], one["tool"]) == ("after_tool", agent, "shell")
        assert one["args"]["command"] == "echo hi | tee ran_shell.txt"
        assert "hi" in json.dumps(one["result"])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("EACCES: permission denied, open '/etc/shadow'", "permission"),
        ("cat: nothing.txt: No such file or directory", "not_found"),
        ("Command timed out after 2m", "timeout"),
        ("getaddrinfo ENOTFOUND example.invalid", "network"),
    ],
)
def test_failures_are_logged_with_their_class(machine: Machine, error: str, kind: str, *, on: bool) -> None:
    if on:
        machine.switch_on("error-log")
    machine.call("claude-code", "PostToolUseFailure.Bash", error=error)
    machine.call("claude-code", "PostToolUse.Bash")

    assert [(one["error_type"], one["error"], one["tool"]) for one in machine.log("error-log")] == (
        [(kind, error, "shell")] if on else []
    )


@BOTH_WAYS
@pytest.mark.parametrize(
    ("agent", "payload"), [("claude-code", "PermissionRequest.Bash"), ("codex-cli", "PermissionRequest.Bash")]
)
def test_permission_requests_are_audited_and_reading_is_allowed(
    machine: Machine, agent: str, payload: str, *, on: bool
) -> None:
    if on:
        machine.switch_on("permission-log", "read-only")
    answers = [machine.call(agent, payload, tool_input={"command": line}) for line in ("ls", "make install")]

    assert ['"allow"' in json.dumps(answer) for answer in answers] == [on, False]
    found = [(one["args"]["command"], one["read_only"]) for one in machine.log("permission-log")]
    assert found == ([("ls", True), ("make install", False)] if on else [])


@BOTH_WAYS
def test_skills_are_logged_by_event_and_by_tool(machine: Machine, *, on: bool) -> None:
    if on:
        machine.switch_on("skill-log")
    machine.emit("skill_trigger", {"skill": "deploy", "parameters": {"region": "eu"}})
    given = {"skill": "review", "args": "--all"}
    machine.call("claude-code", "PreToolUse.Bash", tool_name="Skill", tool_input=given)
    machine.call("claude-code", "PreToolUse.Bash")

    found = [(one["skill"], one["parameters"]) for one in machine.log("skill-log")]
    assert found == ([("deploy", {"region": "eu"}), ("review", {"args": "--all"})] if on else [])


@BOTH_WAYS
@pytest.mark.parametrize(("agent", "payload"), [("claude-code", "PreCompact"), ("codex-cli", "PreCompact")])
def test_transcript_is_copied_before_it_is_compacted(machine: Machine, agent: str, payload: str, *, on: bool) -> None:
    if on:
        machine.switch_on("transcript-backup")
    transcript = machine.home / "transcript.jsonl"
    transcript.write_text('{"role": "user", "content": "hi"}\n' * 1000)

    machine.call(agent, payload, transcript_path=str(transcript))
    machine.emit("pre_compress", {"trigger": "auto", "messages": [{"role": "user", "content": "hello"}]})

    assert machine.backups() == ([transcript.read_bytes(), b'{"role":"user","content":"hello"}\n'] if on else [])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("agent", "payload"), [("claude-code", "Stop"), ("codex-cli", "Stop"), ("gemini-cli", "AfterAgent")]
)
def test_completion_is_shown_played_and_said(machine: Machine, agent: str, payload: str, *, on: bool) -> None:
    machine.install_programs()
    if on:
        machine.switch_on("completion", options="[builtin.completion]\nsound = true\nspeech = true\n")

    machine.call(agent, payload)
    assert not machine.shown.exists(), "the agent waited for it"
    machine.work()

    found = sorted(machine.shown.read_text().splitlines()) if machine.shown.exists() else []
    text = f"{agent} is done in project"
    expected = [
        "canberra-gtk-play --id=complete",
        f"notify-send --app-name=Hookline -- {agent} {text}",
        f"spd-say -- {text}",
    ]
    assert found == (expected if on else [])
    assert [one["event"] for one in machine.log("completion")] == (["after_agent"] if on else [])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("agent", "payload"),
    [(agent, payload) for agent in ("claude-code", "codex-cli") for payload in ("SubagentStart", "SubagentStop")],
)
def test_subagents_are_logged(machine: Machine, agent: str, payload: str, *, on: bool) -> None:
    if on:
        machine.switch_on("subagent-log")
    machine.call(agent, payload)

    found = machine.log("subagent-log")
    assert len(found) is int(on)
    for one in found:
        assert one["event"] == {"SubagentStart": "subagent_start", "SubagentStop": "subagent_stop"}[payload]
        assert one["agent_type"] in {"general-purpose", "default"}
        assert one["agent_id"]


@BOTH_WAYS
def test_notification_is_shown_and_sent_in_the_shape_of_each_service(machine: Machine, *, on: bool) -> None:
    machine.install_programs("notify-send")
    with server() as (url, seen):
        options = f'[builtin.notification]\nslack = "$SLACK_URL"\nntfy = "{url}/topic"\nwebhook = "{url}/any"\n'
        if on:
            machine.switch_on("notification", options=options)
        machine.call("claude-code", "Notification", message=f"may I use {KEY}?")
        assert seen == []
        machine.work(SLACK_URL=f"{url}/services/T0/B0/x")

    text = "claude-code in project: may I use sk-ant…[secret]?"
    sent = {path: (headers["content-type"], body.decode()) for _, path, headers, body in seen}
    assert sorted(sent) == (["/any", "/services/T0/B0/x", "/topic"] if on else [])
    if on:
        assert json.loads(sent["/services/T0/B0/x"][1]) == {"text": text}
        assert sent["/topic"] == ("text/plain; charset=utf-8", text)
        assert json.loads(sent["/any"][1]) == {
            "text": text,
            "event": "notification",
            "agent": "claude-code",
            "project": "project",
            "session": "00000000-0000-4000-8000-000000000001",
        }
        assert machine.shown.read_text() == f"notify-send --app-name=Hookline -- claude-code {text}\n"
    assert [one["message"] for one in machine.log("notification")] == (["may I use sk-ant…[secret]?"] if on else [])


def test_nothing_of_them_happens_while_all_are_off(machine: Machine) -> None:
    machine.install_programs()
    call: Callable[[str], object] = lambda payload: machine.call("claude-code", payload)  # noqa: E731
    for payload in (
        "SessionStart.startup",
        "UserPromptSubmit",
        "PreToolUse.Bash",
        "PostToolUse.Bash",
        "Stop",
        "SessionEnd",
    ):
        call(payload)

    assert not any((machine.data / name).exists() for name in ("logs", "transcripts", "setups", "queue.db"))
    assert not machine.shown.exists()
