"""`hookline new`: a hook that runs as it is, an event to try it with, and its entry in `hookline.toml`."""

import argparse
import re
import shlex
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.cli import _scaffold
from hookline.cli._output import say, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.journal import Change, Journal, read_bytes
from hookline.config.vocabulary import Vocabulary, hint, quoted
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EVENTS, EventName
from hookline.model.hook import Hook
from hookline.wiring import native_names
from hookline.workspace import Opened

HELP: Final = "write a new hook that runs at once, with an event to try it"
EXAMPLE: Final = "hookline new guard --event before_tool --lang python --template validation"

TARGETS: Final = ("user", "project")

# a name is a file's name, and stands in the comments of a script
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ON: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,80}")


class _Files(Struct, frozen=True, kw_only=True):
    """What is written, and where."""

    settings: Path
    script: Path
    payload: Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("name", metavar="NAME", help="what the hook is called; its files, too")
    parser.add_argument("--event", required=True, metavar="EVENT", help="when it runs; `hookline events` lists them")
    parser.add_argument(
        "--lang", default="python", metavar="LANG", help=f"{', '.join(_scaffold.LANGUAGES)}; python unless you say"
    )
    parser.add_argument(
        "--template",
        default="validation",
        metavar="TEMPLATE",
        help="logging: keep a line about each event; validation: deny what matches a pattern; context: tell the model "
        "something; policy: deny, ask or allow by a table; validation unless you say",
    )
    parser.add_argument("--dialect", default="hookline", metavar="DIALECT", help="whose words it speaks")
    parser.add_argument("--to", choices=TARGETS, default="user", help="your own hooks, or those of the project")
    parser.add_argument("--force", action="store_true", help="write over an earlier hook of this name")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the hook, all of its files or none."""
    plan = _plan(args)
    project = opened(args)
    folder = project.root if args.to == "project" else project.folders.config
    files = _Files(
        settings=folder / "hookline.toml",
        script=folder / _scaffold.script_name(plan),
        payload=folder / _scaffold.FOLDER / f"{plan.name}.event.json",
    )
    _write(plan, files, project, force=args.force)
    _report(args, plan, files)
    return 0


def _plan(args: argparse.Namespace) -> _scaffold.Plan:
    if not _NAME.fullmatch(args.name):
        raise ConfigError(f"{quoted(args.name)} is no name for a hook: letters, digits, - and _, 64 at most")
    _known(args.lang, _scaffold.LANGUAGES, "language")
    _known(args.template, _scaffold.TEMPLATES, "template")
    _known(args.dialect, DIALECTS, "dialect")
    if args.dialect not in _scaffold.SPEAKING:
        raise ConfigError(
            f"templates do not speak {args.dialect}; without --dialect the hook speaks our own words, and runs under "
            f"{args.dialect} as it does under every agent; there are templates in {', '.join(_scaffold.SPEAKING)}"
        )
    vocabulary = Vocabulary(names=native_names())
    events = vocabulary.events(args.event, dialect=args.dialect)
    if not events or not _ON.fullmatch(args.event):
        message = vocabulary.about_unknown_event(args.event, dialect=args.dialect)
        raise ConfigError(f"{message}; `hookline events` lists them")
    return _scaffold.Plan(
        name=args.name,
        event=EventName.CUSTOM if events[0].startswith(CUSTOM_PREFIX) else EventName(events[0]),
        on=args.event,
        language=args.lang,
        template=args.template,
        dialect=args.dialect,
    )


def _known(word: str, known: Collection[str], what: str) -> None:
    if word not in known:
        raise ConfigError(f"there is no {what} {quoted(word)}{hint(word, known)}; there are {', '.join(sorted(known))}")


def _write(plan: _scaffold.Plan, files: _Files, project: Opened, *, force: bool) -> None:
    earlier = _earlier(plan, files, project.loaded.hooks)
    if earlier is not None and not force:
        raise ConfigError(
            f"there is a hook {quoted(plan.name)} already; choose another name, or write over it with --force",
            path=earlier.source_path,
            line=earlier.source_line,
        )
    with Journal(project.folders.data).changing() as apply:
        before = read_bytes(str(files.settings))
        settings = _with_entry(before, plan, str(files.settings), earlier)
        wanted = {
            files.script: _scaffold.script(plan).encode(),
            files.payload: _scaffold.payload(plan),
            files.settings: settings.encode(),
        }
        changes = [Change(str(path), read_bytes(str(path)), after) for path, after in wanted.items()]
        for change in changes[:-1]:
            if change.before is not None and not force:
                raise ConfigError("there is such a file already; write over it with --force", path=change.path)
        apply(changes, f'new hook "{plan.name}"')


def _earlier(plan: _scaffold.Plan, files: _Files, hooks: Collection[Hook]) -> Hook | None:
    """Find a hook of this name in the same file; those elsewhere are others' business."""
    # as the loader names it: the folder may be a link, and so may the file, which stays one
    path = files.settings.parent.resolve() / files.settings.name
    here = [hook for hook in hooks if Path(hook.source_path) == path]
    return next((hook for hook in here if hook.name == plan.name), None)


def _with_entry(before: bytes | None, plan: _scaffold.Plan, path: str, earlier: Hook | None) -> str:
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None
    entry = _scaffold.entry(plan)
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


def _report(args: argparse.Namespace, plan: _scaffold.Plan, files: _Files) -> None:
    program = _scaffold.LANGUAGES[plan.language].program
    emitted = "custom" if plan.event is EventName.CUSTOM else plan.on
    there = f" --project {shlex.quote(str(args.project))}" if args.project else ""
    payload = shlex.quote(_shown(files.payload))
    tries = [
        f"hookline test {plan.name}{there}",
        f"{program} {shlex.quote(_shown(files.script))} < {payload}",
        f"hookline emit {emitted} --dialect {plan.dialect} --data @{payload}{there}",
    ]
    needs_approval = args.to == "project"
    has_program = shutil.which(program) is not None
    if args.json:
        say_json(_described(plan, files, tries=tries, needs_approval=needs_approval, has_program=has_program))
        return
    outcome = "an event it " + _speaks_of(plan)
    for path, what in ((files.script, "the hook"), (files.payload, outcome), (files.settings, f"runs it at {plan.on}")):
        say(f"{_shown(path)}: {what}")
    if not has_program:
        say(f"{program} is not on your PATH: install it before the hook is to run")
    if needs_approval:
        say(f"It is a hook of this project, so it runs once you approved it: hookline trust approve {plan.name}{there}")
    say("Try it:")
    for line in tries:
        say(f"  {line}")
    say("Take it back: hookline undo")


def _speaks_of(plan: _scaffold.Plan) -> str:
    if plan.template in {"logging", "context"}:
        return "runs at"
    return "denies" if EVENTS[plan.event].can_block else "warns about"


def _described(
    plan: _scaffold.Plan, files: _Files, *, tries: list[str], needs_approval: bool, has_program: bool
) -> Mapping[str, object]:
    return {
        "name": plan.name,
        "event": plan.on,
        "dialect": plan.dialect,
        "language": plan.language,
        "template": plan.template,
        "config": str(files.settings),
        "script": str(files.script),
        "payload": str(files.payload),
        "hook": _scaffold.entry(plan),
        "needs_approval": needs_approval,
        "program_found": has_program,
        "try": tries,
    }


def _shown(path: Path) -> str:
    """Give a path as one would type it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
