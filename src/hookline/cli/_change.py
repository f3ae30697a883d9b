"""What the commands that change configuration files share: the file, the check, the diff, the way back."""

import argparse
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.builtin.catalogue import PREFIX
from hookline.cli._about import clearance
from hookline.cli._output import say, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.config import formats
from hookline.config.journal import Apply, Change, Journal, read_bytes
from hookline.config.loader import LARGEST
from hookline.config.locations import PLACES, PROGRAMS, Place, Root
from hookline.config.problem import Problem, Severity
from hookline.config.reading import Origin
from hookline.config.scripts import anchored, folders_of
from hookline.config.vocabulary import Vocabulary, quoted
from hookline.core.planner import HookPlanner
from hookline.core.registry import HookRegistry
from hookline.core.relations import mentions, refuse_entangled
from hookline.display import typed
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.wiring import native_names, native_tools, shell_dialects
from hookline.workspace import Opened, objection, person_folders

_MARK: Final = "\ufeff"
_NAMED: Final = re.compile(r'hook "[^"]*"')
_OWN: Final = frozenset({Source.USER, Source.BUILTIN})


class ConfigFile(Struct, frozen=True, kw_only=True):
    """A file as the loader sees it: whose it is, and the formats it may have."""

    path: str
    origin: Origin
    formats: tuple[str, ...]


class Draft(Struct, frozen=True, kw_only=True):
    """A file as it is and as it shall be; without a text it shall be gone."""

    file: ConfigFile
    before: bytes | None
    text: str | None

    @property
    def change(self) -> Change:
        """Give it to the journal."""
        after = None if self.text is None else self.text.encode()
        return Change(self.file.path, self.before, after)


