"""Run Python scripts of `warm` hooks in children of a forkserver: an interpreter that has started already.

A call that is not exactly one Python script, or that meets a problem before the script has begun, is left to a cold
start, which is always correct. From its second call on, a script has a forkserver of its own, because a module that one
script imports must not be found by another. A child reports which libraries its script imported; the next forkserver
imports them ahead, and is replaced when one of their files has changed.
"""
# runs at each call, where pathlib costs many times more
# ruff: noqa: PTH118, PTH120, PTH123, PTH208, S302

import asyncio
import logging
import marshal
import os
import shlex
import signal
import socket
import sys
import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from hookline.model.hook import Hook
from hookline.model.sandbox import Sandbox
from hookline.model.workspace_paths import find_program, real_path
from hookline.process import forkserver_main, linux, native
from hookline.process.bootstrap import DESCRIPTOR, INTERPRETERS, PYTHON_BOOTSTRAP, parse_shebang, program_stem
from hookline.process.containment import Cell, CellKey, Containment
from hookline.process.environment import add_variables
from hookline.process.forkserver_main import CHANGED, CHANNEL, COLD, MAX_MESSAGE, stat_file
from hookline.process.result import GRACE_SECONDS, ProcessResult
from hookline.process.spec import ProcessSpec

logger: Final = logging.getLogger(__name__)

SUPPORTED: Final = sys.platform == "linux" and linux.is_supported()
"""Whether this system has pidfds and fork."""

# switches that leave the start of a script as it is; -c, -m, -i, -x and the like do not
_SWITCHES: Final = frozenset("BbEIOPqRsSu")
_EXTENSIONS: Final = frozenset({"utf8", "dev", "faulthandler", "int_max_str_digits", "no_debug_ranges"})

# variables that Python, its C library, and files in site-packages read when an interpreter starts
_START_PREFIXES: Final = (
    b"PYTHON",
    b"LC_",
    b"LD_",
    b"MALLOC_",
    b"OPENSSL_",
    b"SSL_",
    b"GLIBC_",
    b"COV",
    b"SETUPTOOLS_",
)
_START_NAMES: Final = frozenset({b"PATH", b"HOME", b"LANG", b"LANGUAGE", b"TZ", b"TZDIR", b"VIRTUAL_ENV"})

# Compiled by a line instead of being the file that the interpreter runs: that keeps the syntax tree of its file until it
# ends, and taking it apart would copy its memory in each child, which takes longer than most hooks.
_RUN_SERVER: Final = """
import sys
__file__ = sys.argv.pop(1)
with open(__file__, "rb") as file:
    code = compile(file.read(), __file__, "exec")
del file
exec(code)
"""

_ELF: Final = b"\x7fELF"
_SHELL_CHARACTERS: Final = frozenset(";&|`()<>")
_SHEBANG_SIZE: Final = 512

_MAX_SERVERS: Final = 16
_MAX_SCRIPTS: Final = 128
_MAX_FORKS: Final = 500
_MAX_FAILURES: Final = 3
_MAX_HARMFUL: Final = 16
_IDLE_SECONDS: Final = 600.0
_START_SECONDS: Final = 20.0
# a fork takes a few milliseconds, a cold start some thirty
_FORK_SECONDS: Final = 0.25
# a directory that changed less than this ago may change again without a new time
_SETTLED_NANOSECONDS: Final = 2_000_000_000


class PythonCommand(Struct, frozen=True):
    """A command that runs one Python script.

    `command` starts its interpreter, `words` are the script and its arguments, `text` its bytes where they were approved.
    """

    program: str
    command: tuple[str, ...]
    words: tuple[str, ...]
    text: bytes | None = None


def parse_python_command(program: str, argv: Sequence[str]) -> PythonCommand | None:
    """Parse a Python command; None if it is none, or not one that runs a script."""
    if program_stem(argv[0]) != "python" or program_stem(program) != "python":
        return None
    index = 1
    while index < len(argv) and len(argv[index]) > 1 and argv[index][0] == "-":
        word = argv[index]
        if word == "-c":
            return _parse_bootstrap(program, argv, index)
        if word in {"-W", "-X"}:
            index += 1
            word = "".join(argv[index - 1 : index + 1])
        if word.startswith("-X"):
            if word[2:].partition("=")[0] not in _EXTENSIONS:
                return None
        elif not word.startswith("-W") and not _SWITCHES.issuperset(word[1:]):
            return None
        index += 1
    if index >= len(argv) or argv[index] == "-":
        return None
    return PythonCommand(program, tuple(argv[:index]), tuple(argv[index:]))


