"""Play the engine that is attacked: make a world with secrets and victims, and run `attacks.py` contained in it.

It is a program of its own, because it is killed, traced and listened to by what it runs. It prints what it found.
"""

import asyncio
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hookline.model.sandbox import LEVELS, NONE
from hookline.process import native
from hookline.process.containment import CellKey, Containment
from hookline.process.linux import run
from hookline.process.spec import ProcessSpec
from tests.process.escapes.attacks import ATTACKS, NOBODY, SECRET

OTHER_USER = 4242
LIBC = ctypes.CDLL(None, use_errno=True)
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
VICTIMS = (
    "kill_sibling",
    "kill_by_owner_of_descriptor",
    "schedule_sibling",
    "schedule_sibling_newer",
    "limit_engine",
)


def prepare_as_root(folder: Path) -> dict[str, str]:
    """Make what only root can make: a program that runs as another user, and a second mount of the home folder."""
    made = {"setuid": "", "second_mount": ""}
    if os.getuid():
        return made
    shutil.copy(shutil.which("id") or "/usr/bin/id", folder / "setuid")
    os.chown(folder / "setuid", OTHER_USER, OTHER_USER)
    (folder / "setuid").chmod(0o4755)
    made["setuid"] = str(folder / "setuid")
    (folder / "second").mkdir()
    (folder / "worlds").mkdir()
    if not LIBC.unshare(0x20000) and not LIBC.mount(b"none", b"/", None, 0x44000, None):
        source, target = os.fsencode(folder / "worlds"), os.fsencode(folder / "second")
        if not LIBC.mount(source, target, None, 4096, None):
            made["second_mount"] = str(folder / "second")
    return made


