"""Notifications on the desktop: what the program that shows them really gets."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from hookline.kinds.notify import NOTIFIERS, Notify
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Source
from hookline.model.verdict import Effect, EffectKind, Verdict
from tests.cli.program import configure, hookline

PAYLOADS = Path(__file__).parent.parent / "dialects" / "payloads"
SHOW = """#!/bin/sh
for word; do printf '%s\\0' "$word"; done > "$SHOWN"
printf '%s\\0%s' "$HOOKLINE_NOTIFY_TITLE" "$HOOKLINE_NOTIFY_TEXT" > "$SHOWN.env"
"""


@pytest.fixture
def desktop(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for notifier in NOTIFIERS.values():
        program = folder / notifier.program
        program.write_text(SHOW)
        program.chmod(0o755)
    return folder


def path_with(folder: Path) -> str:
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def shown(tmp_path: Path) -> list[str]:
    return (tmp_path / "shown").read_text().split("\0")[:-1]


@pytest.mark.spec("U-09")
@pytest.mark.parametrize(
    ("agent", "payload", "text"),
    [
        ("claude-code", "claude/Stop.json", "claude-code is done in project"),
        ("codex-cli", "codex/Stop.json", "codex-cli is done in project"),
        ("gemini-cli", "gemini/AfterAgent.json", "gemini-cli is done in project"),
    ],
)
def test_one_line_tells_when_an_agent_stops(tmp_path: Path, desktop: Path, agent: str, payload: str, text: str) -> None:
    home = tmp_path / "home"
    configure(home, '[[hook]]\nname = "done"\non = "after_agent"\nnotify = "{{agent}} is done in {{project}}"\n')
    event = (PAYLOADS / payload).read_text().replace("$CWD", str(tmp_path / "project"))

    native = json.loads(event)["hook_event_name"]
    done = hookline(home, "hook", agent, native, stdin=event, PATH=path_with(desktop), SHOWN=str(tmp_path / "shown"))

    assert done.returncode == 0, done.stderr
    assert shown(tmp_path) == ["--app-name=Hookline", "--", "done", text]


@pytest.mark.spec("U-09")
def test_what_the_agent_waits_for_is_shown_as_text_and_nothing_else(tmp_path: Path, desktop: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[[hook]]\nname = "waits"\non = "notification"\nnotify = "{{message}}"\n')
    message = '<b>"; touch pwned; $(touch pwned) \x1b[31m & --help'

    done = hookline(
        home,
        *("emit", "notification", "--data", json.dumps({"message": message})),
        PATH=path_with(desktop),
        SHOWN=str(tmp_path / "shown"),
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert shown(tmp_path)[-1] == '&lt;b&gt;"; touch pwned; $(touch pwned) \\x1b[31m &amp; --help'
    assert not (tmp_path / "project" / "pwned").exists()


@pytest.mark.spec("U-09")
@pytest.mark.parametrize("platform", NOTIFIERS)
def test_every_desktop_system_gets_the_text_as_a_word_or_a_variable(
    tmp_path: Path, desktop: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setenv("PATH", path_with(desktop))
    monkeypatch.setenv("SHOWN", str(tmp_path / "shown"))
    hook = Hook(id="n", name="t", on="notification", notify='say "{{message}}"', source=Source.USER)
    request = Request(event=Event(name=EventName.NOTIFICATION, data={"message": "it's $done"}))

    reply = asyncio.run(Notify(platform).call(hook, request, timeout=20))

    assert reply == Reply(value=Verdict())
    assert (tmp_path / "shown.env").read_text().split("\0") == ["t", 'say "it\'s $done"']
    assert not any("done" in word for word in shown(tmp_path)[:-1])


@pytest.mark.spec("U-09")
@pytest.mark.parametrize("platform", ["linux", "plan9"])
def test_text_is_a_message_where_no_desktop_can_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    program = tmp_path / "notify-send"
    program.write_text("#!/bin/sh\necho 'Could not connect: no bus' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    hook = Hook(id="n", on="notification", notify="ready", source=Source.USER)
    request = Request(event=Event(name=EventName.NOTIFICATION))

    reply = asyncio.run(Notify(platform).call(hook, request, timeout=20))

    assert reply.value == Verdict(effects=(Effect(EffectKind.MESSAGE, "ready"),))
    assert "it is sent as a message instead" in reply.notes[0]


@pytest.mark.spec("U-09")
def test_notification_is_added_and_tried_at_the_command_line(tmp_path: Path, desktop: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    env = {"PATH": path_with(desktop), "SHOWN": str(tmp_path / "shown")}

    added = hookline(home, "add", "done", "--on", "after_agent", "--notify", "done in {{project}}")
    tried = hookline(home, "test", "done", **env)

    assert (added.returncode, tried.returncode) == (0, 0), added.stderr + tried.stderr
    assert shown(tmp_path)[-1] == "done in project"
