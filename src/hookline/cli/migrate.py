"""`hookline migrate`: convert hooks from any format to any other, and list what is lost."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.cli._command import CliCommand, argument, flag
from hookline.cli._edit_session import EDIT_OPTIONS, EditSession, load_known_names, open_session
from hookline.cli._output import print_error, print_line, render
from hookline.cli._project import find_hook
from hookline.cli.add import append_entries, start_file
from hookline.cli.remove import remove_hooks
from hookline.config import edit
from hookline.config.export import ExportEntry, ExportResult, ExportTarget, file_name, write
from hookline.config.formats import FORMATS
from hookline.config.formats.agents import FILE_SPECS_BY_AGENT
from hookline.config.known_names import quote, suggest
from hookline.config.undo_log import FileEdit, read_bytes
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source

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
FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "native": Form("native", "hookline", "hookline.toml"),
        "ollm": Form("ollm", "ollm", _OLLM_FILE),
        "modern": Form("modern", "ollm-rpc", _OLLM_FILE),
        "when_then": Form("when_then", "ollm-rpc", _OLLM_FILE),
        "grouped:ollama-cli": Form("grouped", "ollama-cli", ".ollama/settings.json"),
        "grouped:cli-agent": Form("grouped", "cli-agent", ".config/agent/settings.json"),
        "per_file": Form("per_file", "cli-agent", ".config/agent/hooks/"),
        **dict(_agent_forms()),
    }
)
# the format that a system reads
_FORMAT_BY_SYSTEM: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hookline": "native",
        "ollama-cli": "grouped:ollama-cli",
        "cli-agent": "grouped:cli-agent",
        "ollm-rpc": "modern",
    }
)


# goals that are read by a format of another name
_FORMAT_OF: Final[Mapping[str, str]] = MappingProxyType(
    {"modern": "when_then", "grouped:ollama-cli": "ollama-cli", "grouped:cli-agent": "cli-agent"}
)

# path -> the present content, and the new text; None removes the file
_Drafts = dict[str, tuple[bytes | None, str | None]]


class _MigratedHook(Struct, frozen=True):
    """A hook, its export, and the file it goes to."""

    hook: Hook
    written: ExportResult
    path: str


def run(args: argparse.Namespace) -> int:
    """Write the hooks, or show how they would be written."""
    goal = _FORMAT_BY_SYSTEM.get(args.goal) or _resolve_alias(args.goal)
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
        return _write(session, form, hooks) if writes else _show(session, form, hooks)


def _resolve_alias(name: str) -> str:
    """Return the full name of an agent's short name; any other word unchanged."""
    return next((own for own, dialect in DIALECTS.items() if name in dialect.SPEC.aliases), name)


def _choose_hooks(session: EditSession, args: argparse.Namespace) -> list[Hook]:
    hooks = list(session.project.hooks)
    path = Path(args.source)
    if args.source != "all" and path.is_file():
        full = str(path.parent.resolve() / path.name)
        hooks = [hook for hook in hooks if hook.source_path == full]
    elif (source := _FORMAT_OF.get(args.source) or _resolve_alias(args.source)) in FORMATS or source in DIALECTS:
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


def _show(session: EditSession, form: Form, hooks: Sequence[Hook]) -> int:
    """Print the content of each new file."""
    drafts: _Drafts = {}
    carried = []
    for hook in hooks:
        path = _find_path(session, form, hook)
        drafts.setdefault(path, (None, ""))
        carried.append(_export(session, form, hooks, hook, path=path, document=_parse_draft(drafts, path)))
        _add(drafts, carried[-1])
    texts = {path: text for path, (_, text) in drafts.items() if text}
    lost = [reason for one in carried for reason in one.written.losses]
    if session.args.json:
        documents = [{"path": path, "text": text} for path, text in texts.items()]
        return render({"documents": documents, "lost": lost, "written": _get_ids(carried, whole=None)}, as_json=True)
    for path, text in texts.items():
        if len(texts) > 1:
            print_error(f"{path}:")
        # not masked: the user may redirect it to a file
        print_line(text.rstrip("\n"), masked=False, broken=True)
    _print_lost(lost)
    return 0


