"""Python functions as hooks, inside this process and in workers of their own."""

import asyncio
import gc
import importlib.util
import json
import os
import py_compile
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from hookline.kinds.python import HUNG_LIMIT, Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook, Source
from hookline.process.worker_pool import WorkerLimits
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

T = TypeVar("T")
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes through /proc")


@pytest.fixture(params=[False, True], ids=["here", "isolated"])
def isolated(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def bounded(work: Awaitable[T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(within())


@asynccontextmanager
async def python(folders: Sequence[str] = (), *, limits: WorkerLimits | None = None) -> AsyncIterator[Python]:
    kind = Python(folders, limits=limits)
    try:
        yield kind
    finally:
        await kind.close()


def write(project: Path, name: str, source: str) -> Path:
    path = project / ".ollama" / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return path


def asked(project: Path, document: object = None, *, env: dict[str, str] | None = None) -> Request:
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(project))
    return Request(event=event, document={} if document is None else document, env=env or {})


def call(project: Path, hook: Hook, document: object = None, *, timeout: float = 30.0) -> Reply:
    async def once() -> Reply:
        async with python() as kind:
            return await kind.call(hook, asked(project, document), timeout=timeout)

    return bounded(once())


def failure(reply: Reply) -> tuple[FailureKind, str]:
    assert reply.failure is not None, reply
    return reply.failure.kind, reply.failure.message


def number(reply: Reply) -> int:
    assert isinstance(reply.value, int), reply
    return reply.value


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def until_async(check: Callable[[], bool]) -> bool:
    """Let the event loop run until something is so."""
    end = time.monotonic() + PATIENCE
    while not check() and time.monotonic() < end:  # noqa: ASYNC110 - nothing announces what other processes do
        await asyncio.sleep(0.01)
    return check()


# Where functions are found


@pytest.mark.spec("C-04", "C-06")
def test_function_of_a_module_gets_the_payload_as_its_argument(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "audit.py", "def on_stop(payload):\n    return {'saw': payload['hook'], 'data': payload['data']}\n")
    hook = Hook(id="audit", module="audit", function="on_stop", isolated=isolated)
    payload = {"hook": "Stop", "session_id": "s", "data": {"n": [1, None, "é"]}}
    assert call(tmp_path, hook, payload) == Reply(value={"saw": "Stop", "data": {"n": [1, None, "é"]}})


@pytest.mark.spec("C-04")
def test_module_and_function_may_be_one_word(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "audit.py", "def on_stop(payload):\n    return None\n")
    assert call(tmp_path, Hook(id="audit", module="audit.on_stop", isolated=isolated)) == Reply(value=None)


@pytest.mark.spec("C-04")
def test_module_inside_a_package_is_found_with_its_relative_imports(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "checks/__init__.py", "LEVEL = 7\n")
    write(tmp_path, "checks/words.py", "BAD = ['rm']\n")
    source = "from . import LEVEL\nfrom .words import BAD\n\ndef begin(payload):\n    return {'is': [LEVEL, BAD]}\n"
    write(tmp_path, "checks/session.py", source)
    hook = Hook(id="h", module="checks.session", function="begin", isolated=isolated)
    assert call(tmp_path, hook).value == {"is": [7, ["rm"]]}


def test_function_may_be_an_attribute_of_something_in_the_module(tmp_path: Path, *, isolated: bool) -> None:
    source = "class Handler:\n    @staticmethod\n    def begin(payload):\n        return {'ok': True}\n"
    write(tmp_path, "session.py", source)
    hook = Hook(id="h", module="session.Handler", function="begin", isolated=isolated)
    assert call(tmp_path, hook).value == {"ok": True}


def test_hook_imports_the_files_beside_it(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "rules.py", "import rules_base\nWORDS = rules_base.WORDS + ['dd']\n")
    write(tmp_path, "rules_base.py", "WORDS = ['rm']\n")
    write(tmp_path, "parts/deep/more.py", "N = 3\n")
    source = (
        "import rules, parts.deep.more\nfrom parts.deep import more\nimport parts.deep.more as again\n"
        "def check(payload):\n    import rules_base\n"
        "    return [rules.WORDS, parts.deep.more.N, more.N, again.N, rules_base is rules.rules_base]\n"
    )
    write(tmp_path, "policy.py", source)
    hook = Hook(id="h", module="policy.check", isolated=isolated)
    assert call(tmp_path, hook).value == [["rm", "dd"], 3, 3, 3, True]


def test_file_of_a_project_never_stands_in_for_the_standard_library(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "string.py", "raise RuntimeError('loaded by mistake')\n")
    write(tmp_path, "policy.py", "import string\ndef check(payload):\n    return string.digits\n")
    assert call(tmp_path, Hook(id="h", module="policy.check", isolated=isolated)).value == "0123456789"


def test_nothing_of_a_project_becomes_visible_to_the_program(tmp_path: Path) -> None:
    write(tmp_path, "hookline_test_neighbour.py", "X = 1\n")
    write(tmp_path, "policy.py", "import hookline_test_neighbour as n\ndef check(payload):\n    return n.X\n")
    before = (list(sys.path), list(sys.meta_path), set(sys.modules))
    assert call(tmp_path, Hook(id="h", module="policy.check")).value == 1
    assert importlib.util.find_spec("hookline_test_neighbour") is None
    assert (list(sys.path), list(sys.meta_path)) == before[:2]
    assert not [name for name in set(sys.modules) - before[2] if "hookline_" in name]


def test_modules_of_the_same_name_in_two_projects_do_not_meet(tmp_path: Path, *, isolated: bool) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "hooks.py", f"import near\ndef who(payload):\n    return [{name!r}, near.NAME]\n")
        write(tmp_path / name, "near.py", f"NAME = {name!r}\n")
    hook = Hook(id="h", module="hooks.who", isolated=isolated)

    async def both() -> list[object]:
        async with python() as kind:
            names = ("one", "two", "one")
            return [(await kind.call(hook, asked(tmp_path / name), timeout=30)).value for name in names]

    assert bounded(both()) == [["one", "one"], ["two", "two"], ["one", "one"]]


def test_installed_module_is_used_when_no_folder_has_it(tmp_path: Path, *, isolated: bool) -> None:
    assert call(tmp_path, Hook(id="h", module="os.path", function="basename", isolated=isolated), "/a/b").value == "b"
    assert call(tmp_path, Hook(id="h", module="os.path.basename", isolated=isolated), "/a/b").value == "b"


def test_folders_are_searched_in_the_documented_order(tmp_path: Path) -> None:
    hook = Hook(
        id="h",
        module="policy.check",
        working_directory="tools",
        source_path=str(tmp_path / ".ollama" / "settings.json"),
    )
    event = Event(name=EventName.ERROR, cwd=str(tmp_path))
    assert Python([str(tmp_path / "first")]).folders(hook, event) == tuple(
        str(tmp_path / place) for place in ("first", "tools", ".ollama", ".ollama/hooks", "")
    )


def test_trusted_hook_of_the_person_is_not_looked_up_in_the_workspace(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path / "clone", "notes.py", "def log(payload):\n    return 'planted'\n")
    (tmp_path / "clone" / "notes.py").write_text("def log(payload):\n    return 'planted'\n", encoding="utf-8")
    settings = tmp_path / "home" / "settings.json"
    hook = Hook(
        id="h",
        module="notes.log",
        working_directory=".ollama/hooks",
        source=Source.USER,
        source_path=str(settings),
        isolated=isolated,
    )
    kind, message = failure(call(tmp_path / "clone", hook))
    assert kind is FailureKind.NOT_FOUND
    assert str(tmp_path / "clone") not in message
    (tmp_path / "home" / "hooks").mkdir(parents=True)
    (tmp_path / "home" / "hooks" / "notes.py").write_text("def log(payload):\n    return 'own'\n", encoding="utf-8")
    assert call(tmp_path / "clone", hook).value == "own"


def test_file_that_would_run_can_be_named_for_the_trust_check(tmp_path: Path) -> None:
    path = write(tmp_path, "checks/session.py", "def begin(payload): ...\n")
    event = Event(name=EventName.ERROR, cwd=str(tmp_path))
    assert Python().file(Hook(id="h", module="checks.session.begin"), event) == str(path)
    assert Python().file(Hook(id="h", module="json.loads"), event) == ""


# Files that change


def test_edited_hook_is_loaded_again(tmp_path: Path, *, isolated: bool) -> None:
    path = write(tmp_path, "policy.py", "def check(payload):\n    return 1\n")
    hook = Hook(id="h", module="policy.check", isolated=isolated)

    async def twice() -> list[object]:
        async with python() as kind:
            first = await kind.call(hook, asked(tmp_path), timeout=30)
            # the same size within the same second: Python's own bytecode cache would not notice
            path.write_text("def check(payload):\n    return 2\n", encoding="utf-8")
            second = await kind.call(hook, asked(tmp_path), timeout=30)
            return [first.value, second.value]

    assert bounded(twice()) == [1, 2]


def test_edited_neighbour_of_a_hook_is_loaded_again(tmp_path: Path, *, isolated: bool) -> None:
    path = write(tmp_path, "rules.py", "N = 1\n")
    write(tmp_path, "policy.py", "from rules import N\ndef check(payload):\n    return N\n")
    hook = Hook(id="h", module="policy.check", isolated=isolated)

    async def twice() -> list[object]:
        async with python() as kind:
            first = await kind.call(hook, asked(tmp_path), timeout=30)
            path.write_text("N = 2\n", encoding="utf-8")
            return [first.value, (await kind.call(hook, asked(tmp_path), timeout=30)).value]

    assert bounded(twice()) == [1, 2]


def test_package_that_takes_the_place_of_a_file_is_loaded(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "policy.py", "def check(payload):\n    return 1\n")
    hook = Hook(id="h", module="policy.check", isolated=isolated)

    async def twice() -> list[object]:
        async with python() as kind:
            first = await kind.call(hook, asked(tmp_path), timeout=30)
            write(tmp_path, "policy/__init__.py", "def check(payload):\n    return 2\n")
            return [first.value, (await kind.call(hook, asked(tmp_path), timeout=30)).value]

    assert bounded(twice()) == [1, 2]


def test_unchanged_hook_keeps_its_state_between_calls(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "count.py", "seen = []\ndef up(payload):\n    seen.append(1)\n    return len(seen)\n")
    hook = Hook(id="h", module="count.up", isolated=isolated)

    async def often() -> list[object]:
        async with python() as kind:
            return [(await kind.call(hook, asked(tmp_path), timeout=30)).value for _ in range(3)]

    assert bounded(often()) == [1, 2, 3]


def test_cached_bytecode_beside_a_hook_is_never_run(tmp_path: Path, *, isolated: bool) -> None:
    path = write(tmp_path, "policy.py", "def check(payload):\n    return 'bad!'\n")
    py_compile.compile(str(path), doraise=True)
    stamp = path.stat()
    path.write_text("def check(payload):\n    return 'good'\n", encoding="utf-8")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert call(tmp_path, Hook(id="h", module="policy.check", isolated=isolated)).value == "good"


# What goes wrong


def test_missing_module_names_the_folders_that_were_searched(tmp_path: Path, *, isolated: bool) -> None:
    kind, message = failure(call(tmp_path, Hook(id="h", module="nowhere.check", isolated=isolated)))
    assert kind is FailureKind.NOT_FOUND
    assert message == (
        f'module "nowhere.check" not found in {tmp_path / ".ollama" / "hooks"}, {tmp_path}, and not installed either'
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [("missing", 'no function "missing" in '), ("LEVEL", "cannot be called: it is a int")],
)
def test_missing_function_names_the_file(tmp_path: Path, function: str, text: str, *, isolated: bool) -> None:
    path = write(tmp_path, "policy.py", "LEVEL = 3\n")
    hook = Hook(id="h", module="policy", function=function, isolated=isolated)
    kind, message = failure(call(tmp_path, hook))
    assert kind is FailureKind.NOT_FOUND
    assert text in message
    assert str(path) in message


def test_module_without_a_function_says_what_to_add(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "checks/session.py", "")
    kind, message = failure(call(tmp_path, Hook(id="h", module="checks.session", isolated=isolated)))
    assert kind is FailureKind.NOT_FOUND
    assert message == '"checks.session" is a module: name the function in it that is the hook'


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def check(payload):\n    raise ValueError('no')\n", "ValueError: no ({path}:2)"),
        ("def check(payload):\n    import json\n    json.loads('{')\n", "({path}:3)"),
        ("def check(payload):\n    import sys\n    sys.exit('bye')\n", "SystemExit: bye ({path}:3)"),
        ("async def check(payload):\n    raise ValueError('no')\n", "ValueError: no ({path}:2)"),
        ("def check(payload:\n", "SyntaxError: '(' was never closed ({path}:1)"),
        (
            "x = 1\nimport not_a_module_anywhere\n",
            "ModuleNotFoundError: No module named 'not_a_module_anywhere' ({path}:2)",
        ),
        ("def check(payload):\n    raise OSError('\\udce9')\n", "OSError: \\udce9 ({path}:2)"),
    ],
    ids=["raise", "library", "exit", "async", "syntax", "import", "surrogate"],
)
def test_what_a_hook_raises_is_told_with_file_and_line(
    tmp_path: Path, source: str, text: str, *, isolated: bool
) -> None:
    path = write(tmp_path, "policy.py", source)
    kind, message = failure(call(tmp_path, Hook(id="h", module="policy.check", isolated=isolated)))
    assert kind is FailureKind.RAISED
    assert text.format(path=path) in message


