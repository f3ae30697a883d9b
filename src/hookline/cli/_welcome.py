"""The overview that `hookline` without a command prints: agents, hooks, and what to run next."""

from typing import Final

from hookline.cli._hosts import find_installed, make_around_project
from hookline.cli._output import pluralise, print_line
from hookline.hosts import HOSTS
from hookline.hosts.detect import detect
from hookline.project import load_project
from hookline.version import __version__

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
