"""Factory Droid: groups in `hooks.json`, which has the events at its top."""

from typing import Final

from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists, spell_groups

HOST: Final = Host(
    name="factory-droid",
    programs=("droid",),
    home=SettingsFolder(default=".factory"),
    shape=EventLists(at=("{event}",), spell=spell_groups()),
    files={Scope.USER: "hooks.json", Scope.PROJECT: ".factory/hooks.json"},
    reads={
        Scope.USER: ("hooks.json", "settings.json", "hooks/hooks.json"),
        Scope.PROJECT: (".factory/hooks.json", ".factory/settings.json", ".factory/hooks/hooks.json"),
    },
    notes=dict.fromkeys(
        (Scope.USER, Scope.PROJECT),
        ("Droid runs no hook at all in a folder that it does not trust yet, and does not say so",),
    ),
)