def test_hook_that_failed_to_load_works_once_it_is_mended(tmp_path: Path, *, isolated: bool) -> None:
    path = write(tmp_path, "policy.py", "def check(payload:\n")
    hook = Hook(id="h", module="policy.check", isolated=isolated)

    async def twice() -> tuple[Reply, Reply]:
        async with python() as kind:
            first = await kind.call(hook, asked(tmp_path), timeout=30)
            path.write_text("def check(payload):\n    return 1\n", encoding="utf-8")
            return first, await kind.call(hook, asked(tmp_path), timeout=30)

    broken, mended = bounded(twice())
    assert failure(broken)[0] is FailureKind.RAISED
    assert mended.value == 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"module": "../evil", "function": "f"}, 'module "../evil" is not a dotted Python name'),
        ({"module": "a", "function": "f()"}, 'function "f()" is not a dotted Python name'),
        ({"module": "alone"}, "names no function"),
        ({"module": "", "function": "f", "kind": "python"}, "names no module"),
    ],
)
def test_names_that_are_no_python_names_are_refused(tmp_path: Path, fields: dict[str, str], text: str) -> None:
    hook = Hook(id="h", **fields)  # type: ignore[arg-type]
    assert text in Python().refusal(hook)
    assert failure(call(tmp_path, hook))[0] is FailureKind.REFUSED
    assert Python().refusal(Hook(id="h", module="a.b", function="c")) == ""


