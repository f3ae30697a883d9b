"""What most commands start with: the project they are about, and the hook they are about."""

import argparse
import os
from pathlib import Path

from hookline.config.vocabulary import hint, quoted
from hookline.core.asking import Ask
from hookline.core.trust import Approve
from hookline.display import exact
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.workspace import Opened, open_project


def add_project(parser: argparse.ArgumentParser) -> None:
    """Let the person name the project."""
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project, instead of this folder")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let programs read the answer."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def opened(
    args: argparse.Namespace, *, ask: Ask | None = None, approve: Approve | None = None, traced: bool = False
) -> Opened:
    """Load the project that was named.

    Raises:
        ConfigError: There is no such folder.
    """
    return open_project(project_of(args), ask=ask, approve=approve, traced=traced)


def project_of(args: argparse.Namespace) -> Path | None:
    """Give the folder that was named; None for the one we are in.

    Raises:
        ConfigError: There is no such folder.
    """
    project: Path | None = args.project
    # unlike the method of a path, this does not raise, whatever the text is
    if project is not None and not os.path.isdir(project):  # noqa: PTH112
        raise ConfigError(f"--project: there is no folder {project}")
    return project


def hook_named(project: Opened, name: str) -> Hook:
    """Find a hook by its id, or by its name where that is nobody else's.

    Raises:
        ConfigError: There is none, or there are several.
    """
    known = {hook.id for hook in project.loaded.hooks}
    hooks = (*project.loaded.hooks, *(hook for hook in project.builtins if hook.id not in known))
    found = (
        [hook for hook in hooks if hook.id == name]
        or [hook for hook in hooks if hook.name == name]
        # whoever copies a name with a control character from the screen copies how it is spelled there
        or [hook for hook in hooks if exact(hook.id) == name]
    )
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{hook.id} ({hook.source_path}:{hook.source_line})" for hook in found)
        raise ConfigError(f"several hooks are called {quoted(name)}: {places}; name one by its id")
    nearest = hint(name, [hook.id for hook in hooks])
    raise ConfigError(f"there is no hook {quoted(name)}{nearest}; `hookline list` shows them all")
