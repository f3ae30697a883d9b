"""Edit sessions: load a project, change hooks in their files, check the result, write it with a way back."""

import argparse
import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.builtin.catalogue import PREFIX
from hookline.cli._command import COMMON, DRY_RUN, argument
from hookline.cli._output import render
from hookline.cli._project import decide_trust, hook_error, load_from_args
from hookline.config import formats
from hookline.config.discovery import LOCATIONS, Location, Root
from hookline.config.document import Problem, Severity
from hookline.config.formats import grouped, native, ollm
from hookline.config.formats.agent_specs import FILE_SPECS
from hookline.config.keys import SHARED, Key
from hookline.config.keys import sandbox as read_sandbox
from hookline.config.loader import MAX_FILE_BYTES
from hookline.config.reader import FileOrigin, KnownNames
from hookline.config.script_paths import anchor_scripts, script_folders
from hookline.config.undo_log import Apply, FileEdit, UndoLog, read_bytes
from hookline.engine.ordering import references, refuse_cycles
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.model.sandbox import LEVELS, Sandbox
from hookline.project import Project, find_problem
from hookline.text import quote, shell_quote
from hookline.user_dirs import find_user_dirs
from hookline.views import find_hook
from hookline.wiring import native_names, native_tools, shell_dialects

_BYTE_ORDER_MARK: Final = "\ufeff"
_HOOK_NAME: Final = re.compile(r'hook "[^"]*"')
_OWN: Final = frozenset({Source.USER, Source.BUILTIN})
# what a table or a list begins with
_OPENING: Final = ("{", "[")

# Formats that are not listed reject unknown keys themselves.
_KEYS: Final[Mapping[str, Mapping[str, Key]]] = {
    "native": native.KEYS,
    "grouped": {**grouped.KEYS, "matcher": native.KEYS["matcher"]},
    "ollm": ollm.KEYS,
    "per_file": grouped.PER_FILE_KEYS,
}
# keys that are nested deeper in the entry than the others
_NESTED: Final[Mapping[str, frozenset[str]]] = {
    "kiro": frozenset({"command", "prompt"}),
    "kiro-legacy": frozenset({"command", "prompt", "timeout", "files", "matcher"}),
}


class ConfigFile(Struct, frozen=True, kw_only=True):
    """A configuration file as the loader sees it: its origin, and the formats it may have."""

    path: str
    origin: FileOrigin
    formats: tuple[str, ...]

    def read(self) -> tuple[bytes | None, str]:
        """Return the bytes of the file, None if there is none, and its text.

        Raises:
            ConfigError: It is not UTF-8, or a dangling link.
        """
        raw = read_bytes(self.path)
        if raw is None and Path(self.path).is_symlink():
            raise ConfigError("this is a link that leads nowhere; nothing was changed", path=self.path)
        try:
            return raw, (raw or b"").decode()
        except UnicodeDecodeError as problem:
            line = (raw or b"").count(b"\n", 0, problem.start) + 1
            raise ConfigError("the file is not UTF-8; nothing was changed", path=self.path, line=line) from None

    def parse(self, text: str | None) -> tuple[list[Hook], list[Problem]]:
        """Parse a text as if it were the content of the file."""
        plain = (text or "").removeprefix(_BYTE_ORDER_MARK)
        if not plain.strip():
            return [], []
        hooks, problems = formats.read(plain, origin=self.origin, formats=self.formats)
        folders = script_folders(self.path, layer=self.origin.layer, root=self.origin.root)
        shells = self.origin.known_names.shell_dialects
        return [anchor_scripts(hook, folders, shell_dialects=shells) for hook in hooks], problems

    def edit(self, before: bytes | None, text: str | None) -> FileEdit:
        """Return the change for the undo log; without a text the file is removed."""
        return FileEdit(self.path, before, None if text is None else text.encode())

    def require(self, *, is_intended: bool) -> None:
        """Refuse an edit that would change more or less than the user asked for.

        Raises:
            ConfigError: It would.
        """
        if not is_intended:
            raise ConfigError(
                "the change would mean something else than what was asked; nothing was changed, edit the file by hand",
                path=self.path,
            )