def test_async_function_is_awaited(tmp_path: Path, *, isolated: bool) -> None:
    source = "import asyncio\nasync def check(payload):\n    await asyncio.sleep(0)\n    return payload['n'] + 1\n"
    write(tmp_path, "policy.py", source)
    assert call(tmp_path, Hook(id="h", module="policy.check", isolated=isolated), {"n": 1}).value == 2


@pytest.mark.spec("P-03")
def test_hook_that_takes_too_long_is_a_timeout(tmp_path: Path, *, isolated: bool) -> None:
    source = "import asyncio, time\nasync def wait(payload):\n    await asyncio.sleep(20)\n"
    write(tmp_path, "slow.py", source + "def hang(payload):\n    time.sleep(1)\n")
    for function in ("wait", "hang"):
        hook = Hook(id="h", module="slow", function=function, isolated=isolated)
        kind, message = failure(call(tmp_path, hook, timeout=0.3))
        assert kind is FailureKind.TIMEOUT
        assert message.startswith("gave no answer within 0.")


# Inside this process


def test_hook_gets_a_copy_of_the_document(tmp_path: Path) -> None:
    write(tmp_path, "policy.py", "def check(payload):\n    payload['args']['x'] = 2\n    return payload\n")
    document = {"args": {"x": 1}}
    assert call(tmp_path, Hook(id="h", module="policy.check"), document).value == {"args": {"x": 2}}
    assert document == {"args": {"x": 1}}


