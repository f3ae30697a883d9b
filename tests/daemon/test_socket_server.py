"""How calls are taken from a socket."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.bridge import notices
from hookline.bridge.serve import SingleUseProjects
from hookline.daemon import protocol
from hookline.daemon.protocol import CallRequest
from hookline.daemon.socket_server import CallDispatcher, Connection, listen
from hookline.project import Project
from tests.daemon.living import WORDS, payload

TURNS = 200
GUARD = '[[hook]]\nid = "guard"\non = "before_tool"\nrun = ["/bin/sh", "-c", "cat >/dev/null"]\n'


class Counted(SingleUseProjects):
    """Opens projects, and counts how many were given and given back."""

    def __init__(self) -> None:
        self.given = 0
        self.back = 0

    def open(self, root: Path) -> Project:
        self.given += 1
        return super().open(root)

    async def release(self, project: Project) -> None:
        self.back += 1
        await super().release(project)


@pytest.fixture
def projects() -> Iterator[Counted]:
    """Have complaints collected as the daemon has, and give projects."""
    root = logging.getLogger()
    before = root.handlers[:]
    notices.install_warning_log()
    yield Counted()
    root.handlers[:] = before


def request(folder: Path) -> bytes:
    """Say what a launcher says."""
    home, project = folder / "home", folder / "project"
    (home / ".config/hookline").mkdir(parents=True)
    (home / ".config/hookline/hookline.toml").write_text(GUARD)
    project.mkdir()
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in {**os.environ, "HOME": str(home)}.items())
    return protocol.encode_request(CallRequest(WORDS, str(project), block, payload(project), 0o022))


def dispatcher_of(projects: Counted) -> CallDispatcher:
    return CallDispatcher(projects, control=lambda _words: None, find_reason=lambda: "")


def test_launcher_that_hangs_up_at_once_leaves_nothing_behind(tmp_path: Path, projects: Counted) -> None:
    said = request(tmp_path)

    async def whole() -> None:
        dispatcher = dispatcher_of(projects)
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(said)
        Connection(dispatcher, ours)
        await asyncio.sleep(0.1)
        await asyncio.gather(*dispatcher.running, return_exceptions=True)

    asyncio.run(whole())
    assert projects.given == projects.back


def test_request_in_small_pieces_is_answered_once(tmp_path: Path, projects: Counted) -> None:
    said = request(tmp_path)

    async def whole() -> bytes:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        theirs.settimeout(0)
        with theirs:
            Connection(dispatcher_of(projects), ours)
            for start in range(0, len(said), 100):
                await loop.sock_sendall(theirs, said[start : start + 100])
                await asyncio.sleep(0)
            received = b""
            while part := await asyncio.wait_for(loop.sock_recv(theirs, 65536), 60):
                received += part
            return received

    received = asyncio.run(whole())
    assert [kind for kind, _ in protocol.parse_frames(received) if kind != b"k"] == [b"a"]
    assert projects.given == projects.back == 1


class Crowded(socket.socket):
    """A listening socket of a process that has no descriptor left."""

    tries = 0
    is_full = True

    def accept(self) -> tuple[socket.socket, object]:
        self.tries += 1
        if self.is_full:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


def test_without_a_free_descriptor_the_loop_does_not_spin(tmp_path: Path, projects: Counted) -> None:
    said = request(tmp_path)

    async def whole(folder: Path) -> bytes:
        loop = asyncio.get_running_loop()
        with Crowded(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as caller:
            listening.bind(str(folder / "s"))
            listening.listen()
            listening.settimeout(0)
            listen(listening, dispatcher_of(projects))
            caller.connect(str(folder / "s"))
            caller.settimeout(0)
            await loop.sock_sendall(caller, said)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            assert 0 < listening.tries < TURNS / 4
            # the launcher that waited is answered when there is one
            listening.is_full = False
            heard = await asyncio.wait_for(loop.sock_recv(caller, 65536), 60)
            loop.remove_reader(listening)
            return heard

    # short, because the path of a socket is
    heard = asyncio.run(whole(Path(os.path.relpath(tmp_path))))
    assert [kind for kind, _ in protocol.parse_frames(heard)] == [b"a"]
