"""Load all hooks of a project and its user, with every problem."""

import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from hookline import json_codec
from hookline.config import formats, settings
from hookline.config.discovery import LOCATIONS, DiscoveredFile, Location, Root, Roots, find_files
from hookline.config.document import Document, Problem, Severity
from hookline.config.reader import TRUST_RANK, FileOrigin, KnownNames, Tools, canonical_tools, is_guard
from hookline.config.script_paths import anchor_scripts, script_folders
from hookline.config.staleness import FileStamps, capture
from hookline.config.undo_log import UndoLog, read_bytes
from hookline.errors import ConfigError
from hookline.files import OPEN_SAFELY, replace_file
from hookline.model.hook import INVALID, Hook, Layer, OnError, Source
from hookline.model.installed_entry import LAUNCHER
from hookline.model.sandbox import NONE
from hookline.text import quote

logger = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 1_048_576
# of all files that came with a project or a package: bytes, hooks, and seconds to read them
MAX_FOREIGN_BYTES: Final = 4 * 1_048_576
MAX_FOREIGN_HOOKS: Final = 1_000
MAX_FOREIGN_SECONDS: Final = 20.0
_PROGRAM_HEAD_BYTES: Final = 65_536
_BYTE_ORDER_MARK: Final = "\ufeff"

FindReason = Callable[[Hook], str]

# where a hook was found, which says nothing about what it is
_FOUND_AT: Final = frozenset(
    {"id", "layer", "root", "run_by", "source_path", "source_line", "source_format", "source_pointer"}
)
_HOOK_FIELDS: Final = [field for field in fields(Hook) if field.name not in _FOUND_AT]
_DEFINING_FIELDS: Final = attrgetter(*sorted({field.name for field in _HOOK_FIELDS} - {"source"}))
# how the variables end in which agents say it
_PROJECT: Final = "_PROJECT_DIR"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
# every other file that holds settings, holds them in vain
_WITH_SETTINGS: Final = frozenset({Layer.MANAGED, Layer.USER})


class SearchPaths(Struct, frozen=True, kw_only=True):
    """Where to look for configuration files, and the known names.

    `above` are the folders between the project and the top of its repository, the nearest first. `managed` is
    there only when the administrator alone could have put something into it. `data` has the record of the entries in
    other systems' user files; without it, all of them count as known. Without `records`, nothing is written there.
    `parsed` has the text and the document of files that were parsed already, by path.
    """

    project: Path
    home: Path
    config: Path
    known_names: KnownNames
    managed: Path | None = None
    data: Path | None = None
    records: bool = True
    above: tuple[Path, ...] = ()
    locations: Sequence[Location] = LOCATIONS
    parsed: Mapping[str, tuple[str, Document]] = {}


class LoadedFile(Struct, frozen=True):
    """A file that was found: whose it is, and how many hooks it defines."""

    path: str
    layer: Layer
    source: Source
    dialect: str
    root: str
    hooks: int


class LoadResult(Struct, frozen=True):
    """All hooks, strongest place first; all problems; and the files they came from.

    `notes` are problems that cannot have cost a configured hook, `lost` those because of which one may be missing.
    `stamps` are what the files and the folders around them looked like before they were read.
    """

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    loaded_files: tuple[LoadedFile, ...] = ()
    lost: tuple[Problem, ...] = ()
    stamps: FileStamps = FileStamps()
    notes: tuple[Problem, ...] = ()


def load(search: SearchPaths, *, unusable: FindReason | None = None, refusal: FindReason | None = None) -> LoadResult:
    """Read every configuration of a project and of the user working on it, and judge the hooks; see `judge`."""
    return judge(read_candidates(search), tools=search.known_names.tools, unusable=unusable, refusal=refusal)


