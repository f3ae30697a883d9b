"""The plugin that speaks for us in opencode, run by Node with the calls that opencode makes."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pytest

from hookline.dialects import opencode
from tests.cli.program import configure, environment

NODE: Final = shutil.which("node")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NODE is None, reason="Node is not installed")]

Json = dict[str, Any]
TEMPLATE: Final = resources.files("hookline").joinpath("templates", "opencode_plugin.js").read_text("utf-8")

# What opencode does with a plugin: it makes it, hands it the configuration, and calls its hooks one after another. What
# the plugin asks of opencode is noted down.
OPENCODE: Final = """
import { Hookline } from "./hookline.mjs"

const asked = []
const note = (name) => async (options) => { asked.push([name, options]); return {} }
const client = {
  tui: { showToast: note("toast") },
  session: { abort: note("abort"), promptAsync: note("prompt") },
  postSessionIdPermissionsPermissionId: note("permission"),
}
const { steps, config } = JSON.parse(process.argv[2])
const directory = process.cwd()
const hooks = await Hookline({ client, directory, worktree: directory })
await hooks.config(config)
const results = []
for (const { hook, input, output } of steps) {
  const before = output && output.args
  let thrown = null
  try {
    if (hooks[hook]) await hooks[hook](input, output)
  } catch (problem) {
    thrown = problem.message
  }
  results.push({ output, thrown, same: output ? output.args === before : null, has: hook in hooks })
}
console.log(JSON.stringify({ results, asked }))
"""

# stands where Hookline does: notes what it is asked, and says what it was told to say
ANSWERER: Final = """
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
event, payload = sys.argv[-1], sys.stdin.read()
with (folder / "heard.jsonl").open("a") as heard:
    heard.write(json.dumps([event, json.loads(payload)]) + "\\n")
sys.stdout.write(json.loads((folder / "answers.json").read_text()).get(event, ""))
sys.exit(100)  # as an answer of Hookline proves itself
"""


@dataclass
class Bench:
    """A folder with the plugin in it."""

    folder: Path
    command: list[str]
    env: dict[str, str]
    policy: str = "block"
    events: list[str] = field(default_factory=lambda: list(opencode.SPEC.abilities))
    seconds: float = 60
    config: Json = field(default_factory=dict)

    def answers(self, **answers: object) -> None:
        """Say what is answered, by event; dots are written as underscores."""
        named = {event: answers.get(event.replace(".", "_"), "") for event in opencode.SPEC.abilities}
        texts = {event: text if isinstance(text, str) else json.dumps(text) for event, text in named.items()}
        (self.folder / "answers.json").write_text(json.dumps(texts))

    @property
    def heard(self) -> list[tuple[str, Json]]:
        """What was asked so far."""
        file = self.folder / "heard.jsonl"
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []

    def run(self, *steps: Json) -> tuple[list[Json], list[tuple[str, Json]]]:
        """Let opencode make these calls; give what became of each, and what the plugin asked of opencode."""
        text = TEMPLATE
        for mark, value in (
            ("@COMMAND@", self.command),
            ("@IF_BROKEN@", self.policy),
            ("@EVENTS@", self.events),
            ("@SECONDS@", self.seconds),
        ):
            assert text.count(f'"{mark}"') == 1
            text = text.replace(f'"{mark}"', json.dumps(value))
        (self.folder / "hookline.mjs").write_text(text)
        (self.folder / "opencode.mjs").write_text(OPENCODE)
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        done = subprocess.run(
            [str(NODE), str(self.folder / "opencode.mjs"), json.dumps({"steps": steps, "config": self.config})],
            cwd=project,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        report = json.loads(done.stdout)
        return report["results"], [tuple(one) for one in report["asked"]]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The plugin beside a program that answers what it is told to."""
    (tmp_path / "answerer.py").write_text(ANSWERER)
    made = Bench(tmp_path, [sys.executable, str(tmp_path / "answerer.py")], environment(tmp_path / "home"))
    made.answers()
    return made


