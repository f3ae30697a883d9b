"""Load hooks written as Python functions, and be the program that a worker process runs.

This file needs the standard library only and stands alone, because a worker is started as
`python -I _worker_main.py`: a worker that imported the engine would start five times slower. Code of a
hook's folder is loaded here and nowhere else, so a hook behaves the same inside this process and apart.
"""
# pathlib alone would add a third to a worker's start, and files are looked up on every call
# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH116, PTH118, PTH120

import builtins
import importlib
import importlib.machinery
import importlib.util
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Final, NamedTuple

HEADER: Final = struct.Struct("!I")
ANSWER_LIMIT: Final = 1_000_000
TEXT_LIMIT: Final = 2_000
# what a worker may still do when the process that started it is gone
ORPHAN_SECONDS: Final = 1.0

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE_PACKAGES: Final = f"{os.sep}site-packages{os.sep}"


def pack(value: Mapping[str, object]) -> bytes:
    """Write what is sent to a worker besides the document; names of files survive even when no UTF-8."""
    return json.dumps(value).encode()


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

    def __init__(self, root: str, located: Located) -> None:
        self.root = root
        self.folder = located.folder
        self.path = located.path
        self.module: ModuleType | None = None
        self.builtins = {**vars(builtins), "__import__": self._import}
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._neighbours: dict[str, bool] = {}

    def note(self, path: str) -> None:
        """Remember what a file looked like before it was read."""
        self._stamps[path] = _stamp(path)

    def changed(self) -> bool:
        """Say whether any file read so far is another one now."""
        return any(_stamp(path) != stamp for path, stamp in list(self._stamps.items()))

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
        if _source(place)[0]:
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
        """Compile the source as it is now."""
        self._tree.note(self.path)
        code: CodeType = self.source_to_code(self.get_data(self.path), self.get_filename(fullname))
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
            found, is_package = _source(place)
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

    def find(self, module: str, *, function: str, folders: Sequence[str]) -> Callable[[object], object] | str:
        """Find a function; a text says why there is none. What the module itself raises is not caught."""
        found, rest = self._load(module, folders)
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

    def _load(self, module: str, folders: Sequence[str]) -> tuple[ModuleType | None, list[str]]:
        located = locate(module, folders)
        parts = module.split(".")
        if located is None:
            return _installed(parts)
        name = ".".join(parts[: located.used])
        entry = self._entries.setdefault((located.folder, name), _Entry())
        with entry.lock:
            return self._current(entry, located, name=name), parts[located.used :]

    def _current(self, entry: _Entry, located: Located, *, name: str) -> ModuleType:
        tree = entry.tree
        if tree is not None and tree.module is not None and tree.path == located.path and not tree.changed():
            return tree.module
        if tree is not None:
            self._drop(tree)
        entry.tree = tree = self._plant(located)
        try:
            tree.module = importlib.import_module(f"{tree.root}.{name}")
        except BaseException:
            self._drop(tree)
            raise
        return tree.module

    def _plant(self, located: Located) -> _Tree:
        if self._finder is None:
            self._finder = _Finder(self._trees)
            # before the path finder, which would load the same files without their tree
            sys.meta_path.insert(0, self._finder)
        self._planted += 1
        # two engines in one process must not share a name, and this object outlives all names it gives
        tree = _Tree(f"_hookline_{id(self):x}_{self._planted}", located)
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


def answer(modules: Modules, module: str, *, function: str, folders: Sequence[str], document: object) -> Said:
    """Call a hook, and turn whatever it does into words."""
    try:
        target = modules.find(module, function=function, folders=folders)
        if isinstance(target, str):
            return Said(failure="not_found", message=target)
        return Said(value=target(document))
    except BaseException as problem:  # noqa: BLE001 - a hook may raise anything, sys.exit() included
        return Said(failure="raised", message=describe(problem))


