"""The command line with the launcher in it, run as agents run it: by every shell there is here."""

import os
import shutil
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.launcher import COLD
from hookline.hosts.line import POLICIES, broken, line, words
from hookline.model.ours import LAUNCHER, entry_of, launcher_line
from tests.bridge.launching import build
from tests.hosts.test_line import EVENTS, PAYLOAD, SHELLS, python_that, run

ODD = """it's "odd" $(x) `y` \\ \\\\ \\' *;&|<>{a,b} ~ #! %s\\n =z ü"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build(tmp_path_factory.mktemp("launcher"))
    if built is None:
        pytest.skip("no compiler here")
    return built


@pytest.fixture(autouse=True)
def _no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKLINE_DAEMON", "off")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("code", [0, 2])
def test_what_is_answered_is_passed_on_as_it_is(shell: str, code: int, program: Path, tmp_path: Path) -> None:
    python = python_that(tmp_path, f'wc -c; echo "$@" >&2; exit {code}')

    done = run(line("claude-code", "PreToolUse", python=python, policy="block", launcher=str(program)), shell=shell)

    said = f"-E -P -S {COLD} --launched hook --if-broken block claude-code PreToolUse\n"
    assert done == (code, f"{len(PAYLOAD)}\n".encode(), said.encode())


@pytest.mark.parametrize("shell", SHELLS)
def test_paths_with_odd_characters_are_run(shell: str, program: Path, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    launcher = Path(shutil.copy(program, folder))
    python = python_that(folder, "cat >/dev/null; echo ran", name=f"python {ODD}")

    done = run(line("claude-code", "Stop", python=python, policy="block", launcher=str(launcher)), shell=shell)

    assert done == (0, b"ran\n", b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("lost", ["launcher", "content", "python", "answer"])
@pytest.mark.parametrize(("host", "event"), [("claude-code", "PreToolUse"), ("windsurf", "pre_run_command")])
@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_is_gone_is_what_the_policy_says(
    shell: str, lost: str, host: str, event: str, policy: str, program: Path, tmp_path: Path
) -> None:
    python = python_that(tmp_path, "echo half; exit 1")
    launcher = str(program)
    if lost == "launcher":
        launcher = "/nowhere/hookline-hook"
    elif lost == "content":
        (tmp_path / LAUNCHER).touch(mode=0o755)
        launcher = str(tmp_path / LAUNCHER)
    elif lost == "python":
        python = "/nowhere/python"
    spare = broken(host, event, policy=policy)

    done = run(line(host, event, python=python, policy=policy, launcher=launcher), shell=shell)

    assert done == (spare.exit_code, spare.stdout, spare.stderr)


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_a_launcher_that_is_gone_says_in_every_agents_bytes_what_it_would_have_said(host: str, event: str) -> None:
    for policy in POLICIES:
        spare = broken(host, event, policy=policy)

        done = run(line(host, event, python="/bin/false", policy=policy, launcher="/nowhere/hookline-hook"))

        assert done == (spare.exit_code, spare.stdout, spare.stderr)


@pytest.mark.parametrize("shell", SHELLS)
def test_any_text_is_said_as_it_is_by_every_shell(shell: str) -> None:
    command = launcher_line(("/nowhere/hookline-hook", ODD, f"{ODD}!", "7", "/py", "/cold", "hook"))

    assert run(command, shell=shell) == (7, f"{ODD}\n".encode(), f"{ODD}!\n".encode())


def test_the_shell_is_replaced_so_that_a_signal_reaches_the_launcher(tmp_path: Path) -> None:
    fake = tmp_path / LAUNCHER
    fake.write_text("#!/bin/sh\ncat >/dev/null; echo $PPID\n")
    fake.chmod(0o755)

    _, out, _ = run(line("claude-code", "Stop", python="/py", policy="allow", launcher=str(fake)))

    assert int(out) == os.getpid()


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_every_line_is_one_line_and_recognised_as_ours(host: str, event: str) -> None:
    for policy in POLICIES:
        command = line(host, event, python="/opt/my py", policy=policy, launcher="/opt/my bin/hookline-hook")
        entry = entry_of(command)

        assert "\n" not in command
        assert entry is not None
        assert (entry.python, entry.policy, entry.host, entry.event) == ("/opt/my py", policy, host, event)
        assert entry.launcher == "/opt/my bin/hookline-hook"


def test_words_for_those_who_have_an_answer_of_their_own_end_with_a_failure(program: Path, tmp_path: Path) -> None:
    python = python_that(tmp_path, "echo half; exit 3")
    ours = words("opencode", "tool.execute.before", python=python, policy="block", launcher=str(program))

    assert ours[-3:] == ("block", "opencode", "tool.execute.before")
    assert run('"$0" "$@"'.replace("$0", ours[0]).replace('"$@"', " ".join(f"'{word}'" for word in ours[1:]))) == (
        1,
        b"",
        b"",
    )


def test_every_agent_has_a_line_on_windows_without_a_launcher() -> None:
    for host in HOSTS.values():
        command = line(
            host.name, host.events[0], python="py", policy="allow", launcher="/x/hookline-hook", windows=True
        )

        assert command.startswith("py -E -P -m hookline hook ")
