"""The fingerprint of a hook: its definition, the content of every file it names, the programs it is run with."""
# ruff: noqa: PTH116, PTH118, PTH120, PTH122 - called for every file of every hook before each run

import fnmatch
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os.path import dirname, join, normpath, relpath, splitext
from stat import S_ISDIR
from typing import Final

import msgspec
from msgspec import Struct

from hookline import caller_context, json_codec
from hookline.errors import ConfigError
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, get_process_hook, make_undo_hook
from hookline.model.mcp_server import McpServer
from hookline.model.workspace_paths import (
    USER_SOURCES,
    is_inside,
    is_inside_real,
    real_path,
    without_folders,
    workspace_roots,
)
from hookline.shell.program import split_names
from hookline.trust.files_and_programs import (
    LONGEST_SHEBANG,
    SETTLED,
    Content,
    Executable,
    ExecutableHashes,
    FileCache,
    FileState,
    are_unchanged,
    find_executables,
    inspect_executable,
    is_settled,
    list_shebang_files,
    parse_shebang,
    read_state,
)
from hookline.trust.reachability import Reachability, analyse_reach, merge_reach, run_dir
from hookline.trust.script_imports import ImportContext, Look, list_imports, list_stand_ins

# includes (names, folders and patterns), and the globs of a command

MOST: Final = 2_000

# they are listed before each run, and a pattern may start at the top of the file system
_MOST_LOOKED_AT: Final = 20_000
_MOST_FOLDERS: Final = 500

# written by running a script, or by git itself, from files that are covered
_OF_GIT: Final = frozenset({".git"})
_LEFT_OUT: Final = _OF_GIT | {"__pycache__"}
# the translation of a range such as [z-a]
_NEVER: Final = "(?!)"
_MAGIC: Final = re.compile(r"[*?\[]")

# the parts of a pattern; None stands for two stars
_Parts = tuple[re.Pattern[str] | None, ...]


def expand_includes(patterns: tuple[str, ...], root: str) -> list[str]:
    """Return every file of the patterns, sorted; a folder means everything in it, and links to folders are not followed.

    A name that leads to nothing is returned as well: the file may appear later.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        for path in _expand_include(pattern, root):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'includes has more than {MOST} files with "{pattern}"; name fewer')
    return sorted(found)


def expand_globs(patterns: Iterable[str]) -> list[str]:
    """Return every file that a shell would put in the place of these absolute patterns, sorted.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    listings: dict[str, list[str]] = {}
    for pattern in patterns:
        for path in _expand_glob(pattern, listings):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'"{pattern}" in its command means more than {MOST} files; name fewer')
    return sorted(found)


def _expand_glob(pattern: str, listings: dict[str, list[str]]) -> list[str]:
    """Expand one folder at a time: a star of a shell stays within one, two stars stand for any number of folders."""
    if "**" in pattern.split("/"):
        try:
            return [path for path in _expand_include(pattern, "/", _OF_GIT) if os.path.isfile(path)]  # noqa: PTH113
        except ConfigError:
            raise ConfigError(f'"{pattern}" in its command leads through too many folders; name fewer') from None
    places = [""]
    for part in pattern.strip("/").split("/"):
        if not _MAGIC.search(part):
            places = [f"{place}/{part}" for place in places]
            continue
        wanted = re.compile(fnmatch.translate(part))
        onward: list[str] = []
        for place in places:
            if place not in listings:
                listings[place] = []
                with suppress(OSError, ValueError):
                    listings[place] = os.listdir(place or "/")  # noqa: PTH208
            onward += [f"{place}/{name}" for name in listings[place] if wanted.match(name)]
            if len(listings) > _MOST_FOLDERS or len(onward) > _MOST_LOOKED_AT:
                raise ConfigError(f'"{pattern}" in its command leads through too many folders; name fewer')
        places = onward
    return [path for path in places if os.path.isfile(path)]  # noqa: PTH113


def _expand_include(pattern: str, root: str, left_out: frozenset[str] = _LEFT_OUT) -> Iterator[str]:
    magic = _MAGIC.search(pattern)
    if magic is None:
        path = normpath(join(root, pattern))
        yield from _walk_files(path, left_out) if os.path.isdir(path) else (path,)  # noqa: PTH112
        return
    # only the folders that the pattern spells out need to be listed
    start = pattern.rfind("/", 0, magic.start()) + 1
    base, wanted = normpath(join(root, pattern[:start])), _compile(pattern[start:])
    yield from (path for path in _walk_files(base, left_out) if _matches(relpath(path, base), wanted))


