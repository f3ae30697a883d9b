"""Factory Droid: groups in `hooks.json`, which has the events at its top."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Home, Host, Scope
from hookline.hosts.shapes import Document, groups

HOST: Final = Host(
    name="factory-droid",
    programs=("droid",),
    home=Home(default=".factory"),
    shape=Document(at=("{event}",), spell=groups()),
    files=MappingProxyType({Scope.USER: "hooks.json", Scope.PROJECT: ".factory/hooks.json"}),
    reads=MappingProxyType(
        {
            Scope.USER: ("hooks.json", "settings.json", "hooks/hooks.json"),
            Scope.PROJECT: (".factory/hooks.json", ".factory/settings.json", ".factory/hooks/hooks.json"),
        }
    ),
    notes=MappingProxyType(
        dict.fromkeys(
            (Scope.USER, Scope.PROJECT),
            ("Droid runs no hook at all in a folder that it does not trust yet, and does not say so",),
        )
    ),
)
