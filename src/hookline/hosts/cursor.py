"""Cursor: a plain list for each event in `hooks.json`."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Document

_BEFORE: Final = "the same call has had its preToolUse"
_AFTER: Final = "the same call has had its postToolUse"
_TAB: Final = "while you type"


def _spell(call: Call) -> object:
    return {"command": call.command, "timeout": call.seconds}


HOST: Final = Host(
    name="cursor",
    programs=("cursor", "cursor-agent"),
    home=Home(default=".cursor"),
    shape=Document(at=("hooks", "{event}"), spell=_spell, head={"version": 1}),
    files=MappingProxyType({Scope.USER: "hooks.json", Scope.PROJECT: ".cursor/hooks.json"}),
    reads=MappingProxyType({Scope.USER: ("hooks.json",), Scope.PROJECT: (".cursor/hooks.json",)}),
    system=("/etc/cursor/hooks.json",),
    # Asked at both, every hook would run twice for one call. Only beforeMCPExecution names the server, which guards of
    # its tools need.
    left_out=MappingProxyType(
        {
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
        }
    ),
    notes=MappingProxyType({Scope.PROJECT: ("Cursor runs hooks of a project only in a workspace that you trust",)}),
)