def _walk_files(folder: str, left_out: frozenset[str]) -> Iterator[str]:
    looked_at = 0
    for path, folders, files in os.walk(folder):
        looked_at += len(folders) + len(files)
        if looked_at > _MOST_LOOKED_AT:
            raise ConfigError(f'includes leads through more than {_MOST_LOOKED_AT} files in "{folder}"; name a folder')
        links = [name for name in folders if os.path.islink(join(path, name))]  # noqa: PTH114
        folders[:] = sorted(name for name in folders if name not in left_out and name not in links)
        yield from (join(path, name) for name in sorted((*files, *links)))


def _matches(path: str, wanted: _Parts) -> bool:
    """Return whether a pattern matches a relative path; two stars stand for any number of folders.

    Matched folder by folder with the set of all possible positions in the pattern: one regular expression would backtrack
    for ever over a long path and a pattern with many stars.
    """
    places = _skip_stars({0}, wanted)
    for name in path.split("/"):
        onward: set[int] = set()
        for place in places:
            if place < len(wanted):
                part = wanted[place]
                onward |= {place, place + 1} if part is None else {place + 1} if part.match(name) else set()
        places = _skip_stars(onward, wanted)
    return len(wanted) in places


def _skip_stars(places: set[int], wanted: _Parts) -> set[int]:
    # two stars may stand for nothing, but at the end they stand for a file
    last = len(wanted) - 1
    found = set(places)
    for place in range(last):
        if place in found and wanted[place] is None:
            found.add(place + 1)
    return found


def _compile(pattern: str) -> _Parts:
    parts = [(part, fnmatch.translate(part)) for part in pattern.split("/")]
    if any(_NEVER in text for _, text in parts):
        raise ConfigError(
            f'the pattern "{pattern}" in includes cannot be read: it has a range that ends before it starts'
        )
    return tuple(None if part == "**" else re.compile(text) for part, text in parts)


# fingerprints

# Where a hook is defined, its name and whether it is enabled is not what it does: a comment above it, or another file
# loaded before it, must not need a new approval. Warm or not, the same bytes run. A test beside it runs nothing but the hook.
_NOT_COVERED: Final = split_names(
    "id enabled call undo_call layer root run_by platforms warm default_sandbox tests model_url"
    " source_path source_line source_format source_pointer"
)
# defaults are left out, so that a field that a later version adds needs no new approval
_DEFAULTS: Final = msgspec.structs.asdict(Hook(id="", kind="none"))
# stands for the project folder, so that a definition is the same in each worktree and clone; no path holds a NUL
_ROOT: Final = "\0root"
_PYTHON_VERSION: Final = re.compile(r"python3\.(\d+)[a-z]*$")
_SAFE_PATH_SINCE: Final = 11
_MOST_FILES: Final = 4_000
_LARGEST: Final = 64 * 1024 * 1024
_SCRIPT_ENDINGS: Final = split_names(".js .mjs .cjs .ts .py .sh .bash .rb .pl .php .lua")


States = tuple[tuple[str, FileState | None], ...]


class HookFingerprint(Struct, frozen=True, kw_only=True):
    """What would run now.

    `digest` covers the definition and the files, and is the same in each clone of a repository; `programs` are
    outside of it and belong to this machine. `files` are the bytes that were hashed, by absolute path, `hashes`
    the same files by the name they have in the project. `doubts` says what of the command could not be read with
    certainty, `problem` why this cannot be approved.
    """

    digest: str
    definition: Mapping[str, object]
    files: Sealed
    hashes: Mapping[str, str]
    programs: tuple[Executable, ...]
    doubts: tuple[str, ...] = ()
    problem: str = ""


class _CachedFingerprint(Struct, frozen=True):
    """The last analysis and fingerprint of a hook in one folder.

    The analysis is invalid for another definition or folder. The fingerprint is invalid when one of `states` (every
    file and folder that was looked at) or the search path changed; without states it has to be computed each time.
    """

    hook: Hook
    cwd: str
    reach: Reachability
    fingerprint: HookFingerprint | None = None
    path: str | None = None
    states: States | None = None

    def is_valid(self) -> bool:
        runs = get_process_hook(self.hook)
        if self.states is None or (self.path is not None and self.path != _join_path(runs, self.reach)):
            return False
        return are_unchanged(self.states)


