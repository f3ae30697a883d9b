"""`hookline undo`: take a change of ours back, byte for byte."""

import argparse
from datetime import datetime
from typing import Final

from hookline.cli._output import say, say_json, table
from hookline.cli._project import add_json, add_project
from hookline.config.journal import Entry, Journal
from hookline.workspace import person_folders

HELP: Final = "take back the last change that hookline made to a configuration file"
EXAMPLE: Final = "hookline undo --list"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("id", nargs="?", type=int, metavar="ID", help="which change; an undo can be undone, too")
    parser.add_argument("--list", action="store_true", help="list the changes, the latest first")
    parser.add_argument("--force", action="store_true", help="also when the file was changed since")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Take it back, or list what can be taken back."""
    journal = Journal(person_folders(args.project).data)
    if args.list:
        _list(journal, as_json=args.json)
        return 0
    entry, done = journal.undo(args.id, force=args.force)
    files = [step.path for step in entry.steps]
    if args.json:
        say_json({"undone": entry.id, "what": entry.what, "files": files, "undo": done.id})
        return 0
    say(f"taken back: {entry.what}")
    for step in entry.steps:
        say(f"{'removed' if step.before is None else 'restored'} {step.path}")
    say(f"do it again: hookline undo {done.id}")
    return 0


def _list(journal: Journal, *, as_json: bool) -> None:
    in_force = {entry.id for entry in journal.in_force()}
    rows = [(entry, entry.id in in_force) for entry in journal.entries()]
    if as_json:
        say_json([_described(entry, in_force=there) for entry, there in rows])
        return
    if not rows:
        say("hookline has changed no file yet")
        return
    table(["id", "when", "what", "state"], [_row(entry, in_force=there) for entry, there in rows])


def _described(entry: Entry, *, in_force: bool) -> dict[str, object]:
    return {
        "id": entry.id,
        "when": entry.when,
        "what": entry.what,
        "files": [step.path for step in entry.steps],
        "undoes": entry.undoes or None,
        "in_force": in_force,
    }


def _row(entry: Entry, *, in_force: bool) -> list[str]:
    when = datetime.fromtimestamp(entry.when).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    state = "in force" if in_force else f"took back {entry.undoes}" if entry.undoes else "taken back"
    return [str(entry.id), when, entry.what, state]
