"""Say no to what hardly anybody ever wants: deleting a home folder, overwriting a disk, running what was downloaded."""

import os
import shlex
from collections.abc import Mapping
from typing import Final

from hookline.builtin._ground import Ground, ground_of
from hookline.builtin._guarded import place, write_objection
from hookline.builtin.danger import danger
from hookline.core import paths
from hookline.model.event import Event
from hookline.model.verdict import Verdict

_AND_NOW: Final = "; whoever really wants this can do it by hand"
_DELETERS: Final = frozenset({"delete_file"})


def judge(event: Event, *, root: str = "", home: str = "", protected: tuple[str, ...] = ()) -> Verdict | None:
    """Answer a request for permission, or a tool call: no, or no opinion."""
    # a folder that nobody can follow does not make the rest of the call harmless
    ground = ground_of(event, root=root, home=home, protected=protected) or Ground("", home, (os.sep,), protected)
    reason = _shell(event.args, ground) if event.tool == "shell" else _files(event, ground)
    return Verdict.deny(f"dangerous: {reason}{_AND_NOW}") if reason else None


def _shell(args: Mapping[str, object], ground: Ground) -> str:
    line = args.get("command")
    if isinstance(line, list | tuple):
        line = shlex.join(map(str, line))
    return danger(line, ground) if isinstance(line, str) else ""


def _files(event: Event, ground: Ground) -> str:
    if event.tool not in paths.WRITERS:
        return ""
    for name in paths.named(event):
        full = os.path.join(ground.home, name[2:]) if name.startswith("~/") else name  # noqa: PTH118 - a text
        found = write_objection(full, ground)
        if not found and event.tool in _DELETERS:
            found = f"deletes {gone}" if (gone := place(full, ground)) else ""
        if found:
            return found
    return ""
