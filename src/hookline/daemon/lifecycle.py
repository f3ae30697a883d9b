"""The daemon's lifecycle: serve until it is idle, stopped, or replaced by another installed version."""

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from hookline.bridge.daemon_socket import IDLE, Claim, SocketDir
from hookline.bridge.guarded_paths import list_guarded_paths
from hookline.bridge.notices import install_warning_log
from hookline.daemon.http_server import HttpFront
from hookline.daemon.socket_server import CallDispatcher, listen
from hookline.model.exchange import Answer
from hookline.project import Project
from hookline.project_cache import ProjectCache
from hookline.version import __version__

logger: Final = logging.getLogger(__name__)

_MAINTENANCE: Final = 30.0  # seconds between two looks at what could be closed
_LAST_CALLS: Final = 600.0  # seconds that running calls have to end
_LARGEST_LOG: Final = 1024 * 1024  # bytes
_SPARE_FILES: Final = 64  # descriptors that running calls may still need
RESTART: Final = "another version of hookline is installed"

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_COMPILED: Final = "__pycache__"

# inotify events: modified, attributes, moved from or to, created, deleted, and the folder itself deleted or moved
_WATCHED: Final = 0x002 | 0x004 | 0x040 | 0x080 | 0x100 | 0x200 | 0x400 | 0x800
_EVENTS: Final = 65_536

FileStates = tuple[tuple[str, int, int], ...]


class CodeWatch:
    """The files of the package and its interpreter, as they were when the daemon started: another version may be installed."""

    def __init__(self, package: Path = _PACKAGE) -> None:
        self._root = str(package)
        self._python = _read_state(sys.executable)
        # before the files are read, so that a change in between is not missed
        self._watch = _start_watch(self._root)
        self._states = self._read_states()
        self._changed = False

    def has_changed(self) -> bool:
        """Return whether another version was installed; asked before every answer, so usually one read and one stat."""
        if not self._changed:
            is_touched = self._watch < 0 or _read_events(self._watch)
            is_replaced = _read_state(sys.executable) != self._python
            self._changed = is_replaced or (is_touched and self._read_states() != self._states)
        return self._changed

    def look_again(self) -> bool:
        """Read all files again, for network file systems, of which inotify reports nothing."""
        self._changed = self._changed or self._read_states() != self._states
        return self._changed

    def close(self) -> None:
        """Stop watching."""
        if self._watch >= 0:
            os.close(self._watch)
            self._watch = -1

    def _read_states(self) -> FileStates:
        states: list[tuple[str, int, int]] = []
        for folder in _list_folders(self._root):
            with suppress(OSError), os.scandir(folder) as entries:
                states += [_read_state(entry.path) for entry in entries if entry.name.endswith(".py")]
        return tuple(sorted(states))


def _list_folders(root: str) -> list[str]:
    """List the folders of the package, without those of compiled files."""
    folders = [root]
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            inner = [entry for entry in entries if entry.name != _COMPILED and entry.is_dir(follow_symlinks=False)]
            folders += [entry.path for entry in inner]
    return folders


