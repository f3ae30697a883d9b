"""The bytes that were checked are the bytes that run, whatever happens to the file in between."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from hookline import Engine, Outcome, TrustedHooks
from hookline.kinds.command import command
from hookline.kinds.command.command import Command
from hookline.kinds.python import Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Priority, Source
from hookline.process import bootstrap, portable
from hookline.process.bootstrap import DESCRIPTOR, LentDescriptors, MemfdPool, has_changed

pytestmark = pytest.mark.slow

NODE = shutil.which("node")
needs_memfd = pytest.mark.skipif(not bootstrap._HAS_MEMFD, reason="memfds are Linux's")  # noqa: SLF001

RUNS = 12
"""How many calls each storm has to survive that were not refused."""


class Case(Struct, frozen=True):
    """A hook in one language: its file, what it says when it is good, and what when it is evil."""

    file: str
    good: str
    evil: str
    make: Callable[[Path], Hook]


def _python_hook(path: Path) -> Hook:
    return Hook(id="x", command="python3", args=(str(path),))


CASES = {
    "python": Case("x.py", "print('good')\n", "open('MARK', 'w'); print('evil')\n", _python_hook),
    "bash": Case(
        "x.sh",
        "echo good\n",
        "echo > 'MARK'; echo evil\n",
        lambda path: Hook(id="x", command="bash", args=(str(path),)),
    ),
    "sh": Case(
        "x.sh",
        "echo good\n",
        "echo > 'MARK'; echo evil\n",
        lambda path: Hook(id="x", command="sh", args=(str(path),)),
    ),
    "node": Case(
        "x.js",
        "console.log('good')\n",
        "require('fs').writeFileSync('MARK', ''); console.log('evil')\n",
        lambda path: Hook(id="x", command="node", args=(str(path),)),
    ),
    "node module": Case(
        "x.mjs",
        "console.log('good')\n",
        "import fs from 'fs'; fs.writeFileSync('MARK', ''); console.log('evil')\n",
        lambda path: Hook(id="x", command="node", args=(str(path),)),
    ),
    "perl": Case(
        "x.pl",
        'print "good\\n"\n',
        "open(F, '>', 'MARK'); print \"evil\\n\"\n",
        lambda path: Hook(id="x", command="/usr/bin/perl", args=(str(path),)),
    ),
    "by itself": Case(
        "x",
        "#!/usr/bin/env python3\nprint('good')\n",
        "#!/bin/sh\necho > 'MARK'; echo evil\n",
        lambda path: Hook(id="x", command=str(path)),
    ),
    "shell line": Case(
        "x.py",
        "print('good')\n",
        "open('MARK', 'w'); print('evil')\n",
        lambda path: Hook(id="x", command='python3 "$PROJECT"/x.py', shell=True, env={"PROJECT": str(path.parent)}),
    ),
    "shell list": Case(
        "x.sh",
        "#!/bin/sh\necho good\n",
        "#!/bin/sh\necho > 'MARK'; echo evil\n",
        lambda path: Hook(id="x", command=f"cd {path.parent} && ./x.sh | cat", shell=True),
    ),
    "module": Case(
        "guard.py",
        "def check(document):\n    return 'good'\n",
        "open('MARK', 'w')\ndef check(document):\n    return 'evil'\n",
        lambda path: Hook(
            id="x",
            kind="python",
            module="guard.check",
            source_path=str(path.parent / "h.toml"),
            source=Source.WORKSPACE,
        ),
    ),
    "isolated module": Case(
        "guard.py",
        "def check(document):\n    return 'good'\n",
        "open('MARK', 'w')\ndef check(document):\n    return 'evil'\n",
        lambda path: Hook(
            id="x",
            kind="python",
            module="guard.check",
            isolated=True,
            source_path=str(path.parent / "h.toml"),
            source=Source.WORKSPACE,
        ),
    ),
}


def _present(name: str) -> bool:
    return (NODE is not None or "node" not in name) and (name != "perl" or Path("/usr/bin/perl").exists())


NAMES = [name for name in CASES if _present(name)]


class Scene:
    """One case on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        case = CASES[name]
        folder.mkdir()
        self.mark = folder / "MARK"
        self.path = folder / case.file
        self.good = case.good.encode()
        self.evil = case.evil.replace("MARK", str(self.mark)).encode()
        self.hook = case.make(self.path)
        self.write(self.good)

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content)
        self.path.chmod(0o755)

    def replace(self, content: bytes) -> None:
        beside = self.path.with_name("beside")
        beside.write_bytes(content)
        beside.chmod(0o755)
        beside.replace(self.path)


