"""Kiro: a file of our own beside the others, with one list for all events."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Document


def _spell(call: Call) -> object:
    return {
        "name": f"hookline-{call.event}",
        "trigger": call.event,
        "action": {"type": "command", "command": call.command},
        "timeout": call.seconds,
    }


HOST: Final = Host(
    name="kiro",
    programs=("kiro", "kiro-cli"),
    home=Home(default=".kiro"),
    shape=Document(at=("hooks",), spell=_spell, head={"version": "v1"}, depth=2),
    files=MappingProxyType({Scope.USER: "hooks/hookline.json", Scope.PROJECT: ".kiro/hooks/hookline.json"}),
    reads=MappingProxyType(
        {
            Scope.USER: ("hooks/*.json", "agents/*.json"),
            Scope.PROJECT: (".kiro/hooks/*.json", ".kiro/hooks/*.kiro.hook", ".kiro/agents/*.json"),
        }
    ),
    # what the same moments are called in files of agents, which this is not
    never=frozenset({"agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"}),
    notes=MappingProxyType(
        dict.fromkeys(
            (Scope.USER, Scope.PROJECT),
            ("Kiro CLI before version 3 reads hooks from files of agents only, and does not read this one",),
        )
    ),
)