class Session(Struct, frozen=True, kw_only=True):
    """A project that is about to be changed; `apply` is not there when it is only tried."""

    args: argparse.Namespace
    project: Opened
    apply: Apply | None

    def finish(self, changes: Sequence[Change], what: str, *, notes: Sequence[str] = (), made: bool = False) -> int:
        """Write the changes, or show them, and say what was done."""
        real = [change for change in changes if change.before != change.after]
        entry = self.apply(real, what, made=made) if self.apply is not None and real else None
        if self.args.json:
            say_json(
                {
                    "changed": bool(entry),
                    "what": what,
                    "files": [{"path": change.path, "diff": "".join(_diff(change))} for change in real],
                    "undo": entry.id if entry else None,
                    "notes": list(notes),
                }
            )
            return 0
        if self.apply is None:
            for change in real:
                for line in _diff(change):
                    say(line.rstrip("\r\n"))
            say(f"nothing was written; it would be: {what}" if real else "nothing to change")
            return 0
        say(what if real else "nothing to change")
        for change in real:
            say(f"{'removed' if change.after is None else 'wrote'} {_shown(change.path)}")
        for note in notes:
            say(note)
        if entry:
            say("take it back: hookline undo")
        return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give a command the options that all of them have."""
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    add_project(parser)
    add_json(parser)


@contextmanager
def session(args: argparse.Namespace) -> Iterator[Session]:
    """Load the project, and keep other writers waiting until it is changed."""
    if args.dry_run:
        yield Session(args=args, project=opened(args), apply=None)
        return
    with Journal(person_folders(args.project).data).changing() as apply:
        yield Session(args=args, project=opened(args), apply=apply)


def vocabulary() -> Vocabulary:
    """Give the words of every dialect."""
    return Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())


def file_of(project: Opened, hook: Hook) -> ConfigFile:
    """Give the file a hook stands in.

    Raises:
        ConfigError: It is not ours to change.
    """
    if hook.layer is Layer.MANAGED:
        raise ConfigError(
            f"hook {quoted(hook.id)} is managed: whoever administers this machine put it there, and only they "
            "change it",
            path=hook.source_path,
            line=hook.source_line,
        )
    if hook.source_format in PROGRAMS:
        raise ConfigError(
            f"hook {quoted(hook.id)} is this program itself: change it, or move it away, and the agent has it no longer",
            path=hook.source_path,
        )
    file = _found(project, hook.source_path)
    if file is None and hook.id.startswith(PREFIX):
        raise ConfigError(f"hook {quoted(hook.id)} comes with hookline; `hookline disable {hook.id}` switches it off")
    if file is None:
        raise ConfigError(f"hook {quoted(hook.id)} comes from no file")
    return file


def file_at(project: Opened, path: Path) -> ConfigFile:
    """Give a file that may not be there yet.

    Raises:
        ConfigError: Nobody would look for hooks there.
    """
    full = path if path.is_absolute() else Path.cwd() / path
    full = full.parent.resolve() / full.name
    there = _found(project, str(full))
    if there is not None:
        return there
    folders = project.folders
    roots = {Root.PROJECT: project.root, Root.CONFIG: folders.config, Root.HOME: folders.home}
    for place in PLACES:
        root = roots.get(place.root)
        if root is not None and fnmatchcase(str(full), f"{root.resolve()}/{place.path}"):
            return _file(str(full), place, str(root.resolve()))
    raise ConfigError(
        "hooks are not looked for in this file; `--to user` and `--to project` are, and docs/configuration.md "
        "lists every other place",
        path=str(full),
    )


def _found(project: Opened, path: str) -> ConfigFile | None:
    """Give a file that the loader found, as it was found."""
    for found in project.loaded.found:
        whose = (found.dialect, found.layer, found.source)
        for place in PLACES if found.path == path else ():
            if (place.dialect, place.layer, place.source) == whose and fnmatchcase(path, f"*/{place.path}"):
                return _file(path, place, found.root)
    return None


def _file(path: str, place: Place, root: str) -> ConfigFile:
    origin = Origin(
        path=path,
        dialect=place.dialect,
        source=place.source,
        layer=place.layer,
        root=root,
        agent=place.agent,
        vocabulary=vocabulary(),
    )
    return ConfigFile(path=path, origin=origin, formats=place.formats)


def text_of(file: ConfigFile) -> tuple[bytes | None, str]:
    """Read a file: its bytes, None where there is none, and its text.

    Raises:
        ConfigError: It is no text.
    """
    raw = read_bytes(file.path)
    if raw is None and Path(file.path).is_symlink():
        raise ConfigError("this is a link that leads nowhere; nothing was changed", path=file.path)
    try:
        return raw, (raw or b"").decode()
    except UnicodeDecodeError as problem:
        line = (raw or b"").count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing was changed", path=file.path, line=line) from None


def hooks_in(file: ConfigFile, text: str | None) -> tuple[list[Hook], list[Problem]]:
    """Read the hooks of a text as if it stood in the file already."""
    plain = (text or "").removeprefix(_MARK)
    if not plain.strip():
        return [], []
    hooks, problems = formats.read(plain, origin=file.origin, formats=file.formats)
    folders = folders_of(file.path, layer=file.origin.layer, root=file.origin.root)
    shells = file.origin.vocabulary.shell_dialects
    return [anchored(hook, folders, shell_dialects=shells) for hook in hooks], problems


def readable(file: ConfigFile, text: str) -> list[Hook]:
    """Read the hooks of a text that is to be changed.

    Raises:
        ConfigError: It is broken as a whole, so there is nothing to change.
    """
    hooks, problems = hooks_in(file, text)
    broken = next((one for one in problems if one.severity is Severity.ERROR), None)
    if broken is not None and not hooks:
        raise ConfigError(f"{broken.message}; mend it first, nothing was changed", path=file.path, line=broken.line)
    return hooks


def fresh_problems(known: Sequence[Problem], problems: Sequence[Problem]) -> list[Problem]:
    """Give what would be wrong with a text that was not wrong before."""
    fresh = Counter(map(_matter, problems)) - Counter(map(_matter, known))
    return [one for one in problems if one.severity is not Severity.NOTE and fresh[_matter(one)]]


def _matter(problem: Problem) -> str:
    """Say what is wrong without the name of the hook, which may be what is changed."""
    return _NAMED.sub("a hook", problem.message)


def difference(project: Opened, file: ConfigFile, before: str, after: str | None) -> tuple[list[Hook], list[Hook]]:
    """Compare the hooks of two texts: which are gone, and which are new or different.

    Raises:
        ConfigError: Something would be wrong that was not wrong before.
    """
    old, known = hooks_in(file, before)
    new, problems = hooks_in(file, after)
    for problem in fresh_problems(known, problems):
        raise ConfigError(f"{problem.message}; nothing was changed", path=file.path, line=problem.line)
    if len((after or "").encode()) > LARGEST:
        raise ConfigError(
            f"the file would be larger than {LARGEST // 1024} KB, and none of its hooks would be read; nothing was changed",
            path=file.path,
        )
    gone = _without(old, new)
    gained = _without(new, old)
    for hook in gained:
        wrong = objection(project.engine, hook)
        if wrong:
            raise ConfigError(f'hook "{hook.id}": {wrong}; nothing was changed', path=file.path, line=hook.source_line)
    if set(map(mentions, gained)) - set(map(mentions, gone)):
        _refuse_circles(project, file, gone, gained)
    return gone, gained


def _refuse_circles(project: Opened, file: ConfigFile, gone: Sequence[Hook], gained: Sequence[Hook]) -> None:
    planner = _planner(project, gone, gained)
    spoken_of = {name for hook in project.loaded.hooks for name in mentions(hook)}
    try:
        refuse_entangled(gained, planner, spoken_of)
    except ConfigError as problem:
        raise ConfigError(f"{problem.message}; nothing was changed", path=file.path, line=problem.line) from None


def _planner(project: Opened, gone: Sequence[Hook], gained: Sequence[Hook]) -> HookPlanner:
    """Give the hooks of a project as they shall be to somebody who knows what they are called."""
    registry = HookRegistry()
    left = {hook.id for hook in (*gone, *gained)}
    for hook in (*(hook for hook in project.loaded.hooks if hook.id not in left), *gained):
        registry.add(hook)
    return HookPlanner(registry)


def missing_notes(project: Opened, gone: Sequence[Hook], gained: Sequence[Hook]) -> list[str]:
    """Name the hooks that new ones speak of and that are not there, not yet perhaps."""
    if not any(map(mentions, gained)):
        return []
    names = _planner(project, gone, gained).names()
    return [
        f"{quoted(hook.id)} speaks of a hook that is not there yet: {names.missing(name, by=hook)}"
        for hook in gained
        for name in dict.fromkeys(mentions(hook))
        if names.find(name, by=hook) is None
    ]


def is_free(project: Opened, hook: Hook) -> None:
    """Make sure that nobody else is called like a hook.

    Raises:
        ConfigError: Another one is; the message says where.
    """
    own = (hook.source_path, hook.source_pointer)
    for other in project.loaded.hooks:
        if (hook.id == other.id or hook.name == other.name) and (other.source_path, other.source_pointer) != own:
            raise ConfigError(
                f"there is a hook {quoted(other.id)} already; choose another name, or change that one with "
                f"`hookline edit {other.id} KEY=VALUE`",
                path=other.source_path,
                line=other.source_line,
            )


def insist(file: ConfigFile, *, as_meant: bool) -> None:
    """Write nothing that would change more, or less, than what was asked for.

    Raises:
        ConfigError: It would.
    """
    if not as_meant:
        raise ConfigError(
            "the change would mean something else than what was asked; nothing was changed, edit the file by hand",
            path=file.path,
        )


def twins(project: Opened, hooks: Sequence[Hook]) -> list[str]:
    """Say where a hook that is changed stands a second time: that one was passed over, and is in force now."""
    notes = [problem for problem in project.loaded.problems if problem.message.startswith("the same hook as in ")]
    places = {f"{hook.source_path}:{hook.source_line};": hook for hook in hooks}
    return [
        f"{quoted(hook.id)} stands in {problem.path}:{problem.line}, too, and counts from there now"
        for problem in notes
        for place, hook in places.items()
        if place in problem.message
    ]


def trust_note(project: Opened, hook: Hook) -> str:
    """Say what a change means for whether the hook may run."""
    if not hook.enabled:
        return f"{quoted(hook.id)} is switched off: hookline enable {hook.id}"
    found = clearance(hook, project) if hook.source in _OWN else None
    if found is not None and found.objection:
        return f"{quoted(hook.id)} will not run: {found.objection} (hookline trust approve {typed(hook.id)})"
    if hook.source in _OWN:
        started = " at its times, while `hookline watch` runs" if hook.schedule else " from now on"
        return f"{quoted(hook.id)} is your own, so it runs{started}"
    return f"{quoted(hook.id)} is a {hook.source} hook: it runs once you approved it (hookline trust approve {typed(hook.id)})"


def listed(hooks: Sequence[Hook]) -> str:
    """Name hooks in a line."""
    return ", ".join(quoted(hook.id) for hook in hooks)


def _without(hooks: Sequence[Hook], others: Sequence[Hook]) -> list[Hook]:
    left = Counter(_same(hook) for hook in others)
    found = []
    for hook in hooks:
        key = _same(hook)
        if left[key]:
            left[key] -= 1
        else:
            found.append(hook)
    return found


def _same(hook: Hook) -> bytes:
    """Say what a hook is, wherever in its file; an id that was counted changes when a neighbour goes."""
    return wire.dump(replace(hook, id=hook.id if hook.name else "", source_line=0, source_pointer=()))


def _shown(path: str) -> str:
    """Name a file, and the one that is really written where it is a link."""
    return f"{path} (a link to {Path(path).resolve()})" if Path(path).is_symlink() else path


def _diff(change: Change) -> Iterator[str]:
    before, after = (_lines(raw) for raw in (change.before, change.after))
    old, new = (change.path if raw is not None else "/dev/null" for raw in (change.before, change.after))
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n"


def _lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
