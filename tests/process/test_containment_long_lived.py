"""Hooks whose process serves many events are contained as all others are: persistent ones, warm ones, and Python functions."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from hookline.kinds.command.command import Command
from hookline.kinds.python import Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook, Layer, Source
from hookline.model.sandbox import LEVELS, Sandbox
from hookline.process import linux
from hookline.process.containment import find_layers

pytestmark = pytest.mark.skipif(
    not linux.is_supported() or not find_layers().landlock, reason="needs a kernel that can contain a process"
)

T = TypeVar("T")

# What a hook tries, and what came of it. `outside` is a folder beside the project.
PROBE = """\
import json, os, socket, subprocess, sys, tempfile

def attempt(action):
    try:
        return action()
    except OSError as problem:
        return "refused" if problem.errno in {1, 13, 30} else str(problem)  # EPERM, EACCES, EROFS

def read(path):
    with open(path) as file:
        return file.read()

def write(path):
    with open(path, "w") as file:
        file.write("x")
    return "written"

def probe(document):
    home, outside = document["home"], document["outside"]
    with open(os.path.join(tempfile.gettempdir(), "mine"), "a") as file:
        file.write("x")
    left = subprocess.Popen(
        ["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return {
        "secret": attempt(lambda: read(home + "/.ssh/id_test")),
        "other": attempt(lambda: read(home + "/notes")),
        "outside": attempt(lambda: write(outside + "/file")),
        "project": attempt(lambda: write(document["project"] + "/file")),
        "socket": attempt(lambda: socket.socket() and "made"),
        "token": os.environ.get("MY_TOKEN"),
        "tmp": tempfile.gettempdir(),
        "in_tmp": os.path.getsize(os.path.join(tempfile.gettempdir(), "mine")),
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "parent": os.getppid(),
        "left": left.pid,
        "group": os.getpgid(left.pid),
    }
"""
EACH_LINE = "for line in sys.stdin:\n    print(json.dumps(probe(json.loads(line))), flush=True)\n"
ONCE = "print(json.dumps(probe(json.load(sys.stdin))))\n"

OF_PROJECT = {"source": Source.WORKSPACE, "layer": Layer.PROJECT}
READER = """\
import json, os, sys

def probe(document):
    with open(document["home"] + "/.ssh/id_test") as file:
        return {"read": file.read(), "parent": os.getppid()}
"""

CONTAINED = {
    "secret": "refused",
    "other": "notes",
    "outside": "refused",
    "project": "written",
    "socket": "refused",
    "token": None,
}


class Project:
    """A project whose hook tries to leave it, and the kinds that run it; all calls on one event loop."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.home = folder / "home"
        self.folder = self.home / "project"
        self.outside = self.home / "outside"
        for made in (self.home / ".ssh", self.folder, self.outside):
            made.mkdir(parents=True)
        (self.home / ".ssh" / "id_test").write_text("secret")
        (self.home / "notes").write_text("notes")
        self.commands, self.functions = Command(), Python()
        self._runner = runner

    def run(self, work: Coroutine[object, object, T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(50):
                return await work

        return self._runner.run(bounded())

    def script(self, text: str) -> str:
        path = self.folder / "hook.py"
        path.write_text(text, "utf-8")
        return str(path)

    def ask(self, hook: Hook, *, timeout: float = 30.0) -> Reply:
        document = {"home": str(self.home), "outside": str(self.outside), "project": str(self.folder)}
        event = Event(name=EventName.BEFORE_TOOL, cwd=str(self.folder))
        kind = self.functions if hook.module else self.commands
        return self.run(kind.call(hook, Request(event=event, document=document), timeout=timeout))

    def ask_warm(self, hook: Hook) -> Reply:
        """Call a script until something else than this program started it."""
        while True:
            reply = self.ask(hook)
            if said(reply)["parent"] != os.getpid():
                return reply
            self.run(asyncio.sleep(0.02))

    def close(self) -> None:
        self.run(self.commands.close())
        self.run(self.functions.close())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with asyncio.Runner() as runner:
        made = Project(tmp_path.resolve(), runner)
        monkeypatch.setenv("HOME", str(made.home))
        monkeypatch.setenv("MY_TOKEN", "secret")
        yield made
        made.close()


def command(project: Project, text: str, **fields: object) -> Hook:
    given = {"id": "h", "command": sys.executable, "args": (project.script(text),), **OF_PROJECT}
    return Hook(**(given | fields))  # type: ignore[arg-type]


def persistent(project: Project, text: str = PROBE + EACH_LINE, **fields: object) -> Hook:
    return command(project, text, persistent=True, **fields)


def warm(project: Project, text: str = PROBE + ONCE, **fields: object) -> Hook:
    return command(project, text, warm=True, **fields)


def function(project: Project, text: str = PROBE, **fields: object) -> Hook:
    project.script(text)
    given = {"id": "h", "module": "hook", "function": "probe", **OF_PROJECT}
    return Hook(**(given | fields))  # type: ignore[arg-type]


def said(reply: Reply) -> dict[str, object]:
    assert reply.failure is None, (reply.failure, reply.stderr)
    document = json.loads(reply.stdout) if reply.stdout else reply.value
    assert isinstance(document, dict)
    return document


def wait_until_gone(pid: object) -> None:
    """Wait until a process has ended; whoever adopted it may take its time to reap it."""
    deadline = time.monotonic() + 20
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline, f"{pid} still runs"
            time.sleep(0.02)


def runs(pid: object) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def assert_contained(reply: Reply) -> dict[str, object]:
    document = said(reply)
    assert {name: document[name] for name in CONTAINED} == CONTAINED
    assert "seccomp" in reply.sandbox
    assert any(layer.startswith("landlock") for layer in reply.sandbox)
    assert str(document["tmp"]).rpartition("/")[2].startswith("hookline-hook-")
    return document


def test_persistent_hook_of_a_project_is_contained_and_takes_along_what_it_started(project: Project) -> None:
    hook = persistent(project)
    first = assert_contained(project.ask(hook))
    second = assert_contained(project.ask(hook))

    assert first["pid"] == second["pid"] == first["group"]
    assert runs(first["left"])

    project.run(project.commands.close())
    for pid in (first["pid"], first["left"], second["left"]):
        wait_until_gone(pid)
    assert not Path(str(first["tmp"])).exists()


def test_warm_hook_of_a_project_is_contained_and_leaves_nothing_behind(project: Project) -> None:
    hook = warm(project)
    document: dict[str, object] = assert_contained(project.ask_warm(hook))
    again: dict[str, object] = {}
    # the first warm call has the forkserver replaced by one that imports the same libraries ahead
    while again.get("parent") != document["parent"]:
        document, again = again or document, assert_contained(project.ask_warm(hook))

    assert document["group"] == document["pid"]
    assert document["pid"] != again["pid"]
    wait_until_gone(document["left"])
    # one temporary folder for the forkserver, empty again for each call
    assert (document["in_tmp"], again["in_tmp"]) == (1, 1)
    assert again["tmp"] == document["tmp"]

    project.run(project.commands.close())
    wait_until_gone(again["parent"])
    assert not Path(str(again["tmp"])).exists()


def test_library_that_a_forkserver_imports_ahead_is_contained(project: Project, tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "nosy.py").write_text(
        "try:\n"
        f"    FOUND = open({str(project.home / '.ssh' / 'id_test')!r}).read()\n"
        "except OSError as problem:\n"
        "    FOUND = type(problem).__name__\n"
    )
    text = (
        "import json, os, nosy\nprint(json.dumps({'parent': os.getppid(), 'found': nosy.FOUND, 'n': nosy.__name__}))\n"
    )
    hook = warm(project, text, env={"PYTHONPATH": str(packages)})
    project.ask_warm(hook)

    # the first warm run reports the library, the next forkserver imports it ahead
    for _ in range(5):
        assert said(project.ask_warm(hook))["found"] == "PermissionError"


def test_warm_script_may_import_ctypes(project: Project) -> None:
    text = (
        "import json, os, sys\n"
        "before = '_ctypes' in sys.modules\n"
        "import ctypes\n"
        "pid = ctypes.CDLL(None).getpid()\n"
        "print(json.dumps({'parent': os.getppid(), 'before': before, 'same': pid == os.getpid()}))\n"
    )
    first = said(project.ask_warm(warm(project, text)))

    assert (first["before"], first["same"]) == (False, True)


def test_contained_and_uncontained_calls_of_one_script_never_share_a_forkserver(project: Project) -> None:
    contained = said(project.ask_warm(warm(project)))
    free = said(project.ask_warm(warm(project, sandbox=LEVELS["none"])))

    assert contained["parent"] != free["parent"]
    assert (free["secret"], free["outside"], free["token"]) == ("secret", "written", "secret")


@pytest.mark.slow
def test_warm_script_is_ended_by_the_limit_of_its_processor_time(project: Project) -> None:
    text = "import json, os, sys\nprint(json.dumps({'parent': os.getppid()}), flush=True)\nif os.path.exists('busy'):\n    while True: pass\n"
    hook = warm(project, text, sandbox=Sandbox(write=(".",), cpu=1))
    project.ask_warm(hook)
    (project.folder / "busy").touch()

    reply = project.ask(hook)

    assert reply.failure is not None
    assert (reply.failure.kind, "sandbox.cpu" in reply.failure.message) == (FailureKind.LIMIT, True)


def test_function_of_a_project_runs_in_a_contained_worker_that_takes_along_what_it_started(project: Project) -> None:
    hook = function(project)
    first = assert_contained(project.ask(hook))
    second = assert_contained(project.ask(hook))

    assert first["pid"] == second["pid"] == first["group"] != os.getpid()
    assert first["cwd"] == os.getcwd()  # noqa: PTH109 - as the hook says it

    project.run(project.functions.close())
    for pid in (first["pid"], first["left"], second["left"]):
        wait_until_gone(pid)
    assert not Path(str(first["tmp"])).exists()


def test_isolated_function_of_a_project_is_contained_in_its_folder(project: Project) -> None:
    document = assert_contained(project.ask(function(project, isolated=True, env={"MODE": "x"})))

    assert document["cwd"] == str(project.folder)


PLANTER = """\
import json, os, sys

def probe(document):
    os.mkdir(document["project"] + "/.gemini")
    return {}
"""


@pytest.mark.parametrize(("make", "ending"), [(command, ONCE), (persistent, EACH_LINE), (warm, ONCE), (function, "")])
def test_hook_that_makes_what_agents_obey_has_failed_however_it_runs(
    project: Project, make: Callable[..., Hook], ending: str
) -> None:
    reply = project.ask(make(project, PLANTER + ending))

    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.REFUSED
    assert f'"{project.folder}/.gemini" was made or changed while the hook ran' in reply.failure.message
    assert "seccomp" in reply.sandbox


@pytest.mark.parametrize(("make", "ending"), [(persistent, EACH_LINE), (warm, ONCE), (function, "")])
def test_hook_of_the_program_itself_is_not_contained(project: Project, make: Callable[..., Hook], ending: str) -> None:
    hook = make(project, READER + ending, layer=Layer.PROGRAM)
    reply = project.ask_warm(hook) if hook.warm else project.ask(hook)

    assert (said(reply)["read"], reply.sandbox) == ("secret", ())


@pytest.mark.parametrize("make", [persistent, function])
def test_process_for_many_events_is_ended_when_it_starts_too_many_others(
    project: Project, make: Callable[..., Hook]
) -> None:
    text = (
        "import json, subprocess, sys, time\n"
        "def probe(document):\n"
        "    for _ in range(9): subprocess.Popen(['sleep', '600'])\n"
        "    time.sleep(600)\n"
    )
    hook = make(project, text + (EACH_LINE if make is persistent else ""), sandbox=Sandbox(processes=5))
    reply = project.ask(hook)

    assert reply.failure is not None
    assert (reply.failure.kind, "sandbox.processes" in reply.failure.message) == (FailureKind.LIMIT, True)


@pytest.mark.slow
@pytest.mark.parametrize("make", [persistent, function])
def test_processor_time_does_not_add_up_over_many_events(project: Project, make: Callable[..., Hook]) -> None:
    text = (
        "import json, os, sys, time\n"
        "def probe(document):\n"
        "    until = time.process_time() + 0.7\n"
        "    while time.process_time() < until: pass\n"
        "    return {'pid': os.getpid()}\n"
    )
    hook = make(project, text + (EACH_LINE if make is persistent else ""), sandbox=Sandbox(cpu=1))
    pids = {said(project.ask(hook))["pid"] for _ in range(4)}

    assert len(pids) == 1


@pytest.mark.parametrize("make", [persistent, warm, function])
def test_process_that_reads_only_the_project_still_finds_python(project: Project, make: Callable[..., Hook]) -> None:
    hook = make(project, sandbox=Sandbox(write=(".",), read=(".",)))
    reply = project.ask_warm(hook) if hook.warm else project.ask(hook)

    document = said(reply)
    assert (document["project"], document["other"]) == ("written", "refused")
