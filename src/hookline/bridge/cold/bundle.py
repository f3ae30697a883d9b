"""Import our own modules out of one file, each name when it is first used.

A call that is answered in a process of its own uses few of the names that our modules import and define, and Python
makes all of them ready. Here they are only written down, and made when a name is looked up that is not there yet. The
modules are the same; `bundling.py` makes the file from them. This one is read by Python as it is, before
anything else is, and so it imports next to nothing.
"""
# ruff: noqa: PTH116, PTH118, PTH120, S302, SLF001 - pathlib is too much, and what is read here is our own

from __future__ import annotations

import builtins
import os
import sys
from _frozen_importlib import ModuleSpec
from marshal import loads
from types import CodeType, ModuleType

MAGIC = b"hookline-bundle-1\n"
HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100
PACKAGE = os.path.dirname(os.path.dirname(HERE))
OURS = os.path.basename(PACKAGE)  # noqa: PTH119
FILE = os.path.join(HERE, "__pycache__", f"calls.{sys.implementation.cache_tag}.bundle")
# touched by whoever begins to make it, and locked meanwhile
MARK = f"{FILE}.begun"

# another interpreter, or the package at another place, makes another bundle
TAG = (sys.hexversion, sys.flags.optimize, PACKAGE)

# What names are made by is not a part of what Python promises: elsewhere nobody has seen it give the same answers.
TRIED = {("cpython", 3, 11), ("cpython", 3, 12), ("cpython", 3, 13)}

_BUILTINS = vars(builtins)
_LENGTH = 4  # bytes of the length of the index

# what a name stands for where there is neither an event loop nor a configuration to be read
INSTEAD: dict[tuple[str, str | None], tuple[str, str]] = {
    ("hookline.bridge.place", "project_of"): ("hookline.bridge.cold.snapshots", "project_of"),
    ("hookline.workspace", "open_project"): ("hookline.bridge.cold.snapshots", "reopened"),
}


def is_ours(name: str) -> bool:
    """Say whether a module is one of our own, whose names are made when they are used."""
    return name.startswith(OURS)


class HandOver(BaseException):
    """Said where this way of answering does not know how to go on, before anything was done.

    Beside the reason stands the project that was asked about, where it is known: it may lack a snapshot.
    """


class NotForUs(HandOver):
    """Said where it would not know how either, whatever somebody made ready for it."""


class _Names(dict):  # type: ignore[type-arg]
    """The names of a module; an import is followed when its name is looked up."""

    __slots__ = ("lazy",)

    lazy: dict[str, tuple[str, str | bytes | CodeType | None]]

    def __missing__(self, name: str) -> object:
        module, how = self.lazy[name]
        if module or how is None:
            value = self[name] = _followed(module, how)  # type: ignore[arg-type]
            return value
        exec(loads(how) if isinstance(how, bytes) else how, self)  # noqa: S102 - it is our own
        return self[name]


