"""Answer one call of an agent in a process of its own: the quick way, and where that does not know how, the ordinary.

Both run the same program, `hookline hook`. The quick way gets its modules from a bundle, the configuration from a
snapshot, and has stand-ins for the parts of the standard library that take longest to import. It gives up before it
has done anything. This file is imported before anything else of ours is, and by itself.
"""
# ruff: noqa: PTH113, PTH118, PTH120 - pathlib is one of those parts

from __future__ import annotations

import gc
import os
import sys
import time
from types import ModuleType

import bundle  # type: ignore[import-not-found] # found in this folder, where it is by itself

# what runs in either way; it stands above us, and is only named here
_PROGRAM = "hookline.cli.hook"
_WHOLE_PROGRAM = "hookline.cli.main"
_PREPARE = "--prepare"
_LAUNCHED = "--launched"

# what stands in for a module of the standard library
_STAND_INS = {
    "asyncio": "hookline.bridge.cold.waiting",
    "hashlib": "hookline.bridge.cold.digests",
    "logging": "hookline.bridge.cold.logs",
}
# msgspec makes these ready, and nothing that answers a call uses them
_UNUSED_OF_MSGSPEC = ("_json_schema", "inspect", "msgpack", "toml", "yaml")
# off: the ordinary way; only: the quick way, or the reason why not, for whoever looks for it
_VARIABLE = "HOOKLINE_COLD"
_ONLY = "only"
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
    chosen = os.environ.get(_VARIABLE, "").lower()
    if words[:1] != ["hook"] or chosen in _OFF:
        sys.exit(_ordinary(words))
    try:
        kept = _kept_streams()
    except OSError:
        # a stream is closed, which is seldom and takes some care
        sys.exit(_ordinary(words))
    try:
        code, lacking = _quick(words[1:]), None
    except bundle.HandOver as reason:
        _give_back(kept)
        if chosen == _ONLY:
            sys.exit(f"hookline: the quick way does not know how: {reason.args[0]}")
        code, lacking = _ordinary(words), reason
    _leave(code, lacking, launched=launched)


def _quick(words: list[str]) -> int:
    # nothing is given back before the end, and to look for what could be takes a tenth of the time
    gc.disable()
    bundle.mount()
    _find_libraries()
    _import_msgspec()
    bundle.help_re()
    _import_pathlib()
    sys.modules["hookline.bridge.cold.bundle"] = bundle
    for name, ours in _STAND_INS.items():
        if name not in sys.modules:
            __import__(ours)
            sys.modules[name] = sys.modules[ours]
    __import__(_PROGRAM)
    return int(sys.modules[_PROGRAM].answer_agent(words))


def _ordinary(words: list[str]) -> int:
    gc.enable()
    bundle.unmount()
    for name, ours in _STAND_INS.items():
        if getattr(sys.modules.get(name), "__name__", name) == ours:
            del sys.modules[name]
    sys.modules.pop("hookline.bridge.cold.bundle", None)
    import site  # noqa: PLC0415 - only here

    site.main()
    sys.path.insert(0, os.path.dirname(bundle.PACKAGE))
    __import__(_WHOLE_PROGRAM)
    return int(sys.modules[_WHOLE_PROGRAM].main(words))


def _find_libraries() -> None:
    """Put the folder on the path that holds our one library, as far as that can be told without `site`."""
    python = sys.executable
    around = os.path.dirname(os.path.dirname(python))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    above = os.path.dirname(bundle.PACKAGE)
    for folder in (above, f"{around}/lib/{version}/site-packages", f"{around}/lib64/{version}/site-packages"):
        if os.path.isfile(f"{folder}/msgspec/__init__.py"):
            sys.path.append(folder)
            return
    raise bundle.HandOver("msgspec is somewhere else")


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
    try:
        modules["msgspec._json_schema"].__dict__.update(schema=None, schema_components=None)
        __import__("msgspec")
    finally:
        for name in ("typing_extensions", "uuid", "decimal"):
            del modules[name]