def judge(
    candidates: LoadResult,
    *,
    tools: Mapping[str, Mapping[str, tuple[str, ...]]],
    unusable: FindReason | None = None,
    refusal: FindReason | None = None,
) -> LoadResult:
    """Return the hooks that can be planned, each once, with everything that is wrong.

    `unusable` may object to a hook that cannot be planned, such as one with a broken matcher: it is left out. `refusal` may
    object to a hook that would not be run: it is reported and stays, so that its failure counts as its dialect says.
    """
    problems = list(candidates.problems)
    hooks = _drop_unusable(list(candidates.hooks), problems, objection=unusable)
    lost = tuple(problem for problem in problems if problem.severity is Severity.ERROR and not problem.settled)
    problems += candidates.notes
    hooks = _drop_duplicates(merge_copies(hooks, tools), problems)
    for hook in hooks:
        # what is wrong with the definition was reported where it was read
        if refusal is not None and not hook.invalid and (reason := _find_reason(refusal, hook)):
            problems.append(_hook_problem(hook, f"hook {quote(hook.id)} will not be run: {reason}"))
    return replace(candidates, hooks=tuple(hooks), problems=tuple(problems), lost=lost)


def read_candidates(search: SearchPaths) -> LoadResult:
    """Read every configuration of a project and of the user working on it; `judge` decides which of the hooks count.

    A file that cannot be read is a problem, and everything else still loads.
    """
    looked: set[str] = set()
    files, problems = find_files(_roots(search), search.locations, looked=looked)
    stamps = capture((file.path for file in files), looked)
    notes: list[Problem] = []
    asked: dict[str, bool] = {}
    read: dict[str, list[Hook]] = {}
    texts: dict[str, tuple[DiscoveredFile, str]] = {}
    bounds = _ForeignFileLimits()
    # the user's own files first: those of a project must not use up the time for them
    for file, text in _read_files(sorted(files, key=_is_foreign), problems, search.known_names):
        if _is_foreign(file) and (too_much := bounds.refusal_reason(text)):
            problems.append(Problem(file.path, 0, too_much))
            continue
        defined, wrong, idle = _read(text, file, search=search, asked=asked)
        if _is_foreign(file):
            defined = bounds.truncate(defined, file, wrong)
        read[file.path] = defined
        texts[file.path] = (file, text)
        problems += wrong
        notes += idle
    files_read = [(file, file.location) for file in files if file.path in read]
    hooks = [hook for file, _ in files_read for hook in read[file.path]]
    if search.data is not None:
        hooks, renewed = mark_new_entries(
            hooks,
            texts,
            search.data,
            read=lambda text, file: _read(text, file, search=search, asked={})[0],
            writes=search.records,
        )
        notes += renewed
    return LoadResult(
        hooks=tuple(hooks),
        problems=tuple(problems),
        files=tuple(file.path for file in files),
        loaded_files=tuple(
            LoadedFile(file.path, place.layer, place.source, place.dialect, file.root, len(read[file.path]))
            for file, place in files_read
        ),
        stamps=replace(stamps, scripts=tuple(asked.items())),
        notes=tuple(notes),
    )


class _ForeignFileLimits:
    """Limits for files that came with a project or a package, against denial of service."""

    def __init__(self) -> None:
        self._bytes = 0
        self._hooks = 0
        self._until = monotonic() + MAX_FOREIGN_SECONDS

    def refusal_reason(self, text: str) -> str:
        """Return why a file is not read; empty when it is."""
        self._bytes += len(text)
        if self._bytes > MAX_FOREIGN_BYTES:
            limit = f"are larger than {MAX_FOREIGN_BYTES // 1_048_576} MB together"
        elif self._hooks >= MAX_FOREIGN_HOOKS:
            limit = f"hold more than {MAX_FOREIGN_HOOKS:,} hooks"
        elif monotonic() > self._until:
            limit = f"took longer than {MAX_FOREIGN_SECONDS:g} s to read"
        else:
            return ""
        return f"the hook files of this project {limit}; nothing in this one is in force"

    def truncate(self, hooks: list[Hook], file: DiscoveredFile, problems: list[Problem]) -> list[Hook]:
        """Return the hooks that may still be taken, with a problem where some may not."""
        left = MAX_FOREIGN_HOOKS - self._hooks
        self._hooks += len(hooks)
        if len(hooks) > left:
            line = hooks[left].source_line
            why = f"a project may have {MAX_FOREIGN_HOOKS:,} hooks; the {len(hooks) - left:,} from here on are not in force"
            problems.append(Problem(file.path, line, why))
        return hooks[:left]


