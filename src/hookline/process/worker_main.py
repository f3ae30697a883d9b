"""The program of a worker process: call one hook function after another.

A worker is started as `python -I worker_main.py`, without the engine, which would make its start five times slower: this
file needs the standard library only. The engine loads the functions of hooks with the same code, so that a hook behaves
the same in both. Code of a hook's directory is loaded here and nowhere else.
"""
# pathlib alone would add a third to a worker's start, and files are looked up on every call
# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH116, PTH118, PTH120, PTH123

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
from typing import Any, Final, NamedTuple

HEADER: Final = struct.Struct("!I")
ANSWER_LIMIT: Final = 1_000_000
_CHUNK: Final = 65_536
# how long a hook may run on after the engine is gone
ORPHAN_SECONDS: Final = 1.0


TEXT_LIMIT: Final = 2_000

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# the directories of installed packages of this Python, whatever other directories have these names
_INSTALLED: Final = tuple(
    path.rstrip(os.sep) + os.sep for path in sys.path if path.endswith(("site-packages", "dist-packages"))
)


class UnapprovedModuleError(Exception):
    """The module is a file that was not approved."""


class CallResult(NamedTuple):
    """The result of a call; `failure` is one of the engine's failure kinds, or empty."""

    value: object = None
    failure: str = ""
    message: str = ""


class ModuleFile(NamedTuple):
    """A module file in one of the directories; `used` parts of the dotted name lead to it."""

    folder: str
    path: str
    used: int


def locate_module(module: str, folders: Sequence[str]) -> ModuleFile | None:
    """Find the file of a dotted name; parts beyond the file are attributes of the module."""
    for folder in folders:
        file, base = None, folder
        for used, part in enumerate(module.split("."), 1):
            base = os.path.join(base, part)
            path, is_package = _find_source(base)
            if path:
                file = ModuleFile(folder, path, used)
            if not is_package and (path or not os.path.isdir(base)):
                break
        if file is not None:
            return file
    return None


def _find_source(base: str) -> tuple[str, bool]:
    """Return the file of one module, and whether it is a package's; packages win, as in Python itself."""
    package = os.path.join(base, "__init__.py")
    if os.path.isfile(package):
        return package, True
    return (base + ".py", False) if os.path.isfile(base + ".py") else ("", False)


def describe_exception(problem: BaseException) -> str:
    """Describe an exception, and the innermost line that belongs to the hook and to no library."""
    name = type(problem).__name__
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{name}: {problem.msg} ({problem.filename}:{problem.lineno})"
    try:
        # undecodable file names hold lone surrogates, which JSON cannot
        text = str(problem)[:TEXT_LIMIT].encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - a hook's exception whose own text fails
        text = ""
    line = _find_line(problem.__traceback__)
    return (f"{name}: {text}" if text else name) + (f" ({line})" if line else "")


def _find_line(trace: TracebackType | None) -> str:
    own = last = ""
    while trace is not None:
        path, line, trace = trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_next
        if path.startswith((_HERE, "<frozen")):
            continue
        last = f"{path}:{line}"
        if not path.startswith(_STANDARD_LIBRARY) and not path.startswith(_INSTALLED):
            own = last
    return own or last


