"""`hookline check` and `hookline schema`: what is wrong with the configuration, and the schemas that editors check it with."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from hookline import json_codec
from hookline.cli._command import COMMON, JSON, CliCommand, ExitCode, argument, flag, parse_dialect, parse_event
from hookline.cli._edit_session import load_known_names
from hookline.cli._output import Line, Table, TextStyle, pluralise, print_bytes, render, style_word
from hookline.cli._project import load_from_args
from hookline.cli.hosts import make_around_project
from hookline.config.document import Problem, Severity
from hookline.config.schemas import ALL, schema
from hookline.debug.capability_matrix import explain_shortfall, find_shortfalls
from hookline.debug.lint import lint_hooks
from hookline.debug.message_schemas import answer_schema, event_schema
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, StoreError
from hookline.hosts.status import find_installed
from hookline.model.event import EventName
from hookline.model.hook import OWN_DIALECT
from hookline.project import Project
from hookline.text import quote, suggest
from hookline.trust.risks import list_risks
from hookline.user_dirs import working_folder
from hookline.views import problems_to_json
from hookline.wiring import native_names, shell_dialects

# risks to report for a hook that works; the approval screen shows the others
_MUTABLE: Final = frozenset({"launcher", "pipe-to-shell"})


# file names that users mistake for ours
_NEARLY: Final = (
    *(".hookline.toml", "hooklines.toml", "hookline.json", "hookline.yaml", "hookline.yml"),
    *(".hookline/hookline.toml", ".hookline/hooks.toml", ".config/hookline.toml"),
)


_OLLM_FOLDER: Final = ".ollm/hooks"
_SCRIPTS: Final = {".js": "node", ".mjs": "node", ".cjs": "node", ".py": "python3", ".sh": "bash", ".rb": "ruby"}


def run(args: argparse.Namespace) -> int:
    """Check everything; return 1 if something has to be mended."""
    project = load_from_args(args)
    problems = sorted(dict.fromkeys(_find_problems(project)), key=lambda problem: (problem.path, problem.line))
    hooks, files = sum(not hook.invalid and not hook.implicit for hook in project.hooks), len(project.loaded.files)
    # paths as an editor in this folder opens them
    folder = os.path.join(working_folder(), "")  # noqa: PTH118 - a text, with the separator at its end
    lines = []
    for problem in problems:
        text = str(replace(problem, path=problem.path.removeprefix(folder)))
        place = text.partition(f": {problem.severity}: ")[0]
        lines.append(Line(text, [(place, TextStyle.DIM), (problem.severity, style_word(problem.severity))]))
    counts = Counter(problem.severity for problem in problems)
    total = ", ".join(pluralise(counts[severity], severity) for severity in Severity if counts[severity])
    summary = total or "nothing to mend"
    worst = next((severity for severity in Severity if counts[severity]), "ok")
    text = f"{summary}; {pluralise(hooks, 'hook')} in {pluralise(files, 'file')}"
    lines.append(Line(text, [(summary, style_word(worst))]))
    value = {"problems": problems_to_json(problems), "hooks": hooks, "files": files}
    render(args, value, *lines)
    return ExitCode.ERROR if any(args.strict or problem.severity is not Severity.NOTE for problem in problems) else 0


def _find_problems(project: Project) -> Iterator[Problem]:
    yield from project.problems
    # files with names that are nearly right: their hooks are never loaded
    folders = (project.root, project.folders.config)
    for path in (folder / name for folder in dict.fromkeys(folders) for name in _NEARLY):
        if path.is_file():
            yield Problem(str(path), 0, "this file is not read: hooks are defined in hookline.toml", Severity.WARNING)
    yield from _find_undefined_scripts(project)
    try:
        project.trust.get_approvals()
    except StoreError as problem:
        yield Problem(str(project.folders.data), 0, str(problem))
    for finding in lint_hooks(project.hooks, engine=project.engine):
        hook = finding.hook
        yield Problem(hook.source_path, hook.source_line, finding.message, Severity(finding.weight))
    agents = [host.spec for host in find_installed(make_around_project(project))]
    for hook in project.hooks:
        for risk in list_risks(hook, shell_dialects=shell_dialects(), cwd=str(project.root)):
            if risk.kind in _MUTABLE:
                yield Problem(hook.source_path, hook.source_line, f'hook "{hook.id}": {risk.text}', Severity.NOTE)
        # what the hook needs and an installed agent cannot do
        for agent in agents:
            for one in dict.fromkeys(find_shortfalls(hook, agent)):
                message = f'hook "{hook.id}" wants to {one.wanted}, and {explain_shortfall(one, agent)}'
                yield Problem(hook.source_path, hook.source_line, message, Severity.NOTE)


def _find_undefined_scripts(project: Project) -> Iterator[Problem]:
    """Find scripts in OLLM's folders without a definition: they look installed, and never run."""
    named = " ".join(word for hook in project.hooks for word in (hook.command, *hook.args))
    for folder in dict.fromkeys((project.folders.home / _OLLM_FOLDER, project.root / _OLLM_FOLDER)):
        for path in sorted(folder.glob("*")):
            if path.suffix in _SCRIPTS and path.is_file() and path.name not in named:
                program = _SCRIPTS[path.suffix]
                example = {"id": path.stem, "event": "before_tool", "command": program, "args": [str(path)]}
                message = f"no hook runs this script: it needs a definition, such as {path.stem}.json with"
                yield Problem(str(path), 0, f"{message} {json_codec.dump(example).decode()}", Severity.WARNING)