@pytest.fixture(params=NAMES)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return Scene(tmp_path / "project", request.param)


class Kinds:
    """The two kinds that run files."""

    def __init__(self) -> None:
        self._command = Command()
        self._python = Python()

    async def ask(self, hook: Hook, sealed: Sealed | None, *, cwd: str = "/") -> Reply:
        request = Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd), document={"event": "before_tool"})
        request.sealed = sealed
        kind = self._python if hook.kind == "python" else self._command
        async with asyncio.timeout(60):
            return await kind.call(hook, request, timeout=30)

    async def close(self) -> None:
        await self._python.close()


def ask(hook: Hook, sealed: Sealed | None, *, cwd: str = "/") -> Reply:
    async def once() -> Reply:
        kinds = Kinds()
        try:
            return await kinds.ask(hook, sealed, cwd=cwd)
        finally:
            await kinds.close()

    return asyncio.run(once())


def said(reply: Reply) -> object:
    return reply.value if isinstance(reply.value, str) else reply.stdout.decode().strip()


def refusal(reply: Reply) -> str:
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.REFUSED
    return reply.failure.message


# The race between the check and the start

SWAPS: dict[str, Callable[[Scene], object]] = {
    "replaced": lambda scene: scene.replace(scene.evil),
    "rewritten in place": lambda scene: scene.write(scene.evil),
}


@pytest.mark.spec("O-04")
@pytest.mark.parametrize("swap", SWAPS)
def test_naive_way_loses_the_race(tmp_path: Path, swap: str) -> None:
    scene = Scene(tmp_path / "project", "python")

    assert scene.path.read_bytes() == scene.good  # the check
    SWAPS[swap](scene)
    ran = subprocess.run([sys.executable, str(scene.path)], check=True, capture_output=True)

    assert ran.stdout == b"evil\n"
    assert scene.mark.exists()


@pytest.mark.spec("O-04")
@pytest.mark.parametrize("swap", SWAPS)
def test_file_swapped_between_check_and_start_does_not_run(scene: Scene, swap: str) -> None:
    sealed = {str(scene.path): scene.path.read_bytes()}  # the check
    SWAPS[swap](scene)

    reply = ask(scene.hook, sealed)

    assert said(reply) == "good", reply
    assert not scene.mark.exists()


SWAPPER = """\
import os, sys
path, good, evil, way = sys.argv[1:]
beside = path + "." + way
print("ready", flush=True)
while True:
    for content in (evil, good):
        if way == "replace":
            with open(beside, "wb") as file:
                file.write(content.encode())
            os.chmod(beside, 0o755)
            os.replace(beside, path)
        else:
            with open(path, "r+b") as file:
                file.truncate()
                file.write(content.encode())
"""


