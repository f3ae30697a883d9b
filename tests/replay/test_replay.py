"""Replays run the hooks as they are now, contained and without effects, and compare what they decide."""

import asyncio
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hookline import Engine, Event, Hook, Source, Verdict
from hookline.errors import ConfigError
from hookline.model.event import EventName, Session
from hookline.process.containment import find_layers
from hookline.replay import replay as words
from hookline.replay.recording import RecordedEvent, Recording
from hookline.replay.replay import HookChoice, ReplayReport, read_rules, replay, replay_session
from hookline.stores.sqlite import SqliteTraces

CONTAINED = pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain a process")

COMMANDS = ("ls", "git push --force", "cat a", "git push", "git push --force origin main", "true", "git push -f")


def record(*commands: str, **more: Any) -> Recording:
    """Make a recording of shell commands that passed."""
    fields = {
        "is_exact": True,
        **{name: more.pop(name) for name in ("was", "is_exact", "is_cut", "by_hook") if name in more},
    }
    events = [
        Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": command}, id=f"t{number}", **more)
        for number, command in enumerate(commands)
    ]
    return Recording(events=[RecordedEvent(event=event, at=1.0, **fields) for event in events])


def run(recording: Recording, *hooks: Hook, **choice: Any) -> ReplayReport:
    return asyncio.run(replay(recording, HookChoice(hooks=hooks, **choice)))


def rule(**fields: Any) -> Hook:
    return Hook(id="rule", on="before_tool", source=Source.BUILTIN, **fields)


def program(code: str, **fields: Any) -> Hook:
    """Make a hook of the user that runs a Python program, which is not contained by itself."""
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    return Hook(id="program", on="before_tool", command=line, shell=True, source=Source.USER, **fields)


def skipped(report: ReplayReport) -> list[tuple[str, str, int]]:
    return [(one.hook, one.reason, one.events) for one in report.skipped]


@contextmanager
def serve() -> Iterator[tuple[int, list[str]]]:
    """Run a server on loopback that notes each request."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the library's name

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.spec("U-16")
def test_rule_that_was_added_later_shows_the_calls_it_would_deny() -> None:
    report = run(record(*COMMANDS), rule(runs="git push --force", deny="no force"))

    assert (report.events, report.hooks, report.counts) == (7, 1, {"pass -> deny": 3})
    assert [(one.subject, one.was, one.now, one.hook, one.reason) for one in report.changes] == [
        (command, "pass", "deny", "rule", "no force") for command in COMMANDS if "-f" in command
    ]
    assert (report.skipped, report.notes) == ((), ())


def test_rule_that_was_removed_shows_the_calls_it_denied() -> None:
    report = run(record("git push", was="deny"))

    assert report.counts == {"deny -> pass": 1}


def test_transcript_does_not_show_whether_hooks_allowed_a_call() -> None:
    allowing = rule(allow=True)

    assert run(record("ls"), allowing).counts == {"pass -> allow": 1}
    assert run(record("ls", is_exact=False), allowing).counts == {}


def test_rewrite_is_a_change_where_the_record_says_that_there_was_none() -> None:
    def rewrite(event: Event) -> Verdict:
        return Verdict.rewrite({**event.args, "command": "true"})

    hook = Hook(id="rewrite", on="before_tool", call=rewrite, source=Source.BUILTIN)
    recording = record("ls")
    known = Recording(events=[RecordedEvent(event=one.event, at=1.0, rewrote=False) for one in recording.events])

    assert run(known, hook).counts == {"pass -> pass, rewritten": 1}
    assert run(recording, hook).counts == {}


def test_order_of_results_is_that_of_the_events() -> None:
    async def deny(event: Event) -> str:
        # the first are answered last
        await asyncio.sleep(0.02 / (1 + int(event.id[1:])))
        return f"deny: {event.args['command']}"

    hook = Hook(id="slow", on="before_tool", call=deny, source=Source.BUILTIN)
    commands = [f"echo {number}" for number in range(40)]

    report = run(record(*commands), hook)

    assert [one.reason for one in report.changes] == commands


def test_limits_do_not_apply_as_nothing_happens_at_its_own_time() -> None:
    report = run(record(*["ls"] * 5), rule(deny="no", once=True, per_minute=1, cooldown=60.0))

    assert report.counts == {"pass -> deny": 5}


def test_only_one_hook_is_compared_with_what_it_decided_itself() -> None:
    deny = rule(runs="git push", deny="no")
    other = Hook(id="other", on="before_tool", deny="never", source=Source.BUILTIN)
    recording = record("ls", "git push", was="deny", by_hook={"other": "deny"})

    report = run(recording, deny, other, only="rule")

    assert [(one.subject, one.was, one.now, one.hook) for one in report.changes] == [
        ("git push", "pass", "deny", "rule")
    ]
    with pytest.raises(ConfigError, match='there is no hook "rul"'):
        run(recording, deny, only="rul")


def test_shortened_record_is_replayed_only_where_paths_decide() -> None:
    args = {"path": "/p/.env"}
    event = Event(name=EventName.BEFORE_TOOL, tool="write_file", args=args, cwd="/p", id="t")
    recording = Recording(events=[RecordedEvent(event=event, at=1.0, is_cut=True)])

    by_path = run(recording, rule(writes=".env", deny="no"))
    by_content = run(recording, rule(condition='args.content == "x"', deny="no"))

    assert by_path.counts == {"pass -> deny": 1}
    assert (by_content.events, skipped(by_content)) == (0, [("", words.CUT, 1)])


@CONTAINED
@pytest.mark.spec("U-16")
def test_process_that_writes_posts_and_changes_modes_has_no_effect(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    kept.chmod(0o644)
    with serve() as (port, heard):
        code = f"""
