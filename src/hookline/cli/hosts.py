"""`hookline hosts`: the agents on this machine, which of them ask the hooks, and what their answers can do."""

import argparse
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.cli._command import COMMON, JSON, CliCommand, argument, parse_count
from hookline.cli._output import (
    CellStyle,
    Line,
    Table,
    TextStyle,
    pluralise,
    print_error,
    print_line,
    render,
    style_word,
)
from hookline.cli._project import SPECS, find_root
from hookline.debug.capability_matrix import MOMENTS, can_express, translate_wish
from hookline.errors import ConfigError, HostError
from hookline.hosts import HOSTS
from hookline.hosts.host import Host, HostEnvironment
from hookline.hosts.status import DetectedAgent, SettingsFile, detect, find_installed, find_obstacles, find_settings
from hookline.model.dialect import AGENTS, DialectSpec
from hookline.model.event import Ability, EventName, fallback_for
from hookline.model.names import AGENT_ALIASES, resolve_agent
from hookline.project import Project, load_project
from hookline.text import quote, suggest
from hookline.user_dirs import find_user_dirs
from hookline.version import __version__

_CHECK_TIMEOUT: Final = 60  # seconds


def make_around(args: argparse.Namespace, *, writes: bool = False) -> HostEnvironment:
    """Return where agents and their settings are looked for.

    Raises:
        HostError: The command `writes`, and would write to another home folder than the one that was named.
    """
    project = find_root(args)
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


# what `--sort` puts first; the order of agents that are alike stays
_ORDERS: Final[Mapping[str, Callable[[Host, DetectedAgent, Sequence[SettingsFile]], str | int]]] = {
    "known": lambda _host, _found, _files: 0,
    "name": lambda host, _found, _files: host.name,
    "here": lambda _host, found, _files: 0 if found.program else 1 if found.is_there else 2,
    "ours": lambda _host, _found, files: -sum(len(file.ours) for file in files),
    "others": lambda _host, _found, files: -sum(file.foreign for file in files),
}
_STYLES: Final[Mapping[str, CellStyle]] = {
    "agent": TextStyle.BOLD,
    "here": style_word,
    "version": TextStyle.DIM,
    "ours": lambda cell: TextStyle.DIM if cell == "-" else TextStyle.GOOD,
    "others": lambda cell: TextStyle.DIM if cell == "-" else TextStyle.WARN,
    "name": TextStyle.DIM,
}


def _list(args: argparse.Namespace) -> int:
    around = make_around(args)
    detected = detect(HOSTS.values(), around)
    files = {name: find_settings(host, around) for name, host in HOSTS.items()}
    problems = {name: list(map(str, find_obstacles(host, around))) for name, host in HOSTS.items()}
    value, rows = [], []
    lines: list[str | Line] = []
    shown = sorted(HOSTS, key=lambda name: _ORDERS[args.sort](HOSTS[name], detected[name], files[name]))
    for name in shown[: args.top or None]:
        host, one = HOSTS[name], detected[name]
        own = [file for file in files[name] if file.of == name]
        scopes = list(dict.fromkeys(file.scope for file in own if file.ours))
        value.append(
            {
                "host": name,
                "title": host.title,
                "aliases": host.spec.aliases,
                "found": one.is_there,
                "program": one.program or None,
                "version": one.version or None,
                "folder": one.folder or None,
                "installed": scopes,
                "events": list(dict.fromkeys(entry.event for file in own for entry in file.ours)),
                "files": [_file_to_json(file) for file in files[name]],
                "problems": problems[name],
            }
        )
        here = "program" if one.program else "settings" if one.folder else "-"
        others = sum(file.foreign for file in files[name])
        rows.append((host.title, here, one.version or "-", ", ".join(scopes) or "-", str(others or "-"), name))
        # a file that two agents read is listed once
        for file in _merge_files(host, own):
            urls = sum(entry.is_url for entry in file.ours)
            by_url = f", {urls} by URL" if urls else ""
            ours = f"ours at {pluralise(len(file.ours), 'event')}{by_url}" if file.ours else ""
            foreign = pluralise(file.foreign, "hook") + " of others" if file.foreign else ""
            what = f"cannot be read: {file.problem}" if file.problem else ", ".join(filter(None, (ours, foreign)))
            lines.append(f"{file.path} ({file.of}, {file.scope}): {what}")
    lines += [
        Line(f"problem: {problem}", [("problem", TextStyle.BAD)])
        for name in shown[: args.top or None]
        for problem in problems[name]
    ]
    if not any(file.ours for name in HOSTS for file in files[name]):
        lines.append("no agent asks the hooks yet; `hookline install` shows how")
    table = Table(("agent", "here", "version", "ours", "others", "name"), rows, _STYLES)
    return render(args, value, table, *lines)


