"""The built-in hook `dangerous`: deny deleting a home directory, overwriting a disk, running a download."""

import os
import shlex
from collections.abc import Mapping
from typing import Final

from hookline.builtin._boundaries import Boundaries, find_boundaries
from hookline.builtin._protected_paths import find_write_objection, name_loss
from hookline.builtin.danger_analysis import find_danger
from hookline.effects import event_paths
from hookline.model.event import Event
from hookline.model.verdict import Verdict

_HINT: Final = "; whoever really wants this can do it by hand"


def judge(event: Event, *, root: str = "", home: str = "", protected: tuple[str, ...] = ()) -> Verdict | None:
    """Answer a permission request or a tool call: deny, or no opinion."""
    # a directory that cannot be determined does not make the call harmless
    bounds = find_boundaries(event, root=root, home=home, protected=protected) or Boundaries(
        "", home, (os.sep,), protected
    )
    reason = _judge_shell(event.args, bounds) if event.tool == "shell" else _judge_files(event, bounds)
    return Verdict.deny(f"dangerous: {reason}{_HINT}") if reason else None


def _judge_shell(args: Mapping[str, object], bounds: Boundaries) -> str:
    line = args.get("command")
    if isinstance(line, list | tuple):
        line = shlex.join(map(str, line))
    return find_danger(line, bounds) if isinstance(line, str) else ""


def _judge_files(event: Event, bounds: Boundaries) -> str:
    if event.tool not in event_paths.WRITERS:
        return ""
    for name in event_paths.list_event_paths(event):
        path = os.path.join(bounds.home, name[2:]) if name.startswith("~/") else name  # noqa: PTH118 - a text
        loss = name_loss(path, bounds) if event.tool == "delete_file" else ""
        if reason := find_write_objection(path, bounds) or (f"deletes {loss}" if loss else ""):
            return reason
    return ""
