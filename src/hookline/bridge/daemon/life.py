"""The life of a daemon: it comes when it is called for, and goes when nobody needs it, or something better is installed."""

import asyncio
import fcntl
import gc
import logging
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Final

import msgspec

from hookline.bridge import complaints
from hookline.bridge.daemon.code import Code
from hookline.bridge.daemon.http import Front
from hookline.bridge.daemon.place import Place
from hookline.bridge.daemon.projects import KeptProjects
from hookline.bridge.daemon.server import Desk
from hookline.bridge.daemon.waking import IDLE
from hookline.errors import StoreError
from hookline.model.exchange import Answer
from hookline.version import __version__

logger: Final = logging.getLogger(__name__)

_TIDY: Final = 30.0  # seconds between two looks at what could be closed
_LAST_CALLS: Final = 600.0  # seconds that running calls have to end
_LARGEST_LOG: Final = 1024 * 1024  # bytes
_BACKLOG: Final = 512
RESTART: Final = "another version of hookline is installed"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a daemon is."""

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


class Daemon:
    """One daemon, from its first call to its last."""

    def __init__(self, place: Place, *, idle: float = IDLE, umask: int = 0o022) -> None:
        self._place = place
        self._idle = idle
        self._started = time.time()
        self._last = time.monotonic()
        self._code = Code()
        self._projects = KeptProjects()
        self._desk = Desk(self._projects, control=self._controlled, declines=self._objection)
        self._front = Front(self._desk, used=self._objection, umask=umask)
        self._looking: asyncio.Task[None] | None = None
        self._leaving = ""
        self._over = asyncio.Event()

    async def live(self) -> str:
        """Answer calls until there is a reason not to, and give the reason."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, f"ended by {signal.Signals(number).name}")
        listening = _listening(self._place)
        # not before: one that cannot listen is not tried again at each call
        self._place.starting.unlink(missing_ok=True)
        loop.add_reader(listening, self._desk.accept, listening)
        identity = _identity(self._place)
        logger.info("listening at %s", self._place.socket)
        await self._front.look()
        # what is there from the start is there until the end, and need not be looked at again and again
        gc.collect()
        gc.freeze()
        try:
            await self._watch()
        finally:
            # first nobody new comes; whoever is in the middle of it gets an answer
            _forget(self._place, identity)
            loop.remove_reader(listening)
            listening.close()
            if self._desk.running:
                await asyncio.wait(self._desk.running, timeout=_LAST_CALLS)
            # who calls a URL has nobody else to turn to, and is let in until the last moment
            self._front.close(hand_on=self._leaving == RESTART)
            if self._desk.running:
                await asyncio.wait(self._desk.running, timeout=_LAST_CALLS)
            await self._projects.close()
            self._code.close()
        logger.info("leaving: %s; answered %d calls", self._leaving, self._desk.answered)
        return self._leaving

    def _leave(self, reason: str) -> None:
        self._leaving = self._leaving or reason
        self._front.is_leaving = True
        self._over.set()

    async def _watch(self) -> None:
        while not self._leaving:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_TIDY, self._idle)):
                    await self._over.wait()
            self._projects.tidy()
            _trim(self._place)
            if self._code.look_again():
                self._leave(RESTART)
            await self._front.look()
            is_idle = time.monotonic() - self._last >= self._idle and not self._desk.running
            # where agents call a URL, nobody could start us again
            if is_idle and not self._front.is_open:
                self._leave("nobody has called for a while")
            elif not _identity(self._place):
                self._leave("somebody removed the socket")

    def _objection(self) -> str:
        """Say why a call is not answered; a call that is answered keeps us here."""
        self._last = time.monotonic()
        if not self._leaving and self._code.has_changed():
            self._leave(RESTART)
        return f"this daemon is leaving: {self._leaving}" if self._leaving else ""

    def _controlled(self, words: tuple[str, ...]) -> Answer | None:
        """Do what `hookline daemon` asks for."""
        match words:
            case ("daemon", "status"):
                return Answer(stdout=msgspec.json.encode(self.standing()))
            case ("daemon", "look"):
                self._looking = asyncio.get_running_loop().create_task(self._front.look())
                return Answer(stdout=msgspec.json.encode(self.standing()))
            case ("daemon", "stop"):
                asyncio.get_running_loop().call_soon(self._leave, "asked to stop")
                return Answer(stdout=msgspec.json.encode(self.standing()))
            case _:
                return None

    def standing(self) -> Standing:
        """Say how we are."""
        return Standing(
            pid=os.getpid(),
            version=__version__,
            python=sys.executable,
            started=self._started,
            answered=self._desk.answered,
            declined=self._desk.declined,
            under_way=len(self._desk.running),
            projects=self._projects.count,
            memory=_memory(),
            socket=str(self._place.socket),
            http=self._front.url,
        )


def run(place: Place, *, idle: float = IDLE) -> int:
    """Be the daemon of this person, unless there is one.

    Raises:
        StoreError: There is no place to be it.
    """
    place.made()
    try:
        lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise StoreError(f"{place.lock}: {problem.strerror}: the daemon cannot be there") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0
    # nothing of ours is found by a relative name, nothing of ours is for others, and hooks get what their callers had
    os.chdir("/")
    umask = os.umask(0o077)
    # what whoever started us ignores or holds back, hooks would, too, or need a shell in between that does not
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    _log()
    _trim(place)
    reason = asyncio.run(Daemon(place, idle=idle, umask=umask).live())
    os.close(lock)
    if reason == RESTART:
        # whoever we become takes what it finds for the person's
        os.umask(umask)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same program, as it is now
    return 0


def _listening(place: Place) -> socket.socket:
    """Listen under another name first: whoever finds the socket finds somebody who listens."""
    # no longer than the name itself, which is as long as it may be; nobody else is at it, as we hold the lock
    beside = place.folder / f"{place.name}.new"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            beside.unlink()
        listening.bind(str(beside))
        beside.chmod(0o600)
        listening.listen(_BACKLOG)
        listening.settimeout(0)
        beside.replace(place.socket)
    except BaseException:
        listening.close()
        raise
    return listening


def _forget(place: Place, identity: int) -> None:
    """Take the socket away, if it is ours."""
    if _identity(place) == identity:
        place.socket.unlink(missing_ok=True)


def _identity(place: Place) -> int:
    """Tell one socket from the next at the same place; 0 where there is none."""
    try:
        return place.socket.stat().st_ino
    except OSError:
        return 0


def _log() -> None:
    complaints.take_all()
    root = logging.getLogger()
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    logging.getLogger("hookline.bridge.daemon").setLevel(logging.INFO)


def _trim(place: Place) -> None:
    """Begin the log anew where it is long; a file that somebody else has us write to is not ours to cut."""
    with suppress(OSError):
        found = os.fstat(2)
        if found.st_size > _LARGEST_LOG and os.path.samestat(found, place.log.stat()):
            os.ftruncate(2, 0)


def _memory() -> int:
    """Give the bytes of memory that are ours alone and in use."""
    try:
        with open("/proc/self/statm", "rb") as opened:  # noqa: PTH123 - beside the numbers
            resident, shared = opened.read().split()[1:3]
    except OSError:
        import resource  # noqa: PLC0415 - where there is no such file

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
