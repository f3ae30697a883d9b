"""A script cannot tell a warm run from a cold one: everything it says, and how it ends, is compared."""

import asyncio
import os
import re
import sys
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from hookline.process import forkserver_main
from hookline.process.forkserver import SUPPORTED, ForkserverPool
from hookline.process.linux import run
from hookline.process.result import ExitReason, ProcessResult
from hookline.process.spec import ProcessSpec

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SUPPORTED, reason="needs pidfds, and processes that may fork")]

T = TypeVar("T")
ADDRESS = re.compile(rb"0x[0-9a-f]+|(?<=object refcount : )\d")


class Bench:
    """One folder, one interpreter, and both ways to run a script with it."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.folder = folder
        self._runner = runner
        self._warm = ForkserverPool()

    def run(self, work: Coroutine[object, object, T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(120):
                return await work

        return self._runner.run(bounded())

    def job(self, *words: str, env: dict[str, str] | None = None) -> ProcessSpec:
        variables = {**os.environ, "PYTHONIOENCODING": "", **(env or {})}
        encoded = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
        return ProcessSpec(
            program=sys.executable,
            argv=(sys.executable, *words),
            env=encoded,
            cwd=str(self.folder),
            engine_cwd=str(self.folder),
        )

    async def warm(self, job: ProcessSpec, stdin: bytes = b"", timeout: float = 60) -> ProcessResult:
        """Run it warm; the first calls are cold, and so is one that finds no child in time."""
        while (finished := await self._warm.run(job, stdin=stdin, timeout=timeout)) is None:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.02)
        return finished

    async def tried(self, job: ProcessSpec) -> ProcessResult | None:
        return await self._warm.run(job, stdin=b"", timeout=60)

    async def cold(self, job: ProcessSpec, stdin: bytes = b"", timeout: float = 60) -> ProcessResult:
        return await run(job, stdin=stdin, timeout=timeout)

    def close(self) -> None:
        self.run(self._warm.close())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with asyncio.Runner() as runner:
        made = Bench(tmp_path_factory.mktemp("project"), runner)
        (made.folder / "beside.py").write_text("NAME = __name__\ndef fail():\n    raise KeyError('beside')\n", "utf-8")
        yield made
        made.close()


async def gone(pid: int) -> None:
    """Wait until a process is no more."""
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            await asyncio.sleep(0.02)


def same(found: ProcessResult) -> tuple[object, ...]:
    return found.exit_code, ADDRESS.sub(b"0x", found.stdout), ADDRESS.sub(b"0x", found.stderr), found.reason


SCRIPTS: dict[str, str | bytes] = {
    "argv": "import sys; print(sys.argv, sys.orig_argv[1:])",
    "its own names": "print(list(globals())); print(__name__, __file__, __spec__, __doc__, __builtins__)",
    "its loader": "print(type(__loader__), __loader__.name, __loader__.path, __loader__.get_filename())",
    "the main module": "import sys; m = sys.modules['__main__']; print(m.__dict__ is globals(), m, m.__file__)",
    "where modules come from": "import sys; print(sys.path, sys.executable, sys.prefix, sys.flags)",
    "variables": "import os, json; print(json.dumps(dict(os.environ))); print(os.environb[b'HOME'], len(os.environ))",
    "variables of what it starts": "import subprocess; print(subprocess.run(['env'], capture_output=True).stdout)",
    "its folder": "import os; print(os.getcwd()); import pathlib; print(pathlib.Path('x').absolute())",
    "stdin as text": "import sys; print(repr(sys.stdin.read()), sys.stdin.encoding, sys.stdin.errors, sys.stdin.name)",
    "stdin as bytes": "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])",
    "input": "print(input('? ')); print(input())",
    "stdin that nobody reads": "print('done')",
    "stdin as descriptor": "import os; print(os.read(0, 5), os.fstat(0).st_mode, os.isatty(1))",
    "its streams": "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr): print(s, s.line_buffering, s.isatty())\n"
    "print(sys.__stdout__ is sys.stdout, sys.stdout.write_through, sys.stdout.seekable(), sys.stderr.fileno())",
    "much output": "import sys; sys.stdout.write('x' * 400_000); sys.stderr.write('y' * 300_000)",
    "unicode": "print('äöü 漢字 \\U0001f600'); import sys; print('\\udcff'.encode('utf-8', 'surrogateescape'), sys.stdout.encoding)",
    "unicode that cannot be printed": "print('\\udcff')",
    "order of both streams": "import sys\nprint('a'); print('b', file=sys.stderr, flush=True); print('c')",
    "exit 3": "import sys; sys.exit(3)",
    "exit true": "import sys; sys.exit(True)",
    "exit none": "import sys; sys.exit()",
    "exit -1": "raise SystemExit(-1)",
    "exit 256": "raise SystemExit(256)",
    "exit of a huge number": "raise SystemExit(1 << 80)",
    "exit with words": "import sys; print('out'); sys.exit('no: ä')",
    "exit with a tuple": "raise SystemExit(1, 2)",
    "exit from a function": "def f():\n    exit(7)\nf()",
    "an exception": "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)\n",
    "an exception with a cause": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
    "an exception in its context": "try:\n    {}['a']\nexcept KeyError:\n    int('x')\n",
    "an exception from beside": "import beside\nprint(beside.NAME)\nbeside.fail()\n",
    "an exception group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "no such module": "import not_there_at_all",
    "another encoding": "# -*- coding: latin-1 -*-\nprint(ascii('\xe4'))".encode("latin-1"),
    "lines of Windows": b"x = 1\r\nif x:\r\n    print('''a\r\nb''')\r\nraise ValueError\r\n",
    "a byte order mark": b"\xef\xbb\xbfprint(1)",
    "nothing at all": "",
    "an interrupt": "raise KeyboardInterrupt",
    "a hook for exceptions": "import sys\nsys.excepthook = lambda *a: print('mine', a[0], a[2].tb_lineno)\n1/0",
    "a broken hook for exceptions": "import sys\ndef h(*a): raise ValueError('h')\nsys.excepthook = h\n1/0",
    "an exception in __del__": "class A:\n    def __del__(self): 1/0\na = A()\ndel a\nprint('on')",
    "__del__ at the end": "class A:\n    def __del__(self): print('gone')\na = A()\nb = [a]; b.append(b)",
    "__del__ in another module": "import beside\nclass A:\n    def __del__(self): print('gone')\nbeside.kept = A()",
    "a file that is not closed": "import sys, os\nf = open('left', 'w'); f.write('text')\n"
    "import atexit; atexit.register(lambda: print(os.path.getsize('left')))",
    "atexit": "import atexit; atexit.register(print, 'last'); atexit.register(print, 'first'); print('body')",
    "an exception in atexit": "import atexit\ndef f(): 1/0\natexit.register(f); atexit.register(print, 'other')",
    "a thread": "import threading, time\ndef f():\n    time.sleep(0.05); print('thread')\nthreading.Thread(target=f).start()",
    "an exception in a thread": "import threading\nt = threading.Thread(target=lambda: 1/0, name='t'); t.start(); t.join()",
    "a daemon thread left behind": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('left')",
    "a pool": "from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(2); print(list(p.map(abs, [-1, 2])))",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0); return 5\nprint(asyncio.run(f()))",
    "os._exit": "import os; print('lost'); os._exit(9)",
    "abort": "import os; os.abort()",
    "killed by itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "ended by itself": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "a fault": "import ctypes; ctypes.string_at(0)",
    "exec": "import os, sys; sys.stdout.flush(); os.execvp('sh', ['sh', '-c', 'echo from sh; exit 5'])",
    "fork": "import os, sys\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0); print('parent'); sys.exit(4)\n"
    "else:\n    print('child'); sys.exit(6)",
    "fork without waiting": "import os, time\nif not os.fork():\n    os.close(1); os.close(2); time.sleep(0.1); os._exit(1)\n"
    "print('parent')",
    "its group": "import os; print(os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid())",
    "its signals": "import signal\nprint([signal.getsignal(n) for n in sorted(signal.valid_signals()) if n < 32])\n"
    "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "its descriptors": "import os\nprint(os.open('/dev/null', os.O_RDONLY))",
    "its mask": "import os; old = os.umask(0); print(oct(old))",
    "its limits": "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))",
    "its locale": "import locale; print(locale.getlocale(), locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL))",
    "the clock": "import time; print(time.tzname, time.localtime(0))",
    "warnings": "import warnings\nwarnings.warn('careful'); warnings.warn('old', DeprecationWarning)\nprint(warnings.filters)",
    "a warning of the compiler": "print('\\d', 1 is 1)",
    "logging": "import logging\nlogging.warning('w'); logging.getLogger('x').error('e %s', 1); logging.info('i')",
    "pickle": "import pickle\nclass A:\n    def __eq__(self, o): return isinstance(o, A)\nprint(pickle.loads(pickle.dumps(A())) == A(), A, A.__module__)",
    "its own source": "import inspect, sys\ndef f(): pass\nprint(inspect.getsource(f), inspect.getfile(f), inspect.getmodule(f))",
    "dataclasses": "from __future__ import annotations\nimport dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    x: int = 1\n"
    "print(A(), typing.get_type_hints(A), __annotations__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "argparse": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\np.parse_args(['--n', 'x'])",
    "doctest": "'''\n>>> 1 + 1\n3\n'''\nimport doctest; doctest.testmod()",
    "runpy": "import runpy; print(runpy.run_path('beside.py')['NAME'])",
    "import of itself": "import sys\nif __name__ == '__main__':\n    import hook; print(hook.__name__, hook is sys.modules['__main__'])",
    "modules beside it": "import beside, sys; print(beside.__file__, beside.__name__, beside.__spec__.origin)",
    "a closed stdout": "import sys; print('x'); sys.stdout.close()",
    "a closed stderr": "import sys; sys.stderr.close(); 1/0",
    "stdout closed below": "import os; print('x'); os.close(1)",
    "no stdout": "import sys; sys.stdout = None; print('x')",
    "a stdout of its own": "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'latin-1', newline='\\r\\n'); print('ä')",
    "a channel that it closes": "import os; os.closerange(3, 1000); print('closed'); raise SystemExit(8)",
    "a changed folder": "import os; os.chdir('/'); print(os.getcwd()); 1/0",
    "multiprocessing": "import multiprocessing as m\ndef f(q): q.put(1)\nif __name__ == '__main__':\n"
    "    m.set_start_method('fork'); q = m.SimpleQueue(); p = m.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join(); print(p.exitcode)",
    "a subprocess": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True))",
    "recursion": "def f(): f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)",
    "faulthandler": "import faulthandler; print(faulthandler.is_enabled())",
    "json": "import json, sys; print(json.dumps(json.load(sys.stdin)))",
}
STDIN = b'{"tool": "shell", "n": [1, 2]}\n'


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_and_ends_warm_as_it_does_cold(bench: Bench, name: str) -> None:
    content = SCRIPTS[name]
    path = bench.folder / "hook.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    stdin = b"one\ntwo\n" if name == "input" else STDIN
    job = bench.job(str(path), "a", "--b=ä", "")

    async def compare() -> tuple[ProcessResult, list[ProcessResult]]:
        cold = await bench.cold(job, stdin)
        return cold, [await bench.warm(job, stdin) for _ in range(3)]

    cold, warm = bench.run(compare())

    assert [same(found) for found in warm] == [same(cold)] * 3


@pytest.mark.parametrize("text", [b"def f(:\n", b"if 1:\nprint(2)\n", b"x = '\xff'", b"x = 1\0"])
def test_a_text_that_does_not_compile_is_left_to_a_start(bench: Bench, text: bytes) -> None:
    (bench.folder / "hook.py").write_text("pass", "utf-8")
    job = bench.job("hook.py")
    bench.run(bench.warm(job))
    (bench.folder / "hook.py").write_bytes(text)

    assert bench.run(bench.tried(job)) is None


@pytest.mark.parametrize(
    "words",
    [
        ("hook.py",),
        ("./hook.py", "x"),
        ("../{name}/hook.py",),
        ("sub/link.py",),
        ("-u", "hook.py"),
        ("-I", "hook.py"),
        ("-B", "-W", "error", "hook.py"),
        ("-Xdev", "hook.py"),
        ("-O", "hook.py"),
        ("-sE", "hook.py"),
        ("-S", "hook.py"),
    ],
    ids=" ".join,
)
def test_however_a_script_is_named_it_finds_the_same(bench: Bench, words: tuple[str, ...]) -> None:
    text = """\