def test_function_that_hangs_is_left_alone_and_the_reply_says_so(tmp_path: Path) -> None:
    write(tmp_path, "slow.py", "import time\ndef hang(payload):\n    time.sleep(0.5)\n")
    reply = call(tmp_path, Hook(id="h", module="slow.hang"), timeout=0.1)
    assert failure(reply)[1] == "gave no answer within 0.1 s; left running"
    assert reply.notes == (
        "the function still runs in a thread of this program; with isolated: true it would be ended",
    )
    until(lambda: not [t for t in threading.enumerate() if t.name == "hookline-python"])


def test_answer_that_comes_after_the_time_is_dropped_without_a_word(tmp_path: Path) -> None:
    source = (
        "import time\nasync def later():\n    return 1\ndef late(payload):\n    time.sleep(0.2)\n    return later()\n"
    )
    write(tmp_path, "slow.py", source)

    async def once() -> Reply:
        async with python() as kind:
            reply = await kind.call(Hook(id="h", module="slow.late"), asked(tmp_path), timeout=0.02)
            assert await until_async(lambda: not [t for t in threading.enumerate() if t.name == "hookline-python"])
            return reply

    assert failure(bounded(once()))[0] is FailureKind.TIMEOUT
    # a coroutine that nobody awaited would be reported now, and warnings are errors
    gc.collect()


@pytest.mark.spec("A-25")
def test_hook_that_keeps_hanging_is_not_called_again_and_others_still_are(tmp_path: Path) -> None:
    write(
        tmp_path, "slow.py", "import time\ndef hang(payload):\n    time.sleep(3)\ndef quick(payload):\n    return 1\n"
    )
    hang, quick = Hook(id="hang", module="slow.hang"), Hook(id="quick", module="slow.quick")

    async def often() -> tuple[list[Reply], Reply]:
        async with python() as kind:
            calls = [await kind.call(hang, asked(tmp_path), timeout=0.02) for _ in range(HUNG_LIMIT + 1)]
            return calls, await kind.call(quick, asked(tmp_path), timeout=30)

    calls, other = bounded(often())
    assert [failure(reply)[0] for reply in calls] == [FailureKind.TIMEOUT] * HUNG_LIMIT + [FailureKind.REFUSED]
    assert "isolated: true" in failure(calls[-1])[1]
    assert other.value == 1


def test_many_calls_at_once_are_all_answered(tmp_path: Path) -> None:
    write(tmp_path, "slow.py", "import time\ndef nap(payload):\n    time.sleep(0.01)\n    return payload['n']\n")
    hook = Hook(id="h", module="slow.nap")

    async def together() -> list[object]:
        async with python() as kind:
            calls = (kind.call(hook, asked(tmp_path, {"n": n}), timeout=30) for n in range(100))
            return [reply.value for reply in await asyncio.gather(*calls)]

    assert bounded(together()) == list(range(100))