def _write(session: EditSession, form: Form, hooks: Sequence[Hook]) -> int:
    """Write the hooks, all files or none."""
    drafts: _Drafts = {}
    carried: list[_MigratedHook] = []
    hooks = [hook for hook in hooks if not _is_migrated(session, form, hook)]
    if session.args.remove_old:
        # remove hooks from the old files if nothing of them is lost
        exported = [_export(session, form, hooks, hook, path="", document=None) for hook in hooks]
        whole = [one.hook for one in exported if not one.written.losses]
        for path, file in {hook.source_path: session.find_file_of(hook) for hook in whole}.items():
            raw, old = file.read()
            drafts[path] = raw, remove_hooks(file, old, [hook for hook in whole if hook.source_path == path])
    for hook in hooks:
        place = str(session.args.output.absolute()) if session.args.output else _find_path(session, form, hook)
        carried.append(_export(session, form, hooks, hook, path=place, document=_parse_draft(drafts, place)))
        _add(drafts, carried[-1])
    # parse the new files: only the migrated hooks may differ
    pointers = {(hook.source_path, hook.source_pointer) for hook in hooks}
    for path, (raw, text) in drafts.items() if not session.args.output else ():
        file = session.find_file_at(Path(path))
        gone, _ = session.diff(file, (raw or b"").decode(), text)
        file.require(is_intended={(path, hook.source_pointer) for hook in gone} <= pointers)
    lost = [reason for one in carried for reason in one.written.losses]
    changes = [FileEdit(path, raw, None if text is None else text.encode()) for path, (raw, text) in drafts.items()]
    names = ", ".join(f'"{name}"' for name in _get_ids(carried, whole=None))
    code = session.finish(
        changes, f"wrote {names}" if names else "wrote nothing", notes=_list_notes(session, carried, lost)
    )
    if not session.args.json:
        _print_lost(lost)
    return code


def _export(
    session: EditSession, form: Form, hooks: Sequence[Hook], hook: Hook, *, path: str, document: object
) -> _MigratedHook:
    target = ExportTarget(
        dialect=form.dialect, known_names=load_known_names(), document=document, alone=len(hooks) == 1
    )
    # The folder that scripts are relative to; empty if it is unknown where the new file will be read.
    root = "" if session.args.output else os.path.dirname(path)  # noqa: PTH120 - a text, as hooks have it
    if hook.source is not Source.USER:
        root = str(session.project.root)
    written = write(_make_relative(hook, root), form.writer, target)
    if written.widening and written.entries and not session.args.wider:
        # a hook that formats some files must not begin to format all of them
        reason = (
            f"{hook.id}: not written, as it would run more often than it does now ({'; '.join(written.widening)}); "
            "--wider writes it all the same"
        )
        written = ExportResult((), (reason,))
    return _MigratedHook(hook, written, path)


def _add(drafts: _Drafts, one: _MigratedHook) -> None:
    for path, written in _split_files(one):
        raw, text = drafts.get(path) or _read_present(path)
        start = text if text and text.strip() else start_file(written, path=path)
        there = edit.value_of(start, path=path)
        fresh = tuple(entry for entry in written.entries if not _contains(there, entry))
        if fresh and not fresh[0].pointer and isinstance(there, Mapping) and there:
            raise ConfigError("there is another hook in this file already; nothing was changed", path=path)
        drafts[path] = raw, append_entries(start, ExportResult(fresh), path=path)


def _contains(document: object, entry: ExportEntry) -> bool:
    """Return whether a file has an entry already, so that migrating twice adds nothing twice."""
    found = edit.value_at(document, entry.pointer)
    return entry.value in found if isinstance(found, list) else found == entry.value


