"""Answer one call of an agent in a process of its own: the quick way, and where that does not know how, the ordinary.

Both run the same program, `hookline hook`. The quick way gets its modules from a bundle, the configuration from a
snapshot, and has stand-ins for the parts of the standard library that take longest to import. It gives up before it
has done anything, and the process begins anew as the other one, with nothing left in it that only stands in. This file
is imported before anything else of ours is, and by itself.
"""
# ruff: noqa: PTH113, PTH118, PTH120 - pathlib is one of those parts

from __future__ import annotations

import gc
import os
import sys
import time
from types import ModuleType

import bundle  # type: ignore[import-not-found] # found in this folder, where it is by itself

# what type checkers take for true; `typing` would take longer than this file
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

# what runs in either way; it stands above us, and is only named here
_PROGRAM = "hookline.cli.hook"
_WHOLE_PROGRAM = "hookline.cli.main"
_PREPARE = "--prepare"
_LAUNCHED = "--launched"
_AGAIN = "--again"

# what stands in for a module of the standard library
_STAND_INS = {
    "asyncio": "hookline.bridge.cold.waiting",
    "hashlib": "hookline.bridge.cold.digests",
    "logging": "hookline.bridge.cold.logs",
}


class _Finalizer:
    """What would be called when something has gone: nothing goes before the process does."""

    atexit = True

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __call__(self) -> None:
        pass

    detach = __call__


# Where Python has the part in C that we use, and its module makes much more ready: from where, and which names; all
# of them where none are given.
_CORES = {
    "datetime": ("_datetime", {}),
    "signal": ("_signal", {}),
    "threading": ("_thread", {"Lock": "allocate_lock", "RLock": "RLock", "get_ident": "get_ident"}),
    "weakref": ("_weakref", {"ref": "ref"}),
}
# Nothing is given back before the end, so what is held weakly may as well be held.
_SIMPLER = {"weakref": {"WeakKeyDictionary": dict, "WeakSet": set, "finalize": _Finalizer}}
# msgspec makes these ready, and nothing that answers a call uses them
_UNUSED_OF_MSGSPEC = ("_json_schema", "inspect", "msgpack", "toml", "yaml")
# off: the ordinary way; only: the quick way, or the reason why not, for whoever looks for it
_VARIABLE = "HOOKLINE_COLD"
_ONLY = "only"
# what bridge/canary.py has, which would take long to import
_CANARY = "HOOKLINE_CANARY"
_OFF = {"0", "false", "no", "off"}
_BETWEEN = 20.0  # seconds between two who make ready what is lacking
_COPIED = 1 << 20  # bytes at once


