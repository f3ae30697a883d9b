"""How directly the daemon gets from a launcher's request to the process of a hook, counted on a warm call."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Final

import hookline
from hookline import json_codec
from hookline.daemon import protocol
from hookline.daemon.protocol import CallRequest
from hookline.daemon.socket_server import CallDispatcher, Connection
from hookline.engine.planner import HookPlanner
from hookline.project_cache import ProjectCache
from tests.daemon.living import WORDS, payload

SOURCE: Final = str(Path(hookline.__file__).parent)
# our own library is announced to auditors in the frame that calls it
STARTS: Final = frozenset({"posix_spawn", "posix_spawnp", "fork_exec", "audit"})
DEEPEST: Final = 9
GUARD: Final = '[[hook]]\nid = "guard"\non = "before_tool"\nrun = ["/bin/true"]\n'


class Walk:
    """What happened in the process while a call was answered."""

    def __init__(self, document: bytes) -> None:
        self._document = document
        self.stacks: list[list[str]] = []
        self.parses = 0
        self.plans = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and getattr(argument, "__name__", "") in STARTS:
            self.stacks.append([*_own_frames(frame)])
        elif event == "call" and frame.f_code is HookPlanner.plan.__code__:
            self.plans += 1
        elif event == "call" and frame.f_code is json_codec._parse.__code__:  # noqa: SLF001 - the one place that parses
            self.parses += frame.f_locals["raw"] == self._document


def _own_frames(frame: FrameType | None) -> list[str]:
    names: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            names.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}")
        frame = frame.f_back
    return names


async def _ask(dispatcher: CallDispatcher, request: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    with theirs:
        Connection(dispatcher, ours)
        await loop.sock_sendall(theirs, request)
        received = b""
        while part := await asyncio.wait_for(loop.sock_recv(theirs, 65536), 60):
            received += part
    return received


def _walk(folder: Path) -> Walk:
    home, project = folder / "home", folder / "project"
    (home / ".config/hookline").mkdir(parents=True)
    (home / ".config/hookline/hookline.toml").write_text(GUARD)
    project.mkdir()
    document = payload(project)
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in {**os.environ, "HOME": str(home)}.items())
    request = protocol.encode_request(CallRequest(WORDS, str(project), block, document, 0o022))
    walk = Walk(document)

    async def whole() -> None:
        projects = ProjectCache(serves_callers=True)
        dispatcher = CallDispatcher(projects, control=lambda _words: None, find_reason=lambda: "")
        # the first load records the entries of the home; after two seconds the files count as settled
        await _ask(dispatcher, request)
        await asyncio.sleep(2.2)
        await _ask(dispatcher, request)
        sys.setprofile(walk)
        try:
            received = await _ask(dispatcher, request)
        finally:
            sys.setprofile(None)
        assert [kind for kind, _ in protocol.parse_frames(received) if kind != b"k"] == [b"a"]
        await projects.close()

    asyncio.run(whole())
    return walk


def test_a_hook_starts_few_frames_below_the_event_loop_and_nothing_is_done_twice(tmp_path: Path) -> None:
    walk = _walk(tmp_path)

    assert len(walk.stacks) == 1
    assert len(walk.stacks[0]) <= DEEPEST, " ".join(walk.stacks[0])
    assert (walk.parses, walk.plans) == (1, 1)
