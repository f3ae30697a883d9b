"""Antigravity: bundles in `hooks.json`, one of which is ours."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Bundles, groups

_OF_TOOLS: Final = frozenset({"PreToolUse", "PostToolUse"})
_GROUP: Final = groups(matcher="*")


def _spell(call: Call) -> object:
    """Events of tools have groups, all others plain lists."""
    if call.event in _OF_TOOLS:
        return _GROUP(call)
    return {"type": "command", "command": call.command, "timeout": call.seconds}


HOST: Final = Host(
    name="antigravity",
    programs=("agy", "antigravity"),
    home=Home(default=".gemini/config"),
    shape=Bundles(name="hookline", spell=_spell),
    files=MappingProxyType({Scope.USER: "hooks.json", Scope.PROJECT: ".agents/hooks.json"}),
    reads=MappingProxyType({Scope.USER: ("hooks.json",), Scope.PROJECT: (".agents/hooks.json",)}),
    left_out=MappingProxyType(
        {
            "PreInvocation": "before every request to the model",
            "PostInvocation": "after every request to the model",
        }
    ),
    switches=((("hookline", "enabled"), False),),
    notes=MappingProxyType({Scope.PROJECT: ("Antigravity runs hooks of a project only in a folder that you trust",)}),
)
