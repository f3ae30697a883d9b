"""What the commands about agents share: which agents, where their settings are, and how changes are reported."""

import argparse
import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from hookline.cli._describe import SPECS
from hookline.cli._output import print_error
from hookline.cli._project import get_project_dir
from hookline.config.known_names import quote, suggest
from hookline.config.undo_log import FileEdit
from hookline.errors import ConfigError, HostError
from hookline.hosts import HOSTS, find
from hookline.hosts.host import Host, HostEnvironment, Scope
from hookline.hosts.installer import InstallPlan
from hookline.hosts.status import find_settings
from hookline.model.dialect import DialectSpec
from hookline.project import Project
from hookline.user_dirs import find_user_dirs, working_folder

_ACTIONS: Final = {(True, False): "make", (False, True): "remove", (False, False): "change"}
_CHECK_TIMEOUT: Final = 60  # seconds


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the names of agents, the scope of their settings, and `--dry-run`."""
    parser.add_argument(
        "hosts", nargs="*", metavar="HOST", help="agents, such as claude-code; `hookline hosts` lists them"
    )
    parser.add_argument(
        "--scope",
        choices=[str(scope) for scope in Scope],
        help="your own settings (user), those of the project that everybody shares, or your own in it (local)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def make_around(args: argparse.Namespace, *, writes: bool = False) -> HostEnvironment:
    """Return where agents and their settings are looked for.

    Raises:
        HostError: The command `writes`, and would write to another home folder than the one that was named.
    """
    project = (get_project_dir(args) or working_folder()).absolute()
    folders = find_user_dirs(project)
    for problem in folders.problems:
        if writes and not args.dry_run:
            raise HostError(f"{problem.message}, so nothing was changed; run this in another folder")
        # warn: the settings of another home folder are read
        print_error(f"hookline: {problem}")
    return HostEnvironment(home=folders.home, data=folders.data, project=project, environ=os.environ)


def make_around_project(project: Project) -> HostEnvironment:
    """Return where the agents of a loaded project and their settings are looked for."""
    folders = project.folders
    return HostEnvironment(home=folders.home, data=folders.data, project=project.root, environ=os.environ)


def find_installed(around: HostEnvironment) -> list[Host]:
    """Return the agents with entries of Hookline in their settings."""
    return [host for host in HOSTS.values() if any(file.ours for file in find_settings(host, around, others=False))]


def find_hosts(names: Iterable[str]) -> list[Host]:
    """Return the named agents, each once.

    Raises:
        HostError: There is none of that name.
    """
    return list({host.name: host for host in map(find, names)}.values())


def find_agent(name: str) -> DialectSpec:
    """Return the dialect of an agent by its name or a short name.

    Raises:
        ConfigError: There is none.
    """
    agents = {own: spec for own, spec in SPECS.items() if spec.is_agent}
    by_word = {word: spec for spec in agents.values() for word in (spec.name, *spec.aliases)}
    found = by_word.get(name.lower())
    if found is None:
        raise ConfigError(
            f"there is no agent {quote(name)}{suggest(name, by_word)}; there are {', '.join(sorted(agents))}"
        )
    return found


def check_interpreter(python: str, *, module: str) -> None:
    """Check that a Python imports Hookline without its environment and from any folder, as agents and git run it.

    Raises:
        HostError: It does not.
    """
    command = [python, "-E", "-P", "-c", f"import {module}"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, timeout=_CHECK_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise HostError(f"cannot run {python}: {problem}") from None
    if done.returncode:
        error = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(
            f"{python} cannot run hookline without PYTHONPATH and the folder you are in ({error}); install it for that "
            "Python (pip install hookline), and try again"
        )


def notify_daemon() -> None:
    """Have a running daemon check at once whether agents call it by URL; by itself it would do so later."""
    if os.name == "nt":
        return
    from hookline.bridge.daemon_socket import find_socket_dir  # noqa: PLC0415
    from hookline.daemon.client import NoDaemonError, ask  # noqa: PLC0415 - only after a change

    with suppress(NoDaemonError):
        ask(find_socket_dir(os.environ), ("daemon", "look"))


def plans_to_json(plans: Sequence[dict[str, object]], *, number: int, dry_run: bool) -> dict[str, object]:
    """Return the result of an installation for `--json`."""
    changed = any(plan["changes"] for plan in plans)
    return {"changed": changed and not dry_run, "dry_run": dry_run, "undo": number or None, "hosts": plans}


def plan_to_json(plan: InstallPlan, **more: object) -> dict[str, object]:
    """Return the plan of one agent for `--json`."""
    return {
        "host": plan.host,
        "scope": plan.scope,
        "files": plan.files,
        "changes": [{"path": change.path, "action": _name_action(change)} for change in plan.changes],
        "notes": plan.notes,
        **more,
    }


def _name_action(change: FileEdit) -> str:
    return _ACTIONS[change.before is None, change.after is None]


def describe_changes(plans: Sequence[InstallPlan], *, dry_run: bool) -> list[str]:
    """Return a line for each file that changes."""
    return [
        f"{'would ' if dry_run else ''}{_name_action(change)} {change.path}"
        for plan in plans
        for change in plan.changes
    ]