def before(tool: str = "bash", args: Json | None = None, call: str = "c1") -> Json:
    given = {"tool": tool, "sessionID": "s1", "callID": call}
    return {
        "hook": "tool.execute.before",
        "input": given,
        "output": {"args": {"command": "ls"} if args is None else args},
    }


def after(output: Json, tool: str = "bash") -> Json:
    given = {"tool": tool, "sessionID": "s1", "callID": "c1", "args": {"command": "ls"}}
    return {"hook": "tool.execute.after", "input": given, "output": output}


def prompt(text: str = "hi") -> Json:
    parts = [{"type": "text", "text": text}]
    return {"hook": "chat.message", "input": {"sessionID": "s1"}, "output": {"message": {"id": "m1"}, "parts": parts}}


def bus(kind: str, **properties: object) -> Json:
    return {"hook": "event", "input": {"event": {"type": kind, "properties": properties}}}


# calls


def test_no_opinion_changes_nothing(bench: Bench) -> None:
    (result,), asked = bench.run(before())

    assert result == {"output": {"args": {"command": "ls"}}, "thrown": None, "same": True, "has": True}
    assert asked == []
    assert bench.heard == [
        (
            "tool.execute.before",
            {
                "hook": "tool.execute.before",
                "input": {"tool": "bash", "sessionID": "s1", "callID": "c1"},
                "output": {"args": {"command": "ls"}},
                "directory": str(bench.folder / "project"),
                "worktree": str(bench.folder / "project"),
            },
        )
    ]


def test_block_keeps_the_call_from_running_with_its_reason(bench: Bench) -> None:
    bench.answers(tool_execute_before={"block": "not here"})
    (result,), _ = bench.run(before())

    assert result["thrown"] == "not here"


def test_stop_ends_the_session_and_blocks_the_call(bench: Bench) -> None:
    bench.answers(tool_execute_before={"stop": "halt"})
    (result,), asked = bench.run(before())

    assert result["thrown"] == "halt"
    assert asked == [("abort", {"path": {"id": "s1"}})]


def test_changed_arguments_are_put_into_the_object_that_opencode_runs(bench: Bench) -> None:
    bench.answers(tool_execute_before={"args": {"command": "pwd", "timeout": 5}})
    (result,), _ = bench.run(before(args={"command": "ls", "workdir": "x"}))

    assert result == {"output": {"args": {"command": "pwd", "timeout": 5}}, "thrown": None, "same": True, "has": True}


def test_result_is_replaced_hidden_or_added_to(bench: Bench) -> None:
    bench.answers(tool_execute_after={"output": "[hidden]", "context": "mind this"})
    (result,), _ = bench.run(after({"title": "t", "output": "secret", "metadata": {}}))
    assert result["output"] == {"title": "t", "output": "[hidden]\n\nmind this", "metadata": {}}

    bench.answers(tool_execute_after={"block": "no"})
    (result,), _ = bench.run(after({"title": "t", "output": "secret"}))
    assert (result["output"]["output"], result["thrown"]) == ("no", None)


def test_result_of_an_mcp_tool_comes_in_pieces(bench: Bench) -> None:
    pieces = {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}, {"type": "text", "text": "b"}]}
    bench.answers(tool_execute_after={"context": "mind this"})
    (result,), _ = bench.run(after(pieces))
    assert result["output"]["content"] == [*pieces["content"], {"type": "text", "text": "mind this"}]
    assert bench.heard[-1][1]["output"]["output"] == "a\nb"

    bench.answers(tool_execute_after={"output": "[hidden]"})
    (result,), _ = bench.run(after(pieces))
    assert result["output"]["content"] == [{"type": "text", "text": "[hidden]"}]


def test_server_of_an_mcp_tool_is_found_among_those_that_are_configured(bench: Bench) -> None:
    bench.config = {"mcp": {"my": {}, "my files": {}, "other": {}}}
    bench.run(before("my_files_put"), before("my_put"), before("bash"))

    assert [payload.get("mcp") for _, payload in bench.heard] == [
        {"server": "my files", "tool": "put"},
        {"server": "my", "tool": "put"},
        None,
    ]


