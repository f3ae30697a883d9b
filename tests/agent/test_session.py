"""`hookline agent` from its start to its end, against a scripted model on loopback."""

import json
import os
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.agent.scripted import scripted
from tests.agent.world import KEEP, World
from tests.agents.speech import Call, Turn
from tests.cli.program import hookline

pytestmark = pytest.mark.slow

RULES = f"""
[[hook]]
id = "no-force"
runs = ["git push --force"]
deny = "no force pushes"

[[hook]]
id = "louder"
on = "before_tool"
tools = "shell"
if = "args.command == 'echo quiet'"
run = ["{sys.executable}", "-c", "print('{{\\"args\\": {{\\"command\\": \\"echo loud\\"}}}}')"]

[[hook]]
id = "keep-notes"
on = ["notification", "tool_failed"]
run = ["{sys.executable}", "KEEP"]

[[hook]]
id = "prepare"
on = "skill_trigger"
run = ["{sys.executable}", "-c", "print('{{\\"args\\": {{\\"region\\": \\"eu-west\\"}}}}')"]
"""

SERVER = """
from mcp.server import MCPServer

server = MCPServer("desk")

@server.tool()
def add(a: int, b: int) -> str:
    return f"the sum is {a + b}"

server.run()
"""


@pytest.mark.slow
@pytest.mark.spec("C-09", "C-13", "C-14", "C-15")
def test_whole_session_raises_every_lifecycle_event_in_order(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    world = World(tmp_path, f'{RULES}\n[mcp.desk]\ncommand = "{sys.executable}"\nargs = ["{server}"]\n')
    world.write(
        {
            ".ollama/skills/deploy.md": "---\ndescription: deploy\n---\nDeploy to {{region}}.",
            ".ollama/agents/review.md": "---\ndescription: reviews\n---\nYou review.",
            "notes.txt": "remember the milk",
            "OLLAMA.md": "Speak like a pirate.",
        }
    )
    turns = (
        Turn("", [Call("shell", {"command": "git push --force"})]),
        Turn("", [Call("shell", {"command": "echo quiet"})]),
        Turn("", [Call("read_file", {"path": "notes.txt"})]),
        Turn("", [Call("write_file", {"path": "new.txt", "content": "x" * 3_000})]),
        Turn("", [Call("edit_file", {"path": "missing.txt", "old": "a", "new": "b"})]),
        Turn("", [Call("skill", {"name": "deploy", "args": {"region": "EU"}})]),
        Turn("", [Call("mcp__desk__add", {"a": 2, "b": 3})]),
        Turn("", [Call("task", {"prompt": "read the notes", "type": "review"})]),
        Turn("", [Call("grep", {"pattern": "milk"})]),
        Turn("the review is good"),
        Turn("all done"),
    )
    with scripted(*turns) as (script, url):
        report = world.ask(url, "do it all", "--yes", "--context-window", "1200", "--compact-at", "0.7")
    assert report["text"] == "all done"
    tools = report["tools"]
    assert isinstance(tools, list)
    assert [(one["tool"], one["decision"], bool(one["error"]), bool(one["agent"])) for one in tools] == [
        ("shell", "deny", False, False),
        ("shell", "pass", False, False),
        ("read_file", "pass", False, False),
        ("write_file", "pass", False, False),
        ("edit_file", "pass", True, False),
        ("skill", "pass", False, False),
        ("mcp__desk__add", "pass", False, False),
        ("subagent", "pass", False, False),
        ("grep", "pass", False, True),
    ]
    assert (world.project / "new.txt").read_text() == "x" * 3_000
    sent = str(script.bodies)
    for text in ("Blocked: no force pushes", "loud", "remember the milk", "Deploy to eu-west", "the sum is 5"):
        assert text in sent
    assert "Speak like a pirate" in sent
    assert "the review is good" in script.last_texts
    events = world.events(report["session"])
    around = ["before_tool_selection", "before_model", "after_model"]
    assert events[: 3 + 4] == ["setup", "session_start", "before_agent", *around, "before_tool"]
    assert events[-3:] == ["after_agent", "notification", "session_end"]
    assert {
        *("setup", "session_start", "session_end", "before_agent", "after_agent", "before_model", "after_model"),
        *("before_tool_selection", "before_tool", "after_tool", "tool_failed", "skill_trigger", "notification"),
        *("pre_compress", "post_compress", "subagent_start", "subagent_stop"),
    } <= set(events)
    assert events.index("pre_compress") < events.index("post_compress")
    assert events.index("subagent_start") < events.index("subagent_stop")
    failed = next(one for one in world.seen() if one["event"] == "tool_failed")
    assert "not_found" in str(failed)


@pytest.mark.spec("A-17")
def test_stop_hook_gets_the_length_and_sends_the_agent_back_until_the_guard_lets_it_stop(tmp_path: Path) -> None:
    rules = f"""
[[hook]]
id = "keep"
on = "after_agent"
run = ["{sys.executable}", "KEEP"]

[[hook]]
id = "go-on"
on = "after_agent"
deny = "run the tests"
"""
    world = World(tmp_path, rules)
    with scripted(Turn("first"), Turn("second")) as (model, url):
        report = world.ask(url, "work")
    assert "run the tests" in str(model.bodies[1])
    assert report["text"] == "second"
    lengths = [str(one) for one in world.seen()]
    assert "'conversation_length': 2" in lengths[0]
    assert "'conversation_length': 4" in lengths[1]


def test_permission_is_refused_where_no_user_can_be_asked_and_a_hook_can_give_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    call = Turn("", [Call("shell", {"command": "touch made"})])
    with scripted(call, Turn("done")) as (script, url):
        world.ask(url, "make it")
    assert "no user can be asked" in script.last_texts
    assert not (world.project / "made").exists()
    assert "permission_request" in world.events()
    other = World(
        _folder(tmp_path, "other"), '[[hook]]\nid = "yes"\non = "permission_request"\ntools = "shell"\nallow = true\n'
    )
    with scripted(call, Turn("done")) as (_script, url):
        other.ask(url, "make it")
    assert (other.project / "made").exists()


def test_blocked_prompt_ends_with_code_2_and_the_reason(tmp_path: Path) -> None:
    world = World(
        tmp_path,
        '[[hook]]\nid = "no"\non = "before_agent"\nif = "data.prompt.contains(\'secret\')"\ndeny = "no secrets"\n',
    )
    with scripted(Turn("never said")) as (script, url):
        done = world.run(url, "-p", "tell the secret")
    assert (done.returncode, done.stderr.strip()) == (2, "prompt blocked: no secrets")
    assert script.bodies == []


@pytest.mark.spec("C-09")
def test_setup_hook_sets_variables_for_tools_and_later_hooks(tmp_path: Path) -> None:
    lines = r"TEAM=blue\nexport TEAMMATE='A B'\nLD_PRELOAD=/evil.so\n"
    hook = tmp_path / "set.py"
    hook.write_text(f"import os\nopen(os.environ['OLLAMA_ENV_FILE'], 'a').write(\"{lines}\")\n")
    rules = f"""
[[hook]]
id = "env"
on = "setup"
run = ["{sys.executable}", "{hook}"]

[[hook]]
id = "keep"
on = "after_agent"
run = ["{sys.executable}", "KEEP"]
"""
    world = World(tmp_path, rules)
    with scripted(Turn("", [Call("shell", {"command": "echo $TEAM-$TEAMMATE-$LD_PRELOAD"})]), Turn("done")) as (
        script,
        url,
    ):
        done = world.run(url, "-p", "go", "--yes", "--maintenance")
    assert done.returncode == 0, done.stderr
    assert "blue-A B-" in script.last_texts
    assert "LD_PRELOAD cannot be set by a hook" in done.stderr
    assert "'TEAM': 'blue'" in str(world.seen()[0])
    assert list(world.project.glob(".ollama-env*")) == []


@pytest.mark.spec("C-09")
def test_contained_setup_hook_of_the_project_sets_variables_but_not_where_programs_are_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    lines = ("TEAM=blue", "PATH=/evil", "BASH_ENV=/evil.sh")
    commands = [f"echo {line} >> $OLLAMA_ENV_FILE" for line in lines] + ["echo it is broken >&2; exit 1"]
    hooks = [{"type": "command", "shell": True, "command": command} for command in commands]
    world.write({".ollama/settings.json": json.dumps({"hooks": {"Setup": [{"hooks": hooks}]}})})
    assert hookline(world.home, "trust", "approve", "--all", "--yes").returncode == 0
    with scripted(Turn("", [Call("shell", {"command": "echo $TEAM-$PATH-$BASH_ENV"})]), Turn("done")) as (script, url):
        done = world.run(url, "-p", "go", "--yes", "--as", "ollama-cli")
    assert done.returncode == 0, done.stderr
    assert "blue-/" in script.last_texts
    assert "/evil-" not in script.last_texts
    assert "/evil.sh" not in script.last_texts
    assert "PATH cannot be set by a hook in a sandbox" in done.stderr
    assert "BASH_ENV cannot be set by a hook" in done.stderr
    assert "it is broken" in done.stderr


@pytest.mark.spec("C-09")
def test_ignored_files_are_out_of_reach_of_every_tool(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(
        {
            ".ollamaignore": "private/\n*.key\n!public.key\n",
            "private/a.txt": "needle",
            "b.key": "needle",
            "public.key": "needle",
        }
    )
    (world.project / "link.txt").symlink_to(world.project / "b.key")
    turns = (
        Turn("", [Call("read_file", {"path": "private/a.txt"})]),
        Turn("", [Call("read_file", {"path": "link.txt"})]),
        Turn("", [Call("shell", {"command": "cat b.key"})]),
        Turn("", [Call("grep", {"pattern": "needle"})]),
        Turn("", [Call("glob", {"pattern": "**/*"})]),
        Turn("done"),
    )
    with scripted(*turns) as (script, url):
        report = world.ask(url, "find it", "--yes")
    tools = report["tools"]
    assert isinstance(tools, list)
    assert [one["decision"] for one in tools] == ["deny", "deny", "deny", "pass", "pass"]
    results = [message["content"] for message in script.bodies[-1]["messages"] if message["role"] == "tool"]
    assert results[3] == "public.key:1:needle"
    assert "b.key" not in results[4]
    assert "private" not in results[4]


@pytest.mark.spec("C-14")
def test_hook_before_compaction_sees_annotates_and_keeps_messages(tmp_path: Path) -> None:
    answer = '{"additionalContext": "the plan is in PLAN.md", "data": {"keep": [0]}}'
    world = World(tmp_path)
    world.write(
        {
            ".ollama/settings.json": """{"hooks": {"PreCompact": [{"hooks": [
            {"type": "command", "command": "python3 HOME/compact.py"}]}]}}""".replace("HOME", str(world.home)),
            "compact.py": f"{KEEP}\nprint('{answer}')\n",
        },
        world.home,
    )
    call = Call("shell", {"command": "head -c 3000 /dev/zero | tr '\\\\0' x"})
    with scripted(Turn("", [call]), Turn("done")) as (script, url):
        report = world.ask(url, "the very first words", "--yes", "--as", "ollama-cli", "--context-window", "700")
    [payload] = world.seen()
    assert payload["hook"] == "PreCompact"
    assert "the very first words" in str(payload["messages"])
    assert Path(str(payload["transcript_path"])).is_file()
    for text in ("the plan is in PLAN.md", "the very first words", "Summary of the conversation"):
        assert text in script.last_texts
    events = world.events(report["session"])
    assert [one for one in events if "compress" in one or "overflow" in one] == [
        "context_overflow",
        "pre_compress",
        "post_compress",
    ]


@pytest.mark.spec("C-15")
def test_prompt_gives_a_task_to_the_subagent_it_names(tmp_path: Path) -> None:
    world = World(tmp_path, '[[hook]]\nid = "no"\nruns = ["rm"]\ndeny = "nothing is removed"\n')
    world.write({".ollama/agents/review.md": "You review."})
    turns = (
        Turn("", [Call("shell", {"command": "rm x"})]),
        Turn("two problems"),
        Turn("the review found two problems"),
    )
    with scripted(*turns) as (script, url):
        report = world.ask(url, "@review my change", "--yes")
    assert report["text"] == "the review found two problems"
    assert "The subagent review reports:" in script.last_texts
    assert "nothing is removed" in str(script.bodies[1])
    events = world.events(report["session"])
    # of a subagent only its tool calls are judged
    assert events[events.index("subagent_start") : events.index("subagent_stop") + 1] == [
        "subagent_start",
        "before_tool",
        "subagent_stop",
    ]


@pytest.mark.spec("A-17")
def test_subagent_raises_all_events_where_the_user_asks_for_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    with scripted(Turn("", [Call("task", {"prompt": "look"})]), Turn("seen"), Turn("done")) as (_script, url):
        report = world.ask(url, "go", "--subagent-hooks")
    events = world.events(report["session"])
    inside = events[events.index("subagent_start") : events.index("subagent_stop") + 1]
    assert inside == ["subagent_start", "before_tool_selection", "before_model", "after_model", "subagent_stop"]


@pytest.mark.spec("C-13")
def test_skill_is_called_with_the_parameters_that_hooks_prepared(tmp_path: Path) -> None:
    world = World(tmp_path, RULES)
    world.write({".ollama/skills/deploy/SKILL.md": "Deploy to {{region}}, {{input}}."})
    with scripted(Turn("deployed")) as (script, url):
        report = world.ask(url, "/deploy region=EU now please")
    assert "Deploy to eu-west, now please." in script.last_texts
    assert "skill_trigger" in world.events(report["session"])


def test_openai_server_is_named_by_url_and_a_session_is_resumed(tmp_path: Path) -> None:
    world = World(tmp_path)
    with scripted(Turn("hello you"), Turn("still here")) as (script, url):
        words = ("agent", "-m", "openai:scripted", "--url", f"{url}/v1", "--json")
        first = hookline(world.home, *words, stdin="hello from stdin")
        assert first.returncode == 0, first.stderr
        session = json.loads(first.stdout)["session"]
        second = hookline(world.home, *words, "-p", "again", "--resume", session)
    assert second.returncode == 0, second.stderr
    assert "hello from stdin" in script.last_texts
    assert "hello you" in script.last_texts


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "hi"), "name a model"),
        (("-p", "hi", "-m", "llama"), 'there is no model "llama"'),
        (("-p", "hi", "-m", "anthropic:claude"), "ANTHROPIC_API_KEY is not set"),
        (("-p", "hi", "-m", "openai:gpt"), "OPENAI_API_KEY is not set"),
        (("-p", "hi", "-m", "ollama:x", "--url", "http://127.0.0.1:9"), "at http://127.0.0.1:9/v1/ cannot be reached"),
        (("-p", "hi", "-m", "ollama:x", "--resume", "none"), 'there is no session "none" to resume'),
        (("-p", "hi", "-m", "ollama:x", "--resume", ".."), 'there is no session ".." to resume'),
        (("-p", "hi", "-m", "ollama:x", "--mcp", "none"), "there is no MCP server none"),
        (("-p", "", "-m", "ollama:x"), "the prompt is empty"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    world = World(tmp_path)
    done = hookline(world.home, "agent", *words, OPENAI_API_KEY="", ANTHROPIC_API_KEY="", HOOKLINE_AGENT_MODEL="")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(world.project.glob(".ollama-env*")) == []


def test_tools_survive_endless_output_costly_patterns_and_files_that_are_none(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"long.txt": "a" * 60 + "b\n", "found.txt": "needle\n"})
    os.mkfifo(world.project / "pipe")
    (world.project / "gone").symlink_to("nowhere")
    turns = (
        Turn("", [Call("shell", {"command": "head -c 300000000 /dev/zero | tr '\\0' x; echo"})]),
        Turn("", [Call("grep", {"pattern": "(a+)+$"})]),
        Turn("", [Call("grep", {"pattern": "(unclosed"})]),
        Turn("", [Call("grep", {"pattern": "needle"})]),
        Turn("done"),
    )
    with scripted(*turns) as (script, url):
        report = world.ask(url, "go", "--yes")
    tools = report["tools"]
    assert isinstance(tools, list)
    assert [bool(one["error"]) for one in tools] == [False, False, True, False]
    assert "is no regular expression" in tools[2]["error"]
    assert "found.txt:1:needle" in script.last_texts
    assert "(2000000 characters)" in str(script.bodies)


def test_fetch_reads_the_beginning_of_an_endless_page_and_follows_no_redirect(tmp_path: Path) -> None:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("location", "/secret")
                self.send_header("content-length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("content-type", "text/plain")
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b"page " * 20_000)

        def log_message(self, *_words: object) -> None:
            pass

    world = World(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        turns = (Turn("", [Call("fetch", {"urls": [f"{base}/moved", f"{base}/endless"]})]), Turn("done"))
        with scripted(*turns) as (script, url):
            world.ask(url, "go", "--yes")
        server.shutdown()
    assert "moved to /secret" in str(script.bodies)
    assert "page page" in str(script.bodies)


def test_model_that_the_server_does_not_have_is_explained(tmp_path: Path) -> None:
    class Missing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b'{"error": {"message": "model \\"x\\" not found"}}'
            self.send_response(404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            pass

    world = World(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), Missing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = hookline(
            world.home, "agent", "-m", "ollama:x", "-p", "hi", "--url", f"http://127.0.0.1:{server.server_port}"
        )
        server.shutdown()
    assert done.returncode == 1
    assert 'status 404: model "x" not found; `ollama pull x` gets it' in done.stderr


def _folder(base: Path, name: str) -> Path:
    (base / name).mkdir()
    return base / name
