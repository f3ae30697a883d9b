"""Warm hooks: which calls are, what is noticed between two of them, and that nothing is left behind."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from hookline import caller_context
from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Source
from hookline.process.forkserver import SUPPORTED

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SUPPORTED, reason="needs pidfds, and processes that may fork")]

T = TypeVar("T")
# who started it tells a warm run from a cold one
WHO = "import os; print(os.getppid())\n"


class Project:
    """A folder with a script, and a kind that runs it; all calls on one event loop."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.folder = folder
        self.script = folder / "hook.py"
        self.kind = Command(shell_dialects=["claude-code"])
        self._runner = runner
        self.env: dict[str, str] = {}

    def run(self, work: Coroutine[object, object, T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(30):
                return await work

        return self._runner.run(bounded())

    def hook(self, **fields: object) -> Hook:
        given = {"id": "h", "command": sys.executable, "args": (str(self.script),), "source": Source.USER, "warm": True}
        return Hook(**(given | {"env": dict(self.env)} | fields))  # type: ignore[arg-type]

    async def answer(self, hook: Hook, sealed: dict[str, bytes] | None) -> Reply:
        event = Event(name=EventName.BEFORE_TOOL, cwd=str(self.folder))
        request = Request(event=event, document={"n": 1})
        request.sealed = sealed
        return await self.kind.call(hook, request, timeout=50)

    def call(self, hook: Hook | None = None, *, sealed: dict[str, bytes] | None = None) -> str:
        answer = self.run(self.answer(hook or self.hook(), sealed))
        assert answer.failure is None, answer
        return answer.stdout.decode() + answer.stderr.decode()

    def until(self, text: str, hook: Hook | None = None, *, sealed: dict[str, bytes] | None = None) -> str:
        """Call until the answer has this in it."""

        async def several() -> str:
            while True:
                answer = await self.answer(hook or self.hook(), sealed)
                said = answer.stdout.decode() + answer.stderr.decode()
                if text in said:
                    return said
                await asyncio.sleep(0.02)

        return self.run(several())

    def until_warm(self, hook: Hook | None = None) -> int:
        """Call a script that says who started it until that is not us, and give the number of who it is."""
        while (parent := int(self.call(hook).split()[0])) == os.getpid():
            self.run(asyncio.sleep(0.02))
        return parent


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with asyncio.Runner() as runner:
        folder = tmp_path / "project"
        folder.mkdir()
        made = Project(folder, runner)
        yield made
        made.run(made.kind.close())


def library(project: Project, tmp_path: Path, name: str, text: str) -> Path:
    """Install a module for the scripts of a project."""
    folder = tmp_path / "site-packages"
    folder.mkdir(exist_ok=True)
    project.env["PYTHONPATH"] = str(folder)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended; whoever adopted it may take its time to reap it."""
    deadline = time.monotonic() + 30
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline, f"{pid} still runs"
            time.sleep(0.02)


@pytest.mark.spec("A-26")
def test_a_hook_is_warm_once_it_was_called_more_than_once(project: Project) -> None:
    project.script.write_text(WHO, "utf-8")

    first, second = int(project.call()), int(project.call())
    parent = project.until_warm()

    assert first == second == os.getpid()
    assert int(project.call()) == parent


def test_a_hook_that_does_not_ask_for_it_is_never_warm(project: Project) -> None:
    project.script.write_text(WHO, "utf-8")
    project.until_warm()

    assert int(project.call(project.hook(warm=False))) == os.getpid()


def test_every_call_has_a_process_of_its_own(project: Project) -> None:
    project.script.write_text(WHO + "print(os.getpid())\n", "utf-8")
    project.until_warm()

    pids = [project.call().split()[1] for _ in range(5)]

    assert len(set(pids)) == 5


def test_a_script_with_an_interpreter_line_is_warm(project: Project) -> None:
    project.script.write_text(f"#!{sys.executable} -u\nimport sys; sys.argv\n" + WHO, "utf-8")
    project.script.chmod(0o755)

    assert project.until_warm(project.hook(command=str(project.script), args=("a",))) != os.getpid()


def test_a_script_that_env_finds_the_interpreter_of_is_warm(project: Project) -> None:
    project.script.write_text("#!/usr/bin/env python3\n" + WHO + "import sys; print(sys.executable)", "utf-8")
    project.script.chmod(0o755)
    project.env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    cold = project.call(project.hook(command=str(project.script), args=())).split()[1]

    project.until_warm(project.hook(command=str(project.script), args=()))

    assert project.call(project.hook(command=str(project.script), args=())).split()[1] == cold


def test_env_finds_the_interpreter_anew_for_each_call(project: Project, tmp_path: Path) -> None:
    early = tmp_path / "early"
    early.mkdir()
    project.env["PATH"] = f"{early}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    project.script.write_text(f"#!/usr/bin/env python3\n{WHO}", "utf-8")
    project.script.chmod(0o755)
    hook = project.hook(command=str(project.script), args=())
    project.until_warm(hook)

    (early / "python3").write_text("#!/bin/sh\necho another\n", "utf-8")
    (early / "python3").chmod(0o755)

    assert project.call(hook) == "another\n"


def test_an_interpreter_line_without_a_folder_fails_as_ever(project: Project) -> None:
    project.script.write_text(f"#!python3\n{WHO}", "utf-8")
    project.script.chmod(0o755)
    hook = project.hook(command=str(project.script), args=())

    kinds = {project.run(project.answer(hook, None)).exit_code for _ in range(6)}

    assert len(kinds) == 1
    assert kinds != {0}


def test_a_shell_line_that_is_nothing_but_a_script_is_warm(project: Project) -> None:
    project.script.write_text(WHO + "import sys; print(sys.argv[1:])", "utf-8")
    project.env["FOLDER"] = str(project.folder)
    line = f"{sys.executable} \"$FOLDER/hook.py\" 'a b' $FOLDER"
    hook = project.hook(command=line, args=(), dialect="claude-code")

    project.until_warm(hook)

    assert project.call(hook).splitlines()[1] == str(["a b", str(project.folder)])


def test_a_shell_line_that_is_more_than_that_is_run_by_a_shell(project: Project) -> None:
    project.script.write_text("print(1)", "utf-8")
    hook = project.hook(command=f"{sys.executable} hook.py && echo 2", args=(), dialect="claude-code")

    assert [project.call(hook) for _ in range(4)] == ["1\n2\n"] * 4


def test_a_changed_script_is_what_runs_next(project: Project) -> None:
    project.script.write_text(WHO, "utf-8")
    project.until_warm()

    for text in ("one", "two", "six"):
        project.script.write_text(WHO + f"print({text!r})", "utf-8")
        assert project.call().split()[1] == text


def test_a_changed_file_beside_the_script_is_what_it_imports_next(project: Project) -> None:
    project.script.write_text(WHO + "import beside; print(beside.VALUE)", "utf-8")
    # of another length each: Python takes a compiled file for current whose source has the same second and length
    for value in ("0", "10", "200"):
        (project.folder / "beside.py").write_text(f"VALUE = {value}", "utf-8")
        project.until_warm()
        assert project.call().split()[1] == value


def test_libraries_are_imported_ahead(project: Project, tmp_path: Path) -> None:
    library(project, tmp_path, "heavy.py", "import os\nWHO = os.getpid()\n")
    project.script.write_text(
        "import sys; print('heavy' in sys.modules)\nimport heavy, os; print(heavy.WHO == os.getpid())", "utf-8"
    )

    assert project.call() == "False\nTrue\n"
    assert project.until("True\nFalse") == "True\nFalse\n"


def test_a_changed_library_is_noticed(project: Project, tmp_path: Path) -> None:
    path = library(project, tmp_path, "heavy.py", "VALUE = 1\n")
    project.script.write_text("import sys; print('heavy' in sys.modules)\nimport heavy; print(heavy.VALUE)", "utf-8")
    project.until("True\n1")

    path.write_text("VALUE = 22\n", "utf-8")

    assert project.call().endswith("22\n")
    assert project.until("True\n22")


@pytest.mark.parametrize("name", ["heavy.py", "heavy/__init__.py"])
def test_a_file_beside_the_script_comes_before_a_library(project: Project, tmp_path: Path, name: str) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    project.script.write_text("import sys; print('heavy' in sys.modules)\nimport heavy; print(heavy.VALUE)", "utf-8")
    project.until("True\ninstalled")

    (project.folder / name).parent.mkdir(exist_ok=True)
    (project.folder / name).write_text("VALUE = 'beside'\n", "utf-8")

    assert [project.call() for _ in range(5)] == ["False\nbeside\n"] * 5


@pytest.mark.parametrize(
    "text",
    [
        "print('loud')",
        "import sys; sys.stderr.write('loud')",
        "import threading, time; threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()",
        "import os; os.environ['SET'] = '1'",
        "import os; print(len(dict(os.environ)) > 2)",
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "import os; FILE = open(os.devnull)",
        "import sys; sys.path.append('added')",
        "raise ValueError('broken')",
        "import sys; sys.exit(3)",
        "import sys; sys.stdout = sys.stderr",
    ],
)
def test_a_library_that_does_something_when_it_is_imported_does_it_in_every_call(
    project: Project, tmp_path: Path, text: str
) -> None:
    library(project, tmp_path, "odd.py", text + "\n")
    project.script.write_text(
        "import sys; print('odd' in sys.modules)\n"
        "try:\n    import odd\nexcept BaseException as problem:\n    print(repr(problem))\n"
        "import os, signal, threading; print(threading.active_count(), os.environ.get('SET'), sys.path[-1])\n"
        "print(signal.getsignal(signal.SIGUSR1), os.open(os.devnull, 0), file=sys.__stdout__); import json\n"
        "print('json' in sys.modules)",
        "utf-8",
    )
    cold = project.call(project.hook(warm=False))

    assert [project.call() for _ in range(12)] == [cold] * 12


def test_a_variable_that_a_library_looks_at_is_that_of_the_call(project: Project, tmp_path: Path) -> None:
    library(project, tmp_path, "modal.py", "import os\nMODE = os.environ.get('MODE')\n")
    project.script.write_text("import sys; print('modal' in sys.modules)\nimport modal; print(modal.MODE)", "utf-8")
    for mode in ("a", "b", "a"):
        project.env["MODE"] = mode
        assert project.until("True\n") == f"True\n{mode}\n"

    for mode in ("b", "c", "a", "b"):
        project.env["MODE"] = mode
        assert project.call().split()[1] == mode


TELL = "import sys; print('heavy' in sys.modules)\nimport heavy; print(heavy.VALUE)"


def test_what_one_script_imports_does_not_keep_another_from_its_own_module(project: Project, tmp_path: Path) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    (project.folder / "vendor").mkdir()
    (project.folder / "vendor" / "heavy.py").write_text("VALUE = 'vendor'\n", "utf-8")
    other = project.folder / "other.py"
    other.write_text(f"import sys; sys.path.insert(0, 'vendor')\n{TELL}", "utf-8")
    project.script.write_text(TELL, "utf-8")
    project.until("True\ninstalled")

    assert {project.call(project.hook(id="other", args=(str(other),))) for _ in range(8)} == {"False\nvendor\n"}


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nif VENDOR: sys.path.insert(0, 'vendor')",
        "import decides\nif VENDOR: decides.decide()",
    ],
)
def test_a_script_that_may_say_where_modules_are_found_imports_them_itself(
    project: Project, tmp_path: Path, text: str
) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    (project.folder / "vendor").mkdir()
    (project.folder / "vendor" / "heavy.py").write_text("VALUE = 'vendor'\n", "utf-8")
    decides = "import sys\ndef decide():\n    sys.path.insert(0, 'vendor')\n"
    (project.folder / "decides.py").write_text(decides, "utf-8")
    project.script.write_text(f"import os; VENDOR = os.environ.get('MINE')\n{WHO}{text}\n{TELL}", "utf-8")
    project.until_warm()

    assert {project.call().partition("\n")[2] for _ in range(8)} == {"False\ninstalled\n"}
    project.env["MINE"] = "1"
    assert {project.call().partition("\n")[2] for _ in range(4)} == {"False\nvendor\n"}


def test_a_script_that_does_so_without_a_sign_of_it_imports_them_itself_from_then_on(
    project: Project, tmp_path: Path
) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    (project.folder / "vendor").mkdir()
    (project.folder / "vendor" / "heavy.py").write_text("VALUE = 'vendor'\n", "utf-8")
    hidden = "import os, sys as s\nif os.environ.get('MINE'): s.path.insert(0, 'vendor')\n"
    project.script.write_text(hidden + TELL, "utf-8")
    project.until("True\ninstalled")

    project.env["MINE"] = "1"
    project.call()

    assert {project.call() for _ in range(8)} == {"False\nvendor\n"}


@pytest.mark.parametrize(
    "text", ["os.environ['MODE'] = 'set'", "os.environ.setdefault('MODE', 'set')", "os.environ.update(MODE='set')"]
)
def test_a_variable_that_the_script_sets_first_is_there_when_a_library_looks(
    project: Project, tmp_path: Path, text: str
) -> None:
    library(project, tmp_path, "modal.py", "import os\nMODE = os.environ.get('MODE')\n")
    project.script.write_text(f"{WHO}{text}\nimport modal; print(modal.MODE)", "utf-8")
    project.until_warm()

    assert {project.call().split()[1] for _ in range(8)} == {"set"}


def test_a_script_that_changes_says_anew_what_it_needs(project: Project, tmp_path: Path) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    (project.folder / "vendor").mkdir()
    (project.folder / "vendor" / "heavy.py").write_text("VALUE = 'vendor'\n", "utf-8")
    project.script.write_text(TELL, "utf-8")
    project.until("True\ninstalled")

    project.script.write_text(f"import sys; sys.path.insert(0, 'vendor')\n{TELL}", "utf-8")
    changed = {project.call() for _ in range(8)}
    project.script.write_text(TELL + "\n", "utf-8")

    assert changed == {"False\nvendor\n"}
    assert project.until("True\ninstalled")


def test_a_library_that_is_installed_before_the_first_warm_call_is_found(project: Project, tmp_path: Path) -> None:
    library(project, tmp_path, "heavy.py", "VALUE = 'installed'\n")
    project.script.write_text(f"{WHO}try:\n    import late\nexcept ImportError:\n    print('none')\n", "utf-8")
    project.call()
    project.call()  # starts the forkserver
    project.run(asyncio.sleep(0.3))

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "late.py").write_text("print('found')\n", "utf-8")
    # as an editable install says it; read at the start of an interpreter only
    site = tmp_path / "site-packages"
    (site / "sitecustomize.py").write_text(f"import sys; sys.path.append({str(tmp_path / 'elsewhere')!r})", "utf-8")

    assert {project.call().split()[1] for _ in range(8)} == {"found"}


def test_variables_that_python_reads_at_its_start_are_those_of_the_call(project: Project) -> None:
    project.script.write_text(WHO + "import sys; print(sys.flags.optimize, sys.stdout.encoding)", "utf-8")
    for optimize, encoding in (("0", "utf-8"), ("1", "latin-1"), ("0", "ascii")):
        project.env |= {"PYTHONOPTIMIZE": optimize, "PYTHONIOENCODING": encoding}
        project.until_warm()
        answer = project.call().split()[1:]
        assert answer[0] == optimize
        assert answer[1].replace("iso8859-1", "latin-1") == encoding


def test_exactly_the_vetted_bytes_run(project: Project) -> None:
    project.script.write_text("print('changed since')", "utf-8")
    vetted = WHO + "import sys; print(__file__, sys.argv, 'vetted')\n1/0\n"
    sealed = {str(project.script): vetted.encode()}

    async def cold() -> Reply:
        return await project.answer(project.hook(warm=False), sealed)

    expected = project.run(cold())
    said: list[str] = []
    while not said or int(said[-1].split()[0]) == os.getpid():
        answer = project.run(project.answer(project.hook(), sealed))
        said.append(answer.stdout.decode())
        assert answer.stdout.splitlines()[1] == expected.stdout.splitlines()[1]
        assert (answer.stderr, answer.exit_code, answer.failure) == (expected.stderr, 1, None)


def test_a_compiled_file_beside_a_vetted_script_is_passed_over(project: Project) -> None:
    beside = project.folder / "beside.py"
    beside.write_text("VALUE = 'evil'\n", "utf-8")
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(beside)], check=True
    )
    beside.write_text("VALUE = 'good'\n", "utf-8")
    script = WHO + "import beside; print(beside.VALUE)\n"
    project.script.write_text(script, "utf-8")
    sealed = {str(project.script): script.encode(), str(beside): beside.read_bytes()}

    said = project.until("good", sealed=sealed)
    while int(said.split()[0]) == os.getpid():
        said = project.call(sealed=sealed)
        assert said.split()[1] == "good"


def test_whoever_calls_for_somebody_else_brings_their_surroundings(project: Project) -> None:
    project.script.write_text("import os; old = os.umask(0); print(oct(old), os.environ.get('THEIRS'))", "utf-8")
    theirs = {**os.environ, "THEIRS": "yes"}

    async def call(mask: int) -> bytes:
        with caller_context.use(caller_context.CallerContext(theirs, str(project.folder), umask=mask)):
            return (await project.answer(project.hook(), None)).stdout

    for mask in (0o77, 0o22, 0o77, 0o27, 0o77, 0o77, 0o22):
        assert project.run(call(mask)).decode() == f"{oct(mask)} yes\n"
        project.run(asyncio.sleep(0.05))


def test_a_forkserver_that_dies_is_replaced(project: Project) -> None:
    project.script.write_text(WHO, "utf-8")
    for _ in range(2):
        parent = project.until_warm()
        os.kill(parent, signal.SIGKILL)
        wait_until_gone(parent)
        assert int(project.call()) != parent


def test_a_forkserver_that_made_many_children_is_replaced(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.process.forkserver._MAX_FORKS", 6)
    project.script.write_text(WHO, "utf-8")
    parent = project.until_warm()

    while project.until_warm() == parent:
        pass

    wait_until_gone(parent)


def test_where_many_are_in_use_the_oldest_goes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.process.forkserver._MAX_SERVERS", 2)
    project.script.write_text(WHO, "utf-8")
    parents = []
    for number in range(3):
        project.env["PYTHONHASHSEED"] = str(number)
        parents.append(project.until_warm())

    wait_until_gone(parents[0])
    assert int(project.call()) == parents[2]


def test_an_interpreter_that_prints_at_its_start_stays_cold_and_says_so_once(
    project: Project, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    library(project, tmp_path, "sitecustomize.py", "print('hello')\n")
    project.script.write_text(WHO, "utf-8")

    with caplog.at_level(logging.WARNING):
        said = [project.call() for _ in range(20)]
        while not caplog.records:
            project.run(asyncio.sleep(0.02))
            project.call()
        said += [project.call() for _ in range(3)]

    assert said == [f"hello\n{os.getpid()}\n"] * 23
    assert [record.getMessage().partition(" runs ")[2][:17] for record in caplog.records] == ["without warm = tr"]


def test_an_interpreter_that_is_itself_a_script_stays_cold(project: Project) -> None:
    shim = project.folder / "python3"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', "utf-8")
    shim.chmod(0o755)
    project.script.write_text(WHO, "utf-8")

    assert [project.call(project.hook(command=str(shim))) for _ in range(6)] == [f"{os.getpid()}\n"] * 6


def test_a_script_that_is_gone_fails_as_ever(project: Project) -> None:
    project.script.write_text(WHO, "utf-8")
    project.until_warm()
    project.script.unlink()

    answer = project.run(project.answer(project.hook(), None))

    assert answer.failure is not None
    assert "does not exist" in answer.failure.message


def test_closing_ends_everything(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        project = Project(tmp_path, runner)
        project.script.write_text(WHO, "utf-8")
        parent = project.until_warm()
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text("utf-8").split()
        project.run(project.kind.close())

        for pid in (parent, *map(int, children)):
            wait_until_gone(pid)


def test_a_loop_that_is_closed_without_a_word_leaves_nothing_either(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        project = Project(tmp_path, runner)
        project.script.write_text(WHO, "utf-8")
        parent = project.until_warm()

    with asyncio.Runner() as runner:
        again = Project(tmp_path, runner)
        again.kind = project.kind
        assert int(again.call()) == os.getpid()
        again.run(again.kind.close())

    wait_until_gone(parent)


@pytest.mark.parametrize("does", ["input()", "import time; time.sleep(600)"])
def test_nothing_is_left_of_an_engine_that_is_killed(tmp_path: Path, does: str) -> None:
    (tmp_path / "hook.py").write_text(
        f"import os, sys\nif len(sys.argv) > 1:\n    open('pid', 'w').write(f'{{os.getpid()}}.')\n    {does}\nprint(os.getppid())",
        "utf-8",
    )
    program = f"""\
import asyncio, sys
from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook, Source

async def main():
    kind, request = Command(), Request(event=Event(name=EventName.BEFORE_TOOL, cwd={str(tmp_path)!r}), document={{}})
    async def call(*args):
        hook = Hook(id="h", command=sys.executable, args=("hook.py", *args), source=Source.USER, warm=True)
        return await kind.call(hook, request, timeout=600)
    import os
    while int((await call()).stdout) == os.getpid():
        await asyncio.sleep(0.02)
    print((await call()).stdout.decode(), flush=True)
    await call("hang")

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        forkserver = int(engine.stdout.readline())
        if "sleep" in does:
            while not (tmp_path / "pid").exists() or "." not in (tmp_path / "pid").read_text("utf-8"):
                assert engine.poll() is None
        children = [
            int(pid) for pid in Path(f"/proc/{forkserver}/task/{forkserver}/children").read_text("utf-8").split()
        ]
        engine.kill()

    for pid in (forkserver, *children):
        wait_until_gone(pid)
