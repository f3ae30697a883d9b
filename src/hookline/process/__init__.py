"""Start hook processes, limit them, and end them; keep warm interpreters and long-lived hook processes."""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from hookline import caller_context
from hookline.model.workspace_paths import find_program
from hookline.process import linux, portable
from hookline.process.environment import Environment
from hookline.process.result import ExitReason
from hookline.process.spec import ProcessSpec

run: Final = linux.run if linux.is_supported() else portable.run
"""The process runner of this system."""


async def run_named(
    name: str,
    arguments: Sequence[str],
    *,
    roots: Sequence[str],
    timeout: float,
    variables: Mapping[str, str] | None = None,
    cwd: str = "",
) -> tuple[bytes, str]:
    """Return what a program printed, and why it failed; it is not taken from `roots`, the folders of the project."""
    program = find_program(name, caller_context.environ().get("PATH", os.defpath), tuple(roots))
    if not program:
        return b"", f"there is no {name}"
    env = Environment().with_layers(variables or {})
    try:
        spec = ProcessSpec(program=program, argv=(name, *arguments), env=env, cwd=cwd)
        finished = await run(spec, stdin=b"", timeout=timeout)
    except (OSError, ValueError) as problem:
        return b"", f"{name} could not be started: {problem}"
    if finished.reason is ExitReason.TIMED_OUT:
        return b"", f"{name} did not end"
    message = finished.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return finished.stdout, f"{name} failed: {message or finished.exit_code}" if finished.exit_code else ""
