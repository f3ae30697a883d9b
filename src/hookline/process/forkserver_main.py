"""The forkserver: an interpreter that is ready to run one Python script, and forks a child for each call.

Started by a line of the engine with the arguments SOCKET, NOISE and LIBRARY: a socket to the engine, the reading end of
the pipe that is its own stdout and stderr, and, where it is contained, the library of the engine. It runs in whichever
interpreter a hook names, so it imports nothing of the engine and little of the standard library: each module imported
here is one that a script finds imported.

A child runs the script as a new interpreter would, and then returns from this file, so that the interpreter itself joins
threads and calls `atexit` functions, the last of which is ours.
"""
# pathlib would be one more module; requests come from the engine alone
# ruff: noqa: PTH100, PTH109, PTH118, PTH120, PTH123, PTH208, S302, SLF001

from __future__ import annotations

import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # the working directory, as for every line that an interpreter runs

import _signal as signal  # type: ignore[import-not-found]  # without the enums of the module around it
import atexit
import builtins
import gc
import marshal
import os
import time
from _weakref import ref

TYPE_CHECKING = False  # known to type checkers under this name; typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

MAX_MESSAGE = 1 << 17
"""The size of the largest message."""

COLD = b"cold"
"""A child's refusal to run a script that only a new interpreter runs correctly."""
CHANGED = b"changed"
"""A child's refusal to run a script that is not the one whose libraries were imported ahead."""

CHANNEL = 250
"""The descriptor of a child's channel; high, so that the first file a script opens is 3."""
# they do something as soon as they are imported
_NEVER_PRELOADED = frozenset({"this", "antigravity", "__mp_main__", "__phello__"})
# the granularity of file times, in nanoseconds
_CLOCK_TICK = 20_000_000
# A script with one of these decides where libraries are found, or what they find when they are imported.
_DECIDING_WORDS = (
    *(b"sys.path", b"sys import path", b"meta_path", b"path_hooks", b"addsitedir", b"load_dotenv", b"putenv"),
    *(b"environ.setdefault", b"environ.update", b"environ.pop", b"environ |="),
)
# the modules a child has from the server
_INHERITED: set[str] = set()
# the exit code of a child whose script has ended
_EXIT_CODE: list[int] = []
_IMPORT_SYSTEM = sys.modules["_frozen_importlib_external"]
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


def hash_source(content: bytes) -> bytes:
    """Return a hash of a script, made by the only hash function that every interpreter has loaded."""
    return bytes(sys.modules["_imp"].source_hash(1, content))


def stat_file(path: str) -> tuple[int, ...] | None:
    """Return the numbers of a file that change when it does; None if it does not exist."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_safe_path() -> bool:
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def _is_library(path: str) -> bool:
    """Return whether a file belongs to the interpreter: the standard library, or an installed package."""
    return path.startswith(_STANDARD_LIBRARY) or "/site-packages/" in path or "/dist-packages/" in path


def _origin(module: object) -> str:
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return origin if isinstance(origin, str) else ""


class _WatchedVariables(dict):  # type: ignore[type-arg]
    """The environment while libraries are imported: notes which variables they read."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        super().__init__(values)
        self.names: set[bytes] = set()
        self.is_all_read = False

    def __getitem__(self, name: bytes) -> bytes:
        self.names.add(name)
        value: bytes = super().__getitem__(name)
        return value

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        self.is_all_read = True
        return super().__iter__()