def _import_pathlib() -> None:
    """Import pathlib without the reader of web addresses that one of its methods needs, which nobody of ours calls."""
    if "pathlib" in sys.modules or "urllib.parse" in sys.modules:
        return
    stand_in = sys.modules["urllib.parse"] = ModuleType("urllib.parse")
    stand_in.quote_from_bytes = _quoted  # type: ignore[attr-defined]
    try:
        __import__("pathlib")
    finally:
        del sys.modules["urllib.parse"]


def _quoted(raw: bytes, *rest: str) -> str:
    from urllib.parse import quote_from_bytes  # noqa: PLC0415 - see above

    return quote_from_bytes(raw, *rest)


def _kept_streams() -> list[int]:
    """Make it possible to begin anew: keep stdout and stderr, and the event where it can be read again."""
    for number in range(3):
        # one that is closed is not to be opened by the next line
        os.fstat(number)
    kept = [os.dup(1), os.dup(2)]
    try:
        os.lseek(0, 0, os.SEEK_CUR)
    except OSError:
        copy = os.memfd_create("hookline") if hasattr(os, "memfd_create") else _unlinked()
        while raw := os.read(0, _COPIED):
            view = memoryview(raw)
            while view:
                view = view[os.write(copy, view) :]
        os.lseek(copy, 0, os.SEEK_SET)
        os.dup2(copy, 0)
        os.close(copy)
    return kept


def _unlinked() -> int:
    import tempfile  # noqa: PLC0415 - where there is nothing better

    handle, name = tempfile.mkstemp()
    os.unlink(name)  # noqa: PTH108
    return handle


def _give_back(kept: list[int]) -> None:
    for number, handle in zip((1, 2), kept, strict=True):
        os.dup2(handle, number)
        os.close(handle)
    os.lseek(0, 0, os.SEEK_SET)
    # the reader there is was made for a pipe, does not go back, and may have read ahead
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115


def _leave(code: int, lacking: bundle.HandOver | None, *, launched: bool) -> None:
    """End at once: there is nothing left that Python would have to clean up."""
    if launched:
        try:
            _look_ahead(lacking)
        except Exception:  # noqa: BLE001 - the answer is out, and the next call may do better
            launched = False
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # nobody reads it, and the exit code says the same
        pass
    os._exit(code)


def _look_ahead(lacking: bundle.HandOver | None) -> None:
    """Have the next call answered sooner: by a daemon, or at least by the quick way."""
    environ = os.environ
    if "CI" in environ:
        return
    if lacking is not None and type(lacking) is bundle.HandOver:
        _start_preparing(lacking.args[1] if len(lacking.args) > 1 else "")
    if environ.get("HOOKLINE_DAEMON", "").lower() not in _OFF:
        name = "hookline.bridge.daemon.waking"
        __import__(name)
        sys.modules[name].wake(sys.executable, environ)


def _start_preparing(root: str) -> None:
    """Have somebody make what was lacking, whom nobody waits for."""
    try:
        begun = os.stat(bundle.MARK).st_mtime  # noqa: PTH116
    except OSError:
        begun = 0.0
    if abs(time.time() - begun) < _BETWEEN:
        # somebody is at it, or it did not help
        return
    os.close(os.open(bundle.MARK, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))
    os.utime(bundle.MARK)
    words = [sys.executable, "-E", "-P", "-S", os.path.join(bundle.HERE, "start.py"), _PREPARE]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    os.posix_spawn(sys.executable, [*words, root or os.getcwd()], os.environ, file_actions=nowhere, setpgroup=0)  # noqa: PTH109


def _prepare(words: list[str]) -> int:
    """Make the bundle where there is none of the code as it is, and the snapshot of a project."""
    import site  # noqa: PLC0415 - only here

    site.main()
    sys.path.insert(0, os.path.dirname(bundle.PACKAGE))
    from hookline.bridge.cold.preparing import prepare  # noqa: PLC0415

    return prepare(words)