class _ModuleTree:
    """One hook module with everything it imported from its directory, under one private name."""

    def __init__(self, root: str, file: ModuleFile, sealed: Mapping[str, bytes] | None) -> None:
        self.root = root
        self.folder = file.folder
        self.path = file.path
        self.module: ModuleType | None = None
        self.builtins = {**vars(builtins), "__import__": self._import}
        self._sealed = sealed or {}
        self._approved: dict[str, bytes] = {}
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._is_beside: dict[str, bool] = {}

    def read(self, path: str) -> bytes:
        """Return a file's source: the approved bytes, or those of the file, whose stamp is noted."""
        approved = self._sealed.get(os.path.normpath(path))
        if approved is not None:
            self._approved[os.path.normpath(path)] = approved
            return approved
        self._stamps[path] = _stamp(path)
        with open(path, "rb") as file:
            return file.read()

    def is_current(self, sealed: Mapping[str, bytes] | None) -> bool:
        """Return whether it is made of these approved bytes, and every other file read so far is unchanged."""
        approved = sealed or {}
        return all(approved.get(path) == content for path, content in list(self._approved.items())) and not any(
            path in approved or _stamp(path) != stamp for path, stamp in list(self._stamps.items())
        )

    def find_source(self, base: str) -> tuple[str, bool]:
        """Find the file of one module as `_find_source` does; an approved file comes before all others."""
        for path, is_package in ((os.path.join(base, "__init__.py"), True), (base + ".py", False)):
            if os.path.normpath(path) in self._sealed:
                return path, is_package
        return _find_source(base)

    def register(self) -> None:
        """Make the private name importable, as a package whose only directory is the hook's."""
        root = ModuleType(self.root)
        root.__path__ = [self.folder]
        sys.modules[self.root] = root

    def unregister(self) -> None:
        """Remove all modules from the import system; functions that still run keep what they hold."""
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
        """Import for the code of this tree: a file beside the hook, or an installed module.

        The directory is not on `sys.path`, so no file of a project replaces a module of the embedding program, and the
        standard library always wins.
        """
        top = name.partition(".")[0]
        if level or not self._has_module(top):
            return builtins.__import__(name, scope, names, wanted or (), level)
        private = f"{self.root}.{name}"
        if wanted:
            return builtins.__import__(private, scope, names, wanted, 0)
        importlib.import_module(private)
        return sys.modules[f"{self.root}.{top}"]

    def _has_module(self, top: str) -> bool:
        is_beside = self._is_beside.get(top)
        if is_beside is None:
            base = os.path.join(self.folder, top)
            is_beside = self._is_beside[top] = top not in sys.stdlib_module_names and (
                bool(self.find_source(base)[0])
                # a bare directory is a package only where nothing of that name is installed, as in Python itself
                or (os.path.isdir(base) and top not in sys.modules and importlib.util.find_spec(top) is None)
            )
        return is_beside


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Run a file's source with the imports of its tree.

    Never from `__pycache__`: bytecode is matched by whole seconds and size, so a quick edit would go unnoticed, and the
    user approved the source, not the bytecode beside it.
    """

    def __init__(self, name: str, path: str, tree: _ModuleTree) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        """Compile the approved source, or the source as it is now."""
        code: CodeType = self.source_to_code(self._tree.read(self.path), self.get_filename(fullname))
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        vars(module)["__builtins__"] = self._tree.builtins
        super().exec_module(module)


class _TreeFinder:
    """Finds the modules of registered trees, and no others."""

    def __init__(self, trees: Mapping[str, _ModuleTree]) -> None:
        self._trees = trees

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module whose name begins with a tree's private name."""
        tree = self._trees.get(fullname.partition(".")[0])
        if tree is None or path is None:
            return None
        namespace: list[str] = []
        for folder in path:
            base = os.path.join(folder, fullname.rpartition(".")[2])
            source, is_package = tree.find_source(base)
            if source:
                loader = _SourceLoader(fullname, source, tree)
                locations = [base] if is_package else None
                return importlib.util.spec_from_file_location(
                    fullname, source, loader=loader, submodule_search_locations=locations
                )
            if os.path.isdir(base):
                namespace.append(base)
        if not namespace:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = namespace
        return spec


