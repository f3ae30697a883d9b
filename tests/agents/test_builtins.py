"""The built-in hooks of all 14 events under real agents: three sessions of Claude Code, and one of Codex CLI.

Claude Code has every event. Two of them happen only before a person: the dialog about a permission, and the notification
that it waits. So one session has a terminal, and ends when the notification came.
"""

import gzip
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from tests.agents.agents import AGENTS, KEY, PROMPT, Agent
from tests.agents.speech import Call, Turn
from tests.agents.world import Report, World
from tests.web_service import Seen, server

pytestmark = pytest.mark.spec("C-19")

WORD_OF_THE_DAY: Final = "the word of the day is sesame"
LOGS: Final = ".local/share/hookline/logs"
SKILL: Final = "---\nname: greet\ndescription: greets somebody\n---\nSay hello.\n"
# a terminal for a program, until a file has something in it
WATCHED: Final = """\
script -qec {line} /dev/null > /dev/null 2>&1 &
left=600
while [ ! -s {file} ] && [ $left -gt 0 ]; do sleep 0.2; left=$((left - 1)); done
kill $!; wait $!; exit 0
"""


@dataclass(frozen=True, slots=True)
class Session:
    """What was left by three sessions of Claude Code: one with tools, one that compacts, one with a dialog."""

    world: World
    worked: Report
    asked: Report
    sent: Seen

    def log(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the records of a log."""
        return read_log(self.world, name)

    def decisions(self, event: str) -> list[tuple[str, str]]:
        """Return what the events of a kind were about, and what was decided."""
        found = json.loads(self.world.hookline("trace", "list", "--limit", "500", "--json").stdout)
        return [(one["subject"], one["decision"]) for one in found if one["event"] == event]


def read_log(world: World, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the records of a log of a built-in hook."""
    path = world.home / LOGS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def prepare(root: Path, agent: Agent, options: str = "") -> World:
    """Make a machine on which a user has switched every built-in hook on."""
    world = World.make(root, agent)
    (world.project / "OLLAMA.md").write_text(f"{WORD_OF_THE_DAY}\n", "utf-8")
    world.configure(options)
    done = world.hookline("enable", "builtin:*")
    assert done.returncode == 0, done.stderr
    world.install(agent)
    return world


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with server() as (url, seen):
        # jobs wait for a worker that can reach the web service, which no agent can
        agent = replace(AGENTS["claude-code"], env={**AGENTS["claude-code"].env, "HOOKLINE_WORKER": "off"})
        options = f'[builtin.notification]\nslack = "{url}/slack"\n'
        world = prepare(tmp_path_factory.mktemp("claude") / "machine", agent, options)
        skill = world.project / ".claude/skills/greet/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL, "utf-8")
        # a dialog of the first start would take the place of the prompt
        chosen = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": [KEY]}}
        trusted = {str(world.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
        (world.home / ".claude.json").write_text(json.dumps({**chosen, "projects": trusted}), "utf-8")
        worked = world.run(
            replace(agent, arguments=("-p", PROMPT, "--init", "--allowedTools", "Bash,Write,Read,Agent,Skill")),
            [
                Turn("", [agent.shell("rm -rf docs"), agent.read(world.project / ".env")]),
                Turn("", [agent.write(world.project / "hello.txt", "hello\n")]),
                Turn("", [agent.read(world.project / "missing.txt"), Call("Skill", {"skill": "greet"})]),
                Turn("", [Call("Agent", {"description": "x", "prompt": "say ok", "subagent_type": "Explore"})]),
                Turn("All done."),
            ],
        )
        world.run(replace(agent, arguments=("-p", "/compact", "--continue")), [Turn("a summary")])
        asked = world.run(
            watch(agent, world, "--permission-mode", "default", PROMPT),
            [
                Turn("", [agent.shell("git count-objects -v")]),
                Turn("", [agent.shell("touch asked.txt")]),
                Turn("All done."),
            ],
        )
        queue = world.hookline("queue", "work", "--until-empty")
        assert queue.returncode == 0, queue.stdout + queue.stderr
        yield Session(world, worked, asked, seen)


def watch(agent: Agent, world: World, *words: str) -> Agent:
    """Return an agent that is started in a terminal, and ended when it has notified the user."""

    class Watched(Agent):
        @property
        def command(self) -> list[str]:
            line = shlex.quote(shlex.join([*super().command]))
            file = shlex.quote(str(world.home / LOGS / "notification.jsonl"))
            return ["sh", "-c", WATCHED.format(line=line, file=file)]

    return Watched(**{name: getattr(agent, name) for name in Agent.__slots__} | {"arguments": words})


def test_setup_and_session_start_tell_the_model_what_the_project_says(session: Session) -> None:
    assert WORD_OF_THE_DAY in json.dumps(session.worked.bodies[0])
    assert "?? OLLAMA.md" in json.dumps(session.worked.bodies[0])
    assert len(session.decisions("setup")) == 1
    assert len(session.decisions("session_start")) >= 3


def test_prompt_is_logged(session: Session) -> None:
    assert PROMPT in [one["prompt"] for one in session.log("prompt-log")]


def test_deleting_a_folder_and_reading_an_env_file_are_denied(session: Session) -> None:
    assert "rm-rf: this deletes a whole folder" in session.worked.results[0]
    assert "env-files: this reads or changes a file" in session.worked.results[1]


def test_tool_calls_and_failures_are_logged(session: Session) -> None:
    tools = [(one["event"], one["tool"]) for one in session.log("tool-log")]
    assert ("after_tool", "write_file") in tools
    assert ("tool_failed", "read_file") in tools
    assert {one["error_type"] for one in session.log("error-log")} == {"not_found"}


def test_permission_is_audited_and_reading_is_allowed_without_a_dialog(session: Session) -> None:
    found = [(one["args"]["command"], one["read_only"]) for one in session.log("permission-log")]
    assert found == [("git count-objects -v", True), ("touch asked.txt", False)]
    assert "count: " in session.asked.results[0]
    assert not (session.world.project / "asked.txt").exists()


def test_skill_is_logged(session: Session) -> None:
    assert "greet" in [one["skill"] for one in session.log("skill-log")]


def test_transcript_is_saved_before_it_is_compacted(session: Session) -> None:
    (copy,) = (session.world.home / ".local/share/hookline/transcripts").glob("*.gz")
    assert PROMPT in gzip.decompress(copy.read_bytes()).decode()


def test_end_of_a_turn_is_logged_and_told(session: Session) -> None:
    assert "All done." in [one.get("response") for one in session.log("completion")]
    records = map(json.loads, session.world.hookline("trace", "export").stdout.splitlines())
    shown = [one["step"] for one in records if one["hook"] == "builtin:completion:desktop"]
    assert "hook_execution_complete" in shown


def test_subagents_are_logged(session: Session) -> None:
    events = {one["event"] for one in session.log("subagent-log") if one.get("agent_type") == "Explore"}
    assert events == {"subagent_start", "subagent_stop"}


def test_notification_is_logged_and_sent(session: Session) -> None:
    (found,) = session.log("notification")
    assert found["type"] == "permission_prompt"
    sent = [json.loads(body) for _, path, _, body in session.sent if path == "/slack"]
    assert sent == [{"text": f"claude-code in project: {found['message']}"}]


def test_end_of_a_session_leaves_a_summary(session: Session) -> None:
    first = session.log("session-summary")[0]
    assert (first["tools"]["write_file"], first["changed"]) == (1, [str(session.world.project / "hello.txt")])
    assert "rm -rf docs" in first["blocked"][0]


@pytest.mark.parametrize("name", ["codex-cli"])
def test_hooks_that_are_on_work_under_codex_as_well(tmp_path: Path, name: str) -> None:
    agent = replace(AGENTS[name], env={**AGENTS[name].env, "HOOKLINE_WORKER": "off"})
    world = prepare(tmp_path / "machine", agent)

    report = world.run(
        agent,
        [
            Turn("", [agent.shell("rm -rf docs")]),
            Turn("", [agent.shell("echo hi")]),
            Turn("", [agent.write(world.project / "hello.txt", "hello\n")]),
            Turn("All done."),
        ],
    )

    assert WORD_OF_THE_DAY in report.heard
    assert "rm-rf: this deletes a whole folder" in report.results[0]
    assert [one["prompt"] for one in read_log(world, "prompt-log")] == [PROMPT]
    assert [one["tool"] for one in read_log(world, "tool-log")] == ["shell", "apply_patch"]
    assert [one["response"] for one in read_log(world, "completion")] == ["All done."]
    (summary,) = read_log(world, "session-summary")
    assert (summary["prompts"], len(summary["blocked"])) == (1, 1)
