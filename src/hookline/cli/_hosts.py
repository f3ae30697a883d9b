"""What the commands about agents share, and the overview that `hookline` without a command prints."""

import argparse
import os
import subprocess
from typing import Final

from hookline.cli._describe import SPECS
from hookline.cli._output import pluralise, print_error, print_line
from hookline.cli._project import get_project_dir
from hookline.errors import ConfigError, HostError
from hookline.hosts import HOSTS
from hookline.hosts.host import HostEnvironment
from hookline.hosts.status import detect, find_installed
from hookline.model.agents import AGENTS
from hookline.model.dialect import DialectSpec
from hookline.model.dialect_names import AGENT_ALIASES
from hookline.model.names import resolve_agent
from hookline.project import Project, load_project
from hookline.text import quote, suggest
from hookline.user_dirs import find_user_dirs, working_folder
from hookline.version import __version__

_CHECK_TIMEOUT: Final = 60  # seconds


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


def find_agent(name: str) -> DialectSpec:
    """Return the dialect of an agent by its name or a short name.

    Raises:
        ConfigError: There is none.
    """
    agent = resolve_agent(name)
    if not agent:
        listed = f"{suggest(name, (*AGENTS, *AGENT_ALIASES))}; there are {', '.join(sorted(AGENTS))}"
        raise ConfigError(f"there is no agent {quote(name)}{listed}")
    return SPECS[agent]


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


_SHOWN: Final = 4  # hooks


def print_overview() -> int:
    """Print the overview."""
    project = load_project(None)
    around = make_around_project(project)
    detected = detect(HOSTS.values(), around, versions=False)
    asking = find_installed(around)
    silent = [host for host in HOSTS.values() if detected[host.name].is_there and host not in asking]
    hooks = [hook for hook in project.hooks if hook.enabled]
    waiting = [hook for hook in hooks if project.trust.reason_denied(hook, cwd=str(project.root))]
    print_line(f"hookline {__version__}: hooks for AI agents")
    print_line()
    print_line(f"agents that ask the hooks: {', '.join(host.title for host in asking) or 'none yet'}")
    if silent:
        print_line(f"agents that do not: {', '.join(host.title for host in silent)}")
    names = ", ".join(hook.id for hook in hooks[:_SHOWN]) + (", …" if len(hooks) > _SHOWN else "")
    print_line(f"hooks here: {pluralise(len(hooks), 'hook')}{f' ({names})' if names else ''}")
    if waiting:
        print_line(f"waiting for your approval: {', '.join(hook.id for hook in waiting[:_SHOWN])}")
    print_line()
    print_line("next:")
    if silent or not asking:
        print_line(f"  hookline install {(silent or [HOSTS['claude-code']])[0].name:<22} let an agent ask the hooks")
    if waiting:
        print_line(f"  hookline trust show {waiting[0].id:<19} see what would run, then approve it")
    if not hooks:
        print_line("  hookline init                           make a first hook")
    else:
        print_line("  hookline list                           see the hooks")
    print_line("  hookline doctor                         check that everything works")
    print_line("  hookline --help                         list the commands")
    return 0
