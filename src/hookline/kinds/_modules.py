"""Load hooks written as Python functions, here and in worker processes alike.

This file needs the standard library only and stands alone, because a worker loads it without the engine, which would
make it start five times slower. Code of a hook's folder is loaded here and nowhere else, so a hook behaves the same
inside this process and apart.
"""
# pathlib alone would add a third to a worker's start, and files are looked up on every call
# ruff: noqa: PTH100, PTH112, PTH113, PTH116, PTH118, PTH120, PTH123

import builtins
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Final, NamedTuple

TEXT_LIMIT: Final = 2_000

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE_PACKAGES: Final = f"{os.sep}site-packages{os.sep}"


class Unvetted(Exception):  # noqa: N818 - a decision, not an error
    """A file would be run that nobody has checked."""


class Said(NamedTuple):
    """What calling a hook came to; `failure` is one of the engine's failure kinds, or empty."""

    value: object = None
    failure: str = ""
    message: str = ""


class Located(NamedTuple):
    """A module file found in one of the folders; `used` parts of the dotted name led to it."""

    folder: str
    path: str
    used: int


def locate(module: str, folders: Sequence[str]) -> Located | None:
    """Find the file of a dotted name; parts beyond the file are attributes of the module."""
    parts = module.split(".")
    for folder in folders:
        used, path = _descend(folder, parts)
        if path:
            return Located(folder, path, used)
    return None


def _descend(folder: str, parts: Sequence[str]) -> tuple[int, str]:
    found, place = (0, ""), folder
    for used, part in enumerate(parts, 1):
        place = os.path.join(place, part)
        path, is_package = _source(place)
        if path:
            found = (used, path)
        if not is_package and (path or not os.path.isdir(place)):
            break
    return found


def _source(place: str) -> tuple[str, bool]:
    """Find the file of one module, and whether it is a package's; packages win, as in Python itself."""
    package = os.path.join(place, "__init__.py")
    if os.path.isfile(package):
        return package, True
    return (place + ".py", False) if os.path.isfile(place + ".py") else ("", False)


def describe(problem: BaseException) -> str:
    """Say what was raised, and the innermost line that belongs to the hook and to no library."""
    name = type(problem).__name__
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{name}: {problem.msg} ({problem.filename}:{problem.lineno})"
    try:
        # undecodable file names carry lone surrogates, which JSON cannot
        text = str(problem)[:TEXT_LIMIT].encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - an exception of foreign code whose own text fails
        text = ""
    place = _place(problem.__traceback__)
    return (f"{name}: {text}" if text else name) + (f" ({place})" if place else "")


def _place(trace: TracebackType | None) -> str:
    own = last = ""
    while trace is not None:
        path, line, trace = trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_next
        if path.startswith((_HERE, "<frozen")):
            continue
        last = f"{path}:{line}"
        if not path.startswith(_STANDARD_LIBRARY) and _SITE_PACKAGES not in path:
            own = last
    return own or last