class _Module(ModuleType):
    """A module whose names are those of its code, wherever they are looked up."""

    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]
        names: dict[str, object] = ModuleType.__getattribute__(self, "_names")
        return names

    def __getattr__(self, name: str) -> object:
        names: _Names = ModuleType.__getattribute__(self, "_names")
        try:
            return names[name]
        except KeyError:
            pass
        own = names.get("__getattr__")
        if callable(own):
            return own(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


# where a module's code is, whether it is a package, its source, and what that looked like
Entry = tuple[int, int, bool, str, tuple[int, int]]


class Bundle:
    """The finder and the loader of our modules."""

    def __init__(self, handle: int, index: dict[str, Entry], start: int) -> None:
        self._handle = handle
        self.index = index
        self._start = start
        # by text and flags, what the engine of `re` is called with
        self.patterns: dict[tuple[str, int], bytes] = {}

    def help_re(self) -> None:
        """Have patterns that stand in our modules taken from here: to read and compile them takes many times longer."""
        import _sre  # type: ignore[import-not-found] # noqa: PLC0415
        import re  # noqa: PLC0415 - not before it is imported anyway

        compiler = re._compiler  # type: ignore[attr-defined]
        usual = compiler.compile
        patterns = self.patterns

        def compiled(text: str, flags: int = 0) -> object:
            try:
                known = patterns.get((text, flags))
            except TypeError:
                known = None
            return usual(text, flags) if known is None else _sre.compile(*loads(known))

        compiler.compile = compiled

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Say where a module is, as `import` asks."""
        entry = self.index.get(name)
        if entry is None:
            return None
        spec = ModuleSpec(name, self, origin=entry[3])  # type: ignore[arg-type]
        if entry[2]:
            spec.submodule_search_locations = [os.path.dirname(entry[3])]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make an empty module; None where an ordinary one will do."""
        return _Module(spec.name) if is_ours(spec.name) else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code."""
        name = module.__name__
        offset, length, _, path, _ = self.index[name]
        raw = os.pread(self._handle, length, self._start + offset)
        if not is_ours(name):
            module.__file__ = path
            exec(loads(raw), module.__dict__)  # noqa: S102 - Python's own, as we compiled it
            return
        lazy, code, patterns, used = loads(raw)
        self.patterns.update(patterns)
        # builtins are looked up here first, and would be asked for as if they were imports
        names = _Names([(one, _BUILTINS[one]) for one in used if one in _BUILTINS])
        names.lazy = lazy
        names["__name__"] = name
        names["__file__"] = path
        names["__builtins__"] = _BUILTINS
        object.__setattr__(module, "_names", names)
        exec(code, names)  # noqa: S102 - it is our own

    def load(self, name: str) -> ModuleType:
        """Import one of our modules, as `import` would, without its locks and searches: nobody else imports."""
        above, _, last = name.rpartition(".")
        package = sys.modules.get(above) or self.load(above) if above else None
        module = sys.modules.get(name)
        if module is None:
            module = sys.modules[name] = _Module(name)
            if self.index[name][2]:
                module.__path__ = [os.path.dirname(self.index[name][3])]
            try:
                self.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
            if package is not None:
                setattr(package, last, module)
        return module


_bundle: Bundle | None = None


def _followed(module: str, name: str | None) -> object:
    """Do what an import says: of a module with a name, of a module itself (None), or of its first part (empty)."""
    module, name = INSTEAD.get((module, name)) or (module, name)
    if name and _bundle is not None and f"{module}.{name}" in _bundle.index:
        module, name = f"{module}.{name}", None
    found = sys.modules.get(module)
    if found is None and _bundle is not None and is_ours(module) and module in _bundle.index:
        found = _bundle.load(module)
    elif found is None:
        __import__(module)
        found = sys.modules[module]
    if name:
        return getattr(found, name)
    return found if name is None else sys.modules[module.partition(".")[0]]


def mount() -> None:
    """Have our modules come from the bundle.

    Raises:
        HandOver: There is none, or it is not of this interpreter and of the modules as they are.
    """
    global _bundle  # noqa: PLW0603 - one process, one bundle
    if (sys.implementation.name, *sys.version_info[:2]) not in TRIED:
        raise NotForUs("nobody tried it with this Python")
    try:
        handle = os.open(FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        raise HandOver("there is no bundle") from None
    found = os.fstat(handle)
    # code is only taken from where the package's own is: from a file that nobody else could have put there
    if found.st_uid not in (os.stat(PACKAGE).st_uid, os.geteuid()) or found.st_mode & 0o022:
        raise HandOver("the bundle may be somebody else's")
    start = len(MAGIC) + _LENGTH
    head = os.pread(handle, start, 0)
    if not head.startswith(MAGIC) or len(head) != start:
        raise HandOver("the bundle is broken")
    length = int.from_bytes(head[-_LENGTH:], "little")
    try:
        tag, index = loads(os.pread(handle, length, start))
    except (EOFError, ValueError, TypeError):
        raise HandOver("the bundle is broken") from None
    if tag != TAG:
        raise HandOver("the bundle is of another interpreter")
    start += length
    _check(index, found.st_size - start)
    _bundle = Bundle(handle, index, start)
    sys.meta_path.insert(0, _bundle)


def _check(index: dict[str, Entry], size: int) -> None:
    """Compare the bundle with the modules, all of them: once a hook runs, it is too late to begin anew.

    What a source looks like is what Python asks of it before it takes its own compiled file, only finer.
    """
    whole = 0
    stat = os.stat
    for _, length, _, path, stamp in index.values():
        whole += length
        try:
            found = stat(path)
        except OSError:
            raise HandOver(f"{path} is gone") from None
        if (found.st_mtime_ns, found.st_size) != stamp:
            raise HandOver(f"{path} changed")
    if whole != size:
        raise HandOver("the bundle is broken")


def help_re() -> None:
    """Have our patterns come from the bundle, too."""
    if _bundle is not None:
        _bundle.help_re()
