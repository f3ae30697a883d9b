"""`hookline limits` and `hookline state`: what is remembered of the runs of hooks, what hooks keep, and how to empty both."""

import argparse
import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

from hookline.cli._command import ABSOLUTE, COMMON, CliCommand, argument, flag
from hookline.cli._output import Table, format_time, pluralise, print_error, render
from hookline.cli._project import load_from_args
from hookline.cli._terminal import confirm
from hookline.engine.limits import LimitStatus
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.process.hook_state import StateUsage, find_state_root, folder_name, list_files, measure_state
from hookline.project import Project
from hookline.views import find_hook, list_limits


def _limits(args: argparse.Namespace) -> int:
    if args.all and (args.hooks or not args.reset):
        raise ConfigError("--all goes with --reset, and without names")
    project = load_from_args(args)
    hooks = [find_hook(project, name) for name in args.hooks] or list(project.hooks)
    admission = project.engine.admission
    if args.reset:
        if not args.hooks and not args.all:
            raise ConfigError("name the hooks to reset, or say --all")
        forgotten = sum(admission.forget(hook) for hook in hooks) + (admission.forget_shared() if args.all else 0)
        text = f"forgotten: what was remembered of {pluralise(len(hooks), 'hook')}"
        return render(args, {"reset": [hook.id for hook in hooks], "forgotten": forgotten}, text)
    limits: list[tuple[str | None, LimitStatus]] = [*list_limits(project, hooks, alone=not args.hooks)]
    limits += [(None, limit) for limit in (() if args.hooks else admission.shared_limit_status())]
    value = [
        {"hook": hook, "limit": limit.gate, "passed": limit.passed, "reason": limit.reason} for hook, limit in limits
    ]
    rows = [
        [hook or "(all hooks)", limit.gate, "yes" if limit.passed else "NO", limit.reason] for hook, limit in limits
    ]
    nothing = "no limit: set once, per_minute, cooldown, debounce, breaker or budget of a hook"
    return render(args, {"limits": value}, Table(["hook", "limit", "may run", "status"], rows, nothing=nothing))


def _folder(project: Project, hook: Hook) -> Path:
    return Path(find_state_root(project.folders.data), folder_name(hook))


def _usage_to_json(usage: StateUsage) -> dict[str, object]:
    return {"files": usage.files, "bytes": usage.bytes, "sessions": usage.sessions, "changed": usage.changed or None}


def _list(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    root = Path(find_state_root(project.folders.data))
    names = {folder_name(hook): hook.id for hook in project.hooks}
    kept = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    # with a name, the hook is one of this project; other projects have theirs in the same place
    found = [(path, names.get(path.name), measure_state(str(path))) for path in kept if args.all or path.name in names]
    value = [{"hook": hook, "path": str(path), **_usage_to_json(usage)} for path, hook, usage in found]
    rows = [
        [
            *(hook or f"({path.name})", str(usage.files), _format_size(usage.bytes), str(usage.sessions)),
            format_time(args, usage.changed) if usage.changed else "never",
        ]
        for path, hook, usage in found
    ]
    nothing = "no hook keeps anything; with state = true, a hook has a folder, HOOKLINE_STATE"
    table = Table(["hook", "files", "size", "sessions", "changed"], rows, nothing=nothing)
    return render(args, {"state": value}, table)


def _show(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    hook = find_hook(project, args.hook)
    folder = _folder(project, hook)
    files = list_files(str(folder))
    value = {
        "hook": hook.id,
        "path": str(folder),
        "exists": folder.is_dir(),
        **_usage_to_json(measure_state(str(folder))),
        "content": [{"name": name, "bytes": size} for name, size in files],
    }
    rows = [[name, _format_size(size)] for name, size in files]
    return render(args, value, f"folder  {folder}", Table(["file", "size"], rows, nothing="it keeps nothing"))


def _clear(args: argparse.Namespace) -> int:
    if bool(args.hooks) == args.all:
        raise ConfigError("name the hooks whose state is removed, or say --all")
    project = load_from_args(args)
    hooks = [find_hook(project, name) for name in args.hooks] or list(project.hooks)
    kept = [(hook, folder) for hook in hooks if (folder := _folder(project, hook)).is_dir()]
    shown = ["Everything that these hooks keep is removed:", *(f"  {hook.id}  {folder}" for hook, folder in kept)]
    otherwise = "look with `hookline state list`, then clear with --yes"
    if kept and not args.yes and not asyncio.run(confirm(shown, "Remove it?", otherwise=otherwise)):
        print_error("nothing was removed")
        return 1
    for _, folder in kept:
        try:
            shutil.rmtree(folder)
        except OSError as problem:
            raise ConfigError(f"{os.fspath(folder)} cannot be removed: {problem.strerror}") from None
    names = [hook.id for hook, _ in kept]
    return render(args, {"cleared": names}, f"removed the state of {pluralise(len(names), 'hook')}")


def _format_size(size: int) -> str:
    return next(
        (f"{size / unit:.1f} {name}" for name, unit in (("MB", 1 << 20), ("KB", 1 << 10)) if size >= unit), f"{size} B"
    )


COMMANDS: Final = {
    "limits": CliCommand(
        "show how often hooks may still run and which are paused, or let them start afresh",
        argument("hooks", "only these hooks, by id or name", nargs="*", metavar="HOOK"),
        flag("--reset", "forget the hooks' runs, failures and kept answers, and count anew"),
        flag("--all", "with --reset: all hooks, and what they may do together"),
        *COMMON,
        example="lint --reset",
        run=_limits,
    ),
    "state": CliCommand(
        "show what hooks keep in their private folders, or remove it",
        *COMMON,
        default_action="list",
        actions={
            "list": CliCommand(
                "list the hooks of this project that keep something",
                flag("--all", "also what hooks of other projects keep"),
                ABSOLUTE,
                example="--all",
                run=_list,
            ),
            "show": CliCommand(
                "list the files that a hook keeps",
                argument("hook", "a hook, by its id or name"),
                example="budget",
                run=_show,
            ),
            "clear": CliCommand(
                "remove everything that hooks keep",
                argument("hooks", "these hooks, by id or name", nargs="*", metavar="HOOK"),
                flag("--all", "all hooks of this project"),
                flag("--yes", "do not ask"),
                example="budget --yes",
                run=_clear,
            ),
        },
    ),
}
