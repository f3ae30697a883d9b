"""Cline: a program for each event, named after it."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Script

_MARK: Final = "# Made by `hookline install cline`."
_HEAD: Final = f"#!/bin/sh\n{_MARK} `hookline uninstall cline` takes it away.\n"


def _write(calls: tuple[Call, ...]) -> str:
    return _HEAD + "".join(f"exec {call.command}\n" for call in calls)


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
