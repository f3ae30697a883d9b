"""What the page of `hookline ui` is told: calls live and later, sessions, hooks and what can be done with them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hookline.ui.live_feed import MOST_CLIENTS
from tests.cli.program import configure, environment, hookline
from tests.ui.page import Page, find_traces, open_page, write_call
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

KEY = "ghp_0123456789abcdefghijklmnopqrstuv"
PROJECT_HOOK = '[[hook]]\nid = "lint"\non = "before_tool"\nrun = "sh ./lint.sh"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def subjects(page: Page, **filters: object) -> list[object]:
    calls = page.get("/api/calls", **filters)["calls"]
    assert isinstance(calls, list)
    return [call["subject"] for call in calls]


def read_events(lines: Iterator[str], count: int) -> list[tuple[str, str, dict[str, object]]]:
    """Read so many events of a stream: name, id and data."""
    found, fields = [], dict[str, str]()
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            found.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
            fields = {}
            if len(found) == count:
                break
    return found


@pytest.mark.spec("U-14")
def test_calls_of_other_processes_arrive_live_and_those_that_were_missed_come_first(home: Path) -> None:
    home.mkdir()
    emit = [sys.executable, "-m", "hookline", "emit", "before_tool", "--tool", "shell", "--args"]
    configure(home, '[[hook]]\nid = "no-rm"\non = "before_tool"\nif = "args.command == \'rm\'"\ndeny = "no"\n')

    def raise_event(command: str) -> None:
        subprocess.run(
            [*emit, json.dumps({"command": command})],
            cwd=home.parent / "project",
            env=environment(home),
            timeout=PATIENCE,
            capture_output=True,
            check=False,
        )

    with open_page(home) as page:
        with page.client.stream("GET", "/api/stream") as stream:
            lines = stream.iter_lines()
            next(lines)
            raise_event("rm")
            [(name, number, call)] = read_events(lines, 1)

        assert (name, call["subject"], call["decision"], call["reasons"]) == ("call", "rm", "deny", ["no"])
        assert number == str(call["number"])

        write_call(home, 1, subject="one")
        write_call(home, 2, subject="two", hook="other")
        with page.client.stream("GET", "/api/stream", headers={"Last-Event-ID": number}) as stream:
            assert [event[2]["subject"] for event in read_events(stream.iter_lines(), 2)] == ["one", "two"]
        with page.client.stream("GET", "/api/stream", params={"hook": "other", "after": number}) as stream:
            lines = stream.iter_lines()
            assert [event[2]["subject"] for event in read_events(lines, 1)] == ["two"]
            write_call(home, 3, subject="three")
            write_call(home, 4, subject="four", hook="other")
            assert [event[2]["subject"] for event in read_events(lines, 1)] == ["four"]


def test_stream_of_the_first_tab_ends_when_too_many_are_open(home: Path) -> None:
    with open_page(home) as page, ExitStack() as streams:
        lines = []
        for _ in range(MOST_CLIENTS + 1):
            stream = streams.enter_context(page.client.stream("GET", "/api/stream"))
            lines.append(stream.iter_lines())
            next(lines[-1])

        assert [event[0] for event in read_events(lines[0], 2)] == ["replaced"]
        write_call(home, 1, subject="one")
        assert [read_events(one, 1)[0][2]["subject"] for one in lines[1:]] == ["one"] * MOST_CLIENTS


def test_numbers_beyond_those_of_records_are_no_error(home: Path) -> None:
    write_call(home, 1, subject="one")
    with open_page(home) as page:
        assert subjects(page, before=1e30) == ["one"]
        assert len(page.get("/api/sessions/s1", before=1e30)["calls"]) == 1


@pytest.mark.spec("U-14")
def test_filters_pages_and_texts_of_calls(home: Path) -> None:
    write_call(home, 1, agent="claude-code", session="a", subject="ls", hook="guard", project="/one")
    write_call(home, 2, agent="codex-cli", session="b", subject=f"git push {KEY}", decision="deny", project="/two")
    write_call(home, 3, agent="codex-cli", session="b", subject="echo \x1b[31m", hook="other", decision="ask")
    with open_page(home) as page:
        masked, escaped = "git push ghp_01…[secret]", "echo \\x1b[31m"

        assert subjects(page) == [escaped, masked, "ls"]
        assert subjects(page, agent="codex-cli") == [escaped, masked]
        assert subjects(page, session="a") == ["ls"]
        assert subjects(page, project="/two") == [masked]
        assert subjects(page, hook="other") == [escaped]
        assert subjects(page, decision="deny,ask") == [escaped, masked]
        assert subjects(page, text="PUSH") == [masked]
        assert subjects(page, since=1_000_002.5) == [escaped]
        first = page.get("/api/calls", limit=2)
        calls = first["calls"]
        assert isinstance(calls, list)
        assert first["more"] is True
        assert page.get("/api/calls", limit=2, before=calls[-1]["number"])["more"] is False
        assert page.client.get("/api/calls", params={"limit": "x"}).status_code == 400
        status = page.get("/api/status")
        assert (status["projects"], status["hooks"], status["records"]) == (
            ["/p", "/two", "/one"],
            ["guard", "other"],
            9,
        )


def test_session_is_told_with_its_records_and_what_hooks_rewrote(home: Path) -> None:
    effect = {"kind": "rewrite", "path": ["args", "command"], "value": f"ls {KEY}"}
    write_call(home, 1, session="a/b", subject="ls", effects=[effect])
    trace = write_call(home, 2, session="a/b", subject="rm", decision="deny", reason="no")
    with open_page(home) as page:
        [session] = page.get("/api/sessions")["sessions"]
        whole = page.get("/api/sessions/a%2Fb")
        last = page.get("/api/sessions/a%2Fb", limit=1)
        call = page.get(f"/api/calls/{trace}")

        assert session == whole["session"]
        assert (session["agent"], session["version"], session["calls"], session["blocked"]) == (
            "claude-code",
            "1.2.3",
            2,
            1,
        )
        calls = whole["calls"]
        assert isinstance(calls, list)
        assert [one["subject"] for one in calls] == ["ls", "rm"]
        assert calls[0]["diff"] == [{"name": "args.command", "before": "ls", "after": "ls ghp_01…[secret]"}]
        assert KEY not in json.dumps(whole)
        assert [one["trace"] for one in last["calls"]] == [trace]
        assert (whole["more"], last["more"]) == (False, True)
        assert [one["step"] for one in call["records"]] == ["event", "hook_execution_complete", "outcome"]
        assert page.client.get("/api/sessions/none").status_code == 404
        assert page.client.get("/api/calls/none").status_code == 404


@pytest.mark.spec("U-14")
def test_approval_holds_for_what_was_shown_and_nothing_else(home: Path) -> None:
    project = home.parent / "project"
    configure(home, "")
    (project / "hookline.toml").write_text(PROJECT_HOOK)
    script = project / "lint.sh"
    script.write_text("exit 0\n")
    with open_page(home) as page:

        def trust() -> str:
            hooks = page.get("/api/hooks", project=project)["hooks"]
            assert isinstance(hooks, list)
            return str(next(hook for hook in hooks if hook["id"] == "lint")["trust"]["state"])

        def look() -> dict[str, Any]:
            return page.get("/api/hooks/lint/approval", project=project)

        shown = look()
        assert trust() == shown["state"] == "needs approval"
        assert any("exit 0" in str(line) for line in shown["facts"])
        not_run = page.post("/api/hooks/lint/test", project=str(project))
        assert not_run.status_code == 409
        assert "not approved" in not_run.json()["error"]

        script.write_text("exit 1\n")
        refused = page.post("/api/hooks/lint/approve", project=str(project), digest=shown["digest"])
        assert (refused.status_code, trust()) == (409, "needs approval")
        assert page.post("/api/hooks/lint/approve", project=str(project)).status_code == 409
        approved = page.post("/api/hooks/lint/approve", project=str(project), digest=look()["digest"])
        assert (approved.status_code, trust()) == (200, "approved")

        script.write_text("echo changed >&2; exit 0\n")
        changed = look()
        assert changed["state"] == "changed"
        assert "-exit 1" in str(changed["diffs"])
        page.post("/api/hooks/lint/approve", project=str(project), digest=changed["digest"])
        tested = page.post("/api/hooks/lint/test", project=str(project)).json()
        assert (tested["decision"], tested["stderr"].strip(), tested["exit_code"]) == ("pass", "changed", 0)

        assert page.post("/api/hooks/lint/revoke", project=str(project)).status_code == 200
        assert trust() == "changed" or trust() == "needs approval"
        assert page.post("/api/hooks/lint/revoke", project=str(project)).status_code == 409


def test_hooks_are_switched_in_their_files(home: Path) -> None:
    folder = configure(home, '[[hook]]\nid = "guard"\non = "before_tool"\ndeny = "no"\n')
    project = str(home.parent / "project")
    with open_page(home) as page:

        def is_enabled() -> tuple[object, object, object]:
            hooks = page.get("/api/hooks", project=project)["hooks"]
            assert isinstance(hooks, list)
            hook = next(hook for hook in hooks if hook["id"] == "guard")
            return hook["enabled"], hook["active"], hook["can_toggle"]

        assert is_enabled() == (True, True, True)
        off = page.post("/api/hooks/guard/disable", project=project)
        assert (off.status_code, is_enabled()) == (200, (False, False, True))
        assert "enabled = false" in (folder / "hookline.toml").read_text()
        assert "guard" in off.json()["message"]
        assert page.post("/api/hooks/guard/enable", project=project).status_code == 200
        assert is_enabled() == (True, True, True)
        unknown = page.post("/api/hooks/none/disable", project=project)
        assert (unknown.status_code, "there is no hook" in unknown.json()["error"]) == (400, True)
        assert page.client.get("/api/hooks", params={"project": "/does/not/exist"}).status_code == 400
        assert page.client.get("/api/hooks/none/approval", params={"project": project}).status_code == 404


def test_matrix_metrics_queue_and_doctor(home: Path) -> None:
    write_call(home, 1, decision="deny")
    configure(home, '[[hook]]\nid = "guard"\non = "before_tool"\nrun = "true"\nper_minute = 3\n')
    with open_page(home) as page:
        cells = page.get("/api/matrix")["cells"]
        figures = page.get("/api/metrics", since=10**10, step=10**8)
        queue = page.get("/api/queue")
        doctor = page.get("/api/doctor")

        assert isinstance(cells, dict)
        assert cells["claude-code"]["before_tool"]["native"] == "PreToolUse"
        assert "block" in cells["claude-code"]["before_tool"]["can"]
        assert [(one["agent"], one["calls"], one["blocked"]) for one in figures["calls"]] == [("claude-code", 1, 1)]
        assert [(one["hook"], one["runs"], one["denials"], one["p50"]) for one in figures["hooks"]] == [
            ("guard", 1, 1, 0.25)
        ]
        assert [one["name"] for one in figures["times_by_agent"]] == ["claude-code"]
        assert (queue["jobs"], [one["hook"] for one in queue["limits"]]) == ([], ["guard"])
        assert {"program", "traces"} <= {check["name"] for check in doctor["checks"]}


def test_page_of_a_user_without_traces_is_empty(home: Path) -> None:
    with open_page(home) as page:
        assert page.get("/api/calls") == {"calls": [], "more": False}
        assert page.get("/api/sessions") == {"sessions": []}
        assert page.get("/api/status")["records"] == 0
        assert not find_traces(home).exists()
        assert os.path.basename(str(page.get("/api/status")["project"])) == "project"  # noqa: PTH119


@pytest.mark.spec("U-16")
def test_session_is_replayed_with_a_rule_that_is_not_saved(home: Path) -> None:
    folder = configure(home, '[[hook]]\nname = "watch"\non = "before_tool"\ntell = "a call"\n')
    for command in ("git status", "git push --force", "git push -f origin main"):
        args = json.dumps({"command": command})
        hookline(home, "emit", "before_tool", "--tool", "shell", "--args", args, "--session", "s1")
    rule = '[[hook]]\nname = "no-force"\non = "before_tool"\nruns = ["git push --force"]\ndeny = "not here"\n'
    before = (folder / "hookline.toml").read_text()
    with open_page(home) as page:
        same = page.post("/api/replay", session="s1").json()
        tried = page.post("/api/replay", session="s1", toml=rule).json()
        program = page.post("/api/replay", session="s1", toml=rule.replace('deny = "not here"', 'run = ["true"]'))
        broken = page.post("/api/replay", session="s1", toml="[[hook]\n")

    assert (same["events"], same["changes"]) == (3, [])
    assert tried["counts"] == {"pass -> deny": 2}
    assert {(one["subject"], one["reason"]) for one in tried["changes"]} == {
        ("git push --force", "not here"),
        ("git push -f origin main", "not here"),
    }
    assert "is no rule" in program.json()["error"]
    assert "the rules:1" in broken.json()["error"]
    assert (folder / "hookline.toml").read_text() == before
