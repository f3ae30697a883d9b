"""Entries in the settings of agents, run as the agents would: which of them reach us, and why others do not."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from hookline.bridge.install_check import AgentCheck, check_agents
from hookline.hosts.command_line import command_line, command_words, find_launcher
from hookline.hosts.host import HostEnvironment
from tests.bridge.agents import GUARD, Person
from tests.daemon.living import short_folder

pytestmark = pytest.mark.slow


def _around(person: Person) -> HostEnvironment:
    return HostEnvironment(home=person.home, data=person.data, project=person.project, environ=dict(os.environ))


def _settings(commands: dict[str, str]) -> str:
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return json.dumps({"hooks": hooks})


def _write(path: Path, commands: dict[str, str], **more: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**json.loads(_settings(commands)), **more}))


def _ours(event: str, python: str = sys.executable) -> str:
    return command_line("claude-code", event, python=python, policy="block")


def _tried(person: Person) -> AgentCheck:
    (standing,) = check_agents(_around(person))
    return standing


def test_what_stands_in_the_settings_reaches_us(person: Person) -> None:
    person.configure(GUARD)
    _write(person.home / ".claude" / "settings.json", {name: _ours(name) for name in ("PreToolUse", "Stop")})
    standing = _tried(person)
    assert [(one.event, one.arrived, one.why) for one in standing.tried] == [
        ("PreToolUse", True, ""),
        ("Stop", True, ""),
    ]
    assert standing.obstacles == ()
    # nothing of it is left, no trace, no ledger, no token, but the record of entries that are known in this home
    assert [path.name for path in person.data.iterdir()] == ["known-hooks.json"]


def test_a_python_that_has_gone_is_named(person: Person) -> None:
    gone = str(person.home / "gone" / "python")
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": _ours("PreToolUse", gone)})
    (one,) = _tried(person).tried
    assert not one.arrived
    assert one.why == f"its Python is gone: {gone}"


def test_a_python_without_us_is_named(person: Person) -> None:
    python = person.home / "python"
    python.write_text('#!/bin/sh\necho "No module named hookline" >&2\nexit 1\n')
    python.chmod(0o755)
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": _ours("PreToolUse", str(python))})
    (one,) = _tried(person).tried
    assert not one.arrived
    assert one.why == f"{python} has no hookline that can answer: No module named hookline"


def test_a_command_that_does_something_else_before_does_not_pass_for_us(person: Person) -> None:
    mark = person.home / "ran"
    ours = shlex.join([sys.executable, "-m", "hookline", "hook", "claude-code", "PreToolUse"])
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": f"touch {mark}; {ours}"})
    assert list(check_agents(_around(person))) == []
    assert not mark.exists()


def test_a_program_in_our_place_that_answers_nothing_is_named(person: Person) -> None:
    python = person.home / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": _ours("PreToolUse", str(python))})
    (one,) = _tried(person).tried
    assert not one.arrived
    assert one.why == f"{python} has no hookline that can answer: it ended with 3"


def test_an_agent_that_was_told_to_run_no_hooks_is_an_obstacle(person: Person) -> None:
    _write(person.home / ".claude" / "settings.json", {"Stop": _ours("Stop")}, disableAllHooks=True)
    (obstacle,) = _tried(person).obstacles
    assert "disableAllHooks" in obstacle.text


def test_nothing_that_a_project_made_up_is_run(person: Person) -> None:
    mark = person.home / "ran"
    python = person.project / "python"
    python.write_text(f"#!/bin/sh\ntouch {mark}\n")
    python.chmod(0o755)
    _write(person.project / ".claude" / "settings.json", {"Stop": _ours("Stop", str(python))})
    (one,) = _tried(person).tried
    assert not one.arrived
    assert "it was not tried" in one.why
    assert not mark.exists()


def test_what_we_wrote_into_a_project_is_tried(person: Person) -> None:
    _write(person.project / ".claude" / "settings.json", {"Stop": _ours("Stop")})
    (one,) = _tried(person).tried
    assert one.arrived, one.why


def test_agents_without_us_are_not_tried(person: Person) -> None:
    _write(person.home / ".claude" / "settings.json", {"Stop": "echo hello"})
    assert list(check_agents(_around(person))) == []


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> str:
    found = find_launcher(sys.executable)
    if not found:
        pytest.skip("no launcher was built for this Python")
    # what is tried here is the way without a daemon
    monkeypatch.setenv("HOOKLINE_DAEMON", "off")
    return found


def test_what_stands_in_the_settings_reaches_us_through_the_launcher(person: Person, launcher: str) -> None:
    person.configure(GUARD)
    ours = command_line("claude-code", "PreToolUse", python=sys.executable, policy="block", launcher=launcher)
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": ours})
    _write(person.project / ".claude" / "settings.json", {"PreToolUse": ours})
    tried = _tried(person).tried
    assert [(one.arrived, one.why) for one in tried] == [(True, ""), (True, "")]


def test_a_plugin_in_a_project_reaches_us_through_the_launcher(person: Person, launcher: str) -> None:
    ours = command_words("opencode", "session.idle", python=sys.executable, policy="block", launcher=launcher)
    plugin = person.project / ".opencode" / "plugin" / "hookline.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f"// Written by hookline install opencode\n\n// {shlex.join(ours)}\n")
    (one,) = _tried(person).tried
    assert (one.arrived, one.why) == (True, "")


def test_a_launcher_that_has_gone_is_named(person: Person) -> None:
    gone = str(person.home / "gone" / "hookline-hook")
    ours = command_line("claude-code", "PreToolUse", python=sys.executable, policy="block", launcher=gone)
    _write(person.home / ".claude" / "settings.json", {"PreToolUse": ours})
    (one,) = _tried(person).tried
    assert (one.arrived, one.why) == (False, f"its launcher is gone: {gone}")


def test_a_launcher_that_a_project_brings_along_is_not_run(person: Person) -> None:
    mark = person.home / "ran"
    program = person.project / "hookline-hook"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    ours = command_line("claude-code", "Stop", python=sys.executable, policy="block", launcher=str(program))
    _write(person.project / ".claude" / "settings.json", {"Stop": ours})
    (one,) = _tried(person).tried
    assert not one.arrived
    assert "it was not tried" in one.why
    assert not mark.exists()


def test_trying_us_out_leaves_no_daemon_behind(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    with short_folder() as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.delenv("HOOKLINE_DAEMON")
        monkeypatch.delenv("CI", raising=False)
        launcher = find_launcher(sys.executable)
        if not launcher:
            pytest.skip("there is no native launcher here")
        ours = command_line("claude-code", "Stop", python=sys.executable, policy="block", launcher=launcher)
        _write(person.home / ".claude" / "settings.json", {"Stop": ours})
        (one,) = _tried(person).tried
        assert one.arrived, one.why
        assert list(runtime.iterdir()) == []
