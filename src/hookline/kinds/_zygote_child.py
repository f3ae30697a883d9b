"""Run a script in a child of a zygote so that it does not notice: as if an interpreter had been started for it.

Loaded by `_zygote_main.py` in whatever interpreter a hook names, so it imports nothing of the engine and little of the
standard library: each module here would be one that a script finds imported already.
"""
# what it is told comes from the engine alone; pathlib would be one more module
# ruff: noqa: PTH100, PTH109, PTH115, PTH116, PTH118, PTH120, PTH208, S302, SLF001

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # without the enums of the module around it
import atexit
import builtins
import gc
import marshal
import os
import sys
import time
from _weakref import ref

TYPE_CHECKING = False  # known to type checkers under this name; typing itself is slow to import
if TYPE_CHECKING:
    from typing import NoReturn

CHANNEL = 250
"""The descriptor a child is told on what to run: high, so that the first file a script opens is 3, as ever."""

STALE = b"s"
CHANGED = b"n"
COLD = b"c"
DONE = b"d"

_ARCHIVE = b"PK\3\4"
_LONGEST = 1 << 18
_NOT_FLUSHED = 120
_MARK = 1
_SETTLED = 2_000_000_000
_NOTHING = b"import sys\ndef made(): return 0\nmade()\n"
# A script that says where libraries are found, or what they find when they are imported, imports them itself.
_DECIDING = (b"sys.path", b"sys import path", b"meta_path", b"path_hooks", b"addsitedir", b"load_dotenv", b"putenv")
_SETTING = (b"environ.setdefault", b"environ.update", b"environ.pop", b"environ |=")
_IMPORTS = sys.modules["_frozen_importlib_external"]
_CACHE_FROM_SOURCE = _IMPORTS.cache_from_source


class Ready:
    """What a zygote has ready for its children: compiled scripts, and the libraries that were imported ahead."""

    def __init__(self) -> None:
        self.own = frozenset(sys.modules)
        self.scripts: dict[str, tuple[bytes, object]] = {}
        self.states: dict[str, tuple[int, ...] | None] = {}
        self.imported: frozenset[str] = frozenset()
        self.folders: dict[str, tuple[int, ...]] = {}
        self.lesson: tuple[str, ...] = ()
        self.has_libraries = False

    def is_stale(self, folder: str) -> bool:
        """Say whether a start from nothing would find other libraries than the ones that are imported.

        A file beside the script comes before all of them.
        """
        for path, state in self.states.items():
            if state_of(path) != state:
                return True
        if not self.imported or is_safe_path():
            return False
        state = state_of(folder)
        if state is None or self.folders.get(folder) != state:
            names = os.listdir(folder) if state is not None else []
            if not self.imported.isdisjoint([name.partition(".")[0] for name in names]):
                return True
            # a folder that changed just now may change again without another number to show for it
            if state is not None and time.time_ns() - state[2] > _SETTLED:
                self.folders[folder] = state
        return False


_UNREADY = Ready()


