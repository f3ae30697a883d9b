"""`hookline hosts`: which agents are here, which of them ask us, and what else they run."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.cli import _abilities
from hookline.cli._hosts import around_of
from hookline.cli._output import counted, say, say_json, table
from hookline.cli._project import add_json, add_project
from hookline.hosts import HOSTS
from hookline.hosts.detect import Detected, detect
from hookline.hosts.host import Host
from hookline.hosts.status import SettingsFile, found, obstacles

HELP: Final = "list the agents on this machine, which of them ask the hooks, and what else they run"
EXAMPLE: Final = "hookline hosts"

_LIST: Final = "list"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    words = "list the agents on this machine, ours and others' hooks in their settings (this is the default)"
    one = actions.add_parser(_LIST, help=words, description=words)
    for each in (parser, one):
        add_project(each)
        add_json(each)
    words = "show for each event of one agent what an answer can do there, and what becomes of the rest"
    one = actions.add_parser("show", help=words, description=words)
    one.add_argument("host", metavar="AGENT", help="the agent's name; `hookline hosts` lists them")
    add_json(one)
    words = "show what becomes of the answers of every system's hooks under every agent"
    one = actions.add_parser("matrix", help=words, description=words)
    add_json(one)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return _ACTIONS[args.action or _LIST](args)


def _list(args: argparse.Namespace) -> int:
    around = around_of(args)
    detected = detect(HOSTS.values(), around)
    files = {name: found(host, around) for name, host in HOSTS.items()}
    if args.json:
        say_json(
            [
                {**_described(host, detected[name], files[name]), "problems": obstacles(host, around)}
                for name, host in HOSTS.items()
            ]
        )
        return 0
    rows = [_row(host, detected[name], files[name]) for name, host in HOSTS.items()]
    table(("agent", "here", "version", "ours", "others", "name"), rows)
    for name in HOSTS:
        # a file that two agents read is named once
        for file in _gathered(HOSTS[name], [file for file in files[name] if file.of == name]):
            say(f"{file.path} ({file.of}, {file.scope}): {_contents(file)}")
    for host in HOSTS.values():
        for problem in obstacles(host, around):
            say(f"problem: {problem}")
    if not any(file.ours for name in HOSTS for file in files[name]):
        say("no agent asks the hooks yet; `hookline install` shows how")
    return 0


def _gathered(host: Host, files: Sequence[SettingsFile]) -> list[SettingsFile]:
    """Take files together that are one for each event."""
    found: dict[str, SettingsFile] = {}
    for file in files:
        is_one_of_many = any(file.scope == scope and name.endswith("/") for scope, name in host.files.items())
        path = f"{Path(file.path).parent}/" if is_one_of_many and not file.problem else file.path
        before = found.get(path, SettingsFile(path=path, scope=file.scope, of=file.of))
        found[path] = replace(
            before, ours=before.ours + file.ours, foreign=before.foreign + file.foreign, problem=file.problem
        )
    return list(found.values())


def _contents(file: SettingsFile) -> str:
    if file.problem:
        return f"cannot be read: {file.problem}"
    called = sum(entry.is_url for entry in file.ours)
    by_url = f", {called} by URL" if called else ""
    ours = f"ours at {counted(len(file.ours), 'event')}{by_url}" if file.ours else ""
    others = counted(file.foreign, "hook") + " of others" if file.foreign else ""
    return ", ".join(filter(None, (ours, others)))


def _row(host: Host, one: Detected, files: Sequence[SettingsFile]) -> tuple[str, ...]:
    scopes = dict.fromkeys(file.scope for file in files if file.of == host.name and file.ours)
    here = "program" if one.program else "settings" if one.folder else "-"
    others = sum(file.foreign for file in files)
    return (host.title, here, one.version or "-", ", ".join(scopes) or "-", str(others or "-"), host.name)


def _described(host: Host, one: Detected, files: Sequence[SettingsFile]) -> dict[str, object]:
    own = [file for file in files if file.of == host.name]
    return {
        "host": host.name,
        "title": host.title,
        "aliases": host.spec.aliases,
        "found": one.is_there,
        "program": one.program or None,
        "version": one.version or None,
        "folder": one.folder or None,
        "installed": list(dict.fromkeys(file.scope for file in own if file.ours)),
        "events": list(dict.fromkeys(entry.event for file in own for entry in file.ours)),
        "files": [
            {
                "path": file.path,
                "scope": file.scope,
                "of": file.of,
                "ours": [
                    {"event": entry.event, "if_broken": entry.policy or None, "http": entry.is_url}
                    for entry in file.ours
                ],
                "foreign": file.foreign,
                "problem": file.problem or None,
            }
            for file in files
        ],
    }


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    _LIST: _list,
    "show": _abilities.show,
    "matrix": _abilities.matrix,
}
