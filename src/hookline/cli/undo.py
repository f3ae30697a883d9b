"""`hookline undo`: take back a change of Hookline, byte for byte."""

import argparse
from typing import Final

from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._output import Table, format_clock, render
from hookline.config.undo_log import UndoLog
from hookline.user_dirs import find_user_dirs


def run(args: argparse.Namespace) -> int:
    """Take a change back, or list the changes."""
    journal = UndoLog(find_user_dirs(args.project).data)
    if args.list:
        in_force = {entry.id for entry in journal.active()}
        value, rows = [], []
        for entry in journal.entries():
            is_in_force = entry.id in in_force
            files = [step.path for step in entry.steps]
            facts = {"id": entry.id, "when": entry.when, "what": entry.what, "files": files}
            value.append({**facts, "undoes": entry.undoes or None, "in_force": is_in_force})
            state = f"took back {entry.undoes}" if entry.undoes else "taken back"
            rows.append([str(entry.id), format_clock(entry.when), entry.what, "in force" if is_in_force else state])
        text = Table(["id", "when", "what", "state"], rows) if rows else "hookline has changed no file yet"
        return render(args, value, text)
    entry, undo = journal.undo(args.id, force=args.force)
    return render(
        args,
        {"undone": entry.id, "what": entry.what, "files": [step.path for step in entry.steps], "undo": undo.id},
        f"taken back: {entry.what}",
        *(f"{'removed' if step.before is None else 'restored'} {step.path}" for step in entry.steps),
        f"do it again: hookline undo {undo.id}",
    )


COMMAND: Final = CliCommand(
    "take back the last change that hookline made to a configuration file",
    argument("id", "which change; an undo can be undone, too", nargs="?", type=int),
    flag("--list", "list the changes, the latest first"),
    flag("--force", "also when the file was changed since"),
    *COMMON,
    example="--list",
    run=run,
)
