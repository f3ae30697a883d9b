"""Kiro: a file of our own beside the others, with one list for all events."""

from typing import Final

from hookline.hosts.host import EventCall, Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists


def _spell(call: EventCall) -> object:
    return {
        "name": f"hookline-{call.event}",
        "trigger": call.event,
        "action": {"type": "command", "command": call.command},
        "timeout": call.seconds,
    }


HOST: Final = Host(
    name="kiro",
    programs=("kiro", "kiro-cli"),
    home=SettingsFolder(default=".kiro"),
    shape=EventLists(at=("hooks",), spell=_spell, head={"version": "v1"}, depth=2),
    files={Scope.USER: "hooks/hookline.json", Scope.PROJECT: ".kiro/hooks/hookline.json"},
    reads={
        Scope.USER: ("hooks/*.json", "agents/*.json"),
        Scope.PROJECT: (".kiro/hooks/*.json", ".kiro/hooks/*.kiro.hook", ".kiro/agents/*.json"),
    },
    # what the same moments are called in files of agents, which this is not
    never=frozenset({"agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"}),
    notes=dict.fromkeys(
        (Scope.USER, Scope.PROJECT),
        ("Kiro CLI before version 3 reads hooks from files of agents only, and does not read this one",),
    ),
)
