"""Everything a project and a person configured, in one list, with everything that is wrong about it."""

import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import fields, replace

from hookline import wire
from hookline.config import formats, settings
from hookline.config.copies import joined
from hookline.config.locations import PLACES, File, Place, Root, Roots, find
from hookline.config.problem import Problem, Severity
from hookline.config.reading import TRUST, Origin
from hookline.config.scripts import anchored, folders_of
from hookline.config.stamps import Stamps, take
from hookline.config.vocabulary import Vocabulary, quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source

logger = logging.getLogger(__name__)

LARGEST: Final = 1_048_576
_AT_ONCE: Final = 64
_BEGINNING: Final = 65_536
_BYTE_ORDER_MARK: Final = "\ufeff"

Objection = Callable[[Hook], str]

# what a hook is, apart from where it was found
_DEFINING: Final = attrgetter(
    *sorted(
        {field.name for field in fields(Hook)}
        - {"id", "source", "layer", "root", "source_path", "source_line", "source_format", "source_pointer", "agents"}
    )
)
# how the variables end in which agents say it
_PROJECT: Final = "_PROJECT_DIR"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
# every other file that holds settings, holds them in vain
_WITH_SETTINGS: Final = frozenset({Layer.MANAGED, Layer.USER})


class Search(Struct, frozen=True, kw_only=True):
    """Where to look, and the words that count there.

    `above` are the folders between the project and the top of its repository, the nearest first. `managed` is
    there only when the administrator alone could have put something into it.
    """

    project: Path
    home: Path
    config: Path
    vocabulary: Vocabulary
    managed: Path | None = None
    above: tuple[Path, ...] = ()
    places: Sequence[Place] = PLACES


class Found(Struct, frozen=True):
    """A file that was found: whose it is, and how many hooks it defines."""

    path: str
    layer: Layer
    source: Source
    dialect: str
    root: str
    hooks: int


class Loaded(Struct, frozen=True):
    """All hooks, strongest place first; all problems; and the files they came from.

    `lost` are the problems because of which a hook that somebody wrote may be missing. `stamps` are what the files
    and the folders around them looked like before they were read.
    """

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()
    lost: tuple[Problem, ...] = ()
    stamps: Stamps = Stamps()


def load(search: Search, *, unusable: Objection | None = None, refusal: Objection | None = None) -> Loaded:
    """Read every configuration of a project and of the person working on it.

    What cannot be read is a problem, and everything else still loads. `unusable` may object to a hook that
    cannot be planned, such as one with a broken matcher: it is left out. `refusal` may object to what would
    not be run: it is reported and stays, so that its failure counts as its dialect says.
    """
    looked: set[str] = set()
    files, problems = find(_roots(search), search.places, looked=looked)
    stamps = take((file.path for file in files), looked)
    hooks: list[Hook] = []
    found: list[Found] = []
    others: list[Problem] = []
    asked: dict[str, bool] = {}
    for file, text in _texts(files, problems, search.vocabulary):
        defined, wrong, idle = _read_guarded(text, file, vocabulary=search.vocabulary, asked=asked)
        hooks += defined
        problems += wrong
        others += idle
        place = file.place
        found.append(Found(file.path, place.layer, place.source, place.dialect, file.root, len(defined)))
    hooks = _usable(hooks, problems, objection=unusable)
    lost = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    problems += others
    hooks = _distinct(joined(hooks, search.vocabulary.tools), problems)
    problems += _refusals(hooks, refusal)
    return Loaded(
        tuple(hooks),
        tuple(problems),
        tuple(file.path for file in files),
        tuple(found),
        lost,
        replace(stamps, scripts=tuple(asked.items())),
    )


def find_again(search: Search, looked: set[str]) -> list[str]:
    """Give the files that would be read now, in their order; `looked` gets the folders that were searched."""
    return [file.path for file in find(_roots(search), search.places, looked=looked)[0]]


def _roots(search: Search) -> Roots:
    paths = {
        Root.MANAGED: (search.managed,) if search.managed is not None else (),
        Root.PROJECT: (search.project, *search.above),
        Root.HOME: (search.home,),
        Root.CONFIG: (search.config,),
    }
    return {root: [str(path.resolve()) for path in folders] for root, folders in paths.items()}


def _texts(files: list[File], problems: list[Problem], vocabulary: Vocabulary) -> Iterator[tuple[File, str]]:
    """Read the files, some at once: going back and forth between the system and the parser costs both their pace."""
    for start in range(0, len(files), _AT_ONCE):
        some: list[tuple[File, str]] = []
        for file in files[start : start + _AT_ONCE]:
            try:
                if file.place.is_program:
                    some += _program(file, problems, vocabulary)
                else:
                    some.append((file, read_text(file.path, is_managed=file.place.layer is Layer.MANAGED)))
            except ConfigError as problem:
                problems.append(Problem(file.path, problem.line, problem.message))
        yield from some


def _program(file: File, problems: list[Problem], vocabulary: Vocabulary) -> Iterator[tuple[File, str]]:
    """Give a program with how it begins; what cannot be run is none, and is passed over as its agent does."""
    try:
        info = os.stat(file.path)  # noqa: PTH116 - beside the others
        if stat.S_ISREG(info.st_mode) and os.access(file.path, os.X_OK):
            with open(file.path, "rb") as opened:  # noqa: PTH123
                yield file, opened.read(_BEGINNING).decode(errors="replace")
        elif file.path.rpartition("/")[2] in vocabulary.names.get(file.place.dialect, {}):
            why = f"{file.place.agent} runs only what may be executed, so this is no hook; chmod +x makes it one"
            problems.append(Problem(file.path, 0, why, Severity.NOTE))
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=file.path) from None