def _read_state(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - before every answer
    except OSError:
        return path, 0, 0
    # installers set the modification time as they like, but cannot set the change time
    return path, found.st_ctime_ns, found.st_size


def _start_watch(root: str) -> int:
    """Return an inotify descriptor for the folders of the package; -1 where there is none, and all files are read.

    Reading every file would cost more than the answer, and reading them now and then would let the old version answer for a while.
    """
    if sys.platform != "linux":
        return -1
    import ctypes  # noqa: PLC0415 - Python has no module for it

    try:
        system = ctypes.CDLL(None, use_errno=True)
        handle = int(system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if handle < 0:
            return -1
        for folder in _list_folders(root):
            if system.inotify_add_watch(handle, os.fsencode(folder), _WATCHED) < 0:
                os.close(handle)
                return -1
    except (AttributeError, OSError):
        return -1
    return handle


def _read_events(watch: int) -> bool:
    """Return whether events arrived that may be about a module."""
    is_touched = False
    while True:
        try:
            raw = os.read(watch, _EVENTS)
        except BlockingIOError:
            return is_touched
        at = 0
        while at < len(raw):
            _, _, _, size = struct.unpack_from("iIII", raw, at)
            name = raw[at + 16 : at + 16 + size].rstrip(b"\0")
            # Python creates these beside the modules that it compiles
            is_touched = is_touched or name != _COMPILED.encode()
            at += 16 + size


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `hookline daemon status`."""

    pid: int
    version: str
    python: str
    started: float
    answered: int
    declined: int
    under_way: int
    projects: int
    memory: int
    socket: str
    http: str = ""


class _AutoProjects:
    """Open projects for the launchers of a daemon that was started automatically, and report settings that want none."""

    def __init__(self, projects: ProjectCache, on_unwanted: Callable[[], None]) -> None:
        self._projects = projects
        self._on_unwanted = on_unwanted
        self.release = projects.release

    def open(self, root: Path) -> Project:
        project = self._projects.open(root)
        if not project.settings.daemon:
            self._on_unwanted()
        return project


class Daemon:
    """One daemon, from its first call to its last."""

    def __init__(self, place: SocketDir, *, idle: float = IDLE, umask: int = 0o022, auto: bool = False) -> None:
        self._place = place
        self._idle = idle
        self._auto = auto
        self._started = time.time()
        self._last = time.monotonic()
        self._code = CodeWatch()
        self._projects = ProjectCache(serves_callers=True, guarded=list_guarded_paths)
        self._dispatcher = CallDispatcher(
            self._projects,
            control=self._control,
            find_reason=self._find_reason,
            # a daemon that the user started by hand stays, whatever the settings say
            launcher_projects=_AutoProjects(self._projects, self._on_unwanted) if auto else None,
        )
        self._front = HttpFront(self._dispatcher, used=self._find_reason, umask=umask)
        self._looking: asyncio.Task[None] | None = None
        self._reason = ""
        self._stopped = asyncio.Event()

    async def run(self, listening: socket.socket) -> str:
        """Answer calls until there is a reason to stop, and return the reason."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop, f"ended by {signal.Signals(number).name}")
        # not before: a daemon that cannot listen is not started again at each call
        self._place.starting.unlink(missing_ok=True)
        # a call that came while we were loaded may have found us silent
        self._place.hung.unlink(missing_ok=True)
        listen(listening, self._dispatcher)
        identity = _read_inode(self._place)
        logger.info("listening at %s", self._place.socket)
        self._check_choice()
        await self._front.look()
        # the objects of start-up stay until the end: the collector need not visit them again
        gc.collect()
        gc.freeze()
        try:
            await self._maintain()
        finally:
            # first no new connection is taken; running calls get an answer
            if _read_inode(self._place) == identity:
                self._place.socket.unlink(missing_ok=True)
            loop.remove_reader(listening)
            listening.close()
            await self._wait_for_calls()
            # callers of a URL have no fallback, and are let in until the last moment
            self._front.close(hand_on=self._reason == RESTART)
            await self._wait_for_calls()
            await self._projects.close()
            self._code.close()
        logger.info("leaving: %s; answered %d calls", self._reason, self._dispatcher.answered)
        return self._reason

    async def _wait_for_calls(self) -> None:
        if self._dispatcher.running:
            await asyncio.wait(self._dispatcher.running, timeout=_LAST_CALLS)

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._front.is_leaving = True
        self._stopped.set()

    def _on_unwanted(self) -> None:
        """Stop, and have the launcher start no other daemon: the user's settings want none."""
        with suppress(OSError):
            self._place.off.touch(mode=0o600)
        self._stop("the settings want no daemon")

    def _check_choice(self) -> None:
        """Stop where an earlier call found that the settings want no daemon."""
        if self._auto and self._place.off.exists():
            self._stop("the settings want no daemon")

    async def _maintain(self) -> None:
        while not self._reason:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_MAINTENANCE, self._idle)):
                    await self._stopped.wait()
            self._projects.tidy()
            _trim_log(self._place)
            self._check_choice()
            # a call that found us silent keeps others away, and we answer again
            self._place.hung.unlink(missing_ok=True)
            if self._code.look_again():
                self._stop(RESTART)
            await self._front.look()
            is_idle = time.monotonic() - self._last >= self._idle and not self._dispatcher.running
            # agents that call a URL could not start us again
            if is_idle and not self._front.is_open:
                self._stop("there was no call for a while")
            elif not _read_inode(self._place):
                self._stop("the socket was removed")

    def _find_reason(self) -> str:
        """Return why a call is declined, empty when it is not; every call restarts the idle time."""
        self._last = time.monotonic()
        if not self._reason and self._code.has_changed():
            self._stop(RESTART)
        if self._reason:
            return f"this daemon is leaving: {self._reason}"
        return "this daemon has too many files open" if _is_short_of_files() else ""

    def _control(self, words: tuple[str, ...]) -> Answer | None:
        """Answer a request of `hookline daemon`; None for every other request."""
        loop = asyncio.get_running_loop()
        match words:
            case ("daemon", "status"):
                pass
            case ("daemon", "look"):
                self._looking = loop.create_task(self._front.look())
            case ("daemon", "stop"):
                loop.call_soon(self._stop, "asked to stop")
            case _:
                return None
        status = DaemonStatus(
            pid=os.getpid(),
            version=__version__,
            python=sys.executable,
            started=self._started,
            answered=self._dispatcher.answered,
            declined=self._dispatcher.declined,
            under_way=len(self._dispatcher.running),
            projects=self._projects.count,
            memory=_read_memory(),
            socket=str(self._place.socket),
            http=self._front.url,
        )
        return Answer(stdout=msgspec.json.encode(status))


