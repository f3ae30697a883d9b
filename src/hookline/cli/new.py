"""`hookline init` and `hookline new`: a first `hookline.toml`, and a hook that runs as it is, with an event to try it.

A template knows no dialect. Where an event keeps a value, and how an answer is written, is found by encoding marked
texts with the dialect, so that a new dialect has its templates at once.
"""

import argparse
import json
import re
import shlex
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._output import pluralise, render
from hookline.cli._project import hook_error, load_from_args
from hookline.config import edit
from hookline.config.formats.native import KEYS
from hookline.config.reader import KnownNames
from hookline.config.undo_log import FileEdit, UndoLog, read_bytes
from hookline.debug.samples import sample
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EVENTS, Event, EventName
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.project import Project
from hookline.text import quote, suggest
from hookline.wiring import native_names

_WIDTH: Final = 118


def _init(args: argparse.Namespace) -> int:
    """Write the file unless there is one, and print the next steps."""
    project = load_from_args(args)
    folder = project.folders.config if args.user else project.root
    path = folder / "hookline.toml"
    is_new = not path.is_symlink() and not path.exists()
    if is_new:
        with UndoLog(project.folders.data).transaction() as apply:
            apply([FileEdit(str(path), None, make_starting_text(user=args.user).encode())], f"started {path}")
        project = load_from_args(args)
    full = str(folder.resolve() / path.name)
    hooks = next((file.hooks for file in project.loaded.loaded_files if file.path == full), 0)
    others = [file for file in project.loaded.loaded_files if file.path != full and file.hooks]
    option = f" --project {shlex.quote(str(args.project))}" if args.project else ""
    approve = [f"hookline trust approve hello{option}"] if is_new and not args.user else []
    example = [f"hookline test hello{option}"] if is_new else []
    steps = [*approve, *example, f"hookline list{option}", f"hookline new NAME --event before_tool{option}"]
    value = {
        "path": str(path),
        "created": is_new,
        "hooks": hooks,
        "others": [{"path": file.path, "dialect": file.dialect, "hooks": file.hooks} for file in others],
        "next": steps,
    }
    count = pluralise(hooks, "hook") if hooks else "no hook"
    return render(
        args,
        value,
        f"{path} is there now, with one hook, hello, that greets you when a session starts."
        if is_new
        else f"{path} is there already, with {count}; it was left as it is.",
        *(f"Found, too: {file.path} ({file.dialect}, {pluralise(file.hooks, 'hook')})" for file in others),
        "Go on with:",
        *(f"  {step}" for step in steps),
    )