def test_function_that_hangs_does_not_keep_the_program_from_ending(tmp_path: Path) -> None:
    write(tmp_path, "slow.py", "import threading\ndef hang(payload):\n    threading.Event().wait()\n")
    program = (
        "import asyncio, sys\nfrom hookline.kinds.python import Python\n"
        "from hookline.model.event import Event, EventName\nfrom hookline.model.exchange import Request\n"
        "from hookline.model.hook import Hook\n"
        "request = Request(event=Event(name=EventName.ERROR, cwd=sys.argv[1]), document={})\n"
        "print(asyncio.run(Python().call(Hook(id='h', module='slow.hang'), request, timeout=0.1)).failure.kind)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "timeout", "")


@needs_proc
def test_closing_leaves_no_thread_no_descriptor_and_no_child(tmp_path: Path, *, isolated: bool) -> None:
    write(tmp_path, "policy.py", "import os\ndef check(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="policy.check", isolated=isolated)

    async def several() -> set[int]:
        async with python() as kind:
            replies = await asyncio.gather(*(kind.call(hook, asked(tmp_path), timeout=30) for _ in range(6)))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return {number(reply) for reply in replies}

    bounded(several())
    gc.collect()
    threads, descriptors = set(threading.enumerate()), set(Path("/proc/self/fd").iterdir())
    pids = bounded(several())
    assert set(threading.enumerate()) <= threads
    assert len(set(Path("/proc/self/fd").iterdir()) - descriptors) <= 1  # the listing itself
    assert not [pid for pid in pids - {os.getpid()} if Path(f"/proc/{pid}").exists()]


# In workers


@pytest.mark.spec("O-14")
def test_isolated_hook_runs_in_another_process_that_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)

    async def often() -> set[int]:
        async with python() as kind:
            return {number(await kind.call(hook, asked(tmp_path), timeout=30)) for _ in range(5)}

    pids = bounded(often())
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_what_an_isolated_hook_prints_is_kept_apart_from_its_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import os, subprocess, sys\ndef check(payload):\n    print('out', flush=False)\n"
        "    print('err', file=sys.stderr)\n    os.write(1, b'raw\\n')\n    subprocess.run(['echo', 'child'])\n"
        "    try:\n        input()\n    except EOFError:\n        print('no input')\n    return {'ok': True}\n"
    )
    write(tmp_path, "loud.py", source)
    hook = Hook(id="h", module="loud.check", isolated=True)

    async def twice() -> list[Reply]:
        async with python() as kind:
            return [await kind.call(hook, asked(tmp_path), timeout=30) for _ in range(2)]

    expected = Reply(value={"ok": True}, stderr=b"out\nerr\nraw\nchild\nno input\n")
    assert bounded(twice()) == [expected, expected]
    assert capfd.readouterr() == ("", "")


def test_isolated_hook_gets_environment_and_folder_and_leaves_none_behind(tmp_path: Path) -> None:
    source = (
        "import os\ndef look(payload):\n    seen = [os.environ.get('MODE'), os.environ.get('LEVEL'), os.getcwd()]\n"
        "    os.environ['LEFT'] = 'x'\n    os.environ.pop('PATH', None)\n    os.chdir('/')\n"
        "    return seen + [os.environ.get('PATH')]\n"
        "def after(payload):\n    return [os.environ.get(n) for n in ('MODE', 'LEVEL', 'LEFT')] + ['PATH' in os.environ]\n"
    )
    write(tmp_path, "env.py", source)
    (tmp_path / "tools").mkdir()
    look = Hook(id="h", module="env.look", isolated=True, env={"LEVEL": "2"}, working_directory="tools")
    # the same folders are searched, so the same worker answers
    after = Hook(id="h", module="env.after", isolated=True, working_directory="tools")

    async def both() -> tuple[Reply, Reply]:
        async with python() as kind:
            first = await kind.call(look, asked(tmp_path, env={"MODE": "strict"}), timeout=30)
            return first, await kind.call(after, asked(tmp_path), timeout=30)

    first, second = bounded(both())
    assert first.value == ["strict", "2", str(tmp_path / "tools"), None]
    assert second.value == [None, None, None, True]


