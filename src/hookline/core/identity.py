"""What a hook is, byte for byte: its definition, the content of every file it names, the programs it is run with."""
# paths are put together before every run, which costs many times more with pathlib
# ruff: noqa: PTH116, PTH118, PTH120, PTH122

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os.path import dirname, join, relpath, splitext
from stat import S_ISDIR
from typing import Final

import msgspec
from msgspec import Struct

from hookline import surroundings, wire
from hookline.core.closure import base_of, reach
from hookline.core.contents import SETTLED, Content, Contents, Fingerprint, are_as_they_were, is_settled, state_of
from hookline.core.includes import expanded, included
from hookline.core.loads import Around, Loads, Look, stand_ins
from hookline.core.programs import LONGEST_LINE, Program, Programs, interpreters, line_words
from hookline.errors import ConfigError
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook
from hookline.model.reach import Reach
from hookline.model.workspace import OF_THE_PERSON, grounds, inside, lies_in, real_path

# Where a hook stands, what it is called and whether it is switched on is not what it does: a comment above it,
# or another file loaded before it, must not ask again. Warm or not, the same bytes run.
_NOT_IDENTITY: Final = frozenset(
    {
        *("id", "enabled", "call", "layer", "root", "agents", "warm"),
        *("source_path", "source_line", "source_format", "source_pointer"),
    }
)
# what does not say so is as the model has it: a field that a later version adds asks nobody again
_DEFAULTS: Final = msgspec.structs.asdict(Hook(id="", kind="none"))
# the project's own folder, written so that it is the same in each worktree and clone; no path can hold a NUL
_ROOT: Final = "\0root"
_MOST_FILES: Final = 4_000
_LARGEST: Final = 64 * 1024 * 1024
_SCRIPTS: Final = frozenset({".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".bash", ".rb", ".pl", ".php", ".lua"})


# what a hook reaches in a folder, as far as somebody knows
Reached = Callable[[Hook, str], Reach | None]


class Identity(Struct, frozen=True, kw_only=True):
    """What would run now.

    `digest` covers the definition and the files, and is the same in each clone of a repository; `programs` are
    outside of it and belong to this machine. `files` are the bytes that were hashed, by absolute path, `hashes`
    the same files by the name they have in the project. `problem` says why this cannot be approved.
    """

    digest: str
    definition: Mapping[str, object]
    files: Sealed
    hashes: Mapping[str, str]
    programs: tuple[Program, ...]
    problem: str = ""


class _Known(Struct, frozen=True):
    """What about a hook stays the same from run to run, and what it was last.

    `states` are the numbers of every file and folder that was looked at, where these can tell the next change;
    `path` is the search path, if a program was looked for along it.
    """

    hook: Hook
    cwd: str
    reach: Reach
    contents: Mapping[str, Content] = {}
    programs: Mapping[str, Program] = {}
    identity: Identity | None = None
    path: str | None = None
    states: tuple[tuple[str, Fingerprint | None], ...] | None = None

    def holds(self) -> bool:
        """Say whether nothing has changed, without reading: what is run then are the bytes that were read before."""
        if self.states is None or (self.path is not None and self.path != _whole_path(self.hook, self.reach)):
            return False
        return are_as_they_were(self.states)


class _Own(Struct, frozen=True):
    """A person's hook that was found to take nothing from the workspace, and everything that was looked at for it."""

    hook: Hook
    reach: Reach
    foreign: tuple[str, ...]
    path: str
    states: tuple[tuple[str, Fingerprint | None], ...]

    def holds(self, reached: Reach, foreign: tuple[str, ...]) -> bool:
        """Say whether all of it is still so; what a hook reaches is worked out once for each folder it works in."""
        if self.reach is not reached or self.foreign != foreign or self.path != _whole_path(self.hook, reached):
            return False
        return are_as_they_were(self.states)


class Identities:
    """Work out what hooks are, remembering what cannot have changed."""

    def __init__(
        self,
        shell_dialects: Collection[str] | None = None,
        *,
        reached: Reached | None = None,
        settled: int = SETTLED,
    ) -> None:
        """Take the names of the dialects whose commands are shell lines; None when any of them could be.

        `reached` gives what was found out about a hook in a folder before, if it still holds. What has not changed for
        `settled` nanoseconds is only read again when its numbers say so.
        """
        self._reached = reached
        self._shell_dialects = shell_dialects
        self._settled = settled
        self._known: dict[str, _Known] = {}
        self._own: dict[str, _Own] = {}
        self.contents = Contents()
        self.loads = Loads()
        self.programs = Programs()

    def identity(self, hook: Hook, cwd: str) -> Identity:
        """Read everything the hook is made of in this folder, once."""
        known = self._recall(hook, cwd)
        if known.identity is not None and known.holds():
            return known.identity
        names, problem = known.reach.files, known.reach.problem
        try:
            names = (*names, *included(hook.includes, hook.root or cwd), *expanded(known.reach.patterns))
        except ConfigError as objection:
            problem = problem or objection.message
        trail = _Trail(self, hook, cwd, known.reach)
        trail.follow(names, known.reach.programs)
        problem = problem or trail.problem
        # the bytes themselves are compared with those of last time: quicker than to hash them again
        identity = known.identity
        is_same = known.contents == trail.contents and known.programs == trail.found
        if identity is None or not is_same or identity.problem != problem:
            identity = _identity(hook, cwd, trail, problem)
        # patterns have to be matched anew each time
        is_sure = not hook.includes and not known.reach.patterns and is_settled(trail.states.values(), self._settled)
        states = tuple(trail.states.items()) if is_sure else None
        self._known[hook.id] = _Known(hook, cwd, known.reach, trail.contents, trail.found, identity, trail.path, states)
        return identity

    def borrowed(self, hook: Hook, cwd: str) -> str:
        """Name what a person's own hook would take from the folder the agent works in, to run it.

        The person wrote the name, not what a cloned project puts there, nor where a link of it leads.
        """
        foreign = grounds(hook, cwd)
        if not foreign:
            return ""
        reached = self._recall(hook, cwd).reach
        known = self._own.get(hook.id)
        if known is not None and known.holds(reached, foreign):
            return ""
        states: dict[str, Fingerprint | None] = {}

        def look(place: str) -> None:
            if place not in states:
                states[place] = state_of(place)

        found = self._find_borrowed(hook, cwd, foreign, look)
        # patterns have to be matched anew each time
        if not found and not reached.patterns and is_settled(states.values(), self._settled):
            self._own[hook.id] = _Own(hook, reached, foreign, _whole_path(hook, reached), tuple(states.items()))
        return found

    def _find_borrowed(self, hook: Hook, cwd: str, foreign: tuple[str, ...], look: Look) -> str:
        for path in self._started(hook, cwd, look):
            if lies_in(path, foreign):
                # who works in the folder of their own hooks finds their own scripts there
                own = real_path(dirname(hook.source_path))
                real = real_path(path)
                if not (inside(own, foreign) and inside(real, (own,))):
                    return shown(path if inside(path, foreign) else real, foreign[0])
        return ""

    def _started(self, hook: Hook, cwd: str, look: Look) -> Iterator[str]:
        """Give every file that could be started, or that says what is."""
        reached = self._recall(hook, cwd).reach
        path = _whole_path(hook, reached)
        base = base_of(hook, cwd) if self.is_line(hook) else ""

        def find(name: str) -> str:
            return next(self.programs.candidates(name, path, look, base=base), "")

        for file in dict.fromkeys(self._run_files(reached, look)):
            yield file
            about = self.programs.look(file)
            for name in about.interpreters if about is not None else ():
                look(name)
                yield name if name.startswith("/") else find(name)
        # without a shell, the kind passes the workspace over when it looks for the program
        if base:
            yield from map(find, reached.programs)

    def _run_files(self, reached: Reach, look: Look) -> Iterator[str]:
        for path in reached.files:
            if path in reached.data:
                continue
            look(path)
            if _is_there(path) and (
                path in reached.recipes or splitext(path)[1] in _SCRIPTS or os.access(path, os.X_OK)
            ):
                yield path
        for words in reached.scripts:
            for path in words:
                look(path)
            yield from itertools.islice(filter(_is_there, words), 1)
        for folder in reached.imports:
            yield from filter(_is_there, stand_ins(folder, look))
        with suppress(ConfigError):
            yield from expanded(reached.patterns)

    def is_line(self, hook: Hook) -> bool:
        """Say whether a shell may read the command, and look along PATH as it is."""
        if hook.shell is not None:
            return hook.shell
        return not hook.args and (self._shell_dialects is None or hook.dialect in self._shell_dialects)

    def unchanged(self, hook: Hook, cwd: str) -> Identity | None:
        """Give what was read for the last event in the same folder, if it is as it was; None where it has to be read."""
        known = self._known.get(hook.id)
        if known is None or known.hook is not hook or known.cwd != cwd or known.identity is None or not known.holds():
            return None
        return known.identity

    def _recall(self, hook: Hook, cwd: str) -> _Known:
        known = self._known.get(hook.id)
        if known is None or known.hook is not hook or known.cwd != cwd:
            before = self._reached(hook, cwd) if self._reached is not None else None
            known = self._known[hook.id] = _Known(hook, cwd, before or reach(hook, cwd))
        return known


class _Trail:
    """Follows names to files and programs, and these to their interpreters."""

    def __init__(self, known: Identities, hook: Hook, cwd: str, reached: Reach) -> None:
        self._read = known.contents.read
        self._loads = known.loads
        self._programs = known.programs
        self._hook = hook
        self._cwd = cwd
        self._foreign = grounds(hook, cwd)
        self._is_line = known.is_line(hook)
        self._reached = reached
        self._base = base_of(hook, cwd)
        self._waiting: list[tuple[str, str]] = []
        self._size = 0
        self.problem = ""
        self.states: dict[str, Fingerprint | None] = {}
        self.path: str | None = None
        self.contents: dict[str, Content] = {}
        self.found: dict[str, Program] = {}

    def follow(self, files: Iterable[str], programs: Iterable[str]) -> None:
        """Take all files and programs; a program given by its path is not taken for a script of the hook."""
        for name in programs:
            self._program(name)
        for path in files:
            if path not in self.found:
                self._file(path)
        for folder in self._reached.imports:
            for path in stand_ins(folder, self._look):
                self._file(path, folder)
        # a list instead of calls within calls: files of strangers may lead to each other without end
        while self._waiting:
            self._take(*self._waiting.pop())

    def _file(self, path: str, start: str = "") -> None:
        """Take a file in its turn; `start` is the folder of the script that loads it."""
        if path not in self.contents:
            self._waiting.append((path, start))

    def _take(self, path: str, start: str) -> None:
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
            self.problem = f'"{shown(path, self._base)}" is {content.problem}, too much to read before each run'
        elif self._size > _LARGEST:
            self.problem = f"its files are larger than {_LARGEST // 1024 // 1024} MB, too much to read before each run"
        if content.data.startswith(b"#!"):
            for name in interpreters(content.data[:LONGEST_LINE]):
                self._program(name)
            # to the system, a relative interpreter lies in the folder the hook runs in, and so do its options' files
            for word in line_words(content.data[:LONGEST_LINE]):
                self._file(join(self._base, word))
        if content.readable:
            self._follow_loads(path, content.data, start)

    def _follow_loads(self, path: str, text: bytes, start: str) -> None:
        # interpreters look beside what a link leads to, shells beside the link
        for place in dict.fromkeys((path, real_path(path))):
            folder = start or dirname(place)
            around = Around(folder, self._base, self._reached.imports)
            for beside in self._loads.files(place, text, around, self._look):
                self._file(beside, folder)

    def _program(self, name: str) -> None:
        if name in self.found:
            return
        if name.startswith("/"):
            self._at(name, name)
            return
        looked: list[str] = []
        self.path = _whole_path(self._hook, self._reached)
        base = self._base if self._is_line else ""
        for path in self._programs.candidates(name, self.path, looked.append, base=base):
            if not lies_in(path, self._foreign):
                self._at(name, path)
                # a shell looks anew each time; without one, the kind remembers where it found the program
                self._look(*(looked if self._is_line else ()))
                return
            if self._is_line:
                # a shell would start this one, which is a file of the project
                self._file(path)
        self._look(*looked)

    def _look(self, *paths: str) -> None:
        """Note in which state a place is, before it is read: a change in between then shows the next time."""
        for path in paths:
            if path not in self.states:
                self.states[path] = state_of(path)

    def _at(self, name: str, path: str) -> None:
        about = self._programs.look(path)
        if about is None:
            self._look(path)
            return
        # one that the person could not change is known by its path alone
        if not about.is_fixed:
            self.states.setdefault(path, about.state)
        # a text is a script, or what one is given, wherever it lies
        is_script = about.is_text and not about.is_fixed and name == path
        if is_script or inside(path, self._foreign) or inside(about.real, self._foreign):
            self._file(path)
            return
        self.found[name] = Program(name, path, seen=() if about.is_fixed else about.state)
        for one in about.interpreters:
            self._program(one)


def search_path(hook: Hook) -> str:
    """Give the folders in which a hook's programs are looked for."""
    return hook.env.get("PATH") or surroundings.environ().get("PATH", os.defpath)


def _whole_path(hook: Hook, reached: Reach) -> str:
    """Give the search path with the folders that the command itself puts first."""
    return os.pathsep.join((*reached.search, search_path(hook)))


def _is_there(path: str) -> bool:
    """Say whether something stands there that a program could read: a pipe, too, into which others write."""
    try:
        return not S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def shown(path: str, root: str) -> str:
    """Write a path as it is called in the project, the same in each of its clones; others stay absolute."""
    if not root:
        return path
    real = join(real_path(dirname(path)), path.rpartition("/")[2])
    for place, folder in ((path, root), (real, real_path(root))):
        if inside(place, (folder,)):
            # as it is spelled: behind a link, what is above a folder is not what the spelling says
            return relpath(place, folder) if "/../" not in place else place[len(folder) :].lstrip("/")
    return path


def anchor(hook: Hook, cwd: str) -> str:
    """Give the folder that a hook's files are named from: the project, also for a person's own hook."""
    return hook.root if hook.source not in OF_THE_PERSON else cwd


def _identity(hook: Hook, cwd: str, trail: _Trail, problem: str) -> Identity:
    root = anchor(hook, cwd)
    hashes = {shown(path, root): content for path, content in trail.contents.items()}
    definition = _definition(hook)
    total = hashlib.sha256(b"hookline 2\0" + wire.dump(definition))
    for name, content in sorted(hashes.items()):
        total.update(f"\0{name}\0{content.form}\0{content.sha256}".encode("utf-8", "surrogateescape"))
    return Identity(
        digest=total.hexdigest(),
        definition={name: _readable(value) for name, value in definition.items()},
        files={path: content.data for path, content in trail.contents.items() if content.readable},
        hashes={printable(name): content.sha256 for name, content in sorted(hashes.items())},
        programs=tuple(trail.found.values()),
        problem=problem,
    )


def _definition(hook: Hook) -> dict[str, object]:
    """Give what the definition says beyond the defaults, without the place this copy of the project has."""
    fields = sorted(msgspec.structs.asdict(hook).items())
    said = {key: value for key, value in fields if key not in _NOT_IDENTITY and value != _DEFAULTS[key]}
    pattern = re.compile(rf"(?<![\w./~-]){re.escape(hook.root)}(?=/|$)") if len(hook.root) > 1 else None
    return {key: _portable(value, pattern) for key, value in said.items()}


def _portable(value: object, root: re.Pattern[str] | None) -> object:
    if isinstance(value, str):
        return root.sub(_ROOT, value) if root is not None else str(value)
    if isinstance(value, Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, Mapping):
        return {key: _portable(inner, root) for key, inner in sorted(value.items())}
    if isinstance(value, Sequence):
        return [_portable(inner, root) for inner in value]
    return value


def printable(text: str) -> str:
    """Write what UTF-8 cannot hold in a way that a file can."""
    return text.encode("utf-8", "backslashreplace").decode()


def _readable(value: object) -> object:
    if isinstance(value, str):
        return printable(value.replace(_ROOT, "."))
    if isinstance(value, Mapping):
        return {printable(key): _readable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_readable(inner) for inner in value]
    return value