import sys, warnings
print(__file__, sys.argv, sys.orig_argv, sys.path, sys.flags, sys.warnoptions, sys._xoptions, __debug__)
print(sys.stdout.write_through, sys.dont_write_bytecode)
try:
    import beside
    print(beside.__file__)
except ImportError as problem:
    print(problem)
warnings.warn("careful", DeprecationWarning)
"""
    (bench.folder / "hook.py").write_text(text, "utf-8")
    (bench.folder / "sub").mkdir(exist_ok=True)
    link = bench.folder / "sub" / "link.py"
    link.unlink(missing_ok=True)
    link.symlink_to("../hook.py")
    job = bench.job(*(word.format(name=bench.folder.name) for word in words))

    async def compare() -> tuple[ProcessResult, list[ProcessResult]]:
        cold = await bench.cold(job)
        return cold, [await bench.warm(job) for _ in range(2)]

    cold, warm = bench.run(compare())

    assert [same(found) for found in warm] == [same(cold)] * 2


def test_variables_of_each_call_are_its_own(bench: Bench) -> None:
    text = "import os, time; print(sorted(os.environ)); print(os.environ.get('MINE'), os.getenv('OTHER')); os.system('echo $MINE')"
    (bench.folder / "hook.py").write_text(text, "utf-8")

    async def compare() -> list[tuple[object, object]]:
        pairs: list[tuple[object, object]] = []
        for env in ({"MINE": "1"}, {"MINE": "2", "OTHER": "x"}, {}, {"MINE": "1"}):
            job = bench.job("hook.py", env=env)
            pairs.append((same(await bench.cold(job)), same(await bench.warm(job))))
        return pairs

    for cold, warm in bench.run(compare()):
        assert warm == cold


def test_no_call_finds_anything_of_the_one_before(bench: Bench) -> None:
    text = """\
