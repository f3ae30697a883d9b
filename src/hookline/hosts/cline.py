"""Cline: a program for each event, named after it."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Script
from hookline.model.ours import entry_of

_MARK: Final = "# Made by `hookline install cline`."
_HEAD: Final = f"#!/bin/sh\n{_MARK} `hookline uninstall cline` takes it away.\n"


def _write(calls: tuple[Call, ...]) -> str:
    return _HEAD + "".join(f"{_replacing(call.command)}\n" for call in calls)


def _replacing(command: str) -> str:
    """Have a command take the place of the shell; a line with a launcher in it does that by itself."""
    entry = entry_of(command)
    return command if entry is not None and entry.launcher else f"exec {command}"


HOST: Final = Host(
    name="cline",
    programs=("cline",),
    home=Home(default="Documents/Cline"),
    shape=Script(mark=_MARK, write=_write),
    files=MappingProxyType({Scope.USER: "Hooks/", Scope.PROJECT: ".clinerules/hooks/"}),
    reads=MappingProxyType({Scope.USER: ("Hooks/*",), Scope.PROJECT: (".clinerules/hooks/*",)}),
    notes=MappingProxyType(
        dict.fromkeys((Scope.USER, Scope.PROJECT), ("hooks have to be switched on in the settings of Cline",))
    ),
)