def _is_foreign(file: DiscoveredFile) -> bool:
    return TRUST_RANK[file.location.source] < TRUST_RANK[Source.USER]


def find_config_files(search: SearchPaths, looked: set[str]) -> list[str]:
    """Return the files that would be read now, in their order; `looked` gets the folders that were searched."""
    return [file.path for file in find_files(_roots(search), search.locations, looked=looked)[0]]


def _roots(search: SearchPaths) -> Roots:
    paths = {
        Root.MANAGED: (search.managed,) if search.managed is not None else (),
        Root.PROJECT: (search.project, *search.above),
        Root.HOME: (search.home,),
        Root.CONFIG: (search.config,),
    }
    return {root: [str(path.resolve()) for path in folders] for root, folders in paths.items()}


def _read_files(
    files: list[DiscoveredFile], problems: list[Problem], vocabulary: KnownNames
) -> Iterator[tuple[DiscoveredFile, str]]:
    for file in files:
        try:
            if not file.location.is_program:
                yield file, read_text(file.path, is_managed=file.location.layer is Layer.MANAGED)
                continue
            # of a program, how it begins; what cannot be run is none, and is passed over as its agent does
            info = os.stat(file.path)  # noqa: PTH116 - beside the others
            if stat.S_ISREG(info.st_mode) and os.access(file.path, os.X_OK):
                with open(file.path, "rb") as opened:  # noqa: PTH123
                    yield file, opened.read(_PROGRAM_HEAD_BYTES).decode(errors="replace")
            elif file.path.rpartition("/")[2] in vocabulary.names.get(file.location.dialect, {}):
                why = f"{file.location.agent} runs only what may be executed, so this is no hook; chmod +x makes it one"
                problems.append(Problem(file.path, 0, why, Severity.NOTE))
        except ConfigError as problem:
            problems.append(Problem(file.path, problem.line, problem.message))
        except OSError as problem:
            problems.append(Problem(file.path, 0, f"the file cannot be read: {problem.strerror}"))


def _read(
    text: str, file: DiscoveredFile, *, search: SearchPaths, asked: dict[str, bool]
) -> tuple[list[Hook], list[Problem], list[Problem]]:
    """Return the hooks of a file, what is wrong with them, and the settings in it that have no effect."""
    place, vocabulary = file.location, search.known_names
    origin = FileOrigin(
        path=file.path,
        dialect=place.dialect,
        source=place.source,
        layer=place.layer,
        root=file.root,
        agent=place.agent,
        known_names=vocabulary,
    )
    known = search.parsed.get(file.path)
    # the file may have changed since it was parsed for its settings
    document = known[1] if known is not None and known[0] == text else None
    try:
        hooks, problems = formats.read(text, origin=origin, formats=place.formats, document=document)
        # what else stands in an agent's own file is the agent's business
        is_foreign = place.layer not in _WITH_SETTINGS and not place.agent
        idle = settings.find_foreign_settings(text, path=file.path) if is_foreign else []
        folders = script_folders(file.path, layer=place.layer, root=file.root)
        shells = vocabulary.shell_dialects
        return [anchor_scripts(hook, folders, shell_dialects=shells, asked=asked) for hook in hooks], problems, idle
    except Exception as problem:
        # A file of a stranger that makes us fail must not take a user's guards with it.
        logger.exception("%s could not be read", file.path)
        why = f"reading this file shows a bug in hookline ({problem!r}); nothing in it is in force, please report it"
        return [], [Problem(file.path, 0, why)], []