class _LoadedModule:
    """The current tree of one hook module, and the lock that keeps it from being loaded twice."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tree: _ModuleTree | None = None


class ModuleLoader:
    """Load hook modules under private names, and again when one of their files changed."""

    def __init__(self) -> None:
        self._modules: dict[tuple[str, str], _LoadedModule] = {}
        self._trees: dict[str, _ModuleTree] = {}
        self._finder: _TreeFinder | None = None
        self._tree_count = 0

    def find(
        self, module: str, *, function: str, folders: Sequence[str], sealed: Mapping[str, bytes] | None = None
    ) -> Callable[[object], object] | str:
        """Return a function, or a text that tells why there is none; exceptions of the module itself are not caught.

        Raises:
            UnapprovedModuleError: With `sealed`, the module is a file that is not among them.
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
        """Remove all loaded modules from the import system."""
        for tree in list(self._trees.values()):
            self._drop(tree)
        self._modules.clear()
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._finder = None

    def _load(
        self, module: str, folders: Sequence[str], sealed: Mapping[str, bytes] | None
    ) -> tuple[ModuleType | None, list[str]]:
        """Return a module, and the parts of the name that are attributes of it."""
        file = locate_module(module, folders)
        parts = module.split(".")
        if file is None:
            return _import_installed(parts)
        if sealed is not None and os.path.normpath(file.path) not in sealed:
            raise UnapprovedModuleError(f'"{file.path}" was not there when the hook was checked')
        name = ".".join(parts[: file.used])
        loaded = self._modules.setdefault((file.folder, name), _LoadedModule())
        with loaded.lock:
            tree = loaded.tree
            if tree is None or tree.module is None or tree.path != file.path or not tree.is_current(sealed):
                if tree is not None:
                    self._drop(tree)
                tree = loaded.tree = self._add_tree(file, sealed)
                try:
                    tree.module = importlib.import_module(f"{tree.root}.{name}")
                except BaseException:
                    self._drop(tree)
                    raise
            return tree.module, parts[file.used :]

    def _add_tree(self, file: ModuleFile, sealed: Mapping[str, bytes] | None) -> _ModuleTree:
        if self._finder is None:
            self._finder = _TreeFinder(self._trees)
            # before the path finder, which would load the same files without their tree
            sys.meta_path.insert(0, self._finder)
        self._tree_count += 1
        # two engines in one process must not share a name, and this object outlives all names it gives
        tree = _ModuleTree(f"_hookline_{id(self):x}_{self._tree_count}", file, sealed)
        self._trees[tree.root] = tree
        tree.register()
        return tree

    def _drop(self, tree: _ModuleTree) -> None:
        self._trees.pop(tree.root, None)
        tree.unregister()


def _import_installed(parts: list[str]) -> tuple[ModuleType | None, list[str]]:
    for used in range(len(parts), 0, -1):
        name = ".".join(parts[:used])
        try:
            return importlib.import_module(name), parts[used:]
        except ModuleNotFoundError as problem:
            missing = problem.name or ""
            if name != missing and not name.startswith(missing + "."):
                raise
    return None, parts


def call_function(
    loader: ModuleLoader,
    module: str,
    *,
    function: str,
    folders: Sequence[str],
    document: object,
    sealed: Mapping[str, bytes] | None = None,
) -> CallResult:
    """Call a hook, and describe any exception it raises."""
    try:
        target = loader.find(module, function=function, folders=folders, sealed=sealed)
        if isinstance(target, str):
            return CallResult(failure="not_found", message=target)
        return CallResult(value=target(document))
    except UnapprovedModuleError as problem:
        return CallResult(failure="refused", message=str(problem))
    except BaseException as problem:  # noqa: BLE001 - a hook may raise anything, SystemExit included
        return CallResult(failure="raised", message=describe_exception(problem))


def pack_header(value: Mapping[str, object], sealed: Mapping[str, bytes] | None = None) -> bytes:
    """Encode what a worker is sent besides the document, with the approved files."""
    files = None if sealed is None else {path: content.decode("latin-1") for path, content in sealed.items()}
    # the escapes of JSON keep file names that are not UTF-8
    return json.dumps({**value, "sealed": files}).encode()


