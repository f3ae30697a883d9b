"""The command line with the launcher in it, run as agents run it: by every shell there is here."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.command_line import POLICIES, command_line, command_words, fallback_answer
from hookline.model.installed_entry import LAUNCHER, launcher_line, parse_entry
from tests.bridge.launching import build
from tests.daemon.living import is_alive
from tests.helpers.each import each
from tests.hosts.test_command_line import EVENTS, PAYLOAD, SHELLS, python_that, run
from tests.waiting import until

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
    python = python_that(tmp_path, f'wc -c; echo "$@" >&2; exit {100 + code}')

    done = run(command_line("kiro", "preToolUse", python=python, policy="block", launcher=str(program)), shell=shell)

    said = b"-E -P -m hookline hook --prove --if-broken block kiro preToolUse\n"
    assert done == (code, f"{len(PAYLOAD)}\n".encode(), said)


@pytest.mark.parametrize("shell", SHELLS)
def test_paths_with_odd_characters_are_run(shell: str, program: Path, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    launcher = Path(shutil.copy(program, folder))
    python = python_that(folder, "cat >/dev/null; echo ran; exit 100", name=f"python {ODD}")

    done = run(command_line("claude-code", "Stop", python=python, policy="block", launcher=str(launcher)), shell=shell)

    assert done == (0, b"ran\n", b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("lost", ["launcher", "content", "python", "answer", "proof"])
@pytest.mark.parametrize(("host", "event"), [("claude-code", "PreToolUse"), ("windsurf", "pre_run_command")])
@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_is_gone_is_what_the_policy_says(
    shell: str, lost: str, host: str, event: str, policy: str, program: Path, tmp_path: Path
) -> None:
    python = python_that(tmp_path, "exit 0" if lost == "proof" else "echo half; exit 1")
    launcher = str(program)
    if lost == "launcher":
        launcher = "/nowhere/hookline-hook"
    elif lost == "content":
        (tmp_path / LAUNCHER).touch(mode=0o755)
        launcher = str(tmp_path / LAUNCHER)
    elif lost == "python":
        python = "/nowhere/python"
    spare = fallback_answer(host, event, policy=policy)

    done = run(command_line(host, event, python=python, policy=policy, launcher=launcher), shell=shell)

    assert done == (spare.exit_code, spare.stdout, spare.stderr)


@each(("host", "event"), EVENTS)
def test_a_launcher_that_is_gone_says_in_every_agents_bytes_what_it_would_have_said(host: str, event: str) -> None:
    for policy in POLICIES:
        spare = fallback_answer(host, event, policy=policy)

        done = run(command_line(host, event, python="/bin/false", policy=policy, launcher="/nowhere/hookline-hook"))

        assert done == (spare.exit_code, spare.stdout, spare.stderr)


@pytest.mark.parametrize("shell", SHELLS)
def test_any_text_is_said_as_it_is_by_every_shell(shell: str) -> None:
    command = launcher_line(("/nowhere/hookline-hook", "/py", "hook"), (ODD, f"{ODD}!", "7"))

    assert run(command, shell=shell) == (7, f"{ODD}\n".encode(), f"{ODD}!\n".encode())


DAMAGE: dict[str, Callable[[Path], object]] = {
    "may not be run": lambda path: path.chmod(0o644),
    "is for another machine": lambda path: path.write_bytes(
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf7\x7f" + bytes(44)
    ),
    "is cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "is full of zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "is a folder": lambda path: shutil.copytree(path.parent, shutil.move(path, f"{path}.moved").removesuffix(".moved")),
    "is another program": lambda path: path.write_bytes(Path("/bin/false").read_bytes()),
    "wants an interpreter that is gone": lambda path: path.write_bytes(b"#!/nowhere/sh\n"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("host", ["claude-code", "windsurf"])
def test_a_launcher_that_cannot_be_executed_leads_to_the_spare_answer(
    shell: str, host: str, program: Path, tmp_path: Path
) -> None:
    event = {"claude-code": "PreToolUse", "windsurf": "pre_run_command"}[host]
    spare = fallback_answer(host, event, policy="block")
    for number, (name, damage) in enumerate(DAMAGE.items()):
        (tmp_path / str(number)).mkdir()
        launcher = Path(shutil.copy(program, tmp_path / str(number)))
        damage(launcher)

        code, out, err = run(
            command_line(host, event, python="/py", policy="block", launcher=str(launcher)), shell=shell
        )

        assert (code, out, err.endswith(spare.stderr)) == (spare.exit_code, spare.stdout, True), name


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
@pytest.mark.parametrize("event", ["PreToolUse", "TaskCreated"])
def test_a_launcher_ends_with_the_shell_that_the_agent_kills(event: str, program: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    python = python_that(tmp_path, f"echo $$ > {ready}.new; mv {ready}.new {ready}; exec sleep 600")
    command = command_line("claude-code", event, python=python, policy="block", launcher=str(program))

    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        until(ready.exists)
        process.kill()
    behind = int(ready.read_text())

    until(lambda: not is_alive(behind))


@each(("host", "event"), EVENTS)
def test_every_line_is_one_line_and_recognised_as_ours(host: str, event: str) -> None:
    for policy in POLICIES:
        command = command_line(host, event, python="/opt/my py", policy=policy, launcher="/opt/my bin/hookline-hook")
        entry = parse_entry(command)

        assert "\n" not in command
        assert entry is not None
        assert (entry.python, entry.policy, entry.host, entry.event) == ("/opt/my py", policy, host, event)
        assert entry.launcher == "/opt/my bin/hookline-hook"


def test_words_for_those_who_have_an_answer_of_their_own_end_with_a_failure(program: Path, tmp_path: Path) -> None:
    python = python_that(tmp_path, "echo half; exit 3")
    ours = command_words("opencode", "tool.execute.before", python=python, policy="block", launcher=str(program))

    assert ours[-3:] == ("block", "opencode", "tool.execute.before")
    assert run('"$0" "$@"'.replace("$0", ours[0]).replace('"$@"', " ".join(f"'{word}'" for word in ours[1:]))) == (
        1,
        b"",
        b"",
    )


def test_every_agent_has_a_line_on_windows_without_a_launcher() -> None:
    for host in HOSTS.values():
        command = command_line(
            host.name, host.events[0], python="py", policy="allow", launcher="/x/hookline-hook", windows=True
        )

        assert command.startswith("py -E -P -m hookline hook ")
