"""Children in other folders and with other umasks, in a process that owns both and in one that does not."""

import asyncio
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline import surroundings
from hookline.kinds import moving
from hookline.kinds._child import Finished
from hookline.kinds._process import run
from hookline.kinds.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Request
from hookline.model.hook import Hook
from hookline.surroundings import Surroundings, entered

ENV = {b"PATH": os.environb[b"PATH"]}
LAXER, STRICTER = 0o002, 0o077


@pytest.fixture(params=["owned", "shared"])
def owned(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Be a process that owns its folder, and one that does not."""
    before = os.umask(0o022)
    if request.param == "owned":
        moving.own_the_process()
    yield request.param == "owned"
    moving.give_back()
    os.umask(before)


def finish(*argv: str, cwd: str = "", umask: int | None = None, extra: bytes = b"") -> Finished:
    async def within() -> Finished:
        with entered(Surroundings(os.environ, "/", umask=umask)):
            return await run(argv[0], argv, stdin=b"", env=ENV, cwd=cwd, timeout=60, extra=extra)

    return asyncio.run(within())


def mask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.mark.usefixtures("owned")
def test_a_child_starts_in_its_folder_and_we_stay_in_ours(tmp_path: Path) -> None:
    here = Path.cwd()
    assert finish("/bin/pwd", cwd=str(tmp_path)).stdout.decode().strip() == str(tmp_path.resolve())
    assert Path.cwd() == here


@pytest.mark.usefixtures("owned")
@pytest.mark.parametrize("umask", [LAXER, STRICTER, 0o022])
@pytest.mark.parametrize("extra", [b"", b"on descriptor 3"])
def test_a_child_makes_files_with_the_umask_of_whoever_asks(tmp_path: Path, umask: int, extra: bytes) -> None:
    for cwd in ("", str(tmp_path)):
        file = tmp_path / f"made{bool(cwd)}"
        done = finish("/bin/sh", "-c", f"umask; : >{file}", cwd=cwd, umask=umask, extra=extra)
        assert int(done.stdout, 8) == umask
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask
    assert mask() == 0o022


@pytest.mark.usefixtures("owned")
def test_a_child_of_nobody_in_particular_has_our_own_umask(tmp_path: Path) -> None:
    assert int(finish("/bin/sh", "-c", "umask", cwd=str(tmp_path)).stdout, 8) == 0o022


@pytest.mark.usefixtures("owned")
def test_a_relative_program_is_looked_for_where_the_child_works(tmp_path: Path) -> None:
    script = tmp_path / "here.sh"
    script.write_text("#!/bin/sh\necho found\n")
    script.chmod(0o755)
    assert finish("./here.sh", cwd=str(tmp_path)).stdout == b"found\n"


@pytest.mark.usefixtures("owned")
def test_a_folder_that_is_not_there_starts_nothing_and_changes_nothing(tmp_path: Path) -> None:
    here = Path.cwd()
    with pytest.raises(FileNotFoundError):
        finish("/bin/true", cwd=str(tmp_path / "gone"), umask=LAXER)
    assert (Path.cwd(), mask()) == (here, 0o022)


@pytest.mark.usefixtures("owned")
def test_a_program_that_cannot_be_started_elsewhere_leaves_us_where_we_were(tmp_path: Path) -> None:
    here = Path.cwd()
    with pytest.raises(FileNotFoundError):
        finish(str(tmp_path / "no-program"), cwd=str(tmp_path), umask=STRICTER)
    assert (Path.cwd(), mask()) == (here, 0o022)


@pytest.mark.usefixtures("owned")
def test_loops_in_several_threads_start_their_children_where_each_belongs(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    said: dict[Path, set[str]] = {folder: set() for folder in folders}

    def work(folder: Path) -> None:
        for _ in range(10):
            said[folder].add(finish("/bin/pwd", cwd=str(folder)).stdout.decode().strip())

    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for folder in folders:
        folder.mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {folder: {str(folder.resolve())} for folder in folders}


def test_who_may_not_come_back_is_at_the_top_and_the_child_is_heard_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may enter everything")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    moving.own_the_process()
    try:
        home.chmod(0o000)
        assert finish("/bin/pwd", cwd="/usr").stdout == b"/usr\n"
        assert Path.cwd() == Path("/")
    finally:
        home.chmod(0o700)
        moving.give_back()


def test_a_removed_home_is_come_back_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    moving.own_the_process()
    try:
        home.rmdir()
        assert finish("/bin/pwd", cwd="/usr").stdout == b"/usr\n"
        assert finish("/bin/pwd", cwd="/usr").stdout == b"/usr\n"
    finally:
        moving.give_back()


def test_only_an_owned_process_goes_anywhere() -> None:
    assert not moving.is_owned()
    moving.own_the_process()
    moving.own_the_process()
    assert moving.is_owned()
    moving.give_back()
    moving.give_back()
    assert not moving.is_owned()


async def ask(kind: Command, hook: Hook, folder: Path, *, umask: int | None = None, cwd: str = "") -> str:
    with entered(Surroundings(dict(os.environ), str(folder), umask=umask)):
        reply = await kind.call(
            hook, Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd), document={}), timeout=60
        )
    assert reply.failure is None, reply.failure
    return reply.stdout.decode().strip()


def test_a_hook_runs_where_whoever_asks_works_with_their_umask(tmp_path: Path, *, owned: bool) -> None:
    """The same hook, asked by turns from two places: nothing of the one is remembered for the other."""
    hook = Hook(id="h", on="before_tool", command='pwd; echo "$PWD"; umask', shell=True)
    one, other = (tmp_path / name for name in ("one", "other"))
    for folder in (one, other):
        folder.mkdir()

    async def within() -> None:
        kind = Command()
        for _ in range(2):
            for folder, umask in ((one, LAXER), (other, STRICTER), (one, STRICTER)):
                words = (await ask(kind, hook, folder, umask=umask)).split()
                assert words == [str(folder), str(folder), f"{umask:04o}"]
        assert (await ask(kind, hook, one, cwd=str(other))).split()[0] == str(other)
        await kind.close()

    asyncio.run(within())
    assert moving.is_owned() is owned


def test_a_persistent_hook_has_the_folder_and_the_umask_of_who_started_it(tmp_path: Path) -> None:
    line = r"""while read -r _; do printf '{"said": "%s %s"}\n' "$(pwd)" "$(umask)"; done"""
    hook = Hook(id="h", on="before_tool", command=line, shell=True, persistent=True)

    async def within() -> str:
        kind = Command()
        try:
            return await ask(kind, hook, tmp_path, umask=0o027)
        finally:
            await kind.close()

    moving.own_the_process()
    try:
        assert asyncio.run(within()) == f'{{"said":"{tmp_path} 0027"}}'
    finally:
        moving.give_back()


def test_a_folder_that_was_removed_under_whoever_asks_is_named(tmp_path: Path, *, owned: bool) -> None:
    gone = tmp_path / "gone"

    async def within() -> None:
        kind = Command()
        with entered(Surroundings(dict(os.environ), str(gone))):
            hook = Hook(id="h", on="before_tool", command="/bin/true")
            reply = await kind.call(hook, Request(event=Event(name=EventName.BEFORE_TOOL), document={}), timeout=60)
        await kind.close()
        assert reply.failure is not None
        assert (reply.failure.kind, str(gone) in reply.failure.message) == (FailureKind.NOT_FOUND, True)

    asyncio.run(within())
    assert moving.is_owned() is owned
    assert surroundings.current() is None
