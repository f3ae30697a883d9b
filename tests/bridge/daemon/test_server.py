"""How calls are taken from a socket."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.bridge import complaints
from hookline.bridge.daemon import protocol
from hookline.bridge.daemon.protocol import Request
from hookline.bridge.daemon.server import Caller, Desk
from hookline.bridge.serving import OneCall
from hookline.workspace import Opened
from tests.bridge.daemon.living import WORDS, payload

GUARD = '[[hook]]\nid = "guard"\non = "before_tool"\nrun = ["/bin/sh", "-c", "cat >/dev/null"]\n'
TURNS = 200


class Counted(OneCall):
    """Opens projects, and counts how many were given and given back."""

    def __init__(self) -> None:
        self.given = 0
        self.back = 0

    def open(self, root: Path) -> Opened:
        self.given += 1
        return super().open(root)

    async def leave(self, project: Opened) -> None:
        self.back += 1
        await super().leave(project)


class Crowded(socket.socket):
    """Listens where there was no room for one more connection, a moment ago."""

    asked = 0
    is_full = True

    def _accept(self) -> tuple[int, object]:
        self.asked += 1
        if self.is_full:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super()._accept()  # type: ignore[misc,no-any-return]


@pytest.fixture
def projects() -> Iterator[Counted]:
    """Have complaints collected as the daemon has, and give projects."""
    root = logging.getLogger()
    before = root.handlers[:]
    complaints.take_all()
    yield Counted()
    root.handlers[:] = before


def request(folder: Path) -> bytes:
    """Say what a launcher says."""
    home, project = folder / "home", folder / "project"
    (home / ".config/hookline").mkdir(parents=True)
    (home / ".config/hookline/hookline.toml").write_text(GUARD)
    project.mkdir()
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in {**os.environ, "HOME": str(home)}.items())
    return protocol.request(Request(WORDS, str(project), block, payload(project), 0o022))


def desk_of(projects: Counted) -> Desk:
    return Desk(projects, control=lambda _words: None, declines=lambda: "")


def test_whoever_hangs_up_at_once_leaves_nothing_behind(tmp_path: Path, projects: Counted) -> None:
    said = request(tmp_path)

    async def whole() -> None:
        desk = desk_of(projects)
        ours, theirs = socket.socketpair()
        ours.settimeout(0)
        with theirs:
            theirs.sendall(said)
        Caller(desk, ours).greet()
        assert projects.given == 1
        await asyncio.gather(*desk.running, return_exceptions=True)

    asyncio.run(whole())
    assert projects.back == 1


def test_where_there_is_no_room_nobody_is_asked_again_and_again(tmp_path: Path, projects: Counted) -> None:
    said = request(tmp_path)

    async def whole(folder: Path) -> bytes:
        loop = asyncio.get_running_loop()
        with Crowded(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as caller:
            listening.bind(str(folder / "s"))
            listening.listen()
            listening.settimeout(0)
            loop.add_reader(listening, desk_of(projects).accept, listening)
            caller.connect(str(folder / "s"))
            caller.settimeout(0)
            await loop.sock_sendall(caller, said)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            assert 0 < listening.asked < TURNS / 4
            # and whoever waited is answered when there is
            listening.is_full = False
            heard = await asyncio.wait_for(loop.sock_recv(caller, 65536), 60)
            loop.remove_reader(listening)
            return heard

    # short, because the path of a socket is
    heard = asyncio.run(whole(Path(os.path.relpath(tmp_path))))
    assert [kind for kind, _ in protocol.frames(heard)] == [b"a"]
