"""The place agents run in: loopback and nothing else, and nothing is left running."""

import sys
from pathlib import Path

import pytest

from tests.agents.agents import Agent
from tests.agents.speech import Turn
from tests.agents.world import Report, World


class Script(Agent):
    """A program of ours in place of an agent."""

    @property
    def command(self) -> list[str]:
        return [sys.executable, *self.arguments]

    @property
    def path(self) -> str:
        return "/usr/bin:/bin"


def run(folder: Path, program: str, settle: float = 20) -> tuple[World, Report]:
    agent = Script(name="script", arguments=("-c", program, "{port}"), env={})
    world = World.make(folder / "machine", agent)
    try:
        return world, world.run(agent, [Turn("hello")], settle=settle)
    except AssertionError as error:
        if "no network namespace" in str(error):
            pytest.skip("this machine makes no network namespaces")
        raise


def test_a_program_reaches_the_model_and_no_one_else(tmp_path: Path) -> None:
    program = """
import http.client, socket, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
connection.request("GET", "/v1/models")
print(connection.getresponse().status)
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.strerror)
"""
    _, report = run(tmp_path, program)

    assert report.stdout == "200\nNetwork is unreachable\n"


def test_a_program_knows_nothing_of_whoever_runs_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    world, report = run(tmp_path, "import os; print(os.environ.get('SOME_KEY'), os.environ['HOME'], os.getcwd())")

    assert report.stdout == f"None {world.home} {world.project}\n"


def test_what_a_program_leaves_running_ends(tmp_path: Path) -> None:
    program = """
import subprocess
print(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)
"""
    world, report = run(tmp_path, program, settle=0)

    # its number may belong to somebody else by now
    left = Path("/proc", report.stdout.strip(), "cwd")
    assert not left.exists() or left.readlink() != world.project


def test_the_end_of_a_program_is_reported_as_it_was(tmp_path: Path) -> None:
    _, report = run(tmp_path, "import sys; sys.stderr.write('no'); sys.exit(7)")

    assert (report.code, report.stderr) == (7, "no")
