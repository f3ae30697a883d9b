"""`hookline migrate`: write hooks of any format in any other, and say what cannot be carried over."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.cli._change import (
    ConfigFile,
    Session,
    add_options,
    difference,
    file_at,
    file_of,
    insist,
    session,
    text_of,
    vocabulary,
)
from hookline.cli._output import complain, say, say_json
from hookline.cli._project import hook_named
from hookline.cli.add import added, beginning
from hookline.cli.remove import without
from hookline.config import edit
from hookline.config.formats import FORMATS
from hookline.config.journal import Change, read_bytes
from hookline.config.vocabulary import hint, quoted
from hookline.config.writing import Entry, Target, Written, file_name, write
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source

HELP: Final = "write hooks of one system in the format of another; what cannot be carried over is listed"
EXAMPLE: Final = "hookline migrate ollama-cli native --write"

_WRITTEN_HERE: Final = frozenset({Source.USER, Source.WORKSPACE})


class Form(Struct, frozen=True):
    """A format as a goal: how it is written, the dialect spoken there, and its place in a project or at home.

    `own` is its place at home where that is another one.
    """

    writer: str
    dialect: str
    path: str
    own: str = ""


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
        "claude-code": Form("claude-code", "claude-code", ".claude/settings.json"),
        "codex-cli": Form("codex-cli", "codex-cli", ".codex/hooks.json"),
        "gemini-cli": Form("gemini-cli", "gemini-cli", ".gemini/settings.json"),
        "qwen-code": Form("qwen-code", "qwen-code", ".qwen/settings.json"),
        "cursor": Form("cursor", "cursor", ".cursor/hooks.json"),
        "copilot-cli": Form("copilot-cli", "copilot-cli", ".github/hooks/hooks.json", ".copilot/hooks/hooks.json"),
        "kiro": Form("kiro", "kiro", ".kiro/hooks/hooks.json"),
        "kiro-agent": Form("kiro-agent", "kiro", ".kiro/agents/default.json"),
        "windsurf": Form("windsurf", "windsurf", ".windsurf/hooks.json", ".codeium/windsurf/hooks.json"),
        "factory-droid": Form("factory-droid", "factory-droid", ".factory/hooks.json"),
        "antigravity": Form("antigravity", "antigravity", ".agents/hooks.json", ".gemini/config/hooks.json"),
    }
)
# a system's name stands for the format it reads
_SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hookline": "native",
        "ollama-cli": "grouped:ollama-cli",
        "cli-agent": "grouped:cli-agent",
        "ollm-rpc": "modern",
    }
)


# path -> the file as it is, and its text as it shall be; none when it shall be gone
_Drafts = dict[str, tuple[bytes | None, str | None]]


class _Carried(Struct, frozen=True):
    """A hook and what became of it; `path` is the file it goes to."""

    hook: Hook
    written: Written
    path: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("source", metavar="FROM", help="a file, a format, a dialect, or all")
    parser.add_argument("goal", metavar="TO", help=f"{', '.join(FORMS)}, or a system's name")
    parser.add_argument("--hook", action="append", default=[], metavar="HOOK", help="only this one; may be given again")
    parser.add_argument("--write", action="store_true", help="write them where that system looks for them")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write them to this file")
    parser.add_argument(
        "--remove-old", action="store_true", help="take those that were carried whole out of their files"
    )
    parser.add_argument(
        "--wider", action="store_true", help="write also hooks that would run more often there than they do now"
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write them, or show how they would be written."""
    goal = _SHORT.get(args.goal) or _agent(args.goal)
    form = FORMS.get(goal)
    if form is None:
        raise ConfigError(f"cannot write {quoted(goal)}{hint(goal, FORMS)}; there are {', '.join(FORMS)}")
    if args.write and args.output:
        raise ConfigError("--write and --output name two places; keep one")
    if args.remove_old and not (args.write or args.output):
        raise ConfigError("--remove-old goes with --write or --output")
    writes = args.write or args.output is not None
    only_shown = argparse.Namespace(**{**vars(args), "dry_run": args.dry_run or not writes})
    with session(only_shown) as change:
        hooks = _chosen(change, args)
        return _write(change, form, hooks) if writes else _show(change, form, hooks)


def _agent(name: str) -> str:
    """Give the whole name of an agent that is called by a shorter one; any other word as it is."""
    return next((own for own, dialect in DIALECTS.items() if name in dialect.SPEC.aliases), name)