class _Later(ModuleType):
    """A module that is imported as soon as somebody looks into it."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        __import__(self.__name__)
        return getattr(sys.modules[self.__name__], name)


def main(words: list[str]) -> None:
    """Do what the words say, and end."""
    if words[:1] == [_PREPARE]:
        sys.exit(_prepare(words[1:]))
    launched = words[:1] == [_LAUNCHED]
    words = words[1:] if launched else words
    if words[:1] == [_AGAIN]:
        _leave(_ordinary(words[2:]), words[1], launched=launched)
    chosen = os.environ.get(_VARIABLE, "").lower()
    if words[:1] != ["hook"] or chosen in _OFF or _is_closed():
        sys.exit(_ordinary(words))
    # nothing is given back before the end, and to look for what could be takes a tenth of the time
    gc.disable()
    try:
        _insist_on_pidfd()
        libraries = _libraries()
        bundle.mount()
    except bundle.HandOver as reason:
        # nothing was touched yet
        _complain_if_only(chosen, reason)
        _leave(_ordinary(words), _lacking(reason), launched=launched)
    kept = _kept_streams()
    try:
        code = _quick(words[1:], libraries)
    except bundle.HandOver as reason:
        _give_back(kept)
        _complain_if_only(chosen, reason)
        again = [*([_LAUNCHED] if launched else []), _AGAIN, _lacking(reason), *words]
        os.execv(sys.executable, _line(again))  # noqa: S606 - ourselves
    _leave(code, "", launched=launched)


def _is_closed() -> bool:
    """Say whether a stream is closed, which is seldom and takes some care: the next file would get its number."""
    try:
        for number in range(3):
            os.fstat(number)
    except OSError:
        return True
    return False


def _complain_if_only(chosen: str, reason: bundle.HandOver) -> None:
    if chosen == _ONLY:
        sys.exit(f"hookline: the quick way does not know how: {reason.args[0]}")


def _lacking(reason: bundle.HandOver) -> str:
    """Name the project for which somebody should make ready what lacks; empty where that would not help."""
    if isinstance(reason, bundle.NotForUs):
        return ""
    try:
        return str(reason.args[1]) if len(reason.args) > 1 else os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def _line(words: list[str]) -> list[str]:
    return [sys.executable, "-E", "-P", "-S", os.path.join(bundle.HERE, "start.py"), *words]


def _quick(words: list[str], libraries: str) -> int:
    try:
        answer_agent = _program(libraries)
    except Exception as problem:
        # another library than we know, a damaged file: whatever it is, nothing was read or done yet
        raise bundle.HandOver(repr(problem)) from problem
    return int(answer_agent(words))


def _program(libraries: str) -> Callable[[list[str]], int]:
    """Import what answers, with everything that stands in for something else."""
    sys.path.append(libraries)
    _put_cores()
    _import_msgspec()
    bundle.help_re()
    _import_pathlib()
    sys.modules["hookline.bridge.cold.bundle"] = bundle
    for name, ours in _STAND_INS.items():
        if name not in sys.modules:
            __import__(ours)
            sys.modules[name] = sys.modules[ours]
    __import__(_PROGRAM)
    return sys.modules[_PROGRAM].answer_agent  # type: ignore[no-any-return]


def _ordinary(words: list[str]) -> int:
    gc.enable()
    # a hook may have modules of these names
    for name in ("bundle", "calling"):
        sys.modules.pop(name, None)
    import site  # noqa: PLC0415 - only here

    site.main()
    sys.path.insert(0, os.path.dirname(bundle.PACKAGE))
    __import__(_WHOLE_PROGRAM)
    return int(sys.modules[_WHOLE_PROGRAM].main(words))


def _insist_on_pidfd() -> None:
    """Make sure that hooks can be waited for without asyncio itself."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        raise bundle.NotForUs("processes cannot be waited for as files are") from None


def _libraries() -> str:
    """Give the folder that holds our one library, as far as that can be told without `site`."""
    python = sys.executable
    around = os.path.dirname(os.path.dirname(python))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    above = os.path.dirname(bundle.PACKAGE)
    for folder in (above, f"{around}/lib/{version}/site-packages", f"{around}/lib64/{version}/site-packages"):
        if os.path.isfile(f"{folder}/msgspec/__init__.py"):
            return folder
    raise bundle.NotForUs("msgspec is somewhere else")


def _put_cores() -> None:
    """Put parts in the places of their modules: whoever looks for more imports the whole."""
    for name, (core, names) in _CORES.items():
        if name not in sys.modules:
            __import__(core)
            found = vars(sys.modules[core])
            stand_in = sys.modules[name] = _Later(name)
            taken = names or {one: one for one in found if not one.startswith("__")}
            vars(stand_in).update({ours: found[theirs] for ours, theirs in taken.items()})
            vars(stand_in).update(_SIMPLER.get(name, {}))


def _import_msgspec() -> None:
    """Import msgspec without what it makes ready for others: that takes longer than it does itself."""
    modules = sys.modules
    if "msgspec" in modules:
        return
    # it gets by on typing
    modules["typing_extensions"] = None  # type: ignore[assignment]
    # it knows these classes when it sees them, and we show it none
    for name, classes in (("uuid", ("UUID", "SafeUUID")), ("decimal", ("Decimal",))):
        stand_in = ModuleType(name)
        for one in classes:
            setattr(stand_in, one, type(one, (), {"unknown": None}))
        modules[name] = stand_in
    for name in _UNUSED_OF_MSGSPEC:
        modules[f"msgspec.{name}"] = _Later(f"msgspec.{name}")
    import typing  # noqa: PLC0415 - msgspec imports it anyway

    # It tries whether this takes a word that it takes since Python 3.11; the compiler that looks at the try makes a
    # class for each node there is in the language, which takes longer than the rest of msgspec.
    usual, typing.ForwardRef = typing.ForwardRef, _tried  # type: ignore[assignment, misc]
    try:
        modules["msgspec._json_schema"].__dict__.update(schema=None, schema_components=None)
        __import__("msgspec")
    finally:
        typing.ForwardRef = usual  # type: ignore[misc]
        for name in ("typing_extensions", "uuid", "decimal"):
            del modules[name]


