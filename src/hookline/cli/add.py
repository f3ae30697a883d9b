"""`hookline add`: write a hook into a configuration file, or install a shared pack of hooks."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import replace

from hookline.cli._command import CliCommand, OneOf, argument, parse_dialect, repeatable
from hookline.cli._edit_session import (
    EDIT_OPTIONS,
    SANDBOX,
    ConfigFile,
    EditSession,
    join_ids,
    load_known_names,
    open_session,
    parse_value,
    split_assignment,
)
from hookline.cli._project import read_object
from hookline.config import edit, pack
from hookline.config.document import Severity
from hookline.config.export import WRITERS, ExportResult, ExportTarget, write
from hookline.config.formats.native import decides_about_tools
from hookline.config.formats.ollm import AUTOMATION_DIALECT
from hookline.config.keys import SHARED, derive_rule_name, model_budget, model_name, request_body, slug
from hookline.config.mcp_servers import attach_servers
from hookline.config.undo_log import FileEdit
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import ACTIONS, TEXT_TARGETS, Hook, OnError, Priority, Source, Unknown
from hookline.model.names import find_unknown_tools, known_tools, narrow_matcher
from hookline.text import find_closest, quote, shell_quote, suggest

T = TypeVar("T")

HEADER: Final = "# Hooks of Hookline: `hookline list` shows them, `hookline check` says what is wrong.\n"

# formats whose hooks have a dialect of their own, whatever else the file holds
_AUTOMATION: Final = frozenset({"modern", "when_then"})
# constant answers, for which no program runs
_ACTIONS: Final = {
    "deny": "block, with this reason; {{args.command}} and other values are filled in",
    "confirm": "ask the person first, with this question",
    "allow": "allow without asking the person",
    "tell": "show the person this text",
    "context": "give the model this text",
}
# the other options that set what a hook does, and the names of their values
_TARGETS: Final = {
    **{word: word for word in ("run", "call", "post", "steps", *(one.key for one in TEXT_TARGETS.values()))},
    "run-args": "run_args",
    "raise": "raises",
}
# only for such files, commands and hosts
_PATTERNS: Final = {
    "files": ("PATTERN", "only for events about such files"),
    "writes": ("PATTERN", "only for tools that may write such files"),
    "deletes": ("PATTERN", "that may delete such files"),
    "reads": ("PATTERN", "that may read such files"),
    "runs": ("COMMAND", 'that may run such commands: "git push"'),
    "urls": ("HOST", "that may reach such a host or URL"),
}
# only under such agents, on such branches, at such times; the field and the option
_SCOPES: Final = {
    "agents": ("agent", "AGENT", "only under this agent: claude, codex; may be given again"),
    "branches": ("branch", "PATTERN", "only on this branch of git: main, 'release/*'; may be given again"),
    "between": ("between", "TIMES", "only at these times: 09:00-18:00, 'mon-fri 22:00-06:00'; may be given again"),
}
PLACES: Final = {"user": "hookline.toml", "project": "hookline.toml", "local": "hookline.local.toml"}


def run(args: argparse.Namespace) -> int:
    """Add the hook, or the hooks of a pack."""
    with open_session(args) as session:
        return _install_pack(session, args.pack) if args.pack else _add(session, args)


def _add(session: EditSession, args: argparse.Namespace) -> int:
    place = PLACES.get(args.to)
    folder = session.project.folders.config if args.to == "user" else session.project.root
    file = session.find_file_at(folder / place if place else Path(args.to))
    raw, before = file.read()
    present, problems = file.parse(before)
    broken = next((one for one in problems if one.severity is Severity.ERROR), None)
    if broken is not None and not present:
        raise ConfigError(f"{broken.message}; mend it first, nothing was changed", path=file.path, line=broken.line)
    # the format of the last hook in the file, else the usual one for the file
    usual = present[-1].source_format if present else file.formats[-1]
    name = args.format or ("modern" if usual == "when_then" else usual)
    hook = _build_hook(args, file, name)
    session.require_free_name(hook)
    document = edit.value_of(before, path=file.path)
    target = ExportTarget(dialect=file.origin.dialect, known_names=load_known_names(), document=document, alone=True)
    written = write(hook, name, target)
    if written.losses:
        message = f"this file cannot carry the hook: {'; '.join(written.losses)}; nothing was changed"
        raise ConfigError(message, path=file.path)
    text = append_entries(before if before.strip() else start_file(written, path=file.path), written, path=file.path)
    gone, gained = session.diff(file, before, text)
    events = {event for one in gained for event in one.on}
    file.require(is_intended=not gone and events == set(hook.on) and all(one.id == hook.id for one in gained))
    for one in gained:
        if reason := session.project.components.refusal(one):
            raise ConfigError(f"hook {quote(hook.id)} would not be run: {reason}; nothing was changed")
    notes = [*map(session.explain_trust, gained[:1]), *session.list_unresolved(gone, gained)]
    if hook.mcp:
        attached = attach_servers(gained[:1], session.project.servers)
        notes = [*map(session.explain_trust, attached.hooks), *(problem.message for problem in attached.problems)]
    return session.finish([file.edit(raw, text)], f"added {quote(hook.id)}", notes=notes)


def start_file(written: ExportResult, *, path: str) -> str:
    """Return the beginning of a new file."""
    if path.endswith(".toml"):
        return HEADER
    return edit.put("", (), written.header, path=path) if written.header else ""


def append_entries(text: str, written: ExportResult, *, path: str) -> str:
    """Return a text with exported entries appended."""
    for entry in written.entries:
        if entry.pointer or text.strip():
            text = edit.append(text, entry.pointer, entry.value, path=path)
        else:
            text = edit.put(text, (), entry.value, path=path)
    return text


def _build_hook(args: argparse.Namespace, file: ConfigFile, name: str) -> Hook:
    """Build the hook from the options.

    Raises:
        ConfigError: An option is missing or has an unknown value.
    """
    actions = {action: getattr(args, action) for action in ACTIONS if getattr(args, action)}
    title = args.name or derive_rule_name(actions)
    if not slug(title) or not title.isprintable():
        raise ConfigError("say what to call the hook: hookline add NAME --on EVENT --run LINE")
    targets = [f"--{word}" for word, dest in _TARGETS.items() if getattr(args, dest)]
    if not targets and not actions:
        raise ConfigError(f"say what the hook does: {', '.join(f'--{word}' for word in (*ACTIONS, *_TARGETS))}")
    if targets and actions:
        raise ConfigError(
            f"--{next(iter(actions))} is a constant answer, for which no program runs; "
            f"leave it out, or leave out {' and '.join(targets)}"
        )
    if args.undo and actions:
        raise ConfigError(f"--undo takes back what a hook did, and --{next(iter(actions))} does nothing")
    if bool(args.judge) != bool(args.model) or (args.budget and not args.judge):
        raise ConfigError("--judge asks a language model, and --model says which: give both; --budget goes with them")
    if args.tools and args.matcher:
        raise ConfigError("--tools and --matcher say the same; keep one")
    automated = name in _AUTOMATION
    dialect = args.dialect or (AUTOMATION_DIALECT if automated else file.origin.dialect)
    module, colon, function = (args.call or "").partition(":")
    if args.call and not (module and colon and function):
        raise ConfigError(f"--call: wanted MODULE:FUNCTION, got {quote(args.call)}")
    command, *words = args.run_args or [args.run or ""]
    hook = Hook(
        id=slug(title),
        name=title,
        on=_parse_events(args, dialect),
        dialect=dialect,
        source=file.origin.source,
        command=command,
        args=tuple(words),
        # --run-args is never a shell line, whatever the dialect's default
        shell=args.shell if not args.run_args else None if automated else False,
        # these formats show output as a message and read no answers from it
        plain=automated and bool(command),
        # these formats require the key; a user's own hook needs no approval
        trusted=True if automated and file.origin.source is Source.USER else None,
        module=module,
        function=function,
        url=args.post or "",
        body=_parse_option("--body", args.body, request_body) if args.body is not None else None,
        headers=dict(split_assignment(word, "--header") for word in args.header),
        method=args.method,
        arguments=read_object(args.arguments, "--arguments") or {},
        steps=tuple(args.steps),
        raises=args.raises or "",
        **{field: getattr(args, one.key) for field, one in TEXT_TARGETS.items() if getattr(args, one.key)},
        model=_parse_option("--model", args.model, model_name) if args.model else "",
        budget=_parse_option("--budget", args.budget, model_budget) if args.budget else None,
        # a star works in every dialect, also where matchers are regular expressions
        matcher=_parse_matcher(args),
        unknown=Unknown(args.unknown) if args.unknown else None,
        condition=args.condition,
        schedule=args.schedule,
        undo=args.undo,
        timeout=args.timeout,
        on_error=OnError(args.on_error) if args.on_error else None,
        priority=Priority.NORMAL if args.priority is None else args.priority,
        env=dict(split_assignment(word, "--env") for word in args.env),
        sandbox=args.sandbox,
        **{name: getattr(args, name) for name in _ACTIONS},
    )
    patterns = {name: tuple(getattr(args, name)) for name in _PATTERNS}
    scopes = {
        field: _parse_option(f"--{option}", words, SHARED[field].read)
        for field, (option, _, _) in _SCOPES.items()
        if (words := getattr(args, field))
    }
    return replace(hook, **patterns, **scopes, **dict(map(_parse_setting, args.more)))


def _parse_setting(assignment: str) -> tuple[str, object]:
    """Parse one `--set KEY=VALUE` into the hook's field and its value."""
    name, word = split_assignment(assignment)
    key = SHARED.get(name)
    if key is None or not key.field:
        known = [name for name, key in SHARED.items() if key.field]
        raise ConfigError(f"--set: hooks have no key {quote(name)}{suggest(name, known)}; there are {', '.join(known)}")
    return key.field, key.read(parse_value(f"--set {name}", word, key))


