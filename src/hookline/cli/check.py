"""`hookline check`: everything that is wrong with the configuration, with file and line."""

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.cli._about import SPECS, described_problem, module_file
from hookline.cli._output import counted, say, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.config.problem import Problem, Severity
from hookline.core.risks import risks
from hookline.debug.abilities import explained, shortfalls
from hookline.debug.review import review
from hookline.errors import StoreError
from hookline.folders import here
from hookline.hosts import HOSTS
from hookline.hosts.host import Around
from hookline.hosts.status import found
from hookline.model.dialect import DialectSpec
from hookline.wiring import shell_dialects
from hookline.workspace import Opened

HELP: Final = "find everything that is wrong with the configuration, with file and line"
EXAMPLE: Final = "hookline check --strict"

FOUND: Final = 1

# what a person should know about a hook though it works; the other risks are for whoever approves it
_MUTABLE: Final = frozenset({"launcher", "pipe-to-shell"})


# what people take for the name of our file
_NEARLY: Final = (
    *(".hookline.toml", "hooklines.toml", "hookline.json", "hookline.yaml", "hookline.yml"),
    *(".hookline/hookline.toml", ".hookline/hooks.toml", ".config/hookline.toml"),
)


class Checked(Struct, frozen=True, kw_only=True):
    """All problems, by file and line, and how much was looked at."""

    problems: tuple[Problem, ...]
    hooks: int
    files: int


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--strict", action="store_true", help="let notes count: exit 1 for them, too")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Check everything: 1 when something has to be mended."""
    project = opened(args)
    checked = checked_project(project, agents=_agents(project))
    if args.json:
        say_json(
            {
                "problems": [described_problem(problem) for problem in checked.problems],
                "hooks": checked.hooks,
                "files": checked.files,
            }
        )
    else:
        _tell(checked)
    telling = [problem for problem in checked.problems if args.strict or problem.severity is not Severity.NOTE]
    return FOUND if telling else 0


def checked_project(project: Opened, *, agents: Sequence[DialectSpec] = ()) -> Checked:
    """Find what is wrong with each file, with each hook as a whole, and with it under the agents that ask us."""
    every = (*project.problems, *_near_misses(project), *_reviewed(project), *_short_of(project, agents))
    problems = dict.fromkeys(every)
    return Checked(
        problems=tuple(sorted(problems, key=lambda problem: (problem.path, problem.line))),
        hooks=len(project.loaded.hooks),
        files=len(project.loaded.files),
    )


def _agents(project: Opened) -> list[DialectSpec]:
    """Give the agents that ask us here."""
    folders = project.folders
    around = Around(home=folders.home, data=folders.data, project=project.root, environ=os.environ)
    return [host.spec for host in HOSTS.values() if any(file.ours for file in found(host, around, others=False))]


def _short_of(project: Opened, agents: Sequence[DialectSpec]) -> Iterator[Problem]:
    """Say which hooks count on something that an agent cannot do."""
    for hook in project.loaded.hooks:
        for agent in agents:
            for one in dict.fromkeys(shortfalls(hook, agent)):
                message = f'hook "{hook.id}" wants to {one.wanted}, and {explained(one, agent)}'
                yield Problem(hook.source_path, hook.source_line, message, Severity.NOTE)


def _near_misses(project: Opened) -> Iterator[Problem]:
    """Point at files whose names are nearly right: nobody reads them, and somebody waits for their hooks."""
    folders = (project.root, project.folders.config)
    for path in (folder / name for folder in dict.fromkeys(folders) for name in _NEARLY):
        if path.is_file():
            yield Problem(str(path), 0, "this file is not read: hooks stand in hookline.toml", Severity.WARNING)


def _reviewed(project: Opened) -> Iterator[Problem]:
    hooks = project.loaded.hooks
    try:
        project.engine.trust.get_approvals()
    except StoreError as problem:
        yield Problem(str(project.folders.data), 0, str(problem))
    for finding in review(hooks, engine=project.engine, specs=SPECS, module_file=module_file):
        hook = finding.hook
        yield Problem(hook.source_path, hook.source_line, finding.message, Severity(finding.weight))
    for hook in hooks:
        for risk in risks(hook, shell_dialects=shell_dialects(), cwd=str(project.root)):
            if risk.kind in _MUTABLE:
                yield Problem(hook.source_path, hook.source_line, f'hook "{hook.id}": {risk.text}', Severity.NOTE)


def _tell(checked: Checked) -> None:
    for problem in _from_here(checked.problems):
        say(str(problem))
    counts = Counter(problem.severity for problem in checked.problems)
    wrong = ", ".join(counted(counts[severity], severity) for severity in Severity if counts[severity])
    looked_at = f"{counted(checked.hooks, 'hook')} in {counted(checked.files, 'file')}"
    say(f"{wrong or 'nothing to mend'}; {looked_at}")


def _from_here(problems: Sequence[Problem]) -> Iterable[Problem]:
    """Write paths as an editor in this folder opens them."""
    folder = os.path.join(here(), "")  # noqa: PTH118 - a text, with the separator at its end
    return (replace(problem, path=problem.path.removeprefix(folder)) for problem in problems)