def read_text(path: str, *, is_managed: bool = False, largest: int | None = None) -> str:
    """Read a configuration, which is a regular file of at most a megabyte, or `largest` bytes, in UTF-8.

    A managed file must have the owner of its folder, and only the owner may write to it.

    Raises:
        ConfigError: It is not.
    """
    most = largest or MAX_FILE_BYTES
    try:
        handle = os.open(path, OPEN_SAFELY)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise ConfigError("this is not a file", path=path)
            if is_managed and (info.st_mode & _OTHERS_WRITE or info.st_uid != Path(path).parent.stat().st_uid):
                why = "the file can be changed by others than the administrator; chmod 644, chown root"
                raise ConfigError(why, path=path)
            raw = os.read(handle, min(info.st_size, most) + 1)
        finally:
            os.close(handle)
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=path) from None
    if len(raw) > most:
        raise ConfigError(f"the file is larger than {most // 1024} KB; nothing in it is in force", path=path)
    try:
        return raw.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing in it is in force", path=path, line=line) from None


def _find_reason(find: FindReason, hook: Hook) -> str:
    """Return what is wrong with a hook, or ""; one that makes us fail must not take the others with it."""
    try:
        return find(hook)
    except Exception as problem:
        logger.exception("%s could not be judged", hook.id)
        return f"judging it shows a bug in hookline ({problem!r}), please report it"


def _drop_unusable(hooks: list[Hook], problems: list[Problem], *, objection: FindReason | None) -> list[Hook]:
    """Drop hooks that cannot be planned; a guard among them is replaced by a refused one, which fails closed."""
    if objection is None:
        return hooks
    usable = []
    for hook in hooks:
        reason = _find_reason(objection, hook)
        if not reason:
            usable.append(hook)
            continue
        problem = _hook_problem(hook, f"hook {quote(hook.id)} is not loaded: {reason}")
        problems.append(replace(problem, settled=True))
        if not is_guard(hook) or not hook.enabled or hook.background:
            continue
        # the refused guard is narrowed down by what can be read of it
        bare = Hook(id=hook.id, kind=INVALID, dialect=hook.dialect)
        broken = {
            field: getattr(bare, field)
            for field in ("matcher", "files", "writes", "deletes", "reads", "runs", "urls", "condition", "schedule")
            if getattr(hook, field) and _find_reason(objection, replace(bare, **{field: getattr(hook, field)}))
        }
        why = f"{reason}; it is not in force: mend {_location(hook)}, then `hookline check`"
        usable.append(replace(hook, kind=INVALID, invalid=why, on_error=OnError.BLOCK, **broken))
    return usable


def _drop_duplicates(hooks: list[Hook], problems: list[Problem]) -> list[Hook]:
    """Keep each hook once, and give each an id of its own.

    Those that are trusted more choose first: a workspace that copies a user's own hook must neither put
    it back to "not approved" nor take its name.
    """
    kept: dict[bytes, Hook] = {}
    ids: dict[str, Hook] = {}
    last: dict[str, int] = {}
    found = [(_definition_key(hook), hook) for hook in hooks]
    for definition, hook in sorted(
        found, key=lambda pair: (pair[1].layer is not Layer.MANAGED, -TRUST_RANK[pair[1].source])
    ):
        if same := kept.get(definition):
            problems.append(_hook_problem(hook, f"the same hook as in {_location(same)}; it runs once", Severity.NOTE))
            continue
        named = hook
        if hook.id in ids:
            number = next(number for number in count(last.get(hook.id, 1) + 1) if f"{hook.id}-{number}" not in ids)
            last[hook.id] = number
            named = replace(hook, id=f"{hook.id}-{number}")
            # only an id that the user chose is worth a note
            if hook.name:
                why = f"{_location(ids[hook.id])} has a hook {quote(hook.id)}, too; this one is {quote(named.id)}"
                problems.append(_hook_problem(hook, why, Severity.NOTE))
        ids[named.id] = kept[definition] = named
    return [kept[definition] for definition in dict(found)]