def _is_migrated(session: EditSession, form: Form, hook: Hook) -> bool:
    """Return whether a hook is already in the file and format it would be written to."""
    if session.args.output or hook.source_format != form.writer:
        return False
    place = _find_path(session, form, hook)
    return hook.source_path == place or os.path.dirname(hook.source_path) + "/" == place  # noqa: PTH120 - as above


def _split_files(one: _MigratedHook) -> list[tuple[str, ExportResult]]:
    """Return which entries go to which file: one file, or one for each event of a hook."""
    entries = one.written.entries
    if not entries or entries[0].pointer or not one.path.endswith("/"):
        return [(one.path, one.written)] if entries else []
    return [(f"{one.path}{file_name(one.hook, entry.event)}", ExportResult((entry,))) for entry in entries]


def _find_path(session: EditSession, form: Form, hook: Hook) -> str:
    """Return the file that a hook goes to: the user's own hooks stay in their home."""
    folders = session.project.folders
    own = folders.config if form.writer == "native" else folders.home
    if hook.source is Source.USER:
        return f"{own.resolve()}/{form.own or form.path}"
    return f"{session.project.root.resolve()}/{form.path}"


def _make_relative(hook: Hook, root: str) -> Hook:
    """Make paths of scripts relative to the folder of the new file, so that it can be moved with them."""
    if not hook.args or not root:
        return hook
    words = [
        word.removeprefix(f"{root}/") if word.startswith(f"{root}/") and Path(word).is_file() else word
        for word in (hook.command, *hook.args)
    ]
    return replace(hook, command=words[0] if words[0] == hook.command else f"./{words[0]}", args=tuple(words[1:]))


def _read_present(path: str) -> tuple[bytes | None, str]:
    raw = read_bytes(path)
    try:
        return raw, (raw or b"").decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None


def _parse_draft(drafts: _Drafts, path: str) -> object:
    if path.endswith("/"):
        return None
    _, text = drafts.get(path) or _read_present(path)
    return edit.value_of(text or "", path=path)


def _get_ids(carried: Sequence[_MigratedHook], *, whole: bool | None) -> list[str]:
    return [one.hook.id for one in carried if one.written.entries and whole in {None, not one.written.losses}]


def _list_notes(session: EditSession, carried: Sequence[_MigratedHook], lost: Sequence[str]) -> list[str]:
    if session.args.json:
        return list(lost)
    kept = ", ".join(_get_ids(carried, whole=False))
    if session.args.remove_old:
        return [f"not carried whole, so the old one stays: {kept}"] if kept else []
    # a hook in a file of its own is named after the file
    named = [one.hook.id for one in carried if not one.hook.name and any(entry.event for entry in one.written.entries)]
    other = ", ".join(dict.fromkeys((*_get_ids(carried, whole=False), *named)))
    notes = ["the old ones stay where they are; a hook that stands twice runs once"] if carried else []
    if other and not session.args.output:
        notes.append(f"no longer quite the same, so both run: {other}")
    return notes


def _print_lost(lost: Sequence[str]) -> None:
    if lost:
        print_error("what cannot be carried over:")
    for reason in lost:
        print_error(f"  {reason}")


COMMAND: Final = CliCommand(
    "write hooks of one system in the format of another; what cannot be carried over is listed",
    argument("source", "a file, a format, a dialect, or all", metavar="FROM"),
    argument("goal", f"{', '.join(FORMS)}, or a system's name", metavar="TO"),
    argument("--hook", "only this one; may be given again", action="append", default=[]),
    flag("--write", "write them where that system looks for them"),
    argument("--output", "write them to this file", type=Path, metavar="FILE"),
    flag("--remove-old", "take those that were carried whole out of their files"),
    flag("--wider", "write also hooks that would run more often there than they do now"),
    *EDIT_OPTIONS,
    example="ollama-cli native --write",
    run=run,
)