import os, sys, tempfile, urllib.request
done = []
def attempt(name, work):
    try:
        work()
        done.append(name)
    except OSError:
        pass
attempt("write", lambda: open({str(tmp_path / "new")!r}, "w").close())
attempt("overwrite", lambda: open({str(kept)!r}, "w").close())
attempt("chmod", lambda: os.chmod({str(kept)!r}, 0o600))
attempt("post", lambda: urllib.request.urlopen("http://127.0.0.1:{port}/x", b"y", timeout=5))
attempt("temporary", lambda: tempfile.NamedTemporaryFile().close())
print('{{"decision": "deny", "reason": "did ' + " ".join(done) + '"}}')
"""
        recording = record("ls", cwd=str(tmp_path))
        free = asyncio.run(try_uncontained(program(code), tmp_path))
        (tmp_path / "new").unlink()
        kept.write_text("as it was")
        kept.chmod(0o644)
        heard.clear()

        report = run(
            recording,
            program(code),
            Hook(id="post", on="before_tool", url=f"http://127.0.0.1:{port}/hook", source=Source.USER),
        )

    # the same program can do all of it
    assert free == "did write overwrite chmod post temporary"
    assert [one.reason for one in report.changes] == ["did temporary"]
    assert heard == []
    assert not (tmp_path / "new").exists()
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == ("as it was", 0o644)
    assert skipped(report) == [("post", f"it would post to 127.0.0.1:{port}", 1)]


async def try_uncontained(hook: Hook, folder: Path) -> str:
    async with Engine(cwd=str(folder)) as engine:
        engine.add(hook)
        return (await engine.emit("before_tool", tool="shell", args={"command": "ls"})).reason


def test_webhook_that_refused_before_leaves_the_comparison_open() -> None:
    post = Hook(id="post", on="before_tool", url="http://127.0.0.1:9/hook", source=Source.USER)

    report = run(record("ls", was="deny"), post)

    assert (report.events, report.changes) == (0, ())
    assert ("", words.REFUSED_BEFORE, 1) in skipped(report)


def test_hooks_that_exist_for_their_effect_are_named_with_what_they_would_do() -> None:
    hooks = [
        Hook(id="notify", on="before_tool", notify="done", source=Source.USER),
        Hook(id="prompt", on="before_tool", prompt="look", source=Source.USER),
        Hook(id="later", on="before_tool", command="/bin/true", background=True, source=Source.USER),
    ]

    report = run(record("ls", "true"), *hooks)

    assert skipped(report) == [
        ("later", "it would run in the background, after the answer", 2),
        ("notify", "it would show a notification", 2),
        ("prompt", "it would ask the agent", 2),
    ]
    assert report.changes == ()


@CONTAINED
def test_hook_of_a_folder_that_is_gone_sees_the_event_as_it_was(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    code = """
import json, os
event = json.loads(input())
print(json.dumps({"decision": "deny", "reason": event["cwd"] + " " + str(os.listdir("."))}))
"""

    report = run(record("ls", "true", cwd=gone), program(code))

    assert [one.reason for one in report.changes] == [f"{gone} []"] * 2
    assert report.notes == (f"{gone} is not there any more, so that the processes of hooks ran in an empty folder",)


@CONTAINED
def test_replayed_hook_keeps_its_state_for_the_replay_alone(tmp_path: Path) -> None:
    code = """
