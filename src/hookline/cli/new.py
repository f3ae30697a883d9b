"""`hookline new`: a hook that runs as it is, an event to try it with, and its entry in `hookline.toml`."""

import argparse
import re
import shlex
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.cli import _templates
from hookline.cli._output import render
from hookline.cli._project import add_json_option, add_project_option, load_from_args
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.known_names import KnownNames, quote, suggest
from hookline.config.undo_log import FileEdit, UndoLog, read_bytes
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EVENTS, EventName
from hookline.model.hook import Hook
from hookline.project import Project
from hookline.wiring import native_names

HELP: Final = "write a new hook that runs at once, with an event to try it"
EXAMPLE: Final = "hookline new guard --event before_tool --lang python --template validation"

TARGETS: Final = ("user", "project")

# becomes a file name, and part of comments in the script
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ON: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,80}")


class _Files(Struct, frozen=True, kw_only=True):
    """The files to write."""

    settings: Path
    script: Path
    payload: Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="NAME", help="what the hook is called; its files, too")
    parser.add_argument("--event", required=True, metavar="EVENT", help="when it runs; `hookline events` lists them")
    parser.add_argument(
        "--lang", default="python", metavar="LANG", help=f"{', '.join(_templates.LANGUAGES)}; python unless you say"
    )
    parser.add_argument(
        "--template",
        default="validation",
        metavar="TEMPLATE",
        help="logging: keep a line about each event; validation: deny what matches a pattern; context: tell the model "
        "something; policy: deny, ask or allow by a table; validation unless you say",
    )
    parser.add_argument("--dialect", default="hookline", metavar="DIALECT", help="the dialect of the hook")
    parser.add_argument("--to", choices=TARGETS, default="user", help="your own hooks, or those of the project")
    parser.add_argument("--force", action="store_true", help="write over an earlier hook of this name")
    add_project_option(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Write the hook, all of its files or none."""
    plan = _make_plan(args)
    project = load_from_args(args)
    folder = project.root if args.to == "project" else project.folders.config
    files = _Files(
        settings=folder / "hookline.toml",
        script=folder / _templates.get_script_name(plan),
        payload=folder / _templates.FOLDER / f"{plan.name}.event.json",
    )
    _write(plan, files, project, force=args.force)
    return _report(args, plan, files)


def _make_plan(args: argparse.Namespace) -> _templates.NewHook:
    if not _NAME.fullmatch(args.name):
        raise ConfigError(f"{quote(args.name)} is no name for a hook: letters, digits, - and _, 64 at most")
    _require_known(args.lang, _templates.LANGUAGES, "language")
    _require_known(args.template, _templates.TEMPLATES, "template")
    _require_known(args.dialect, DIALECTS, "dialect")
    if args.dialect not in _templates.SUPPORTED_DIALECTS:
        raise ConfigError(
            f"templates do not speak {args.dialect}; without --dialect the hook speaks our own words, and runs under "
            f"{args.dialect} as it does under every agent; there are templates in {', '.join(_templates.SUPPORTED_DIALECTS)}"
        )
    vocabulary = KnownNames(names=native_names())
    events = vocabulary.events_in_any_dialect(args.event, dialect=args.dialect)
    if not events or not _ON.fullmatch(args.event):
        message = vocabulary.describe_unknown_event(args.event, dialect=args.dialect)
        raise ConfigError(f"{message}; `hookline events` lists them")
    return _templates.NewHook(
        name=args.name,
        event=EventName.CUSTOM if events[0].startswith(CUSTOM_PREFIX) else EventName(events[0]),
        on=args.event,
        language=args.lang,
        template=args.template,
        dialect=args.dialect,
    )


def _require_known(word: str, known: Collection[str], what: str) -> None:
    if word not in known:
        raise ConfigError(
            f"there is no {what} {quote(word)}{suggest(word, known)}; there are {', '.join(sorted(known))}"
        )


def _write(plan: _templates.NewHook, files: _Files, project: Project, *, force: bool) -> None:
    earlier = _find_earlier(plan, files, project.hooks)
    if earlier is not None and not force:
        raise ConfigError(
            f"there is a hook {quote(plan.name)} already; choose another name, or write over it with --force",
            path=earlier.source_path,
            line=earlier.source_line,
        )
    with UndoLog(project.folders.data).transaction() as apply:
        before = read_bytes(str(files.settings))
        settings = _add_entry(before, plan, str(files.settings), earlier)
        wanted = {
            files.script: _templates.make_script(plan).encode(),
            files.payload: _templates.make_payload(plan),
            files.settings: settings.encode(),
        }
        changes = [FileEdit(str(path), read_bytes(str(path)), after) for path, after in wanted.items()]
        for change in changes[:-1]:
            if change.before is not None and not force:
                raise ConfigError("there is such a file already; write over it with --force", path=change.path)
        apply(changes, f'new hook "{plan.name}"')


def _find_earlier(plan: _templates.NewHook, files: _Files, hooks: Collection[Hook]) -> Hook | None:
    """Return the hook of this name in the same file, if there is one."""
    # as the loader names it: links of folders are resolved, a link of the file is not
    path = files.settings.parent.resolve() / files.settings.name
    here = [hook for hook in hooks if Path(hook.source_path) == path]
    return next((hook for hook in here if hook.name == plan.name), None)


def _add_entry(before: bytes | None, plan: _templates.NewHook, path: str, earlier: Hook | None) -> str:
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None
    entry = _templates.make_entry(plan)
    if earlier is None:
        return edit.append(text, ("hook",), entry, path=path)
    where = earlier.source_pointer
    for key in _keys_at(text, where, path=path):
        if key not in entry:
            text = edit.drop(text, (*where, key), path=path)
    for key, value in entry.items():
        text = edit.put(text, (*where, key), value, path=path)
    return text


def _keys_at(text: str, where: KeyPath, *, path: str) -> Collection[str]:
    match edit.value_of(text, path=path), where:
        case {"hook": list() as tables}, ("hook", int() as place):
            return list(tables[place])
        case _:
            return ()


def _report(args: argparse.Namespace, plan: _templates.NewHook, files: _Files) -> int:
    program = _templates.LANGUAGES[plan.language].program
    emitted = "custom" if plan.event is EventName.CUSTOM else plan.on
    there = f" --project {shlex.quote(str(args.project))}" if args.project else ""
    payload = shlex.quote(_shorten(files.payload))
    tries = [
        f"hookline test {plan.name}{there}",
        f"{program} {shlex.quote(_shorten(files.script))} < {payload}",
        f"hookline emit {emitted} --dialect {plan.dialect} --data @{payload}{there}",
    ]
    needs_approval = args.to == "project"
    has_program = shutil.which(program) is not None
    does = "denies" if EVENTS[plan.event].can_block else "warns about"
    if plan.template in {"logging", "context"}:
        does = "runs at"
    lines = [
        f"{_shorten(files.script)}: the hook",
        f"{_shorten(files.payload)}: an event it {does}",
        f"{_shorten(files.settings)}: runs it at {plan.on}",
    ]
    if not has_program:
        lines.append(f"{program} is not on your PATH: install it before the hook is to run")
    if needs_approval:
        approve = f"hookline trust approve {plan.name}{there}"
        lines.append(f"It is a hook of this project, so it runs once you approved it: {approve}")
    value = {
        "name": plan.name,
        "event": plan.on,
        "dialect": plan.dialect,
        "language": plan.language,
        "template": plan.template,
        "config": str(files.settings),
        "script": str(files.script),
        "payload": str(files.payload),
        "hook": _templates.make_entry(plan),
        "needs_approval": needs_approval,
        "program_found": has_program,
        "try": tries,
    }
    tail = ("Try it:", *(f"  {line}" for line in tries), "Take it back: hookline undo")
    return render(value, *lines, *tail, as_json=args.json)


def _shorten(path: Path) -> str:
    """Return a path relative to the working directory if it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