class _ServerLoop:
    """Forks and reaps children as the engine asks."""

    def __init__(self, channel: int, noise: int, *, library: str) -> None:
        import _socket  # noqa: PLC0415 - socket itself would cost a quarter of a start

        self._socket = _socket.socket(fileno=channel)
        self._noise = noise
        self._children: set[int] = set()
        self.keep_group = _load_keep_group(library) if library else None
        self.learned_hash = b""
        self.has_preloaded = False

    def prepare(self) -> bool:
        """Import what the last run of the script imported; return whether forks are like a new interpreter."""
        began = time.time_ns() - _CLOCK_TICK
        own_modules = frozenset(sys.modules)
        if sys.version_info < (3, 9) or self._has_printed() or not _is_single_threaded():
            return False
        names, self.learned_hash = marshal.loads(self._receive()[0])
        variables = self._preload(names)
        if variables is None:
            return False
        self.has_preloaded = bool(names)
        # the standard library changes as a whole, with its directory; installed packages change file by file
        user_site = getattr(sys.modules.get("site"), "USER_SITE", None) or _STANDARD_LIBRARY
        paths = {_STANDARD_LIBRARY, os.path.join(sys.prefix, "pyvenv.cfg"), user_site}
        for path in sys.path:
            if "/site-packages" in path or not path.startswith(_STANDARD_LIBRARY[:-1]):
                paths.add(os.path.join(os.getcwd(), path))
        files = {_origin(module) for name, module in list(sys.modules.items()) if name not in own_modules}
        files = {path for path in files if _is_library(path) and not _is_standard(path)}
        states = {path: stat_file(path) for path in paths | files}
        now = time.time_ns()
        if any(state is not None and began < state[2] <= now for state in map(states.get, files)):
            return False  # changed while it was imported: which text was imported is unknown
        # the first compile sets up the parser: 1.3 ms, which would come on top of each call
        compile("def f(x):\n    return [x, {x: 1}, f'{x}']\n", "", "exec")
        # the garbage collector of a child need not look at what is there now, which would copy it
        gc.collect()
        gc.freeze()
        roots = {name.partition(".")[0] for name in sys.modules if name not in own_modules}
        self._send(("ready", tuple(variables), states, () if _is_safe_path() else tuple(roots)))
        return True

    def serve(self) -> int:
        """Fork and reap as the engine asks until it is gone; return 0 in a child, and -1 at the end of the server."""
        server = os.getpid()
        try:
            while True:
                message, descriptors = self._receive()
                if not message:
                    return -1
                word, *arguments = marshal.loads(message)
                if word == "fork":
                    if not self._fork(descriptors):
                        return 0
                elif word == "reap":
                    self._reap(arguments[0])
                else:
                    self.learned_hash = arguments[0]
        finally:
            if os.getpid() == server:
                for pid in self._children:
                    _ignore_os_error(os.killpg, pid, signal.SIGKILL)

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            message, extra, _flags, _address = self._socket.recvmsg(MAX_MESSAGE, 256)
        except ConnectionResetError:  # the engine ended without reading all of our messages
            return b"", []
        descriptors = [
            int.from_bytes(data[start : start + 4], sys.byteorder)
            for _level, _kind, data in extra
            for start in range(0, len(data), 4)
        ]
        return message, descriptors

    def _send(self, message: tuple[Any, ...]) -> None:
        _ignore_os_error(self._socket.send, marshal.dumps(message, 2))

    def _fork(self, descriptors: list[int]) -> int:
        """Fork a child with these as its channel, stdin, stdout and stderr."""
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if not pid:
            os.setpgid(0, 0)
            for target, descriptor in enumerate(descriptors[1:]):
                os.dup2(descriptor, target)
            os.dup2(descriptors[0], CHANNEL, False)  # noqa: FBT003 - inheritable
            for descriptor in (self._socket.detach(), self._noise, *descriptors):
                os.close(descriptor)
            return 0
        if pid > 0:
            self._children.add(pid)
            # the child does so itself, but maybe too late for an engine that signals the group
            _ignore_os_error(os.setpgid, pid, pid)
        for descriptor in descriptors:
            os.close(descriptor)
        self._send(("forked", pid))
        return pid

    def _reap(self, pid: int) -> None:
        if pid not in self._children:
            return
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        self._children.discard(pid)
        self._send(("reaped", pid, os.waitstatus_to_exitcode(status)))

    def _has_printed(self) -> bool:
        """Return whether anything was written to stdout or stderr, which every call has to print itself."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        try:
            return bool(os.read(self._noise, 1))
        except BlockingIOError:
            return False

    def _preload(self, names: tuple[str, ...]) -> set[bytes] | None:
        """Import modules, and return the variables they read; None after one that does more than define names.

        Its name is sent to the engine: every call has to import it itself.
        """
        data = os.environ._data  # type: ignore[attr-defined]
        variables = _WatchedVariables(data)
        os.environ._data = os.environb._data = variables  # type: ignore[attr-defined]
        before = _process_state()
        for name in names:
            if name in sys.modules:
                continue
            try:
                __import__(name)
                is_harmless = not variables.is_all_read and dict.__eq__(variables, data)
            except BaseException:  # noqa: BLE001 - a library may raise anything
                is_harmless = False
            if not is_harmless or self._has_printed() or _process_state() != before:
                self._send(("harmful", name))
                return None
        os.environ._data = os.environb._data = data  # type: ignore[attr-defined]
        return variables.names


def _load_keep_group(library: str) -> Any:
    """Return a function that keeps everything a process starts in its group; it returns 0, or minus the error."""
    import _ctypes  # noqa: PLC0415 - ctypes itself would cost a quarter of a start

    address = _ctypes.dlsym(_ctypes.dlopen(library, 2), "hookline_keep_group")
    call = _ctypes.call_function
    # a script that imports it does so itself
    del sys.modules["_ctypes"]
    return lambda: call(address, ())


def _is_standard(path: str) -> bool:
    return path.startswith(_STANDARD_LIBRARY) and "/site-packages/" not in path


def _process_state() -> object:
    """Return what a library could change besides its own names."""
    handlers = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    streams = [sys.stdin, sys.stdout, sys.stderr, *sys.path]
    return handlers, streams, os.getcwd(), sorted(os.listdir("/proc/self/fd")), _is_single_threaded()


def _is_single_threaded() -> bool:
    return len(os.listdir("/proc/self/task")) == 1  # other threads would be missing in every child


def _ignore_os_error(function: Any, *arguments: object) -> None:
    try:
        function(*arguments)
    except OSError:
        return


def _start() -> _ServerLoop | None:
    """Serve the engine; return None when it is gone, and the server in a child that is to run a script."""
    atexit.register(_exit_quickly)
    # as a program that was started with no signal ignored or blocked
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    descriptors = []
    for word in sys.argv[1:3]:
        # the lowest free number, out of the way of those that children get
        descriptors.append(os.dup(int(word)))
        os.close(int(word))
    os.set_blocking(descriptors[1], False)
    server = _ServerLoop(descriptors[0], descriptors[1], library=sys.argv[3])
    return server if server.prepare() and not server.serve() else None


# In a child


def _run_script(server: _ServerLoop) -> None:
    """Wait for one request, run its script, and report which libraries it imported."""
    _INHERITED.update(sys.modules)
    _INHERITED.discard("__main__")
    _touch_memory()
    message = os.read(CHANNEL, MAX_MESSAGE)
    if not message:
        os._exit(0)  # the engine no longer wants this child
    prepared = _prepare_script(marshal.loads(message), server)
    if isinstance(prepared, bytes):
        os.write(CHANNEL, prepared)
        os._exit(0)
    content, code = prepared
    pid = os.getpid()
    state = _import_state()
    try:
        exec(code, sys.modules["__main__"].__dict__)  # type: ignore[arg-type]  # noqa: S102 - the purpose of this file
        _EXIT_CODE.append(0)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            code = stop.code or 0
            _EXIT_CODE.append((code if -(1 << 63) <= code < (1 << 63) else -1) & 0xFF)
        else:
            _EXIT_CODE.append(1)
        raise
    except BaseException as problem:  # noqa: BLE001 - as the interpreter does
        _show_exception(problem)
        if isinstance(problem, KeyboardInterrupt):
            sys.excepthook = lambda *_: None  # shown already; the interpreter ends itself by SIGINT
            raise KeyboardInterrupt from None
        _EXIT_CODE.append(1)
        sys.exit(1)
    finally:
        if os.getpid() == pid:
            _report(server, content, has_changed_imports=_import_state() != state)


def _touch_memory() -> None:
    """Do what a request takes once before it comes: memory that is shared with the server is copied now."""
    _set_variables(marshal.loads(marshal.dumps(dict(os.environb), 2)))
    compile("x = {'a': [1, f'{2}']}\n", "", "exec", dont_inherit=True)
    os.path.realpath(__file__)
    hash_source(_read(os.devnull))
    _make_main(__file__)
    _import_state()


def _prepare_script(request: tuple[Any, ...], server: _ServerLoop) -> bytes | tuple[bytes, object]:
    """Take on everything that a start would bring, and return the script and its code; or a refusal."""
    argv, orig_argv, env, folder, umask, approved = request
    try:
        _set_variables(env)
        os.chdir(folder)
        if umask >= 0:
            os.umask(umask)
        # an interpreter that is given a file does not normalise its name, our bootstrap for approved bytes does
        path = os.path.join(os.getcwd(), argv[0]) if approved is None else os.path.abspath(argv[0])
        content = _read(path) if approved is None else approved
        if content.startswith(b"PK\3\4") or b"\0" in content or path.endswith(".pyc"):
            return COLD
        if server.has_preloaded and hash_source(content) != server.learned_hash:
            return CHANGED
        # a new interpreter, which reads the file line by line, describes syntax errors in its own words
        code = compile(content, path, "exec", dont_inherit=True)
        if server.keep_group is not None and server.keep_group():
            return COLD
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return COLD
    beside = os.path.dirname(os.path.realpath(path))
    sys.argv[:] = argv
    getattr(sys, "orig_argv", [])[:] = orig_argv  # since Python 3.10
    if not _is_safe_path():
        sys.path.insert(0, beside)
    if approved is not None:
        _ignore_bytecode_in(beside + os.sep)
    sys.modules["__main__"] = _make_main(path)
    return content, code


def _set_variables(env: dict[bytes, bytes]) -> None:
    """Set all variables, in the order that a start would find."""
    if list(os.environb) != list(env):
        for name in list(os.environb):
            del os.environb[name]
    for name, value in env.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _make_main(path: str) -> Any:
    """Return a main module with exactly the names that a script starts with."""
    main = type(sys)("__main__")
    loader = _IMPORT_SYSTEM.SourceFileLoader("__main__", path)
    names: dict[str, object] = {"__annotations__": {}} if sys.version_info < (3, 14) else {}
    main.__dict__.update(
        __package__=None, __loader__=loader, __spec__=None, **names, __builtins__=builtins, __file__=path
    )
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    return main


def _ignore_bytecode_in(folder: str) -> None:
    """Import no compiled file beside an approved script: it need not be made of the approved source."""
    cache_from_source = _IMPORT_SYSTEM.cache_from_source
    added = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = tuple(one.rstrip(os.sep) + os.sep for one in sys.path if one.endswith("-packages") and one not in added)

    def find_cache(source: str, *rest: object, **more: object) -> object:
        if source.startswith(folder) and not source.startswith(installed):
            raise NotImplementedError
        return cache_from_source(source, *rest, **more)

    _IMPORT_SYSTEM.cache_from_source = find_cache  # type: ignore[attr-defined]


def _exit_quickly() -> None:
    """End a child after all other `atexit` functions, without taking apart the modules of the server.

    That would copy all of their memory. Only the script and the modules of its project are taken apart, so that their
    files are written and `__del__` is called. If something goes wrong, the interpreter ends the child in its own way.
    """
    if not _EXIT_CODE:
        return  # the server itself, or a child that ends by a signal
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            setattr(sys, name, None)
    if not _flush():
        return
    names = [
        name for name, module in sys.modules.items() if name not in _INHERITED and not _is_library(_origin(module))
    ]
    modules = {name: ref(sys.modules.pop(name)) for name in reversed(names) if isinstance(sys.modules[name], type(sys))}
    gc.collect()
    for name, module in modules.items():
        if module() is not None:
            sys.modules[name] = module()  # type: ignore[assignment]
    if _flush() and not modules.keys() & sys.modules.keys():
        os._exit(_EXIT_CODE[0])


def _flush() -> bool:
    """Flush stdout and stderr; return whether that was possible."""
    try:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
    except BaseException:  # noqa: BLE001 - a script may have put anything there
        return False
    return True


def _show_exception(problem: BaseException) -> None:
    """Print an exception of the script without the frames of this file."""
    kind, trace = type(problem), problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    problem.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = kind, problem, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = problem
    try:
        sys.excepthook(kind, problem, trace)
    except SystemExit:
        raise
    except BaseException as other:  # noqa: BLE001 - as the interpreter does
        further = other.__traceback__ and other.__traceback__.tb_next
        other.__context__ = None
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(other), other.with_traceback(further), further)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(kind, problem, trace)


def _import_state() -> object:
    """Return what decides where libraries are found, and what they find."""
    try:
        return [*sys.path, None, *sys.meta_path, *sys.path_hooks], dict(os.environ._data)  # type: ignore[attr-defined]
    except (TypeError, AttributeError):  # a script may have replaced them by anything
        return None


def _report(server: _ServerLoop, content: bytes, *, has_changed_imports: bool) -> None:
    """Tell the engine which libraries to import ahead for this script.

    That are none if the script decides where they are found: it may decide otherwise in the next run.
    """
    digest = hash_source(content)
    if digest == server.learned_hash and not (has_changed_imports and server.has_preloaded):
        return
    names: list[str] = []
    is_deciding = has_changed_imports or _may_decide(content)
    for name, module in tuple(sys.modules.items()):
        if name in _INHERITED or name == "__main__" or name in _NEVER_PRELOADED:
            continue
        spec, origin = getattr(module, "__spec__", None), _origin(module)
        if origin in {"built-in", "frozen"} or _is_library(origin):
            if getattr(spec, "name", "") == name:
                names.append(name)
        elif origin.endswith(".py"):
            try:
                is_deciding = is_deciding or _may_decide(_read(origin))
            except OSError:
                is_deciding = True
    _ignore_os_error(os.write, CHANNEL, marshal.dumps((digest, () if is_deciding else tuple(names)), 2))


def _may_decide(content: bytes) -> bool:
    """Return whether a script looks as if it may change where libraries are found, or the environment."""
    if any(word in content for word in _DECIDING_WORDS):
        return True
    values = [rest.partition(b"]")[2].lstrip() for rest in content.split(b"environ[")[1:]]
    return any(value.startswith(b"=") and not value.startswith(b"==") for value in values)


if __name__ == "__main__":
    _server = _start()
    if _server is not None:
        _run_script(_server)