def _parse_matcher(args: argparse.Namespace) -> str:
    """Return the matcher from `--matcher` or `--tools`, narrowed to the tools that event names imply."""
    matcher = args.matcher or "|".join(tool.replace("*", ".*") for tool in args.tools)
    for word in find_unknown_tools(matcher) if args.tools else ():
        if near := find_closest(word, known_tools().values(), cutoff=0.75):
            own = f"a tool of your own is written other:{word}"
            raise ConfigError(f"--tools: there is no tool {quote(word)} (did you mean {quote(near)}?); {own}")
    return narrow_matcher(args.on, matcher)


def _parse_events(args: argparse.Namespace, dialect: str) -> tuple[str, ...]:
    """Return the events of `--on`; without it, the one event that can be meant."""
    default = [EventName.BEFORE_TOOL] if decides_about_tools(vars(args)) else []
    names = args.on or ([EventName.SCHEDULED] if args.schedule else default)
    if not names:
        raise ConfigError("say when the hook runs: --on EVENT; `hookline events` lists them")
    words = load_known_names()
    for name in names:
        if not words.events_in_any_dialect(name, dialect=dialect):
            raise ConfigError(f"--on: {words.describe_unknown_event(name, dialect=dialect)}")
    return tuple(dict.fromkeys(event for name in names for event in words.events_in_any_dialect(name, dialect=dialect)))