class FingerprintService:
    """Compute fingerprints, reading a hook's files again only when one of them changed."""

    def __init__(self, shell_dialects: Collection[str] | None = None, *, settled: int = SETTLED) -> None:
        """Take the names of the dialects whose commands are shell lines; None when any of them could be.

        A file that has not changed for `settled` nanoseconds is known by its state.
        """
        self._shell_dialects = shell_dialects
        self._settled = settled
        self._cached: dict[str, _CachedFingerprint] = {}
        # users' hooks that take nothing from the workspace, each with the analysis, the workspace and the search path for
        # which that holds, as long as no file that was looked at changes its state
        self._user_hooks: dict[str, tuple[Reachability, tuple[str, ...], str, States]] = {}
        self.file_cache = FileCache()
        self.executables = ExecutableHashes()

    def compute(self, hook: Hook, cwd: str) -> HookFingerprint:
        """Return the fingerprint of a hook that runs in a folder."""
        cached = self._find_cached(hook, cwd)
        if cached.fingerprint is not None and cached.is_valid():
            return cached.fingerprint
        reach = cached.reach
        names, problem = reach.files, reach.problem
        try:
            names = (*names, *expand_includes(hook.includes, hook.root or cwd), *expand_globs(reach.patterns))
        except ConfigError as error:
            problem = problem or error.message
        walker = _DependencyWalker(self, get_process_hook(hook), cwd, reach)
        walker.follow(names, reach.programs)
        found = _make_fingerprint(hook, cwd, walker, problem or walker.problem)
        # patterns have to be matched anew each time
        is_sure = not hook.includes and not reach.patterns and is_settled(walker.states.values(), self._settled)
        states = tuple(walker.states.items()) if is_sure else None
        self._cached[hook.id] = _CachedFingerprint(hook, cwd, reach, found, walker.path, states)
        return found

    def find_foreign_file(self, hook: Hook, cwd: str) -> str:
        """Return a file of the workspace that a user's own hook would run, or "".

        The user wrote the name, not the content that a cloned project puts there, nor where a link of it leads.
        """
        foreign = workspace_roots(hook, cwd)
        if not foreign:
            return ""
        reach = self._find_cached(hook, cwd).reach
        hook = get_process_hook(hook)
        path = _join_path(hook, reach)
        cached = self._user_hooks.get(hook.id)
        if cached is not None and cached[0] is reach and cached[1:3] == (foreign, path) and are_unchanged(cached[3]):
            return ""
        states: dict[str, FileState | None] = {}

        def look(place: str) -> None:
            if place not in states:
                states[place] = read_state(place)

        for file in self._list_started(hook, cwd, reach, look):
            if is_inside_real(file, foreign):
                # in the folder of their own hooks, users find their own scripts
                own = real_path(dirname(hook.source_path))
                real = real_path(file)
                if not (is_inside(own, foreign) and is_inside(real, (own,))):
                    return name_in_project(file if is_inside(file, foreign) else real, foreign[0])
        # patterns have to be matched anew each time
        if not reach.patterns and is_settled(states.values(), self._settled):
            self._user_hooks[hook.id] = (reach, foreign, path, tuple(states.items()))
        return ""

    def _list_started(self, hook: Hook, cwd: str, reach: Reachability, look: Look) -> Iterator[str]:
        """Yield every file that could be started, or that decides what is."""
        # the kind removes the project's folders from the inherited search path
        own = hook.env.get("PATH") or without_folders(get_search_path(hook), workspace_roots(hook, cwd))
        path = os.pathsep.join((*reach.search, own))
        base = run_dir(hook, cwd) if self.is_line(hook) else ""
        started = reach.started

        def find(name: str) -> str:
            return next(find_executables(name, path, look, base=base), "")

        pythons = [name if "/" in name else find(name) for name in started.pythons]
        # inherited folders are kept away, and so is the working directory, where Python honours PYTHONSAFEPATH
        versions = [_PYTHON_VERSION.search(real_path(python)) for python in pythons]
        is_isolated = bool(versions) and all(one is not None and int(one[1]) >= _SAFE_PATH_SINCE for one in versions)
        imports = reach.python_path if is_isolated else (*reach.python_path, *reach.code_folders)
        for file in dict.fromkeys(_list_existing(reach, imports, look)):
            yield file
            info = inspect_executable(file)
            for name in info.interpreters if info is not None else ():
                look(name)
                yield name if name.startswith("/") else find(name)
        # without a shell, the kind does not look for the program in the workspace
        if base:
            yield from map(find, started.programs)

    def is_line(self, hook: Hook) -> bool:
        """Return whether a shell may read the command, or that of its undo, and look along PATH as it is."""
        if hook.undo and self.is_line(make_undo_hook(hook)):
            return True
        if hook.shell is not None:
            return hook.shell
        return not hook.args and (self._shell_dialects is None or hook.dialect in self._shell_dialects)

    def _find_cached(self, hook: Hook, cwd: str) -> _CachedFingerprint:
        cached = self._cached.get(hook.id)
        if cached is None or cached.hook is not hook or cached.cwd != cwd:
            runs = get_process_hook(hook)
            reach = analyse_reach(runs, cwd, is_line=self.is_line(runs))
            if hook.undo:
                undo = make_undo_hook(hook)
                reach = merge_reach(reach, analyse_reach(undo, cwd, is_line=self.is_line(undo)))
            cached = self._cached[hook.id] = _CachedFingerprint(hook, cwd, reach)
        return cached