class World:
    """Files, processes and servers that are attacked."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self.signals: list[int] = []
        self.listeners: list[socket.socket] = []

    def make(self) -> dict[str, Any]:
        """Make everything; return what attacks know of it."""
        known = {**self._make_files(), **self._make_processes(), **self._make_servers(), **self._make_queues()}
        signal.signal(signal.SIGUSR1, lambda number, _frame: self.signals.append(number))
        self._memory = ctypes.create_string_buffer(SECRET)
        descriptor = os.open(known["key"], os.O_RDONLY)
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - it has no name there
        self._stack.callback(os.close, descriptor)
        device = os.stat("/").st_dev
        disks = (path for path in Path("/dev").glob("*") if path.is_block_device() and path.stat().st_rdev == device)
        return known | {
            "engine": os.getpid(),
            "descriptor": descriptor,
            "address": ctypes.addressof(self._memory),
            "disk": str(next(disks, "")),
        }

    def _make_files(self) -> dict[str, Any]:
        paths = {name: self.folder / name for name in ("outside", "home", "project", "other-project")}
        for path in paths.values():
            path.mkdir(parents=True)
        files = {
            **{f"outside/{name}": b"intact" for name in ATTACKS},
            "home/.profile": b"intact",
            "home/.bash_history": SECRET,
            "home/.ssh/id_rsa": SECRET,
            "home/.ssh/script": b"echo " + SECRET,
            "home/.gnupg/ring": SECRET,
            "home/.config/hookline/hookline.toml": b"intact",
            "home/.config/hookline/approvals": SECRET,
            "project/main.py": b"intact",
            "project/.git/config": b"intact",
            "project/.git/hooks/sample": b"intact",
            "project/.claude/settings.json": b"intact",
            "project/.mcp.json": b"intact",
            "project/dotfiles/cursor/hooks.json": b"intact",
            "crontab": f"#!/bin/sh\necho job >{paths['outside']}/write_spool\n".encode(),
        }
        for name, content in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
        (self.folder / "crontab").chmod(0o755)
        (paths["outside"] / "empty").mkdir()
        (paths["project"] / "leads-out").symlink_to(paths["outside"])
        (paths["project"] / ".cursor").symlink_to("dotfiles/cursor")
        (paths["project"] / "key").symlink_to(paths["home"] / ".ssh/id_rsa")
        os.link(paths["home"] / ".ssh/id_rsa", paths["outside"] / "hard-link")
        os.mkfifo(paths["outside"] / "fifo")
        self._stack.callback(os.close, os.open(paths["outside"] / "fifo", os.O_RDWR))
        return {
            **{name: str(path) for name, path in paths.items()},
            "key": str(paths["home"] / ".ssh/id_rsa"),
            "protected": str(paths["home"] / ".config/hookline"),
            "hard_link": str(paths["outside"] / "hard-link"),
            "fifo": str(paths["outside"] / "fifo"),
            "crontab": str(self.folder / "crontab"),
        }

    def _make_processes(self) -> dict[str, Any]:
        sleepers = {name: self._start_sleeper() for name in ("sibling", *VICTIMS)}
        self.sleepers = sleepers
        return {"sibling": sleepers["sibling"].pid, "victims": {name: sleepers[name].pid for name in VICTIMS}}

    def _start_sleeper(self) -> subprocess.Popen[bytes]:
        sleeper = subprocess.Popen(["sleep", "600"], cwd=self.folder / "home/.ssh")
        self._stack.callback(sleeper.wait)
        self._stack.callback(sleeper.kill)
        return sleeper

    def _make_servers(self) -> dict[str, Any]:
        abstract = f"hookline-escape-{os.getpid()}"
        paths = {name: f"{self.folder}/outside/{name}.sock" for name in ("socket", "bus", "log")}
        tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        udp = self._listen(socket.AF_INET, ("127.0.0.1", 0), kind=socket.SOCK_DGRAM)
        self._listen(socket.AF_UNIX, "\0" + abstract)
        for name, path in paths.items():
            self._listen(socket.AF_UNIX, path, kind=socket.SOCK_DGRAM if name == "log" else socket.SOCK_STREAM)
        try:
            tcp6 = self._listen(socket.AF_INET6, ("::1", 0))[1]
        except OSError:
            tcp6 = 0
        return {**paths, "abstract": abstract, "tcp": tcp[1], "udp": udp[1], "tcp6": tcp6}

    def _listen(self, family: int, address: object, *, kind: int = socket.SOCK_STREAM) -> Any:
        server = socket.socket(family, kind)
        self._stack.callback(server.close)
        server.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.setblocking(False)  # noqa: FBT003 - it has no name there
        self.listeners.append(server)
        return server.getsockname()

    def _make_queues(self) -> dict[str, Any]:
        LIBC.shmat.restype = ctypes.c_void_p
        memory, messages, semaphore = LIBC.shmget(0, 4096, 0o600), LIBC.msgget(0, 0o600), LIBC.semget(0, 1, 0o600)
        self._stack.callback(LIBC.shmctl, memory, 0, None)
        self._stack.callback(LIBC.msgctl, messages, 0, None)
        self._stack.callback(LIBC.semctl, semaphore, 0, 0)
        ctypes.memmove(LIBC.shmat(memory, None, 0), SECRET, len(SECRET))
        LIBC.msgsnd(messages, ctypes.create_string_buffer(b"\1\0\0\0\0\0\0\0" + SECRET), len(SECRET), 0)
        queue = f"hookline-escape-{os.getpid()}"
        shared = Path("/dev/shm") / queue  # noqa: S108 - that of the machine is meant
        shared.write_bytes(SECRET)
        self._stack.callback(shared.unlink)
        LIBC.syscall(240, queue.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        self._stack.callback(LIBC.syscall, 241, queue.encode())
        return {
            "shared_memory": memory,
            "shared_file": str(shared),
            "message_queue": messages,
            "semaphore": semaphore,
            "posix_queue": queue,
        }

    def list_files(self) -> dict[str, tuple[object, ...]]:
        """Return everything outside the project, so that a change can be seen."""
        return {str(path.relative_to(self.folder)): _describe(path) for path in self._walk()}

    def _walk(self) -> Iterator[Path]:
        for name in ("outside", "home", "other-project"):
            yield from sorted((self.folder / name).rglob("*"))

    def count_visits(self) -> int:
        """Return how many connections and datagrams came."""
        count = 0
        for server in self.listeners:
            try:
                while True:
                    _ = server.accept() if server.type == socket.SOCK_STREAM else server.recv(100)
                    count += 1
            except BlockingIOError:
                continue
        return count

    def list_ended(self) -> list[str]:
        """Return the processes that were ended."""
        return [name for name, sleeper in self.sleepers.items() if sleeper.poll() is not None]


def _describe(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    is_file = stat.S_ISREG(status.st_mode)
    content = path.read_bytes().decode() if is_file else ""
    attributes = os.listxattr(path) if is_file else []
    return (status.st_mode, status.st_uid, status.st_ino, status.st_nlink, status.st_mtime_ns, content, attributes)


async def attack(level: str, world: World, known: dict[str, Any]) -> dict[str, Any]:
    """Run the attacks at a level, and say what has changed afterwards."""
    containment = Containment(protected=(known["protected"],))
    program = str(world.folder.parent.parent / "attacks.py")
    before = world.list_files()
    own = world.folder / "own"
    own.mkdir()
    environment = {b"PATH": os.environb[b"PATH"], b"HOME": os.fsencode(known["home"]), b"TMPDIR": os.fsencode(own)}
    spec = ProcessSpec(
        program=PYTHON, argv=(PYTHON, "-I", program, json.dumps(known)), env=environment, cwd=known["project"]
    )
    layers: tuple[str, ...] = ()
    if level != NONE:
        cell = containment.acquire(CellKey(LEVELS[level], known["project"], known["home"]))
        spec, layers = spec.put_into(cell), cell.layers
    result = await run(spec, stdin=b"", timeout=100)
    if spec.cell is not None:
        spec.cell.release()
    containment.close()
    after = world.list_files()
    return {
        "layers": layers,
        "results": json.loads(result.stdout or b"{}"),
        "stderr": result.stderr.decode(),
        "changed": sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)),
        "signals": len(world.signals),
        "visits": world.count_visits(),
        "ended": world.list_ended(),
    }


def main() -> None:
    """Run the attacks at the levels that are named, as the user that is named."""
    folder, user, *levels = sys.argv[1:]
    os.setsid()
    native.load()
    made = prepare_as_root(Path(folder))
    (Path(folder) / "worlds").mkdir(exist_ok=True)
    if os.getuid() != int(user):
        os.chown(Path(folder) / "worlds", int(user), int(user))
        os.setgroups([])
        os.setresgid(int(user), int(user), int(user))
        os.setresuid(int(user), int(user), int(user))
        LIBC.prctl(4, 1, 0, 0, 0)  # it may be looked at by its user, as any other program of his
    _leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
    made["terminal"] = os.ttyname(follower)
    found = {}
    for level in levels:
        with ExitStack() as stack:
            world = World(Path(folder) / "worlds" / level, stack)
            known = {
                **made,
                **world.make(),
                "names": [name for name, row in ATTACKS.items() if level != NONE or row.control != NOBODY],
            }
            if made["second_mount"]:
                known["second_mount"] = f"{made['second_mount']}/{level}/home"
            found[level] = asyncio.run(attack(level, world, known))
    print(json.dumps(found), flush=True)  # noqa: T201 - it is a program


if __name__ == "__main__":
    main()
