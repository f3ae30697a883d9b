"""`hookline sandbox`: what a hook may do, what it needs, and any command tried under a level."""

import argparse
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from hookline.cli._command import COMMON, PROJECT, CliCommand, ExitCode, OneOf, argument, flag
from hookline.cli._edit_session import SANDBOX
from hookline.cli._output import format_ago, print_error, print_fields, print_json, print_line
from hookline.cli._project import (
    EVENT_OPTIONS,
    build_event,
    hook_error,
    load_from_args,
    read_event_options,
    read_records,
)
from hookline.cli._run_hooks import run_until_terminated
from hookline.config.keys import to_file_value
from hookline.config.toml import key_line
from hookline.debug.footprint import Footprint, RunFolders, Tracer, suggest_sandbox
from hookline.dialects import SHELL_DIALECTS, TEMPLATE_DIALECTS
from hookline.engine.runner import Execution, HookRunner
from hookline.errors import ConfigError
from hookline.kinds.command.command import Command
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import Plan
from hookline.model.record import Record
from hookline.model.sandbox import LEVELS
from hookline.model.sandbox import PROJECT as PROJECT_LEVEL
from hookline.process.containment import (
    Cell,
    CellKey,
    Containment,
    find_layers,
    list_lacking,
    list_layers,
    make_cell_key,
)
from hookline.process.environment import EnvironmentAllowList
from hookline.process.file_access import Secrets
from hookline.process.foreground import run_in_foreground
from hookline.process.hook_state import find_state_root
from hookline.project import Project
from hookline.trust.policy import suggest_approval
from hookline.views import containment_to_json, describe_containment, explain_containment, find_hook


def _get_layers(record: Record) -> list[str]:
    """Return the layers that were in force in a run."""
    layers = record.detail.get("sandbox")
    return [str(layer) for layer in layers] if isinstance(layers, list | tuple) else []


_NOT_FOUND: Final = 127
_SHORTEST_NAME: Final = 3
_MOST_SHOWN: Final = 5


def _explain(args: argparse.Namespace) -> int:
    """Say what a hook may do, why, and what holds it to that."""
    project = load_from_args(args)
    hook = find_hook(project, args.hook)
    sandbox = hook.containment
    # the last run that says which layers were in force
    last = next((run for run in reversed(read_records(project, hook)) if run.detail.get("sandbox")), None)
    can_contain, layers, lacking = find_layers().can_contain, list_layers(sandbox), list_lacking(sandbox)
    if args.json:
        print_json(
            {
                "id": hook.id,
                "sandbox": containment_to_json(hook),
                "machine": {"can_contain": can_contain, "layers": layers, "lacking": lacking},
                "lately": {"at": last.at, "layers": _get_layers(last)} if last is not None else None,
            }
        )
        return 0
    sentences = describe_containment(hook)
    print_line(hook.id)
    if not sentences:
        print_line(f"  it runs no process of its own ({hook.kind}), so there is nothing to contain")
        return 0
    key = make_cell_key(hook, str(project.root))
    if key is not None and "." in sandbox.write and not key.has_project:
        why_not = "writes nothing of the project all the same: that is your home folder, or one around it"
        sentences = (*sentences, why_not)
    fields = [("it", "\n".join(sentences)), ("why", explain_containment(hook))]
    if sandbox.is_contained:
        held = ", ".join(layers) if can_contain else "nothing: this machine cannot contain it"
        traced = f"{', '.join(_get_layers(last))} ({format_ago(last.at)})" if last else "no contained run was traced"
        fields += [("held by", held), ("lacking", "\n".join(lacking)), ("last run", traced)]
    print_fields(fields, indent="  ")
    return 0


async def _suggest(args: argparse.Namespace) -> int:
    """Run a hook once under strace, and print the smallest sandbox that it needs."""
    options = read_event_options(args)
    project = load_from_args(args)
    hook = find_hook(project, args.hook)
    if hook.kind != "command":
        raise hook_error(hook, f'hook "{hook.id}" is no command, so there is no process to watch')
    strace = shutil.which("strace")
    if strace is None:
        raise ConfigError(
            "a hook is watched with strace, which is not installed; install strace (its package has that name)"
        )
    event = build_event(project, hook, args.event or hook.on[0], options)
    # it runs without a sandbox, so only a hook that may run anyway is run
    vetted = await project.trust.vet(Plan(((hook,),)), event)
    for skip in vetted.skipped:
        raise hook_error(hook, f'hook "{hook.id}" was not run: {skip.reason}; {suggest_approval(hook)}')
    tracer = Tracer(strace)
    try:
        around = _look_around(project, hook.project(event.cwd), tracer)
        execution = await _watch(project, hook, event, tracer, sealed=vetted.sealed.get(hook.id))
        footprint = tracer.read_footprint(around.project)
    finally:
        tracer.remove()
    if footprint is None:
        stderr = execution.reply.stderr.decode("utf-8", "replace").strip()
        failure = execution.verdict.failure
        why = failure.message if failure is not None else stderr
        raise ConfigError(f"strace could not watch the hook: {why or 'it saw nothing'}")
    variables = list(_find_variables(project, hook, event))
    sandbox = suggest_sandbox(footprint, around, env=variables)
    line = key_line(("sandbox",), to_file_value(sandbox))
    notes = list(_list_notes(footprint, execution, project, home=around.home))
    if args.json:
        print_json(
            {
                "id": hook.id,
                "sandbox": to_file_value(sandbox),
                "line": line,
                "notes": notes,
                "seen": {
                    "written": sorted(path for path in footprint.written if not path.startswith(tracer.tmp)),
                    "endpoints": sorted(f"{address}:{port}" for address, port in footprint.endpoints),
                    "names": sorted(footprint.names),
                    "sockets": sorted(footprint.sockets),
                },
            }
        )
    else:
        print_line(line)
        for note in notes:
            print_line(f"# {note}")
    return 0