def _parse_bootstrap(program: str, argv: Sequence[str], index: int) -> PythonCommand | None:
    """Parse a command that runs approved bytes from a descriptor."""
    if argv[index + 1] != PYTHON_BOOTSTRAP or not argv[index + 2].startswith(DESCRIPTOR):
        return None
    text = os.pread(int(argv[index + 2][len(DESCRIPTOR) :]), MAX_MESSAGE, 0)
    if len(text) == MAX_MESSAGE:
        return None
    return PythonCommand(program, tuple(argv[:index]), tuple(argv[index + 3 :]), text)


def can_run_warm(hook: Hook) -> bool:
    """Return whether a command looks like one Python script, or like one file that may have a `#!` line."""
    try:
        words = [*shlex.split(hook.command), *hook.args]
    except ValueError:
        return False
    if not words or _SHELL_CHARACTERS.intersection("".join(words)):
        return False
    is_file = program_stem(words[0]) not in INTERPRETERS and "/" in words[0]
    return is_file or parse_python_command(words[0], words) is not None


def _find_python_command(spec: ProcessSpec) -> PythonCommand | None:
    """Return the script that a spec runs; one with a `#!` line as the system would start it."""
    if spec.script or spec.fd3_data or len(spec.pass_fds) > 1 or not spec.argv or not spec.working_dir:
        return None
    if spec.cell is not None and (spec.cell.wrapper or 0 < spec.cell.key.sandbox.open_files <= CHANNEL):
        return None
    if program_stem(spec.program) == "python":
        return parse_python_command(spec.program, spec.argv)
    file = os.path.join(spec.working_dir, spec.program)
    try:
        with open(file, "rb", buffering=0) as opened:
            text = opened.read(_SHEBANG_SIZE)
    except OSError:
        return None
    line = parse_shebang(text)
    if not line or program_stem(line[0]) != "python" or not os.access(file, os.X_OK):
        return None
    if not text[2:].lstrip(b" \t").startswith(b"/"):
        return None  # the system looks for it in the working directory
    # `env` searches the PATH at each start
    program = line[0] if "/" in line[0] else find_program(line[0], spec.path)
    return parse_python_command(program, (*line, spec.program, *spec.argv[1:])) if program else None


