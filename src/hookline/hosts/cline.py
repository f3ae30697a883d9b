"""Cline: a program for each event, named after it."""

from typing import Final

from hookline.hosts.host import EventCall, Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import OwnedFile

_MARK: Final = "# Made by `hookline install cline`."
_HEAD: Final = f"#!/bin/sh\n{_MARK} `hookline uninstall cline` takes it away.\n"


def _write(calls: tuple[EventCall, ...]) -> str:
    return _HEAD + "".join(f"{call.command}\n" for call in calls)


HOST: Final = Host(
    name="cline",
    programs=("cline",),
    home=SettingsFolder(default="Documents/Cline"),
    shape=OwnedFile(mark=_MARK, write=_write),
    files={Scope.USER: "Hooks/", Scope.PROJECT: ".clinerules/hooks/"},
    reads={Scope.USER: ("Hooks/*",), Scope.PROJECT: (".clinerules/hooks/*",)},
    notes=dict.fromkeys((Scope.USER, Scope.PROJECT), ("hooks have to be switched on in the settings of Cline",)),
)
