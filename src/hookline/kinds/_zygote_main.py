"""The program of a zygote: an interpreter that is ready, and makes a child for each call ahead of it.

Started as `python [switches] _zygote_main.py SOCKET NOISE`, two descriptors: a socket to the engine, and the end of the
pipe that it prints into. It does one thing after another, as it is told, and ends when the engine does.
"""
# it runs in whatever interpreter a hook names, and is told what to do by the engine alone
# ruff: noqa: PTH109, PTH118, PTH120, PTH123, PTH208, S302, SLF001

from __future__ import annotations

import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    # our own folder: nothing may be found there
    del sys.path[0]

import _signal as signal  # type: ignore[import-not-found]
import gc
import marshal
import os
import time
from os import environ

if __name__ == "__main__":
    # without the engine around it, and under no name that a script could find
    _loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    _name = "hookline.kinds._zygote_child"
    _path = os.path.join(os.path.dirname(__file__), "_zygote_child.py")
    sys.modules[_name] = type(sys)(_name)
    sys.modules[_name].__file__ = _path
    exec(_loader(_name, _path).get_code(_name), sys.modules[_name].__dict__)  # noqa: S102 - a file of ours
    sys.modules["hookline"] = sys.modules["hookline.kinds"] = type(sys)("hookline")

from hookline.kinds._zygote_child import CHANNEL, Ready, is_library, mark_of, state_of, wait_and_run

LARGEST = 1 << 17
"""What a message may hold at most."""

# They do something as soon as they are imported.
_NEVER = frozenset({"this", "antigravity", "__mp_main__", "__phello__"})
_ALARM = 20
_TOUCHED = 60
# of the clock that files are stamped with
_TICK = 20_000_000