def _parse_option(option: str, word: object, read: Callable[[object], T]) -> T:
    try:
        return read(word)
    except ValueError as problem:
        raise ConfigError(f"{option}: {problem}") from None


def _install_pack(session: EditSession, file_name: str) -> int:
    """Install a pack; its hooks need approval, as all hooks of others."""
    if "://" in file_name:
        raise ConfigError(f"--from takes a file, and {file_name} is an address: download it first, then name the file")
    path = Path(file_name)
    shared = pack.read_file(path)
    packs = session.project.folders.config / "packs"
    folder = packs / shared.name
    file = session.find_file_at(folder / "hookline.toml")
    text = pack.settings_text(shared)
    hooks, problems = file.parse(text)
    wrong = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    if wrong is not None:
        raise ConfigError(f"a hook of the pack cannot be used: {wrong.message}; nothing was changed", path=str(path))
    contents = {one.path: one.content for one in shared.files} | {"hookline.toml": text.encode()}
    changes = [
        # the folders of the pack that lead to the file, the innermost first
        FileEdit(str(folder / name), None, raw, folders=tuple(str(folder / parent) for parent in Path(name).parents))
        for name, raw in contents.items()
    ]
    if session.apply is not None:
        pack.install(shared, packs)
    notes = [*(problem.message for problem in problems), *session.list_unresolved((), hooks)]
    if hooks:
        notes.append(
            f"they were written by another person, so each has to be approved: hookline trust approve {shell_quote(hooks[0].id)}"
        )
    return session.finish(changes, f"added {join_ids(hooks)}", notes=notes, made=True)


