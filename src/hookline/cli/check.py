"""`hookline check`: everything that is wrong with the configuration, with file and line."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, ExitCode, flag
from hookline.cli._output import Line, TextStyle, pluralise, render, style_word
from hookline.cli._project import load_from_args
from hookline.cli.hosts import make_around_project
from hookline.config.document import Problem, Severity
from hookline.debug.capability_matrix import explain_shortfall, find_shortfalls
from hookline.debug.lint import lint_hooks
from hookline.errors import StoreError
from hookline.hosts.status import find_installed
from hookline.project import Project
from hookline.trust.risks import list_risks
from hookline.user_dirs import working_folder
from hookline.views import problems_to_json
from hookline.wiring import shell_dialects

# risks to report for a hook that works; the approval screen shows the others
_MUTABLE: Final = frozenset({"launcher", "pipe-to-shell"})


# file names that users mistake for ours
_NEARLY: Final = (
    *(".hookline.toml", "hooklines.toml", "hookline.json", "hookline.yaml", "hookline.yml"),
    *(".hookline/hookline.toml", ".hookline/hooks.toml", ".config/hookline.toml"),
)


_OLLM_FOLDER: Final = ".ollm/hooks"
_SCRIPTS: Final = {".js": "node", ".mjs": "node", ".cjs": "node", ".py": "python3", ".sh": "bash", ".rb": "ruby"}


def run(args: argparse.Namespace) -> int:
    """Check everything; return 1 if something has to be mended."""
    project = load_from_args(args)
    problems = sorted(dict.fromkeys(_find_problems(project)), key=lambda problem: (problem.path, problem.line))
    hooks, files = sum(not hook.invalid and not hook.implicit for hook in project.hooks), len(project.loaded.files)
    # paths as an editor in this folder opens them
    folder = os.path.join(working_folder(), "")  # noqa: PTH118 - a text, with the separator at its end
    lines = []
    for problem in problems:
        text = str(replace(problem, path=problem.path.removeprefix(folder)))
        place = text.partition(f": {problem.severity}: ")[0]
        lines.append(Line(text, [(place, TextStyle.DIM), (problem.severity, style_word(problem.severity))]))
    counts = Counter(problem.severity for problem in problems)
    total = ", ".join(pluralise(counts[severity], severity) for severity in Severity if counts[severity])
    summary = total or "nothing to mend"
    worst = next((severity for severity in Severity if counts[severity]), "ok")
    text = f"{summary}; {pluralise(hooks, 'hook')} in {pluralise(files, 'file')}"
    lines.append(Line(text, [(summary, style_word(worst))]))
    value = {"problems": problems_to_json(problems), "hooks": hooks, "files": files}
    render(args, value, *lines)
    return ExitCode.ERROR if any(args.strict or problem.severity is not Severity.NOTE for problem in problems) else 0


def _find_problems(project: Project) -> Iterator[Problem]:
    yield from project.problems
    # files with names that are nearly right: their hooks are never loaded
    folders = (project.root, project.folders.config)
    for path in (folder / name for folder in dict.fromkeys(folders) for name in _NEARLY):
        if path.is_file():
            yield Problem(str(path), 0, "this file is not read: hooks are defined in hookline.toml", Severity.WARNING)
    yield from _find_undefined_scripts(project)
    try:
        project.trust.get_approvals()
    except StoreError as problem:
        yield Problem(str(project.folders.data), 0, str(problem))
    for finding in lint_hooks(project.hooks, engine=project.engine):
        hook = finding.hook
        yield Problem(hook.source_path, hook.source_line, finding.message, Severity(finding.weight))
    agents = [host.spec for host in find_installed(make_around_project(project))]
    for hook in project.hooks:
        for risk in list_risks(hook, shell_dialects=shell_dialects(), cwd=str(project.root)):
            if risk.kind in _MUTABLE:
                yield Problem(hook.source_path, hook.source_line, f'hook "{hook.id}": {risk.text}', Severity.NOTE)
        # what the hook needs and an installed agent cannot do
        for agent in agents:
            for one in dict.fromkeys(find_shortfalls(hook, agent)):
                message = f'hook "{hook.id}" wants to {one.wanted}, and {explain_shortfall(one, agent)}'
                yield Problem(hook.source_path, hook.source_line, message, Severity.NOTE)


def _find_undefined_scripts(project: Project) -> Iterator[Problem]:
    """Find scripts in OLLM's folders without a definition: they look installed, and never run."""
    named = " ".join(word for hook in project.hooks for word in (hook.command, *hook.args))
    for folder in dict.fromkeys((project.folders.home / _OLLM_FOLDER, project.root / _OLLM_FOLDER)):
        for path in sorted(folder.glob("*")):
            if path.suffix in _SCRIPTS and path.is_file() and path.name not in named:
                program = _SCRIPTS[path.suffix]
                example = {"id": path.stem, "event": "before_tool", "command": program, "args": [str(path)]}
                message = f"no hook runs this script: it needs a definition, such as {path.stem}.json with"
                yield Problem(str(path), 0, f"{message} {json_codec.dump(example).decode()}", Severity.WARNING)


COMMAND: Final = CliCommand(
    "find everything that is wrong with the configuration, with file and line",
    flag("--strict", "let notes count: exit 1 for them, too"),
    *COMMON,
    example="--strict",
    run=run,
)