def _definition_key(hook: Hook) -> bytes:
    """Return what a hook is, apart from where it was found."""
    # patterns and included files are counted from there, so in another folder they are others; so is what a hook of a
    # project names from the folder that agents say the project is
    counted = any((hook.files, hook.writes, hook.deletes, hook.reads, hook.includes)) or (
        hook.layer in {Layer.PROJECT, Layer.LOCAL} and any(_PROJECT in word for word in (hook.command, *hook.args))
    )
    return json_codec.dump((hook.root if counted else "", _DEFINING_FIELDS(hook)))


def _hook_problem(hook: Hook, message: str, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(hook.source_path, hook.source_line, message, severity)


def _location(hook: Hook) -> str:
    return f"{hook.source_path}:{hook.source_line}"


# What may differ between copies: whose file it is in and how that agent speaks and counts time. A matcher is
# compared by the tools it means.
_MAY_DIFFER: Final = frozenset(
    ("name", "dialect", "native_event", "matcher", "timeout", "on_error", "parallel", "version", "working_directory")
)
_FROM_THE_TOP: Final = frozenset("/~$\"'")
_COMPARED_FIELDS: Final = attrgetter(*sorted({field.name for field in _HOOK_FIELDS} - _MAY_DIFFER))


def merge_copies(hooks: Iterable[Hook], tools: Tools) -> list[Hook]:
    """Merge copies of a hook in the files of several agents; each of these agents runs it itself.

    Only what is trusted alike is put together: a copy in a workspace must not take a user's own hook away under an
    agent that does not even run what stands in that workspace.
    """
    found: list[Hook] = []
    places: dict[bytes, int] = {}
    for hook in hooks:
        if not hook.run_by:
            found.append(hook)
            continue
        # what a hook does and when, in no agent's words
        words = canonical_tools(hook.matcher, hook.dialect, tools)
        same = json_codec.dump((words, _folder(hook), _COMPARED_FIELDS(hook)))
        place = places.setdefault(same, len(found))
        if place == len(found):
            found.append(hook)
            continue
        first = found[place]
        blocks = OnError.BLOCK in {first.on_error, hook.on_error}
        found[place] = replace(
            first,
            run_by=tuple(dict.fromkeys((*first.run_by, *hook.run_by))),
            on_error=OnError.BLOCK if blocks else first.on_error,
        )
    return found


def _folder(hook: Hook) -> str:
    """Return the folder that decides what a hook runs.

    In each project of a repository the same words mean scripts of its own, and so do relative names where agents
    start a user's own hooks in different folders.
    """
    if hook.layer in {Layer.PROJECT, Layer.LOCAL}:
        return hook.root
    is_relative = any("/" in word and word[0] not in _FROM_THE_TOP for word in hook.command.split())
    return hook.working_directory if is_relative else ""


# The known entries in the user's files of other systems: an entry that appears later needs an approval.
#
# An agent, or a script that it runs, can write `~/.cursor/hooks.json` or `~/.ollm/hooks/x.json`, and Hookline would run
# that under every agent. So the first load records the entries that it finds in such files, and every entry that comes
# later by another way than a command of Hookline has to be approved. `hookline.toml` is not concerned: guards protect it.

# reads the entries of a text as if it stood in the file
ReadEntries = Callable[[str, DiscoveredFile], list[Hook]]

# where an entry stands and what it is called says nothing about what it does
_DEFAULTS: Final = {
    field.name: field.default_factory() if callable(field.default_factory) else field.default
    for field in _HOOK_FIELDS
    if field.name not in {"source", "enabled"}
}


class KnownEntries(Struct, frozen=True, kw_only=True):
    """The entries that are known, by their digest.

    `was_missing` says that Hookline was installed already when the record was made, so an earlier one was deleted.
    """

    made_at: float
    entries: tuple[str, ...] = ()
    was_missing: bool = False


def record_path(data: Path) -> Path:
    """Return the file of the record in the user's data folder."""
    return data / "known-hooks.json"


def read_record(data: Path) -> KnownEntries | None:
    """Return the record; None where there is none that can be read."""
    with suppress(ConfigError, msgspec.MsgspecError):
        raw = read_bytes(str(record_path(data)))
        return None if raw is None else msgspec.json.decode(raw, type=KnownEntries)
    return None


def confirm_record(data: Path) -> None:
    """Note that the user has seen that the record was made anew."""
    record = read_record(data)
    if record is not None and record.was_missing:
        _write(data, replace(record, was_missing=False))


def mark_new_entries(
    hooks: Sequence[Hook],
    texts: Mapping[str, tuple[DiscoveredFile, str]],
    data: Path,
    *,
    read: ReadEntries,
    writes: bool = True,
) -> tuple[list[Hook], list[Problem]]:
    """Return the hooks, with those of other systems' user files that are new as ones that need an approval.

    `texts` are the files that were read. Without a record, everything that is there now is known and recorded, unless
    the command `writes` nothing.
    """
    digests = {
        id(hook): digest_entry(hook)
        for hook in hooks
        if hook.source is Source.USER
        and hook.source_path in texts
        and texts[hook.source_path][0].location.root is Root.HOME
    }
    record = read_record(data)
    if record is None:
        return list(hooks), _make_record(hooks, digests, texts, data) if writes else []
    new = set(digests.values()).difference(record.entries)
    if not new:
        return list(hooks), []
    paths = {hook.source_path for hook in hooks if digests.get(id(hook)) in new}
    written = _find_own_edits(new, [texts[path] for path in sorted(paths)], data, read=read)
    if written and writes:
        _write(data, replace(record, entries=(*record.entries, *sorted(written))))
    new -= written
    # once it is approved, it is a hook of the user's own: it runs as its document says
    asked = {"source": Source.DOWNLOADED, "default_sandbox": NONE}
    return [replace(hook, **asked) if digests.get(id(hook)) in new else hook for hook in hooks], []


def digest_entry(hook: Hook) -> str:
    """Return the SHA-256 of what an entry says beyond the defaults, wherever it stands."""
    said = {name: getattr(hook, name) for name, default in _DEFAULTS.items() if getattr(hook, name) != default}
    return hashlib.sha256(json_codec.dump(said)).hexdigest()


def _make_record(
    hooks: Sequence[Hook], digests: Mapping[int, str], texts: Mapping[str, tuple[DiscoveredFile, str]], data: Path
) -> list[Problem]:
    """Record everything that is there; where an earlier record was deleted, say what is taken for known."""
    path = record_path(data)
    in_home = [text for file, text in texts.values() if file.location.root is Root.HOME]
    was_missing = os.path.lexists(path) or any("hookline hook" in text or LAUNCHER in text for text in in_home)
    entries = tuple(sorted(set(digests.values())))
    _write(data, KnownEntries(made_at=time.time(), entries=entries, was_missing=was_missing))
    if not was_missing:
        return []
    names = ", ".join(f'"{hook.id}"' for hook in hooks if id(hook) in digests) or "none"
    why = (
        "the record of the hooks in your home that Hookline knows was missing, although Hookline is installed; it was "
        f"made anew, and what is there now counts as known: {names}. Look at them with `hookline list`"
    )
    return [Problem(str(path), 0, why, Severity.WARNING)]


def _find_own_edits(
    wanted: Collection[str], files: Sequence[tuple[DiscoveredFile, str]], data: Path, *, read: ReadEntries
) -> set[str]:
    """Return which of the wanted entries a command of Hookline wrote: they are in a text after it, and not before."""
    by_path = {file.path: file for file, _ in files}
    by_path |= {str(Path(path).resolve()): file for path, file in by_path.items()}
    found: set[str] = set()
    for path, *texts in UndoLog(data).list_edits(by_path):
        before, after = (
            {digest_entry(hook) for hook in read(text, by_path[path])} if text else set() for text in texts
        )
        found |= (after - before) & set(wanted)
    return found


def _write(data: Path, record: KnownEntries) -> None:
    """Write the record; where nothing can be written, each load makes its own."""
    with suppress(OSError):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(record_path(data), json_codec.dump(record), mode=0o600)