class _ProcessState:
    """The environment and the directory a worker was started with, restored after each call.

    `own` are variables of the worker itself, such as its temporary folder, which every call has.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = own
        # a hook may replace these objects
        self._objects = (os.environ, os.environb)
        self._variables = dict(os.environb)
        try:
            self._folder = os.getcwd()
        except OSError:
            self._folder = os.sep

    def apply(self, folder: str, variables: Mapping[str, str], *, whole: bool) -> None:
        """Set up what one call needs; with `whole`, its variables are all there are.

        Raises:
            OSError: The directory cannot be entered.
            ValueError: A name or value is not possible in an environment.
        """
        if folder:
            os.chdir(folder)
        variables = {**variables, **self._own}
        for name in os.environ.keys() - variables.keys() if whole else ():
            del os.environ[name]
        os.environ.update(variables)

    def restore(self) -> None:
        """Undo everything the call changed."""
        os.environ, os.environb = self._objects
        for name in os.environb.keys() - self._variables.keys():
            del os.environb[name]
        for name, value in self._variables.items():
            if os.environb.get(name) != value:
                os.environb[name] = value
        try:
            os.chdir(self._folder)
        except OSError:
            os.chdir(os.sep)


class _FrameChannel:
    """Reads and writes length-prefixed frames."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()

    def read(self) -> bytes:
        """Read one frame; empty at the end."""
        if not self._receive(HEADER.size):
            return b""
        end = HEADER.size + HEADER.unpack_from(self._received)[0]
        if not self._receive(end):
            return b""
        frame = bytes(self._received[HEADER.size : end])
        del self._received[:end]
        return frame

    def write(self, frame: bytes) -> None:
        """Write one frame."""
        rest = memoryview(HEADER.pack(len(frame)) + frame)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _receive(self, size: int) -> bool:
        while len(self._received) < size:
            data = os.read(self._descriptor, _CHUNK)
            if not data:
                return False
            self._received += data
        return True


def _handle_call(loader: ModuleLoader, state: _ProcessState, *, header: dict[str, Any], document: bytes) -> bytes:
    try:
        state.apply(header["cwd"], header["env"], whole=header["whole"])
    except (OSError, ValueError) as problem:
        text = f"cannot work in {header['cwd']}: {describe_exception(problem)}"
        result = CallResult(failure="not_found", message=text)
    else:
        result = call_function(
            loader,
            header["module"],
            function=header["function"],
            folders=header["folders"],
            document=json.loads(document),
            sealed=header["sealed"],
        )
        if not result.failure and hasattr(result.value, "__await__"):
            result = _run_coroutine(result.value)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    return _encode_result(result)


def _run_coroutine(awaitable: Any) -> CallResult:
    import asyncio  # noqa: PLC0415 - costs more than the rest of a worker, and few hooks need it

    async def wait() -> object:
        return await awaitable

    try:
        return CallResult(value=asyncio.run(wait()))
    except BaseException as problem:  # noqa: BLE001 - as in call_function()
        return CallResult(failure="raised", message=describe_exception(problem))


def _encode_result(result: CallResult) -> bytes:
    try:
        frame = json.dumps(result._asdict(), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        text = f"the hook returned a {type(result.value).__name__} that JSON cannot carry: {problem}"
        return json.dumps(CallResult(failure="invalid_reply", message=text)._asdict()).encode()
    if len(frame) > ANSWER_LIMIT:
        text = f"the hook returned {len(frame)} bytes, at most {ANSWER_LIMIT} are read"
        return json.dumps(CallResult(failure="too_much_output", message=text)._asdict()).encode()
    return frame


def _kill_when_orphaned(descriptor: int) -> None:
    """Kill the whole group when the engine is gone, even while a hook hangs."""
    import select  # noqa: PLC0415 - has no poll on Windows, where no worker runs

    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Handle one call after another until there are no more; each is two frames, a header and a document."""
    # the channel is moved away from stdin, so that a hook cannot read or close it by accident
    descriptor = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    # a hook that forks must not answer twice: in the child the channel reads as ended
    os.register_at_fork(after_in_child=lambda: os.dup2(null, descriptor))
    threading.Thread(target=_kill_when_orphaned, args=(descriptor,), daemon=True).start()
    channel = _FrameChannel(descriptor)
    setup = json.loads(channel.read() or b'{"path": [], "env": {}}')
    sys.path.extend(folder for folder in setup["path"] if folder not in sys.path)
    loader, state = ModuleLoader(), _ProcessState(setup["env"])
    last, header = b"", {}
    try:
        while (frame := channel.read()) and (document := channel.read()):
            if frame != last:  # most often the same as for the last event, and large with approved files
                last, header = frame, json.loads(frame)
                if (files := header["sealed"]) is not None:
                    header["sealed"] = {path: content.encode("latin-1") for path, content in files.items()}
            channel.write(_handle_call(loader, state, header=header, document=document))
            state.restore()
    except (BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main()
