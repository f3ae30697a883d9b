"""`hookline.testing` as people use it who write hooks and agents."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from hookline import Decision, Event, EventName, Verdict, testing
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, DialectError
from hookline.model.hook import Hook, Source
from hookline.testing import strategies
from hookline.testing.hook_run import RecordingEngine

pytestmark = pytest.mark.spec("U-19")

DELETION = testing.before_tool("shell", command="rm -rf /")
GUARD = """
import json, sys
event = json.load(sys.stdin)
if "rm -rf" in str((event.get("args") or {}).get("command")):
    print(json.dumps({"decision": "deny", "reason": "no rm -rf"}))
"""


@pytest.fixture
def guard(tmp_path: Path) -> Path:
    path = tmp_path / "guard.py"
    path.write_text(GUARD, "utf-8")
    return path


@pytest.mark.parametrize("name", EventName)
def test_every_event_is_built_and_sent_as_every_agent_sends_it(name: EventName) -> None:
    build = getattr(testing, name)

    assert build().name is name
    for agent in testing.list_agents(name):
        assert (build(agent=agent).name, build(agent=agent).host) == (name, agent)


def test_payload_is_what_the_agent_sends() -> None:
    document = json.loads(testing.payload("claude-code", DELETION))

    assert (document["hook_event_name"], document["tool_name"]) == ("PreToolUse", "Bash")
    assert document["tool_input"] == {"command": "rm -rf /"}


def test_agent_without_the_event_is_refused() -> None:
    with pytest.raises(ConfigError, match="claude-code has no event before_model"):
        testing.payload("claude-code", testing.before_model())


def test_misspelled_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="did you mean 'command'"):
        testing.before_tool("shell", comand="ls")
    with pytest.raises(TypeError, match="did you mean 'prompt'"):
        testing.before_agent(promt="hello")


def test_script_runs_as_a_process_and_the_agent_is_answered(guard: Path) -> None:
    run = testing.run_hook(guard, DELETION, agent="codex-cli")

    assert run == testing.answer("deny", reason="no rm")
    assert (run.exit_code, run.failure, run.skipped) == (0, None, "")
    assert run.answer is not None
    assert json.loads(run.answer.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_answer_of_a_crashed_hook_is_not_the_expected_one(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text("raise SystemExit('broken')", "utf-8")

    run = testing.run_hook({"run": [sys.executable, str(script)], "on_error": "block"}, DELETION)

    assert run.decision == "deny"
    assert run != testing.answer("deny")
    assert run.failure is not None
    assert "broken" in repr(run)


def test_filters_of_a_configured_hook_apply(tmp_path: Path) -> None:
    config = tmp_path / "hookline.toml"
    config.write_text('[[hook]]\nid = "a"\nruns = ["git push"]\ndeny = "no"\n', "utf-8")

    assert testing.run_hook(config, testing.before_tool("shell", command="git push")) == testing.answer("deny")
    skipped = testing.run_hook(config, testing.before_tool("shell", command="ls"))
    assert skipped == testing.answer("pass")
    assert "git push" in skipped.skipped


def test_hook_of_an_agents_own_settings_is_run(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [entry]}}), "utf-8")

    assert testing.run_hook(settings, DELETION, cwd=tmp_path) == testing.answer("deny", reason="no")


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        testing.run_hook(tmp_path / "nothing.py", DELETION)


def test_contract_holds_for_a_careful_guard(guard: Path) -> None:
    report = testing.check_hook_contract(guard, [DELETION])

    assert {run.event.host for run in report.runs} == {"", *testing.list_agents("before_tool")}


def test_contract_is_broken_by_a_guard_that_knows_one_agent_only(tmp_path: Path) -> None:
    script = tmp_path / "guard.py"
    script.write_text("import json, sys\nif 'rm' in json.load(sys.stdin)['args']['command']: sys.exit(2)", "utf-8")

    with pytest.raises(AssertionError, match=r"(?s)odd event.*KeyError"):
        testing.check_hook_contract(script, [DELETION], agents=["claude-code"])


def test_fixture_engine_records_what_was_asked(hookline_engine: RecordingEngine) -> None:
    @hookline_engine.on("before_tool", id="deny-all")
    def deny(_event: Event) -> Verdict:
        return Verdict.deny("no")

    outcome = hookline_engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})

    assert outcome.decision is Decision.DENY
    assert hookline_engine.asked == ["deny-all"]
    assert hookline_engine.outcomes == [outcome]
    assert {record.step for record in hookline_engine.records} >= {"event", "outcome"}


def test_fixture_project_has_a_home_of_its_own(hookline_project: testing.HooklineProject, hookline_home: Path) -> None:
    hookline_project.write('[[hook]]\nid = "home"\non = "before_tool"\nrun = "echo $HOME >&2; exit 2"\nshell = true\n')

    assert hookline_project.run(DELETION).reason.strip() == str(hookline_home)


@given(strategies.events())
def test_generated_events_are_read_from_every_agents_payload(event: Event) -> None:
    for agent in testing.list_agents(event.name):
        raw = testing.payload(agent, event)
        assert testing.read_payload(agent, raw, event.name).host == agent


@given(strategies.payloads("claude-code", "before_tool"))
def test_generated_payloads_are_the_agents(raw: bytes) -> None:
    assert DIALECTS["claude-code"].decode_event(raw).name is EventName.BEFORE_TOOL


def test_hook_is_vouched_for_wherever_it_comes_from() -> None:
    hook = Hook(id="guard", command="echo no >&2; exit 2", shell=True, source=Source.WORKSPACE)

    assert testing.run_hook(hook, DELETION) == testing.answer("deny", reason="no")


def test_plugin_loads_nothing_heavy_and_explains_differences(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(
        "import sys\n"
        "def test_light(): assert not {'hookline.engine.engine', 'hookline.testing.hook_run'} & set(sys.modules)\n"
        "def test_wrong():\n"
        "    from hookline import testing\n"
        "    run = testing.run_hook({'deny': 'never', 'tools': 'shell'}, testing.before_tool())\n"
        "    assert run == testing.answer('allow')\n",
        "utf-8",
    )
    plugin = ["-p", "hookline.testing.pytest_plugin", "-p", "no:cacheprovider"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, str(test)],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip

    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "expected allow, got deny: never" in done.stdout


@pytest.mark.parametrize("name", ["before_tool", "preToolUse", "PreToolUse"])
def test_event_of_a_payload_that_does_not_name_it_is_given_in_any_words(name: str) -> None:
    raw = testing.payload("copilot-cli", testing.before_tool("shell", command="ls"))

    assert testing.read_payload("copilot-cli", raw, name).tool == "shell"
    with pytest.raises(DialectError, match="the event's name"):
        testing.read_payload("copilot-cli", raw)