@contextlib.contextmanager
def storm(scene: Scene) -> Iterator[None]:
    """Swap the file between good and evil, as fast as two processes can, in both ways."""
    argv = [sys.executable, "-I", "-S", "-c", SWAPPER, str(scene.path), scene.good.decode(), scene.evil.decode()]
    swappers = [
        subprocess.Popen([*argv, way], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for way in ("replace", "rewrite")
    ]
    try:
        for swapper in swappers:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"ready\n"
        yield
    finally:
        for swapper in swappers:
            swapper.kill()
            swapper.communicate()


@pytest.mark.spec("O-04")
def test_whatever_runs_in_a_storm_of_swaps_is_what_was_checked(scene: Scene) -> None:
    async def rounds() -> list[Reply]:
        kinds = Kinds()
        replies: list[Reply] = []
        try:
            while len(replies) < RUNS:
                content = scene.path.read_bytes()
                if content == scene.good:  # the check: anything else is not what was approved
                    replies.append(await kinds.ask(scene.hook, {str(scene.path): content}))
            return replies
        finally:
            await kinds.close()

    with storm(scene):
        replies = asyncio.run(rounds())

    assert {said(reply) for reply in replies if reply.failure is None} == {"good"}
    assert all(refusal(reply) for reply in replies if reply.failure is not None)
    assert not scene.mark.exists()


@pytest.mark.spec("O-04")
def test_script_that_came_after_the_check_does_not_run(scene: Scene) -> None:
    scene.write(scene.evil)

    reply = ask(scene.hook, {}, cwd=str(scene.path.parent))

    assert refusal(reply) == f'"{scene.path}" was not there when the hook was checked'
    assert not scene.mark.exists()


@pytest.mark.spec("O-04")
@pytest.mark.parametrize("swap", SWAPS)
def test_hook_that_swaps_the_script_of_the_next_one_changes_nothing(tmp_path: Path, swap: str) -> None:
    scene = Scene(tmp_path / "project", "python")
    scene.good = b"import json; print(json.dumps({'systemMessage': 'good'}))\n"
    scene.write(scene.good)
    hook = Hook(
        id="second",
        on="before_tool",
        command=f"python3 {scene.path}",
        dialect="hookline",
        source=Source.WORKSPACE,
        root=str(scene.path.parent),
    )

    def first(_document: object) -> None:
        SWAPS[swap](scene)

    async def emit() -> tuple[Outcome, Outcome]:
        trust = TrustedHooks()
        await trust.store_approval(hook, trust.digest(hook, cwd=str(scene.path.parent)))
        engine = Engine(trust=trust)
        engine.add(Hook(id="first", on="before_tool", call=first, priority=Priority.HIGH, source=Source.USER), hook)
        cwd = str(scene.path.parent)
        both = [await engine.emit("before_tool", tool="shell", args={"command": "ls"}, cwd=cwd) for _ in range(2)]
        await engine.close()
        return both[0], both[1]

    vetted, changed = asyncio.run(emit())

    assert [verdict.hook for verdict in vetted.verdicts] == ["first", "second"]
    assert not vetted.failures
    assert [skip.reason for skip in changed.skipped] == ["changed since it was approved"]
    assert not scene.mark.exists()


def test_native_program_is_executed_from_its_vetted_bytes(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    shutil.copy("/bin/echo", program)
    sealed = {str(program): program.read_bytes()}
    program.unlink()
    program.write_text("#!/bin/sh\necho evil\n")
    program.chmod(0o755)

    reply = ask(Hook(id="x", command=str(program), args=("good",)), sealed)

    assert reply.stdout == b"good\n", reply


# Files that keep their place


@pytest.mark.spec("O-04")
@pytest.mark.parametrize("isolated", [None, False, True])
def test_file_named_beside_the_command_is_compared_before_and_after(tmp_path: Path, *, isolated: bool | None) -> None:
    beside = tmp_path / "rules.txt"
    beside.write_text("old")
    script = tmp_path / ("guard.py" if isolated is not None else "x.py")
    change = f"__import__('pathlib').Path({str(beside)!r}).write_text('new')"
    script.write_text(f"def check(document):\n    {change}\n" if isolated is not None else change)
    if isolated is None:
        hook = Hook(id="x", command="python3", args=(str(script),))
    else:
        place = str(tmp_path / "h.toml")
        hook = Hook(id="x", kind="python", module="guard.check", isolated=isolated, source_path=place)
    sealed = {str(script): script.read_bytes(), str(beside): b"old"}

    assert refusal(ask(hook, sealed)) == f'"{beside}" changed while the hook ran'
    assert refusal(ask(hook, sealed)) == f'"{beside}" changed since it was checked'
    beside.unlink()
    assert refusal(ask(hook, sealed)) == f'"{beside}" changed since it was checked'


@pytest.mark.parametrize("isolated", [False, True])
def test_module_in_memory_is_used_only_if_it_is_made_of_the_vetted_bytes(tmp_path: Path, *, isolated: bool) -> None:
    guard = tmp_path / "guard.py"
    guard.write_text("import helper\ndef check(document):\n    return helper.WORD\n")
    (tmp_path / "helper.py").write_text("WORD = 'disk'\n")
    place = str(tmp_path / "h.toml")
    hook = Hook(id="x", kind="python", module="guard.check", isolated=isolated, source_path=place)
    source = {str(guard): guard.read_bytes()}

    async def calls() -> list[object]:
        kinds = Kinds()
        sealings: list[Sealed | None] = [
            {**source, str(tmp_path / "helper.py"): b"WORD = 'one'\n"},
            {**source, str(tmp_path / "helper.py"): b"WORD = 'two'\n"},
            source,
            None,
            {**source, str(tmp_path / "helper.py"): b"WORD = 'one'\n"},
        ]
        try:
            return [(await kinds.ask(hook, sealed)).value for sealed in sealings]
        finally:
            await kinds.close()

    assert asyncio.run(calls()) == ["one", "two", "disk", "disk", "one"]


@pytest.mark.parametrize("isolated", [False, True])
def test_package_that_came_after_the_check_does_not_stand_in_for_a_vetted_module(
    tmp_path: Path, *, isolated: bool
) -> None:
    files = {
        "guard.py": "import beside\ndef check(document):\n    return beside.WORD\n",
        "beside.py": "WORD = 'good'\n",
    }
    sealed = {str(tmp_path / name): text.encode() for name, text in files.items()}
    (tmp_path / "guard.py").write_text(files["guard.py"])
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "__init__.py").write_text("WORD = 'evil'\n")
    place = str(tmp_path / "h.toml")
    hook = Hook(id="x", kind="python", module="guard.check", isolated=isolated, source_path=place)

    async def call() -> object:
        kinds = Kinds()
        try:
            return (await kinds.ask(hook, sealed)).value
        finally:
            await kinds.close()

    assert asyncio.run(call()) == "good"


def test_file_differs_when_one_byte_does_or_it_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"abc")

    assert not has_changed(str(file), b"abc")
    assert has_changed(str(file), b"abd")
    assert has_changed(str(file), b"ab")
    assert has_changed(str(tmp_path / "none"), b"")
    assert has_changed(str(tmp_path), b"")