# the hooks of a file, what is wrong with them, and the settings in it that have no effect
_Contents = tuple[list[Hook], list[Problem], list[Problem]]


def _read_guarded(text: str, file: File, *, vocabulary: Vocabulary, asked: dict[str, bool]) -> _Contents:
    try:
        return _read(text, file, vocabulary=vocabulary, asked=asked)
    except Exception as problem:
        # A file of a stranger that makes us fall over must not take a person's guards with it.
        logger.exception("%s could not be read", file.path)
        why = f"reading this file shows a bug in hookline ({problem!r}); nothing in it is in force, please report it"
        return [], [Problem(file.path, 0, why)], []


def _read(text: str, file: File, *, vocabulary: Vocabulary, asked: dict[str, bool]) -> _Contents:
    place = file.place
    origin = Origin(
        path=file.path,
        dialect=place.dialect,
        source=place.source,
        layer=place.layer,
        root=file.root,
        agent=place.agent,
        vocabulary=vocabulary,
    )
    hooks, problems = formats.read(text, origin=origin, formats=place.formats)
    # what else stands in an agent's own file is the agent's business
    is_foreign = place.layer not in _WITH_SETTINGS and not place.agent
    idle = settings.foreign(text, path=file.path) if is_foreign else []
    folders = folders_of(file.path, layer=place.layer, root=file.root)
    shells = vocabulary.shell_dialects
    return [anchored(hook, folders, shell_dialects=shells, asked=asked) for hook in hooks], problems, idle


def read_text(path: str, *, is_managed: bool = False) -> str:
    """Read a configuration, which is a regular file of at most a megabyte in UTF-8.

    A managed one belongs to whom its folder belongs to, and nobody else may write to it.

    Raises:
        ConfigError: It is not.
    """
    try:
        raw = _bytes(path, is_managed=is_managed)
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=path) from None
    if len(raw) > LARGEST:
        raise ConfigError(f"the file is larger than {LARGEST // 1024} KB; nothing in it is in force", path=path)
    try:
        return raw.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing in it is in force", path=path, line=line) from None


def _bytes(path: str, *, is_managed: bool) -> bytes:
    # a named pipe would keep us waiting for ever
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError("this is not a file", path=path)
        if is_managed and (info.st_mode & _OTHERS_WRITE or info.st_uid != Path(path).parent.stat().st_uid):
            raise ConfigError(
                "the file can be changed by others than the administrator; chmod 644, chown root", path=path
            )
        return os.read(handle, min(info.st_size, LARGEST) + 1)
    finally:
        os.close(handle)


def _usable(hooks: list[Hook], problems: list[Problem], *, objection: Objection | None) -> list[Hook]:
    if objection is None:
        return hooks
    usable = []
    for hook in hooks:
        reason = objection(hook)
        if reason:
            problems.append(_about(hook, f"hook {quoted(hook.id)} is not loaded: {reason}"))
        else:
            usable.append(hook)
    return usable


def _distinct(hooks: list[Hook], problems: list[Problem]) -> list[Hook]:
    """Keep each hook once, and give each an id of its own.

    Those that are trusted more choose first: a workspace that copies a person's own hook must neither put
    it back to "not approved" nor take its name.
    """
    kept: dict[bytes, Hook] = {}
    ids: dict[str, Hook] = {}
    found = [(_definition(hook), hook) for hook in hooks]
    for definition, hook in sorted(found, key=lambda pair: _standing(pair[1])):
        same = kept.get(definition)
        if same is None:
            named = _named(hook, ids, problems)
            ids[named.id] = kept[definition] = named
        else:
            problems.append(_about(hook, f"the same hook as in {_place(same)}; it runs once", Severity.NOTE))
    return [kept[definition] for definition in dict(found)]


def _standing(hook: Hook) -> tuple[bool, int]:
    return hook.layer is not Layer.MANAGED, -TRUST[hook.source]


def _definition(hook: Hook) -> bytes:
    """Say what a hook is, apart from where it was found."""
    # patterns and included files are counted from there, so in another folder they are others
    counted = any((hook.files, hook.writes, hook.deletes, hook.reads, hook.includes)) or _names_its_project(hook)
    root = hook.root if counted else ""
    return wire.dump((root, _DEFINING(hook)))


def _names_its_project(hook: Hook) -> bool:
    """Say whether a hook of a project names its files from the folder that agents say the project is."""
    is_of_project = hook.layer is Layer.PROJECT or hook.layer is Layer.LOCAL
    return is_of_project and any(_PROJECT in word for word in (hook.command, *hook.args))


def _named(hook: Hook, ids: Mapping[str, Hook], problems: list[Problem]) -> Hook:
    if hook.id not in ids:
        return hook
    fresh = next(name for number in count(2) if (name := f"{hook.id}-{number}") not in ids)
    # an id made of the file's name was nobody's choice
    if hook.name:
        other = _place(ids[hook.id])
        problems.append(
            _about(hook, f"{other} has a hook {quoted(hook.id)}, too; this one is {quoted(fresh)}", Severity.NOTE)
        )
    return replace(hook, id=fresh)


def _refusals(hooks: list[Hook], refusal: Objection | None) -> list[Problem]:
    if refusal is None:
        return []
    reasons = [(hook, refusal(hook)) for hook in hooks]
    return [_about(hook, f"hook {quoted(hook.id)} will not be run: {reason}") for hook, reason in reasons if reason]


def _about(hook: Hook, message: str, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(hook.source_path, hook.source_line, message, severity)


def _place(hook: Hook) -> str:
    return f"{hook.source_path}:{hook.source_line}"
