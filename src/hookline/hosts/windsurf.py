"""Windsurf: a plain list for each event in `hooks.json`, with the command only."""

from typing import Final

from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists

HOST: Final = Host(
    name="windsurf",
    programs=("windsurf",),
    home=SettingsFolder(default=".codeium/windsurf"),
    shape=EventLists(at=("hooks", "{event}"), spell=lambda call: {"command": call.command, "show_output": False}),
    files={Scope.USER: "hooks.json", Scope.PROJECT: ".windsurf/hooks.json"},
    reads={Scope.USER: ("hooks.json", "../hooks.json"), Scope.PROJECT: (".windsurf/hooks.json",)},
    system=("/etc/windsurf/hooks.json",),
    left_out={"post_cascade_response_with_transcript": "the response has had its post_cascade_response"},
)
