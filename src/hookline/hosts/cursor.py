"""Cursor: a plain list for each event in `hooks.json`."""

from typing import Final

from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists

_BEFORE: Final = "the same call has had its preToolUse"
_AFTER: Final = "the same call has had its postToolUse"
_TAB: Final = "while you type"


HOST: Final = Host(
    name="cursor",
    programs=("cursor", "cursor-agent"),
    home=SettingsFolder(default=".cursor"),
    shape=EventLists(
        at=("hooks", "{event}"),
        spell=lambda call: {"command": call.command, "timeout": call.seconds},
        head={"version": 1},
    ),
    files={Scope.USER: "hooks.json", Scope.PROJECT: ".cursor/hooks.json"},
    reads={Scope.USER: ("hooks.json",), Scope.PROJECT: (".cursor/hooks.json",)},
    system=("/etc/cursor/hooks.json",),
    # Asked at both, every hook would run twice for one call. Only beforeMCPExecution names the server, which guards of
    # its tools need.
    left_out={
        "beforeShellExecution": _BEFORE,
        "beforeReadFile": _BEFORE,
        "afterShellExecution": _AFTER,
        "afterMCPExecution": _AFTER,
        "afterFileEdit": _AFTER,
        "beforeTabFileRead": _TAB,
        "afterTabFileEdit": _TAB,
        "afterAgentResponse": "for every message of the agent",
        "afterAgentThought": "for every thought of the agent",
        "workspaceOpen": "at the start of the program, when there is no session",
    },
    notes={Scope.PROJECT: ("Cursor runs hooks of a project only in a workspace that you trust",)},
)
