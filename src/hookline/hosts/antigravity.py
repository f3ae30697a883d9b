"""Antigravity: bundles in `hooks.json`, one of which is ours."""

from typing import Final

from hookline.hosts.host import EventCall, Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import NamedBundle, spell_groups

_OF_TOOLS: Final = frozenset({"PreToolUse", "PostToolUse"})
_GROUP: Final = spell_groups(matcher="*")


def _spell(call: EventCall) -> object:
    """Events of tools have groups, all others plain lists."""
    if call.event in _OF_TOOLS:
        return _GROUP(call)
    return {"type": "command", "command": call.command, "timeout": call.seconds}


HOST: Final = Host(
    name="antigravity",
    programs=("agy", "antigravity"),
    home=SettingsFolder(default=".gemini/config"),
    shape=NamedBundle(name="hookline", spell=_spell),
    files={Scope.USER: "hooks.json", Scope.PROJECT: ".agents/hooks.json"},
    reads={Scope.USER: ("hooks.json",), Scope.PROJECT: (".agents/hooks.json",)},
    left_out={
        "PreInvocation": "before every request to the model",
        "PostInvocation": "after every request to the model",
    },
    switches=((("hookline", "enabled"), False),),
    notes={Scope.PROJECT: ("Antigravity runs hooks of a project only in a folder that you trust",)},
)