def _merge_files(host: Host, files: Sequence[SettingsFile]) -> list[SettingsFile]:
    """Merge the files of agents that have one file for each event."""
    merged: dict[str, SettingsFile] = {}
    for file in files:
        is_one_of_many = any(file.scope == scope and name.endswith("/") for scope, name in host.files.items())
        path = f"{Path(file.path).parent}/" if is_one_of_many and not file.problem else file.path
        before = merged.get(path, SettingsFile(path=path, scope=file.scope, of=file.of))
        merged[path] = replace(
            before, ours=before.ours + file.ours, foreign=before.foreign + file.foreign, problem=file.problem
        )
    return list(merged.values())


def _file_to_json(file: SettingsFile) -> dict[str, object]:
    return {
        "path": file.path,
        "scope": file.scope,
        "of": file.of,
        "ours": [
            {"event": entry.event, "if_broken": entry.policy or None, "http": entry.is_url} for entry in file.ours
        ],
        "foreign": file.foreign,
        "problem": file.problem or None,
    }


def _show(args: argparse.Namespace) -> int:
    """Show for each event of an agent what an answer can do there, and what becomes of the rest."""
    spec = find_agent(args.host)
    canonical = {native: str(name) for name, native in reversed(list(spec.events.items()))}
    abilities = spec.abilities
    events = [(native, canonical.get(native, EventName.CUSTOM), able) for native, able in abilities.items()]
    value = {
        "host": spec.name,
        "title": spec.title,
        "runs_files_of": [spec.name, *spec.runs_files_of],
        "events": [
            {
                "event": native,
                "canonical": name,
                "can": sorted(able),
                "instead": {one: fallback_for(one, able) for one in Ability if one not in able},
                "by_mode": spec.by_mode.get(native),
            }
            for native, name, able in events
        ],
    }
    lines = [f"{spec.name}: {spec.title}"]
    if spec.runs_files_of:
        lines.append(f"It also runs the hooks in the settings of {', '.join(spec.runs_files_of)} by itself.")
    rows = [
        (native, name, ", ".join(one for one in Ability if one in able) or "nothing", _describe_losses(able))
        for native, name, able in events
    ]
    table = Table(("event", "ours", "an answer can", "what else it says becomes"), rows)
    modes = [f"{native}: {text}" for native, text in spec.by_mode.items()]
    return render(args, value, *lines, "", table, *modes)


def _describe_losses(able: frozenset[Ability]) -> str:
    """Group the abilities that an event lacks by what they become."""
    groups: dict[str, list[str]] = {}
    for one in Ability:
        if one not in able:
            groups.setdefault(str(fallback_for(one, able) or "lost"), []).append(one)
    return "; ".join(f"{', '.join(wanted)}: {became}" for became, wanted in groups.items())


def _show_matrix(args: argparse.Namespace) -> int:
    """Show what becomes of each wish under each agent, and which hooks can express it."""
    agents = {name: spec for name, spec in SPECS.items() if spec.is_agent}
    value = [
        {
            "hook": hook.name,
            "host": agent.name,
            "wish": wanted,
            "event": name,
            "happens": cell.happens,
            "becomes": cell.became,
        }
        for wanted, name in MOMENTS
        for hook in SPECS.values()
        if can_express(hook, wanted, name)
        for agent in agents.values()
        for cell in [translate_wish(agent, wanted, name)]
    ]
    answers = [
        (f"{wanted} at {name}", *(translate_wish(agent, wanted, name).word for agent in agents.values()))
        for wanted, name in MOMENTS
    ]
    words = [
        (f"{wanted} at {name}", *("yes" if can_express(spec, wanted, name) else "-" for spec in SPECS.values()))
        for wanted, name in MOMENTS
    ]
    return render(
        args,
        value,
        "What an answer becomes under each agent",
        "",
        Table(("wish", *agents), answers, dict.fromkeys(agents, style_word)),
        "",
        "Which hooks can say it",
        "",
        Table(("wish", *SPECS), words, dict.fromkeys(SPECS, style_word)),
    )


COMMAND: Final = CliCommand(
    "list the agents on this machine, which of them ask the hooks, and what else they run",
    default_action="list",
    actions={
        "list": CliCommand(
            "list the agents on this machine, ours and others' hooks in their settings (this is the default)",
            argument(
                "--sort",
                "what comes first: names, those on this machine, with most entries of ours, or of others",
                choices=tuple(_ORDERS),
                default="known",
            ),
            argument("--top", "at most so many", type=parse_count, default=0, metavar="N"),
            *COMMON,
            run=_list,
        ),
        "show": CliCommand(
            "show for each event of one agent what an answer can do there, and what becomes of the rest",
            argument("host", "the agent's name; `hookline hosts` lists them", metavar="AGENT"),
            JSON,
            example="claude-code",
            run=_show,
        ),
        "matrix": CliCommand(
            "show what becomes of the answers of every system's hooks under every agent", JSON, run=_show_matrix
        ),
    },
)