def _look_around(project: Project, folder: str, tracer: Tracer) -> RunFolders:
    cwd, home = os.path.realpath(folder), os.path.realpath(project.folders.home)
    return RunFolders(project=cwd, home=home, tmp=tracer.tmp, entries=frozenset(os.listdir(cwd)))  # noqa: PTH208


async def _watch(
    project: Project, hook: Hook, event: Event, tracer: Tracer, *, sealed: Mapping[str, bytes] | None
) -> Execution:
    """Run a hook once with the variables that it has now, watched by strace."""
    own = hook.containment
    watched = own if own.is_contained else replace(LEVELS[PROJECT_LEVEL], env=tuple(os.environ))
    command = Command(shell_dialects=SHELL_DIALECTS, template_dialects=TEMPLATE_DIALECTS, containment=tracer)
    components = replace(project.components, kinds={**project.components.kinds, "command": command})
    runner = HookRunner(None, project.trust, project.settings, components=components, cwd=str(project.root))
    try:
        return await runner.execute_vetted(replace(hook, sandbox=watched), event, sealed)
    finally:
        await command.close()


def _find_variables(project: Project, hook: Hook, event: Event) -> Iterator[str]:
    """Yield the user's variables that a hook or one of its files mentions, and that it would not have by itself."""
    files = project.trust.fingerprint(hook, cwd=event.cwd).files
    text = "\n".join((hook.command, *hook.args, *(raw.decode("utf-8", "replace") for raw in files.values())))
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
    allowed = EnvironmentAllowList(())
    for name in os.environ:
        # its own variables come with its definition
        if name in words and len(name) >= _SHORTEST_NAME and not allowed.has(name) and name not in hook.env:
            yield name


def _list_notes(footprint: Footprint, execution: Execution, project: Project, *, home: str) -> Iterator[str]:
    yield "seen in one run with one event; other events may need more"
    secrets = Secrets(home, (str(project.folders.data),)).paths
    read = sorted({one for one in secrets for path in footprint.read if path == one or path.startswith(f"{one}/")})
    if read:
        more = f" and {len(read) - _MOST_SHOWN} more" if len(read) > _MOST_SHOWN else ""
        shown = f"{', '.join(read[:_MOST_SHOWN])}{more}"
        yield (
            f"it read {shown}, which no contained hook may: give it what it needs in a variable (sandbox.env), "
            'or trust it with everything: sandbox = "none"'
        )
    for path in sorted(footprint.sockets):
        yield f"it talked to another program through {path}, which can do what that program may do"
    failure = execution.verdict.failure
    if failure is not None:
        yield f"it failed, so this may be less than it needs: {failure.message}"


def _run(args: argparse.Namespace) -> int:
    """Run any command contained."""
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise ConfigError("say what to run: hookline sandbox run --level read-only -- COMMAND")
    sandbox = args.sandbox if args.sandbox is not None else LEVELS[args.level]
    program = shutil.which(words[0])
    if program is None:
        print_error(f'hookline: there is no program "{words[0]}"')
        return _NOT_FOUND
    project = load_from_args(args)
    key = CellKey(sandbox, os.path.realpath(project.root), os.path.realpath(project.folders.home))
    containment = Containment((str(project.folders.data),), state_root=find_state_root(project.folders.data))
    if not sandbox.is_contained:
        # it has all variables
        key = replace(key, sandbox=replace(sandbox, env=tuple(os.environ)))
    try:
        cell = containment.acquire(key) if sandbox.is_contained else Cell(key=key, layers=("uncontained",))
    except OSError as problem:
        raise ConfigError(f"not run, because it could not be contained: {problem.strerror or problem}") from None
    try:
        if args.verbose:
            print_error(f"hookline: layers: {', '.join(cell.layers)}")
            for lacking in cell.lacking if sandbox.is_contained else ():
                print_error(f"hookline: lacking: {lacking}")
        if sandbox.is_contained and not cell.is_contained:
            print_error("hookline: this machine cannot contain files: the command can write and read everything")
        code, limit = run_in_foreground(os.path.abspath(program), words, cell)  # noqa: PTH100 - a text
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OSError as problem:
        raise ConfigError(f"{words[0]} could not be started: {problem.strerror or problem}") from None
    finally:
        cell.release()
        containment.close()
    if limit:
        print_error(f"hookline: ended by {limit}")
    return code


_HOOK: Final = argument("hook", "the hook's id or name")


COMMAND: Final = CliCommand(
    "say what a hook may do, find out what it needs, or try a command under a level",
    actions={
        "explain": CliCommand(
            "say what a hook may read, write and reach, why, and what holds it to that on this machine",
            _HOOK,
            *COMMON,
            example="lint",
            run=_explain,
        ),
        "suggest": CliCommand(
            "run a hook once under strace, and print the smallest `sandbox` that it needs; only hooks that may run",
            _HOOK,
            argument("--event", "the event, instead of the hook's first", default="", metavar="E"),
            *EVENT_OPTIONS,
            *COMMON,
            example="lint --tool edit_file",
            run=lambda args: run_until_terminated(_suggest(args)),
        ),
        "run": CliCommand(
            "run any command as a hook with this level would run in this project; its exit code is the command's",
            OneOf(
                (
                    argument("--level", "the level; project unless it is given", choices=[*LEVELS], default="project"),
                    SANDBOX,
                )
            ),
            PROJECT,
            flag("-v --verbose", "say on stderr which layers are in force, and what is lacking"),
            argument("words", "the command, behind --", nargs=argparse.REMAINDER, metavar="COMMAND"),
            example="--level read-only -- make test",
            run=_run,
        ),
    },
)