def make_starting_text(*, user: bool) -> str:
    """Return a file with one harmless hook and an explanation of every key."""
    whose = "Your own hooks, for every project." if user else "Hooks of this project. Each person approves them first."
    text = _read_template("hookline.toml.tmpl")
    longest = max(map(len, KEYS))
    lines: list[str] = []
    for name, key in KEYS.items():
        head = f"#   {name.ljust(longest)}  "
        indent = "#".ljust(len(head))
        lines += textwrap.wrap(f"{head}{key.about}", _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return text.replace("@whose@", whose).replace("@keys@", "\n".join(lines))


# Templates answer with one line of JSON; the dialects of agents have answers that are empty, or an exit code.
SUPPORTED_DIALECTS: Final = tuple(name for name, dialect in DIALECTS.items() if not dialect.SPEC.is_agent)
TEMPLATES: Final = ("logging", "validation", "context", "policy")
FOLDER: Final = "hooks"

# markers that no dialect uses itself
_TEXT: Final = "@@text@@"
_ID: Final = "@@id@@"
_CHECKED: Final = "@@checked@@"

_PLACEHOLDER: Final = re.compile(r"@([a-z_]+)@")
_ALONE: Final = re.compile(r"^@([a-z_]+)@\n\n?", re.MULTILINE)

Rule = tuple[str, str, object]


class TemplateCheck(Struct, frozen=True, kw_only=True):
    """What a template checks in an event, and its first rules: pattern, reason, and a value that matches."""

    what: str
    deny: Rule
    ask: Rule
    allow: Rule
    field: str = ""
    argument: str = ""


class _Checks(Struct, frozen=True):
    events: Mapping[EventName, str]
    checks: Mapping[str, TemplateCheck]


class Language(Struct, frozen=True, kw_only=True):
    """A programming language: its files, its program, and its literals.

    `answer` writes a document in which marked texts are variables, `keys` the path to a value in an event.
    """

    ending: str
    program: str
    answer: Callable[[object], str]
    keys: Callable[[tuple[str, ...]], str]
    pattern: Callable[[str], str]
    text: Callable[[str], str]


class NewHook(Struct, frozen=True, kw_only=True):
    """The hook to make: `on` is the event as the user spells it, `event` the canonical one."""

    name: str
    event: EventName
    on: str
    language: str
    template: str
    dialect: str


def make_script(plan: NewHook) -> str:
    """Return the text of the hook."""
    language = LANGUAGES[plan.language]
    text = _read_template(f"{plan.language}/{plan.template}{language.ending}.tmpl")
    return _fill(text, _make_values(plan, language))


def get_script_name(plan: NewHook) -> str:
    """Return the hook's file, relative to the folder of its `hookline.toml`."""
    return f"{FOLDER}/{plan.name}{LANGUAGES[plan.language].ending}"


def make_payload(plan: NewHook, *, decision: str = "deny") -> bytes:
    """Return an indented event, in the hook's dialect, for which the hook's first rules decide this."""
    event = _make_event(plan, getattr(find_check(plan.event), decision)[2])
    return msgspec.json.format(_encode_event(plan, event), indent=2) + b"\n"


def make_entry(plan: NewHook) -> dict[str, object]:
    """Return the hook's table in `hookline.toml`."""
    table: dict[str, object] = {"name": plan.name, "on": plan.on}
    judges = plan.template in {"validation", "policy"}
    if judges and find_check(plan.event).argument:
        table["tools"] = ["shell"]
    table["run"] = [LANGUAGES[plan.language].program, get_script_name(plan)]
    if plan.template == "logging":
        table["state"] = True
    if plan.dialect != "hookline":
        table["dialect"] = plan.dialect
    if judges and EVENTS[plan.event].can_block:
        # a guard fails closed
        table["on_error"] = "block"
    return table


def find_check(event: EventName) -> TemplateCheck:
    """Return what the templates check in an event."""
    checks = msgspec.toml.decode(_read_template("checks.toml"), type=_Checks)
    return checks.checks[checks.events[event]]


def _read_template(name: str) -> str:
    return resources.files("hookline").joinpath("templates", *name.split("/")).read_text("utf-8")


def _make_values(plan: NewHook, language: Language) -> dict[str, str]:
    check = find_check(plan.event)
    document = json_codec.load(_encode_event(plan, _make_event(plan, _CHECKED)))
    blocks = EVENTS[plan.event].can_block
    values = {
        "name": plan.name,
        "event": plan.on,
        "dialect": plan.dialect,
        "what": check.what,
        "object": "deny" if blocks else "warn the person",
        "objection": "deny" if blocks else "warn",
        # the shortest path to the checked value in the dialect's document
        "path": language.keys(min(_find_paths(document, ()), key=len)),
    }
    for name in ("deny", "ask", "allow"):
        pattern, reason, _ = getattr(check, name)
        values[f"{name}_pattern"] = language.pattern(pattern)
        values[f"{name}_reason"] = language.text(reason)
    answers = {name: _encode_answer(plan, name) for name in _OUTCOMES}
    values |= {name: language.answer(document) for name, document in answers.items()}
    wants_id = plan.language == "bash" and _ID in json_codec.dump(answers["pass"]).decode()
    for name in ("reader", "quoted"):
        values[name] = _fill(_read_template(f"bash/_{name}.sh.tmpl"), values).rstrip("\n")
    values["id_reader"] = values["reader"] if wants_id else ""
    values["id"] = "id=$(look_up json id)" if wants_id else ""
    return values


def _fill(text: str, values: Mapping[str, str]) -> str:
    # a line with only an empty placeholder goes, with the empty line after it
    text = _ALONE.sub(lambda match: match[0] if values[match[1]] else "", text)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _make_message(text: str) -> Outcome:
    return Outcome(effects=(Effect(EffectKind.MESSAGE, text),))


# the answers of templates, for events that can be blocked and for others
_OUTCOMES: Final[Mapping[str, tuple[Outcome, Outcome]]] = {
    "pass": (Outcome(), Outcome()),
    "deny": (Outcome(decision=Decision.DENY, reasons=(_TEXT,)), _make_message(_TEXT)),
    "ask": (Outcome(decision=Decision.ASK, reasons=(_TEXT,)), _make_message(_TEXT)),
    "allow": (Outcome(decision=Decision.ALLOW, reasons=(_TEXT,)), Outcome()),
    "context": (Outcome(effects=(Effect(EffectKind.CONTEXT, _TEXT),)),) * 2,
}


def _encode_answer(plan: NewHook, name: str) -> object:
    """Return the answer in the dialect, with marked texts."""
    event = sample(plan.event)
    # used by the dialect with request ids, whose answers repeat them
    marked = replace(event, data={**event.data, "jsonrpc_id": _ID})
    outcome = _OUTCOMES[name][0 if EVENTS[plan.event].can_block else 1]
    return json_codec.load(DIALECTS[plan.dialect].encode_outcome(outcome, marked).stdout)


def _find_paths(value: object, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    if value == _CHECKED:
        return [path]
    if not isinstance(value, dict):
        return []
    return [found for key, item in value.items() for found in _find_paths(item, (*path, key))]


def _make_event(plan: NewHook, value: object) -> Event:
    """Return a sample of the event with this as the checked value."""
    check = find_check(plan.event)
    key, _, custom = plan.on.partition(":")
    event = sample(f"{plan.event}:{custom}" if key == "custom" and custom else plan.event)
    if check.argument:
        return replace(event, tool="shell", args={check.argument: value})
    return replace(event, data={**event.data, check.field: value})


def _encode_event(plan: NewHook, event: Event) -> bytes:
    hook = Hook(id=plan.name, name=plan.name, kind="command", command=plan.name)
    return DIALECTS[plan.dialect].encode_event(event, hook).body


def _write_json(document: object, *, text: str, event_id: str) -> str:
    """Write an answer with variables in place of the markers."""
    return json.dumps(document).replace(f'"{_TEXT}"', text).replace(f'"{_ID}"', event_id)


def _write_python(document: object) -> str:
    text = _write_json(document, text="text", event_id='event["id"]')
    return text.replace(": true", ": True").replace(": false", ": False")


def _join_keys(path: tuple[str, ...]) -> str:
    return ", ".join(json.dumps(key) for key in path)


LANGUAGES: Final[Mapping[str, Language]] = {
    "python": Language(
        ending=".py",
        program="python3",
        answer=_write_python,
        keys=_join_keys,
        pattern=lambda pattern: f"r'{pattern}'" if '"' in pattern else f'r"{pattern}"',
        text=json.dumps,
    ),
    "node": Language(
        ending=".cjs",
        program="node",
        answer=partial(_write_json, text="text", event_id="event.id"),
        keys=_join_keys,
        pattern=lambda pattern: "/" + pattern.replace("/", r"\/") + "/",
        text=json.dumps,
    ),
    "bash": Language(
        ending=".sh",
        program="bash",
        answer=partial(_write_json, text="$text", event_id="$id"),
        keys=" ".join,
        pattern="'{}'".format,
        text="'{}'".format,
    ),
}

# becomes a file name, and part of comments in the script
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ON: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,80}")


class _Files(Struct, frozen=True, kw_only=True):
    """The files to write."""

    settings: Path
    script: Path
    payload: Path


def _new(args: argparse.Namespace) -> int:
    """Write the hook, all of its files or none."""
    plan = _make_plan(args)
    project = load_from_args(args)
    folder = project.root if args.to == "project" else project.folders.config
    files = _Files(
        settings=folder / "hookline.toml",
        script=folder / get_script_name(plan),
        payload=folder / FOLDER / f"{plan.name}.event.json",
    )
    _write(plan, files, project, force=args.force)
    return _report(args, plan, files)


def _make_plan(args: argparse.Namespace) -> NewHook:
    if not _NAME.fullmatch(args.name):
        raise ConfigError(f"{quote(args.name)} is no name for a hook: letters, digits, - and _, 64 at most")
    _require_known(args.lang, LANGUAGES, "language")
    _require_known(args.template, TEMPLATES, "template")
    _require_known(args.dialect, DIALECTS, "dialect")
    if args.dialect not in SUPPORTED_DIALECTS:
        raise ConfigError(
            f"templates do not speak {args.dialect}; without --dialect the hook speaks our own words, and runs under "
            f"{args.dialect} as it does under every agent; there are templates in {', '.join(SUPPORTED_DIALECTS)}"
        )
    vocabulary = KnownNames(names=native_names())
    events = vocabulary.events_in_any_dialect(args.event, dialect=args.dialect)
    if not events or not _ON.fullmatch(args.event):
        message = vocabulary.describe_unknown_event(args.event, dialect=args.dialect)
        raise ConfigError(f"{message}; `hookline events` lists them")
    return NewHook(
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


def _write(plan: NewHook, files: _Files, project: Project, *, force: bool) -> None:
    # as the loader names it: links of folders are resolved, a link of the file is not
    path = files.settings.parent.resolve() / files.settings.name
    here = (hook for hook in project.hooks if Path(hook.source_path) == path and hook.name == plan.name)
    earlier = next(here, None)
    if earlier is not None and not force:
        message = f"there is a hook {quote(plan.name)} already; choose another name, or write over it with --force"
        raise hook_error(earlier, message)
    with UndoLog(project.folders.data).transaction() as apply:
        before = read_bytes(str(files.settings))
        settings = _add_entry(before, plan, str(files.settings), earlier)
        wanted = {
            files.script: make_script(plan).encode(),
            files.payload: make_payload(plan),
            files.settings: settings.encode(),
        }
        changes = [FileEdit(str(path), read_bytes(str(path)), after) for path, after in wanted.items()]
        for change in changes[:-1]:
            if change.before is not None and not force:
                raise ConfigError("there is such a file already; write over it with --force", path=change.path)
        apply(changes, f'new hook "{plan.name}"')


def _add_entry(before: bytes | None, plan: NewHook, path: str, earlier: Hook | None) -> str:
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path) from None
    entry = make_entry(plan)
    if earlier is None:
        return edit.append(text, ("hook",), entry, path=path)
    where = earlier.source_pointer
    tables = edit.value_at(edit.value_of(text, path=path), where)
    for key in tables if isinstance(tables, Mapping) else ():
        if key not in entry:
            text = edit.drop(text, (*where, key), path=path)
    for key, value in entry.items():
        text = edit.put(text, (*where, key), value, path=path)
    return text


def _report(args: argparse.Namespace, plan: NewHook, files: _Files) -> int:
    program = LANGUAGES[plan.language].program
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
        **{name: getattr(plan, name) for name in ("name", "dialect", "language", "template")},
        "event": plan.on,
        "config": str(files.settings),
        "script": str(files.script),
        "payload": str(files.payload),
        "hook": make_entry(plan),
        "needs_approval": needs_approval,
        "program_found": has_program,
        "try": tries,
    }
    tail = ("Try it:", *(f"  {line}" for line in tries), "Take it back: hookline undo")
    return render(args, value, *lines, *tail)


def _shorten(path: Path) -> str:
    """Return a path relative to the working directory if it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


COMMANDS: Final = {
    "init": CliCommand(
        "start with a hookline.toml that works and explains itself",
        flag("--user", "your own hooks, for every project"),
        *COMMON,
        example="--user",
        run=_init,
    ),
    "new": CliCommand(
        "write a new hook that runs at once, with an event to try it",
        argument("name", "what the hook is called; its files, too"),
        argument("--event", "when it runs; `hookline events` lists them", required=True),
        argument("--lang", f"{', '.join(LANGUAGES)}; python unless you say", default="python"),
        argument(
            "--template",
            "logging: keep a line about each event; validation: deny what matches a pattern; context: tell the model "
            "something; policy: deny, ask or allow by a table; validation unless you say",
            default="validation",
        ),
        argument("--dialect", "the dialect of the hook", default="hookline"),
        argument("--to", "your own hooks, or those of the project", choices=("user", "project"), default="user"),
        flag("--force", "write over an earlier hook of this name"),
        *COMMON,
        example="guard --event before_tool --lang python --template validation",
        run=_new,
    ),
}