# prompts and sessions


def test_prompt_that_is_blocked_is_not_sent_and_the_person_is_told_why(bench: Bench) -> None:
    bench.answers(chat_message={"block": "not today"})
    (result,), asked = bench.run(prompt())

    assert result["thrown"] == "not today"
    assert asked == [("toast", {"body": {"message": "not today", "variant": "error"}})]


def test_what_is_said_at_the_start_of_a_session_comes_with_its_first_prompt_only(bench: Bench) -> None:
    bench.answers(session_created={"context": "from the start"}, chat_message={"context": "to the prompt"})
    results, _ = bench.run(bus("session.created", info={"id": "s1", "title": "x"}), prompt(), prompt())
    added = [[part["text"] for part in result["output"]["parts"][1:]] for result in results[1:]]

    assert added == [["from the start\n\nto the prompt"], ["to the prompt"]]
    part = results[1]["output"]["parts"][1]
    assert (part["type"], part["synthetic"], part["sessionID"], part["messageID"]) == ("text", True, "s1", "m1")
    assert part["id"].startswith("prt_")


def test_end_of_a_turn_goes_on_with_what_a_hook_wants(bench: Bench) -> None:
    bench.answers(session_idle={"block": "tests fail", "prompt": "repair them"})
    _, asked = bench.run(bus("session.idle", sessionID="s1"))

    body = {"parts": [{"type": "text", "text": "tests fail\n\nrepair them"}]}
    assert asked == [("prompt", {"path": {"id": "s1"}, "body": body})]


def test_nothing_goes_on_after_somebody_stopped_it(bench: Bench) -> None:
    bench.answers(tool_execute_before={"stop": "halt"}, session_idle={"block": "go on"})
    _, asked = bench.run(before(), bus("session.idle", sessionID="s1"))
    assert [name for name, _ in asked] == ["abort"]

    aborted = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    _, asked = bench.run(bus("session.error", sessionID="s1", error=aborted), bus("session.idle", sessionID="s1"))
    assert asked == []
    # the next prompt begins anew
    _, asked = bench.run(
        bus("session.error", sessionID="s1", error=aborted), prompt(), bus("session.idle", sessionID="s1")
    )
    assert [name for name, _ in asked] == ["prompt"]


def test_sessions_of_subagents_say_who_started_them(bench: Bench) -> None:
    bench.run(bus("session.created", info={"id": "s2", "parentID": "s1"}), bus("session.idle", sessionID="s2"))

    assert [payload.get("parent") for _, payload in bench.heard] == ["s1", "s1"]


def test_message_is_shown_to_the_person(bench: Bench) -> None:
    bench.answers(session_compacted={"message": "hello"})
    _, asked = bench.run(bus("session.compacted", sessionID="s1"))

    assert asked == [("toast", {"body": {"message": "hello", "variant": "info"}})]


def test_compaction_is_given_context(bench: Bench) -> None:
    bench.answers(experimental_session_compacting={"context": "keep the plan"})
    step = {"hook": "experimental.session.compacting", "input": {"sessionID": "s1"}, "output": {"context": []}}
    (result,), _ = bench.run(step)

    assert result["output"]["context"] == ["keep the plan"]


# permission


@pytest.mark.parametrize(
    ("answer", "response"), [({"allow": True}, "once"), ({"block": "no"}, "reject"), ({"ask": "?"}, None), ({}, None)]
)
def test_permission_is_given_or_refused_for_the_call_that_needs_it(
    bench: Bench, answer: Json, response: str | None
) -> None:
    bench.answers(permission_asked=answer)
    asking = bus(
        "permission.asked",
        id="p1",
        sessionID="s1",
        permission="bash",
        patterns=["ls"],
        metadata={},
        tool={"callID": "c1"},
    )
    _, asked = bench.run(before(), asking)

    path = {"id": "s1", "permissionID": "p1"}
    assert asked == ([("permission", {"path": path, "body": {"response": response}})] if response else [])
    event = opencode.decode_event(json.dumps(bench.heard[-1][1]).encode())
    assert (event.tool, event.args, event.data["operation"]) == ("shell", {"command": "ls"}, "bash")