class _DependencyWalker:
    """Follow names to files and programs, and these to their imports and interpreters."""

    def __init__(self, service: FingerprintService, hook: Hook, cwd: str, reach: Reachability) -> None:
        self._read = service.file_cache.read
        self._is_line = service.is_line(hook)
        self._hook = hook
        self._foreign = workspace_roots(hook, cwd)
        self.reach = reach
        self._base = run_dir(hook, cwd)
        self._pending: list[tuple[str, str]] = []
        self._size = 0
        self.problem = ""
        self.states: dict[str, FileState | None] = {}
        self.path: str | None = None
        self.contents: dict[str, Content] = {}
        self.found: dict[str, Executable] = {}

    def follow(self, files: Iterable[str], programs: Iterable[str]) -> None:
        """Read all files and find all programs; a program given by its path is not taken for a script of the hook."""
        for name in programs:
            self._add_program(name)
        for path in files:
            if path not in self.found:
                self._add_file(path)
        for folder in self.reach.imports:
            for path in list_stand_ins(folder, self._look):
                self._add_file(path, folder)
        # a list instead of recursion: files of unknown projects may lead to each other without end
        while self._pending:
            self._read_file(*self._pending.pop())

    def _add_file(self, path: str, start: str = "") -> None:
        """Have a file read; `start` is the folder of the script that loads it."""
        if path not in self.contents:
            self._pending.append((path, start))

    def _read_file(self, path: str, start: str) -> None:
        if path in self.contents or self.problem:
            return
        self._look(path)
        content = self._read(path)
        if content is None:
            return
        self.contents[path] = content
        self._size += len(content.data)
        if len(self.contents) > _MOST_FILES:
            self.problem = f"it is made of more than {_MOST_FILES} files, too many to read before each run"
        elif content.problem:
            name = name_in_project(path, self._base)
            self.problem = f'"{name}" is {content.problem}, too much to read before each run'
        elif self._size > _LARGEST:
            self.problem = f"its files are larger than {_LARGEST // 1024 // 1024} MB, too much to read before each run"
        if content.data.startswith(b"#!"):
            for name in parse_shebang(content.data[:LONGEST_SHEBANG]):
                self._add_program(name)
            # the system counts a relative interpreter from the working directory, and so do its options
            for word in list_shebang_files(content.data[:LONGEST_SHEBANG]):
                self._add_file(join(self._base, word))
        # interpreters look beside the target of a link, shells beside the link
        for place in dict.fromkeys((path, real_path(path))) if content.is_readable else ():
            folder = start or dirname(place)
            context = ImportContext(folder, self._base, self.reach.imports)
            for beside in list_imports(place, content.data, context, self._look):
                self._add_file(beside, folder)

    def _add_program(self, name: str) -> None:
        if name in self.found:
            return
        if name.startswith("/"):
            self._add_executable(name, name)
            return
        looked: list[str] = []
        self.path = _join_path(self._hook, self.reach)
        base = self._base if self._is_line else ""
        for path in find_executables(name, self.path, looked.append, base=base):
            if not is_inside_real(path, self._foreign):
                self._add_executable(name, path)
                # a shell looks each time; without one, the kind caches where it found the program
                self._look(*(looked if self._is_line else ()))
                return
            if self._is_line:
                # a shell would start this one, which is a file of the project
                self._add_file(path)
        self._look(*looked)

    def _add_executable(self, name: str, path: str) -> None:
        info = inspect_executable(path)
        if info is None:
            self._look(path)
            return
        # a program that the user cannot change is known by its path alone
        if not info.is_fixed:
            self.states.setdefault(path, info.state)
        # a text is a script, or data for one, wherever it is
        is_script = info.is_text and not info.is_fixed and name == path
        if is_script or is_inside(path, self._foreign) or is_inside(info.real, self._foreign):
            self._add_file(path)
            return
        self.found[name] = Executable(name, path, seen=() if info.is_fixed else info.state)
        for interpreter in info.interpreters:
            self._add_program(interpreter)

    def _look(self, *paths: str) -> None:
        """Record the state of paths before they are read, so that a change in between shows the next time."""
        for path in paths:
            if path not in self.states:
                self.states[path] = read_state(path)


