"""Everything a project and a person configured, in one list, with everything that is wrong about it."""

import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.config import formats
from hookline.config.locations import PLACES, File, Place, Root, find
from hookline.config.problem import Problem, Severity
from hookline.config.reading import TRUST, Origin
from hookline.config.scripts import anchored
from hookline.config.vocabulary import Names, Vocabulary, quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source

LARGEST: Final = 1_048_576

Objection = Callable[[Hook], str]


class Loaded(Struct, frozen=True):
    """All hooks, strongest place first; all problems; and the files they came from."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()


def load(
    project: Path,
    *,
    home: Path,
    config_dir: Path,
    managed_dir: Path | None = None,
    names: Names,
    shell_dialects: Collection[str],
    places: Sequence[Place] = PLACES,
    unusable: Objection | None = None,
    refusal: Objection | None = None,
) -> Loaded:
    """Read every configuration of a project and of the person working on it.

    What cannot be read is a problem, and everything else still loads. `unusable` may object to a hook that
    cannot be planned, such as one with a broken matcher: it is left out. `refusal` may object to what would
    not be run: it is reported and stays, so that its failure counts as its dialect says.
    """
    vocabulary = Vocabulary(names=names, shell_dialects=shell_dialects)
    roots = {Root.PROJECT: project.resolve(), Root.HOME: home.resolve(), Root.CONFIG: config_dir.resolve()}
    if managed_dir is not None:
        roots[Root.MANAGED] = managed_dir.resolve()
    files, problems = find(roots, [place for place in places if place.root in roots])
    hooks: list[Hook] = []
    for file in files:
        found, wrong = _read(file, root=roots[file.place.root], vocabulary=vocabulary)
        hooks += found
        problems += wrong
    hooks = _usable(hooks, problems, objection=unusable)
    hooks = _distinct(hooks, problems)
    problems += _refusals(hooks, refusal)
    return Loaded(tuple(hooks), tuple(problems), tuple(file.path for file in files))


def _read(file: File, *, root: Path, vocabulary: Vocabulary) -> tuple[list[Hook], list[Problem]]:
    place = file.place
    try:
        text = read_text(file.path)
    except ConfigError as problem:
        return [], [Problem(file.path, problem.line, problem.message)]
    origin = Origin(
        path=file.path,
        dialect=place.dialect,
        source=place.source,
        layer=place.layer,
        root=str(root),
        vocabulary=vocabulary,
    )
    hooks, problems = formats.read(text, origin=origin, formats=place.formats)
    beside = os.path.dirname(file.path)  # noqa: PTH120 - asked for each of what may be a thousand files
    # an agent's commands run in the project; a person's own scripts lie beside their configuration
    folders = (str(root), beside) if place.root is Root.PROJECT else (beside, str(root))
    shells = vocabulary.shell_dialects
    return [anchored(hook, folders, shell_dialects=shells) for hook in hooks], problems


def read_text(path: str) -> str:
    """Read a configuration, which is a regular file of at most a megabyte in UTF-8.

    Raises:
        ConfigError: It is not.
    """
    try:
        raw = _bytes(path)
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=path) from None
    if len(raw) > LARGEST:
        raise ConfigError(f"the file is larger than {LARGEST // 1024} KB; nothing in it is in force", path=path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing in it is in force", path=path, line=line) from None


def _bytes(path: str) -> bytes:
    # a named pipe would keep us waiting for ever
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError("this is not a file", path=path)
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
    for definition, hook in sorted(found, key=lambda pair: -TRUST[pair[1].source]):
        same = kept.get(definition)
        if same is None:
            named = _named(hook, ids, problems)
            ids[named.id] = kept[definition] = named
        else:
            problems.append(_about(hook, f"the same hook as in {_place(same)}; it runs once", Severity.NOTE))
    return [kept[definition] for definition in dict(found)]


def _definition(hook: Hook) -> bytes:
    """Say what a hook is, apart from where it was found."""
    return wire.dump(
        replace(
            hook,
            id="",
            source=Source.WORKSPACE,
            layer=Layer.PROJECT,
            root="",
            source_path="",
            source_line=0,
            source_format="",
            source_pointer=(),
        )
    )


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
