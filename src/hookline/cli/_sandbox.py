"""The option `--sandbox`, and what commands say about the containment of this machine."""

import argparse
from collections.abc import Mapping
from typing import Final

from hookline.cli._command import argument
from hookline.cli._describe import open_history
from hookline.cli._edit_session import parse_value
from hookline.cli._output import format_ago, print_error
from hookline.config.keys import SHARED
from hookline.config.keys import sandbox as read_sandbox
from hookline.errors import ConfigError, StoreError
from hookline.model.hook import Hook
from hookline.model.record import Record
from hookline.model.sandbox import LEVELS, Sandbox
from hookline.process.containment import find_layers, list_lacking, list_layers
from hookline.project import Project
from hookline.stores.trace_queries import TraceFilter


def parse_sandbox(text: str) -> Sandbox:
    """Return the sandbox of a level, or of a table as hookline.toml has it; for `type` of an argument.

    Raises:
        argparse.ArgumentTypeError: It is neither.
    """
    if not text.startswith("{") and text not in LEVELS:
        raise argparse.ArgumentTypeError(
            f'"{text}" is no level; there are {", ".join(LEVELS)}, or a table such as {{ write = ["build/**"] }}'
        )
    try:
        return read_sandbox(parse_value("--sandbox", text, SHARED["sandbox"]))
    except ConfigError as problem:
        raise argparse.ArgumentTypeError(problem.message.removeprefix("--sandbox: ")) from None


SANDBOX: Final = argument(
    "--sandbox", "what its process may do: a level, or a table", type=parse_sandbox, metavar="LEVEL|TABLE"
)


def machine_to_json(sandbox: Sandbox) -> Mapping[str, object]:
    """Return for `--json` how this machine contains a process."""
    can_contain = find_layers().can_contain
    return {"can_contain": can_contain, "layers": list_layers(sandbox), "lacking": list_lacking(sandbox)}


def find_last_contained(project: Project, hook: Hook) -> Record | None:
    """Return the last traced run of a hook that says which layers were in force."""
    try:
        runs = list(open_history(project).runs(TraceFilter(hook=hook.id)))
    except StoreError as problem:
        print_error(f"hookline: {problem}")
        return None
    return next((record for record in reversed(runs) if record.detail.get("sandbox")), None)


def describe_last_layers(record: Record | None) -> str:
    """Return which layers were in force when a hook ran last."""
    if record is None:
        return "no contained run was traced"
    return f"{', '.join(get_layers(record))} ({format_ago(record.at)})"


def get_layers(record: Record) -> list[str]:
    """Return the layers that were in force in a run."""
    layers = record.detail.get("sandbox")
    return [str(layer) for layer in layers] if isinstance(layers, list | tuple) else []