def _tried(_: str, *, is_class: bool) -> bool:
    return is_class


def _import_pathlib() -> None:
    """Import pathlib without the reader of web addresses that one of its methods needs, which nobody of ours calls."""
    if "pathlib" in sys.modules or "urllib.parse" in sys.modules:
        return
    stand_in = sys.modules["urllib.parse"] = ModuleType("urllib.parse")
    stand_in.quote_from_bytes = _quoted  # type: ignore[attr-defined]
    # it looks for these five times, and they are not there
    absent = [name for name in ("_winapi", "nt") if name not in sys.modules and os.name == "posix"]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        __import__("pathlib")
    finally:
        for name in ("urllib.parse", *absent):
            del sys.modules[name]


def _quoted(raw: bytes, *rest: str) -> str:
    from urllib.parse import quote_from_bytes  # noqa: PLC0415 - see above

    return quote_from_bytes(raw, *rest)


def _kept_streams() -> tuple[int, int, int]:
    """Make it possible to begin anew: keep stdout and stderr, and the event where it can be read again, from there on.

    Raises:
        OSError: There is no room for the event. A part of it is gone then, and so nobody may be asked about the rest.
    """
    try:
        start = os.lseek(0, 0, os.SEEK_CUR)
    except OSError:
        start = 0
        copy = os.memfd_create("hookline") if hasattr(os, "memfd_create") else _unlinked()
        while raw := os.read(0, _COPIED):
            view = memoryview(raw)
            while view:
                view = view[os.write(copy, view) :]
        os.lseek(copy, 0, os.SEEK_SET)
        os.dup2(copy, 0)
        os.close(copy)
    return start, os.dup(1), os.dup(2)


def _unlinked() -> int:
    import tempfile  # noqa: PLC0415 - where there is nothing better

    handle, name = tempfile.mkstemp()
    os.unlink(name)  # noqa: PTH108
    return handle


def _give_back(kept: tuple[int, int, int]) -> None:
    start, *streams = kept
    for number, handle in enumerate(streams, 1):
        os.dup2(handle, number)
    os.lseek(0, start, os.SEEK_SET)


def _leave(code: int, lacking: str, *, launched: bool) -> NoReturn:
    """End at once: there is nothing left that Python would have to clean up."""
    if launched:
        try:
            _look_ahead(lacking)
        except Exception:  # noqa: BLE001 - the answer is out, and the next call may do better
            lacking = ""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # nobody reads it, and the exit code says the same
        pass
    os._exit(code)


def _look_ahead(lacking: str) -> None:
    """Have the next call answered by a daemon; where none comes, what was lacking is made for it."""
    if _CANARY in os.environ:
        # doctor tries us out, and starts nothing
        return
    if not _waking().wake(sys.executable, os.environ):
        _start_preparing(lacking)


def _waking() -> ModuleType:
    name = "hookline.bridge.daemon.waking"
    __import__(name)
    return sys.modules[name]


def _start_preparing(root: str) -> None:
    """Have somebody make what was lacking for a project, whom nobody waits for."""
    waking = _waking()
    if not root or waking.is_in_service(os.environ):
        return
    try:
        begun = os.stat(bundle.MARK).st_mtime  # noqa: PTH116
    except OSError:
        begun = 0.0
    if abs(time.time() - begun) < _BETWEEN:
        # somebody is at it, or it did not help
        return
    os.close(os.open(bundle.MARK, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))
    os.utime(bundle.MARK)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    closed = [(os.POSIX_SPAWN_CLOSE, number) for number in waking.handed_down()]
    line = _line([_PREPARE, root])
    os.posix_spawn(sys.executable, line, os.environ, file_actions=[*nowhere, *closed], setpgroup=0)


def _prepare(words: list[str]) -> int:
    """Make the bundle where there is none of the code as it is, and the snapshot of a project."""
    import site  # noqa: PLC0415 - only here

    site.main()
    sys.path.insert(0, os.path.dirname(bundle.PACKAGE))
    from hookline.bridge.cold.preparing import prepare  # noqa: PLC0415

    return prepare(words)