def _chosen(change: Session, args: argparse.Namespace) -> list[Hook]:
    hooks = list(change.project.loaded.hooks)
    path = Path(args.source)
    if args.source != "all" and path.is_file():
        full = str(path.parent.resolve() / path.name)
        hooks = [hook for hook in hooks if hook.source_path == full]
    elif (source := _agent(args.source)) in FORMATS or source in DIALECTS:
        hooks = [hook for hook in hooks if source in {hook.source_format, hook.dialect}]
    elif args.source == "all":
        # what is managed, and what others packed, is only taken along by its name
        hooks = [hook for hook in hooks if hook.layer is not Layer.MANAGED and hook.source in _WRITTEN_HERE]
    else:
        known = [*FORMATS, *DIALECTS, "all"]
        raise ConfigError(f"there is no file or format {quoted(args.source)}{hint(args.source, known)}")
    if args.hook:
        wanted = {hook_named(change.project, name).id for name in args.hook}
        hooks = [hook for hook in hooks if hook.id in wanted]
    if not hooks:
        raise ConfigError(f"no hook was found in {quoted(args.source)}; `hookline list` shows them all")
    return hooks


def _show(change: Session, form: Form, hooks: Sequence[Hook]) -> int:
    """Print what each new file would hold."""
    drafts: _Drafts = {}
    carried = []
    for hook in hooks:
        path = _place(change, form, hook)
        drafts.setdefault(path, (None, ""))
        carried.append(_carry(change, form, hooks, hook, path=path, document=_document(drafts, path)))
        _add(drafts, carried[-1])
    texts = {path: text for path, (_, text) in drafts.items() if text}
    lost = [reason for one in carried for reason in one.written.lost]
    if change.args.json:
        documents = [{"path": path, "text": text} for path, text in texts.items()]
        say_json({"documents": documents, "lost": lost, "written": _names(carried, whole=None)})
        return 0
    for path, text in texts.items():
        if len(texts) > 1:
            complain(f"{path}:")
        # the document itself: a mask would be written to the file it goes to
        say(text.rstrip("\n"), masked=False, broken=True)
    _list_lost(lost)
    return 0


def _write(change: Session, form: Form, hooks: Sequence[Hook]) -> int:
    """Write them, all files at once or none."""
    drafts: _Drafts = {}
    carried: list[_Carried] = []
    hooks = [hook for hook in hooks if not _is_there(change, form, hook)]
    if change.args.remove_old:
        _take_out(change, form, hooks, drafts)
    for hook in hooks:
        place = str(change.args.output.absolute()) if change.args.output else _place(change, form, hook)
        carried.append(_carry(change, form, hooks, hook, path=place, document=_document(drafts, place)))
        _add(drafts, carried[-1])
    if not change.args.output:
        _check(change, drafts, hooks)
    lost = [reason for one in carried for reason in one.written.lost]
    changes = [Change(path, raw, None if text is None else text.encode()) for path, (raw, text) in drafts.items()]
    names = ", ".join(f'"{name}"' for name in _names(carried, whole=None))
    code = change.finish(changes, f"wrote {names}" if names else "wrote nothing", notes=_notes(change, carried, lost))
    if not change.args.json:
        _list_lost(lost)
    return code


def _carry(change: Session, form: Form, hooks: Sequence[Hook], hook: Hook, *, path: str, document: object) -> _Carried:
    target = Target(dialect=form.dialect, vocabulary=vocabulary(), document=document, alone=len(hooks) == 1)
    written = write(_relative(hook, _root(change, hook, path)), form.writer, target)
    if written.wider and written.entries and not change.args.wider:
        written = Written((), (_too_wide(hook, written.wider),))
    return _Carried(hook, written, path)


def _too_wide(hook: Hook, reasons: Sequence[str]) -> str:
    """Say why a hook stays behind: one that formats some files must not begin to format all of them."""
    return (
        f"{hook.id}: not written, as it would run more often than it does now ({'; '.join(reasons)}); "
        "--wider writes it all the same"
    )


def _root(change: Session, hook: Hook, path: str) -> str:
    """Say from where scripts are counted; nowhere, when nobody knows where the new file will be read."""
    if hook.source is not Source.USER:
        return str(change.project.root)
    return "" if change.args.output else os.path.dirname(path)  # noqa: PTH120 - a text, as hooks have it


def _add(drafts: _Drafts, one: _Carried) -> None:
    for path, written in _files(one):
        raw, text = drafts.get(path) or _present(path)
        start = text if text and text.strip() else beginning(written, path=path)
        there = edit.value_of(start, path=path)
        fresh = tuple(entry for entry in written.entries if not _stands(there, entry))
        if fresh and not fresh[0].pointer and isinstance(there, Mapping) and there:
            raise ConfigError("there is another hook in this file already; nothing was changed", path=path)
        drafts[path] = raw, added(start, Written(fresh), path=path)