def get_search_path(hook: Hook) -> str:
    """Return the folders in which a hook's programs are looked up."""
    return hook.env.get("PATH") or caller_context.environ().get("PATH", os.defpath)


def _join_path(hook: Hook, reach: Reachability) -> str:
    """Return the search path with the folders that the command itself puts first."""
    return os.pathsep.join((*reach.search, get_search_path(hook)))


def _list_existing(reach: Reachability, imports: Iterable[str], look: Look) -> Iterator[str]:
    for path in reach.started.files:
        look(path)
        if _exists(path):
            yield path
    for path in reach.started.operands:
        look(path)
        if _exists(path) and (splitext(path)[1] in _SCRIPT_ENDINGS or os.access(path, os.X_OK)):
            yield path
    for folder in imports:
        yield from filter(_exists, list_stand_ins(folder, look))
    with suppress(ConfigError):
        yield from expand_globs(reach.patterns)


def _exists(path: str) -> bool:
    """Return whether a program could read the path: also from a pipe, into which others write."""
    try:
        return not S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def name_in_project(path: str, root: str) -> str:
    """Return a path relative to the project, the same in each of its clones; other paths stay absolute."""
    if not root:
        return path
    real = join(real_path(dirname(path)), path.rpartition("/")[2])
    for place, folder in ((path, root), (real, real_path(root))):
        if is_inside(place, (folder,)):
            # as it is spelled: behind a link, the folder above is not the one that the spelling says
            return relpath(place, folder) if "/../" not in place else place[len(folder) :].lstrip("/")
    return path


def get_naming_root(hook: Hook, cwd: str) -> str:
    """Return the folder that a hook's files are named from: the project, also for a user's own hook."""
    return hook.root if hook.source not in USER_SOURCES else cwd


def _make_fingerprint(hook: Hook, cwd: str, walker: _DependencyWalker, problem: str) -> HookFingerprint:
    root = get_naming_root(hook, cwd)
    hashes = {name_in_project(path, root): content for path, content in walker.contents.items()}
    # the definition beyond the defaults, without the path of this copy of the project
    fields = sorted(msgspec.structs.asdict(hook).items())
    pattern = re.compile(rf"(?<![\w./~-]){re.escape(hook.root)}(?=/|$)") if len(hook.root) > 1 else None
    definition = {
        key: _to_portable(value, pattern)
        for key, value in fields
        if key not in _NOT_COVERED and value != _DEFAULTS[key]
    }
    total = hashlib.sha256(b"hookline 2\0" + json_codec.dump(definition))
    for name, content in sorted(hashes.items()):
        total.update(f"\0{name}\0{content.form}\0{content.sha256}".encode("utf-8", "surrogateescape"))
    return HookFingerprint(
        digest=total.hexdigest(),
        definition={name: _to_readable(value) for name, value in definition.items()},
        files={path: content.data for path, content in walker.contents.items() if content.is_readable},
        hashes={escape_surrogates(name): content.sha256 for name, content in sorted(hashes.items())},
        programs=tuple(walker.found.values()),
        doubts=walker.reach.doubts,
        problem=problem,
    )


def _to_portable(value: object, root: re.Pattern[str] | None) -> object:
    if isinstance(value, str):
        return root.sub(_ROOT, value) if root is not None else str(value)
    if isinstance(value, McpServer):
        value = value.definition()
    if isinstance(value, Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, Mapping):
        return {key: _to_portable(inner, root) for key, inner in sorted(value.items())}
    if isinstance(value, Sequence):
        return [_to_portable(inner, root) for inner in value]
    return value


def escape_surrogates(text: str) -> str:
    """Return a text that UTF-8 can encode, with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _to_readable(value: object) -> object:
    if isinstance(value, str):
        return escape_surrogates(value.replace(_ROOT, "."))
    if isinstance(value, Mapping):
        return {escape_surrogates(key): _to_readable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_to_readable(inner) for inner in value]
    return value