def state_of(path: str) -> tuple[int, ...] | None:
    """Give the numbers of a file that change when it does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def is_safe_path() -> bool:
    """Say whether the folder of the script is kept off the path."""
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def wait_and_run(ready: Ready, sample: bytes) -> NoReturn:
    """Wait for one request, run it, tell how it ended, and leave; nobody to ask any more means to leave at once.

    `sample` is an earlier request, or nothing.
    """
    del sys.modules["__main__"]
    before = frozenset(sys.modules)
    # what can be done before the request comes, is
    if sample:
        _rehearse(marshal.loads(sample), ready, before)
    message = os.read(CHANNEL, _LONGEST)
    if not message:
        os._exit(0)
    code = _prepared(marshal.loads(message), ready)
    content = None
    if isinstance(code, tuple):
        content = code[0]
        code = _compiled(*code)
    if isinstance(code, bytes):
        os.write(CHANNEL, code)
        os._exit(0)
    me = os.getpid()
    os.register_at_fork(after_in_child=_lose_channel)
    grounds = _grounds()
    status = _executed(code)
    is_changed = _grounds() != grounds
    learned = b""
    if content is not None or (is_changed and ready.has_libraries):
        path: str = code.co_filename  # type: ignore[attr-defined]
        text = ready.scripts[path][0] if content is None else content
        names = [] if is_changed or _decides(text, before) else _libraries(before)
        learned = "\n".join((path, mark_of(text), *names)).encode("utf-8", "surrogateescape")
    if not _ended(before):
        status = _NOT_FLUSHED
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if os.getpid() == me:
        _tell(DONE + bytes((status,)) + learned)
    os._exit(status)


def mark_of(content: bytes) -> str:
    """Give what tells one text from another; of all that could, this alone is in every interpreter from the start."""
    return bytes(sys.modules["_imp"].source_hash(_MARK, content)).hex()


def _grounds() -> object:
    """Give what decides where libraries are found, and what they find."""
    try:
        return [*sys.path, None, *sys.meta_path, *sys.path_hooks], dict(os.environ._data)  # type: ignore[attr-defined]
    except (TypeError, AttributeError):  # a script may put anything there
        return None


def _decides(content: bytes, before: frozenset[str]) -> bool:
    """Say whether a script, or a file of its project, looks as if it might change that in another run."""
    return _may_decide(content) or any(map(_may_decide, _own_texts(before)))


def _may_decide(content: bytes) -> bool:
    if any(word in content for word in (*_DECIDING, *_SETTING)):
        return True
    values = [rest.partition(b"]")[2].lstrip() for rest in content.split(b"environ[")[1:]]
    return any(value.startswith(b"=") and not value.startswith(b"==") for value in values)


def _own_texts(before: frozenset[str]) -> list[bytes]:
    """Read the files of its project that a script has imported."""
    texts = []
    for name, module in tuple(sys.modules.items()):
        origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
        if name not in before and isinstance(origin, str) and origin.endswith(".py") and not is_library(origin):
            try:
                texts.append(_read(origin)[0])
            except OSError:
                texts.append(_DECIDING[0])  # nobody can say
    return texts


def _tell(message: bytes) -> None:
    """Say how it ended; where the script has closed the channel, the zygote knows."""
    try:
        os.write(CHANNEL, message)
    except OSError:
        return


def _set_variables(env: dict[bytes, bytes]) -> None:
    """Set all variables, in their order; where only some values differ from those of the rehearsal, these."""
    here: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
    if list(here) != list(env):
        for name in here:
            os.unsetenv(name)
        here.clear()
    for name, value in env.items():
        if here.get(name) != value:
            os.putenv(name, value)
            here[name] = value


def _rehearse(sample: tuple, ready: Ready, before: frozenset[str]) -> None:  # type: ignore[type-arg]
    """Do everything that surrounds a script once, and undo it.

    A child shares its memory with the zygote until it writes, and to count a reference is to write: then the system
    copies a page, which takes longer than all the rest. Here it does so while nobody waits.
    """
    path, umask = sys.path[:], os.umask(0o77)
    code = _prepared(sample, ready)
    file = ""
    if not isinstance(code, bytes):
        file = sys.modules["__main__"].__file__ or ""
        _executed(compile(_NOTHING, "<rehearsal>", "exec", dont_inherit=True))
        _touch(code, ready)
    _flushed()
    _forget(before)
    _unpatch()
    if file:
        _make_main(file)
    sys.path[:] = path
    os.umask(umask)


def _touch(code: object, ready: Ready) -> None:
    """Count a reference to what a script is made of, and to the functions of the libraries it imports."""
    for part in getattr(code, "co_consts", ()):
        _touch(part, _UNREADY)
    for name in ready.lesson:
        module = sys.modules.get(name)
        for value in tuple(module.__dict__.values()) if module is not None else ():
            inner = value.__dict__.values() if isinstance(value, type) else (value,)
            for part in tuple(inner):
                made = getattr(part, "__code__", None)
                for _ in getattr(made, "co_consts", ()):
                    pass


def _lose_channel() -> None:
    """Keep what the script forks from speaking for it; an error here would be printed."""
    try:
        os.close(CHANNEL)
    except OSError:
        return


def _prepared(request: tuple, ready: Ready) -> object:  # type: ignore[type-arg]
    """Take on everything that a start would bring, and give the script's code.

    What was not compiled before is its text and its path; bytes alone are what to say instead of running it.
    """
    argv, orig_argv, env, folder, umask, text = request
    _set_variables(env)
    try:
        os.chdir(folder)
        if umask >= 0:
            os.umask(umask)
        if text is None:
            path = os.path.join(os.getcwd(), argv[0])
            content, real = _read(path)
        else:
            path = os.path.abspath(argv[0])
            content, real = text, os.path.realpath(path)
    except OSError:
        return COLD
    beside = os.path.dirname(real)
    if content.startswith(_ARCHIVE) or b"\0" in content or path.endswith(".pyc"):
        return COLD
    kept = ready.scripts.get(path)
    if kept is not None and kept[0] != content:
        kept = None
    if kept is None and ready.has_libraries:
        return CHANGED  # nobody knows yet whether it is to find them
    if ready.is_stale(beside):
        return STALE
    sys.argv[:] = argv
    getattr(sys, "orig_argv", [])[:] = orig_argv  # since Python 3.10
    if not is_safe_path():
        sys.path.insert(0, beside)
    if text is not None:
        _pass_over_compiled(beside + os.sep)
    _make_main(path)
    return kept[1] if kept is not None else (content, path)


def _compiled(content: bytes, path: str) -> object:
    """Compile a script that the zygote has not seen; its warnings are for the script's own stderr."""
    try:
        return compile(content, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # the interpreter, which reads the file line by line, says it in its own words
        return COLD


def _read(path: str) -> tuple[bytes, str]:
    """Read a file, and say where it really lies: the system knows at once what `realpath` would follow link by link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        part = content = os.read(descriptor, _LONGEST)
        while len(part) == _LONGEST:
            part = os.read(descriptor, _LONGEST)
            content += part
        return content, os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _make_main(path: str) -> None:
    """Put a module in the place of the zygote's own, with exactly the names that a script starts with."""
    if getattr(sys.modules.get("__main__"), "__file__", "") == path:  # from the rehearsal
        return
    main = type(sys)("__main__")
    loader = _IMPORTS.SourceFileLoader("__main__", path)
    names: dict[str, object] = {"__annotations__": {}} if sys.version_info < (3, 14) else {}
    main.__dict__.update(
        __package__=None, __loader__=loader, __spec__=None, **names, __builtins__=builtins, __file__=path
    )
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main


def _pass_over_compiled(beside: str) -> None:
    """Import no compiled file that lies with a vetted script: it need not be made of the text beside it."""

    def fresh(source: str, *rest: object, **more: object) -> object:
        if source.startswith(beside) and "site-packages" not in source:
            raise NotImplementedError
        return _CACHE_FROM_SOURCE(source, *rest, **more)

    _IMPORTS.cache_from_source = fresh  # type: ignore[attr-defined]


def _unpatch() -> None:
    _IMPORTS.cache_from_source = _CACHE_FROM_SOURCE  # type: ignore[attr-defined]


def _executed(code: object) -> int:
    """Run the script as the interpreter runs its main module; a negative number is the signal to end by."""
    try:
        exec(code, sys.modules["__main__"].__dict__)  # type: ignore[arg-type]  # noqa: S102 - that is what it is for
    except SystemExit as asked:
        return _exit_code(asked)
    except KeyboardInterrupt as problem:
        _show(problem)
        return -int(signal.SIGINT)
    except BaseException as problem:  # noqa: BLE001 - as the interpreter does
        return _show(problem)
    return 0


def _exit_code(asked: SystemExit) -> int:
    code = asked.code
    if code is None:
        return 0
    if isinstance(code, int):
        # what is left of it for the parent; C makes -1 of a number that is too large
        return (code if -(1 << 63) <= code < (1 << 63) else -1) & 0xFF
    try:
        sys.stderr.write(f"{code}\n")
        sys.stderr.flush()
    except Exception:  # noqa: BLE001 - there is nowhere left to say it
        return 1
    return 1


def _show(problem: BaseException) -> int:
    """Say what the script failed with, without the frames it was called from; gives the exit code."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    problem.__traceback__ = trace
    kind = type(problem)
    sys.last_type, sys.last_value, sys.last_traceback = kind, problem, trace
    sys.last_exc = problem  # type: ignore[attr-defined]
    if sys.version_info < (3, 12):
        del sys.last_exc  # type: ignore[attr-defined]
    try:
        sys.excepthook(kind, problem, trace)
    except SystemExit as asked:
        return _exit_code(asked)
    except BaseException as other:  # noqa: BLE001 - as the interpreter does
        further = other.__traceback__ and other.__traceback__.tb_next
        other.__context__ = None
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(other), other.with_traceback(further), further)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(kind, problem, trace)
    return 1


def _libraries(before: frozenset[str]) -> list[str]:
    """Name the modules that the script had to import, and that every script of this interpreter would get alike."""
    found = []
    for name, module in tuple(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if name in before or spec is None or spec.name != name or name == "__main__":
            continue
        if spec.origin in {"built-in", "frozen"} or is_library(spec.origin or ""):
            found.append(name)
    return found


def is_library(path: str) -> bool:
    """Say whether a file belongs to the interpreter: the standard library, or what was installed."""
    standard = os.path.dirname(os.__file__) + os.sep
    return path.startswith(standard) or "/site-packages/" in path or "/dist-packages/" in path


def _ended(before: frozenset[str]) -> bool:
    """Do what an interpreter does at its end; says whether everything that was printed went out."""
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as problem:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(type(problem), problem, problem.__traceback__)
    is_out = _flushed()
    _forget(before)
    return _flushed() and is_out


def _forget(before: frozenset[str]) -> None:
    """Let go of the script and of what it imported: files it left open are written, and `__del__` is called."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            setattr(sys, name, None)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__"))
    left = [ref(sys.modules.pop(name)) for name in tuple(sys.modules) if name not in before and _is_own(name)]
    gc.collect()
    # whoever is still there is held by something: its names go all the same, private ones first
    held = [module.__dict__ for found in reversed(left) if (module := found()) is not None]
    for names in held:
        for name in tuple(names):
            if name[:1] == "_" and name[1:2] != "_":
                names[name] = None
        for name in tuple(names):
            if name != "__builtins__":
                names[name] = None
    if held:
        gc.collect()


def _is_own(name: str) -> bool:
    """Say whether a module is the script, or a file of its project: libraries look after themselves with `atexit`."""
    module = sys.modules[name]
    spec = getattr(module, "__spec__", None)
    return isinstance(module, type(sys)) and not is_library(getattr(spec, "origin", None) or "")


def _flushed() -> bool:
    """Write out what stands in the buffers of stdout and stderr."""
    is_out = True
    for stream in (sys.stdout, sys.stderr):
        if stream is None or getattr(stream, "closed", False):
            continue
        try:
            stream.flush()
        except BaseException as problem:  # noqa: BLE001 - as the interpreter does
            is_out = False
            if stream is sys.stdout:
                _complain(problem, stream)
    return is_out


def _complain(problem: BaseException, about: object) -> None:
    """Say what the interpreter says of an error that nobody can catch any more."""
    kinds: list[type] = []

    class Thrown:
        def __del__(self) -> None:
            raise ValueError

    # the only way to the type of the hook's argument, which has no name
    kept, sys.unraisablehook = sys.unraisablehook, lambda unraisable: kinds.append(type(unraisable))
    Thrown()
    sys.unraisablehook = kept
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.unraisablehook(kinds[0]((type(problem), problem.with_traceback(trace), trace, None, about)))
