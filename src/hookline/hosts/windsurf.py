"""Windsurf: a plain list for each event in `hooks.json`, with nothing to say but the command."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Document


def _spell(call: Call) -> object:
    return {"command": call.command, "show_output": False}


HOST: Final = Host(
    name="windsurf",
    programs=("windsurf",),
    home=Home(default=".codeium/windsurf"),
    shape=Document(at=("hooks", "{event}"), spell=_spell),
    files=MappingProxyType({Scope.USER: "hooks.json", Scope.PROJECT: ".windsurf/hooks.json"}),
    reads=MappingProxyType({Scope.USER: ("hooks.json", "../hooks.json"), Scope.PROJECT: (".windsurf/hooks.json",)}),
    system=("/etc/windsurf/hooks.json",),
    left_out=MappingProxyType(
        {"post_cascade_response_with_transcript": "the response has had its post_cascade_response"}
    ),
)
