"""Check that programs are on the search path, in the required version.

A program inside the project does not count: hooks never start one from there.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from hookline import caller_context
from hookline.model.requirements import NeededTool, Version, parse_tool
from hookline.model.workspace_paths import find_program, without_folders
from hookline.process import run
from hookline.process.result import ExitReason
from hookline.process.spec import ProcessSpec
from hookline.requirements._run_dir import RunDir

TIMEOUT: Final = 5.0
"""Seconds a program has to print its version."""

# a shell would run the file they name before the program itself
_DROPPED: Final = frozenset({"BASH_ENV", "ENV"})
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+|\d{1,9}", re.ASCII)
_DOTTED: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+", re.ASCII)
# arguments of programs without --version
_VERSION_ARGS: Final[Mapping[str, tuple[str, ...]]] = {
    "go": ("version",),
    "java": ("-version",),
    "javac": ("-version",),
    "kubectl": ("version", "--client"),
    "ssh": ("-V",),
    "tmux": ("-V",),
    "terraform": ("version",),
}


async def check(text: str, run_dir: RunDir) -> str:
    """Return that a program is missing or has another version, or ""."""
    tool = parse_tool(text)
    path = run_dir.variable("PATH") or os.defpath
    program = find_program(tool.name, path, run_dir.foreign)
    if not program:
        inside = find_program(tool.name, path)
        if inside:
            return f'the program {tool.name} is on PATH only as "{inside}", inside the project: install it outside'
        return f"the program {tool.name} is not on PATH: install it, or correct PATH"
    if not tool.bounds:
        return ""
    version, problem = await _read_version(program, tool, run_dir)
    if version is None:
        return f'the version of "{program}" is not known, {text} is needed: {problem}'
    if tool.accepts(version):
        return ""
    return f'{text} is needed, "{program}" is version {".".join(map(str, version))}: install another version'


async def _read_version(program: str, tool: NeededTool, run_dir: RunDir) -> tuple[Version | None, str]:
    """Return the version of a program, or why there is none."""
    words = _VERSION_ARGS.get(tool.name, ("--version",))
    asked = f"{tool.name} {' '.join(words)}"
    env = {**caller_context.full_environ(), **dict(run_dir.env)}
    # the interpreter of a script is not taken from the project either
    env["PATH"] = without_folders(env.get("PATH", ""), run_dir.foreign) or os.defpath
    spec = ProcessSpec(
        program=program,
        argv=(program, *words),
        env={os.fsencode(name): os.fsencode(value) for name, value in env.items() if name not in _DROPPED},
        cwd=run_dir.version_dir if os.path.isdir(run_dir.version_dir) else "/",  # noqa: PTH112, ASYNC240 - may be no valid path
    )
    try:
        result = await run(spec, stdin=b"", timeout=TIMEOUT)
    except OSError as problem:
        return None, f"{asked} cannot be started: {problem.strerror or problem}"
    if result.reason is ExitReason.TIMED_OUT:
        return None, f"{asked} did not end within {TIMEOUT:g} s"
    # a program that printed too much was ended by us, and has not failed
    if result.reason is ExitReason.EXITED and result.exit_code:
        return None, f"{asked} fails"
    text = (result.stdout + result.stderr).decode("utf-8", "replace")
    match = _DOTTED.search(text) or _NUMBER.search(text)
    if match is None:
        return None, f"{asked} does not say it"
    return tuple(int(number) for number in match[0].split(".")), ""
