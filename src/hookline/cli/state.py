"""`hookline state`: what hooks keep in their private folders, and a way to empty them."""

import argparse
import os
import shutil
from pathlib import Path
from typing import Final

from hookline.cli._command import ABSOLUTE, COMMON, CliCommand, argument, flag
from hookline.cli._output import Table, format_time, pluralise, print_error, render
from hookline.cli._project import load_from_args
from hookline.cli._terminal import confirm
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.process.hook_state import StateUsage, find_state_root, folder_name, list_files, measure_state
from hookline.project import Project
from hookline.views.hook_lookup import find_hook


def _folder(project: Project, hook: Hook) -> Path:
    return Path(find_state_root(project.folders.data), folder_name(hook))


def _usage_to_json(usage: StateUsage) -> dict[str, object]:
    return {
        "files": usage.files,
        "bytes": usage.bytes,
        "sessions": usage.sessions,
        "changed": usage.changed or None,
    }


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
            hook or f"({path.name})",
            str(usage.files),
            _format_size(usage.bytes),
            str(usage.sessions),
            format_time(args, usage.changed) if usage.changed else "never",
        ]
        for path, hook, usage in found
    ]
    nothing = "no hook keeps anything; with state = true, a hook has a folder, HOOKLINE_STATE"
    table = Table(["hook", "files", "size", "sessions", "changed"], rows)
    return render(args, {"state": value}, table if rows else nothing)


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
    table = Table(["file", "size"], [[name, _format_size(size)] for name, size in files])
    return render(args, value, f"folder  {folder}", table if files else "it keeps nothing")


def _clear(args: argparse.Namespace) -> int:
    if bool(args.hooks) == args.all:
        raise ConfigError("name the hooks whose state is removed, or say --all")
    project = load_from_args(args)
    hooks = [find_hook(project, name) for name in args.hooks] or list(project.hooks)
    kept = [(hook, folder) for hook in hooks if (folder := _folder(project, hook)).is_dir()]
    shown = [f"  {hook.id}  {folder}" for hook, folder in kept]
    is_sure = args.yes or not kept
    if not is_sure and not confirm(
        ["Everything that these hooks keep is removed:", *shown],
        "Remove it?",
        otherwise="look with `hookline state list`, then clear with --yes",
    ):
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


COMMAND: Final = CliCommand(
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
)