class EditSession(Struct, frozen=True, kw_only=True):
    """A loaded project while its files are edited; `apply` is None in a dry run."""

    args: argparse.Namespace
    project: Project
    apply: Apply | None = None

    def find_file_of(self, hook: Hook) -> ConfigFile:
        """Return the file of a hook.

        Raises:
            ConfigError: Hookline must not change it.
        """
        about = f"hook {quote(hook.id)}"
        if hook.layer is Layer.MANAGED:
            raise hook_error(
                hook, f"{about} is managed: the administrator of this machine put it there, and only they change it"
            )
        if hook.source_format in FILE_SPECS and FILE_SPECS[hook.source_format].is_program:
            message = f"{about} is this program itself: change it, or move it away, and the agent has it no longer"
            raise ConfigError(message, path=hook.source_path)
        file = self._find_loaded(hook.source_path)
        if file is None and hook.id.startswith(PREFIX):
            raise ConfigError(f"{about} comes with hookline; `hookline disable {hook.id}` switches it off")
        if file is None:
            raise ConfigError(f"{about} comes from no file")
        return file

    def group_by_file(self, names: list[str]) -> list[tuple[ConfigFile, list[Hook]]]:
        """Return the named hooks, each once, grouped by file."""
        hooks = {hook.id: hook for hook in (find_hook(self.project, name) for name in names)}
        files = {hook.source_path: self.find_file_of(hook) for hook in hooks.values()}
        return [(file, [hook for hook in hooks.values() if hook.source_path == path]) for path, file in files.items()]

    def find_file_at(self, path: Path) -> ConfigFile:
        """Return the file at a path; it need not exist yet.

        Raises:
            ConfigError: Hookline does not look for hooks there.
        """
        full = path if path.is_absolute() else Path.cwd() / path
        full = full.parent.resolve() / full.name
        if (loaded := self._find_loaded(str(full))) is not None:
            return loaded
        folders = self.project.folders
        roots = {Root.PROJECT: self.project.root, Root.CONFIG: folders.config, Root.HOME: folders.home}
        for place in LOCATIONS:
            root = roots.get(place.root)
            if root is not None and fnmatchcase(str(full), f"{root.resolve()}/{place.path}"):
                return _make_file(str(full), place, str(root.resolve()))
        raise ConfigError(
            "hooks are not looked for in this file; `--to user` and `--to project` are, and docs/configuration.md "
            "lists every other place",
            path=str(full),
        )

    def _find_loaded(self, path: str) -> ConfigFile | None:
        for found in self.project.loaded.loaded_files:
            origin = (found.dialect, found.layer, found.source)
            for place in LOCATIONS if found.path == path else ():
                if (place.dialect, place.layer, place.source) == origin and fnmatchcase(path, f"*/{place.path}"):
                    return _make_file(path, place, found.root)
        return None

    def diff(self, file: ConfigFile, before: str, after: str | None) -> tuple[list[Hook], list[Hook]]:
        """Compare the hooks of two texts: which are gone, and which are new or different.

        Raises:
            ConfigError: The new text has a problem that the old one has not.
        """
        old, known = file.parse(before)
        new, problems = file.parse(after)
        for problem in find_new_problems(known, problems):
            raise ConfigError(f"{problem.message}; nothing was changed", path=file.path, line=problem.line)
        if len((after or "").encode()) > MAX_FILE_BYTES:
            raise ConfigError(
                f"the file would be larger than {MAX_FILE_BYTES // 1024} KB, and none of its hooks would be read; nothing was changed",
                path=file.path,
            )
        gone, gained = _subtract(old, new), _subtract(new, old)
        for hook in gained:
            if reason := find_problem(self.project.planner, hook):
                message = f'hook "{hook.id}": {reason}; nothing was changed'
                raise ConfigError(message, path=file.path, line=hook.source_line)
        if set(map(references, gained)) - set(map(references, gone)):
            mentioned = {name for hook in self.project.hooks for name in references(hook)}
            try:
                refuse_cycles(gained, self._plan_edited(gone, gained), mentioned)
            except ConfigError as problem:
                message = f"{problem.message}; nothing was changed"
                raise ConfigError(message, path=file.path, line=problem.line) from None
        return gone, gained

    def _plan_edited(self, gone: Sequence[Hook], gained: Sequence[Hook]) -> HookPlanner:
        """Return a planner over the hooks of the project after the edit."""
        registry = HookRegistry()
        edited = {hook.id for hook in (*gone, *gained)}
        for hook in (*(hook for hook in self.project.hooks if hook.id not in edited), *gained):
            registry.add(hook)
        return HookPlanner(registry)

    def list_unresolved(self, gone: Sequence[Hook], gained: Sequence[Hook]) -> list[str]:
        """Return a note for each hook that the new hooks refer to and that does not exist (yet)."""
        if not any(map(references, gained)):
            return []
        names = self._plan_edited(gone, gained).names()
        return [
            f"{quote(hook.id)} speaks of a hook that is not there yet: {names.describe_missing(name, by=hook)}"
            for hook in gained
            for name in dict.fromkeys(references(hook))
            if names.find(name, by=hook) is None
        ]

    def list_unshadowed(self, hooks: Sequence[Hook]) -> list[str]:
        """Return a note for each duplicate of an edited hook: it was ignored, and is in force now."""
        places = {f"{hook.source_path}:{hook.source_line};": hook for hook in hooks}
        return [
            f"{quote(hook.id)} is also defined in {problem.path}:{problem.line}, which counts from now on"
            for problem in self.project.loaded.problems
            for place, hook in places.items()
            if problem.message.startswith("the same hook as in ") and place in problem.message
        ]

    def require_free_name(self, hook: Hook) -> None:
        """Check that no other hook has the id or name of this one.

        Raises:
            ConfigError: Another one has; the message names its file.
        """
        own = (hook.source_path, hook.source_pointer)
        for other in self.project.hooks:
            if (hook.id == other.id or hook.name == other.name) and (other.source_path, other.source_pointer) != own:
                raise hook_error(
                    other,
                    f"there is a hook {quote(other.id)} already; choose another name, or change that one with "
                    f"`hookline edit {other.id} KEY=VALUE`",
                )

    def explain_trust(self, hook: Hook) -> str:
        """Return whether an edited hook may run, as a note."""
        if not hook.enabled:
            return f"{quote(hook.id)} is switched off: hookline enable {hook.id}"
        approve = f"hookline trust approve {shell_quote(hook.id)}"
        if hook.source not in _OWN:
            return f"{quote(hook.id)} is a {hook.source} hook: it runs once you approved it ({approve})"
        decision = decide_trust(hook, self.project)
        if decision is not None and decision.reason_denied:
            return f"{quote(hook.id)} will not run: {decision.reason_denied} ({approve})"
        started = " at its times, while `hookline watch` runs" if hook.schedule else " from now on"
        return f"{quote(hook.id)} is your own, so it runs{started}"

    def finish(self, changes: Sequence[FileEdit], what: str, *, notes: Sequence[str] = (), made: bool = False) -> int:
        """Write the changes, or show them in a dry run, and report `what` was done."""
        real = [change for change in changes if change.before != change.after]
        entry = self.apply(real, what, made=made) if self.apply is not None and real else None
        value = {
            "changed": bool(entry),
            "what": what,
            "files": [{"path": change.path, "diff": "".join(_diff(change))} for change in real],
            "undo": entry.id if entry else None,
            "notes": list(notes),
        }
        if self.apply is None:
            lines = [line.rstrip("\r\n") for change in real for line in _diff(change)]
            summary = f"nothing was written; it would be: {what}" if real else "nothing to change"
            return render(self.args, value, *lines, summary)
        written = []
        for change in real:
            path = Path(change.path)
            link = f" (a link to {path.resolve()})" if path.is_symlink() else ""
            written.append(f"{'removed' if change.after is None else 'wrote'} {change.path}{link}")
        undo = ["take it back: hookline undo"] if entry else []
        return render(self.args, value, what if real else "nothing to change", *written, *notes, *undo)