# few processes


def test_hundreds_of_events_on_the_bus_start_no_process(bench: Bench) -> None:
    noise = ("message.part.updated", "message.updated", "session.updated", "session.status", "file.watcher.updated")
    bench.run(*(bus(kind, sessionID="s1") for kind in noise for _ in range(60)))

    assert bench.heard == []


def test_only_what_was_installed_is_subscribed_to(bench: Bench) -> None:
    bench.events = ["tool.execute.before"]
    results, _ = bench.run(before(), after({"output": "x"}), prompt(), bus("session.idle", sessionID="s1"))

    assert [result["has"] for result in results] == [True, False, False, True]
    assert [event for event, _ in bench.heard] == ["tool.execute.before"]


# when Hookline cannot be asked

BROKEN: Final = {
    "missing": ["/nonexistent/python", "-m", "hookline"],
    "crashing": [sys.executable, "-c", "raise SystemExit(1)"],
    "talking nonsense": [sys.executable, "-c", "print('Traceback: {')"],
    "answering with a list": [sys.executable, "-c", "print([])"],
    "never answering": [sys.executable, "-c", "import time; time.sleep(600)"],
}


@pytest.mark.parametrize("command", BROKEN.values(), ids=list(BROKEN))
def test_program_that_cannot_answer_blocks_where_it_was_installed_to(bench: Bench, command: list[str]) -> None:
    bench.command, bench.seconds = command, 1
    results, asked = bench.run(before(), prompt(), after({"output": "x"}), bus("session.idle", sessionID="s1"))

    assert [result["thrown"] is not None for result in results] == [True, True, False, False]
    assert results[0]["thrown"].startswith("Hookline could not be asked, and is set up to block then: ")
    assert results[2]["output"] == {"output": "x"}
    assert [name for name, _ in asked] == ["toast"]


@pytest.mark.parametrize("command", BROKEN.values(), ids=list(BROKEN))
def test_program_that_cannot_answer_changes_nothing_where_it_was_installed_to_allow(
    bench: Bench, command: list[str]
) -> None:
    bench.command, bench.seconds, bench.policy = command, 1, "allow"
    results, asked = bench.run(before(), prompt(), bus("session.idle", sessionID="s1"))

    assert [result["thrown"] for result in results] == [None, None, None]
    assert asked == []


# with the real program

GUARD: Final = """
import json, sys
event = json.load(sys.stdin)
if "rm" in event["args"].get("command", ""):
    print(json.dumps({"decision": "deny", "reason": "nothing is removed here"}))
elif event["tool"] == "write_file":
    print(json.dumps({"args": {"content": "changed"}}))
"""


def test_real_program_guards_opencode(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "hookline"
    toml = f'[[hook]]\nname = "guard"\non = "before_tool"\nrun = "{sys.executable} {folder}/guard.py"\n'
    configure(tmp_path / "home", toml, {"guard.py": GUARD})
    bench.command = [
        sys.executable,
        "-E",
        "-P",
        "-m",
        "hookline",
        "hook",
        "--prove",
        "--if-broken",
        "block",
        "opencode",
    ]
    results, _ = bench.run(
        before(args={"command": "rm -rf x"}),
        before(args={"command": "ls"}),
        before("write", {"filePath": "a.txt", "content": "x", "odd": 1}),
    )

    assert [result["thrown"] for result in results] == ["nothing is removed here", None, None]
    assert results[2]["output"] == {"args": {"filePath": "a.txt", "content": "changed", "odd": 1}}


def test_real_program_with_a_broken_configuration_blocks(bench: Bench, tmp_path: Path) -> None:
    configure(tmp_path / "home", "[[hook]\n")
    bench.command = [
        sys.executable,
        "-E",
        "-P",
        "-m",
        "hookline",
        "hook",
        "--prove",
        "--if-broken",
        "block",
        "opencode",
    ]
    (result,), _ = bench.run(before())

    assert result["thrown"] is not None
