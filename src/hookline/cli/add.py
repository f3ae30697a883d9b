"""`hookline add`: write a hook into a configuration file, or take over a shared pack of hooks."""

import argparse
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.cli._assignment import split, value_of
from hookline.cli._change import (
    ConfigFile,
    Draft,
    Session,
    add_options,
    difference,
    file_at,
    hooks_in,
    insist,
    is_free,
    listed,
    missing_notes,
    readable,
    session,
    text_of,
    trust_note,
    vocabulary,
)
from hookline.config import edit, pack
from hookline.config.formats import when_then
from hookline.config.journal import Change
from hookline.config.problem import Severity
from hookline.config.values import SHARED, slug
from hookline.config.vocabulary import hint, quoted
from hookline.config.writing import WRITERS, Target, Written, write
from hookline.dialects import DIALECTS
from hookline.display import typed
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import Hook, OnError, Priority

HELP: Final = "add a hook, to your own hookline.toml unless --to says otherwise"
EXAMPLE: Final = "hookline add no-force-push --on before_tool --tools shell --run 'python3 guard.py'"

HEADER: Final = "# Hooks of Hookline: `hookline list` shows them, `hookline check` says what is wrong.\n"

# formats whose hooks speak a language of their own, whatever else the file holds
_AUTOMATION: Final = frozenset({"modern", "when_then"})
_PLACES: Final = {"user": "hookline.toml", "project": "hookline.toml", "local": "hookline.local.toml"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="what to call it")
    parser.add_argument("--on", action="append", default=[], metavar="EVENT", help="when it runs; may be given again")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--run", metavar="LINE", help="the command")
    how.add_argument("--run-args", nargs=argparse.REMAINDER, metavar="WORD", help="the command as words; goes last")
    how.add_argument("--call", metavar="MODULE:FUNCTION", help="a Python function")
    how.add_argument("--post", metavar="URL", help="a webhook")
    how.add_argument("--ask", metavar="TEXT", help="what to ask the agent")
    how.add_argument("--steps", nargs="+", default=[], metavar="HOOK", help="other hooks, by their ids")
    how.add_argument("--raise", dest="raises", metavar="EVENT", help="raise another event")
    how.add_argument("--from", dest="pack", type=Path, metavar="FILE", help="take over what `hookline share` wrote")
    parser.add_argument("--tools", nargs="+", default=[], metavar="TOOL", help="only for these tools; * is any name")
    parser.add_argument("--matcher", default="", help="only for what this pattern matches")
    parser.add_argument("--files", nargs="+", default=[], metavar="PATTERN", help="only for events about such files")
    parser.add_argument(
        "--writes", nargs="+", default=[], metavar="PATTERN", help="only for tools that may write such files"
    )
    parser.add_argument("--deletes", nargs="+", default=[], metavar="PATTERN", help="that may delete such files")
    parser.add_argument("--reads", nargs="+", default=[], metavar="PATTERN", help="that may read such files")
    parser.add_argument(
        "--runs", nargs="+", default=[], metavar="COMMAND", help='that may run such commands: "git push"'
    )
    parser.add_argument("--urls", nargs="+", default=[], metavar="HOST", help="that may reach such a host or URL")
    parser.add_argument("--if", dest="condition", default="", metavar="CONDITION", help="only when this is true")
    parser.add_argument("--schedule", default="", metavar="CRON", help="when `hookline watch` starts it")
    parser.add_argument(
        "--set",
        dest="more",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any other key, such as per_minute=30; may be given again",
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--on-error", choices=[str(one) for one in OnError], help="what a failure of the hook means")
    parser.add_argument("--priority", type=int, metavar="NUMBER", help="lower runs earlier; 200 where nothing is said")
    parser.add_argument("--dialect", choices=sorted(DIALECTS), help="the language the hook speaks")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="may be given again")
    parser.add_argument("--shell", action="store_true", default=None, help="let a shell read the command")
    parser.add_argument("--to", default="user", metavar="user|project|local|FILE", help="where it is written")
    parser.add_argument("--format", choices=sorted(WRITERS), help="for a file that may have several formats")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Add it."""
    with session(args) as change:
        return _take_over(change, args.pack) if args.pack else _add(change, args)


def _add(change: Session, args: argparse.Namespace) -> int:
    file = _target(change, args.to)
    raw, before = text_of(file)
    name = args.format or _format(file, readable(file, before))
    hook = _hook(args, file, name)
    is_free(change.project, hook)
    document = edit.value_of(before, path=file.path)
    target = Target(dialect=file.origin.dialect, vocabulary=vocabulary(), document=document, alone=True)
    written = write(hook, name, target)
    if written.lost:
        raise ConfigError(
            f"this file cannot carry the hook: {'; '.join(written.lost)}; nothing was changed", path=file.path
        )
    text = added(before if before.strip() else beginning(written, path=file.path), written, path=file.path)
    gone, gained = difference(change.project, file, before, text)
    events = {event for one in gained for event in one.on}
    insist(file, as_meant=not gone and events == set(hook.on) and all(one.id == hook.id for one in gained))
    refusals = [reason for one in gained if (reason := change.project.engine.runner.refusal(one))]
    if refusals:
        raise ConfigError(f"hook {quoted(hook.id)} would not be run: {refusals[0]}; nothing was changed")
    notes = [trust_note(change.project, one) for one in gained[:1]]
    notes += missing_notes(change.project, gone, gained)
    draft = Draft(file=file, before=raw, text=text)
    return change.finish([draft.change], f"added {quoted(hook.id)}", notes=notes)


def beginning(written: Written, *, path: str) -> str:
    """Give what a new file begins with."""
    if path.endswith(".toml"):
        return HEADER
    return edit.put("", (), written.around, path=path) if written.around else ""


def added(text: str, written: Written, *, path: str) -> str:
    """Put what was written into a text."""
    for entry in written.entries:
        if entry.pointer or text.strip():
            text = edit.append(text, entry.pointer, entry.value, path=path)
        else:
            text = edit.put(text, (), entry.value, path=path)
    return text


def _target(change: Session, to: str) -> ConfigFile:
    name = _PLACES.get(to)
    if name is None:
        return file_at(change.project, Path(to))
    folder = change.project.folders.config if to == "user" else change.project.root
    return file_at(change.project, folder / name)


def _format(file: ConfigFile, present: list[Hook]) -> str:
    """Say in which format to write: as its neighbours are, else in the one that the place is for."""
    name = present[-1].source_format if present else file.formats[-1]
    return "modern" if name == "when_then" else name


def _hook(args: argparse.Namespace, file: ConfigFile, name: str) -> Hook:
    """Make the hook that was described.

    Raises:
        ConfigError: Something is missing, or not known.
    """
    if not slug(args.name) or not args.name.isprintable():
        raise ConfigError("say what to call the hook: hookline add NAME --on EVENT --run LINE")
    if not any((args.run, args.run_args, args.call, args.post, args.ask, args.steps, args.raises)):
        raise ConfigError("say what the hook does: --run, --run-args, --call, --post, --ask, --steps or --raise")
    if args.tools and args.matcher:
        raise ConfigError("--tools and --matcher say the same; keep one")
    automated = name in _AUTOMATION
    dialect = args.dialect or (when_then.DIALECT if automated else file.origin.dialect)
    module, colon, function = (args.call or "").partition(":")
    if args.call and not (module and colon and function):
        raise ConfigError(f"--call: wanted MODULE:FUNCTION, got {quoted(args.call)}")
    command, *words = args.run_args or [args.run or ""]
    hook = Hook(
        id=slug(args.name),
        name=args.name,
        on=_events(args.on or ([EventName.SCHEDULED] if args.schedule else []), dialect),
        dialect=dialect,
        source=file.origin.source,
        command=command,
        args=tuple(words),
        # words are words, whatever the dialect makes of lines
        shell=args.shell if not args.run_args else None if automated else False,
        # what is printed there is a message, and cannot be anything else
        plain=automated and bool(command),
        module=module,
        function=function,
        url=args.post or "",
        prompt=args.ask or "",
        steps=tuple(args.steps),
        raises=args.raises or "",
        # a star means the same to hooks of every dialect, also where matchers are regular expressions
        matcher=args.matcher or "|".join(tool.replace("*", ".*") for tool in args.tools),
        files=tuple(args.files),
        writes=tuple(args.writes),
        deletes=tuple(args.deletes),
        reads=tuple(args.reads),
        runs=tuple(args.runs),
        urls=tuple(args.urls),
        condition=args.condition,
        schedule=args.schedule,
        timeout=args.timeout,
        on_error=OnError(args.on_error) if args.on_error else None,
        priority=Priority.NORMAL if args.priority is None else args.priority,
        env=dict(_pair(word) for word in args.env),
    )
    return replace(hook, **dict(map(_field, args.more)))


def _field(assignment: str) -> tuple[str, object]:
    """Read one `--set`: a key as hookline.toml has it, and the field of the hook it sets."""
    name, word = split(assignment)
    key = SHARED.get(name)
    if key is None or not key.field:
        known = [name for name, key in SHARED.items() if key.field]
        raise ConfigError(f"--set: hooks have no key {quoted(name)}{hint(name, known)}; there are {', '.join(known)}")
    return key.field, key.read(value_of(f"--set {name}", word, key))


def _events(names: list[str], dialect: str) -> tuple[str, ...]:
    if not names:
        raise ConfigError("say when the hook runs: --on EVENT; `hookline events` lists them")
    words = vocabulary()
    for name in names:
        if not words.events(name, dialect=dialect):
            raise ConfigError(f"--on: {words.about_unknown_event(name, dialect=dialect)}")
    return tuple(dict.fromkeys(event for name in names for event in words.events(name, dialect=dialect)))


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise ConfigError(f"--env: wanted KEY=VALUE, got {quoted(word)}")
    return name, value


def _within(folder: Path, name: str) -> tuple[str, ...]:
    """Name the folders of a pack that lead to one of its files, the innermost first."""
    return tuple(str(folder / parent) for parent in Path(name).parents)


def _take_over(change: Session, path: Path) -> int:
    """Install a pack: its hooks are somebody else's until they are approved."""
    shared = pack.read_file(path)
    packs = change.project.folders.config / "packs"
    folder = packs / shared.name
    file = file_at(change.project, folder / "hookline.toml")
    text = pack.settings(shared)
    hooks, problems = hooks_in(file, text)
    wrong = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    if wrong is not None:
        raise ConfigError(f"a hook of the pack cannot be used: {wrong.message}; nothing was changed", path=str(path))
    contents = {one.path: one.content for one in shared.files} | {"hookline.toml": text.encode()}
    changes = [Change(str(folder / name), None, raw, folders=_within(folder, name)) for name, raw in contents.items()]
    if change.apply is not None:
        pack.install(shared, packs)
    notes = [*(problem.message for problem in problems), *missing_notes(change.project, (), hooks)]
    if hooks:
        notes.append(
            f"they come from somebody else, so each has to be approved: hookline trust approve {typed(hooks[0].id)}"
        )
    return change.finish(changes, f"added {listed(hooks)}", notes=notes, made=True)
