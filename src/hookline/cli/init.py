"""`hookline init`: a first `hookline.toml`, with an example that works at once."""

import argparse
import shlex
import textwrap
from importlib import resources
from typing import Final

from hookline.cli._command import COMMON, CliCommand, flag
from hookline.cli._output import pluralise, render
from hookline.cli._project import load_from_args
from hookline.config.formats.native import KEYS
from hookline.config.undo_log import FileEdit, UndoLog

_WIDTH: Final = 118


def run(args: argparse.Namespace) -> int:
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
    text = resources.files("hookline").joinpath("templates", "hookline.toml.tmpl").read_text("utf-8")
    longest = max(map(len, KEYS))
    lines: list[str] = []
    for name, key in KEYS.items():
        head = f"#   {name.ljust(longest)}  "
        lines += textwrap.wrap(
            f"{head}{key.about}",
            _WIDTH,
            subsequent_indent="#".ljust(len(head)),
            drop_whitespace=True,
            break_on_hyphens=False,
        )
    return text.replace("@whose@", whose).replace("@keys@", "\n".join(lines))


COMMAND: Final = CliCommand(
    "start with a hookline.toml that works and explains itself",
    flag("--user", "your own hooks, for every project"),
    *COMMON,
    example="--user",
    run=run,
)
