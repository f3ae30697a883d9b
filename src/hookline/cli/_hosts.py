"""What the commands about agents share: which ones are meant, where things are, and how a plan is carried out."""

import argparse
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from hookline.cli._output import complain, say, say_json
from hookline.cli._project import project_of
from hookline.config.journal import Change
from hookline.folders import here, person_folders
from hookline.hosts import find
from hookline.hosts.host import Around, Host, Scope
from hookline.hosts.plans import Plan

_WORDS: Final = {(True, False): "make", (False, True): "remove", (False, False): "change"}


def add_agents(parser: argparse.ArgumentParser) -> None:
    """Let the person name agents, and whose settings of theirs are meant."""
    parser.add_argument(
        "hosts", nargs="*", metavar="HOST", help="agents, such as claude-code; `hookline hosts` lists them"
    )
    parser.add_argument(
        "--scope",
        choices=[str(scope) for scope in Scope],
        help="your own settings (user), those of the project that everybody shares, or your own in it (local)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def around_of(args: argparse.Namespace) -> Around:
    """Say where everything is looked for."""
    project = (project_of(args) or here()).absolute()
    folders = person_folders(project)
    for problem in folders.problems:
        # the settings of somebody else's home would be looked at otherwise, and nobody would know
        complain(f"hookline: {problem}")
    return Around(home=folders.home, data=folders.data, project=project, environ=os.environ)


def named(words: Iterable[str]) -> list[Host]:
    """Find the agents that were named, each once.

    Raises:
        HostError: There is none of that name.
    """
    return list({host.name: host for host in map(find, words)}.values())


def have_daemon_look() -> None:
    """Have a daemon that runs see at once whether agents call a URL now; it would find out by itself, in a while."""
    if os.name == "nt":
        return
    from hookline.bridge.daemon.client import NoDaemonError, ask  # noqa: PLC0415 - only where something was changed
    from hookline.bridge.daemon.place import place_of  # noqa: PLC0415

    with suppress(NoDaemonError):
        ask(place_of(os.environ), ("daemon", "look"))


def described(plan: Plan, **more: object) -> dict[str, object]:
    """Give a plan as JSON."""
    return {
        "host": plan.host,
        "scope": plan.scope,
        "files": plan.files,
        **more,
        "changes": [{"path": change.path, "action": action(change)} for change in plan.changes],
        "notes": plan.notes,
    }


def action(change: Change) -> str:
    """Say in a word what becomes of a file."""
    return _WORDS[change.before is None, change.after is None]


def say_changes(plans: Sequence[Plan], *, dry_run: bool) -> None:
    """Name the files that change."""
    for plan in plans:
        for change in plan.changes:
            say(f"{'would ' if dry_run else ''}{action(change)} {change.path}")


def say_plans(plans: Sequence[dict[str, object]], *, number: int, dry_run: bool) -> None:
    """Print plans for a program."""
    changed = any(plan["changes"] for plan in plans)
    say_json({"changed": changed and not dry_run, "dry_run": dry_run, "undo": number or None, "hosts": plans})