import builtins, json, os, sys
print(getattr(builtins, "left", None), getattr(json, "left", None), os.environ.get("LEFT"), os.path.exists("/proc/self/fd/9"))
builtins.left = json.left = 1
os.environ["LEFT"] = "1"
sys.path.append("left")
os.dup2(0, 9)
"""
    (bench.folder / "hook.py").write_text(text, "utf-8")
    job = bench.job("hook.py")

    async def several() -> list[bytes]:
        return [(await bench.warm(job)).stdout for _ in range(4)]

    assert bench.run(several()) == [b"None None None False\n"] * 4


def test_random_numbers_differ_from_call_to_call(bench: Bench) -> None:
    (bench.folder / "hook.py").write_text("import random, uuid; print(random.random(), uuid.uuid4())", "utf-8")
    job = bench.job("hook.py")

    async def several() -> set[bytes]:
        return {(await bench.warm(job)).stdout for _ in range(6)}

    assert len(bench.run(several())) == 6


@pytest.mark.parametrize(
    "text",
    ["import time; time.sleep(60)", "import signal, time\nsignal.signal(15, lambda *a: None)\nwhile 1: time.sleep(1)"],
)
def test_a_script_that_takes_too_long_is_ended(bench: Bench, text: str) -> None:
    (bench.folder / "hook.py").write_text(f"print('begun', flush=True)\n{text}", "utf-8")
    job = bench.job("hook.py")

    async def late() -> tuple[ProcessResult, ProcessResult]:
        return await bench.cold(job, timeout=0.5), await bench.warm(job, timeout=0.5)

    cold, warm = bench.run(late())

    assert same(warm) == same(cold)
    assert warm.reason is ExitReason.TIMED_OUT


def test_what_a_script_started_is_ended_with_it(bench: Bench) -> None:
    text = "import subprocess, sys, time\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid, flush=True)\ntime.sleep(600)"
    (bench.folder / "hook.py").write_text(text, "utf-8")

    async def late() -> int:
        return int((await bench.warm(bench.job("hook.py"), timeout=1)).stdout)

    pid = bench.run(late())

    bench.run(gone(pid))


def test_whoever_holds_its_output_is_not_waited_for(bench: Bench) -> None:
    text = "import subprocess; p = subprocess.Popen(['sleep', '600']); print(p.pid)"
    (bench.folder / "hook.py").write_text(text, "utf-8")

    found = bench.run(bench.warm(bench.job("hook.py"), timeout=50))

    os.kill(int(found.stdout), 9)
    assert found.reason is ExitReason.EXITED


def test_too_much_output_ends_it(bench: Bench) -> None:
    (bench.folder / "hook.py").write_text("while True: print('x' * 1000)", "utf-8")
    job = bench.job("hook.py")

    async def overflow() -> tuple[ProcessResult, ProcessResult]:
        return await bench.cold(job), await bench.warm(job)

    cold, warm = bench.run(overflow())

    assert (warm.reason, warm.stdout) == (cold.reason, cold.stdout)
    assert warm.reason is ExitReason.OVERFLOWED


@pytest.mark.parametrize("size", [0, 4096, 4097, 300_000])
def test_all_of_stdin_arrives(bench: Bench, size: int) -> None:
    (bench.folder / "hook.py").write_text("import sys; print(len(sys.stdin.buffer.read()))", "utf-8")

    found = bench.run(bench.warm(bench.job("hook.py"), b"\0\xff" * (size // 2) + b"x" * (size % 2)))

    assert found.stdout == b"%d\n" % size


def test_many_calls_at_once_each_get_their_own_answer(bench: Bench) -> None:
    (bench.folder / "hook.py").write_text("import sys; print(sys.stdin.read() + sys.argv[1])", "utf-8")

    async def many() -> list[bytes]:
        calls = [bench.warm(bench.job("hook.py", f"-{n}"), b"%d" % n) for n in range(20)]
        return [found.stdout for found in await asyncio.gather(*calls)]

    assert bench.run(many()) == [b"%d-%d\n" % (n, n) for n in range(20)]


def test_a_call_that_is_cancelled_leaves_no_process(bench: Bench) -> None:
    pid_file = bench.folder / "pid"
    text = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'pid2')\ntime.sleep(600)"
    (bench.folder / "hook.py").write_text(text, "utf-8")

    async def cancelled() -> int:
        call = asyncio.ensure_future(bench.warm(bench.job("hook.py")))
        while not (bench.folder / "pid2").exists():  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        pid = int((bench.folder / "pid2").read_text("utf-8"))
        await gone(pid)
        return pid

    assert bench.run(cancelled())
    assert not pid_file.exists()


def test_only_its_own_children_are_killed_and_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, _number: killed.append(pid))
    monkeypatch.setattr("os.waitpid", lambda pid, _options: (pid, 0))
    server = object.__new__(forkserver_main._ServerLoop)  # noqa: SLF001 - a pid of -1 would be every process there is
    server._children = {4_000_000}
    monkeypatch.setattr(server, "_send", lambda _message: None)

    for pid in (-1, 0, 1, 4_000_000):
        server._reap(pid)

    assert killed == [4_000_000]