import json, os, pathlib
kept = pathlib.Path(os.environ["HOOKLINE_STATE"], "calls")
kept.write_text(kept.read_text() + "x" if kept.exists() else "x")
print(json.dumps({"decision": "deny", "reason": kept.read_text()}))
"""

    for _ in range(2):
        report = run(record("ls", cwd=str(tmp_path)), program(code, state=True))

        assert [one.reason for one in report.changes] == ["x"]


@CONTAINED
def test_python_function_of_a_module_is_contained(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(
        "def check(event):\n"
        "    try:\n"
        f"        open({str(tmp_path / 'new')!r}, 'w')\n"
        "    except OSError as problem:\n"
        "        return {'decision': 'deny', 'reason': type(problem).__name__}\n"
    )
    hook = Hook(
        id="guard",
        on="before_tool",
        module="guard",
        function="check",
        source=Source.USER,
        source_path=str(tmp_path / "hookline.toml"),
    )

    report = run(record("ls", cwd=str(tmp_path)), hook)

    assert len(report.changes) == 1
    assert report.changes[0].reason in {"PermissionError", "OSError"}
    assert not (tmp_path / "new").exists()


@CONTAINED
def test_persistent_process_is_started_contained_and_answers_many_events(tmp_path: Path) -> None:
    code = f"""
import json, os, sys
try:
    open({str(tmp_path / "new")!r}, "w").close()
except OSError:
    for line in sys.stdin:
        print(json.dumps({{"decision": "deny", "reason": str(os.getpid())}}), flush=True)
"""

    report = run(record(*COMMANDS, cwd=str(tmp_path)), program(code, persistent=True))

    assert len(report.changes) == len(COMMANDS)
    assert len({one.reason for one in report.changes}) == 1
    assert not (tmp_path / "new").exists()


def test_mistake_in_the_configuration_of_a_project_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such folder"):
        asyncio.run(replay(record("ls"), HookChoice(project=tmp_path / "gone")))


def test_error_between_two_events_ends_the_replay_as_it_is() -> None:
    def stop() -> None:
        raise ConfigError("enough")

    with pytest.raises(ConfigError, match="enough"):
        asyncio.run(replay(record(*COMMANDS), HookChoice(hooks=[rule(deny="no")]), on_progress=stop))


def store_session(data: Path, *commands: str) -> None:
    """Have an engine record a session."""

    async def emit() -> None:
        async with Engine(store=SqliteTraces(data / "traces.db"), cwd=str(data)) as engine:
            engine.on("before_tool")(lambda _event: None)
            for session in ("s1", "s2"):
                for command in commands:
                    await engine.emit(
                        "before_tool", tool="shell", args={"command": command}, session=Session(id=session)
                    )

    asyncio.run(emit())


def files_of(folder: Path) -> Sequence[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def test_session_is_replayed_with_the_rules_of_a_text_and_nothing_is_written(tmp_path: Path) -> None:
    store_session(tmp_path, *COMMANDS)
    project = tmp_path / "project"
    project.mkdir()
    before = files_of(tmp_path)
    toml = '[[hook]]\nname = "no-force"\nruns = "git push --force"\ndeny = "no"\n'

    report = asyncio.run(replay_session(tmp_path, "s2", project, toml))

    assert (report.events, report.counts) == (7, {"pass -> deny": 3})
    assert {one.session for one in report.changes} == {"s2"}
    # besides what SQLite needs to read a file
    assert [file for file in files_of(tmp_path) if not file[0].endswith(("-shm", "-wal"))] == before


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('[[hook]]\nname = "x"\non = "before_tool"\nrun = ["true"]\n', 'the rules:1: hook "x" is no rule'),
        ("[[hook]\n", "the rules:1: "),
        ('[[hook]]\nname = "x"\nruns = "ls"\ndeni = "no"\n', "the rules:"),
    ],
)
def test_text_that_holds_anything_but_rules_is_refused_with_its_line(toml: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(toml)

    assert str(caught.value).startswith(problem)


def test_rule_of_the_text_takes_the_place_of_a_hook_with_its_name() -> None:
    rules = read_rules('[[hook]]\nname = "rule"\nruns = "ls"\ndeny = "now"\n')

    report = run(record("ls", "true"), rule(deny="then"), rules=rules)

    assert [(one.subject, one.reason) for one in report.changes] == [("ls", "now")]


def test_replay_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    run(record("ls"), rule(deny="no"))

    assert list(tmp_path.iterdir()) == []