# What a child is handed


@needs_memfd
def test_handed_bytes_cannot_be_changed_by_anybody() -> None:
    vault = MemfdPool()
    with LentDescriptors(vault) as seals:
        path = seals.lend(b"good", "x.sh")
        descriptor = int(path.removeprefix(DESCRIPTOR))

        assert Path(path).read_bytes() == b"good"
        assert not os.get_inheritable(descriptor)
        for change in (
            lambda: os.write(descriptor, b"evil"),
            lambda: os.ftruncate(descriptor, 0),
            lambda: os.ftruncate(descriptor, 10),
        ):
            with pytest.raises(PermissionError):
                change()
        vault.close()
        assert Path(path).exists()  # somebody uses it
    assert LentDescriptors(vault).lend(b"good", "other name") == path


@needs_memfd
def test_vault_keeps_what_is_used_and_a_little_more() -> None:
    vault = MemfdPool()
    used = vault.acquire(b"used")
    before = descriptors()
    for number in range(300):
        vault.release(vault.acquire(b"%d" % number))

    assert vault.acquire(b"used") == used
    assert descriptors() - before <= 64
    vault.close()
    assert descriptors() == before

    for number in range(6):
        vault.release(vault.acquire(bytes([number]) * 10_000_000))
    assert descriptors() - before <= 3
    del vault
    assert descriptors() == before - 1


def test_copy_keeps_its_name_and_is_gone_afterwards() -> None:
    with LentDescriptors(MemfdPool()) as seals:
        one, two = Path(seals.lend_copy(b"1", "x.js")), Path(seals.lend_copy(b"2", "x.js"))

        assert (one.name, two.name) == ("x.js", "x.js")
        assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
        assert one.stat().st_mode & 0o777 == 0o500
        assert one.parent.parent.stat().st_mode & 0o777 == 0o700
    assert not one.parent.parent.exists()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@needs_memfd
@pytest.mark.parametrize("cwd", ["/", ""])
def test_sealed_calls_leave_no_descriptor_and_no_folder(tmp_path: Path, cwd: str) -> None:
    scene = Scene(tmp_path / "project", "python")
    data = tmp_path / "data.txt"
    data.write_text("data")
    hook = Hook(id="x", command="python3", args=(str(scene.path), str(data)))
    sealed = {str(scene.path): scene.good, str(data): b"data"}

    async def calls() -> tuple[int, int]:
        kinds = Kinds()
        await kinds.ask(hook, sealed, cwd=cwd)
        before = descriptors()
        await asyncio.gather(*(kinds.ask(hook, sealed, cwd=cwd) for _ in range(20)))
        after = descriptors()
        return before, after

    before, after = asyncio.run(calls())

    assert after == before
    assert not list(Path("/tmp").glob("hookline-*/*/data.txt"))  # noqa: S108 - looks, and writes nothing


def test_without_memfds_and_pidfds_copies_do_the_same(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "_HAS_MEMFD", False)
    monkeypatch.setattr(command, "run", portable.run)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sealed = {str(scene.path): scene.good}
    scene.replace(scene.evil)

    assert said(ask(scene.hook, sealed)) == "good"
    assert not scene.mark.exists()


def test_portable_runner_hands_descriptors_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", portable.run)
    sealed = {str(scene.path): scene.good}
    scene.replace(scene.evil)

    assert said(ask(scene.hook, sealed)) == "good"
    assert not scene.mark.exists()