# the options of all commands that edit files
EDIT_OPTIONS: Final = (DRY_RUN, *COMMON)
HOOK_OPTIONS: Final = (argument("hooks", "the hook's id, or its name", nargs="+", metavar="HOOK"), *EDIT_OPTIONS)


@contextmanager
def open_session(args: argparse.Namespace) -> Iterator[EditSession]:
    """Load the project, and lock out other writers until it is changed."""
    if args.dry_run:
        yield EditSession(args=args, project=load_from_args(args))
        return
    with UndoLog(find_user_dirs(args.project).data).transaction() as apply:
        yield EditSession(args=args, project=load_from_args(args), apply=apply)


def load_known_names() -> KnownNames:
    """Return the event and tool names of all dialects."""
    return KnownNames(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())


def _make_file(path: str, place: Location, root: str) -> ConfigFile:
    origin = FileOrigin(
        path=path,
        dialect=place.dialect,
        source=place.source,
        layer=place.layer,
        root=root,
        agent=place.agent,
        known_names=load_known_names(),
    )
    return ConfigFile(path=path, origin=origin, formats=place.formats)


def find_new_problems(known: Sequence[Problem], problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems, except notes, that are not known yet."""

    def key(problem: Problem) -> str:
        # without the name of the hook, which the edit may change
        return _HOOK_NAME.sub("a hook", problem.message)

    new = Counter(map(key, problems)) - Counter(map(key, known))
    return [one for one in problems if one.severity is not Severity.NOTE and new[key(one)]]


def _subtract(hooks: Sequence[Hook], others: Sequence[Hook]) -> list[Hook]:
    """Return the hooks that are not among the others."""

    def key(hook: Hook) -> bytes:
        # without the position; a generated id changes when a neighbour goes
        return json_codec.dump(replace(hook, id=hook.id if hook.name else "", source_line=0, source_pointer=()))

    left = Counter(map(key, others))
    result = []
    for hook in hooks:
        left[key(hook)] -= 1
        if left[key(hook)] < 0:
            result.append(hook)
    return result


def join_ids(hooks: Sequence[Hook]) -> str:
    """Return the ids of hooks in a line."""
    return ", ".join(quote(hook.id) for hook in hooks)


def _diff(change: FileEdit) -> Iterator[str]:
    before, after = (
        (raw or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
        for raw in (change.before, change.after)
    )
    old, new = (change.path if raw is not None else "/dev/null" for raw in (change.before, change.after))
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n"


def get_format_keys(name: str) -> Mapping[str, Key] | None:
    """Return the keys of hooks in a format; None when only the format knows them."""
    spec = FILE_SPECS.get(name)
    if spec is None or spec.is_program:
        return _KEYS.get(name)
    nested = _NESTED.get(name, frozenset())
    own = {key: value for key, value in spec.keys.items() if key not in nested}
    return {**own, "matcher": spec.group_keys["matcher"]} if spec.group_keys else own


def split_assignment(assignment: str, option: str = "") -> tuple[str, str]:
    """Split `KEY=VALUE`, the value of an option if it has a name.

    Raises:
        ConfigError: There is no `=`, or nothing before it.
    """
    name, equals, word = assignment.partition("=")
    if not equals or not name:
        raise ConfigError(f"{option}{': ' if option else ''}wanted KEY=VALUE, got {quote(assignment)}")
    return name, word


def parse_value(name: str, word: str, key: Key | None) -> object:
    """Parse a value as JSON or TOML if the key accepts that, else take it as text; without a key, JSON first.

    Raises:
        ConfigError: The key accepts none of these.
    """

    def reject(constant: str) -> object:
        # NaN and Infinity are texts: no file can hold them as numbers
        raise ValueError(constant)

    candidates: list[object] = []
    try:
        candidates.append(json.loads(word, parse_constant=reject))
    except (ValueError, RecursionError):
        # a table or a list, written as in hookline.toml
        with suppress(ValueError, RecursionError):
            document = tomllib.loads(f"value = {word}") if word.startswith(_OPENING) else {}
            candidates += [document["value"]] if len(document) == 1 else []
    candidates.append(word)
    if key is None:
        return candidates[0]
    reason = ""
    for candidate in candidates:
        try:
            key.read(candidate)
        except ValueError as problem:
            reason = reason or str(problem)
        else:
            return candidate
    is_broken = word.startswith(_OPENING) and len(candidates) == 1
    raise ConfigError(f"{name}: {reason}" + (", which is neither JSON nor TOML" if is_broken else ""))


def parse_sandbox(text: str) -> Sandbox:
    """Return the sandbox of a level, or of a table as hookline.toml has it; for `type` of an argument.

    Raises:
        argparse.ArgumentTypeError: It is neither.
    """
    if not text.startswith("{") and text not in LEVELS:
        raise argparse.ArgumentTypeError(
            f'"{text}" is no level; there are {", ".join(LEVELS)}, or a table such as {{ write = ["build/**"] }}'
        )
    try:
        return read_sandbox(parse_value("--sandbox", text, SHARED["sandbox"]))
    except ConfigError as problem:
        raise argparse.ArgumentTypeError(problem.message.removeprefix("--sandbox: ")) from None


SANDBOX: Final = argument(
    "--sandbox", "what its process may do: a level, or a table", type=parse_sandbox, metavar="LEVEL|TABLE"
)