def test_isolated_hook_without_a_folder_works_where_the_program_does(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text("import os\ndef am_i(payload):\n    return os.getcwd()\n", encoding="utf-8")
    hook = Hook(id="h", module="where.am_i", isolated=True, source=Source.USER)

    async def both() -> list[object]:
        async with python([str(tmp_path)]) as kind:
            # the person's hooks are not looked up in the workspace, so one worker answers both
            events = (Event(name=EventName.ERROR, cwd=cwd) for cwd in (str(tmp_path), ""))
            requests = [Request(event=event, document={}) for event in events]
            return [(await kind.call(hook, request, timeout=30)).value for request in requests]

    assert bounded(both()) == [str(tmp_path), str(Path.cwd())]


def test_isolated_hook_in_a_missing_folder_is_told_so(tmp_path: Path) -> None:
    write(tmp_path, "policy.py", "def check(payload):\n    return 1\n")
    hook = Hook(id="h", module="policy.check", isolated=True, working_directory="gone")
    kind, message = failure(call(tmp_path, hook))
    assert kind is FailureKind.NOT_FOUND
    assert message.startswith(f"cannot work in {tmp_path / 'gone'}: FileNotFoundError")


def test_isolated_hook_in_a_folder_whose_name_is_not_utf8_works(tmp_path: Path) -> None:
    project = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        write(project, "policy.py", "def check(payload):\n    return 1\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert call(project, Hook(id="h", module="policy.check", isolated=True)).value == 1


def test_environment_that_cannot_be_set_is_a_failure_and_not_a_crash(tmp_path: Path) -> None:
    write(tmp_path, "policy.py", "def check(payload):\n    return 1\n")
    hook = Hook(id="h", module="policy.check", isolated=True, env={"A=B": "nul\0"})
    assert "ValueError" in failure(call(tmp_path, hook))[1]


@needs_proc
@pytest.mark.spec("P-03", "O-14")
def test_isolated_hook_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    source = (
        "import os, signal, subprocess, time\ndef hang(payload):\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    child = subprocess.Popen(['sleep', '60'], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))\n"
        "    print(os.getpid(), child.pid)\n    time.sleep(60)\ndef quick(payload):\n    return 1\n"
    )
    write(tmp_path, "slow.py", source)

    async def both() -> tuple[Reply, Reply]:
        async with python() as kind:
            quick = Hook(id="quick", module="slow.quick", isolated=True)
            await kind.call(quick, asked(tmp_path), timeout=30)
            hang = Hook(id="hang", module="slow.hang", isolated=True)
            first = await kind.call(hang, asked(tmp_path), timeout=3)
            pids = [int(pid) for pid in first.stderr.split()]
            assert len(pids) == 2
            until(lambda: not any(is_running(pid) for pid in pids))
            return first, await kind.call(quick, asked(tmp_path), timeout=30)

    first, second = bounded(both())
    assert failure(first) == (FailureKind.TIMEOUT, "gave no answer within 3 s; ended")
    assert second.value == 1


@needs_proc
def test_cancelled_caller_leaves_no_process_behind(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    source = (
        "import os, subprocess, time\ndef hang(payload):\n    child = subprocess.Popen(['sleep', '60'])\n"
        "    with open(payload['note'] + '.new', 'w') as f:\n        f.write(f'{os.getpid()} {child.pid}')\n"
        "    os.rename(payload['note'] + '.new', payload['note'])\n    time.sleep(60)\n"
    )
    write(tmp_path, "slow.py", source)
    hook = Hook(id="h", module="slow.hang", isolated=True)

    async def cancelled() -> None:
        async with python() as kind:
            task = asyncio.create_task(kind.call(hook, asked(tmp_path, {"note": str(note)}), timeout=50))
            assert await until_async(note.exists)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
            until(lambda: not any(is_running(pid) for pid in pids))

    bounded(cancelled())


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("os._exit(3)", "it ended itself with exit code 3"),
        ("os.kill(os.getpid(), 11)", "it was ended by SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
    ],
)
def test_worker_that_dies_during_a_call_is_a_failure_and_the_next_call_works(
    tmp_path: Path, line: str, text: str
) -> None:
    source = f"import os\ndef die(payload):\n    print('last words')\n    {line}\ndef live(payload):\n    return 1\n"
    write(tmp_path, "fragile.py", source)

    async def both() -> tuple[Reply, Reply]:
        async with python() as kind:
            die = await kind.call(Hook(id="d", module="fragile.die", isolated=True), asked(tmp_path), timeout=30)
            live = Hook(id="l", module="fragile.live", isolated=True)
            return die, await kind.call(live, asked(tmp_path), timeout=30)

    died, lived = bounded(both())
    assert failure(died) == (FailureKind.KILLED, f"the worker process died during the call: {text}")
    assert died.stderr == b"last words\n"
    assert lived.value == 1


def test_worker_that_died_between_calls_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)

    async def both() -> tuple[int, int]:
        async with python() as kind:
            first = number(await kind.call(hook, asked(tmp_path), timeout=30))
            os.kill(first, signal.SIGKILL)
            assert await until_async(lambda: not Path(f"/proc/{first}").exists())
            return first, number(await kind.call(hook, asked(tmp_path), timeout=30))

    first, second = bounded(both())
    assert first != second


def test_hook_that_forks_answers_once(tmp_path: Path) -> None:
    source = (
        "import os\ndef split(payload):\n    child = os.fork()\n    return {'child': child == 0, 'n': payload['n']}\n"
    )
    write(tmp_path, "fork.py", source)
    hook = Hook(id="h", module="fork.split", isolated=True)

    async def often() -> list[object]:
        async with python() as kind:
            return [(await kind.call(hook, asked(tmp_path, {"n": n}), timeout=30)).value for n in range(3)]

    assert bounded(often()) == [{"child": False, "n": n} for n in range(3)]


def test_calls_at_once_share_at_most_four_workers(tmp_path: Path) -> None:
    source = "import os, time\ndef nap(payload):\n    time.sleep(0.05)\n    return os.getpid()\n"
    write(tmp_path, "slow.py", source)
    hook = Hook(id="h", module="slow.nap", isolated=True)

    async def together() -> list[int]:
        async with python() as kind:
            replies = await asyncio.gather(*(kind.call(hook, asked(tmp_path), timeout=30) for _ in range(12)))
            return [number(reply) for reply in replies]

    pids = bounded(together())
    assert len(pids) == 12
    assert len(set(pids)) == 4


def test_waiting_for_a_free_worker_counts_as_time_of_the_hook(tmp_path: Path) -> None:
    write(tmp_path, "slow.py", "import time\ndef nap(payload):\n    time.sleep(1)\n    return 1\n")
    hook = Hook(id="h", module="slow.nap", isolated=True)

    async def together() -> tuple[Reply, Reply]:
        async with python(limits=WorkerLimits(group=1)) as kind:
            first = asyncio.create_task(kind.call(hook, asked(tmp_path), timeout=30))
            await asyncio.sleep(0)
            second = await kind.call(hook, asked(tmp_path), timeout=0.2)
            return await first, second

    first, second = bounded(together())
    assert first.value == 1
    assert failure(second) == (
        FailureKind.TIMEOUT,
        "gave no answer within 0.2 s; all 1 workers of its folder were busy",
    )


def test_worker_is_replaced_after_its_number_of_calls(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)

    async def often() -> list[int]:
        async with python(limits=WorkerLimits(calls=2)) as kind:
            return [number(await kind.call(hook, asked(tmp_path), timeout=30)) for _ in range(5)]

    pids = bounded(often())
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


@needs_proc
def test_worker_that_nobody_needs_leaves_by_itself(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)

    async def once() -> None:
        async with python(limits=WorkerLimits(idle=0.1)) as kind:
            pid = number(await kind.call(hook, asked(tmp_path), timeout=30))
            # gone altogether, not a zombie
            assert await until_async(lambda: not Path(f"/proc/{pid}").exists())
            assert number(await kind.call(hook, asked(tmp_path), timeout=30)) != pid

    bounded(once())


@needs_proc
def test_idle_worker_of_another_project_makes_room(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)

    async def both() -> None:
        async with python(limits=WorkerLimits(total=1)) as kind:
            first = number(await kind.call(hook, asked(tmp_path / "one"), timeout=30))
            second = number(await kind.call(hook, asked(tmp_path / "two"), timeout=30))
            assert await until_async(lambda: not Path(f"/proc/{first}").exists())
            assert is_running(second)

    bounded(both())


@needs_proc
def test_worker_ends_with_its_event_loop_even_when_nobody_closes(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)
    kind = Python()
    first = number(bounded(kind.call(hook, asked(tmp_path), timeout=30)))
    assert not Path(f"/proc/{first}").exists()
    second = number(bounded(kind.call(hook, asked(tmp_path), timeout=30)))
    assert first != second
    bounded(kind.close())


@needs_proc
def test_worker_of_a_loop_closed_in_haste_is_not_used_again(tmp_path: Path) -> None:
    write(tmp_path, "who.py", "import os\ndef am_i(payload):\n    return os.getpid()\n")
    hook = Hook(id="h", module="who.am_i", isolated=True)
    kind = Python()
    loop = asyncio.new_event_loop()
    first = number(loop.run_until_complete(kind.call(hook, asked(tmp_path), timeout=30)))
    loop.close()
    second = number(bounded(kind.call(hook, asked(tmp_path), timeout=30)))
    assert first != second
    assert not Path(f"/proc/{first}").exists()
    bounded(kind.close())


EMBEDDING = """
import asyncio, sys
from hookline.kinds.python import Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook

async def main():
    kind = Python()
    request = Request(event=Event(name=EventName.ERROR, cwd=sys.argv[1]), document={"note": sys.argv[2]})
    for function in ("write_pid", sys.argv[3]):
        await kind.call(Hook(id="h", module="slow", function=function, isolated=True), request, timeout=60)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@needs_proc
@pytest.mark.parametrize("state", ["write_pid", "hang"])
def test_worker_ends_when_the_embedding_program_is_killed(tmp_path: Path, state: str) -> None:
    source = (
        "import os, time\ndef write_pid(payload):\n    with open(payload['note'] + '.new', 'w') as f:\n"
        "        f.write(str(os.getpid()))\n    os.rename(payload['note'] + '.new', payload['note'])\n"
        "def hang(payload):\n    write_pid({'note': payload['note'] + '2'})\n    time.sleep(60)\n"
    )
    write(tmp_path, "slow.py", source)
    note = tmp_path / "pid"
    arguments = [sys.executable, "-c", EMBEDDING, str(tmp_path), str(note), state]
    with subprocess.Popen(arguments) as embedding:
        ready = note if state == "write_pid" else tmp_path / "pid2"
        until(ready.exists)
        pid = int(note.read_text(encoding="utf-8"))
        assert is_running(pid)
        embedding.kill()
    until(lambda: not is_running(pid))


def test_large_documents_go_both_ways(tmp_path: Path) -> None:
    write(tmp_path, "big.py", "def size(payload):\n    return {'n': len(payload['text']), 'back': 'x' * 900_000}\n")
    hook = Hook(id="h", module="big.size", isolated=True)
    assert call(tmp_path, hook, {"text": "y" * 8_000_000}).value == {"n": 8_000_000, "back": "x" * 900_000}


@pytest.mark.spec("A-25", "O-14")
@pytest.mark.parametrize(
    "body",
    [
        "return {'x': 'y' * 2_000_000}",
        "import os\n    while True:\n        os.write(1, b'x' * 65536)",
    ],
    ids=["returned", "printed"],
)
def test_isolated_hook_that_says_too_much_is_stopped(tmp_path: Path, body: str) -> None:
    write(tmp_path, "loud.py", f"def shout(payload):\n    {body}\n")
    reply = call(tmp_path, Hook(id="h", module="loud.shout", isolated=True))
    assert failure(reply)[0] is FailureKind.TOO_MUCH_OUTPUT
    assert len(reply.stderr) <= 65_536


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("object()", "a object that JSON cannot carry"),
        ("float('nan')", "a float that JSON cannot carry"),
        ("'\\udce9'", "answer is not JSON"),
    ],
)
def test_answer_that_json_cannot_carry_is_an_invalid_reply(tmp_path: Path, value: str, text: str) -> None:
    write(tmp_path, "odd.py", f"def answer(payload):\n    return {value}\n")
    kind, message = failure(call(tmp_path, Hook(id="h", module="odd.answer", isolated=True)))
    assert kind is FailureKind.INVALID_REPLY
    assert text in message


def test_interpreter_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async def once() -> Reply:
        kind = Python(interpreter="/nonexistent/python")
        try:
            return await kind.call(Hook(id="h", module="a.b", isolated=True), asked(tmp_path), timeout=5)
        finally:
            await kind.close()

    kind, message = failure(bounded(once()))
    assert kind is FailureKind.NOT_FOUND
    assert message.startswith('cannot start the worker with "/nonexistent/python": No such file')


def test_program_that_is_no_interpreter_is_told_by_how_it_ended(tmp_path: Path) -> None:
    async def once() -> Reply:
        kind = Python(interpreter="/bin/false")
        try:
            return await kind.call(Hook(id="h", module="a.b", isolated=True), asked(tmp_path), timeout=30)
        finally:
            await kind.close()

    assert failure(bounded(once()))[0] is FailureKind.KILLED


# Hooks of the shapes the Ollama CLI's documentation shows

LOGGER = '''\
"""Write each tool call to a log."""
import json
from pathlib import Path


def after_tool(payload: dict) -> dict:
    log = Path.home() / ".ollama" / "calls.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a") as out:
        out.write(json.dumps(payload) + "\\n")
    return {"logged": True}


if __name__ == "__main__":
    print(json.dumps(after_tool(json.loads(input()))))
'''

POLICY = '''\
"""Deny what cannot be undone."""
import json


def before_tool(payload: dict) -> dict:
    if payload.get("tool") == "bash" and "mkfs" in payload.get("command", ""):
        return {"permissionDecision": "deny", "reason": "formats a disk"}
    return {"permissionDecision": "allow"}


if __name__ == "__main__":
    print(json.dumps(before_tool(json.loads(input()))))
'''


@pytest.mark.spec("C-16")
def test_hooks_of_the_documented_shapes_work(tmp_path: Path) -> None:
    write(tmp_path, "logger.py", LOGGER)
    write(tmp_path, "policy.py", POLICY)
    log = Hook(id="log", module="logger.after_tool", isolated=True, env={"HOME": str(tmp_path)})
    payload = {"hook": "PostToolUse", "tool": "bash", "command": "mkfs /dev/sda"}
    assert call(tmp_path, log, payload).value == {"logged": True}
    written = (tmp_path / ".ollama" / "calls.jsonl").read_text(encoding="utf-8")
    assert json.loads(written) == payload
    for isolated in (False, True):
        policy = Hook(id="policy", module="policy", function="before_tool", isolated=isolated)
        assert call(tmp_path, policy, payload).value == {"permissionDecision": "deny", "reason": "formats a disk"}
        assert call(tmp_path, policy, {"tool": "read"}).value == {"permissionDecision": "allow"}