class _Tree:
    """One hook module with everything it imported from its folder, under one private name."""

    def __init__(self, root: str, located: Located, sealed: Mapping[str, bytes] | None) -> None:
        self.root = root
        self.folder = located.folder
        self.path = located.path
        self.module: ModuleType | None = None
        self.builtins = {**vars(builtins), "__import__": self._import}
        self._sealed = sealed or {}
        self._made_of: dict[str, bytes] = {}
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._neighbours: dict[str, bool] = {}

    def read(self, path: str) -> bytes:
        """Give a file's source: the vetted bytes, or what is there, remembering what it looked like before."""
        vetted = self._sealed.get(os.path.normpath(path))
        if vetted is not None:
            self._made_of[os.path.normpath(path)] = vetted
            return vetted
        self._stamps[path] = _stamp(path)
        with open(path, "rb") as file:
            return file.read()

    def fits(self, sealed: Mapping[str, bytes] | None) -> bool:
        """Say whether it is made of these vetted bytes, and every other file read so far is still the same."""
        vetted = sealed or {}
        return all(vetted.get(path) == made for path, made in list(self._made_of.items())) and not any(
            path in vetted or _stamp(path) != stamp for path, stamp in list(self._stamps.items())
        )

    def source(self, place: str) -> tuple[str, bool]:
        """Find the file of one module as `_source` does; no file that came later stands in for a vetted one."""
        for path, is_package in ((os.path.join(place, "__init__.py"), True), (place + ".py", False)):
            if os.path.normpath(path) in self._sealed:
                return path, is_package
        return _source(place)

    def plant(self) -> None:
        """Make the private name importable, as a package whose only folder is the hook's."""
        root = ModuleType(self.root)
        root.__path__ = [self.folder]
        sys.modules[self.root] = root

    def uproot(self) -> None:
        """Forget all modules; functions that still run keep what they hold."""
        prefix = self.root + "."
        for name in [name for name in list(sys.modules) if name == self.root or name.startswith(prefix)]:
            sys.modules.pop(name, None)

    def _import(
        self,
        name: str,
        scope: Mapping[str, object] | None = None,
        names: Mapping[str, object] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import for the code of this tree: a file beside the hook, else what everyone gets.

        The folder is not on `sys.path`, so nothing in a project can stand in for a module of the program
        that embeds us, and the standard library always wins.
        """
        if level or not self._is_neighbour(name.partition(".")[0]):
            return builtins.__import__(name, scope, names, wanted or (), level)
        private = f"{self.root}.{name}"
        if wanted:
            return builtins.__import__(private, scope, names, wanted, 0)
        importlib.import_module(private)
        return sys.modules[f"{self.root}.{name.partition('.')[0]}"]

    def _is_neighbour(self, top: str) -> bool:
        known = self._neighbours.get(top)
        if known is None:
            known = self._neighbours[top] = top not in sys.stdlib_module_names and self._stands_beside(top)
        return known

    def _stands_beside(self, top: str) -> bool:
        place = os.path.join(self.folder, top)
        if self.source(place)[0]:
            return True
        # a bare folder counts as a package only where nothing of that name is installed, as in Python itself
        return os.path.isdir(place) and top not in sys.modules and importlib.util.find_spec(top) is None


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Run a file's source with the imports of its tree.

    Never from `__pycache__`: cached bytecode is matched by whole seconds and size, so a quick edit would go
    unnoticed, and whoever approved a hook has read its source, not the bytecode lying beside it.
    """

    def __init__(self, name: str, path: str, tree: _Tree) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source as it was vetted, or as it is now."""
        code: CodeType = self.source_to_code(self._tree.read(self.path), self.get_filename(fullname))
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        vars(module)["__builtins__"] = self._tree.builtins
        super().exec_module(module)


class _Finder:
    """Find the modules of planted trees; everything else is somebody else's."""

    def __init__(self, trees: Mapping[str, _Tree]) -> None:
        self._trees = trees

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer the import system for names that begin with a tree's private name."""
        tree = self._trees.get(fullname.partition(".")[0])
        if tree is None or path is None:
            return None
        bare: list[str] = []
        for folder in path:
            place = os.path.join(folder, fullname.rpartition(".")[2])
            found, is_package = tree.source(place)
            if found:
                loader = _SourceLoader(fullname, found, tree)
                inside = [place] if is_package else None
                return importlib.util.spec_from_file_location(
                    fullname, found, loader=loader, submodule_search_locations=inside
                )
            if os.path.isdir(place):
                bare.append(place)
        if not bare:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = bare
        return spec


class _Entry:
    """The present tree of one hook module, and the lock that keeps it from being loaded twice."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tree: _Tree | None = None


class Modules:
    """Load hook modules under private names, and again when one of their files changed."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._trees: dict[str, _Tree] = {}
        self._finder: _Finder | None = None
        self._planted = 0

    def find(
        self, module: str, *, function: str, folders: Sequence[str], sealed: Mapping[str, bytes] | None = None
    ) -> Callable[[object], object] | str:
        """Find a function; a text says why there is none. What the module itself raises is not caught.

        Raises:
            Unvetted: With `sealed`, the module is a file that is not among them.
        """
        found, rest = self._load(module, folders, sealed)
        if found is None:
            places = ", ".join(folders) or "no folders"
            return f'module "{module}" not found in {places}, and not installed either'
        names = [*rest, *function.split(".")] if function else rest
        if not names:
            return f'"{module}" is a module: name the function in it that is the hook'
        target: object = found
        origin = getattr(found, "__file__", None) or found.__name__
        for name in names:
            if not hasattr(target, name):
                return f'no function "{".".join(names)}" in {origin}'
            target = getattr(target, name)
        if not callable(target):
            return f'"{".".join(names)}" in {origin} cannot be called: it is a {type(target).__name__}'
        return target

    def close(self) -> None:
        """Take everything loaded out of the import system."""
        for tree in list(self._trees.values()):
            self._drop(tree)
        self._entries.clear()
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._finder = None

    def _load(
        self, module: str, folders: Sequence[str], sealed: Mapping[str, bytes] | None
    ) -> tuple[ModuleType | None, list[str]]:
        located = locate(module, folders)
        parts = module.split(".")
        if located is None:
            return _installed(parts)
        if sealed is not None and os.path.normpath(located.path) not in sealed:
            raise Unvetted(f'"{located.path}" was not there when the hook was checked')
        name = ".".join(parts[: located.used])
        entry = self._entries.setdefault((located.folder, name), _Entry())
        with entry.lock:
            return self._current(entry, located, name=name, sealed=sealed), parts[located.used :]

    def _current(self, entry: _Entry, located: Located, *, name: str, sealed: Mapping[str, bytes] | None) -> ModuleType:
        tree = entry.tree
        if tree is not None and tree.module is not None and tree.path == located.path and tree.fits(sealed):
            return tree.module
        if tree is not None:
            self._drop(tree)
        entry.tree = tree = self._plant(located, sealed)
        try:
            tree.module = importlib.import_module(f"{tree.root}.{name}")
        except BaseException:
            self._drop(tree)
            raise
        return tree.module

    def _plant(self, located: Located, sealed: Mapping[str, bytes] | None) -> _Tree:
        if self._finder is None:
            self._finder = _Finder(self._trees)
            # before the path finder, which would load the same files without their tree
            sys.meta_path.insert(0, self._finder)
        self._planted += 1
        # two engines in one process must not share a name, and this object outlives all names it gives
        tree = _Tree(f"_hookline_{id(self):x}_{self._planted}", located, sealed)
        self._trees[tree.root] = tree
        tree.plant()
        return tree

    def _drop(self, tree: _Tree) -> None:
        self._trees.pop(tree.root, None)
        tree.uproot()


def _installed(parts: list[str]) -> tuple[ModuleType | None, list[str]]:
    for used in range(len(parts), 0, -1):
        name = ".".join(parts[:used])
        try:
            return importlib.import_module(name), parts[used:]
        except ModuleNotFoundError as problem:
            missing = problem.name or ""
            if name != missing and not name.startswith(missing + "."):
                raise
    return None, parts


def answer(
    modules: Modules,
    module: str,
    *,
    function: str,
    folders: Sequence[str],
    document: object,
    sealed: Mapping[str, bytes] | None = None,
) -> Said:
    """Call a hook, and turn whatever it does into words."""
    try:
        target = modules.find(module, function=function, folders=folders, sealed=sealed)
        if isinstance(target, str):
            return Said(failure="not_found", message=target)
        return Said(value=target(document))
    except Unvetted as refused:
        return Said(failure="refused", message=str(refused))
    except BaseException as problem:  # noqa: BLE001 - a hook may raise anything, sys.exit() included
        return Said(failure="raised", message=describe(problem))