def run(place: SocketDir, claim: Claim, *, idle: float = IDLE, auto: bool = False) -> int:
    """Run the daemon of this user. With `auto`, stop where the user's settings want none."""
    # no path of ours is relative, no file of ours is for others, and hooks get the folder and umask of their callers
    os.chdir("/")
    umask = os.umask(0o077)
    # hooks would inherit signals that the starting process ignores or blocks
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    install_warning_log()
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("hookline.daemon").setLevel(logging.INFO)
    _trim_log(place)
    reason = asyncio.run(Daemon(place, idle=idle, umask=umask, auto=auto).run(claim.listening))
    claim.release()
    if reason == RESTART:
        # the new program takes the umask it finds for the user's
        os.umask(umask)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same program, as it is now
    return 0


def _is_short_of_files() -> bool:
    """Return whether too few descriptors may be left for a hook; the system gives out the lowest free number."""
    try:
        number = os.dup(0)
    except OSError:
        return True
    os.close(number)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most != resource.RLIM_INFINITY and number >= most - min(_SPARE_FILES, most // 4)


def _read_inode(place: SocketDir) -> int:
    """Return the inode of the socket, which tells it from the next one at the same path; 0 where there is none."""
    try:
        return place.socket.stat().st_ino
    except OSError:
        return 0


def _trim_log(place: SocketDir) -> None:
    """Truncate a long log; stderr may be a file of the user instead, which is left alone."""
    with suppress(OSError):
        found = os.fstat(2)
        if found.st_size > _LARGEST_LOG and os.path.samestat(found, place.log.stat()):
            os.ftruncate(2, 0)


def _read_memory() -> int:
    """Return the private memory in use, in bytes."""
    try:
        with open("/proc/self/statm", "rb") as opened:  # noqa: PTH123 - two numbers of a text
            resident, shared = opened.read().split()[1:3]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