def _finish(said: Said) -> Said:
    """Run what an `async def` hook gave back."""
    if said.failure or not hasattr(said.value, "__await__"):
        return said
    import asyncio  # noqa: PLC0415 - costs more than the rest of a worker, and few hooks need it

    async def wait() -> object:
        return await said.value  # type: ignore[misc]

    try:
        return Said(value=asyncio.run(wait()))
    except BaseException as problem:  # noqa: BLE001 - as in answer()
        return Said(failure="raised", message=describe(problem))


def _encode(said: Said) -> bytes:
    try:
        frame = json.dumps(said._asdict(), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        text = f"the hook returned a {type(said.value).__name__} that JSON cannot carry: {problem}"
        return json.dumps(Said(failure="invalid_reply", message=text)._asdict()).encode()
    if len(frame) > ANSWER_LIMIT:
        text = f"the hook returned {len(frame)} bytes, at most {ANSWER_LIMIT} are read"
        return json.dumps(Said(failure="too_much_output", message=text)._asdict()).encode()
    return frame


class _Surroundings:
    """The environment and the folder a worker was started with, to go back to after each call."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        try:
            self._folder = os.getcwd()
        except OSError:
            self._folder = os.sep

    def enter(self, folder: str, environment: Mapping[str, str]) -> None:
        """Take on what one call wants.

        Raises:
            OSError: The folder cannot be entered.
            ValueError: A name or value holds what no environment can.
        """
        if folder:
            os.chdir(folder)
        os.environ.update(environment)

    def leave(self) -> None:
        """Undo whatever the hook changed."""
        kept = self._environment
        if dict(os.environ) != kept:
            for name in os.environ.keys() - kept.keys():
                del os.environ[name]
            os.environ.update(kept)
        try:
            os.chdir(self._folder)
        except OSError:
            os.chdir(os.sep)


def _serve(modules: Modules, surroundings: _Surroundings, *, head: bytes, document: bytes) -> bytes:
    request = json.loads(head)
    try:
        surroundings.enter(request["cwd"], request["env"])
    except (OSError, ValueError) as problem:
        said = Said(failure="not_found", message=f"cannot work in {request['cwd']}: {describe(problem)}")
    else:
        said = _finish(
            answer(
                modules,
                request["module"],
                function=request["function"],
                folders=request["folders"],
                document=json.loads(document),
            )
        )
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    surroundings.leave()
    return _encode(said)


def _read(channel: int) -> bytes:
    """Read one frame; nothing means that there will be no more."""
    head = _read_exactly(channel, HEADER.size)
    return _read_exactly(channel, HEADER.unpack(head)[0]) if head else b""


def _read_exactly(channel: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(channel, min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(channel: int, frame: bytes) -> None:
    rest = memoryview(HEADER.pack(len(frame)) + frame)
    while rest:
        rest = rest[os.write(channel, rest) :]


def _end_with(channel: int) -> None:
    """End the whole group when the process that started us is gone, even while a hook hangs."""
    import select  # noqa: PLC0415 - has no poll on Windows, where no worker runs

    poller = select.poll()
    poller.register(channel, 0)
    poller.poll()
    time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _take_channel() -> int:
    """Move the channel away from the standard descriptors, so that a hook cannot read or close it by habit."""
    channel = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # a hook that forks must not answer twice: in the child the channel leads nowhere, and reads as ended
    os.register_at_fork(after_in_child=lambda: os.dup2(nothing, channel))
    return channel


def main() -> None:
    """Answer one request after another until there are no more; each is two frames, what to call and with what."""
    channel = _take_channel()
    threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    setup = json.loads(_read(channel) or b'{"path": []}')
    sys.path.extend(place for place in setup["path"] if place not in sys.path)
    modules = Modules()
    surroundings = _Surroundings()
    try:
        while (head := _read(channel)) and (document := _read(channel)):
            _write(channel, _serve(modules, surroundings, head=head, document=document))
    except (BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
