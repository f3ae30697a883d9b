"""The project and the hook that a command is about."""

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from hookline.config.document import Severity
from hookline.config.known_names import quote, suggest
from hookline.engine.confirmation import Ask
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.project import Project, load_project
from hookline.text import escape_all
from hookline.trust.policy import Approve


def add_project_option(parser: argparse.ArgumentParser) -> None:
    """Add `--project`."""
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project, instead of this folder")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


class CommandAction(NamedTuple):
    """An action of a command, such as `list` of `hookline trust`."""

    run: Callable[[argparse.Namespace], int]
    help: str
    example: str = ""
    configure: Callable[[argparse.ArgumentParser], None] | None = None


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, CommandAction]) -> None:
    """Add the actions of a command, each with `--project` and `--json`; `args.act` is the one to run."""
    parsers = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, action in actions.items():
        one = parsers.add_parser(
            name,
            help=action.help,
            description=action.help,
            epilog=f"example:\n  {parser.prog} {name} {action.example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.set_defaults(act=action.run)
        add_project_option(one)
        add_json_option(one)
        if action.configure is not None:
            action.configure(one)


def load_from_args(
    args: argparse.Namespace, *, ask: Ask | None = None, approve: Approve | None = None, traced: bool = False
) -> Project:
    """Load the project that `--project` names.

    Raises:
        ConfigError: There is no such folder.
    """
    records = not getattr(args, "dry_run", False)
    return load_project(get_project_dir(args), ask=ask, approve=approve, traced=traced, records=records)


def get_project_dir(args: argparse.Namespace) -> Path | None:
    """Return the folder that `--project` names; None for the working directory.

    Raises:
        ConfigError: There is no such folder.
    """
    project: Path | None = args.project
    # unlike Path.is_dir, this never raises
    if project is not None and not os.path.isdir(project):  # noqa: PTH112
        raise ConfigError(f"--project: there is no folder {project}")
    return project


def find_hook(project: Project, name: str) -> Hook:
    """Return the hook with this id, or with this name if only one hook has it.

    Raises:
        ConfigError: There is none, or there are several.
    """
    known = {hook.id for hook in project.hooks}
    hooks = (*project.hooks, *(hook for hook in project.builtins if hook.id not in known))
    found = (
        [hook for hook in hooks if hook.id == name]
        or [hook for hook in hooks if hook.name == name]
        # an id with control characters, copied from the terminal, arrives escaped
        or [hook for hook in hooks if escape_all(hook.id) == name]
    )
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{hook.id} ({hook.source_path}:{hook.source_line})" for hook in found)
        raise ConfigError(f"several hooks are called {quote(name)}: {places}; name one by its id")
    for problem in project.loaded.problems:
        if problem.severity is Severity.ERROR and f"hook {quote(name)}" in problem.message:
            place = f"{problem.path}:{problem.line}" if problem.line else problem.path
            raise ConfigError(f"there is no hook {quote(name)} as long as {place} is wrong: {problem.message}")
    nearest = suggest(name, [hook.id for hook in hooks])
    raise ConfigError(f"there is no hook {quote(name)}{nearest}; `hookline list` shows them all")