class _Watched(dict):  # type: ignore[type-arg]
    """The variables, while libraries are imported: notes which of them were looked at."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        super().__init__(values)
        self.read: set[bytes] = set()
        self.all_read = False

    def __getitem__(self, name: bytes) -> bytes:
        self.read.add(name)
        value: bytes = super().__getitem__(name)
        return value

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        self.all_read = True
        return super().__iter__()


class Zygote:
    """Makes children, says how they ended, and imports what they will need."""

    def __init__(self, ready: Ready, channel: int, noise: int) -> None:
        self._ready = ready
        self._noise = noise
        self._children: set[int] = set()
        self._banned: set[str] = set(_NEVER)
        self._environment = dict(environ._data)  # type: ignore[attr-defined]
        import _socket  # noqa: PLC0415 - socket itself would cost a quarter of a start

        self._channel = _socket.socket(fileno=channel)

    def is_suitable(self) -> bool:
        """Say whether children of this interpreter would be what a start of it is."""
        if sys.version_info < (3, 9) or self._printed() or not _is_alone():
            return False
        self._note_states()
        return True

    def serve(self) -> bytes | None:
        """Do what the engine says until it is gone; in a child that is to wait for its request, a sample of one."""
        ours = os.getpid()
        try:
            return self._obey()
        finally:
            # whatever ends us: nobody else knows of them
            if os.getpid() == ours:
                self._kill_all()

    def _obey(self) -> bytes | None:
        while True:
            message, descriptors = self._receive()
            if not message:
                return None
            word, *rest = marshal.loads(message)
            if word == "fork":
                if self._fork(descriptors):
                    return bytes(rest[0])
            elif word == "reap":
                self._reap(*rest)
            elif word == "status":
                self._tell_status(*rest)
            else:
                self._learn(*rest)

    def _kill_all(self) -> None:
        for pid in self._children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                continue

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            message, extra, _flags, _address = self._channel.recvmsg(LARGEST, 256)
        except ConnectionResetError:  # the engine went without having read what we said last
            return b"", []
        descriptors = [
            int.from_bytes(data[place : place + 4], sys.byteorder)
            for _level, _kind, data in extra
            for place in range(0, len(data), 4)
        ]
        return message, descriptors

    def _send(self, message: bytes) -> None:
        try:
            self._channel.send(message)
        except OSError:  # then there is nothing to read either
            return

    def _fork(self, descriptors: list[int]) -> bool:
        """Make a child with these as its channel, stdin, stdout and stderr."""
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if not pid:
            ours = (self._channel.detach(), self._noise)
            os.setpgid(0, 0)
            for target, descriptor in zip((0, 1, 2), descriptors[1:]):  # noqa: B905 - strict is of Python 3.10
                os.dup2(descriptor, target)
            os.dup2(descriptors[0], CHANNEL, False)  # noqa: FBT003 - inheritable
            for descriptor in (*ours, *descriptors):
                os.close(descriptor)
            return True
        if pid > 0:
            self._children.add(pid)
            _lead(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        self._send(b"forked %d" % pid)
        return False

    def _reap(self, pid: int) -> None:
        """Let a child go that has ended, or has nothing more to do; one that goes on all the same is not waited for."""
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._children.discard(pid)

    def _tell_status(self, pid: int) -> None:
        """Say how a child ended; it is not reaped, because its number is still that of a group to be signalled."""
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if found is not None:
            code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            self._send(b"status %d %d" % (pid, code))

    def _learn(self, names: tuple[str, ...], path: str, mark: str, text: bytes | None) -> None:
        """Import what is sure to change nothing else for a script, and compile it, if it is still what it was."""
        if not self._compile(path, mark, text):
            self._send(b"learned ")
            return
        began = time.time_ns() - _TICK
        wanted = [name for name in names if name not in sys.modules]
        for _ in range(len(wanted) + 1):
            wanted = [name for name in wanted if not self._is_banned(name)]
            culprit = self._tried(wanted)
            if not culprit:
                break
            self._banned.add(culprit)
        watched = self._import(wanted, lambda _name: None)
        if watched is None or not _is_alone() or self._printed():
            os._exit(1)
        self._ready.has_libraries = self._ready.has_libraries or bool(wanted)
        if self._note_states() > began:
            os._exit(1)  # it may have been imported before it was changed, or after
        # more than these few thousand functions would take longer to touch than they save
        self._ready.lesson = tuple(name for name in sys.modules if name not in self._ready.own)[:_TOUCHED]
        # whatever there is now stays: the collector of a child need not look at it, which would copy it
        gc.collect()
        gc.freeze()
        self._send(b"learned " + b"\0".join(watched.read))

    def _printed(self) -> bool:
        """Say whether anything was written to stdout or stderr, which each script has to write itself."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        is_found = False
        try:
            while os.read(self._noise, 65536):
                is_found = True
        except BlockingIOError:
            return is_found
        return is_found

    def _is_banned(self, name: str) -> bool:
        return name in self._banned or name.partition(".")[0] in self._banned

    def _tried(self, names: list[str]) -> str:
        """Import them in a child first; gives the name of one that had better be imported by each script itself."""
        if not names:
            return ""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            signal.alarm(_ALARM)
            before = _surroundings()

            def check() -> None:
                if self._printed() or _surroundings() != before:
                    os._exit(1)

            def announce(name: str) -> None:
                check()
                os.write(writing, name.encode("utf-8", "replace") + b"\n")

            watched = self._import(names, announce)
            check()
            os._exit(1 if watched is None or watched.all_read else 0)
        os.close(writing)
        text = b""
        while part := os.read(reading, 65536):
            text += part
        os.close(reading)
        self._printed()  # what the child said is not of interest
        if not os.waitpid(pid, 0)[1]:
            return ""
        announced = text.decode().split("\n")[:-1]
        return announced[-1].partition(".")[0] if announced else names[0]

    def _import(self, names: list[str], announce) -> _Watched | None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Import modules one by one; None when one of them cannot be, or had a look at all variables."""
        kept = environ._data  # type: ignore[attr-defined]
        watched = _Watched(kept)
        environ._data = os.environb._data = watched  # type: ignore[attr-defined]
        try:
            for name in names:
                announce(name)
                __import__(name)
                if watched.all_read or dict.__ne__(watched, self._environment):
                    return None
        except BaseException:  # noqa: BLE001 - whatever a library does
            return None
        finally:
            environ._data = os.environb._data = kept  # type: ignore[attr-defined]
        return watched

    def _compile(self, path: str, mark: str, text: bytes | None) -> bool:
        """Keep a script's code, unless its compiler has something to say, which each run has to say itself."""
        import warnings  # noqa: PLC0415 - not before there is a script

        try:
            if text is None:
                with open(path, "rb") as file:
                    text = file.read()
            if mark_of(text) != mark:
                return False
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                code = compile(text, path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, Warning, RecursionError, MemoryError):
            return False
        self._ready.scripts[path] = (text, code)
        return True

    def _note_states(self) -> int:
        """Note everything that would lead a start from nothing to other libraries; gives when the last file changed.

        What was noted before stays: it is what this process has started with.
        """
        ready = self._ready
        # the standard library changes as a whole, with its folder; what was installed, file by file
        standard = os.path.dirname(os.__file__) + os.sep
        states = {path: state_of(path) for path in (standard, *sys.path) if not path.startswith(standard[:-1])}
        states |= {path: state_of(path) for path in sys.path if "/site-packages" in path}
        user = getattr(sys.modules.get("site"), "USER_SITE", None)
        for path in (standard, os.path.join(sys.prefix, "pyvenv.cfg"), *([user] if user else ())):
            states[path] = state_of(path)
        latest = 0
        for name, module in tuple(sys.modules.items()):
            origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
            if name not in ready.own and is_library(origin) and not _is_standard(origin, standard):
                state = states[origin] = state_of(origin)
                latest = max(latest, state[2] if state is not None and state[2] <= time.time_ns() else 0)
        ready.states = states | ready.states
        ready.imported = frozenset(name.partition(".")[0] for name in sys.modules if name not in ready.own)
        return latest


def _is_standard(path: str, standard: str) -> bool:
    return path.startswith(standard) and "/site-packages/" not in path


def _surroundings() -> object:
    """Give what a library could change besides itself."""
    handlers = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    streams = [sys.stdin, sys.stdout, sys.stderr, *sys.path]
    return handlers, streams, os.getcwd(), sorted(os.listdir("/proc/self/fd")), _is_alone()


def _is_alone() -> bool:
    """Say whether there is one thread: others would be missing in every child."""
    return len(os.listdir("/proc/self/task")) == 1


def _lead(pid: int) -> None:
    """Make a child the first of a group; it does so itself, but maybe too late for whoever signals the group."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        return


def _lifted(descriptor: int) -> int:
    """Move a descriptor to the lowest number there is, out of the way of those that children get."""
    lowest = os.dup(descriptor)
    os.close(descriptor)
    return lowest


def main() -> None:
    """Serve the engine, or, in a child, run a script."""
    # as a program is started that nobody started with signals ignored or blocked
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    channel, noise = (_lifted(int(word)) for word in sys.argv[1:3])
    os.set_blocking(noise, False)
    ready = Ready()
    zygote = Zygote(ready, channel, noise)
    sample = zygote.serve() if zygote.is_suitable() else None
    del zygote
    if sample is not None:
        wait_and_run(ready, sample)


if __name__ == "__main__":
    for _name in ("hookline.kinds._zygote_child", "hookline.kinds", "hookline"):
        del sys.modules[_name]
    main()