class _Forkserver:
    """One forkserver process. Belongs to one event loop.

    `variables` and `files` are those that decided what it has imported, and `roots` the top-level names of that. `cell` contains it
    and all its children: it imports what hooks import.
    """

    def __init__(
        self,
        command: PythonCommand,
        *,
        env: Mapping[bytes, bytes],
        cwd: str,
        preload: Sequence[str],
        digest: bytes,
        cell: Cell | None = None,
    ) -> None:
        """Start it; the cell is given back when it has ended.

        Raises:
            OSError: It cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._cell = cell
        self._env = env = self.complete_env(env)
        self._forks: deque[asyncio.Future[int]] = deque()
        self._reaped: dict[int, Callable[[int | None], None]] = {}
        self._received = bytearray(MAX_MESSAGE * 4)
        self._fork_count = 0
        self._running = 0
        # forked ahead, between two calls: a fork takes as long as a short script
        self._spare: _WaitingChild | None = None
        self._checked_folders: dict[str, tuple[int, ...]] = {}
        self.variables: dict[bytes, bytes | None] = {}
        self.files: dict[str, tuple[int, ...] | None] = {}
        self.roots: frozenset[str] = frozenset()
        self.harmful = ""
        self.is_ready = False
        self.is_retired = False
        self.has_failed = False
        self.last_used = self._loop.time()
        self._idle_timer = self._loop.call_later(_IDLE_SECONDS, self.retire)
        self.has_ended: asyncio.Future[None] = self._loop.create_future()
        try:
            self._pid, self._socket = _start_server(command, env=env, cwd=cwd, cell=cell)
            try:
                self._pidfd = linux.open_pidfd(self._pid)
            except OSError:
                self._socket.close()
                raise
        except BaseException:
            self._idle_timer.cancel()
            raise
        self._loop.add_reader(self._pidfd, self._close)
        self._loop.add_reader(self._socket.fileno(), self._on_message)
        self._send((tuple(preload), digest))

    @property
    def is_busy(self) -> bool:
        """Whether calls are running."""
        return self._running > 0

    @property
    def is_stuck(self) -> bool:
        """Whether it has not become ready in time."""
        return not self.is_ready and self._loop.time() - self.last_used > _START_SECONDS

    def complete_env(self, env: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        """Return the environment of a call with the variables of the cell, such as the temporary folder."""
        return env if self._cell is None else cast("Mapping[bytes, bytes]", add_variables(env, self._cell.variables))

    def fits(self, env: Mapping[bytes, bytes]) -> bool:
        """Return whether its libraries would be the same with these variables."""
        env = self.complete_env(env)
        return not self.is_retired and all(env.get(name) == value for name, value in self.variables.items())

    def is_stale(self, folder: str) -> bool:
        """Return whether a cold start of a script in this directory would import other files."""
        if any(stat_file(path) != state for path, state in self.files.items()):
            return True
        state = stat_file(folder) if self.roots else None
        if state is None or self._checked_folders.get(folder) == state:
            return False
        try:
            names = os.listdir(folder)
        except OSError:
            return True
        # a file beside the script comes before all libraries
        if not self.roots.isdisjoint(name.partition(".")[0] for name in names):
            return True
        if time.time_ns() - state[2] > _SETTLED_NANOSECONDS:
            self._checked_folders[folder] = state
        return False

    async def fork(self, timeout: float, sandbox: Sandbox | None) -> "_ForkedChild | None":
        """Return a child that waits for its request; None if there is none in time. It has the limits of the sandbox."""
        self.last_used = self._loop.time()
        self._idle_timer.cancel()
        self._idle_timer = self._loop.call_later(_IDLE_SECONDS, self.retire)
        if self._has_exited():
            # the exit code of a spare child is lost with its parent
            self._close()
            return None
        spare, self._spare = self._spare or self._request_fork(), None
        if spare is None:
            return None
        self._running += 1
        try:
            if not spare.pid.done():
                await asyncio.wait_for(asyncio.shield(spare.pid), _FORK_SECONDS)
            pid = spare.pid.result()
            return _ForkedChild(
                native.StartedChild(pid, *spare.pipes, os.pidfd_open(pid)),
                channel=spare.channel,
                server=self,
                timeout=timeout,
                sandbox=sandbox,
            )
        except (TimeoutError, OSError, asyncio.CancelledError) as problem:
            # a child without a request ends by itself when its channel is closed
            native.close_all((spare.channel, *spare.pipes))
            spare.pid.add_done_callback(lambda forked: self.reap(forked.result(), lambda _: None))
            if isinstance(problem, asyncio.CancelledError):
                raise
            return None

    def _has_exited(self) -> bool:
        return os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _request_fork(self) -> "_WaitingChild | None":
        try:
            channel, pipes, ends = _open_ends()
        except OSError:
            return None
        child = _WaitingChild(channel=channel, pipes=pipes, pid=self._loop.create_future())
        if self._send(("fork",), ends):
            self._forks.append(child.pid)
        else:
            child.pid.set_result(-1)
        native.close_all(ends)
        self._fork_count += 1
        return child

    def reap(self, pid: int, callback: Callable[[int | None], None]) -> None:
        """Call a function with the exit code of a child that has ended; None if it is unknown."""
        self._reaped[pid] = callback
        if pid < 0 or not self._send(("reap", pid)):
            self._on_reaped(pid, None)

    def learn(self, digest: bytes) -> None:
        """Tell the server that its script with this hash needs no report."""
        self._send(("learned", digest))

    def retire(self) -> None:
        """Serve no more calls; the process ends when the running calls have ended."""
        self.is_retired = True
        self._idle_timer.cancel()
        self._close_spare()
        if not self._running:
            self._close_socket()

    def kill(self) -> None:
        """End it at once, also when the event loop is closed."""
        self.is_retired = True
        self._close()

    def _send(self, message: tuple[Any, ...], descriptors: Sequence[int] = ()) -> bool:
        if self._socket.fileno() < 0:
            return False
        try:
            socket.send_fds(self._socket, [marshal.dumps(message, 2)], descriptors)
        except OSError:  # it has ended, or does not read
            with suppress(OSError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self.has_failed = self.has_failed or not self.is_retired
            self.is_retired = True
            return False
        return True

    def _on_message(self) -> None:
        try:
            size = self._socket.recv_into(self._received)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if not size:
            self._close()
            return
        word, *arguments = marshal.loads(memoryview(self._received)[:size])
        if word == "forked":
            forked = self._forks.popleft()
            if not forked.done():
                forked.set_result(arguments[0])
        elif word == "reaped":
            self._on_reaped(*arguments)
        elif word == "harmful":
            self.harmful = arguments[0]
        else:
            names, self.files, roots = arguments
            self.variables = {name: self._env.get(name) for name in names}
            self.roots = frozenset(roots)
            self.is_ready = True
            self._fork_spare()

    def _on_reaped(self, pid: int, exit_code: int | None) -> None:
        self._running -= 1
        self._reaped.pop(pid)(exit_code)
        self._clean_cell()
        if self.is_retired or self._fork_count >= _MAX_FORKS:
            self.retire()
        else:
            # after the answer of the call that has ended
            self._loop.call_soon(self._fork_spare)

    def _fork_spare(self) -> None:
        if self._spare is None and not self.is_retired:
            self._spare = self._request_fork()

    def _close_spare(self) -> None:
        """Close the channel of the spare child, which ends it; the server takes it along when it ends."""
        if self._spare is not None:
            native.close_all((self._spare.channel, *self._spare.pipes))
            self._spare = None

    def _close_socket(self) -> None:
        """Close the socket, which ends the process."""
        if self._socket.fileno() >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._socket.fileno())
            self._socket.close()

    def _close(self) -> None:
        """Kill and reap the process, and fail everything that waits for it."""
        if self._pidfd < 0:
            return
        self.has_failed = self.has_failed or not self.is_retired
        self.is_retired = True
        self._idle_timer.cancel()
        self._close_spare()
        self._close_socket()
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if not self._loop.is_closed():
            self._loop.remove_reader(self._pidfd)
            for forked in self._forks:
                if not forked.done():
                    forked.set_result(-1)
            if not self.has_ended.done():
                self.has_ended.set_result(None)
        os.close(self._pidfd)
        self._pidfd = -1
        for pid in tuple(self._reaped):
            self._on_reaped(pid, None)
        self._clean_cell()

    def _clean_cell(self) -> None:
        """Empty the temporary folder when no call uses it, and give the cell back when the process is gone, too."""
        if self._cell is None or self._running:
            return
        if self._pidfd < 0:
            self._cell.release()
            self._cell = None
        else:
            self._cell.empty()


class _WaitingChild(Struct, frozen=True):
    """A child that waits for its request, or will when it is forked; -1 for a pid if it could not be."""

    channel: int
    pipes: tuple[int, int, int]
    pid: asyncio.Future[int]


class _ForkedChild(linux.Child):
    """A call that runs in a child of a forkserver, which reaps it."""

    def __init__(
        self,
        started: native.StartedChild,
        *,
        channel: int,
        server: _Forkserver,
        timeout: float,
        sandbox: Sandbox | None,
    ) -> None:
        super().__init__(started, timeout=timeout, sandbox=sandbox)
        self._channel = channel
        self._server = server
        self.report = b""

    def send_request(self, message: bytes) -> None:
        """Tell the child what to run.

        Raises:
            OSError: It has ended.
        """
        os.write(self._channel, message)

    def _is_reaped(self) -> bool:
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def _reap(self) -> None:
        with suppress(OSError):
            self.report = os.read(self._channel, MAX_MESSAGE)
        os.close(self._channel)
        self._server.reap(self._pid, self._complete_forked)
        if self._loop.is_closed() and self._pidfd >= 0:  # the server's answer will not be read
            self._complete(None)

    def _complete_forked(self, exit_code: int | None) -> None:
        if self._pidfd >= 0:
            self._complete(-signal.SIGKILL if exit_code is None else exit_code)


def _open_ends() -> tuple[int, tuple[int, int, int], tuple[int, int, int, int]]:
    """Open a channel and pipes for a child; return our channel, our pipes, and the child's ends of all of them."""
    opened: list[int] = []
    try:
        opened += [end.detach() for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        for _ in range(3):
            opened += os.pipe()
    except OSError:
        native.close_all(opened)
        raise
    channel, their_channel, stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = opened
    for descriptor in (channel, our_stdout, our_stderr):
        os.set_blocking(descriptor, False)
    return channel, (our_stdin, our_stdout, our_stderr), (their_channel, stdin, stdout, stderr)


def _start_server(
    command: PythonCommand, *, env: Mapping[bytes, bytes], cwd: str, cell: Cell | None
) -> tuple[int, socket.socket]:
    """Start the interpreter with pipes as a hook has them, so that it makes its streams as for a hook.

    In a cell, each child keeps everything that it starts in its group, and not the server, which makes the groups.
    """
    with open(os.path.join(cwd, command.program), "rb") as file:
        if file.read(len(_ELF)) != _ELF:
            raise OSError("its interpreter is itself a script, which may start another each time")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    opened: list[int] = []
    try:
        opened += (theirs.detach(), *os.pipe(), *os.pipe())
        native.move_above_streams(opened)
        channel, stdin, _no_input, noise, output = opened
        words = (forkserver_main.__file__, str(channel), str(noise), "" if cell is None else native.library_path())
        pid = native.spawn(
            command.program,
            [*command.command, "-c", _RUN_SERVER, *words],
            env=env,
            cwd=cwd,
            streams=(stdin, output, output),
            pass_fds=(channel, noise),
            sandbox=None if cell is None else cell.struct_for_groups(),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        native.close_all(opened)
    ours.setblocking(False)  # noqa: FBT003 - its only argument
    return pid, ours


class _WarmScript:
    """The forkservers of one script, and what earlier runs have shown.

    `digest` is the hash of the script whose run reported the libraries in `preload`. A library in `harmful` does more
    than define names when it is imported.
    """

    def __init__(self, interpreter: str) -> None:
        self._interpreter = interpreter
        self._interpreter_state = stat_file(interpreter)
        self.servers: list[_Forkserver] = []
        self.failures = 0
        self.digest = b""
        self.preload: tuple[str, ...] = ()
        self.harmful: set[str] = set()

    def is_replaced(self) -> bool:
        """Return whether the interpreter has changed."""
        return stat_file(self._interpreter) != self._interpreter_state

    def learn(self, digest: bytes, preload: tuple[str, ...]) -> None:
        """Note which libraries the script imports."""
        self.digest, self.preload = digest, preload if len(self.harmful) < _MAX_HARMFUL else ()

    def is_obsolete(self, server: _Forkserver, report: bytes) -> bool:
        """Read the report of a run, and return whether the server should have imported other libraries."""
        if report == CHANGED:
            self.learn(b"", ())
            return True
        if not report or report == COLD:
            self.failures = 0
            return False
        self.learn(*marshal.loads(report))
        server.learn(self.digest)
        return bool(self.preload or server.roots)

    def retire(self) -> None:
        """Retire all servers."""
        for server in self.servers:
            server.retire()

    def fail(self, words: Sequence[str], reason: str) -> None:
        """Count a failure in a row; after some of them, the script stays cold."""
        self.failures += 1
        if self.failures == _MAX_FAILURES:
            logger.warning('"%s" runs without warm = true from now on: %s', " ".join(words), reason)
            self.retire()

    def choose_server(self, command: PythonCommand, cwd: str, env: Mapping[bytes, bytes]) -> _Forkserver | None:
        """Return a server that is ready and not stale; None if there is none."""
        for server in self.servers:
            if server.is_stuck:
                server.kill()
                self.learn(self.digest, ())
                self.fail(command.words, "a library that it imports takes long, or its interpreter does")
            elif server.harmful:
                self.harmful.add(server.harmful.partition(".")[0])
                self.learn(self.digest, self.preload)
            elif server.has_failed and not server.is_ready:
                self.fail(
                    command.words, "its interpreter prints something, or starts a thread, before it runs a script"
                )
            elif server.has_failed:
                self.fail(command.words, "the process that waits for its calls ends by itself")
        self.servers = [server for server in self.servers if not server.is_retired]
        chosen = next((server for server in self.servers if server.is_ready and server.fits(env)), None)
        if chosen is not None and chosen.is_stale(os.path.dirname(real_path(os.path.join(cwd, command.words[0])))):
            chosen.retire()
            self.learn(b"", ())
            self.fail(command.words, "its libraries change from call to call, or a file beside it has the name of one")
            return None
        return chosen


_Key = tuple[str, tuple[str, ...], str, str, tuple[tuple[bytes, bytes], ...], CellKey | None]


class _LoopServers:
    """All forkservers of one event loop."""

    def __init__(self, containment: Containment) -> None:
        self._containment = containment
        self._scripts: dict[_Key, _WarmScript] = {}

    def find_script(self, command: PythonCommand, spec: ProcessSpec) -> _WarmScript | None:
        """Return the state of a script; None at its first call, because there may be no second."""
        env, cwd = cast("Mapping[bytes, bytes]", spec.env), spec.working_dir
        at_start = tuple(
            (name, value) for name, value in env.items() if name.startswith(_START_PREFIXES) or name in _START_NAMES
        )
        key = (command.program, command.command, command.words[0], cwd, at_start, spec.cell_key)
        script = self._scripts.get(key)
        if script is not None and not script.is_replaced():
            return script
        if script is not None:
            script.retire()
        if len(self._scripts) >= _MAX_SCRIPTS:
            # scripts that are written anew for each call
            self._scripts = {key: script for key, script in self._scripts.items() if script.servers}
        self._scripts[key] = _WarmScript(os.path.join(cwd, command.program))
        return None

    def start(self, script: _WarmScript, command: PythonCommand, spec: ProcessSpec) -> None:
        """Start a forkserver for a script, unless one is starting; the one used least recently goes where there are many."""
        if script.failures >= _MAX_FAILURES or any(not server.is_ready for server in script.servers):
            return
        living = [server for server in self.servers() if not server.is_retired]
        if len(living) >= _MAX_SERVERS:
            min(living, key=lambda server: server.last_used).retire()
        preload = [name for name in script.preload if name.partition(".")[0] not in script.harmful]
        key = spec.cell_key
        cell: Cell | None = None
        try:
            cell = self._containment.acquire(key.for_long_lived()) if key is not None else None
            server = _Forkserver(
                command,
                env=cast("Mapping[bytes, bytes]", spec.env),
                cwd=spec.working_dir,
                preload=preload,
                digest=script.digest,
                cell=cell,
            )
        except OSError as problem:
            if cell is not None:
                cell.release()
            script.fail(command.words, str(problem))
            return
        script.servers.append(server)

    def servers(self) -> list[_Forkserver]:
        """Return all servers."""
        return [server for script in self._scripts.values() for server in script.servers]

    async def close(self) -> None:
        """End all servers, and wait for those that serve no call."""
        servers = self.servers()
        self._scripts.clear()
        for server in servers:
            server.retire()
        idle = [server for server in servers if not server.is_busy]
        if idle:
            await asyncio.wait([server.has_ended for server in idle], timeout=GRACE_SECONDS)
        for server in idle:
            server.kill()

    def kill(self) -> None:
        """End all servers at once, from another event loop."""
        for server in self.servers():
            server.kill()
        self._scripts.clear()


class ForkserverPool:
    """The forkservers of one engine."""

    def __init__(self, containment: Containment | None = None) -> None:
        self._containment = containment or Containment()
        self._loops: WeakKeyDictionary[AbstractEventLoop, _LoopServers] = WeakKeyDictionary()

    async def run(self, spec: ProcessSpec, *, stdin: bytes, timeout: float) -> ProcessResult | None:
        """Run a script in a child of a forkserver, as `linux.run` does; None if nothing has run and a cold start is needed."""
        command = _find_python_command(spec)
        if command is None:
            return None
        env, cwd = cast("Mapping[bytes, bytes]", spec.env), spec.working_dir
        servers = self._get_servers()
        script = servers.find_script(command, spec)
        if script is None or script.failures >= _MAX_FAILURES:
            return None
        server = script.choose_server(command, cwd, env)
        if server is None:
            servers.start(script, command, spec)
            return None
        orig_argv = (*command.command, *command.words)
        call = (command.words, orig_argv, dict(server.complete_env(env)), cwd, spec.umask, command.text)
        message = marshal.dumps(call, 2)
        if len(message) > MAX_MESSAGE // 2:
            return None
        child = await server.fork(timeout, spec.sandbox)
        if child is None:
            return None
        try:
            child.send_request(message)
        except OSError:
            child.kill_now()
            script.fail(command.words, "a process that was to run it was gone")
            return None
        try:
            child.write_stdin(stdin)
            child.watch()
            result = await child.result
        except asyncio.CancelledError:
            await child.kill()
            raise
        except BaseException:
            child.kill_now()
            raise
        if script.is_obsolete(server, child.report):
            server.retire()
            servers.start(script, command, spec)
        return None if child.report in {COLD, CHANGED} else result

    async def close(self) -> None:
        """End all forkservers."""
        here = asyncio.get_running_loop()
        loops = dict(self._loops)
        self._loops.clear()
        for loop, servers in loops.items():
            if loop is here:
                await servers.close()
            else:
                servers.kill()

    def _get_servers(self) -> _LoopServers:
        loop = asyncio.get_running_loop()
        servers = self._loops.get(loop)
        if servers is None:
            for other in [other for other in list(self._loops) if other.is_closed()]:
                self._loops.pop(other).kill()
            servers = self._loops[loop] = _LoopServers(self._containment)
        return servers
