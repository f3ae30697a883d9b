"""`hookline migrate`: convert hooks from any format to any other, and list what is lost."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.cli._command import CliCommand, argument, flag, repeatable
from hookline.cli._edit_session import EDIT_OPTIONS, EditSession, load_known_names, open_session
from hookline.cli._output import print_error, print_line, render
from hookline.cli.add import append_entries, start_file
from hookline.cli.edit import remove_hooks
from hookline.config import edit
from hookline.config.export import ExportEntry, ExportResult, ExportTarget, file_name, write
from hookline.config.formats import FORMATS
from hookline.config.formats.agent_specs import FILE_SPECS_BY_AGENT
from hookline.config.undo_log import FileEdit, read_bytes
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.model.names import resolve_agent
from hookline.text import quote, suggest
from hookline.views import find_hook

_WRITTEN_HERE: Final = frozenset({Source.USER, Source.WORKSPACE})


class Form(Struct, frozen=True):
    """A format as a goal: how it is written, the dialect spoken there, and its place in a project or at home.

    `own` is its place at home where that is another one.
    """

    writer: str
    dialect: str
    path: str
    own: str = ""


def _agent_forms() -> Iterator[tuple[str, Form]]:
    for agent, specs in FILE_SPECS_BY_AGENT.items():
        for name, spec in specs.items():
            if spec.writers:
                path, home = (paths[0].replace("*", spec.stem) for paths in (spec.project, spec.home))
                yield name, Form(name, agent, path, "" if home == path else home)


_OLLM_FILE: Final = ".ollm/hooks/hooks.json"
FORMS: Final[Mapping[str, Form]] = {
    "native": Form("native", "hookline", "hookline.toml"),
    "ollm": Form("ollm", "ollm", _OLLM_FILE),
    "modern": Form("modern", "ollm-rpc", _OLLM_FILE),
    "when_then": Form("when_then", "ollm-rpc", _OLLM_FILE),
    "grouped:ollama-cli": Form("grouped", "ollama-cli", ".ollama/settings.json"),
    "grouped:cli-agent": Form("grouped", "cli-agent", ".config/agent/settings.json"),
    "per_file": Form("per_file", "cli-agent", ".config/agent/hooks/"),
    **dict(_agent_forms()),
}
# the format that a system reads
_FORMAT_BY_SYSTEM: Final[Mapping[str, str]] = {
    "hookline": "native",
    "ollama-cli": "grouped:ollama-cli",
    "cli-agent": "grouped:cli-agent",
    "ollm-rpc": "modern",
}


# goals that are read by a format of another name
_FORMAT_OF: Final[Mapping[str, str]] = {
    "modern": "when_then",
    "grouped:ollama-cli": "ollama-cli",
    "grouped:cli-agent": "cli-agent",
}


def run(args: argparse.Namespace) -> int:
    """Write the hooks, or show how they would be written."""
    goal = _FORMAT_BY_SYSTEM.get(args.goal) or resolve_agent(args.goal) or args.goal
    form = FORMS.get(goal)
    if form is None:
        raise ConfigError(f"cannot write {quote(goal)}{suggest(goal, FORMS)}; there are {', '.join(FORMS)}")
    if args.write and args.output:
        raise ConfigError("--write and --output name two places; keep one")
    if args.remove_old and not (args.write or args.output):
        raise ConfigError("--remove-old goes with --write or --output")
    writes = args.write or args.output is not None
    only_shown = argparse.Namespace(**{**vars(args), "dry_run": args.dry_run or not writes})
    with open_session(only_shown) as session:
        hooks = _choose_hooks(session, args)
        migration = _Migration(session, form, hooks)
        return migration.write() if writes else migration.show()


def _choose_hooks(session: EditSession, args: argparse.Namespace) -> list[Hook]:
    hooks = list(session.project.hooks)
    path = Path(args.source)
    if args.source != "all" and path.is_file():
        full = str(path.parent.resolve() / path.name)
        hooks = [hook for hook in hooks if hook.source_path == full]
    elif (
        source := _FORMAT_OF.get(args.source) or resolve_agent(args.source) or args.source
    ) in FORMATS or source in DIALECTS:
        hooks = [hook for hook in hooks if source in {hook.source_format, hook.dialect}]
    elif args.source == "all":
        # managed hooks and hooks of packs have to be named
        hooks = [hook for hook in hooks if hook.layer is not Layer.MANAGED and hook.source in _WRITTEN_HERE]
    else:
        known = [*FORMATS, *DIALECTS, *_FORMAT_OF, "all"]
        raise ConfigError(f"there is no file or format {quote(args.source)}{suggest(args.source, known)}")
    if args.hook:
        wanted = {find_hook(session.project, name).id for name in args.hook}
        hooks = [hook for hook in hooks if hook.id in wanted]
    if not hooks:
        raise ConfigError(f"no hook was found in {quote(args.source)}; `hookline list` shows them all")
    return hooks


class _Migration:
    """Hooks on their way to another format: the new texts of their files, and what is lost."""

    def __init__(self, session: EditSession, form: Form, hooks: Sequence[Hook]) -> None:
        self._session, self._form, self._args = session, form, session.args
        self._hooks = hooks
        # path -> the present content, and the new text; None removes the file
        self._drafts: dict[str, tuple[bytes | None, str | None]] = {}
        self._carried: list[tuple[Hook, ExportResult]] = []

    def show(self) -> int:
        """Print the content of each new file."""
        for hook in self._hooks:
            path = self._find_path(hook)
            self._drafts.setdefault(path, (None, ""))
            self._carry(hook, path)
        texts = {path: text for path, (_, text) in self._drafts.items() if text}
        if self._args.json:
            documents = [{"path": path, "text": text} for path, text in texts.items()]
            return render(self._args, {"documents": documents, "lost": self._lost, "written": self._get_ids()})
        for path, text in texts.items():
            if len(texts) > 1:
                print_error(f"{path}:")
            # not masked: the user may redirect it to a file
            print_line(text.rstrip("\n"), masked=False, broken=True)
        self._print_lost()
        return 0

    def write(self) -> int:
        """Write the hooks, all files or none."""
        session, output = self._session, self._args.output
        self._hooks = [hook for hook in self._hooks if output or not self._is_migrated(hook)]
        if self._args.remove_old:
            # remove hooks from the old files if nothing of them is lost
            whole = [hook for hook in self._hooks if not self._export(hook, "", None).losses]
            for path, file in {hook.source_path: session.find_file_of(hook) for hook in whole}.items():
                raw, old = file.read()
                self._drafts[path] = raw, remove_hooks(file, old, [hook for hook in whole if hook.source_path == path])
        for hook in self._hooks:
            self._carry(hook, str(output.absolute()) if output else self._find_path(hook))
        # parse the new files: only the migrated hooks may differ
        pointers = {(hook.source_path, hook.source_pointer) for hook in self._hooks}
        for path, (raw, text) in self._drafts.items() if not output else ():
            file = session.find_file_at(Path(path))
            gone, _ = session.diff(file, (raw or b"").decode(), text)
            file.require(is_intended={(path, hook.source_pointer) for hook in gone} <= pointers)
        changes = [
            FileEdit(path, raw, None if text is None else text.encode()) for path, (raw, text) in self._drafts.items()
        ]
        names = ", ".join(f'"{name}"' for name in self._get_ids())
        code = session.finish(changes, f"wrote {names}" if names else "wrote nothing", notes=self._list_notes())
        if not self._args.json:
            self._print_lost()
        return code

    @property
    def _lost(self) -> list[str]:
        return [reason for _, written in self._carried for reason in written.losses]

    def _print_lost(self) -> None:
        if self._lost:
            print_error("what cannot be carried over:")
        for reason in self._lost:
            print_error(f"  {reason}")

    def _get_ids(self, *, damaged: bool = False) -> list[str]:
        """Return the hooks that were written, or those that were not carried whole."""
        return [hook.id for hook, written in self._carried if written.entries and (written.losses or not damaged)]

    def _list_notes(self) -> list[str]:
        if self._args.json:
            return self._lost
        kept = self._get_ids(damaged=True)
        if self._args.remove_old:
            return [f"not carried whole, so the old one stays: {', '.join(kept)}"] if kept else []
        # a hook in a file of its own is named after the file
        named = [
            hook.id
            for hook, written in self._carried
            if not hook.name and any(entry.event for entry in written.entries)
        ]
        other = ", ".join(dict.fromkeys((*kept, *named)))
        notes = ["the old ones stay where they are; a hook that is defined twice runs once"] if self._carried else []
        if other and not self._args.output:
            notes.append(f"no longer quite the same, so both run: {other}")
        return notes

    def _find_path(self, hook: Hook) -> str:
        """Return the file that a hook goes to: the user's own hooks stay in their home."""
        project, form = self._session.project, self._form
        own = project.folders.config if form.writer == "native" else project.folders.home
        if hook.source is Source.USER:
            return f"{own.resolve()}/{form.own or form.path}"
        return f"{project.root.resolve()}/{form.path}"

    def _is_migrated(self, hook: Hook) -> bool:
        """Return whether a hook is already in the file and format it would be written to."""
        folder = os.path.dirname(hook.source_path)  # noqa: PTH120 - a text, as hooks have it
        return hook.source_format == self._form.writer and self._find_path(hook) in {hook.source_path, f"{folder}/"}

    def _export(self, hook: Hook, path: str, document: object) -> ExportResult:
        target = ExportTarget(
            dialect=self._form.dialect, known_names=load_known_names(), document=document, alone=len(self._hooks) == 1
        )
        # The folder that scripts are relative to; empty if it is unknown where the new file will be read.
        root = "" if self._args.output else os.path.dirname(path)  # noqa: PTH120 - as above
        if hook.source is not Source.USER:
            root = str(self._session.project.root)
        moved = hook
        if hook.args and root:
            # relative to that folder, so that the new file can be moved with its scripts
            command, *args = [
                word.removeprefix(f"{root}/") if word.startswith(f"{root}/") and Path(word).is_file() else word
                for word in (hook.command, *hook.args)
            ]
            moved = replace(hook, command=command if command == hook.command else f"./{command}", args=tuple(args))
        written = write(moved, self._form.writer, target)
        if written.widening and written.entries and not self._args.wider:
            # a hook that formats some files must not begin to format all of them
            reason = (
                f"{hook.id}: not written, as it would run more often than it does now ({'; '.join(written.widening)}); "
                "--wider writes it all the same"
            )
            return ExportResult((), (reason,))
        return written

    def _carry(self, hook: Hook, path: str) -> None:
        """Add a hook to the draft of its file, or one for each of its events to a folder."""
        document = None if path.endswith("/") else edit.value_of(self._read_draft(path)[1] or "", path=path)
        exported = self._export(hook, path, document)
        self._carried.append((hook, exported))
        files = {path: exported} if exported.entries else {}
        if exported.entries and not exported.entries[0].pointer and path.endswith("/"):
            files = {f"{path}{file_name(hook, entry.event)}": ExportResult((entry,)) for entry in exported.entries}
        for name, written in files.items():
            raw, text = self._read_draft(name)
            start = text if text and text.strip() else start_file(written, path=name)
            there = edit.value_of(start, path=name)
            fresh = tuple(entry for entry in written.entries if not _contains(there, entry))
            if fresh and not fresh[0].pointer and isinstance(there, Mapping) and there:
                raise ConfigError("there is another hook in this file already; nothing was changed", path=name)
            self._drafts[name] = raw, append_entries(start, ExportResult(fresh), path=name)

    def _read_draft(self, path: str) -> tuple[bytes | None, str | None]:
        if path in self._drafts:
            return self._drafts[path]
        raw = read_bytes(path)
        try:
            return raw, (raw or b"").decode()
        except UnicodeDecodeError:
            raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None


def _contains(document: object, entry: ExportEntry) -> bool:
    """Return whether a file has an entry already, so that migrating twice adds nothing twice."""
    found = edit.value_at(document, entry.pointer)
    return entry.value in found if isinstance(found, list) else found == entry.value


COMMAND: Final = CliCommand(
    "write hooks of one system in the format of another; what cannot be carried over is listed",
    argument("source", "a file, a format, a dialect, or all", metavar="FROM"),
    argument("goal", f"{', '.join(FORMS)}, or a system's name", metavar="TO"),
    repeatable("--hook", "only this one; may be given again"),
    flag("--write", "write them where that system looks for them"),
    argument("--output", "write them to this file", type=Path, metavar="FILE"),
    flag("--remove-old", "take those that were carried whole out of their files"),
    flag("--wider", "write also hooks that would run more often there than they do now"),
    *EDIT_OPTIONS,
    example="ollama-cli native --write",
    run=run,
)