COMMAND: Final = CliCommand(
    "add a hook, to your own hookline.toml unless --to says otherwise",
    argument("name", "what to call it; a rule is named after its text", nargs="?", default=""),
    repeatable("--on", "when it runs; may be given again", metavar="EVENT"),
    OneOf(
        (
            argument("--run", "the command", metavar="LINE"),
            argument("--run-args", "the command as words; goes last", nargs=argparse.REMAINDER, metavar="WORD"),
            argument("--call", "a Python function", metavar="MODULE:FUNCTION"),
            argument("--post", "a webhook", metavar="URL"),
            *(argument(f"--{one.key}", one.about, metavar="TEXT") for one in TEXT_TARGETS.values()),
            argument("--steps", "other hooks, by their ids", nargs="+", default=[], metavar="HOOK"),
            argument("--raise", "raise another event", dest="raises", metavar="EVENT"),
            argument("--from", "take over what `hookline share` wrote", dest="pack", metavar="FILE"),
        )
    ),
    *(argument(f"--{action}", about, default="", metavar="TEXT") for action, about in _ACTIONS.items()),
    argument(
        "--undo", "the command that takes back what it did; `hookline rollback` runs it", default="", metavar="LINE"
    ),
    argument("--body", "what --post sends in place of the event; {{…}} is filled in", metavar="TEXT|JSON"),
    repeatable("--header", "of --post; may be given again", metavar="NAME=VALUE"),
    argument("--method", "of --post", default="POST"),
    argument("--arguments", "of --mcp; {{…}} is filled in", metavar="JSON"),
    argument("--model", "of --judge: ollama:NAME, openai:NAME or anthropic:NAME", default="", metavar="MODEL"),
    argument("--budget", "of --judge: what it may spend in a day, 0.50/day or 100k tokens/day", metavar="AMOUNT"),
    argument("--tools", "only for these tools; * is any name", nargs="+", default=[], metavar="TOOL"),
    argument("--matcher", "only for what this pattern matches", default=""),
    *(
        argument(f"--{name}", about, nargs="+", default=[], metavar=metavar)
        for name, (metavar, about) in _PATTERNS.items()
    ),
    argument(
        "--unknown", "what to do when the effects of a call cannot be known", choices=[str(one) for one in Unknown]
    ),
    argument("--if", "only when this is true", dest="condition", default="", metavar="CONDITION"),
    *(
        repeatable(f"--{option}", about, dest=field, metavar=metavar)
        for field, (option, metavar, about) in _SCOPES.items()
    ),
    argument("--schedule", "when `hookline watch` starts it", default="", metavar="CRON"),
    repeatable("--set", "any other key, such as per_minute=30; may be given again", dest="more", metavar="KEY=VALUE"),
    argument("--timeout", type=float, metavar="SECONDS"),
    argument("--on-error", "what a failure of the hook means", choices=[str(one) for one in OnError]),
    argument("--priority", "lower runs earlier; 200 where nothing is said", type=int, metavar="NUMBER"),
    argument("--dialect", "the dialect of the hook", type=parse_dialect),
    repeatable("--env", "may be given again", metavar="KEY=VALUE"),
    SANDBOX,
    argument("--shell", "let a shell read the command", action="store_true", default=None),
    argument("--to", "where it is written", default="user", metavar="user|project|local|FILE"),
    argument("--format", "for a file that may have several formats", choices=sorted(WRITERS)),
    *EDIT_OPTIONS,
    example="no-force-push --runs 'git push --force' --deny 'no force pushes'",
    run=run,
)