def _stands(document: object, entry: Entry) -> bool:
    """Say whether a file has what would be added, so that migrating twice adds nothing twice."""
    found = edit.at(document, entry.pointer)
    return entry.value in found if isinstance(found, list) else found == entry.value


def _is_there(change: Session, form: Form, hook: Hook) -> bool:
    """Say whether a hook stands where it would be written to, and as it would be."""
    if change.args.output or hook.source_format != form.writer:
        return False
    place = _place(change, form, hook)
    return hook.source_path == place or os.path.dirname(hook.source_path) + "/" == place  # noqa: PTH120 - as above


def _files(one: _Carried) -> list[tuple[str, Written]]:
    """Say which file gets what: one for all, or one for each event of a hook."""
    entries = one.written.entries
    if not entries or entries[0].pointer or not one.path.endswith("/"):
        return [(one.path, one.written)] if entries else []
    return [(f"{one.path}{file_name(one.hook, entry.event)}", Written((entry,))) for entry in entries]


def _place(change: Session, form: Form, hook: Hook) -> str:
    """Say where a hook goes: a person's own stay their own."""
    folders = change.project.folders
    own = folders.config if form.writer == "native" else folders.home
    if hook.source is Source.USER:
        return f"{own.resolve()}/{form.own or form.path}"
    return f"{change.project.root.resolve()}/{form.path}"


def _relative(hook: Hook, root: str) -> Hook:
    """Count scripts from the folder the new file is read from, so that the file can move with them."""
    if not hook.args or not root:
        return hook
    words = [_below(word, root) for word in (hook.command, *hook.args)]
    return replace(hook, command=words[0] if words[0] == hook.command else f"./{words[0]}", args=tuple(words[1:]))


def _below(word: str, root: str) -> str:
    return word.removeprefix(f"{root}/") if word.startswith(f"{root}/") and Path(word).is_file() else word


def _present(path: str) -> tuple[bytes | None, str]:
    raw = read_bytes(path)
    try:
        return raw, (raw or b"").decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None


def _document(drafts: _Drafts, path: str) -> object:
    if path.endswith("/"):
        return None
    _, text = drafts.get(path) or _present(path)
    return edit.value_of(text or "", path=path)


def _take_out(change: Session, form: Form, hooks: Sequence[Hook], drafts: _Drafts) -> None:
    """Take out of the old files what the new one carries whole."""
    whole = [hook for hook in hooks if not _carry(change, form, hooks, hook, path="", document=None).written.lost]
    files = {hook.source_path: file_of(change.project, hook) for hook in whole}
    for path, file in files.items():
        raw, text = text_of(file)
        drafts[path] = raw, without(file, text, [hook for hook in whole if hook.source_path == path])


def _check(change: Session, drafts: _Drafts, hooks: Sequence[Hook]) -> None:
    """Read everything as it would be: only hooks that were asked for may differ."""
    pointers = {(hook.source_path, hook.source_pointer) for hook in hooks}
    for path, (raw, text) in drafts.items():
        file: ConfigFile = file_at(change.project, Path(path))
        gone, _ = difference(change.project, file, (raw or b"").decode(), text)
        insist(file, as_meant={(path, hook.source_pointer) for hook in gone} <= pointers)


def _names(carried: Sequence[_Carried], *, whole: bool | None) -> list[str]:
    return [one.hook.id for one in carried if one.written.entries and whole in {None, not one.written.lost}]


def _notes(change: Session, carried: Sequence[_Carried], lost: Sequence[str]) -> list[str]:
    if change.args.json:
        return list(lost)
    kept = ", ".join(_names(carried, whole=False))
    if change.args.remove_old:
        return [f"not carried whole, so the old one stays: {kept}"] if kept else []
    # a file of its own gives a hook a name
    named = [one.hook.id for one in carried if not one.hook.name and any(entry.event for entry in one.written.entries)]
    other = ", ".join(dict.fromkeys((*_names(carried, whole=False), *named)))
    notes = ["the old ones stay where they are; a hook that stands twice runs once"] if carried else []
    if other and not change.args.output:
        notes.append(f"no longer quite the same, so both run: {other}")
    return notes


def _list_lost(lost: Sequence[str]) -> None:
    if lost:
        complain("what cannot be carried over:")
    for reason in lost:
        complain(f"  {reason}")