def _print_schema(args: argparse.Namespace) -> int:
    """Print one schema, or the list of all.

    Raises:
        ConfigError: There is no such format, event or dialect, or the file cannot be written.
    """
    if args.list or args.name is None:
        if args.output is not None:
            raise ConfigError("--output: name the format to write, such as `hookline schema native --output FILE`")
        titles = [(name, named.title) for name, named in ALL.items()]
        titles += [
            ("event", "What a hook reads: `hookline schema event EVENT --dialect DIALECT`"),
            ("answer", "What a hook prints: `hookline schema answer EVENT --dialect DIALECT`"),
        ]
        value = [{"name": name, "title": title} for name, title in titles]
        return render(args, value, Table(["name", "what it describes"], titles))
    raw = msgspec.json.format(json_codec.dump(_make_schema(args)), indent=2) + b"\n"
    if args.output is None:
        print_bytes(raw)
        return 0
    try:
        args.output.write_bytes(raw)
    except OSError as problem:
        raise ConfigError(f"{args.output} cannot be written: {problem.strerror}") from None
    return render(args, {"written": str(args.output)}, f"wrote {args.output}")


def _make_schema(args: argparse.Namespace) -> Mapping[str, object]:
    if args.name in _MESSAGES:
        return _describe_message(args.name, args.event, args.dialect)
    if args.name not in ALL:
        known = (*ALL, *_MESSAGES)
        raise ConfigError(
            f"there is no format {quote(args.name)}{suggest(args.name, known)}; known are {', '.join(known)}"
        )
    if args.event is not None or args.dialect is not None:
        raise ConfigError("an event and --dialect go with `hookline schema event` and `hookline schema answer` only")
    return schema(args.name, load_known_names())


def _describe_message(kind: str, name: str | None, dialect: str | None) -> Mapping[str, object]:
    """Return the schema of an event or an answer; an event may have the dialect's own name."""
    if name is None:
        raise ConfigError(f"name the event: `hookline schema {kind} before_tool`; `hookline events` lists them")
    spec = DIALECTS[dialect or OWN_DIALECT].SPEC
    own = native_names().get(spec.name, {}).get(name, ())
    native = name if own or name in spec.abilities else ""
    event = EventName(own[0]) if own else EventName.CUSTOM if native else parse_event(name)
    if spec.is_agent and not native and event not in spec.events:
        raise ConfigError(f"{spec.title} has no event {event}; it has {', '.join(spec.events)}")
    return _MESSAGES[kind](event, spec.name, "" if native == spec.events.get(event) else native)


_MESSAGES: Final = {"event": event_schema, "answer": answer_schema}


COMMANDS: Final = {
    "check": CliCommand(
        "find everything that is wrong with the configuration, with file and line",
        flag("--strict", "let notes count: exit 1 for them, too"),
        *COMMON,
        example="--strict",
        run=run,
    ),
    "schema": CliCommand(
        "print the JSON Schema of a configuration format, for editors, or of an event or its answer, for hooks",
        argument("name", "the format, `event` or `answer`; without it, all formats are listed", nargs="?"),
        argument("event", "the event, by its name in any dialect, for `event` and `answer`", nargs="?"),
        argument(
            "--dialect", "whose event or answer; Hookline's own without it", type=parse_dialect, metavar="DIALECT"
        ),
        flag("--list", "list the formats"),
        argument("--output", "write it to this file", type=Path, metavar="FILE"),
        JSON,
        example="event before_tool --dialect claude-code",
        run=_print_schema,
    ),
}
